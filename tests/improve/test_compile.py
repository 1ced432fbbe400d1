"""Compiling all kernels ahead."""

from __future__ import annotations

import runpy
from typing import Any

import pytest

from dynaroute.improve.genetic_kernel import evolve
from dynaroute.improve.ruin_recreate import anneal


def test_afterwards_the_kernels_of_every_search_are_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_module("dynaroute.improve", run_name="__main__")
    assert "compiled" in capsys.readouterr().out
    kernels: tuple[Any, ...] = (anneal, evolve)
    assert all(kernel.signatures for kernel in kernels)
