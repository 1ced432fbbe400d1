"""One cluster of two nodes for all tests that need Ray."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from chaos import TwoNodes, start_two_nodes


@pytest.fixture(scope="session")
def nodes() -> Iterator[TwoNodes]:
    pytest.importorskip("ray", reason="Ray is not installed")
    with pytest.MonkeyPatch.context() as monkeypatch:
        # actors have to know the sources that only tests have
        monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        with start_two_nodes() as running:
            yield running
