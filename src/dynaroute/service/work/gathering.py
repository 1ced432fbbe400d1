"""Combining simultaneous searches into one search on the GPU, which each may leave early."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.service.messages.request_options import can_be_solved_together
from dynaroute.solving.options import Observers, SolveOptions
from dynaroute.solving.result import Result

if TYPE_CHECKING:
    from dynaroute.search.search import Improvement


class SearchTogether(Protocol):
    """A function that searches many instances at once, such as `search_together`."""

    def __call__(
        self,
        instances: Sequence[Instance],
        starts: Sequence[Solution] | None,
        options: SolveOptions,
        observers: Observers,
        entered: float,
    ) -> list[Result]:
        """Search the instances for the total time of the options."""
        ...


@dataclass(eq=False)
class _GatheredSearch:
    """One search, whose thread waits for the outcome."""

    instance: Instance
    is_cancelled: Callable[[], bool]
    on_improvement: Callable[[Improvement], object]
    outcome: Future[Result] = field(default_factory=Future)
    so_far: Result | None = None
    told: float = float("inf")

    def report(self, improvement: Improvement) -> None:
        """Pass on an improvement, except the start that is reported again after others have left."""
        if improvement.cost < self.told:
            self.told = improvement.cost
            self.on_improvement(improvement)

    def add(self, result: Result) -> None:
        """Add the result of a part of the search."""
        if self.so_far is not None:
            before = self.so_far
            done = (before.iterations or 0) + (result.iterations or 0)
            result = replace(result, start=before.start, trace=(*before.trace, *result.trace), iterations=done)
        self.so_far = replace(result, messages=(result.improvement,))

    def finish(self, seconds: float, is_interrupted: bool) -> None:
        """Wake the waiting thread."""
        assert self.so_far is not None
        self.outcome.set_result(replace(self.so_far, seconds=seconds, is_interrupted=is_interrupted))


@dataclass(eq=False)
class _SearchGroup:
    """Searches with the same options."""

    options: SolveOptions
    members: list[_GatheredSearch]


class Gathering:
    """Collects searches from several threads, and runs them together in one of these threads.

    Parameters
    ----------
    search
        Searches instances together.
    patience
        Seconds that the first of a group waits for others.
    """

    def __init__(self, search: SearchTogether, patience: float = 0.02) -> None:
        self._search = search
        self._patience = patience
        self._lock = Lock()
        self._open: list[_SearchGroup] = []

    @staticmethod
    def takes(options: SolveOptions) -> bool:
        """Whether a search can be combined with others: only a time limit ends it."""
        only_time = options.time_limit is not None and options.iterations is None and options.target is None
        return options.searches and only_time and options.start is None

    def search(
        self,
        instance: Instance,
        options: SolveOptions,
        is_cancelled: Callable[[], bool],
        on_improvement: Callable[[Improvement], object],
    ) -> Result:
        """Search one instance together with others that start now; returns when it is done.

        Parameters
        ----------
        instance
            The problem.
        options
            Options for which `takes` is true.
        is_cancelled
            True ends this search.
        on_improvement
            Called with every better solution, in the searching thread.
        """
        member = _GatheredSearch(instance, is_cancelled, on_improvement)
        group = self._join(member, options)
        if group is not None:
            time.sleep(self._patience)
            with self._lock:
                self._open.remove(group)
            self._run(group)
        return member.outcome.result()

    def _join(self, member: _GatheredSearch, options: SolveOptions) -> _SearchGroup | None:
        """Join an open group, or else create and return a new one."""
        with self._lock:
            for group in self._open:
                if can_be_solved_together(group.options, options):
                    group.members.append(member)
                    return None
            begun = _SearchGroup(options, [member])
            self._open.append(begun)
            return begun

    def _run(self, group: _SearchGroup) -> None:
        try:
            self._search_until_all_are_done(group)
        except BaseException as error:
            for member in group.members:
                if not member.outcome.done():
                    member.outcome.set_exception(error)
            if not isinstance(error, Exception):
                raise

    def _search_until_all_are_done(self, group: _SearchGroup) -> None:
        """Search for the group's time; a cancelled member leaves with its best, and the others continue."""
        assert group.options.time_limit is not None
        options = replace(group.options, time_limit=None, total_time=group.options.time_limit)
        began, left = time.perf_counter(), list(group.members)
        end = began + group.options.time_limit
        while left:
            found = self._search(
                [member.instance for member in left], _list_starts(left), options, _observe(left), began
            )
            is_over = time.perf_counter() >= end
            seconds = time.perf_counter() - began
            for member, result in zip(left, found, strict=True):
                member.add(replace(result, limit=group.options.limit))
                if is_over or member.is_cancelled() or not result.is_interrupted:
                    member.finish(seconds, result.is_interrupted and member.is_cancelled())
            left = [member for member in left if not member.outcome.done()]


def _list_starts(members: Sequence[_GatheredSearch]) -> list[Solution] | None:
    """Return the solutions to continue from; None at the start."""
    found = [member.so_far for member in members]
    return [result.solution for result in found if result is not None] or None


def _observe(members: list[_GatheredSearch]) -> Observers:
    """Make observers that interrupt the search when a member is cancelled, so that it can leave."""
    return Observers(
        on_improvement=lambda row, improvement: members[row].report(improvement),
        is_cancelled=lambda: any(member.is_cancelled() for member in members),
    )
