"""One population shared by several cores: all improve children, which join it in a fixed order.

So N cores get about as far in a second as one core in N seconds. With separate populations, each core would repeat the
work of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event, Lock

import numpy as np

from dynaroute.search.core.compiled import make_apart
from dynaroute.search.core.paths import split_path
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.random_numbers import draw_state, make_random_state
from dynaroute.search.core.routes import make_task
from dynaroute.search.genetic.genetic import (
    add_children,
    add_feasible,
    count_iterations_per_child,
    draw_children,
    find_best_child,
    improve_children,
)
from dynaroute.search.genetic.memory import ChildBatch, fill_in, make_child_batch, make_evolution, make_workspace
from dynaroute.search.searchers import Pace

_SLOTS_PER_CORE = 3  # batches in progress or waiting for their turn, so that no core waits for a slow one
_ITERATIONS_PER_BATCH = 1200  # a batch takes as long as so many iterations of ruin and recreate: a few milliseconds
_MOST_CHILDREN = 16  # per batch

Routes = tuple[tuple[int, ...], ...]


class _Slot:
    """Memory for one batch at a time, with its random state and penalty."""

    def __init__(self, batch: ChildBatch) -> None:
        self.batch = batch
        self.random = make_apart(1, np.uint64)
        self.penalty = 0.0
        self.in_use = Lock()  # held while a batch is improved


class Breeding:
    """A searcher that evolves one population on several cores.

    A batch is a few children that one core improves. It is added to the population when a batch a fixed number later
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
        children = min(_MOST_CHILDREN, max(1, round(_ITERATIONS_PER_BATCH / weight)))
        self._weight = weight * children
        self._credit = 0  # requested iterations that are too few for another batch
        self._threads = threads
        self._task = make_task(problem)
        self._evolution = make_evolution(problem, initial)
        self._random = make_random_state(seed)
        self._halt = make_apart(1, np.int8)
        self._slots = [_Slot(make_child_batch(problem.size, children)) for _ in range(_SLOTS_PER_CORE * threads)]
        self._workspaces = [make_workspace(problem) for _ in range(threads)]  # not in use
        self._adopted = make_child_batch(problem.size)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="dynaroute-breeding")
        self._running: set[Future[None]] = set()
        self._turn = Lock()  # held while the population changes
        self._begun = 0  # batches

    @property
    def best_cost(self) -> float:
        """Cost of the best feasible solution that is ready; infinite before there is one."""
        waiting = (find_best_child(batch)[0] for batch in self._list_ready())
        return min([float(self._evolution.progress[0]["best_length"]), *waiting])

    @property
    def best_routes(self) -> Routes:
        """Routes of the best feasible solution; empty before there is one. Waits until all cores are idle."""
        self._await(self._running)
        best, path = float(self._evolution.progress[0]["best_length"]), self._evolution.best_path
        for batch in self._list_ready():
            length, child, rank = find_best_child(batch)
            if length < best:
                best, path = length, batch.paths[child, rank]
        return split_path(path)

    def adopt(self, routes: Sequence[Sequence[int]], cost: float) -> None:
        """Improve a feasible solution by local search, and add it to the population."""
        self._await(self._running)
        workspace = self._workspaces[0]
        fill_in(routes, workspace)
        add_feasible(self._task, self._evolution, self._adopted, workspace, self._random, self._halt)

    def halt(self) -> None:
        """Stop a run in another thread within about a millisecond, and prevent later runs."""
        self._halt[0] = 1

    def run(self, count: int, pace: Pace) -> int:
        """Let each core run some iterations. Splitting the run into several calls changes nothing.

        It returns when all batches have begun, so that no core waits for the last one between two runs.
        """
        batches, credit = divmod(self._credit + count * self._threads, self._weight)
        last = self._begun + batches
        if batches > 0:
            self._improve_until(last)
        if self._begun < last:
            return min(count, (batches - last + self._begun) * self._weight // self._threads)
        self._credit = credit
        return count

    def _improve_until(self, last: int) -> None:
        """Let all cores improve batches until the last one has begun."""
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
        """Improve batches one after the other."""
        workspace = self._workspaces.pop()
        try:
            while (slot := self._begin(last)) is not None:
                try:
                    improve_children(self._task, slot.batch, workspace, slot.penalty, slot.random, self._halt)
                finally:
                    slot.in_use.release()
        finally:
            self._workspaces.append(workspace)
            all_begun.set()

    def _begin(self, last: int) -> _Slot | None:
        """Add an earlier batch to the population, and begin a new one in its slot; None if enough have begun."""
        with self._turn:
            if self._begun >= last or self._halt[0] != 0:
                return None
            slot = self._slots[self._begun % len(self._slots)]
            slot.in_use.acquire()
            try:
                if self._begun >= len(self._slots):
                    add_children(self._evolution, slot.batch)
                slot.penalty = draw_children(self._evolution, slot.batch, self._random)
            except BaseException:
                slot.in_use.release()  # else all other cores would wait for this batch forever
                raise
            draw_state(self._random, slot.random)
            self._begun += 1
            return slot

    def _list_ready(self) -> Iterator[ChildBatch]:
        """List the batches that are ready but not yet added to the population, in order."""
        for number in range(max(0, self._begun - len(self._slots)), self._begun):
            slot = self._slots[number % len(self._slots)]
            if slot.in_use.acquire(blocking=False):
                try:
                    yield slot.batch
                finally:
                    slot.in_use.release()
