"""Compiling kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from dynaroute.improve.compiled import compiled, compiled_in_place


def _add_up(numbers: NDArray[np.float64]) -> float:
    total = 0.0
    for number in numbers:
        total += number
    return total


@pytest.mark.parametrize("way", [compiled, compiled_in_place])
def test_compiled_functions_do_what_they_say(way: Callable[[Any], Callable[[NDArray[np.float64]], float]]) -> None:
    assert way(_add_up)(np.arange(5.0)) == 10.0


def test_without_a_folder_to_keep_code_in_it_is_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    njit = numba.njit

    def refuse_to_cache(*arguments: Any, cache: bool = False, **options: Any) -> Any:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*arguments, **options)

    monkeypatch.setattr(numba, "njit", refuse_to_cache)
    assert compiled(_add_up)(np.arange(5.0)) == 10.0
