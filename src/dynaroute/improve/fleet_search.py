"""Time-limited search of one instance with time windows, limits or several types of vehicles."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from dynaroute.fleet import VehicleType
from dynaroute.improve.combined import Team, copy_best_to_worst
from dynaroute.improve.fleet_annealing import FleetAnnealing, FleetSettings
from dynaroute.improve.fleet_plans import cross_plans
from dynaroute.improve.fleet_problem import FleetProblem, FleetRoutes, price_absence
from dynaroute.improve.fleet_small import MOST_CUSTOMERS, find_best_of_all
from dynaroute.improve.pacing import Searcher, run_slices
from dynaroute.improve.random_numbers import make_random_state
from dynaroute.improve.search import Improvement, Incumbent, SearchOutcome, halt_at_deadline, leave_time_to_close
from dynaroute.improve.stopping import OutOfTimeError, Stopping
from dynaroute.instance import Instance
from dynaroute.schedule import can_drive
from dynaroute.solution import Solution
from dynaroute.vocabulary import Objective

__all__ = ["load_machine_code_of_fleets", "search_fleet"]

_USUAL_PATIENCE_SECONDS = 60.0  # if no limit is given
_USUAL_ITERATION_SECONDS = 8e-6  # for choices that must not depend on the machine's speed
_SHORT, _LONG = 10_000, 150_000  # few, and enough iterations for a plan of 100 customers
_SHORT_HOTTEST, _STARTED_HOTTEST = 0.3, 0.2  # for short searches; for searches that must not destroy a good start
_LONGEST = 100_000  # the most iterations of a first plan of 100 customers
_MOST_PLANS = 8


def search_fleet(
    instance: Instance,
    start: Solution | None,
    stopping: Stopping,
    *,
    objective: Objective = "distance",
    seed: int = 0,
    threads: int = 1,
    companions: int = 1,
    on_improvement: Callable[[Improvement], None] | None = None,
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
    seed, threads, companions, on_improvement
        As for `search`. Plans that leave customers out are not reported.

    Returns
    -------
    SearchOutcome
        A solution within all limits. It leaves customers out if no plan that serves all was found.
    """
    incumbent = _FleetIncumbent(instance, stopping.began, on_improvement, objective)
    stopping = leave_time_to_close(stopping, instance)
    iterations = 0
    is_interrupted = False
    try:
        if start is not None:
            incumbent.offer(start)
        problem = FleetProblem.from_instance(instance, objective == "vehicles", is_time_up=stopping.is_time_up)
        routes = find_best_of_all(problem) if problem.size <= MOST_CUSTOMERS else _write_routes(instance, start)
        searcher = _choose_searcher(problem, routes, stopping, seed, threads)
        incumbent.watch(searcher)
        with halt_at_deadline(searcher, stopping):
            slices = run_slices(searcher, stopping, threads * companions)
            while not incumbent.reaches(stopping) and (done := next(slices, None)) is not None:
                iterations = done
                incumbent.watch(searcher)
    except OutOfTimeError:
        pass  # use what was found until then
    except KeyboardInterrupt:
        is_interrupted = True
    return incumbent.conclude(iterations, is_interrupted)


@cache
def load_machine_code_of_fleets() -> None:
    """Load the machine code of these searches once per process, so that it does not count as search time."""
    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    instance = Instance(square, np.array([0, 1, 1, 1]), 2, vehicles=(VehicleType(2, max_stops=2),))
    search_fleet(instance, None, Stopping(iterations=1))
    cross_plans(((0, 1, 2), (0, 3)), ((0, 1), (0, 2, 3)), FleetProblem.from_instance(instance), make_random_state(0), 2)


def _choose_searcher(
    problem: FleetProblem, start: FleetRoutes, stopping: Stopping, seed: int, threads: int
) -> Searcher:
    settings = _choose_settings(problem.size, stopping)
    if start:
        settings = replace(settings, hottest=min(settings.hottest, _STARTED_HOTTEST))
    members = [FleetAnnealing(problem, start, settings, seed, stream) for stream in range(threads)]
    return members[0] if threads == 1 else Team(members, copy_best_to_worst)


def _choose_settings(size: int, stopping: Stopping) -> FleetSettings:
    """Use as many plans as there is time to anneal; if there is too little for one, start it cooler."""
    usual = FleetSettings()
    seconds = _USUAL_PATIENCE_SECONDS if stopping.deadline is None else stopping.seconds_left
    iterations = seconds / _USUAL_ITERATION_SECONDS
    if stopping.iterations is not None:
        iterations = min(iterations, stopping.iterations)
    scaled = max(1.0, iterations * 100 / size)
    plans = int(min(_MOST_PLANS, max(1.0, scaled / _LONG)))
    if plans > 1:
        return replace(usual, plans=plans, first_share=min(usual.first_share, plans * _LONGEST / scaled))
    slow = min(1.0, max(0.0, math.log(scaled / _SHORT) / math.log(_LONG / _SHORT)))
    return replace(usual, plans=1, hottest=_SHORT_HOTTEST * (usual.hottest / _SHORT_HOTTEST) ** slow)


def _write_routes(instance: Instance, start: Solution | None) -> FleetRoutes:
    if start is None:
        return ()
    kinds = start.vehicle_types(instance)
    return tuple((kind, *route) for kind, route in zip(kinds, start.routes, strict=True))


class _FleetIncumbent(Incumbent):
    """The best plan so far: the most customers come first, then the fewest vehicles if that is the objective."""

    def __init__(
        self,
        instance: Instance,
        began: float,
        on_improvement: Callable[[Improvement], None] | None,
        objective: Objective,
    ) -> None:
        super().__init__(instance, began, on_improvement)
        self._absence_price, self._vehicle_price = price_absence(instance, objective == "vehicles")

    def reaches(self, stopping: Stopping) -> bool:
        """Whether the plan reaches the target."""
        return self.is_reportable(self.solution) and stopping.is_reached_by(self.cost)

    def price_solution(self, solution: Solution, cost: float) -> float:
        """The length plus the prices of missing customers and of vehicles."""
        absent = self._instance.size - sum(map(len, solution.routes))
        return cost + absent * self._absence_price + len(solution.routes) * self._vehicle_price

    def is_reportable(self, solution: Solution) -> bool:
        """Whether it serves every customer."""
        return sum(map(len, solution.routes)) == self._instance.size

    def read_solution(self, routes: FleetRoutes) -> Solution:
        """Turn routes that start with their type of vehicle into a solution."""
        kinds = None if self._instance.vehicles is None else tuple(kind for kind, *_ in routes)
        return Solution(tuple(tuple(stops) for _, *stops in routes), vehicles=kinds)

    def build_fallback(self) -> Solution:
        """One vehicle for each customer, as long as there are vehicles."""
        instance = self._instance
        free = [instance.size if vehicle.count is None else vehicle.count for vehicle in instance.fleet]
        routes: list[tuple[int, ...]] = []
        for customer in range(1, instance.size + 1):
            kinds = (kind for kind, left in enumerate(free) if left > 0 and can_drive(instance, (customer,), kind))
            if (kind := next(kinds, None)) is not None:
                free[kind] -= 1
                routes.append((kind, customer))
        return self.read_solution(tuple(routes))
