"""Several searchers side by side, which now and then share the best solution."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait

from dynaroute.improve.pacing import Pace, Searcher

__all__ = ["Team"]

_MEETINGS = 20


class Team:
    """Searchers in threads. At certain points of the search, the worst of them adopts the best solution of all.

    Between two meetings each works for itself, so where iterations set the pace, it does not matter who is faster.

    Parameters
    ----------
    members
        At least one.
    """

    def __init__(self, members: Sequence[Searcher]) -> None:
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
        """Let all members go on from, or with, another solution.

        Parameters
        ----------
        routes, cost
            The solution.
        """
        for member in self._members:
            member.adopt(routes, cost)

    def halt(self) -> None:
        """End a run that goes on in another thread, soon."""
        for member in self._members:
            member.halt()

    def run(self, count: int, pace: Pace) -> None:
        """Let each member run some iterations; where iterations set the pace, it does not matter in how many calls.

        Parameters
        ----------
        count
            How many, for each.
        pace
            How far the search is at which iteration.
        """
        while count > 0:
            until_meeting = pace.iterations_until((self._meetings + 1) / _MEETINGS, self._done)
            if until_meeting == 0:
                self._meet()
                continue
            portion = min(count, until_meeting)
            self._run_members(portion, pace)
            self._done += portion
            count -= portion

    def _run_members(self, count: int, pace: Pace) -> None:
        runs = [self._pool.submit(member.run, count, pace) for member in self._members]
        try:
            for run in runs:
                run.result()
        finally:
            wait(runs)  # after an interrupt, too: nobody shall read what is still being written

    def _meet(self) -> None:
        self._meetings += 1
        best, worst = self._leader, max(self._members, key=lambda member: member.best_cost)
        if worst.best_cost > best.best_cost:
            worst.adopt(best.best_routes, best.best_cost)
