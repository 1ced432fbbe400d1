"""Time-limited search of one instance with time windows, limits or several types of vehicles."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from functools import cache
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.stopping import OutOfTimeError, Stopping
from dynaroute.base.vocabulary import Objective
from dynaroute.problem.assigning import can_serve_alone, measure_depot_legs
from dynaroute.problem.checks.alternatives import take_largest
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.judging.route import judge_route
from dynaroute.problem.solution import Solution
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.random_numbers import make_random_state
from dynaroute.search.exchange import Exchange
from dynaroute.search.search import Improvement, Incumbent, SearchOutcome, halt_at_deadline, leave_time_to_close
from dynaroute.search.searchers import Searcher, Team, copy_best_to_worst, run_slices
from dynaroute.search.with_limits.annealing import PlanAnnealing, PlanSettings
from dynaroute.search.with_limits.bounds import weigh_absence
from dynaroute.search.with_limits.plans import cross_plans
from dynaroute.search.with_limits.problem import TypedRoutes, find_site, number_visits, price_absence, read_problem
from dynaroute.search.with_limits.small import MOST_CUSTOMERS, find_best_of_all

__all__ = ["load_machine_code_of_limits", "load_machine_code_of_rules", "make_tiny_instance", "search_with_limits"]

_USUAL_PATIENCE_SECONDS = 60.0  # if no limit is given
_USUAL_ITERATION_SECONDS = 8e-6  # for choices that must not depend on the machine's speed
_ITERATION_SECONDS_WITH_RULES = 25e-6
_ITERATION_SECONDS_WITH_RELOADS = 60e-6
_SHORT, _LONG = 10_000, 150_000  # few, and enough iterations for a plan of 100 customers
_SHORT_HOTTEST, _STARTED_HOTTEST = 0.3, 0.2  # for short searches; for searches that must not destroy a good start
# with rules, except shipments and customers who may be left out, one plan that cools slowly ended better than several
_SLOW_HOTTEST, _SLOW_COOLEST = 2.0, 0.03
# in mean legs of a start that serves everybody, which are long; routes that a hotter one closes are hardly opened again
_HOTTEST_WITH_PRIZES, _COOLEST_WITH_PRIZES = 0.2, 0.02
# then, with so many iterations for each customer, two plans in a quarter of the time, and children of them
_FEWEST_WITH_CHILDREN = 1_000
_FIRST_SHARE_WITH_PRIZES, _CHILD_WITH_PRIZES = 0.25, 60.0
_LONGEST = 100_000  # the most iterations of a first plan of 100 customers
_MOST_PLANS = 8
_MOST_TRIALS = 2_000  # routes that are judged for a plan when the time is up: a quarter of a second
_SEARCHING_SHARE = 0.5  # of the time that is left for the search, however many types few customers can be served by


def search_with_limits(
    instance: Instance,
    start: Solution | None,
    stopping: Stopping,
    *,
    objective: Objective = "distance",
    seed: int = 0,
    threads: int = 1,
    companions: int = 1,
    on_improvement: Callable[[Improvement], None] | None = None,
    exchange: Exchange | None = None,
) -> SearchOutcome:
    """Improve a plan until a limit is reached.

    Parameters
    ----------
    instance
        Any problem.
    start
        A plan within all limits (not checked). None: the search builds one by insertion.
    stopping
        When to stop. Only plans that serve every customer can reach a target.
    objective
        What to minimise: the length, or first the number of vehicles and then the length.
    seed, threads, companions, on_improvement, exchange
        As for `search`. Plans that leave customers out are not reported.

    Returns
    -------
    SearchOutcome
        A solution within all limits. It leaves customers out if no plan that serves all was found.
    """
    garage = _Garage(instance, start)
    incumbent = _PlanIncumbent(instance, garage, stopping.began, on_improvement, objective)
    stopping = leave_time_to_close(stopping, instance.size, has_matrix=True)
    iterations = 0
    is_interrupted = False
    try:
        if start is not None:
            incumbent.offer(start)
        problem = read_problem(instance, objective == "vehicles", is_time_up=stopping.is_time_up)
        garage.problem = problem
        routes = _find_first_routes(problem, garage, start, stopping)
        searcher = _choose_searcher(problem, routes, stopping, seed, threads)
        incumbent.watch(searcher)
        with halt_at_deadline(searcher, stopping):
            slices = run_slices(searcher, stopping, threads * companions)
            while not incumbent.reaches(stopping) and (done := next(slices, None)) is not None:
                iterations = done
                incumbent.watch(searcher)
                if exchange is not None:
                    incumbent.meet(exchange, searcher)
    except OutOfTimeError:
        pass  # use what was found until then
    except KeyboardInterrupt:
        is_interrupted = True
    if exchange is not None:
        incumbent.take_from(exchange)
    return incumbent.conclude(iterations, is_interrupted)


@cache
def load_machine_code_of_limits() -> None:
    """Load the machine code of these searches once per process, so that it does not count as search time."""
    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    instance = Instance(square, np.array([0, 1, 1, 1]), 2, vehicles=(VehicleType(2, max_stops=2),))
    search_with_limits(instance, None, Stopping(iterations=1))
    PlanAnnealing(read_problem(instance), (), PlanSettings(), seed=0)  # begins without any routes
    cross_plans(((0, 1, 2), (0, 3)), ((0, 1), (0, 2, 3)), read_problem(instance), make_random_state(0), 2)


@cache
def load_machine_code_of_rules(code: str) -> None:
    """Load one version of the machine code for problems with rules; see `load_machine_code_of_limits`."""
    search_with_limits(make_tiny_instance(code), None, Stopping(iterations=1))


def make_tiny_instance(code: str) -> Instance:
    """Make an instance that needs this version of the machine code."""
    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    return Instance(
        square,
        np.array([0, 0, 1, 1]),
        2,
        pickups=np.array([0, 1, 0, 0]),
        partners=np.array([0, 2, 1, 0]) if "shipments" in code else None,
        prizes=np.full(4, 9.0) if "prizes" in code else None,
        release=np.arange(4.0) if "driving" in code or "reloads" in code else None,
        speed=1.0,
        vehicles=(VehicleType(2, max_stops=3, fixed_cost=1.0, reload=("depot",) if "reloads" in code else ()),),
    )


def _choose_searcher(
    problem: SearchProblem, start: TypedRoutes, stopping: Stopping, seed: int, threads: int
) -> Searcher:
    iterations = _estimate_iterations(problem, stopping)
    settings = _choose_settings(problem.size, iterations)
    if problem.rules:
        settings = _adapt_to_rules(settings, problem, iterations)
    if start:
        settings = replace(settings, hottest=min(settings.hottest, _STARTED_HOTTEST))
    members = [PlanAnnealing(problem, start, settings, seed, stream, stopping.is_time_up) for stream in range(threads)]
    return members[0] if threads == 1 else Team(members, copy_best_to_worst)


def _adapt_to_rules(settings: PlanSettings, problem: SearchProblem, iterations: float) -> PlanSettings:
    """Remove fewer customers at a time if time is short, and cool one plan slowly; shipments are searched as ever.

    Where customers may be left out, most of the time goes to children of two plans, which begin by serving everybody in
    a region: annealing alone hardly ever opens a route.
    """
    has_prizes, is_short = problem.rules.has_prizes, settings.plans == 1
    if is_short and not problem.paired and not has_prizes:
        settings = replace(settings, mean_removed=10.0, longest_string=10.0, neighbours=20)
    if not problem.paired and (is_short or not problem.reloading):
        hottest = settings.hottest if is_short else _SLOW_HOTTEST
        settings = replace(settings, plans=1, hottest=hottest, coolest=_SLOW_COOLEST)
    if not has_prizes:
        return settings
    coolest = min(settings.coolest, _COOLEST_WITH_PRIZES)
    settings = replace(settings, hottest=min(settings.hottest, _HOTTEST_WITH_PRIZES), coolest=coolest)
    if problem.paired or iterations < _FEWEST_WITH_CHILDREN * problem.size:
        return settings
    return replace(settings, plans=2, first_share=_FIRST_SHARE_WITH_PRIZES, child_iterations=_CHILD_WITH_PRIZES)


def _estimate_iterations(problem: SearchProblem, stopping: Stopping) -> float:
    """How many iterations there is time for, as far as that depends on the rules."""
    iteration_seconds = _USUAL_ITERATION_SECONDS
    if problem.rules:
        iteration_seconds = _ITERATION_SECONDS_WITH_RELOADS if problem.reloading else _ITERATION_SECONDS_WITH_RULES
    seconds = _USUAL_PATIENCE_SECONDS if stopping.deadline is None else stopping.seconds_left
    iterations = seconds / iteration_seconds
    return iterations if stopping.iterations is None else min(iterations, stopping.iterations)


def _choose_settings(size: int, iterations: float) -> PlanSettings:
    """Use as many plans as there is time to anneal; if there is too little for one, start it cooler."""
    usual = PlanSettings()
    scaled = max(1.0, iterations * 100 / size)
    plans = int(min(_MOST_PLANS, max(1.0, scaled / _LONG)))
    if plans > 1:
        return replace(usual, plans=plans, first_share=min(usual.first_share, plans * _LONGEST / scaled))
    slow = min(1.0, max(0.0, math.log(scaled / _SHORT) / math.log(_LONG / _SHORT)))
    return replace(usual, plans=1, hottest=_SHORT_HOTTEST * (usual.hottest / _SHORT_HOTTEST) ** slow)


def _find_first_routes(
    problem: SearchProblem, garage: _Garage, start: Solution | None, stopping: Stopping
) -> TypedRoutes:
    """The routes to start from: the best of all if there are few customers and rules, else those of a known plan."""
    if not problem.rules and problem.size <= MOST_CUSTOMERS:
        soon = stopping
        if stopping.deadline is not None:
            soon = replace(stopping, deadline=stopping.deadline - _SEARCHING_SHARE * stopping.seconds_left)
        if routes := find_best_of_all(problem, soon.is_time_up):
            return routes
    return () if start is None else garage.write(start)


class _Garage:
    """Which of the user's types of vehicles the search's types stand for: it sees alike types as one."""

    def __init__(self, instance: Instance, start: Solution | None) -> None:
        self._instance = instance
        self.problem: SearchProblem | None = None  # numbers visits to load again in its own way
        self._groups = instance.alike_types
        self._group_of = {kind: group for group, alike in enumerate(self._groups) for kind in alike.members}
        self._driver: dict[int, int] = {}  # of each customer in the known plan
        if start is not None:
            kinds = start.vehicle_types(instance)
            self._driver = {stop: kind for kind, route in zip(kinds, start.routes, strict=True) for stop in route}

    def write(self, plan: Solution) -> TypedRoutes:
        """Turn a plan into routes that start with the search's type."""
        kinds = plan.vehicle_types(self._instance)
        routes = tuple((self._group_of[kind], *route) for kind, route in zip(kinds, plan.routes, strict=True))
        if self.problem is None or not self.problem.reloading:
            return routes
        first = {site: visit for visit, site in reversed(list(enumerate(self.problem.rules.sites.tolist(), start=1)))}
        size = self._instance.size
        visits = (
            (kind, *(stop if 1 <= stop <= size else size + first[stop] for stop in stops)) for kind, *stops in routes
        )
        return number_visits(self.problem, tuple(visits))

    def read(self, routes: TypedRoutes) -> Solution:
        """Turn routes that start with the search's type into a plan.

        A vehicle stays with a customer of the known plan if it can; otherwise the first free one drives.
        """
        plain = tuple(tuple(stops) for _, *stops in routes)
        if self.problem is not None and self.problem.reloading:
            problem = self.problem
            plain = tuple(
                tuple(site if (site := find_site(problem, stop)) >= 0 else stop for stop in stops) for stops in plain
            )
        if self._instance.vehicles is None:
            return Solution(plain)
        if len(self._groups) == len(self._instance.fleet):
            return Solution(plain, vehicles=tuple(group for group, *_ in routes))
        counts = (kind.count or len(routes) for kind in self._instance.fleet)
        free = dict(enumerate(counts))
        chosen = [self._find_driver(group, stops, free) for group, *stops in routes]
        others = [(member for member in alike.members for _ in range(free[member])) for alike in self._groups]
        kinds = (
            next(others[group]) if kind is None else kind for kind, (group, *_) in zip(chosen, routes, strict=True)
        )
        return Solution(plain, vehicles=tuple(kinds))

    def _find_driver(self, group: int, stops: list[int], free: dict[int, int]) -> int | None:
        """Take the vehicle of the known plan for the first of these customers for whom that is possible."""
        known = (self._driver.get(stop) for stop in stops)
        able = (kind for kind in known if kind is not None and self._group_of[kind] == group and free[kind] > 0)
        kind = next(able, None)
        if kind is not None:
            free[kind] -= 1
        return kind


