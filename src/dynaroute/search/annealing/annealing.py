"""Ruin and recreate with simulated annealing, as a searcher."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynaroute.search.annealing.log import make_log
from dynaroute.search.annealing.routes import make_tours, read_routes
from dynaroute.search.annealing.ruin import Annealing
from dynaroute.search.annealing.ruin_recreate import anneal, make_best
from dynaroute.search.annealing.tours import AFTER
from dynaroute.search.core.compiled import make_apart
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.random_numbers import make_random_state
from dynaroute.search.searchers import Pace

__all__ = ["AnnealingSettings", "RuinAndRecreate"]

_RELIABLE_SHARE = 1e-3  # of the cost at the start: so much less is found on made-up problems alone


@dataclass(frozen=True)
class AnnealingSettings:
    """Temperatures, and how much each iteration removes.

    Attributes
    ----------
    hottest, coolest
        Temperatures at the start and the end, in units of the start's mean leg.
    mean_removed
        Mean number of customers removed per iteration.
    longest_string
        Most customers removed from one route.
    neighbours
        Number of near customers, in routes with room, next to which a customer is tried.
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
        Routes to start from.
    settings
        Temperatures and sizes.
    seed, stream
        Seed of the random numbers; searchers with different streams are independent.
    mean_leg
        Unit of temperatures; None: the mean leg of the start.
    done
        Number of the first iteration, which determines its temperature.
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
        self._log = make_log(problem)
        cost = problem.cost(routes)
        self._mean_leg = cost / (problem.size + len(routes)) if mean_leg is None else mean_leg
        self._done = done
        self._halt = make_apart(1, np.int8)
        self.adopt(routes, cost)

    @property
    def best_cost(self) -> float:
        """Cost of the best solution so far."""
        cost = float(self._best.costs[1])
        if cost > _RELIABLE_SHARE * self._first_cost:
            return cost
        return self._problem.cost(self.best_routes)  # what is left after all changes may be less than nothing

    @property
    def best_routes(self) -> tuple[tuple[int, ...], ...]:
        """The best solution so far."""
        return read_routes(self._best.after)

    @property
    def present_routes(self) -> tuple[tuple[int, ...], ...]:
        """The current solution, which is rarely the best."""
        return read_routes(self._tours.nodes[:, AFTER])

    def adopt(self, routes: Sequence[Sequence[int]], cost: float) -> None:
        """Continue from another solution, at the same temperature."""
        self._tours = make_tours(self._problem, routes)
        self._best = make_best(self._tours, cost, self._problem)
        self._first_cost = cost

    def halt(self) -> None:
        """Stop a run in another thread within an iteration, and prevent later runs."""
        self._halt[0] = 1

    def run(self, count: int, pace: Pace) -> int:
        """Run some iterations; returns their number, which is smaller only if halted."""
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
            False,
            problem,
            self._halt,
        )
        done, self._done = reached - self._done, reached
        return done
