"""Random numbers for compiled code (SplitMix64).

The state is an array owned by the caller, so that the same seed gives the same numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.core.compiled import compiled_inline, make_apart

RandomState = NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
_SHIFT_27, _SHIFT_30, _SHIFT_31 = np.uint64(27), np.uint64(30), np.uint64(31)
_SHIFT_11 = np.uint64(11)
_UNIT = 2.0**-53


def make_random_state(seed: int, stream: int = 0) -> RandomState:
    """Make a generator; generators with the same seed and different streams are independent."""
    state = make_apart(1, np.uint64)
    state[:] = np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64)
    return state


@compiled_inline
def _draw(state: RandomState) -> np.uint64:
    state[0] += _STEP
    bits = state[0]
    bits = (bits ^ (bits >> _SHIFT_30)) * _FIRST_FACTOR
    bits = (bits ^ (bits >> _SHIFT_27)) * _SECOND_FACTOR
    return np.uint64(bits ^ (bits >> _SHIFT_31))


@compiled_inline
def draw_unit(state: RandomState) -> float:
    """Draw a number from [0, 1)."""
    return float(_draw(state) >> _SHIFT_11) * _UNIT


@compiled_inline
def draw_below(state: RandomState, limit: int) -> int:
    """Draw a whole number from 0 to limit - 1."""
    return int(draw_unit(state) * limit)


@compiled_inline
def draw_state(state: RandomState, into: RandomState) -> None:
    """Draw the state of another generator."""
    into[0] = _draw(state)
