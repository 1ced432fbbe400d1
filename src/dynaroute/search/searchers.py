"""Searchers: run in slices of a few milliseconds, paced by the clock or by iterations, and made of other searchers.

Between two slices a thread needs Python's lock, so with more parallel searches slices are longer.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

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


_MEETINGS = 40

_Done = TypeVar("_Done")
Lesson = Callable[[], None]  # what a member does after a meeting
Meeting = Callable[[Sequence[Searcher], int], list[Lesson]]


class Relay:
    """Two searchers in sequence: the first gets close quickly, the second starts with what it found.

    Parameters
    ----------
    first, second
        The searchers.
    handover
        Progress at which the second takes over, between 0 and 1.
    finders
        Searchers whose best solutions are handed over: members of the first, if it is a team. None: the first.
    """

    def __init__(
        self, first: Searcher, second: Searcher, handover: float, finders: Sequence[Searcher] | None = None
    ) -> None:
        self._finders = finders or (first,)
        self._first = first
        self._second = second
        self._handover = handover
        self._is_handed_over = False
        self._done = 0  # iterations of the first searcher

    @property
    def best_cost(self) -> float:
        """Cost of the best solution so far."""
        return min(self._first.best_cost, self._second.best_cost)

    @property
    def best_routes(self) -> tuple[tuple[int, ...], ...]:
        """The best solution so far."""
        routes = self._second.best_routes  # before its cost, because it may wait for better ones that are nearly ready
        return self._first.best_routes if self._first.best_cost <= self._second.best_cost else routes

    def adopt(self, routes: Sequence[Sequence[int]], cost: float) -> None:
        """Let the running searcher continue from, or with, another solution."""
        (self._second if self._is_handed_over else self._first).adopt(routes, cost)

    def halt(self) -> None:
        """Soon stop a run in another thread, and prevent later runs."""
        self._first.halt()
        self._second.halt()

    def run(self, count: int, pace: Pace) -> int:
        """Run some iterations. If iterations set the pace, splitting the run into several calls changes nothing."""
        begun = 0
        if not self._is_handed_over:
            wanted = min(count, pace.iterations_until(self._handover, self._done))
            begun = self._first.run(wanted, pace.part(0.0, self._handover))
            self._done += begun
            if begun < wanted or pace.iterations_until(self._handover, self._done) > 0:
                return begun
            self._is_handed_over = True
            for finder in self._finders:
                self._second.adopt(finder.best_routes, finder.best_cost)
        return begun + self._second.run(count - begun, pace.part(self._handover, 1.0, self._done))


class Team:
    """Searchers in threads that meet at certain points of the search.

    Between meetings they are independent, so if iterations set the pace, their relative speed does not matter.

    Parameters
    ----------
    members
        The searchers, at least one.
    meet
        What they exchange: `copy_best_to_worst`, or None to keep their solutions diverse.
    """

    def __init__(self, members: Sequence[Searcher], meet: Meeting | None) -> None:
        self._meet = meet
        self._members = tuple(members)
        self._pool = ThreadPoolExecutor(len(members), thread_name_prefix="dynaroute-search")
        self._done = 0
        self._meetings = 0

    @property
    def best_cost(self) -> float:
        """Cost of the best solution of all."""
        return self._leader.best_cost

    @property
    def best_routes(self) -> tuple[tuple[int, ...], ...]:
        """The best solution of all."""
        return self._leader.best_routes

    @property
    def _leader(self) -> Searcher:
        return min(self._members, key=lambda member: member.best_cost)

    def adopt(self, routes: Sequence[Sequence[int]], cost: float) -> None:
        """Let all members continue from, or with, another solution."""
        self._do_side_by_side([partial(member.adopt, routes, cost) for member in self._members])

    def halt(self) -> None:
        """Soon stop a run in another thread, and prevent later runs."""
        for member in self._members:
            member.halt()

    def run(self, count: int, pace: Pace) -> int:
        """Let each member run some iterations. If they set the pace, several calls give the same as one."""
        left = count
        while left > 0:
            until_meeting = pace.iterations_until((self._meetings + 1) / _MEETINGS, self._done)
            if until_meeting == 0:
                self._meetings += 1
                if self._meet is not None:
                    self._do_side_by_side(self._meet(self._members, self._meetings))
                continue
            portion = min(left, until_meeting)
            done = self._run_members(portion, pace)
            self._done += done
            left -= done
            if done < portion:
                break
        return count - left

    def _run_members(self, count: int, pace: Pace) -> int:
        """Run all members; returns the iterations of each."""
        return min(self._do_side_by_side([partial(member.run, count, pace) for member in self._members]))

    def _do_side_by_side(self, tasks: Sequence[Callable[[], _Done]]) -> list[_Done]:
        pending = [self._pool.submit(task) for task in tasks]
        try:
            return [each.result() for each in pending]
        finally:
            wait(pending)  # even after an interrupt, so that nothing is read while it is written


def copy_best_to_worst(members: Sequence[Searcher], number: int) -> list[Lesson]:
    """Let the worst member adopt the best solution of all. For searchers that hold one solution."""
    best, worst = min(members, key=_by_cost), max(members, key=_by_cost)
    return [partial(worst.adopt, best.best_routes, best.best_cost)] if worst.best_cost > best.best_cost else []


def _by_cost(member: Searcher) -> float:
    return member.best_cost
