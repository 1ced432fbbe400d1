"""The plans that a search for fleets works with: those it crosses now, and the best of those it crossed before."""

from __future__ import annotations

import math
from typing import NamedTuple

from dynaroute.improve.fleet_problem import FleetProblem, FleetRoutes
from dynaroute.improve.random_numbers import RandomState, draw_below

__all__ = ["FleetPlans", "Plan", "cross_plans"]


class Plan(NamedTuple):
    """Routes, and what they cost with all that counts beside their length."""

    price: float
    routes: FleetRoutes


class FleetPlans:
    """A few plans that differ. In one round after the other they are crossed until no child is better any more.

    Parameters
    ----------
    most
        How many there are at most.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._present: list[Plan] = []
        self._champions: list[Plan] = []  # the best of each round that is over
        self._idle = 0  # children in a row that were not better than their mothers
        self._are_champions = False  # those of the present

    def __len__(self) -> int:
        return len(self._present)

    @property
    def best(self) -> Plan:
        """The best of all; without routes, and infinitely dear, if there is none."""
        return min((*self._present, *self._champions), default=Plan(math.inf, ()))

    @property
    def idle_children(self) -> int:
        """How many children in a row were no better than their mothers."""
        return self._idle

    @property
    def has_champions(self) -> bool:
        """Whether there are champions beside the plans of this round."""
        return bool(self._champions)

    def keep(self, plan: Plan) -> None:
        """Take a plan in beside the others, unless it is one of them; if there are too many, the worst goes."""
        self._present = self._add(plan, self._present)

    def replace_mother(self, mother: Plan, child: Plan) -> None:
        """Let a child take its mother's place if it is better, and not one of the others."""
        if child.price >= mother.price or any(child.routes == plan.routes for plan in self._present):
            self._idle += 1
            return
        self._idle = 0
        self._present = [*(plan for plan in self._present if plan is not mother), child]

    def choose_parents(self, state: RandomState) -> tuple[Plan, Plan]:
        """A mother, each in her turn, and as a father the better one of two others."""
        mother, *others = self._present
        self._present = [*others, mother]
        others = others or [mother]
        return mother, min(others[draw_below(state, len(others))] for _ in range(2))

    def end_round(self) -> None:
        """Put the best of these plans among the champions, and forget the others; who is a champion stays one."""
        self._champions = self._present if self._are_champions else self._add(min(self._present), self._champions)
        self._present, self._idle, self._are_champions = [], 0, False

    def call_champions(self) -> None:
        """Begin a round with the champions."""
        self._present, self._champions, self._idle, self._are_champions = self._champions, [], 0, True

    def try_again(self) -> None:
        """Let these plans have children once more, as if none had been in vain."""
        self._idle = 0

    def _add(self, plan: Plan, plans: list[Plan]) -> list[Plan]:
        if any(plan.routes == other.routes for other in plans):
            return plans
        longer = [*plans, plan]
        if len(longer) > self._most:
            longer.remove(max(longer))
        return longer


def cross_plans(
    mother: FleetRoutes, father: FleetRoutes, problem: FleetProblem, state: RandomState, most: int
) -> FleetRoutes:
    """Routes of one plan that lie together, and those of another without their customers.

    Parameters
    ----------
    mother, father
        Two plans. Of a route of the first that lost most of its customers, nobody is left.
    problem
        The problem.
    state
        Random numbers.
    most
        How many routes there may be.
    """
    route_of = {customer: route for route in father for customer in route[1:]}
    seed = 1 + draw_below(state, problem.size)
    wanted = 1 + draw_below(state, max(1, len(father) // 2))
    chosen: dict[tuple[int, ...], None] = {}  # a set that keeps its order
    for customer in (seed, *problem.neighbours[seed].tolist()):
        if customer in route_of and len(chosen) < wanted:
            chosen[route_of[customer]] = None
    child = list(chosen)
    taken = {customer for _, *stops in child for customer in stops}
    free = problem.kinds.counts.tolist()
    for kind, *_ in child:
        free[kind] -= 1
    for kind, *stops in mother:
        left = [customer for customer in stops if customer not in taken]
        if left and 2 * len(left) >= len(stops) and free[kind] > 0 and len(child) < most:
            free[kind] -= 1
            child.append((kind, *left))
    return tuple(child)