class _PlanIncumbent(Incumbent):
    """The best plan so far: the most customers come first, then the fewest vehicles if that is the objective."""

    def __init__(
        self,
        instance: Instance,
        garage: _Garage,
        began: float,
        on_improvement: Callable[[Improvement], None] | None,
        objective: Objective,
    ) -> None:
        super().__init__(instance, began, on_improvement)
        self._garage = garage
        self._absence_price, self._vehicle_price = price_absence(instance, objective == "vehicles")
        self._weights = weigh_absence(instance, self._absence_price)
        is_needed = np.ones(instance.size + 1, dtype=bool) if instance.optional is None else ~instance.optional
        self._is_needed = take_largest(is_needed, instance.one_of)

    def reaches(self, stopping: Stopping) -> bool:
        """Whether the plan reaches the target."""
        return self.is_reportable(self.solution) and stopping.is_reached_by(self.cost)

    def price_solution(self, solution: Solution, cost: float) -> float:
        """The cost plus the prices of missing customers, unless the cost has them already, and of vehicles."""
        missing = float(self._weights[self._list_missing(solution)].sum())
        unused = self._count_unused(solution) * self._absence_price
        return cost + missing + unused + len(solution.routes) * self._vehicle_price

    def is_reportable(self, solution: Solution) -> bool:
        """Whether it serves every customer who must be served, and uses the vehicles that must be used."""
        return self._count_unused(solution) == 0 and not self._is_needed[self._list_missing(solution)].any()

    def _count_unused(self, solution: Solution) -> int:
        if "min_vehicles" not in self._instance.rules:
            return 0
        used = Counter(solution.vehicle_types(self._instance))
        return sum(max(0, kind.min_vehicles - used[index]) for index, kind in enumerate(self._instance.fleet))

    def _list_missing(self, solution: Solution) -> NDArray[np.intp]:
        if self._instance.one_of is not None:
            return np.array(solution.unserved(self._instance), dtype=np.intp)
        is_served = np.zeros(self._instance.node_count, dtype=bool)
        is_served[[stop for route in solution.routes for stop in route]] = True
        return np.flatnonzero(~is_served[1 : self._instance.size + 1]) + 1

    def read_solution(self, routes: TypedRoutes) -> Solution:
        """Turn routes that start with the search's type of vehicle into a solution."""
        return self._garage.read(routes)

    def write_routes(self, solution: Solution) -> TypedRoutes:
        """Turn a solution into routes that start with the search's type of vehicle."""
        return self._garage.write(solution)

    def build_fallback(self) -> Solution:
        """One vehicle for each customer, as long as there are vehicles."""
        if self._instance.rules:
            return _serve_alone(self._instance)
        size, legs, routes = self._instance.size, measure_depot_legs(self._instance), []
        is_left = np.ones(size + 1, dtype=bool)
        is_left[0] = False
        for group, alike in enumerate(self._instance.alike_types):
            able = np.flatnonzero(is_left & can_serve_alone(self._instance, alike.merged, legs))[: alike.merged.count]
            is_left[able] = False
            routes += [(group, customer) for customer in able.tolist()]
        return self.read_solution(tuple(sorted(routes, key=itemgetter(1))))


