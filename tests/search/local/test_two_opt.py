from __future__ import annotations

import math
import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject
from strategies import instances, solutions_of

from dynaroute.base.errors import OptionError, SolutionError
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.draw import draw_paper_set
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search.local.two_opt import improve_by_two_opt, improve_routes_by_two_opt
from dynaroute.search.savings import build_by_savings


def some_instances(count: int, size: int = 20) -> list[Instance]:
    return draw_paper_set(size, count, np.random.default_rng(size)).instances()


def one_after_the_other(instance: Instance) -> Solution:
    """Customers by number, and a new route wherever a vehicle is full."""
    routes: list[list[int]] = [[]]
    for customer in range(1, instance.size + 1):
        if instance.demands[[*routes[-1], customer]].sum() > instance.capacity:
            routes.append([])
        routes[-1].append(customer)
    return Solution(tuple(map(tuple, routes)))


@given(st.data())
def test_the_routes_stay_right_and_get_no_longer(data: DataObject) -> None:
    instance = data.draw(instances())
    start = data.draw(solutions_of(instance))
    (improved,) = improve_by_two_opt([instance], [start])
    assert check(instance, improved) == []
    assert improved.cost(instance) <= start.cost(instance)
    assert list(map(sorted, improved.routes)) == list(map(sorted, start.routes))


@given(st.data())
def test_no_reversal_of_a_part_shortens_a_route_further(data: DataObject) -> None:
    instance = data.draw(instances())
    (improved,) = improve_by_two_opt([instance], [data.draw(solutions_of(instance))])
    for route in improved.routes:
        length = Solution((route,)).cost(instance)
        for first, last in combinations(range(len(route) + 1), 2):
            other = (*route[:first], *route[first:last][::-1], *route[last:])
            assert Solution((other,)).cost(instance) >= length * (1 - 1e-8)


def test_a_crossing_is_undone() -> None:
    square = Instance(np.array([[0, 0], [0, 1], [1, 1], [1, 0]]), np.array([0, 1, 1, 1]), 3)
    (improved,) = improve_by_two_opt([square], [Solution(((2, 1, 3),))])
    assert improved.stated_cost == 4.0


def test_a_batch_is_improved_like_single_solutions() -> None:
    problems = some_instances(5) + some_instances(3, size=8)
    starts = list(map(one_after_the_other, problems))
    batch = InstanceBatch.from_instances(problems)
    routes = improve_routes_by_two_opt(batch, RouteBatch.from_solutions(starts, batch))
    expected = improve_by_two_opt(problems, starts)
    assert [solution.routes for solution in routes.to_solutions(batch)] == [solution.routes for solution in expected]
    assert math.fsum(solution.cost(problem) for solution, problem in zip(expected, problems, strict=True)) < math.fsum(
        solution.cost(problem) for solution, problem in zip(starts, problems, strict=True)
    )


def test_a_batch_with_matrices_is_improved_by_them() -> None:
    plain = some_instances(1)[0]
    bent = Instance(plain.coordinates, plain.demands, plain.capacity, distances=plain.distance_matrix**2)
    start = one_after_the_other(plain)
    batch = InstanceBatch.from_instances([bent, plain])
    routes = improve_routes_by_two_opt(batch, RouteBatch.from_solutions([start, start], batch)).to_solutions(batch)
    expected = improve_by_two_opt([bent, plain], [start, start])
    assert [solution.routes for solution in routes] == [solution.routes for solution in expected]
    assert routes[0].routes != routes[1].routes


@pytest.mark.parametrize("threads", [1, 3])
def test_neither_threads_nor_chunks_change_anything(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problems = some_instances(7)
    problems[3] = Instance(None, problems[3].demands, problems[3].capacity, distances=problems[3].distance_matrix)
    starts = list(map(one_after_the_other, problems))
    expected = improve_by_two_opt(problems, starts)
    monkeypatch.setattr("dynaroute.search.local.two_opt._ENTRIES_AT_ONCE", 50)
    assert improve_by_two_opt(problems, starts, threads=threads) == expected


def test_nothing_is_made_of_nothing() -> None:
    assert improve_by_two_opt([], []) == []


@pytest.mark.parametrize("routes", [((1, 2),), ((1, 2, 3, 3),), ((1, 2, 4),), ((1, 2, -1),), ()])
def test_a_solution_that_does_not_visit_each_customer_once_is_refused(routes: tuple[tuple[int, ...], ...]) -> None:
    instance = Instance(np.zeros((4, 2)), np.array([0, 1, 1, 1]), 3)
    with pytest.raises(SolutionError, match="solution 1 does not visit every customer"):
        improve_by_two_opt([instance], [Solution(routes)])


def test_a_missing_solution_is_refused() -> None:
    problems = some_instances(2)
    with pytest.raises(SolutionError, match="1 solutions for 2 instances"):
        improve_by_two_opt(problems, [build_by_savings(problems[0])])


def test_no_threads_are_refused() -> None:
    problems = some_instances(1)
    with pytest.raises(OptionError, match="number of threads is 0"):
        improve_by_two_opt(problems, [build_by_savings(problems[0])], threads=0)


def test_a_large_matrix_among_small_ones_does_not_take_its_memory_for_each() -> None:
    random = np.random.default_rng(1)

    def draw(size: int) -> Instance:
        places = random.random((size + 1, 2))
        distances = np.linalg.norm(places[:, None] - places[None, :], axis=2)
        return Instance(distances=distances, demands=np.array([0, *([1] * size)]), capacity=5, coordinates=None)

    several = [draw(5), draw(1500), *(draw(5) for _ in range(200))]
    starts = [Solution(tuple((customer,) for customer in range(1, instance.size + 1))) for instance in several]
    tracemalloc.start()
    improve_by_two_opt(several, starts)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 500e6  # 200 matrices of 1501 x 1501 would be 3.6 gigabytes


@pytest.mark.parametrize("looks", [0, 1])
def test_it_ends_early_with_valid_routes_when_the_time_is_up(looks: int) -> None:
    instance = Instance(np.random.default_rng(0).uniform(size=(3001, 2)), np.r_[0, np.ones(3000, dtype=int)], 3000)
    start = Solution((tuple(range(1, 3001)),))
    answers = iter([False] * looks + [True] * 99)
    (improved,) = improve_by_two_opt([instance], [start], threads=1, is_time_up=lambda: next(answers))
    assert not check(instance, improved)
    assert next(answers)  # it did not look until the routes were 2-optimal
