"""The best solution so far."""

from __future__ import annotations

import time

import numpy as np

from dynaroute.improve.annealing import AnnealingSettings, RuinAndRecreate
from dynaroute.improve.incumbent import Improvement, Incumbent
from dynaroute.improve.problem import SearchProblem
from dynaroute.instance import Instance
from dynaroute.solution import Solution, check

_INSTANCE = Instance(np.array([[0.0, 0], [1, 0], [2, 0]]), np.array([0, 1, 1]), capacity=2)
_APART, _TOGETHER = Solution(((1,), (2,))), Solution(((1, 2),))  # costs 6 and 4


def test_better_solutions_are_taken_and_told() -> None:
    told: list[Improvement] = []
    incumbent = Incumbent(_INSTANCE, time.perf_counter(), told.append)
    assert incumbent.offer(_APART)
    assert incumbent.offer(_TOGETHER)
    assert incumbent.cost == 4
    assert [each.cost for each in told] == [6, 4]


def test_what_is_not_better_is_left() -> None:
    incumbent = Incumbent(_INSTANCE, time.perf_counter(), None)
    incumbent.offer(_TOGETHER)
    assert not incumbent.offer(_APART)
    assert not incumbent.offer(Solution(((2, 1),)))
    assert incumbent.solution.routes == ((1, 2),)


def test_what_a_searcher_found_last_is_in_the_outcome() -> None:
    incumbent = Incumbent(_INSTANCE, time.perf_counter(), None)
    incumbent.offer(_APART)
    searcher = RuinAndRecreate(SearchProblem.from_instance(_INSTANCE), _APART.routes, AnnealingSettings(), seed=0)
    incumbent.watch(searcher)
    searcher.adopt(_TOGETHER.routes, 4.0)
    outcome = incumbent.conclude(iterations=7, is_interrupted=False)
    assert outcome.solution == Solution(((1, 2),), stated_cost=4.0)
    assert [cost for _, cost in outcome.trace] == [6, 4]
    assert outcome.iterations == 7


def test_with_nothing_found_there_is_a_solution_all_the_same() -> None:
    outcome = Incumbent(_INSTANCE, time.perf_counter(), None).conclude(iterations=0, is_interrupted=True)
    assert not check(_INSTANCE, outcome.solution)
    assert outcome.is_interrupted
