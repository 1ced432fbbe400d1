"""Routes, their cost, and an independent check of both."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from numbers import Integral
from operator import index
from typing import Any

import numpy as np

from dynaroute.base.display import LONGEST_ITEM, show_text
from dynaroute.base.errors import SolutionError
from dynaroute.problem.assigning import assign_vehicles
from dynaroute.problem.checks.alternatives import find_unserved
from dynaroute.problem.driving import list_loads
from dynaroute.problem.instance import Instance
from dynaroute.problem.judge import choose_types, judge_costs, judge_fleet, judge_statements, judge_totals, price_all
from dynaroute.problem.judging.groups import judge_groups, judge_missing
from dynaroute.problem.judging.route import Violation, judge_route
from dynaroute.problem.sketch import Sketch
from dynaroute.problem.statements import NO_STATEMENTS, Statements
from dynaroute.problem.timetable import RouteSchedule, measure_routes, price_left_out, price_routes, schedule_route

_ROUTES_REMEDY = "Routes are lists of customers 1..n."


@dataclass(frozen=True)
class Solution:
    """Routes over customers 1..n. Each starts and ends at the depot, which is left out.

    Parameters
    ----------
    routes
        Sequences of customers; empty routes are dropped.
    stated_cost
        The cost claimed by a file or solver, if any; `check` verifies it.
    vehicles
        Index of each route's vehicle type, if the instance has types. None: any type that can drive it.
    vehicle_names
        The same by name, as in files; give either this or `vehicles`.
    statements
        What else a file states about the routes; `check` verifies it, and comparisons ignore it.

    Raises
    ------
    SolutionError
        If a customer is not a whole number, the stated cost is not finite, or types and routes differ in number.
    """

    routes: tuple[tuple[int, ...], ...]
    stated_cost: float | None = None
    vehicles: tuple[int, ...] | None = None
    vehicle_names: tuple[str, ...] | None = None
    statements: Statements = field(default=NO_STATEMENTS, compare=False)

    def __post_init__(self) -> None:
        routes = _plain_routes(self.routes)
        if self.statements is not NO_STATEMENTS:
            object.__setattr__(self, "statements", self.statements.of_driven_routes(routes))
        if self.vehicles is not None:
            object.__setattr__(self, "vehicles", _plain_vehicles(self.vehicles, routes, Integral))
        if self.vehicle_names is not None:
            object.__setattr__(self, "vehicle_names", _plain_vehicles(self.vehicle_names, routes, str))
        object.__setattr__(self, "routes", tuple(route for route in routes if route))
        if self.stated_cost is not None:
            object.__setattr__(self, "stated_cost", _plain_cost(self.stated_cost))

    def __repr__(self) -> str:
        customers = sum(map(len, self.routes))
        cost = "" if self.stated_cost is None else f", cost {self.stated_cost:.10g}"
        return f"Solution({len(self.routes)} routes, {customers} customers{cost})"

    def sketch(self, instance: Instance) -> Sketch:
        """A small picture of the routes, for notebooks.

        Parameters
        ----------
        instance
            The instance these routes belong to.
        """
        _refuse_unknown([customer for route in self.routes for customer in route], instance.size)
        return instance.sketch(self.routes, f"{self!r} of {instance!r}")

    def cost(self, instance: Instance) -> float:
        """Total length of the routes under the instance's metric and rounding; open routes do not return.

        Where anything has a price, it is money: the price of vehicles, distance, time and lateness, and the prizes of
        customers who are not served.

        Parameters
        ----------
        instance
            The instance these routes belong to.
        """
        if instance.is_priced:
            self._refuse_unknown_nodes(instance)
            prices = price_routes(instance, self.routes, self.vehicle_types(instance))
            return math.fsum([*prices, price_left_out(instance, self.routes)])
        return self.length(instance)

    def length(self, instance: Instance) -> float:
        """Total length of the routes, whatever they cost.

        Parameters
        ----------
        instance
            The instance these routes belong to.
        """
        if instance.vehicles is not None:
            return math.fsum(self.route_costs(instance))
        nodes = [0]
        for route in self.routes:
            nodes.extend(route)
            nodes.append(0)
        _refuse_unknown(nodes, instance.size)
        stops = np.array(nodes)
        return math.fsum(instance.leg_lengths(stops[:-1], stops[1:]).tolist())

    def route_costs(self, instance: Instance) -> list[float]:
        """Length of each route."""
        self._refuse_unknown_nodes(instance)
        fleet, vehicles = instance.fleet, self.vehicle_types(instance)
        return measure_routes(instance, self.routes, [fleet[kind] for kind in vehicles])

    def vehicle_types(self, instance: Instance) -> tuple[int, ...]:
        """Index of each route's vehicle type: as stated, or else as `assign_vehicles` chooses.

        Parameters
        ----------
        instance
            The instance these routes belong to.
        """
        stated = self.stated_types(instance)
        if stated is None:
            self._refuse_unknown_nodes(instance)
            if instance.rules:
                return tuple(choose_types(instance, self.routes))
            return assign_vehicles(instance, self.routes)
        for number, kind in enumerate(stated):
            if not 0 <= kind < len(instance.fleet):
                shown = repr(self.vehicle_names[number]) if self.vehicle_names else kind + 1
                message = f"there is no vehicle type {shown}; the instance has {len(instance.fleet)}."
                raise SolutionError.about("vehicles", message, "Is this solution for another instance?")
        return stated

    def stated_types(self, instance: Instance) -> tuple[int, ...] | None:
        """Index of each route's stated vehicle type; -1 for an unknown name. None if no types are stated.

        Parameters
        ----------
        instance
            The instance these routes belong to.
        """
        if self.vehicles is not None or self.vehicle_names is None:
            return self.vehicles
        places = {kind.name: index for index, kind in enumerate(instance.fleet) if kind.name}
        return tuple(places.get(name, -1) for name in self.vehicle_names)

    def loads(self, instance: Instance) -> list[int]:
        """Load of each route, in the instance's stored units: the largest on board, in the first dimension."""
        self._refuse_unknown_nodes(instance)
        if instance.rules:
            kinds = self.vehicle_types(instance)
            return [
                int(list_loads(instance, route, instance.fleet[kind])[:, 0].max())
                for route, kind in zip(self.routes, kinds, strict=True)
            ]
        return [int(instance.demands[list(route)].sum()) for route in self.routes]

    def _refuse_unknown_nodes(self, instance: Instance) -> None:
        nodes = [node for route in self.routes for node in route]
        _refuse_unknown(nodes, instance.node_count - 1 if instance.rules else instance.size)

    def unserved(self, instance: Instance) -> list[int]:
        """Customers on no route; of alternatives the first, and only if none of them is served.

        Parameters
        ----------
        instance
            The instance these routes belong to.
        """
        served = {customer for route in self.routes for customer in route}
        return find_unserved(instance.size, instance.one_of, served)


