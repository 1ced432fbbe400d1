"""The plans of a search for fleets: those of the present round, and the best ones of earlier rounds."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.random_numbers import RandomState, draw_below
from dynaroute.search.with_limits.problem import TypedRoutes, number_visits

__all__ = ["Plans", "PricedRoutes", "cross_plans"]


class PricedRoutes(NamedTuple):
    """Routes and their price: the length, plus what missing customers and vehicles count."""

    price: float
    routes: TypedRoutes


class Plans:
    """A few different plans, which are crossed in rounds until children stop improving.

    Parameters
    ----------
    most
        The most plans to keep.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._present: list[PricedRoutes] = []
        self._champions: list[PricedRoutes] = []  # the best plan of each finished round
        self._idle = 0  # children in a row that were not better than their mothers
        self._are_champions = False  # whether the present plans are champions

    def __len__(self) -> int:
        return len(self._present)

    @property
    def best(self) -> PricedRoutes:
        """The best plan of all; no routes and an infinite price if there is none."""
        return min((*self._present, *self._champions), default=PricedRoutes(math.inf, ()))

    @property
    def idle_children(self) -> int:
        """Number of children in a row that were not better than their mothers."""
        return self._idle

    @property
    def has_champions(self) -> bool:
        """Whether there are champions that are not in this round."""
        return bool(self._champions)

    def keep(self, plan: PricedRoutes) -> None:
        """Add a plan unless it is known already; if there are too many, drop the worst."""
        self._present = self._add(plan, self._present)

    def replace_mother(self, mother: PricedRoutes, child: PricedRoutes) -> None:
        """Replace a mother by her child if it is better and not known already."""
        if child.price >= mother.price or any(child.routes == plan.routes for plan in self._present):
            self._idle += 1
            return
        self._idle = 0
        self._present = [*(plan for plan in self._present if plan is not mother), child]

    def choose_parents(self, state: RandomState) -> tuple[PricedRoutes, PricedRoutes]:
        """Choose the next plan in turn as the mother, and the better of two random others as the father."""
        mother, *others = self._present
        self._present = [*others, mother]
        others = others or [mother]
        return mother, min(others[draw_below(state, len(others))] for _ in range(2))

    def end_round(self) -> None:
        """Add the best plan of this round to the champions, and forget the others."""
        self._champions = self._present if self._are_champions else self._add(min(self._present), self._champions)
        self._present, self._idle, self._are_champions = [], 0, False

    def call_champions(self) -> None:
        """Start a round with the champions."""
        self._present, self._champions, self._idle, self._are_champions = self._champions, [], 0, True

    def try_again(self) -> None:
        """Reset the count of children without improvement."""
        self._idle = 0

    def _add(self, plan: PricedRoutes, plans: list[PricedRoutes]) -> list[PricedRoutes]:
        if any(plan.routes == other.routes for other in plans):
            return plans
        longer = [*plans, plan]
        if len(longer) > self._most:
            longer.remove(max(longer))
        return longer


def cross_plans(
    mother: TypedRoutes, father: TypedRoutes, problem: SearchProblem, state: RandomState, most: int
) -> TypedRoutes:
    """Combine neighbouring routes of the father with the mother's routes, without the customers served twice.

    Parameters
    ----------
    mother, father
        Two plans. A route of the mother that lost most of its customers is dropped.
    problem
        The problem.
    state
        Random numbers.
    most
        The most routes allowed.
    """
    route_of = {customer: route for route in father for customer in route[1:]}
    seed = 1 + draw_below(state, problem.rules.customers if problem.rules else problem.size)
    wanted = 1 + draw_below(state, max(1, len(father) // 2))
    chosen: dict[tuple[int, ...], None] = {}  # an ordered set
    for customer in (seed, *problem.neighbours[seed].tolist()):
        if customer in route_of and len(chosen) < wanted:
            chosen[route_of[customer]] = None
    child = list(chosen)
    most_taken = problem.rules.customers if problem.rules else problem.size  # others are visits to load again
    orders = problem.rules.orders if problem.rules else np.arange(most_taken + 1)
    taken = {int(orders[customer]) for _, *stops in child for customer in stops if customer <= most_taken}
    free = problem.kinds.counts.tolist()
    for kind, *_ in child:
        free[kind] -= 1
    for kind, *stops in mother:
        left = [customer for customer in stops if int(orders[customer]) not in taken]
        if left and 2 * len(left) >= len(stops) and free[kind] > 0 and len(child) < most:
            free[kind] -= 1
            child.append((kind, *left))
    return number_visits(problem, tuple(child))
