"""Searching many instances side by side, each for its time: first routes, the search, and what to tell of both."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

from dynaroute.cores import count_cores
from dynaroute.improve.search import Improvement, search
from dynaroute.improve.stopping import Stopping
from dynaroute.instance import Instance
from dynaroute.solution import Solution
from dynaroute.solving.building import load_policy, make_strategy, name_policy
from dynaroute.solving.options import Observers, SolveOptions
from dynaroute.solving.result import GIVEN, SAVINGS, Result, Start

if TYPE_CHECKING:
    from dynaroute.model import Policy

__all__ = ["search_all"]

_POLICY_SHARE = 0.5  # of the time limit, at most, for the first routes of a policy that was asked for


def search_all(
    instances: Sequence[Instance],
    starts: Sequence[Solution] | None,
    options: SolveOptions,
    observers: Observers,
    entered: float,
) -> list[Result]:
    """Search every instance for as long as the options say.

    Parameters
    ----------
    instances
        Any problems.
    starts
        Known routes of each, if there are any.
    options, observers
        How to search, and who is told.
    entered
        The value of `time.perf_counter` from which the time of a single instance counts; each of many has its time
        from when it is taken up.
    """
    jobs = [
        _Job(index, instance, None if starts is None else starts[index]) for index, instance in enumerate(instances)
    ]
    searcher = _Searcher.prepare(options, observers)
    if len(jobs) != 1:
        return _search_side_by_side(searcher, jobs)
    result = searcher.search(jobs[0], entered, threads=options.threads or 1)
    observers.note_progress(1)
    return [result]


def _search_side_by_side(searcher: _Searcher, jobs: Sequence[_Job]) -> list[Result]:
    searches: list[Future[Result]] = []
    with ThreadPoolExecutor(searcher.options.threads or count_cores()) as pool:
        try:
            with suppress(KeyboardInterrupt):
                searches.extend(pool.submit(searcher.search_in_turn, job) for job in jobs)
                _wait_for_all(searches, searcher.observers)
            searcher.interrupted.set()  # if it was interrupted, every search ends with its best so far
            searches.extend(pool.submit(searcher.search_in_turn, job) for job in jobs[len(searches) :])
            return [future.result() for future in searches]
        finally:  # after a fault, or a second interrupt, nobody waits for the rest
            searcher.interrupted.set()
            pool.shutdown(wait=False, cancel_futures=True)


def _wait_for_all(searches: Sequence[Future[Result]], observers: Observers) -> None:
    for finished in as_completed(searches):
        finished.result()  # raises what the search raised
        observers.note_progress(1)


class _Job(NamedTuple):
    number: int
    instance: Instance
    start: Solution | None


class _FirstRoutes(NamedTuple):
    """Where a search starts: routes, or None for those by savings, which it builds itself."""

    start: Start
    solution: Solution | None = None
    messages: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Searcher:
    """What all searches of a call have in common."""

    options: SolveOptions
    observers: Observers
    policy: Policy | None
    interrupted: Event = field(default_factory=Event)

    @classmethod
    def prepare(cls, options: SolveOptions, observers: Observers) -> _Searcher:
        is_built = options.model not in ("auto", "savings")
        return cls(options, observers, load_policy(options.model, options.device) if is_built else None)

    def search_in_turn(self, job: _Job) -> Result:
        """Search one of many, whose time begins now."""
        return self.search(job, time.perf_counter(), threads=1)

    def search(self, job: _Job, began: float, threads: int) -> Result:
        """Search one instance; its time counts from `began`."""
        options, limit = self.options, self.options.search_seconds
        first = self._choose_first_routes(job, began)
        shift = time.perf_counter() - began

        def tell(improvement: Improvement) -> None:
            if self.observers.on_improvement is not None:
                self.observers.on_improvement(job.number, improvement._replace(seconds=improvement.seconds + shift))

        stopping = Stopping(
            deadline=None if limit is None else began + limit,
            iterations=None if options.iterations is None else int(options.iterations),  # NumPy's integers too
            target=options.target,
            is_cancelled=self._is_cancelled,
        )
        outcome = search(
            job.instance, first.solution, stopping, seed=options.usual_seed, threads=threads, on_improvement=tell
        )
        result = Result(
            job.instance,
            outcome.solution,
            outcome.cost,
            time.perf_counter() - began,
            first.start,
            options.way,
            options.limit,
            trace=tuple((seconds + shift, cost) for seconds, cost in outcome.trace),
            iterations=outcome.iterations,
            is_interrupted=outcome.is_interrupted or self._is_cancelled(),
        )
        return replace(result, messages=(*first.messages, result.improvement))

    def _is_cancelled(self) -> bool:
        is_cancelled = self.observers.is_cancelled
        return self.interrupted.is_set() or (is_cancelled is not None and is_cancelled())

    def _choose_first_routes(self, job: _Job, began: float) -> _FirstRoutes:
        if job.start is not None:
            return _FirstRoutes(GIVEN, job.start)
        if self.policy is None:
            return _FirstRoutes(SAVINGS)
        if job.instance.coordinates is None:
            message = "There are no coordinates for a policy to read, so the search starts from savings."
            return _FirstRoutes(SAVINGS, messages=(message,))
        try:
            return self._build_by_policy(self.policy, job.instance, began)
        except KeyboardInterrupt:
            self.interrupted.set()  # which ends the search, too, as soon as it has routes
            return _FirstRoutes(SAVINGS)

    def _build_by_policy(self, policy: Policy, instance: Instance, began: float) -> _FirstRoutes:
        from dynaroute.solving.in_time import build_in_time

        limit, strategy = self.options.search_seconds, make_strategy(self.options)
        stopping = Stopping(
            deadline=None if limit is None else began + _POLICY_SHARE * limit, is_cancelled=self._is_cancelled
        )
        built = build_in_time(policy, instance, strategy, self.options.usual_seed, stopping)
        start = Start.by_policy(name_policy(policy, self.options.model), self.options.decoding)
        how = f"{start.model} ({start})"
        if built.solution is None:
            return _FirstRoutes(SAVINGS, messages=(f"There was no time for {how}.",))
        messages: tuple[str, ...] = ()
        if built.attempts < strategy.attempts:
            messages = (f"There was time for {built.attempts} of the {strategy.attempts} attempts of {how}.",)
        return _FirstRoutes(start, built.solution, messages)