def _serve_alone(instance: Instance) -> Solution:
    """One vehicle for each order that has no prize, as long as there are vehicles, where there are rules.

    Only as many routes are tried as take a fraction of a second, because the time is up already.
    """
    begun = [(kind, _end_beginning(instance, each)) for kind, each in enumerate(instance.fleet) if each.beginning]
    routes, kinds = [stops for _, stops in begun], [kind for kind, _ in begun]
    free = [0 if each.beginning else each.count or instance.size for each in instance.fleet]
    needed = [0 if each.beginning else each.min_vehicles for each in instance.fleet]
    done: set[Hashable] = {stop for stops in routes for stop in stops}
    trials = _MOST_TRIALS
    for stops in _list_orders(instance):
        named = [
            (labels, labels[stop]) for labels in (instance.same_vehicle, instance.one_of) if labels for stop in stops
        ]
        claimed = {*stops, *((id(labels), label) for labels, label in named if label)}
        if not done.isdisjoint(claimed):
            continue
        for kind in sorted(range(len(free)), key=lambda kind: -needed[kind]):
            if free[kind] == 0 or trials == 0:
                continue
            trials -= 1
            if next(judge_route(instance, 1, stops, instance.fleet[kind]), None) is None:
                free[kind], needed[kind] = free[kind] - 1, needed[kind] - 1
                routes.append(stops)
                kinds.append(kind)
                done |= claimed
                break
    return Solution(tuple(routes), vehicles=tuple(kinds) or None)


