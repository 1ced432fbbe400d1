"""Ruin and recreate for fleets as a searcher: a few plans are cooled, and then crossed and cooled again and again.

When children are no better any more, other plans are cooled and crossed, and then the best of both with each other.

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

from dynaroute.improve.fleet_log import make_fleet_log
from dynaroute.improve.fleet_plans import FleetPlans, Plan, cross_plans
from dynaroute.improve.fleet_problem import FleetProblem, FleetRoutes
from dynaroute.improve.fleet_ruin_recreate import anneal_fleet, make_fleet_best, settle
from dynaroute.improve.fleet_tours import ABSENT, MOST, make_fleet_tours, read_fleet_routes
from dynaroute.improve.pacing import Pace
from dynaroute.improve.random_numbers import make_random_state
from dynaroute.improve.ruin_recreate import LEAST_GAIN, Annealing

__all__ = ["FleetAnnealing", "FleetSettings"]

_LAST_ROUND = 0.9  # progress from which on only the best plans are crossed
_LONG_LEG = 1.5  # mean legs of the best plan: more than one of the start is, unless distances are no distances
_MUCH_WORSE = 1.02  # times the price of the best: so dear is a plan that has too few routes


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
    patience
        How many children of each plan in a row are no better, until other plans are begun.
    mean_removed
        How many customers are taken out, on average.
    longest_string
        The most customers taken out of one route.
    neighbours
        How many customers that may stand before it, and after it, a customer is tried beside.
    """

    hottest: float = 1.2
    coolest: float = 0.1
    child_hottest: float = 0.15
    child_coolest: float = 0.05
    plans: int = 6
    fewer_share: float = 0.3
    first_share: float = 0.4
    child_iterations: float = 20.0
    patience: int = 6
    mean_removed: float = 15.0
    longest_string: float = 15.0
    neighbours: int = 40


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
        self._too_few = problem.fewest_routes - 1  # routes with which plans are much worse
        self._stages = _list_stages(settings, saves_vehicles=problem.vehicle_price > 0)
        self._turn = 0  # how many of these stages are over
        self._newcomers = 0  # plans that are to be cooled from the beginning before any are crossed again
        self._mother: Plan | None = None  # of the present plan, if it was made of two
        self._effort = 1  # how many times as long as usual it is cooled: the more, the longer no child was better
        self._begun = 0  # iteration with which the present one was begun
        self._first_iterations = 1  # that each of the first plans had
        self._plans = FleetPlans(settings.plans)
        self._begin(start, self._most)
        self._mean_leg = self._measure_mean_leg(self._read_best().routes)

    @property
    def best_cost(self) -> float:
        """Price of the best plan so far."""
        return self._find_best().price

    @property
    def best_routes(self) -> FleetRoutes:
        """The best plan so far."""
        return self._find_best().routes

    def adopt(self, routes: Sequence[Sequence[int]], cost: float) -> None:
        """Go on with another plan beside those that there are."""
        self._plans.keep(Plan(cost, tuple(map(tuple, routes))))
        if self._problem.vehicle_price > 0 and cost < self._problem.absence_price:
            self._most = min(self._most, len(routes))

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
    def _is_in_a_stage(self) -> bool:
        return self._turn < len(self._stages)

    @property
    def _saves_vehicles(self) -> bool:
        return self._is_in_a_stage and self._stages[self._turn].saves_vehicles

    def _find_pace(self, pace: Pace) -> tuple[Pace, int]:
        """The pace of the plan that is being cooled, and how many iterations are left for it."""
        if self._is_in_a_stage:
            stage = self._stages[self._turn]
            return pace.part(stage.begins, stage.ends), pace.iterations_until(stage.ends, self._done)
        iterations = self._first_iterations
        if self._mother is not None:
            iterations = max(1, round(self._effort * self._settings.child_iterations * self._problem.size))
        return Pace(-self._begun / iterations, 1 / iterations), self._begun + iterations - self._done

    def _anneal(self, count: int, pace: Pace) -> int:
        settings = self._settings
        hottest, coolest = settings.hottest, settings.coolest
        if self._mother is not None:
            hottest, coolest = settings.child_hottest * math.sqrt(self._effort), settings.child_coolest
        fall = math.log(coolest / hottest)
        # of a plan that begins after millions of iterations, the temperature at the first would overflow
        origin = 0 if self._is_in_a_stage else self._begun
        reached = anneal_fleet(
            self._tours,
            self._best,
            self._log,
            self._state,
            Annealing(
                temperature=self._mean_leg * hottest * math.exp(fall * (pace.offset + pace.rate * origin)),
                cooling=fall * pace.rate,
                mean_removed=settings.mean_removed,
                longest_string=settings.longest_string,
                neighbours=settings.neighbours,
            ),
            origin,
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
        self._keep_best()
        now = pace.progress(self._done)
        is_last_round = self._plans.has_champions and now > _LAST_ROUND
        if self._is_in_a_stage:
            self._end_stage(now)
        elif self._newcomers > 0:
            self._newcomers -= 1
        elif is_last_round or self._plans.idle_children >= self._settings.patience * len(self._plans):
            self._end_round(now)
        self._begun = self._done
        if self._is_in_a_stage or self._newcomers > 0:
            self._begin_newcomer()
        else:
            self._begin_child()

    def _keep_best(self) -> None:
        """Keep the best of the plan that was cooled."""
        plan = self._read_best()
        if self._mother is not None:
            self._plans.replace_mother(self._mother, plan)
            return
        best = self._plans.best.price
        allowed = int(self._tours.counts[MOST])
        if allowed < self._most and plan.price > _MUCH_WORSE * best:
            self._too_few = allowed
        if plan.price < self._problem.absence_price or best >= self._problem.absence_price:
            self._plans.keep(plan)
        self._mean_leg = min(self._mean_leg, _LONG_LEG * self._measure_mean_leg(self._plans.best.routes))

    def _end_stage(self, now: float) -> None:
        """Go on to the next stage, which begins now."""
        if self._saves_vehicles:
            best = self._plans.best
            self._most = len(best.routes) if best.price < self._problem.absence_price else self._problem.size
        self._turn += 1
        if self._is_in_a_stage:
            stage = self._stages[self._turn]
            self._stages[self._turn] = stage._replace(begins=min(stage.begins, now))
        else:
            self._first_iterations = max(1, self._done // len(self._stages))

    def _end_round(self, now: float) -> None:
        """Children are no better any more: cross the best of all rounds, or begin other plans if there is time."""
        iterations_left = self._done * (1 - now) / now
        newcomers = int(min(self._settings.plans, iterations_left / 2 / self._first_iterations))
        if self._plans.has_champions:
            self._plans.end_round()
            self._plans.call_champions()
        elif newcomers > 1:
            self._plans.end_round()
            self._newcomers, self._mother = newcomers, None
        else:
            self._plans.try_again()

    def _begin_newcomer(self) -> None:
        """Begin a plan from nothing, every other one with a route less than the best.

        A search that moves a few customers at a time hardly ever gives up a route, though that may be worth it.
        """
        best = self._plans.best
        if self._most < self._problem.size:
            self._begin(best.routes, self._most)
            return
        fewer = len(best.routes) - 1
        is_one_less = len(self._plans) % 2 == 1 and fewer > self._too_few and best.price < self._problem.absence_price
        self._begin((), fewer if is_one_less else self._most)

    def _begin_child(self) -> None:
        """Begin a plan that is made of two."""
        if len(self._plans) == 0:  # no newcomer serves everybody
            self._plans.call_champions()
        self._effort = 1 + self._plans.idle_children // (2 * len(self._plans))
        self._mother, father = self._plans.choose_parents(self._state)
        self._begin(cross_plans(self._mother.routes, father.routes, self._problem, self._state, self._most), self._most)

    def _begin(self, routes: FleetRoutes, most: int) -> None:
        self._tours = make_fleet_tours(self._problem, routes, most)
        settle(self._tours, self._best, self._log, self._state, self._settings.neighbours, self._problem)
        self._summed_price = math.nan  # of the best of this plan, when it was last read

    def _measure_mean_leg(self, routes: FleetRoutes) -> float:
        """What temperatures are multiples of."""
        return self._problem.cost(routes) / max(self._problem.size + len(routes), 1)

    def _find_best(self) -> Plan:
        best = self._plans.best
        if best.price < self._best.costs[2] * (1 - LEAST_GAIN):
            return best  # without reading another, which takes time
        return min(best, self._read_best(), key=lambda plan: plan.price)

    def _read_best(self) -> Plan:
        """The best of the plan that is being cooled; it costs its legs, since the sum of all changes differs a bit."""
        if self._best.costs[2] != self._summed_price:
            routes = read_fleet_routes(self._best.after, self._best.kinds)
            self._summed_price, self._cooled = float(self._best.costs[2]), Plan(self._problem.price(routes), routes)
        return self._cooled

    # Fewer vehicles

    def _give_up_a_route(self, pace: Pace) -> None:
        """Everybody is served: keep that, and give the route up whose customers are placed most easily."""
        self._plans.keep(self._read_best())
        routes = self._read_best().routes
        if len(routes) <= self._problem.fewest_routes:
            stage = self._stages[self._turn]
            self._stages[self._turn] = stage._replace(ends=min(stage.ends, pace.progress(self._done)))
            return
        absences = self._log.absences
        easiest = min(routes, key=lambda route: int(absences[list(route[1:])].sum()))
        self._most = len(routes) - 1
        self._begin(tuple(route for route in routes if route is not easiest), self._most)


def _list_stages(settings: FleetSettings, saves_vehicles: bool) -> list[_Stage]:
    """The parts of a search in which the first plans are cooled, one after the other."""
    begins = settings.fewer_share if saves_vehicles else 0.0
    share = settings.first_share if settings.plans > 1 else 1.0
    edges = np.linspace(begins, begins + (1 - begins) * share, settings.plans + 1).tolist()
    first = [_Stage(0.0, begins, saves_vehicles=True)] if saves_vehicles else []
    return first + [_Stage(early, late) for early, late in pairwise(edges)]
