"""Searchers made of searchers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import instances, solutions_of

from dynaroute.draw import draw_paper_set
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search.annealing.annealing import AnnealingSettings, RuinAndRecreate
from dynaroute.search.combined import Relay, Team, copy_best_to_worst
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.genetic.genetic import GeneticSearch
from dynaroute.search.pacing import Pace
from dynaroute.search.savings import build_by_savings
from dynaroute.search.start import build_by_near_savings

_INSTANCE = draw_paper_set(50, 1, np.random.default_rng(7)).instances()[0]


def _make_relay(instance: Instance, start: Solution, handover: float = 0.2) -> Relay:
    problem = SearchProblem.from_instance(instance)
    first = RuinAndRecreate(problem, start.routes, AnnealingSettings(), seed=1)
    return Relay(first, GeneticSearch(problem, seed=1), handover)


@settings(max_examples=25)
@given(st.data())
def test_what_it_finds_is_feasible_costs_what_it_says_and_is_never_worse(data: st.DataObject) -> None:
    instance = data.draw(instances(sizes=st.integers(1, 25)))
    start = data.draw(solutions_of(instance))
    relay = _make_relay(instance, start)
    relay.run(2000, Pace(0.0, 1 / 2000))
    found = Solution(relay.best_routes)
    assert not check(instance, found)
    assert found.cost(instance) == pytest.approx(relay.best_cost, rel=1e-9)
    assert relay.best_cost <= start.cost(instance)


class _Recorder:
    """A searcher that notes how it is run, halted, and what it is told to adopt."""

    def __init__(self, best_cost: float) -> None:
        self.best_cost = best_cost
        self.best_routes: tuple[tuple[int, ...], ...] = ((1,),)
        self.runs: list[tuple[int, Pace]] = []
        self.adopted: list[float] = []
        self.is_halted = False

    def run(self, count: int, pace: Pace) -> int:
        self.runs.append((count, pace))
        return count

    def adopt(self, routes: Sequence[Sequence[int]], cost: float) -> None:
        self.adopted.append(cost)

    def halt(self) -> None:
        self.is_halted = True


# One after the other


def test_any_two_searchers_can_relay_and_each_has_a_pace_of_its_own() -> None:
    first, second = _Recorder(3.0), _Recorder(2.0)
    relay = Relay(first, second, 0.25)
    relay.adopt((), 9.0)
    relay.run(100, Pace(0.0, 1 / 200))
    relay.adopt((), 8.0)
    relay.run(100, Pace(0.0, 1 / 200))
    relay.halt()
    assert first.runs == [(50, Pace(0.0, 1 / 50))]
    assert [count for count, _ in second.runs] == [50, 100]
    for _, pace in second.runs:
        assert pace.progress(0) == 0.0
        assert pace.progress(150) == pytest.approx(1.0)
    assert (first.adopted, second.adopted) == ([9.0], [3.0, 8.0])
    assert first.is_halted and second.is_halted
    assert relay.best_cost == 2.0


def test_a_team_hands_over_what_each_of_its_members_found() -> None:
    members, second = [_Recorder(3.0), _Recorder(2.0)], _Recorder(9.0)
    Relay(Team(members, None), second, 0.5, members).run(2, Pace(0.0, 1 / 2))
    assert second.adopted == [3.0, 2.0]


def test_what_the_second_has_nearly_ready_counts() -> None:
    class Late(_Recorder):
        """A searcher whose best cost is up to date only when its routes were asked for."""

        @property
        def best_routes(self) -> tuple[tuple[int, ...], ...]:
            self.best_cost = 1.0
            return ((2,),)

        @best_routes.setter
        def best_routes(self, routes: tuple[tuple[int, ...], ...]) -> None:
            pass

    assert Relay(_Recorder(2.0), Late(3.0), 0.5).best_routes == ((2,),)


def test_it_does_not_matter_to_a_relay_in_how_many_calls_iterations_are_run() -> None:
    start, pace = build_by_savings(_INSTANCE), Pace(0.0, 1 / 10_000)
    at_once, piecewise = _make_relay(_INSTANCE, start), _make_relay(_INSTANCE, start)
    at_once.run(10_000, pace)
    for count in (1, 1998, 2, 3000, 4999):
        piecewise.run(count, pace)
    assert at_once.best_routes == piecewise.best_routes


def test_the_second_goes_on_where_the_first_ended() -> None:
    start = build_by_savings(_INSTANCE)
    relay = _make_relay(_INSTANCE, start)
    relay.run(4000, Pace(0.0, 1 / 20_000))
    half_way = relay.best_cost
    relay.run(16_000, Pace(0.0, 1 / 20_000))
    assert relay.best_cost <= half_way < start.cost(_INSTANCE)


def test_a_halted_relay_does_no_more() -> None:
    relay = _make_relay(_INSTANCE, build_by_savings(_INSTANCE), handover=0.0001)
    relay.halt()
    relay.run(1, Pace(0.5, 0.0))
    before = relay.best_cost
    relay.run(10_000, Pace(0.5, 0.0))
    assert relay.best_cost == before


# Side by side


def _make_members(count: int) -> list[RuinAndRecreate]:
    problem = SearchProblem.from_instance(_INSTANCE)
    start = build_by_near_savings(problem)
    return [RuinAndRecreate(problem, start, AnnealingSettings(), seed=1, stream=stream) for stream in range(count)]


def test_the_team_is_as_good_as_its_best_member() -> None:
    members = _make_members(3)
    team = Team(members, copy_best_to_worst)
    team.run(2000, Pace(0.0, 1 / 2000))
    assert team.best_cost == min(member.best_cost for member in members)
    assert not check(_INSTANCE, Solution(team.best_routes))


def test_it_does_not_matter_to_a_team_in_how_many_calls_iterations_are_run() -> None:
    pace = Pace(0.0, 1 / 3000)
    at_once, piecewise = (Team(_make_members(2), copy_best_to_worst) for _ in range(2))
    at_once.run(3000, pace)
    for count in (1, 149, 151, 699, 2000):
        piecewise.run(count, pace)
    assert at_once.best_routes == piecewise.best_routes
    assert at_once.best_cost == piecewise.best_cost


def test_the_worst_member_adopts_the_best_solution() -> None:
    members = _make_members(2)
    members[0].run(2000, Pace(0.0, 1 / 2000))
    assert members[0].best_cost < members[1].best_cost
    Team(members, copy_best_to_worst).run(1, Pace(0.05, 0.0))
    assert members[1].best_cost <= members[0].best_cost


def test_members_who_keep_apart_adopt_nothing() -> None:
    members = [_Recorder(1.0), _Recorder(2.0)]
    Team(members, None).run(1, Pace(0.9, 0.0))
    assert [member.adopted for member in members] == [[], []]
