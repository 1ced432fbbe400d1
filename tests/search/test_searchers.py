"""Slices and paces."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import instances, solutions_of

from dynaroute.base.stopping import Stopping
from dynaroute.draw import draw_paper_set
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search.annealing.annealing import AnnealingSettings, RuinAndRecreate
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.genetic.genetic import GeneticSearch
from dynaroute.search.savings import build_by_savings
from dynaroute.search.searchers import Pace, Relay, Team, copy_best_to_worst, run_slices
from dynaroute.search.start import build_by_near_savings


class _Recorder:
    """A searcher that notes how it is run."""

    best_cost = 1.0
    best_routes = ((1,),)

    def __init__(self) -> None:
        self.runs: list[tuple[int, Pace]] = []

    def run(self, count: int, pace: Pace) -> int:
        self.runs.append((count, pace))
        return count

    def adopt(self, routes: Sequence[Sequence[int]], cost: float) -> None:
        raise NotImplementedError

    def halt(self) -> None:
        raise NotImplementedError


class _Sleeper(_Recorder):
    """A searcher whose iterations take a tenth of a millisecond each."""

    def run(self, count: int, pace: Pace) -> int:
        time.sleep(count * 1e-4)
        return super().run(count, pace)


def test_exactly_the_given_number_of_iterations_is_run() -> None:
    recorder = _Recorder()
    assert list(run_slices(recorder, Stopping(iterations=12_345)))[-1] == 12_345
    assert sum(count for count, _ in recorder.runs) == 12_345


def test_no_iterations_are_none() -> None:
    assert list(run_slices(_Recorder(), Stopping(iterations=0))) == []


def test_iterations_alone_set_the_pace_without_a_deadline() -> None:
    recorder = _Recorder()
    list(run_slices(recorder, Stopping(iterations=1000)))
    assert {pace for _, pace in recorder.runs} == {Pace(0.0, 0.001)}


def test_a_deadline_sets_the_pace_by_the_clock() -> None:
    recorder = _Recorder()
    list(run_slices(recorder, Stopping(deadline=time.perf_counter() + 0.01)))
    done, progress = 0, []
    for count, pace in recorder.runs:
        progress.append(pace.progress(done))
        done += count
    assert progress == sorted(progress)
    assert 0 <= progress[0] <= progress[-1] <= 1


def test_within_a_slice_the_clock_goes_on() -> None:
    recorder = _Recorder()
    list(run_slices(recorder, Stopping(deadline=time.perf_counter() + 0.01)))
    assert recorder.runs[0][1].rate == 0  # nothing is known yet of how fast it is
    assert all(pace.rate > 0 for _, pace in recorder.runs[1:])


def test_a_slice_that_waited_for_a_busy_core_does_not_upset_the_pace() -> None:
    recorder = _Recorder()
    slices = run_slices(recorder, Stopping(deadline=time.perf_counter() + 0.05))
    for number, _ in enumerate(slices):
        if number == 20:
            time.sleep(0.02)
    assert all(0 <= pace.offset <= 1 for _, pace in recorder.runs)


def test_a_slice_is_longer_the_more_search_side_by_side() -> None:
    alone, beside = _Sleeper(), _Sleeper()
    for sleeper, companions in ((alone, 1), (beside, 10)):
        list(run_slices(sleeper, Stopping(iterations=300), companions))
    assert max(count for count, _ in beside.runs) > 2 * max(count for count, _ in alone.runs[1:])


def test_what_was_halted_counts_as_far_as_it_came() -> None:
    recorder = _Recorder()
    recorder.run = lambda count, pace: 7  # type: ignore[method-assign]
    assert next(run_slices(recorder, Stopping(iterations=1000))) == 7


def test_a_deadline_in_the_past_runs_nothing() -> None:
    assert list(run_slices(_Recorder(), Stopping(deadline=time.perf_counter() - 1))) == []


def test_cancelling_ends_it() -> None:
    recorder = _Recorder()
    slices = run_slices(recorder, Stopping(is_cancelled=lambda: len(recorder.runs) >= 3))
    assert len(list(slices)) == 3


def test_without_any_limit_rounds_begin_anew_and_grow() -> None:
    recorder = _Recorder()
    slices = run_slices(recorder, Stopping(is_cancelled=lambda: len(recorder.runs) >= 60))
    list(slices)
    rates = [pace.rate for _, pace in recorder.runs]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < rates[0]


def test_iterations_until_a_point_reach_it_and_no_earlier_one_does() -> None:
    pace = Pace(0.0, 1 / 1000)
    count = pace.iterations_until(0.2, 50)
    assert pace.progress(50 + count) >= 0.2 - 1e-9
    assert pace.progress(50 + count - 1) < 0.2
    assert pace.iterations_until(0.2, 50 + count) == 0


def test_a_point_that_the_clock_has_passed_is_reached() -> None:
    assert Pace(0.2, 0.0).iterations_until(0.2, iteration=50) == 0
    assert Pace(0.1, 0.0).iterations_until(0.2, iteration=50) > 10**9


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


class _RecordingMember:
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
    first, second = _RecordingMember(3.0), _RecordingMember(2.0)
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
    members, second = [_RecordingMember(3.0), _RecordingMember(2.0)], _RecordingMember(9.0)
    Relay(Team(members, None), second, 0.5, members).run(2, Pace(0.0, 1 / 2))
    assert second.adopted == [3.0, 2.0]


def test_what_the_second_has_nearly_ready_counts() -> None:
    class Late(_RecordingMember):
        """A searcher whose best cost is up to date only when its routes were asked for."""

        @property
        def best_routes(self) -> tuple[tuple[int, ...], ...]:
            self.best_cost = 1.0
            return ((2,),)

        @best_routes.setter
        def best_routes(self, routes: tuple[tuple[int, ...], ...]) -> None:
            pass

    assert Relay(_RecordingMember(2.0), Late(3.0), 0.5).best_routes == ((2,),)


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
    members = [_RecordingMember(1.0), _RecordingMember(2.0)]
    Team(members, None).run(1, Pace(0.9, 0.0))
    assert [member.adopted for member in members] == [[], []]
