"""The searcher for fleets: simulated annealing of a few plans, which are then crossed and annealed again.

A round ends when children stop improving. The next round starts with new plans; the last one crosses the best plans of
all rounds.

If the number of vehicles comes first, the search starts by saving vehicles: it removes a route and tries to place its
customers on the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.annealing.log import LEAST_GAIN, make_log
from dynaroute.search.annealing.routes import make_tours, read_routes
from dynaroute.search.annealing.ruin import Annealing
from dynaroute.search.annealing.ruin_recreate import anneal, make_best
from dynaroute.search.annealing.tours import ABSENT, MOST
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.random_numbers import draw_below, draw_unit, make_random_state
from dynaroute.search.searchers import Pace
from dynaroute.search.with_limits.plans import Plans, PricedRoutes, cross_plans
from dynaroute.search.with_limits.prices import add_prices_alone, price_driving, price_plan
from dynaroute.search.with_limits.problem import TypedRoutes, begin_routes, count_fewest_routes, number_visits
from dynaroute.search.with_limits.settling import settle

__all__ = ["PlanAnnealing", "PlanSettings"]

_LAST_ROUND = 0.9  # from this progress on, only the best plans are crossed
_LONG_LEG = 1.5  # largest unit of temperatures, in mean legs of the best plan; bad starts have longer legs
_MUCH_WORSE = 1.02  # a plan this many times as expensive as the best one has too few routes


@dataclass(frozen=True)
class PlanSettings:
    """Temperatures, number of plans, and how many customers are removed at a time.

    Attributes
    ----------
    hottest, coolest
        First and last temperature of the first plans, in mean legs of the start.
    child_hottest, child_coolest
        The same for children.
    plans
        Number of plans in a round.
    fewer_share
        Share of the search that saves vehicles, if their number comes first.
    first_share
        Share of the rest before plans are crossed for the first time.
    child_iterations
        Iterations of a child, per customer.
    patience
        A round ends after this many children per plan in a row without improvement.
    mean_removed
        Mean number of customers removed in an iteration.
    longest_string
        The most customers removed from one route.
    neighbours
        How many possible predecessors, and how many successors, a customer is tried next to.
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


class _AnnealingStage(NamedTuple):
    """A part of the search in which one plan is annealed.

    Attributes
    ----------
    begins, ends
        Progress of the search, from 0 to 1.
    saves_vehicles
        Whether routes are removed one after the other.
    """

    begins: float
    ends: float
    saves_vehicles: bool = False


