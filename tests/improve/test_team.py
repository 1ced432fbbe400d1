"""Searchers side by side."""

from __future__ import annotations

import numpy as np

from dynaroute.distributions import draw_paper_set
from dynaroute.improve.annealing import AnnealingSettings, RuinAndRecreate
from dynaroute.improve.pacing import Pace
from dynaroute.improve.problem import SearchProblem
from dynaroute.improve.start import build_by_near_savings
from dynaroute.improve.team import Team
from dynaroute.solution import Solution, check

_INSTANCE = draw_paper_set(50, 1, np.random.default_rng(7)).instances()[0]


def _make_members(count: int) -> list[RuinAndRecreate]:
    problem = SearchProblem.from_instance(_INSTANCE)
    start = build_by_near_savings(problem)
    return [RuinAndRecreate(problem, start, AnnealingSettings(), seed=1, stream=stream) for stream in range(count)]


def test_the_team_is_as_good_as_its_best_member() -> None:
    members = _make_members(3)
    team = Team(members)
    team.run(2000, Pace(0.0, 1 / 2000))
    assert team.best_cost == min(member.best_cost for member in members)
    assert not check(_INSTANCE, Solution(team.best_routes))


def test_it_does_not_matter_in_how_many_calls_iterations_are_run() -> None:
    pace = Pace(0.0, 1 / 3000)
    at_once, piecewise = Team(_make_members(2)), Team(_make_members(2))
    at_once.run(3000, pace)
    for count in (1, 149, 151, 699, 2000):
        piecewise.run(count, pace)
    assert at_once.best_routes == piecewise.best_routes
    assert at_once.best_cost == piecewise.best_cost


def test_the_worst_member_adopts_the_best_solution() -> None:
    members = _make_members(2)
    members[0].run(2000, Pace(0.0, 1 / 2000))
    assert members[0].best_cost < members[1].best_cost
    Team(members).run(1, Pace(0.05, 0.0))
    assert members[1].best_cost <= members[0].best_cost
