from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject
from strategies import instances, solutions_of

from dynaroute.base.errors import SolutionError
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.draw import XSettings, draw_paper_set, draw_x_set
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search.local.local_search import improve_by_local_search, improve_routes_by_local_search
from dynaroute.search.savings import build_by_savings
from dynaroute.search.start import build_by_filling


def alone(instance: Instance) -> Solution:
    """A vehicle for each customer."""
    return Solution(tuple((customer,) for customer in range(1, instance.size + 1)))


@given(st.data())
def test_any_feasible_start_stays_feasible_and_gets_no_longer(data: DataObject) -> None:
    instance = data.draw(instances(sizes=st.integers(1, 30)))
    start = data.draw(solutions_of(instance))
    (improved,) = improve_by_local_search([instance], [start])
    assert check(instance, improved) == []
    assert improved.cost(instance) <= start.cost(instance)


@given(st.data())
def test_no_customer_can_be_moved_or_swapped_for_a_gain(data: DataObject) -> None:
    instance = data.draw(instances(sizes=st.integers(1, 9)))
    (improved,) = improve_by_local_search([instance], [data.draw(solutions_of(instance))])
    least_gain = 1.1e-7 * float(instance.distance_matrix.max())
    assert cheapest_neighbour(instance, improved) >= improved.cost(instance) - least_gain


def cheapest_neighbour(instance: Instance, solution: Solution) -> float:
    """Cost of the best feasible solution with one customer elsewhere, or two in each other's place."""
    best = math.inf
    tour = [stop for route in solution.routes for stop in (*route, 0)]
    tour = [0, *tour, 0]  # with a vehicle that does not drive
    for one in range(len(tour)):
        for other in range(len(tour)):
            if tour[one] == 0 or one == other:
                continue
            moved = tour[:one] + tour[one + 1 :]
            moved.insert(other, tour[one])
            swapped = list(tour)
            if tour[other] != 0:
                swapped[one], swapped[other] = swapped[other], swapped[one]
            for stops in (moved, swapped):
                changed = Solution(split_at_depots(stops))
                if max(changed.loads(instance)) <= instance.capacity:
                    best = min(best, changed.cost(instance))
    return best


def split_at_depots(stops: list[int]) -> tuple[tuple[int, ...], ...]:
    routes: list[list[int]] = [[]]
    for stop in stops:
        if stop:
            routes[-1].append(stop)
        else:
            routes.append([])
    return tuple(map(tuple, routes))


def test_it_improves_on_savings() -> None:
    problems = draw_paper_set(100, 10, np.random.default_rng(1)).instances()
    starts = list(map(build_by_savings, problems))
    improved = improve_by_local_search(problems, starts)
    before, after = (
        math.fsum(solution.cost(problem) for solution, problem in zip(solutions, problems, strict=True))
        for solutions in (starts, improved)
    )
    assert after < 0.99 * before


def test_a_vehicle_for_each_customer_becomes_ordinary_routes() -> None:
    problems = draw_x_set(XSettings(80), 3, np.random.default_rng(5)).instances()
    for problem, improved in zip(problems, improve_by_local_search(problems, list(map(alone, problems))), strict=True):
        assert check(problem, improved) == []
        assert improved.cost(problem) < 1.1 * build_by_savings(problem).cost(problem)


def test_one_vehicle_for_all_of_two_thousand_is_improved() -> None:
    (problem,) = draw_paper_set(2000, 1, np.random.default_rng(2), capacity=20_000).instances()
    start = Solution((tuple(range(1, 2001)),))
    (improved,) = improve_by_local_search([problem], [start])
    assert check(problem, improved) == []
    assert improved.cost(problem) < 0.1 * start.cost(problem)


def test_exactly_full_vehicles_exchange_customers() -> None:
    places = np.array([[0.0, 0], [10, 1], [10, -1], [-10, 1], [-10, -1]])
    problem = Instance(places, np.array([0, 3, 3, 3, 3]), 6)
    (improved,) = improve_by_local_search([problem], [Solution(((1, 3), (2, 4)))])
    assert sorted(map(sorted, improved.routes)) == [[1, 2], [3, 4]]


def test_a_batch_is_improved_like_single_solutions() -> None:
    problems = draw_paper_set(20, 4, np.random.default_rng(3)).instances()
    problems += draw_x_set(XSettings(12), 2, np.random.default_rng(4)).instances()
    starts = list(map(alone, problems))
    batch = InstanceBatch.from_instances(problems)
    routes = improve_routes_by_local_search(batch, RouteBatch.from_solutions(starts, batch))
    expected = improve_by_local_search(problems, starts)
    assert [solution.routes for solution in routes.to_solutions(batch)] == [solution.routes for solution in expected]


def test_threads_change_nothing() -> None:
    problems = draw_paper_set(20, 9, np.random.default_rng(3)).instances()
    starts = list(map(alone, problems))
    expected = improve_by_local_search(problems, starts, threads=1)
    assert improve_by_local_search(problems, starts, threads=3) == expected


def test_an_overloaded_vehicle_is_refused() -> None:
    problems = draw_paper_set(20, 2, np.random.default_rng(3)).instances()
    starts = [alone(problems[0]), Solution((tuple(range(1, 21)),))]
    with pytest.raises(SolutionError, match="solution 2 has a route whose load exceeds the capacity"):
        improve_by_local_search(problems, starts)


def test_a_solution_of_another_instance_is_refused() -> None:
    problems = draw_paper_set(20, 1, np.random.default_rng(3)).instances()
    with pytest.raises(SolutionError, match="solution 1 does not visit every customer"):
        improve_by_local_search(problems, [Solution(((1, 2),))])


def test_it_ends_early_with_feasible_routes_when_the_time_is_up() -> None:
    instance = Instance(np.random.default_rng(0).uniform(size=(1501, 2)), np.r_[0, np.ones(1500, dtype=int)], 100)
    start = build_by_filling(instance)
    answers = iter([True] * 99)
    (improved,) = improve_by_local_search([instance], [start], threads=1, is_time_up=lambda: next(answers))
    assert not check(instance, improved)
    assert next(answers)
