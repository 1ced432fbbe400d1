"""Searchers made of searchers: one after the other, and side by side."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait

from dynaroute.improve.pacing import Pace, Searcher

__all__ = ["Relay", "Team"]

_MEETINGS = 20


class Relay:
    """A searcher of two: the first leads quickly near, the second begins with what it found.

    Parameters
    ----------
    first, second
        Who begins, and who takes over.
    handover
        Progress at which the second takes over, between 0 and 1.
    """

    def __init__(self, first: Searcher, second: Searcher, handover: float) -> None:
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
            self._second.adopt(self._first.best_routes, self._first.best_cost)
        return begun + self._second.run(count - begun, pace.part(self._handover, 1.0, self._done))


class Team:
    """Searchers in threads. At certain points of the search, the worst of them adopt the best solution of all.

    Between two meetings each works for itself, so where iterations set the pace, it does not matter who is faster.

    Parameters
    ----------
    members
        At least one.
    learners
        How many adopt it each time, at most: all but one of those who keep what they had beside it.
    """

    def __init__(self, members: Sequence[Searcher], learners: int = 1) -> None:
        self._learners = learners
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
        for member in self._members:
            member.adopt(routes, cost)

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
                self._meet()
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
        runs = [self._pool.submit(member.run, count, pace) for member in self._members]
        try:
            return min(run.result() for run in runs)
        finally:
            wait(runs)  # after an interrupt, too: nobody shall read what is still being written

    def _meet(self) -> None:
        self._meetings += 1
        best, *others = sorted(self._members, key=lambda member: member.best_cost)
        behind = [member for member in others if member.best_cost > best.best_cost]
        for member in behind[-self._learners :]:
            member.adopt(best.best_routes, best.best_cost)
