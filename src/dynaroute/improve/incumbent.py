"""The best solution of a search so far, and whom to tell of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from dynaroute.improve.pacing import Searcher
from dynaroute.improve.start import build_by_filling
from dynaroute.instance import Instance
from dynaroute.solution import Solution

__all__ = ["Improvement", "Incumbent", "SearchOutcome"]


class Improvement(NamedTuple):
    """A better solution.

    Attributes
    ----------
    seconds
        When it was found, since the clock of the search began.
    cost, solution
        What was found.
    """

    seconds: float
    cost: float
    solution: Solution


@dataclass(frozen=True)
class SearchOutcome:
    """What a search came to.

    Attributes
    ----------
    solution, cost
        The best that was found; never worse than the start.
    iterations
        How many were run, in those of ruin and recreate: one of the genetic search counts as many.
    trace
        (seconds since the clock of the search began, cost) of every improvement, the first solution included.
    seconds
        When it ended, by the same clock.
    is_interrupted
        Whether the user broke it off from the keyboard.
    """

    solution: Solution
    cost: float
    iterations: int
    trace: tuple[tuple[float, float], ...]
    seconds: float
    is_interrupted: bool = False


class Incumbent:
    """The best solution so far, and its history.

    Attributes
    ----------
    solution, cost
        The best so far; its cost is infinite before there is one.

    Parameters
    ----------
    instance
        The problem.
    began
        The value of `time.perf_counter` from which seconds are counted.
    on_improvement
        Whom to tell.
    """

    def __init__(self, instance: Instance, began: float, on_improvement: Callable[[Improvement], None] | None) -> None:
        self._instance = instance
        self._began = began
        self._on_improvement = on_improvement
        self._next_look = began
        self._watched: Searcher | None = None
        self._trace: list[tuple[float, float]] = []
        self.solution = Solution(())
        self.cost = math.inf

    def offer(self, solution: Solution) -> bool:
        """Take a solution if it is better; whether it was."""
        cost = solution.cost(self._instance)
        if cost >= self.cost:
            return False
        self.solution, self.cost = replace(solution, stated_cost=cost), cost
        seconds = time.perf_counter() - self._began
        self._trace.append((seconds, cost))
        if self._on_improvement is not None:
            self._on_improvement(Improvement(seconds, cost, self.solution))
        return True

    def watch(self, searcher: Searcher) -> None:
        """Take what a searcher found, but spend a twentieth of the time on that at most."""
        self._watched = searcher
        now = time.perf_counter()
        if searcher.best_cost >= self.cost or now < self._next_look:
            return
        self.offer(Solution(searcher.best_routes))
        taken = time.perf_counter() - now
        self._next_look = now + 20 * taken

    def conclude(self, iterations: int, is_interrupted: bool) -> SearchOutcome:
        """Take what the searcher found last, or at least something."""
        if not self._trace:
            self.offer(build_by_filling(self._instance))
        solution = self.solution
        if self._watched is not None:
            last = Solution(self._watched.best_routes)
            self.offer(last)
            # of equally good ones the last, since which others were seen on the way depends on the clock
            cost = last.cost(self._instance)
            solution = replace(last, stated_cost=cost) if cost == self.cost else self.solution
        seconds = time.perf_counter() - self._began
        return SearchOutcome(solution, self.cost, iterations, tuple(self._trace), seconds, is_interrupted)
