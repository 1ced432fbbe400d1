"""Ruin and recreate as a searcher: from hot to cool as the search goes on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynaroute.improve.pacing import Pace
from dynaroute.improve.problem import SearchProblem
from dynaroute.improve.random_numbers import make_random_state
from dynaroute.improve.ruin_recreate import Annealing, anneal, make_best, make_log
from dynaroute.improve.tours import AFTER, make_tours, read_routes

__all__ = ["AnnealingSettings", "RuinAndRecreate"]

_HARDLY_ANY = 1e-3  # of the cost at the start: so much less is found on made-up problems alone


@dataclass(frozen=True)
class AnnealingSettings:
    """How hot the search is, and how much is taken out at a time.

    Attributes
    ----------
    hottest, coolest
        Temperatures at the beginning and at the end, in mean legs of the start.
    mean_removed
        How many customers are taken out, on average.
    longest_string
        The most customers taken out of one route.
    neighbours
        How many near customers, in routes with room, a customer is tried beside.
    """

    hottest: float = 0.8
    coolest: float = 0.03
    mean_removed: float = 10.0
    longest_string: float = 10.0
    neighbours: int = 20


class RuinAndRecreate:
    """A searcher that anneals from a given solution.

    Parameters
    ----------
    problem
        The problem.
    routes
        Where to start.
    settings
        Temperatures and extent.
    seed, stream
        Of the random numbers; searchers with different streams are independent.
    mean_leg
        What temperatures are multiples of; None: the mean leg of the start.
    done
        The number of the first iteration, by which the pace tells how hot it is.
    """

    def __init__(
        self,
        problem: SearchProblem,
        routes: Sequence[Sequence[int]],
        settings: AnnealingSettings,
        seed: int,
        stream: int = 0,
        mean_leg: float | None = None,
        done: int = 0,
    ) -> None:
        self._problem = problem
        self._settings = settings
        self._state = make_random_state(seed, stream)
        self._log = make_log(problem.size)
        cost = problem.cost(routes)
        self._mean_leg = cost / (problem.size + len(routes)) if mean_leg is None else mean_leg
        self._done = done
        self._halt = np.zeros(1, dtype=np.int8)
        self.adopt(routes, cost)

    @property
    def best_cost(self) -> float:
        """Cost of the best solution so far."""
        cost = float(self._best.costs[1])
        if cost > _HARDLY_ANY * self._first_cost:
            return cost
        return self._problem.cost(self.best_routes)  # what is left after all changes may be less than nothing

    @property
    def best_routes(self) -> tuple[tuple[int, ...], ...]:
        """The best solution so far."""
        return read_routes(self._best.after)

    @property
    def present_routes(self) -> tuple[tuple[int, ...], ...]:
        """The solution that it is at, which is hardly ever the best."""
        return read_routes(self._tours.nodes[:, AFTER])

    def adopt(self, routes: Sequence[Sequence[int]], cost: float) -> None:
        """Go on from another solution, as hot as before."""
        self._tours = make_tours(self._problem, routes)
        self._best = make_best(self._tours, cost)
        self._first_cost = cost

    def halt(self) -> None:
        """End a run that goes on in another thread, within an iteration, and all later ones."""
        self._halt[0] = 1

    def run(self, count: int, pace: Pace) -> int:
        """Run some iterations, and say how many it were: fewer only if halted."""
        problem, settings = self._problem, self._settings
        fall = math.log(settings.coolest / settings.hottest)
        reached = anneal(
            self._tours,
            self._best,
            self._log,
            self._state,
            Annealing(
                temperature=self._mean_leg * settings.hottest * math.exp(fall * pace.offset),
                cooling=fall * pace.rate,
                mean_removed=settings.mean_removed,
                longest_string=settings.longest_string,
                neighbours=settings.neighbours,
            ),
            self._done,
            self._done + count,
            problem,
            self._halt,
        )
        done, self._done = reached - self._done, reached
        return done
