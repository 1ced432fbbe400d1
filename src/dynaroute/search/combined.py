"""Searchers made of searchers: in sequence, and in parallel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import TypeVar

from dynaroute.search.pacing import Pace, Searcher

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