def _end_beginning(instance: Instance, vehicle: VehicleType) -> tuple[int, ...]:
    """Add what must follow the beginning of a route: who comes directly after it, and what was collected for."""
    stops, followers = list(vehicle.beginning), dict(instance.locked)
    while stops[-1] in followers:
        stops.append(followers[stops[-1]])
    for stop in vehicle.beginning if instance.partners is not None else ():
        partner = int(instance.partners[stop]) if instance.partners is not None and stop <= instance.size else 0
        if partner > 0 and partner not in stops:
            stops.append(partner)
    return tuple(stops)


def _list_orders(instance: Instance) -> Iterator[tuple[int, ...]]:
    """List the customers without a prize, those of shipments and of locked legs together, as they must be served."""
    followers, followed = dict(instance.locked), {second for _, second in instance.locked}
    for customer in range(1, instance.size + 1):
        partner = 0 if instance.partners is None else int(instance.partners[customer])
        is_second = partner > 0 and instance.is_pickup is not None and not instance.is_pickup[customer]
        has_prize = instance.prizes is not None and bool(np.isfinite(instance.prizes[customer]))
        if has_prize or is_second or customer in followed:
            continue
        stops = [customer, partner] if partner > 0 else [customer]
        while partner == 0 and stops[-1] in followers:
            stops.append(followers[stops[-1]])
        yield tuple(stops)
