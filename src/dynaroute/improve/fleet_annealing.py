"""Ruin and recreate for fleets as a searcher: a few plans are cooled, and then crossed and cooled again and again.

Where the number of vehicles comes first, it begins with as few as it can: a route is given up, and its customers are
placed on the others, for which they may have to be changed again and again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dynaroute.improve.fleet_problem import FleetProblem, FleetRoutes
from dynaroute.improve.fleet_ruin_recreate import anneal_fleet, make_fleet_best, make_fleet_log, settle
from dynaroute.improve.fleet_tours import ABSENT, make_fleet_tours, read_fleet_routes
from dynaroute.improve.pacing import Pace
from dynaroute.improve.random_numbers import RandomState, draw_below, make_random_state
from dynaroute.improve.ruin_recreate import Annealing

__all__ = ["FleetAnnealing", "FleetSettings", "cross_plans"]


@dataclass(frozen=True)
class FleetSettings:
    """How hot the search is, how much is taken out at a time, and how many plans there are.

    Attributes
    ----------
    hottest, coolest
        Temperatures of the first plans at the beginning and at the end, in mean legs of the start.
    child_hottest, child_coolest
        Those of later ones.
    plans
        How many.
    fewer_share
        Of the search, in which vehicles are saved, where their number comes first.
    first_share
        Of the rest, before plans are crossed for the first time.
    child_iterations
        For a plan that was made of two, for each customer.
    mean_removed
        How many customers are taken out, on average.
    longest_string
        The most customers taken out of one route.
    neighbours
        How many customers that may stand before it, and after it, a customer is tried beside.
    """

    hottest: float = 1.2
    coolest: float = 0.1
    child_hottest: float = 0.3
    child_coolest: float = 0.1
    plans: int = 6
    fewer_share: float = 0.3
    first_share: float = 0.4
    child_iterations: float = 40.0
    mean_removed: float = 15.0
    longest_string: float = 15.0
    neighbours: int = 20


class _Stage(NamedTuple):
    """A part of the search, from one progress to another, in which a plan is cooled.

    Attributes
    ----------
    begins, ends
        From 0 to 1.
    saves_vehicles
        Whether routes are given up, one after the other.
    """

    begins: float
    ends: float
    saves_vehicles: bool = False


class FleetAnnealing:
    """A searcher of a few plans. One that was made of two takes the place of the first of them if it is better.

    Routes are written as `FleetRoutes`: each begins with the number of its kind of vehicle.

    Parameters
    ----------
    problem
        The problem.
    start
        Routes to begin with, or none; who is on none of them is placed at once, if there is room.
    settings
        Temperatures and extent.
    seed, stream
        Of the random numbers; searchers with different streams are independent.
    """

    def __init__(
        self, problem: FleetProblem, start: FleetRoutes, settings: FleetSettings, seed: int, stream: int = 0
    ) -> None:
        self._problem = problem
        self._settings = settings
        self._state = make_random_state(seed, stream)
        self._log = make_fleet_log(problem.size)
        self._best = make_fleet_best(problem.size)
        self._halt = np.zeros(1, dtype=np.int8)
        self._done = 0
        self._most = problem.size  # routes that there may be
        self._stages = _list_stages(settings, saves_vehicles=problem.vehicle_price > 0)
        self._turn = 0  # how many plans were cooled
        self._begun = 0  # iteration with which the present one was begun
        self._plans: list[tuple[float, FleetRoutes]] = []
        self._begin(start)
        routes = self._read_best()
        self._mean_leg = problem.cost(routes) / max(problem.size + len(routes), 1)

    @property
    def best_cost(self) -> float:
        """Price of the best plan so far."""
        return min((float(self._best.costs[2]), *(price for price, _ in self._plans)))

    @property
    def best_routes(self) -> FleetRoutes:
        """The best plan so far."""
        price, routes = min(self._plans, default=(math.inf, ()))
        return routes if price <= self._best.costs[2] else self._read_best()

    def adopt(self, routes: Sequence[Sequence[int]], cost: float) -> None:
        """Go on with another plan beside those that there are."""
        self._keep(cost, tuple(map(tuple, routes)))

    def halt(self) -> None:
        """End a run that goes on in another thread, within an iteration, and all later ones."""
        self._halt[0] = 1

    def run(self, count: int, pace: Pace) -> int:
        """Run some iterations, and say how many it were: fewer only if halted."""
        left = count
        while left > 0 and self._halt[0] == 0:
            own, until_next = self._find_pace(pace)
            if until_next <= 0:
                self._go_on(pace)
                continue
            left -= self._anneal(min(left, until_next), own)
            if self._saves_vehicles and self._tours.counts[ABSENT] == 0:
                self._give_up_a_route(pace)
        return count - left

    @property
    def _saves_vehicles(self) -> bool:
        return self._turn < len(self._stages) and self._stages[self._turn].saves_vehicles

    def _find_pace(self, pace: Pace) -> tuple[Pace, int]:
        """The pace of the plan that is being cooled, and how many iterations are left for it."""
        if self._turn < len(self._stages):
            stage = self._stages[self._turn]
            return pace.part(stage.begins, stage.ends), pace.iterations_until(stage.ends, self._done)
        iterations = max(1, round(self._settings.child_iterations * self._problem.size))
        return Pace(-self._begun / iterations, 1 / iterations), self._begun + iterations - self._done

    def _anneal(self, count: int, pace: Pace) -> int:
        settings = self._settings
        hottest, coolest = settings.hottest, settings.coolest
        if self._turn >= len(self._stages):
            hottest, coolest = settings.child_hottest, settings.child_coolest
        fall = math.log(coolest / hottest)
        reached = anneal_fleet(
            self._tours,
            self._best,
            self._log,
            self._state,
            Annealing(
                temperature=self._mean_leg * hottest * math.exp(fall * pace.offset),
                cooling=fall * pace.rate,
                mean_removed=settings.mean_removed,
                longest_string=settings.longest_string,
                neighbours=settings.neighbours,
            ),
            self._done,
            self._done + count,
            self._saves_vehicles,
            self._problem,
            self._halt,
        )
        done, self._done = reached - self._done, reached
        return done

    # From one plan to the next

    def _go_on(self, pace: Pace) -> None:
        """Keep the plan that was cooled, if it is good enough, and begin another."""
        if self._turn < len(self._stages):
            self._keep(float(self._best.costs[2]), self._read_best())
        else:
            self._replace(self._turn % len(self._plans))
        if self._saves_vehicles:
            self._most = len(min(self._plans)[1]) if self._has_served_all() else self._problem.size
        self._turn += 1
        self._begun = self._done
        if self._turn < len(self._stages):
            now = pace.progress(self._done)
            stage = self._stages[self._turn]
            self._stages[self._turn] = stage._replace(begins=min(stage.begins, now))
            self._begin(min(self._plans)[1] if self._most < self._problem.size else ())
            return
        mother = self._turn % len(self._plans)
        father = self._draw_father(mother)
        self._begin(cross_plans(self._plans[mother][1], self._plans[father][1], self._problem, self._state, self._most))

    def _keep(self, price: float, routes: FleetRoutes) -> None:
        """Take a plan in beside the others; if there are too many, the worst goes."""
        self._plans.append((price, routes))
        if len(self._plans) > self._settings.plans:
            self._plans.remove(max(self._plans))

    def _replace(self, place: int) -> None:
        """Let the plan that was cooled take the place of another, if it is better."""
        price = float(self._best.costs[2])
        if price < self._plans[place][0]:
            self._plans[place] = (price, self._read_best())

    def _draw_father(self, mother: int) -> int:
        """The better one of two other plans."""
        others = [place for place in range(len(self._plans)) if place != mother] or [mother]
        one, other = (others[draw_below(self._state, len(others))] for _ in range(2))
        return one if self._plans[one][0] <= self._plans[other][0] else other

    def _begin(self, routes: FleetRoutes) -> None:
        self._tours = make_fleet_tours(self._problem, routes, self._most)
        settle(self._tours, self._best, self._log, self._state, self._settings.neighbours, self._problem)

    def _read_best(self) -> FleetRoutes:
        return read_fleet_routes(self._best.after, self._best.kinds)

    # Fewer vehicles

    def _has_served_all(self) -> bool:
        return min(self._plans)[0] < self._problem.absence_price

    def _give_up_a_route(self, pace: Pace) -> None:
        """Everybody is served: keep that, and give the route up whose customers are placed most easily."""
        routes = self._read_best()
        self._keep(float(self._best.costs[2]), routes)
        if len(routes) <= self._problem.fewest_routes:
            stage = self._stages[self._turn]
            self._stages[self._turn] = stage._replace(ends=min(stage.ends, pace.progress(self._done)))
            return
        absences = self._log.absences
        easiest = min(routes, key=lambda route: int(absences[list(route[1:])].sum()))
        self._most = len(routes) - 1
        self._tours = make_fleet_tours(self._problem, tuple(r for r in routes if r is not easiest), self._most)
        settle(self._tours, self._best, self._log, self._state, self._settings.neighbours, self._problem)


def _list_stages(settings: FleetSettings, saves_vehicles: bool) -> list[_Stage]:
    """The parts of a search in which the first plans are cooled, one after the other."""
    begins = settings.fewer_share if saves_vehicles else 0.0
    share = settings.first_share if settings.plans > 1 else 1.0
    edges = np.linspace(begins, begins + (1 - begins) * share, settings.plans + 1).tolist()
    first = [_Stage(0.0, begins, saves_vehicles=True)] if saves_vehicles else []
    return first + [_Stage(early, late) for early, late in pairwise(edges)]


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
