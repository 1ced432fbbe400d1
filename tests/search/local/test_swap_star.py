from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject
from move_fleets import PENALTIES, Routes, make_everything, price, read_routes
from strategies import instances

from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.search.core.routes import refresh_route
from dynaroute.search.local.swap_star import swap_best_pair

PLANE = instances(sizes=st.integers(2, 10), placements=st.just("plane"), roundings=st.just("none"))


def insert_everywhere(customer: int, route: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for place in range(len(route) + 1):
        yield (*route[:place], customer, *route[place:])


def exchanges(one: tuple[int, ...], other: tuple[int, ...]) -> Iterator[Routes]:
    """Two routes after an exchange of two customers to any places, or after a move of one."""
    for u in one:
        without_u = tuple(stop for stop in one if stop != u)
        yield from ((without_u, grown) for grown in insert_everywhere(u, other))
        for v in other:
            without_v = tuple(stop for stop in other if stop != v)
            for new_one in insert_everywhere(v, without_u):
                yield from ((new_one, new_other) for new_other in insert_everywhere(u, without_v))
    for v in other:
        without_v = tuple(stop for stop in other if stop != v)
        yield from ((grown, without_v) for grown in insert_everywhere(v, one))


@given(st.data(), PENALTIES)
def test_the_best_exchange_of_two_routes_is_made(data: DataObject, penalty: float) -> None:
    instance = data.draw(PLANE)
    order = data.draw(st.permutations(range(1, instance.size + 1)))
    cut = data.draw(st.integers(1, instance.size - 1))
    start = Solution((tuple(order[:cut]), tuple(order[cut:])))
    before = price(instance, start.routes, penalty)
    assume(before < float("inf"))
    table, task, used = make_everything(instance, start)
    best = min(price(instance, routes, penalty) for routes in exchanges(*start.routes))
    assume(abs(best - before + task.tolerance) > 1e-9 * max(1.0, before))  # else it is too close to say
    is_made = swap_best_pair(0, 1, 0, table, task, penalty)
    assert is_made == (best < before - task.tolerance)
    if is_made:
        for route in (0, 1):
            refresh_route(route, 1, table, task)
        after = price(instance, read_routes(table, used, instance.size), penalty)
        assert after == pytest.approx(best, rel=1e-9, abs=1e-9)


@given(st.data(), PENALTIES)
def test_with_any_distances_an_exchange_gains(data: DataObject, penalty: float) -> None:
    instance = data.draw(instances(sizes=st.integers(2, 10)))
    cut = data.draw(st.integers(1, instance.size - 1))
    start = Solution((tuple(range(1, cut + 1)), tuple(range(cut + 1, instance.size + 1))))
    before = price(instance, start.routes, penalty)
    assume(before < float("inf"))
    table, task, used = make_everything(instance, start)
    if swap_best_pair(0, 1, 0, table, task, penalty):
        after = read_routes(table, used, instance.size)
        assert sorted(stop for route in after for stop in route) == list(range(1, instance.size + 1))
        assert price(instance, after, penalty) < before


def test_load_that_changes_from_one_full_vehicle_to_another_is_no_gain() -> None:
    demands = np.array([0, 42, 0, 3, 42, 42])
    instance = Instance(coordinates=np.zeros((6, 2)), demands=demands, capacity=42)
    table, task, _ = make_everything(instance, Solution(((1,), (2, 3, 4, 5))))
    assert not swap_best_pair(0, 1, 0, table, task, 0.01)  # 0.45 is to be paid in any case, if rounded differently