class PlanAnnealing:
    """A searcher with a few plans. A child replaces its first parent if it is better.

    Routes are `TypedRoutes`: each starts with the number of its type of vehicle.

    Parameters
    ----------
    problem
        The problem.
    start
        Routes to start with, possibly none; other customers are inserted at once, if there is room.
    settings
        Temperatures and sizes.
    seed, stream
        Seed of the random numbers; searchers with different streams are independent.
    is_time_up
        Called every few milliseconds while a plan begins, also by several threads; returning true leaves the customers
        out who are not inserted yet.
    """

    def __init__(
        self,
        problem: SearchProblem,
        start: TypedRoutes,
        settings: PlanSettings,
        seed: int,
        stream: int = 0,
        is_time_up: Callable[[], bool] | None = None,
    ) -> None:
        problem = add_prices_alone(problem)
        self._problem = problem
        self._is_time_up = is_time_up
        self._settings = settings
        self._state = make_random_state(seed, stream)
        self._log = make_log(problem)
        self._halt = np.zeros(1, dtype=np.int8)
        self._done = 0
        self._most = problem.size  # routes allowed
        self._too_few = count_fewest_routes(problem) - 1  # with so few routes, plans turned out much worse
        self._stages = _list_stages(settings, saves_vehicles=problem.vehicle_price > 0)
        self._turn = 0  # stages that are over
        self._newcomers = 0  # new plans to anneal before any are crossed again
        self._mother: PricedRoutes | None = None  # first parent of the present plan, if it is a child
        self._effort = 1  # factor on its iterations; grows while no child improves
        self._begun = 0  # first iteration of the present plan
        self._first_iterations = 1  # iterations of each of the first plans
        self._plans = Plans(settings.plans)
        self._begin(start, self._most)
        self._mean_leg = self._measure_mean_leg(self._read_best().routes)

    @property
    def best_cost(self) -> float:
        """The price of the best plan so far."""
        return self._find_best().price

    @property
    def best_routes(self) -> TypedRoutes:
        """The best plan so far."""
        return self._find_best().routes

    def adopt(self, routes: Sequence[Sequence[int]], cost: float) -> None:
        """Add a plan to the present ones."""
        self._plans.keep(PricedRoutes(cost, tuple(map(tuple, routes))))
        if self._problem.vehicle_price > 0 and cost < self._problem.absence_price:
            self._most = min(self._most, len(routes))

    def halt(self) -> None:
        """Stop the run in another thread within an iteration, and all later runs."""
        self._halt[0] = 1

    def run(self, count: int, pace: Pace) -> int:
        """Run iterations and return their number, which is `count` unless the search was halted."""
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
        """The pace of the present plan, and its remaining iterations."""
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
        # for a plan that starts after millions of iterations, the temperature at iteration 0 would overflow
        origin = 0 if self._is_in_a_stage else self._begun
        reached = anneal(
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
                origin=origin,
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
        """Keep the annealed plan if it is good enough, and start another."""
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
        """Keep the best version of the annealed plan."""
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
        """Start the next stage now."""
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
        """Cross the best plans of all rounds, or start new plans if there is time, since children stopped improving."""
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
        """Start a new plan from nothing; every second one may have one route fewer than the best plan.

        A search that moves a few customers at a time hardly ever removes a route, even if that would pay.
        """
        best = self._plans.best
        if self._most < self._problem.size:
            self._begin(best.routes, self._most)
            return
        fewer = len(best.routes) - 1
        is_one_less = len(self._plans) % 2 == 1 and fewer > self._too_few and best.price < self._problem.absence_price
        self._begin((), fewer if is_one_less else self._most)

    def _begin_child(self) -> None:
        """Start a child of two plans."""
        if len(self._plans) == 0:  # no new plan serves every customer
            self._plans.call_champions()
        self._effort = 1 + self._plans.idle_children // (2 * len(self._plans))
        self._mother, father = self._plans.choose_parents(self._state)
        child = cross_plans(self._mother.routes, father.routes, self._problem, self._state, self._most)
        self._begin(child, self._most, self._draw_wished())

    def _draw_wished(self) -> NDArray[np.bool_] | None:
        """Draw a region in which a child begins by serving everybody, where customers may be left out.

        Only a full route shows whether it pays, so one more or one fewer has to be tried with many customers at once.
        """
        if not self._problem.optional:
            return None
        lengths = self._problem.rules.distances[0]
        seed = 1 + draw_below(self._state, self._problem.rules.customers)
        farthest = np.quantile(lengths[seed, 1 : self._problem.rules.customers + 1], draw_unit(self._state))
        return np.asarray(lengths[seed] <= farthest)

    def _begin(self, routes: TypedRoutes, most: int, wished: NDArray[np.bool_] | None = None) -> None:
        self._tours = make_tours(self._problem, begin_routes(self._problem, routes), most)
        self._best = make_best(self._tours, math.inf, self._problem)
        neighbours = self._settings.neighbours
        settle(self._tours, self._best, self._log, self._state, neighbours, self._problem, self._is_time_up, wished)
        self._summed_price = math.nan  # price of its best version when it was last read

    def _measure_mean_leg(self, routes: TypedRoutes) -> float:
        """The unit of temperatures: who may be left out has no leg, and so does not count."""
        legs = sum(map(len, routes)) if self._problem.optional else self._problem.size + len(routes)
        return price_driving(self._problem, routes) / max(legs, 1)

    def _find_best(self) -> PricedRoutes:
        best = self._plans.best
        if best.price < self._best.costs[1] * (1 - LEAST_GAIN):
            return best  # unchanged, and reading it again takes time
        return min(best, self._read_best(), key=lambda plan: plan.price)

    def _read_best(self) -> PricedRoutes:
        """The best version of the present plan, priced by its legs: the sum of all changes has rounding errors."""
        if self._best.costs[1] != self._summed_price:
            routes = number_visits(self._problem, read_routes(self._best.after, self._best.kinds))
            self._summed_price = float(self._best.costs[1])
            self._cooled = PricedRoutes(price_plan(self._problem, routes), routes)
        return self._cooled

    # Fewer vehicles

    def _give_up_a_route(self, pace: Pace) -> None:
        """Every customer is served: keep this plan, then remove the route whose customers are easiest to place."""
        self._plans.keep(self._read_best())
        routes = self._read_best().routes
        if len(routes) <= count_fewest_routes(self._problem):
            stage = self._stages[self._turn]
            self._stages[self._turn] = stage._replace(ends=min(stage.ends, pace.progress(self._done)))
            return
        absences = self._log.absences
        easiest = min(routes, key=lambda route: int(absences[list(route[1:])].sum()))
        self._most = len(routes) - 1
        self._begin(tuple(route for route in routes if route is not easiest), self._most)


def _list_stages(settings: PlanSettings, saves_vehicles: bool) -> list[_AnnealingStage]:
    """The stages in which the first plans are annealed, one after the other."""
    begins = settings.fewer_share if saves_vehicles else 0.0
    share = settings.first_share if settings.plans > 1 else 1.0
    edges = np.linspace(begins, begins + (1 - begins) * share, settings.plans + 1).tolist()
    first = [_AnnealingStage(0.0, begins, saves_vehicles=True)] if saves_vehicles else []
    return first + [_AnnealingStage(early, late) for early, late in pairwise(edges)]
