"""Running a search in slices of a few milliseconds, paced by the clock or by iterations.

Between two slices a thread needs Python's lock, so with more parallel searches slices are longer.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from dynaroute.base.stopping import Stopping

_SLICE_SECONDS = 0.003
_LONGEST_SLICE_SECONDS = 0.05  # the longest wait after cancelling
_FIRST_COUNT = 10  # iterations of the first slice, in which each may take milliseconds
_LARGEST_GROWTH = 4.0  # factor from one slice to the next, because a single fast slice proves little
_LARGEST_SPEED = 1e8  # iterations per second; an instance with one customer takes no time
_FIRST_ROUND = 200_000  # iterations of the first round if only a target or the user ends the search


class Pace(NamedTuple):
    """Progress of the search: at iteration i it is offset + rate * i, from 0 to 1.

    Attributes
    ----------
    offset, rate
        If iterations set the pace, progress depends only on them. If the clock does, the pace is updated for each slice
        from the speed so far; the rate is 0 before that is known.
    """

    offset: float
    rate: float

    def progress(self, iteration: int) -> float:
        """Return the progress at an iteration."""
        return self.offset + self.rate * iteration

    def part(self, first: float, last: float, iteration: int = 0) -> Pace:
        """Return the pace within a part of the search, whose iteration 0 is this one."""
        length = last - first
        return Pace((self.progress(iteration) - first) / length, self.rate / length)

    def iterations_until(self, progress: float, iteration: int) -> int:
        """Count iterations from this one to a given progress; if the rate is 0, none or very many."""
        if self.rate == 0:
            return 0 if self.offset >= progress else sys.maxsize
        return max(0, math.ceil((progress - self.offset) / self.rate) - iteration)


class Searcher(Protocol):
    """A search that runs in pieces."""

    @property
    def best_cost(self) -> float:
        """Cost of the best solution so far."""
        ...

    @property
    def best_routes(self) -> tuple[tuple[int, ...], ...]:
        """The best solution so far."""
        ...

    def run(self, count: int, pace: Pace) -> int:
        """Run some iterations; returns their number, which is smaller only if halted.

        If iterations set the pace, splitting the run into several calls changes nothing.
        """
        ...

    def adopt(self, routes: Sequence[Sequence[int]], cost: float) -> None:
        """Continue from, or with, another solution."""
        ...

    def halt(self) -> None:
        """Soon stop a run in another thread, and prevent later runs."""
        ...


def run_slices(searcher: Searcher, stopping: Stopping, companions: int = 1) -> Iterator[int]:
    """Run a searcher until it has to stop; yields the number of iterations after each slice.

    The caller has to check the target.

    Parameters
    ----------
    searcher, stopping
        What to run, and until when.
    companions
        Number of threads that search in this process, including this one.
    """
    slice_seconds = min(_SLICE_SECONDS * companions, _LONGEST_SLICE_SECONDS)
    began = time.perf_counter()
    taken, speed = slice_seconds, None
    done = 0
    while not stopping.is_time_up():
        if done == stopping.iterations:
            return
        count = _FIRST_COUNT
        if speed is not None:
            count = max(1, int(min(slice_seconds, stopping.seconds_left, _LARGEST_GROWTH * taken) * speed))
        if stopping.iterations is not None:
            count = min(count, stopping.iterations - done)
        before = time.perf_counter()
        done += searcher.run(count, _choose_pace(stopping, began, done))
        taken = max(time.perf_counter() - before, count / _LARGEST_SPEED)
        speed = count / taken
        yield done


def _choose_pace(stopping: Stopping, began: float, done: int) -> Pace:
    if stopping.deadline is not None:
        seconds = max(stopping.deadline - began, 1e-9)
        by_clock = (time.perf_counter() - began) / seconds
        by_iterations = done / stopping.iterations if stopping.iterations else 0.0
        progress = min(1.0, max(by_clock, by_iterations))
        # the average speed so far, because a single slice may have waited for a busy core
        return Pace(0.0, progress / done) if done > 0 else Pace(progress, 0.0)
    if stopping.iterations is not None:
        return Pace(0.0, 1 / stopping.iterations)
    # endless rounds, each twice as long as the previous
    number = int(math.log2(done / _FIRST_ROUND + 1))
    length = _FIRST_ROUND * 2**number
    return Pace(-(length - _FIRST_ROUND) / length, 1 / length)
