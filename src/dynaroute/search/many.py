"""Searching many instances on CPU cores, with one instance per core."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event

from dynaroute.base.machine import count_cores
from dynaroute.base.stopping import Stopping
from dynaroute.base.vocabulary import Objective
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.search.exchange import Exchange
from dynaroute.search.improvers import needs_limits
from dynaroute.search.search import Improvement, SearchOutcome, search
from dynaroute.search.with_limits.search import search_with_limits

_WAKE_UP_SECONDS = 0.2


@dataclass(frozen=True)
class BatchSearchRequest:
    """What to search, for how long, and which callbacks to call.

    Attributes
    ----------
    instances
        The instances.
    begin
        Called when an instance (or several together) starts; returns when to stop.
    find_start
        Called with the index of an instance and when to stop; returns feasible routes, or None for savings.
    is_by_policy
        Called with the index of an instance, after its routes were found; returns whether a policy built them.
    seed
        Seed of the random numbers. Results for an instance do not depend on the others.
    objective
        What to minimise: the length, or first the number of vehicles.
    on_improvement
        Called with the index of an instance and each better solution, including the first; possibly from several
        threads.
    on_finished
        Called with the number of instances finished since the last call.
    exchange
        Where other searches of the only instance leave their plans.
    """

    instances: Sequence[Instance]
    begin: Callable[[], Stopping]
    find_start: Callable[[int, Stopping], Solution | None] = lambda index, stopping: None
    is_by_policy: Callable[[int], bool] = lambda index: False
    seed: int = 0
    objective: Objective = "distance"
    on_improvement: Callable[[int, Improvement], None] | None = None
    on_finished: Callable[[int], None] | None = None
    exchange: Exchange | None = None


def search_side_by_side(request: BatchSearchRequest, threads: int | None = None) -> list[SearchOutcome]:
    """Search every instance for its time, which begins when it starts; returns one outcome per instance, in order.

    Ctrl-C ends all searches and returns the best so far. An error in one of them ends all.

    Parameters
    ----------
    request
        What to search.
    threads
        Number of cores: one for each instance, or all for a single instance. None: one for a single instance, else all
        that this process may use.
    """
    searches, count = _Searches(request), len(request.instances)
    if count == 1:
        outcome = searches.search(0, threads or 1)
        searches.note_finished()
        return [outcome]
    workers = min(threads or count_cores(), max(count, 1))
    search_one = partial(searches.search, threads=1, companions=workers)
    pending: list[Future[SearchOutcome]] = []
    with ThreadPoolExecutor(workers) as pool:
        try:
            with suppress(KeyboardInterrupt):
                pending.extend(pool.submit(search_one, index) for index in range(count))
                searches.wait_for(pending)
            searches.interrupted.set()  # after an interrupt, every search ends with its best so far
            pending.extend(pool.submit(search_one, index) for index in range(len(pending), count))
            return [future.result() for future in pending]
        finally:  # after an error or a second interrupt, do not wait for the rest
            searches.interrupted.set()
            pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True)
class _Searches:
    """The searches of one request, which end together when interrupted."""

    request: BatchSearchRequest
    interrupted: Event = field(default_factory=Event)

    def search(self, index: int, threads: int, companions: int = 1) -> SearchOutcome:
        request, stopping = self.request, self.request.begin()
        tell = None if request.on_improvement is None else partial(request.on_improvement, index)

        def is_cancelled() -> bool:
            return self.interrupted.is_set() or (stopping.is_cancelled is not None and stopping.is_cancelled())

        watched = replace(stopping, is_cancelled=is_cancelled)
        instance = request.instances[index]
        start = self._find_start(index, watched)
        search_one = partial(search, is_by_policy=request.is_by_policy(index))
        if needs_limits(instance, request.objective):
            search_one = partial(search_with_limits, objective=request.objective)
        outcome = search_one(
            instance,
            start,
            watched,
            seed=request.seed,
            threads=threads,
            companions=companions,
            on_improvement=tell,
            exchange=request.exchange,
        )
        seconds = time.perf_counter() - stopping.began  # freeing a large matrix takes time too
        return replace(outcome, seconds=seconds, is_interrupted=outcome.is_interrupted or is_cancelled())

    def wait_for(self, pending: Sequence[Future[SearchOutcome]]) -> None:
        """Wait until all have ended, reporting each; raises what one of them raised."""
        ended: SimpleQueue[Future[SearchOutcome]] = SimpleQueue()
        for each in pending:
            each.add_done_callback(ended.put)
        running = len(pending)
        while running > 0:
            # wake up now and then, because only the main thread can handle Ctrl-C
            with suppress(Empty):
                ended.get(timeout=_WAKE_UP_SECONDS).result()
                running -= 1
                self.note_finished()

    def note_finished(self) -> None:
        if self.request.on_finished is not None:
            self.request.on_finished(1)

    def _find_start(self, index: int, stopping: Stopping) -> Solution | None:
        try:
            return self.request.find_start(index, stopping)
        except KeyboardInterrupt:
            self.interrupted.set()  # this also ends the search, as soon as it has routes
            return None
