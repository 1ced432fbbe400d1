"""Searchers made of searchers: one after the other, and side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import TypeVar

from dynaroute.improve.pacing import Pace, Searcher

__all__ = ["Relay", "Team", "pass_on", "teach_the_worst"]

_MEETINGS = 40

_Done = TypeVar("_Done")
Lesson = Callable[[], None]  # what a member has to do after a meeting
Meeting = Callable[[Sequence[Searcher], int], list[Lesson]]


class Relay:
    """A searcher of two: the first leads quickly near, the second begins with what it found.

    Parameters
    ----------
    first, second
        Who begins, and who takes over.
    handover
        Progress at which the second takes over, between 0 and 1.
    finders
        Whose best solutions are handed over: members of the first, if it is a team; None: the first.
    """

    def __init__(
        self, first: Searcher, second: Searcher, handover: float, finders: Sequence[Searcher] | None = None
    ) -> None:
        self._finders = finders or (first,)
        self._first = first
        self._second = second
        self._handover = handover
        self._is_handed_over = False
        self._done = 0  # iterations of the first

    @property
    def best_cost(self) -> float:
        """Cost of the best solution so far."""
        return min(self._first.best_cost, self._second.best_cost)

    @property
    def best_routes(self) -> tuple[tuple[int, ...], ...]:
        """The best solution so far."""
        is_first_better = self._first.best_cost <= self._second.best_cost
        return self._first.best_routes if is_first_better else self._second.best_routes

    def adopt(self, routes: Sequence[Sequence[int]], cost: float) -> None:
        """Let who is running go on from, or with, another solution."""
        (self._second if self._is_handed_over else self._first).adopt(routes, cost)

    def halt(self) -> None:
        """End a run that goes on in another thread, and all later ones, soon."""
        self._first.halt()
        self._second.halt()

    def run(self, count: int, pace: Pace) -> int:
        """Run some iterations; where iterations set the pace, it does not matter in how many calls."""
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
    """Searchers in threads, which meet at certain points of the search.

    Between two meetings each works for itself, so where iterations set the pace, it does not matter who is faster.

    Parameters
    ----------
    members
        At least one.
    meet
        What they tell each other: `teach_the_worst`, `pass_on`, or nothing, where what they find is wanted for its
        variety.
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
        """Let all members go on from, or with, another solution."""
        self._do_side_by_side([partial(member.adopt, routes, cost) for member in self._members])

    def halt(self) -> None:
        """End a run that goes on in another thread, and all later ones, soon."""
        for member in self._members:
            member.halt()

    def run(self, count: int, pace: Pace) -> int:
        """Let each member run so many iterations; where they set the pace, it does not matter in how many calls."""
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
        """How many iterations each of them ran."""
        return min(self._do_side_by_side([partial(member.run, count, pace) for member in self._members]))

    def _do_side_by_side(self, tasks: Sequence[Callable[[], _Done]]) -> list[_Done]:
        pending = [self._pool.submit(task) for task in tasks]
        try:
            return [each.result() for each in pending]
        finally:
            wait(pending)  # after an interrupt, too: nobody shall read what is still being written


def teach_the_worst(members: Sequence[Searcher], number: int) -> list[Lesson]:
    """The worst member adopts the best solution of all: for those who have one solution only."""
    best, worst = min(members, key=_by_cost), max(members, key=_by_cost)
    return [partial(worst.adopt, best.best_routes, best.best_cost)] if worst.best_cost > best.best_cost else []


def pass_on(members: Sequence[Searcher], number: int) -> list[Lesson]:
    """Everyone adopts the best of another, each time of a different one: for those who keep what they had beside it.

    So what a member found reaches all others, but at a time when they have found something of their own.
    """
    others = [members[(place + 1 + number % (len(members) - 1)) % len(members)] for place in range(len(members))]
    found = [(other.best_routes, other.best_cost) for other in others]
    return [
        partial(member.adopt, routes, cost)
        for member, (routes, cost) in zip(members, found, strict=True)
        if cost != member.best_cost
    ]


def _by_cost(member: Searcher) -> float:
    return member.best_cost
