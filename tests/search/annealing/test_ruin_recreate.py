"""Ruin and recreate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import instances, solutions_of

from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search.annealing.annealing import AnnealingSettings, RuinAndRecreate
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.searchers import Pace

_SIZES = st.integers(1, 25)


@given(st.data(), st.integers(0, 1000), st.sampled_from((0.01, 0.5, 100.0)), st.sampled_from((0, 100)))
def test_what_it_finds_is_feasible_costs_what_it_says_and_is_never_worse(
    data: st.DataObject, seed: int, hottest: float, largest_matrix: int
) -> None:
    instance = data.draw(instances(sizes=_SIZES))
    start = data.draw(solutions_of(instance))
    problem = SearchProblem.from_instance(instance, largest_matrix=largest_matrix)
    searcher = RuinAndRecreate(problem, start.routes, AnnealingSettings(hottest=hottest), seed)
    searcher.run(200, Pace(0.0, 1 / 200))
    found = Solution(searcher.best_routes)
    assert not check(instance, found)
    # metres on the globe, worked out leg by leg, differ in their last bits from those of the checker
    is_worked_out = instance.metric != "euclidean" and instance.distances is None and largest_matrix == 0
    last_bits = 1e-6 if is_worked_out else 0.0
    assert found.cost(instance) == pytest.approx(searcher.best_cost, rel=1e-9, abs=last_bits or 1e-12)
    assert searcher.best_cost <= start.cost(instance) + last_bits


def test_where_nothing_is_left_to_drive_it_costs_nothing() -> None:
    distances = np.random.default_rng(5).uniform(size=(9, 9))
    distances[np.arange(9), np.r_[1:9, 0]] = distances[np.r_[1:9, 0], np.arange(9)] = 0.0
    distances = np.minimum(distances, distances.T)
    problem = SearchProblem.from_instance(Instance(None, np.zeros(9, dtype=int), 1, distances=distances))
    for seed in range(20):
        alone = tuple((customer,) for customer in range(1, 9))
        searcher = RuinAndRecreate(problem, alone, AnnealingSettings(), seed)
        searcher.run(400, Pace(0.0, 1 / 400))
        assert problem.cost(searcher.best_routes) == 0.0
        assert searcher.best_cost == 0.0


@given(st.data(), st.lists(st.integers(0, 40), min_size=1, max_size=8))
def test_it_does_not_matter_in_how_many_calls_iterations_are_run(data: st.DataObject, counts: list[int]) -> None:
    instance = data.draw(instances(sizes=_SIZES))
    start = data.draw(solutions_of(instance)).routes
    problem, pace = SearchProblem.from_instance(instance), Pace(0.0, 1 / (sum(counts) + 1))
    at_once = RuinAndRecreate(problem, start, AnnealingSettings(), seed=3)
    at_once.run(sum(counts), pace)
    piecewise = RuinAndRecreate(problem, start, AnnealingSettings(), seed=3)
    for count in counts:
        piecewise.run(count, pace)
    assert piecewise.best_routes == at_once.best_routes


def test_it_does_not_matter_in_how_many_calls_iterations_are_run_where_hardly_any_cost_is_left() -> None:
    distances = np.zeros((6, 6))
    distances[0, 4] = distances[4, 0] = 1.0
    distances[0, 5] = distances[5, 0] = 1e-160
    problem = SearchProblem.from_instance(Instance(None, np.zeros(6, dtype=int), 1, distances=distances))
    pace = Pace(0.0, 1 / 50)
    at_once = RuinAndRecreate(problem, ((1, 2, 3, 4, 5),), AnnealingSettings(), seed=3)
    at_once.run(50, pace)
    for first in range(1, 50):
        piecewise = RuinAndRecreate(problem, ((1, 2, 3, 4, 5),), AnnealingSettings(), seed=3)
        piecewise.run(first, pace)
        piecewise.run(50 - first, pace)
        assert piecewise.best_routes == at_once.best_routes


def test_it_finds_the_optimum_of_a_circle() -> None:
    angles = 2 * np.pi * np.arange(12) / 12
    places = np.vstack([[0.0, 0.0], np.column_stack([np.cos(angles), np.sin(angles)])])
    instance = Instance(places, np.array([0] + [1] * 12), capacity=4)
    searcher = RuinAndRecreate(
        SearchProblem.from_instance(instance), [[customer] for customer in range(1, 13)], AnnealingSettings(), seed=0
    )
    searcher.run(3000, Pace(0.0, 1 / 3000))
    step = 2 * np.sin(np.pi / 12)
    assert searcher.best_cost == pytest.approx(3 * (2 + 3 * step))


def test_adopted_routes_are_searched_on() -> None:
    instance = Instance(np.array([[0.0, 0], [1, 0], [2, 0]]), np.array([0, 1, 1]), capacity=2)
    searcher = RuinAndRecreate(SearchProblem.from_instance(instance), [[1], [2]], AnnealingSettings(), seed=0)
    searcher.adopt([[1, 2]], 4.0)
    assert searcher.best_cost == 4.0
    assert searcher.best_routes == ((1, 2),)
