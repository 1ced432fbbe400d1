"""One population shared by several cores: all raise children, which join it in a fixed order.

So N cores get about as far in a second as one core in N seconds. With separate populations, each core would repeat the
work of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event, Lock

import numpy as np

from dynaroute.improve.compiled import make_apart
from dynaroute.improve.genetic import (
    add_children,
    add_feasible,
    conceive,
    count_iterations_per_child,
    find_best_child,
    raise_children,
)
from dynaroute.improve.genetic_memory import Litter, bring_in, make_lineage, make_litter, make_nursery
from dynaroute.improve.local_search_paths import split_path
from dynaroute.improve.moves_fleet import make_task
from dynaroute.improve.pacing import Pace
from dynaroute.improve.problem import SearchProblem
from dynaroute.improve.random_numbers import draw_state, make_random_state

__all__ = ["Breeding"]

_PLACES_PER_CORE = 3  # litters in progress or waiting for their turn, so that no core waits for a slow one
_ITERATIONS_PER_LITTER = 1200  # a litter takes as long as so many iterations of ruin and recreate: a few milliseconds
_MOST_CHILDREN = 16  # per litter

Routes = tuple[tuple[int, ...], ...]


class _Place:
    """Memory for one litter at a time, with its random state and penalty."""

    def __init__(self, litter: Litter) -> None:
        self.litter = litter
        self.random = make_apart(1, np.uint64)
        self.penalty = 0.0
        self.in_use = Lock()  # held while a litter is raised


class Breeding:
    """A searcher that evolves one population on several cores.

    A litter is a few children that one core raises. It is added to the population when a litter a fixed number later
    begins, never earlier or later. So if iterations set the pace, the cores' relative speed does not matter.

    Parameters
    ----------
    problem
        The problem, with a distance matrix.
    threads
        Number of cores.
    seed
        Seed of the random numbers.
    initial
        Number of initial random solutions, improved by local search.
    """

    def __init__(self, problem: SearchProblem, threads: int, seed: int = 0, initial: int = 10) -> None:
        weight = count_iterations_per_child(problem.size)
        children = min(_MOST_CHILDREN, max(1, round(_ITERATIONS_PER_LITTER / weight)))
        self._weight = weight * children
        self._credit = 0  # requested iterations that are too few for another litter
        self._threads = threads
        self._task = make_task(problem)
        self._lineage = make_lineage(problem, initial)
        self._random = make_random_state(seed)
        self._halt = make_apart(1, np.int8)
        self._places = [_Place(make_litter(problem.size, children)) for _ in range(_PLACES_PER_CORE * threads)]
        self._nurseries = [make_nursery(problem) for _ in range(threads)]  # not in use
        self._adopted = make_litter(problem.size)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="dynaroute-breeding")
        self._running: set[Future[None]] = set()
        self._turn = Lock()  # held while the population changes
        self._begun = 0  # litters

    @property
    def best_cost(self) -> float:
        """Cost of the best feasible solution that is ready; infinite before there is one."""
        waiting = (find_best_child(litter)[0] for litter in self._list_ready())
        return min([float(self._lineage.progress[0]["best_length"]), *waiting])

    @property
    def best_routes(self) -> Routes:
        """Routes of the best feasible solution; empty before there is one. Waits until all cores are idle."""
        self._await(self._running)
        best, path = float(self._lineage.progress[0]["best_length"]), self._lineage.best_path
        for litter in self._list_ready():
            length, child, rank = find_best_child(litter)
            if length < best:
                best, path = length, litter.paths[child, rank]
        return split_path(path)

    def adopt(self, routes: Sequence[Sequence[int]], cost: float) -> None:
        """Improve a feasible solution by local search, and add it to the population."""
        self._await(self._running)
        nursery = self._nurseries[0]
        bring_in(routes, nursery)
        add_feasible(self._task, self._lineage, self._adopted, nursery, self._random, self._halt)

    def halt(self) -> None:
        """Stop a run in another thread within about a millisecond, and prevent later runs."""
        self._halt[0] = 1

    def run(self, count: int, pace: Pace) -> int:
        """Let each core run some iterations. Splitting the run into several calls changes nothing.

        It returns when all litters have begun, so that no core waits for the last one between two runs.
        """
        litters, credit = divmod(self._credit + count * self._threads, self._weight)
        last = self._begun + litters
        if litters > 0:
            self._raise_until(last)
        if self._begun < last:
            return min(count, (litters - last + self._begun) * self._weight // self._threads)
        self._credit = credit
        return count

    def _raise_until(self, last: int) -> None:
        """Let all cores raise litters until the last one has begun."""
        self._await({future for future in self._running if future.done()})
        all_begun = Event()
        self._running |= {self._pool.submit(self._work, last, all_begun) for _ in range(self._threads)}
        all_begun.wait()

    def _await(self, running: set[Future[None]]) -> None:
        """Wait for work in other threads, and raise its errors."""
        wait(running)
        self._running = self._running - running
        for future in running:
            future.result()

    def _work(self, last: int, all_begun: Event) -> None:
        """Raise litters one after the other."""
        nursery = self._nurseries.pop()
        try:
            while (place := self._begin(last)) is not None:
                try:
                    raise_children(self._task, place.litter, nursery, place.penalty, place.random, self._halt)
                finally:
                    place.in_use.release()
        finally:
            self._nurseries.append(nursery)
            all_begun.set()

    def _begin(self, last: int) -> _Place | None:
        """Add an earlier litter to the population, and begin a new one in its place; None if enough have begun."""
        with self._turn:
            if self._begun >= last or self._halt[0] != 0:
                return None
            place = self._places[self._begun % len(self._places)]
            place.in_use.acquire()
            try:
                if self._begun >= len(self._places):
                    add_children(self._lineage, place.litter)
                place.penalty = conceive(self._lineage, place.litter, self._random)
            except BaseException:
                place.in_use.release()  # else all other cores would wait for this litter forever
                raise
            draw_state(self._random, place.random)
            self._begun += 1
            return place

    def _list_ready(self) -> Iterator[Litter]:
        """List the litters that are ready but not yet added to the population, in order."""
        for number in range(max(0, self._begun - len(self._places)), self._begun):
            place = self._places[number % len(self._places)]
            if place.in_use.acquire(blocking=False):
                try:
                    yield place.litter
                finally:
                    place.in_use.release()
