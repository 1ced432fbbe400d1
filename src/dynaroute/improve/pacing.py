"""How a search spends its time: in slices of a few milliseconds, paced by the clock or by the iterations.

Between two slices Python's lock is needed, which threads have in turn: the more searches run side by side, the longer
their slices are.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from dynaroute.improve.stopping import Stopping

__all__ = ["Pace", "Searcher", "run_slices"]

_SLICE_SECONDS = 0.003
_LONGEST_SLICE_SECONDS = 0.05  # whoever cancels waits so long
_FIRST_COUNT = 50  # iterations of the first slice
_LARGEST_GROWTH = 4.0  # of a slice beside the one before: a single fast one proves little
_LARGEST_SPEED = 1e8  # iterations a second: those of a problem with one customer take no time
_FIRST_ROUND = 200_000  # iterations of the first round where only a target, or the user, ends the search


class Pace(NamedTuple):
    """How far the search is: iteration i comes when offset + rate * i of it, from 0 to 1, is over.

    Attributes
    ----------
    offset, rate
        Where iterations set the pace, progress depends on them alone. Where the clock does, it is told anew for each
        slice, from how many iterations there were so far in what time; the rate is 0 before that is known.
    """

    offset: float
    rate: float

    def progress(self, iteration: int) -> float:
        """How much of the search is over at an iteration."""
        return self.offset + self.rate * iteration

    def part(self, first: float, last: float, iteration: int = 0) -> Pace:
        """The pace within one part of the search, for whom this iteration is number 0."""
        length = last - first
        return Pace((self.progress(iteration) - first) / length, self.rate / length)

    def iterations_until(self, progress: float, iteration: int) -> int:
        """How many iterations from this one reach a point of the search; where the rate is 0, none or very many."""
        if self.rate == 0:
            return 0 if self.offset >= progress else sys.maxsize
        return max(0, math.ceil((progress - self.offset) / self.rate) - iteration)


class Searcher(Protocol):
    """A search that can be run piece by piece."""

    @property
    def best_cost(self) -> float:
        """Cost of the best solution so far."""
        ...

    @property
    def best_routes(self) -> tuple[tuple[int, ...], ...]:
        """The best solution so far."""
        ...

    def run(self, count: int, pace: Pace) -> int:
        """Run some iterations, and say how many it were: fewer only if halted.

        Where iterations set the pace, it does not matter in how many calls.
        """
        ...

    def adopt(self, routes: Sequence[Sequence[int]], cost: float) -> None:
        """Go on from, or with, another solution."""
        ...

    def halt(self) -> None:
        """End a run that goes on in another thread, and all later ones, soon."""
        ...


def run_slices(searcher: Searcher, stopping: Stopping, companions: int = 1) -> Iterator[int]:
    """Run a searcher until it has to stop; after each slice, give the number of iterations so far.

    The target is for the caller to watch.

    Parameters
    ----------
    searcher, stopping
        What to run, and until when.
    companions
        How many threads search in this process at the same time, this one's own included.
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
        # as fast as on average so far: a single slice may have waited long for a busy core
        return Pace(0.0, progress / done) if done > 0 else Pace(progress, 0.0)
    if stopping.iterations is not None:
        return Pace(0.0, 1 / stopping.iterations)
    # rounds without end, each twice as long as the one before
    number = int(math.log2(done / _FIRST_ROUND + 1))
    length = _FIRST_ROUND * 2**number
    return Pace(-(length - _FIRST_ROUND) / length, 1 / length)