def make_timetable(instance: Instance, solution: Solution) -> list[RouteSchedule]:
    """Compute when each stop of each route is served.

    Each vehicle departs as late as possible without delaying any stop. This gives the shortest duration, which counts
    from departure to end.

    Parameters
    ----------
    instance
        An instance with durations or a speed.
    solution
        Routes over its customers.

    Returns
    -------
    list[RouteSchedule]
        One per route, in order.

    Raises
    ------
    InstanceError
        If travel times are unknown.
    SolutionError
        If a route visits an unknown customer.
    """
    vehicles = solution.vehicle_types(instance)
    return [schedule_route(instance, route, kind) for route, kind in zip(solution.routes, vehicles, strict=True)]


def check(instance: Instance, solution: Solution) -> list[Violation]:
    """Check a solution against the instance's raw data.

    This shares no code with any solver or with `Solution.cost`, so it reveals their mistakes.

    Parameters
    ----------
    instance
        The problem.
    solution
        The routes to check.

    Returns
    -------
    list[Violation]
        All violations; empty if the solution is valid.
    """
    customers = range(1, instance.size + 1)
    violations: list[Violation] = []
    visits: Counter[int] = Counter()
    nodes = _list_known_nodes(instance)
    known = [tuple(filter(nodes.__contains__, route)) for route in solution.routes]
    stated = solution.stated_types(instance)
    types = choose_types(instance, known) if stated is None else stated
    fleet = instance.fleet
    for number, (route, kind) in enumerate(zip(solution.routes, types, strict=True), start=1):
        for stop, customer in enumerate(route):
            if customer not in nodes:
                violations.append(_explain_unknown(instance, solution, number, stop))
            if customer not in customers:
                continue
            visits[customer] += 1
            if visits[customer] > 1:
                message = f"Route {number} visits {instance.called(customer)}, which was already visited."
                violations.append(Violation("repeated", message, number, customer))
        if 0 <= kind < len(fleet):
            violations += judge_route(instance, number, known[number - 1], fleet[kind])
    violations += judge_fleet(instance, types, solution.vehicle_names)
    violations += judge_missing(instance, visits)
    if instance.rules:
        violations += judge_groups(instance, known)
    return violations + find_false_statements(instance, solution, types)


def find_false_statements(
    instance: Instance, solution: Solution, types: Sequence[int] | None = None
) -> list[Violation]:
    """Find what a file states wrongly about its routes: their cost, ids, loads, or who is unserved.

    Parameters
    ----------
    instance, solution
        The problem, and routes with their statements. The cost of unknown customers or vehicles is not checked.
    types
        Index of each route's vehicle type. None: as stated, or as `check` chooses.
    """
    found = list(judge_statements(instance, solution.routes, solution.statements))
    stated = solution.stated_types(instance)
    route_costs = solution.statements.route_costs
    if len(instance.fleet) > 1 and stated is None:
        route_costs = None  # vehicles of different types may swap their routes
    statements = solution.statements
    if solution.stated_cost is None and route_costs is None and statements.length is None and statements.money is None:
        return found
    nodes = _list_known_nodes(instance)
    if not all(map(nodes.__contains__, (node for route in solution.routes for node in route))):
        return found
    if types is None:
        types = choose_types(instance, solution.routes) if stated is None else stated
    if not all(0 <= kind < len(instance.fleet) for kind in types):
        return found
    vehicles = [instance.fleet[kind] for kind in types]
    found += judge_costs(instance, solution.routes, vehicles, solution.stated_cost, route_costs)
    return found + list(judge_totals(instance, solution.routes, vehicles, statements))


