"""Annealing parts of the routes side by side."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import instances, solutions_of

from dynaroute.draw import draw_paper_set
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search.annealing.annealing import AnnealingSettings
from dynaroute.search.annealing.parted import PartedAnnealing, cut_problem, find_places
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.searchers import Pace
from dynaroute.search.start import build_by_near_savings

_INSTANCE = draw_paper_set(60, 1, np.random.default_rng(5)).instances()[0]


def _make_searcher(instance: Instance = _INSTANCE, largest_matrix: int = 100) -> PartedAnnealing:
    problem = SearchProblem.from_instance(instance, largest_matrix=largest_matrix)
    places = find_places(instance, problem)
    return PartedAnnealing(problem, places, build_by_near_savings(problem), AnnealingSettings(), parts=3, seed=2)


@settings(max_examples=20)
@given(st.data(), st.integers(1, 4), st.sampled_from((0, 100)))
def test_what_it_finds_is_feasible_costs_what_it_says_and_is_never_worse(
    data: st.DataObject, parts: int, largest_matrix: int
) -> None:
    instance = data.draw(instances(sizes=st.integers(1, 25)))
    start = data.draw(solutions_of(instance))
    problem = SearchProblem.from_instance(instance, largest_matrix=largest_matrix)
    places = find_places(instance, problem)
    searcher = PartedAnnealing(problem, places, start.routes, AnnealingSettings(), parts, seed=1)
    searcher.run(300, Pace(0.0, 1 / 300))
    found = Solution(searcher.best_routes)
    assert not check(instance, found)
    assert found.cost(instance) == pytest.approx(searcher.best_cost, rel=1e-9)
    assert searcher.best_cost <= start.cost(instance) * (1 + 1e-9)


def test_it_does_not_matter_in_how_many_calls_it_runs() -> None:
    at_once, piecewise = _make_searcher(), _make_searcher()
    at_once.run(600, Pace(0.0, 1 / 600))
    for count in (1, 9, 250, 340):
        assert piecewise.run(count, Pace(0.0, 1 / 600)) == count
    assert piecewise.best_routes == at_once.best_routes


def test_it_improves_the_start() -> None:
    searcher = _make_searcher()
    before = searcher.best_cost
    searcher.run(3000, Pace(0.0, 1 / 3000))
    assert searcher.best_cost < before


def test_adopted_routes_are_searched_on() -> None:
    searcher, better = _make_searcher(), _make_searcher()
    better.run(3000, Pace(0.0, 1 / 3000))
    searcher.adopt(better.best_routes, better.best_cost)
    assert searcher.best_cost == better.best_cost
    assert set(searcher.best_routes) == set(better.best_routes)


def test_nothing_runs_once_it_is_halted() -> None:
    searcher = _make_searcher()
    searcher.halt()
    assert searcher.run(100, Pace(0.0, 1 / 100)) == 0


@pytest.mark.parametrize("largest_matrix", [0, 100])
def test_a_cut_problem_has_the_legs_and_neighbours_of_those_who_stay(largest_matrix: int) -> None:
    whole = SearchProblem.from_instance(_INSTANCE, largest_matrix=largest_matrix)
    customers = np.arange(1, 61, 3, dtype=np.int32)
    numbers = np.zeros(61, dtype=np.int32)
    numbers[customers] = np.arange(1, 21)
    part = cut_problem(whole, customers, numbers)
    assert part.cost(((1, 2), (20,))) == whole.cost(((1, 4), (58,)))
    assert part.demands.tolist() == [0, *_INSTANCE.demands[customers].tolist()]
    for number, customer in enumerate(customers.tolist(), start=1):
        expected = [int(numbers[near]) for near in whole.neighbours[customer] if numbers[near]]
        assert part.neighbours[number].tolist() == expected + [number] * (59 - len(expected))


def test_parts_lie_together_wherever_the_depot_is() -> None:
    on_a_line = np.stack([np.arange(17.0), np.zeros(17)], axis=1)  # the depot at its end: all in one direction
    instance = Instance(on_a_line, np.array([0] + [1] * 16), 2)
    problem = SearchProblem.from_instance(instance)
    routes = [(first, first + 1) for first in range(1, 16, 2)]
    searcher = PartedAnnealing(problem, find_places(instance, problem), routes, AnnealingSettings(), parts=4, seed=1)
    parts = sorted(part.customers.tolist() for part in searcher._cut(routes))
    assert parts == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]]


def test_parts_are_as_equal_as_routes_allow() -> None:
    on_a_line = np.stack([np.arange(13.0), np.zeros(13)], axis=1)
    instance = Instance(on_a_line, np.array([0] + [1] * 12), 3)
    problem = SearchProblem.from_instance(instance)
    routes = [(1, 2, 3), (4, 5, 6), (7, 8), (9, 10), (11, 12)]
    searcher = PartedAnnealing(problem, find_places(instance, problem), routes, AnnealingSettings(), parts=2, seed=1)
    for searcher._rounds in range(8):  # from either end of the line
        assert sorted(len(part.customers) for part in searcher._cut(routes)) == [6, 6]


def test_places_of_a_matrix_follow_from_its_distances() -> None:
    given = Instance(np.zeros((61, 2)), _INSTANCE.demands, _INSTANCE.capacity, distances=_INSTANCE.distance_matrix)
    problem = SearchProblem.from_instance(given)
    places = find_places(given, problem)
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    assert apart == pytest.approx(_INSTANCE.distance_matrix, abs=1e-6)
