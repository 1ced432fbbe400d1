"""Trying every order of a few customers, with any number of types of vehicles."""

from __future__ import annotations

import numpy as np
import pytest

from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.with_limits.problem import read_problem
from dynaroute.search.with_limits.small import find_best_of_all


class Clock:
    """Counts how often the work looks at the time, which is up after a while."""

    def __init__(self, most: int = 10**9) -> None:
        self.looks = 0
        self._most = most

    def is_time_up(self) -> bool:
        self.looks += 1
        return self.looks > self._most


def make_problem(size: int, *vehicles: VehicleType) -> SearchProblem:
    points = np.random.default_rng(size).uniform(0, 100, (size + 1, 2))
    return read_problem(Instance(points, np.r_[0, np.ones(size, dtype=int)], 1, vehicles=vehicles))


def list_different(count: int) -> list[VehicleType]:
    """Types of one vehicle each, of which some end at their last customer, and some can serve only a few."""
    return [
        VehicleType(1 + number % 5, count=1, max_distance=500.0 + number, end=("open", "depot")[number % 2])
        for number in range(count)
    ]


def test_vehicles_that_are_alike_take_no_more_work_than_one_type() -> None:
    one, thousand = Clock(), Clock()
    enough = find_best_of_all(make_problem(3, VehicleType(2, count=1000)), one.is_time_up)
    alike = [VehicleType(2, f"van {number}", count=1) for number in range(1000)]
    assert find_best_of_all(make_problem(3, *alike), thousand.is_time_up) == enough
    assert thousand.looks == one.looks


def test_work_grows_with_the_number_of_types_and_not_with_its_power() -> None:
    clock = Clock()
    plan = find_best_of_all(make_problem(6, *list_different(1000)), clock.is_time_up)
    assert sorted(stop for _, *stops in plan for stop in stops) == [1, 2, 3, 4, 5, 6]
    assert clock.looks < 60_000


def test_the_cheapest_types_are_enough_for_the_best_plan() -> None:
    few, many = list_different(8), list_different(40)
    cheapest = find_best_of_all(make_problem(5, *few), Clock().is_time_up)
    best = find_best_of_all(make_problem(5, *many), Clock().is_time_up)
    assert make_problem(5, *many).cost(best) <= make_problem(5, *few).cost(cheapest)
    assert len({kind for kind, *_ in best}) == len(best)  # there is one vehicle of each


@pytest.mark.parametrize("most", [0, 3, 30])
def test_it_gives_up_when_the_time_is_up(most: int) -> None:
    clock = Clock(most)
    assert find_best_of_all(make_problem(6, *list_different(20)), clock.is_time_up) == ()
    assert clock.looks == most + 1


def test_customers_beyond_the_vehicles_are_left_out() -> None:
    plan = find_best_of_all(make_problem(4, VehicleType(1, count=3)), Clock().is_time_up)
    assert len(plan) == 3 and all(len(stops) == 1 for _, *stops in plan)
