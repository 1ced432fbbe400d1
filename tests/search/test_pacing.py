"""Slices and paces."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dynaroute.base.stopping import Stopping
from dynaroute.search.pacing import Pace, run_slices


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
