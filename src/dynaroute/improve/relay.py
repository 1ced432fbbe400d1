"""Ruin and recreate, then a genetic search that begins with what it found."""

from __future__ import annotations

from collections.abc import Sequence

from dynaroute.improve.annealing import RuinAndRecreate
from dynaroute.improve.genetic import GeneticSearch
from dynaroute.improve.pacing import Pace
from dynaroute.improve.problem import SearchProblem

__all__ = ["Relay"]

_ITERATIONS_A_CUSTOMER = 1.3  # of ruin and recreate, that take as long as one of the genetic search
_FIRST_POPULATION = 10


class Relay:
    """A searcher of two: the first leads quickly near, the second finds the rest.

    Iterations are those of ruin and recreate; one of the genetic search counts as many as take the same time.

    Parameters
    ----------
    problem
        The problem.
    first
        Who begins.
    handover
        Progress from 0 to 1 at which the genetic search takes over.
    seed, stream
        Of its random numbers.
    """

    def __init__(
        self, problem: SearchProblem, first: RuinAndRecreate, handover: float, seed: int, stream: int = 0
    ) -> None:
        self._first = first
        self._second = GeneticSearch(problem, seed, stream, _FIRST_POPULATION)
        self._handover = handover
        self._weight = max(1, round(_ITERATIONS_A_CUSTOMER * problem.size))
        self._is_handed_over = False
        self._done = 0
        self._credit = 0

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
        """Go on from, or with, another solution.

        Parameters
        ----------
        routes, cost
            The solution.
        """
        if self._is_handed_over:
            self._second.add(routes)
        else:
            self._first.adopt(routes, cost)

    def halt(self) -> None:
        """End a run that goes on in another thread, and all later ones, soon."""
        self._second.halt[0] = 1

    def run(self, count: int, pace: Pace) -> None:
        """Run some iterations; where iterations set the pace, it does not matter in how many calls.

        Parameters
        ----------
        count
            How many.
        pace
            How far the search is at which iteration.
        """
        if not self._is_handed_over:
            begun = min(count, pace.iterations_until(self._handover, self._done))
            self._first.run(begun, Pace(pace.offset / self._handover, pace.rate / self._handover))
            self._done += begun
            count -= begun
            if pace.iterations_until(self._handover, self._done) > 0:
                return
            self._is_handed_over = True
            self._second.add(self._first.best_routes)
        self._done += count
        self._credit += count
        whole, self._credit = divmod(self._credit, self._weight)
        self._second.run(whole)
