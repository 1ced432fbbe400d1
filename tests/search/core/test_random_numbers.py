"""Random numbers of compiled code."""

from __future__ import annotations

import numpy as np

from dynaroute.search.core.random_numbers import draw_below, draw_unit, make_random_state


def test_the_same_seed_draws_the_same_numbers() -> None:
    one, other = make_random_state(5), make_random_state(5)
    assert [draw_unit(one) for _ in range(5)] == [draw_unit(other) for _ in range(5)]


def test_seeds_and_streams_draw_different_numbers() -> None:
    states = [make_random_state(5), make_random_state(6), make_random_state(5, stream=1)]
    assert len({draw_unit(state) for state in states}) == 3


def test_numbers_are_spread_evenly() -> None:
    state = make_random_state(0)
    units = np.array([draw_unit(state) for _ in range(20_000)])
    assert units.min() >= 0
    assert units.max() < 1
    counts = np.histogram(units, bins=10, range=(0, 1))[0]
    assert np.abs(counts - 2000).max() < 200  # more than four standard deviations


def test_whole_numbers_reach_every_value_below_their_limit() -> None:
    state = make_random_state(0)
    assert {draw_below(state, 3) for _ in range(200)} == {0, 1, 2}
    assert {draw_below(state, 1) for _ in range(10)} == {0}