def _explain_unknown(instance: Instance, solution: Solution, number: int, stop: int) -> Violation:
    """Say that a stop is no customer: by its id, if it has one that no customer has."""
    customer, ids = solution.routes[number - 1][stop], solution.statements.ids or ()
    names = ids[number - 1] if number <= len(ids) else ()
    if stop < len(names) and names[stop] not in (instance.customer_names or ()):
        shown = show_text(names[stop], LONGEST_ITEM)
        return Violation("unknown", f"Route {number} visits {shown!r}, but no customer has this id.", number)
    hint = "the depot is left out of routes" if customer == 0 else f"customers are 1 to {instance.size}"
    return Violation("unknown", f"Route {number} visits {customer}, but {hint}.", number, customer)


def _list_known_nodes(instance: Instance) -> range:
    """The nodes that a route may hold: customers, and with reloads or places these too."""
    if instance.rules.isdisjoint(("reload", "places")):
        return range(1, instance.size + 1)
    return range(instance.node_count)


def refuse_violations(violations: Sequence[Violation], whose: str = "") -> None:
    """Raise if known routes violate something."""
    if not violations:
        return
    more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
    raise SolutionError.about(
        "start",
        f"the known routes{whose} are wrong: {violations[0].message}{more}",
        "dynaroute check lists everything that is wrong.",
        violations[0].customer,
    )


def recompute_cost(instance: Instance, solution: Solution) -> float:
    """Price routes leg by leg in plain Python, for `check` and for tests of faster code."""
    stated = solution.stated_types(instance)
    types = choose_types(instance, solution.routes) if stated is None else stated
    return price_all(instance, solution.routes, [instance.fleet[kind] for kind in types])


def _plain_routes(routes: object) -> tuple[tuple[int, ...], ...]:
    # a fast path: a search makes thousands of solutions, all of plain integers
    if isinstance(routes, tuple) and set(map(type, routes)) <= {tuple} and set(map(type, chain(*routes))) <= {int}:
        return routes
    return tuple(
        _plain_route(number, route) for number, route in enumerate(_require_list(routes, "the routes are"), start=1)
    )


def _plain_vehicles(vehicles: object, routes: tuple[tuple[int, ...], ...], expected: type) -> tuple[Any, ...]:
    """Return the vehicle types of the routes that are not empty."""
    kinds = list(vehicles) if isinstance(vehicles, Iterable) else []
    if len(kinds) != len(routes) or any(isinstance(kind, bool) or not isinstance(kind, expected) for kind in kinds):
        message = f"there are {len(routes)} routes, but the vehicle types are {vehicles!r}."
        raise SolutionError.about(
            "vehicles", message, "Give one type per route, by number from 0 or by name, or leave them out."
        )
    plain = str if expected is str else int
    return tuple(plain(kind) for kind, route in zip(kinds, routes, strict=True) if route)


def _plain_route(number: int, route: object) -> tuple[int, ...]:
    return tuple(_plain_customer(number, stop) for stop in _require_list(route, f"route {number} is"))


def _plain_customer(number: int, stop: Any) -> int:
    with suppress(TypeError):
        if not isinstance(stop, bool):
            return index(stop)  # any integer type, numpy's too
    raise SolutionError.about("routes", f"route {number} holds {stop!r}, which is not a whole number.", _ROUTES_REMEDY)


def _require_list(values: Any, subject: str) -> list[Any]:
    try:
        return list(values)
    except TypeError:
        raise SolutionError.about("routes", f"{subject} {values!r}, not a list.", _ROUTES_REMEDY) from None


def _plain_cost(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise SolutionError.about("cost", f"the stated cost {value!r} is not a number.", "Leave it out.")
    try:
        cost = float(value)
    except OverflowError:
        cost = math.inf
    if not math.isfinite(cost):
        raise SolutionError.about("cost", "the stated cost is not finite.", "Leave it out.")
    return cost


def _refuse_unknown(nodes: Collection[int], size: int) -> None:
    if not nodes or (min(nodes) >= 0 and max(nodes) <= size):
        return
    for node in nodes:
        if not 0 <= node <= size:
            raise SolutionError.about(
                "routes",
                f"there is no customer {node}; customers are 1 to {size}.",
                "Is this solution for another instance?",
                node,
            )
