"""Searching many instances: what such a search looks like, and how processor cores do it, one instance each."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event
from typing import Protocol

from dynaroute.cores import count_cores
from dynaroute.improve.fleet_search import load_machine_code_of_fleets, search_fleet
from dynaroute.improve.search import Improvement, SearchOutcome, load_machine_code, search
from dynaroute.improve.stopping import Stopping
from dynaroute.instance import Instance
from dynaroute.solution import Solution
from dynaroute.vocabulary import Objective

__all__ = ["BatchRequest", "BatchSearcher", "SideBySide"]

_NAP_SECONDS = 0.2


@dataclass(frozen=True)
class BatchRequest:
    """What to search, for how long, and whom to tell.

    Attributes
    ----------
    instances
        Any problems. Whoever works on tensors makes an `InstanceBatch` of them: cores do without PyTorch, which takes
        longer to load than many a search.
    begin
        Called when an instance, or several together, are taken up: when they have to stop.
    find_start
        Called with the index of an instance and when it has to stop: feasible routes, or None for savings.
    seed
        Of the random numbers. What is found for an instance does not depend on the others.
    objective
        What to make less: the length, or first the number of vehicles.
    on_improvement
        Called with the index of an instance and a better solution, the first included; perhaps from several threads.
    on_finished
        Called with the number of instances finished since the last call.
    """

    instances: Sequence[Instance]
    begin: Callable[[], Stopping]
    find_start: Callable[[int, Stopping], Solution | None] = lambda index, stopping: None
    seed: int = 0
    objective: Objective = "distance"
    on_improvement: Callable[[int, Improvement], None] | None = None
    on_finished: Callable[[int], None] | None = None

    def needs_fleet(self, instance: Instance) -> bool:
        """Whether more matters in an instance than capacity and length."""
        return self.objective == "vehicles" or not instance.is_plain


class BatchSearcher(Protocol):
    """A search of many instances; `Searcher` is one of a single instance."""

    def search(self, request: BatchRequest) -> list[SearchOutcome]:
        """Search until it has to stop; an outcome for each instance, in order.

        An interrupt from the keyboard ends all searches, with the best so far. A fault in one of them ends all.
        """
        ...


@dataclass(frozen=True)
class SideBySide:
    """A searcher on processor cores: each of many instances has one to itself, a single instance all of them.

    Attributes
    ----------
    threads
        How many cores; None: one for a single instance, else as many as there are for this process.
    """

    threads: int | None = None

    def search(self, request: BatchRequest) -> list[SearchOutcome]:
        """Search every instance for its time, which begins when it is taken up."""
        searches, count = _Searches(request), len(request.instances)
        if count == 1:
            outcome = searches.search(0, self.threads or 1)
            searches.tell_of_one_more()
            return [outcome]
        workers = min(self.threads or count_cores(), max(count, 1))
        search_one = partial(searches.search, threads=1, companions=workers)
        pending: list[Future[SearchOutcome]] = []
        with ThreadPoolExecutor(workers) as pool:
            try:
                with suppress(KeyboardInterrupt):
                    searches.load_machine_code()  # else those that are taken up first would spend their time on it
                    pending.extend(pool.submit(search_one, index) for index in range(count))
                    searches.wait_for(pending)
                searches.interrupted.set()  # if it was interrupted, every search ends with its best so far
                pending.extend(pool.submit(search_one, index) for index in range(len(pending), count))
                return [future.result() for future in pending]
            finally:  # after a fault, or a second interrupt, nobody waits for the rest
                searches.interrupted.set()
                pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True)
class _Searches:
    """Searches of one request, which end when one of them, or who waits for them, is interrupted."""

    request: BatchRequest
    interrupted: Event = field(default_factory=Event)

    def search(self, index: int, threads: int, companions: int = 1) -> SearchOutcome:
        request, stopping = self.request, self.request.begin()
        tell = None if request.on_improvement is None else partial(request.on_improvement, index)

        def is_cancelled() -> bool:
            return self.interrupted.is_set() or (stopping.is_cancelled is not None and stopping.is_cancelled())

        watched = replace(stopping, is_cancelled=is_cancelled)
        instance = request.instances[index]
        search_one = search
        if request.needs_fleet(instance):
            search_one = partial(search_fleet, objective=request.objective)
        outcome = search_one(
            instance,
            self._find_start(index, watched),
            watched,
            seed=request.seed,
            threads=threads,
            companions=companions,
            on_improvement=tell,
        )
        seconds = time.perf_counter() - stopping.began  # to give a large matrix back takes some, too
        return replace(outcome, seconds=seconds, is_interrupted=outcome.is_interrupted or is_cancelled())

    def load_machine_code(self) -> None:
        """Load the machine code of what these instances need."""
        kinds = {self.request.needs_fleet(instance) for instance in self.request.instances}
        if False in kinds:
            load_machine_code()
        if True in kinds:
            load_machine_code_of_fleets()

    def wait_for(self, pending: Sequence[Future[SearchOutcome]]) -> None:
        """Wait until all have ended, and tell of each; raises what one of them raised."""
        ended: SimpleQueue[Future[SearchOutcome]] = SimpleQueue()
        for each in pending:
            each.add_done_callback(ended.put)
        running = len(pending)
        while running > 0:
            # awake now and then: Python may hear of a Ctrl-C in another thread, but only this one can take it
            with suppress(Empty):
                ended.get(timeout=_NAP_SECONDS).result()
                running -= 1
                self.tell_of_one_more()

    def tell_of_one_more(self) -> None:
        if self.request.on_finished is not None:
            self.request.on_finished(1)

    def _find_start(self, index: int, stopping: Stopping) -> Solution | None:
        try:
            return self.request.find_start(index, stopping)
        except KeyboardInterrupt:
            self.interrupted.set()  # which ends the search, too, as soon as it has routes
            return None
