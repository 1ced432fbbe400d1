from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject
from move_fleets import price
from strategies import instances

from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.search.core.paths import longest_path, split_path
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.routes import make_task
from dynaroute.search.genetic.split import CUT, split_tour


def split_plainly(instance: Instance, tour: list[int], penalty: float) -> float:
    """Least cost of any way to cut a tour, by trying every last route of every beginning."""
    best = [0.0]
    for end in range(1, len(tour) + 1):
        best.append(min(best[cut] + price(instance, (tuple(tour[cut:end]),), penalty) for cut in range(end)))
    return best[-1]


def split(instance: Instance, tour: list[int], penalty: float) -> tuple[tuple[int, ...], ...]:
    path = np.empty(longest_path(instance.size), dtype=np.int32)
    task = make_task(SearchProblem.from_instance(instance))
    split_tour(np.array(tour, dtype=np.int32), np.zeros(instance.size + 1, dtype=CUT), task, penalty, path)
    return split_path(path)


@given(st.data(), st.sampled_from((0.0, 0.01, 3.0, 1e6)))
def test_a_tour_is_cut_in_the_best_places(data: DataObject, penalty: float) -> None:
    instance = data.draw(instances(sizes=st.integers(1, 14), placements=st.sampled_from(("plane", "globe"))))
    tour = data.draw(st.permutations(range(1, instance.size + 1)))
    routes = split(instance, tour, penalty)
    assert [stop for route in routes for stop in route] == tour
    expected = split_plainly(instance, tour, penalty)
    assert price(instance, routes, penalty) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(st.data())
def test_a_matrix_of_any_kind_gives_whole_routes(data: DataObject) -> None:
    instance = data.draw(instances(placements=st.just("matrix")))
    tour = data.draw(st.permutations(range(1, instance.size + 1)))
    assert [stop for route in split(instance, tour, 1.0) for stop in route] == tour


def test_a_high_price_makes_every_route_fit() -> None:
    instance = Instance(np.array([[0.0, 0], [1, 0], [2, 0], [3, 0]]), np.array([0, 2, 2, 2]), 4)
    assert split(instance, [1, 2, 3], 100.0) == ((1,), (2, 3))
    assert split(instance, [1, 2, 3], 0.0) == ((1, 2, 3),)
    assert Solution(split(instance, [1, 2, 3], 100.0)).loads(instance) == [2, 4]
