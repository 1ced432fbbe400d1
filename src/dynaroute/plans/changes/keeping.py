"""Keeping parts of a plan during a search: whole routes, or a stop with its neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynaroute.base.errors import OptionError, UnsupportedError, Where
from dynaroute.formats.text import shorten
from dynaroute.plans.files.table import find_by_id, make_unknown_error
from dynaroute.plans.matching import KnownRoutes
from dynaroute.problem.details import Details
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.rules import refuse_other_rules
from dynaroute.problem.solution import Solution
from dynaroute.problem.statements import Statements

_MOST_CUSTOMERS = 2000  # with kept stops, because all legs are then stored in a matrix
_REMEDY = "Write route:2, route:1,3 or stop:ID, as in the plan of --start."


def parse_keep(texts: Sequence[str], known: KnownRoutes) -> tuple[set[int], set[int]]:
    """Read what to keep. Of routes and stops that are gone, nothing is kept.

    Parameters
    ----------
    texts
        Each "route:2", "route:1,3" or "stop:ID".
    known
        The known routes.

    Returns
    -------
    tuple[set[int], set[int]]
        Indices of routes, and customers.

    Raises
    ------
    OptionError
        If a text is invalid, there is no such route, or a customer is on no route yet.
    SolutionError
        If there is no such customer.
    """
    routes: set[int] = set()
    stops: set[int] = set()
    where = Where(field="--keep")
    for text in texts:
        kind, _, what = text.partition(":")
        if kind.strip() == "route":
            places = [known.places[_read_route(number, len(known.places), where)] for number in what.split(",")]
            routes.update(place for place in places if place is not None)
        elif kind.strip() == "stop" and what.strip():
            if what.strip() not in known.gone:
                stops.add(_find_stop(what.strip(), known, where))
        else:
            raise OptionError(f"{text!r} is neither a route nor a stop.", where=where, remedy=_REMEDY)
    return routes, stops


def _find_stop(name: str, known: KnownRoutes, where: Where) -> int:
    customer = find_by_id(known.instance)(name)
    if customer is None:
        raise make_unknown_error(name, where)
    if customer in known.new:
        raise OptionError(
            f"customer {shorten(name)} is new, so it has no place to keep.", where=where, remedy="Leave it out."
        )
    return customer


def _read_route(text: str, count: int, where: Where) -> int:
    number = text.strip()
    if not (number.isascii() and number.isdigit() and 1 <= int(number[:9]) <= count):
        raise OptionError(f"there is no route {number!r}; there are {count}.", where=where, remedy=_REMEDY)
    return int(number) - 1


@dataclass(frozen=True)
class Hold:
    """The part of a problem to search, and how to restore the whole.

    Attributes
    ----------
    instance, start
        The problem without the kept routes, and its known routes.
    kept_cost
        Length of the kept routes.
    """

    instance: Instance
    start: Solution
    kept_cost: float
    _whole: Instance
    _routes: tuple[tuple[tuple[int, ...], int], ...]  # kept routes and their places
    _customers: tuple[int, ...]  # numbers in the whole, by numbers in the part
    _before: dict[int, int]  # the stop before each kept stop
    _kinds: tuple[int, ...]  # vehicle types in the whole, by indices in the part
    _kept_kinds: tuple[int, ...] | None

    def restore(self, solution: Solution) -> Solution:
        """Return routes of the whole problem, given those of its part."""
        found = [tuple(self._customers[customer - 1] for customer in route) for route in solution.routes]
        routes = [self._in_earlier_direction(route) for route in found]
        kinds = [self._kinds[kind] for kind in solution.vehicles or (0,) * len(routes)]
        kept_kinds = self._kept_kinds or (0,) * len(self._routes)
        for (route, place), kind in zip(self._routes, kept_kinds, strict=True):
            routes.insert(place, route)
            kinds.insert(place, kind)
        has_kinds = self._whole.vehicles is not None and (solution.vehicles is not None or not found)
        whole = Solution(tuple(routes), vehicles=tuple(kinds) if has_kinds else None)
        return replace(whole, stated_cost=whole.cost(self._whole))

    def _in_earlier_direction(self, route: tuple[int, ...]) -> tuple[int, ...]:
        """Reverse a route if its first kept stop does not follow the same stop as before."""
        if not self._whole.is_symmetric or self._whole.has_times:
            return route
        before = (0, *route)
        for position, customer in enumerate(route):
            if customer in self._before:
                return route if before[position] == self._before[customer] else route[::-1]
        return route


def hold(instance: Instance, start: Solution, routes: Collection[int], stops: Collection[int]) -> Hold:
    """Remove the kept parts from a problem.

    A kept route is removed with its customers and its vehicle. A kept stop stays between the same two stops: all its
    other legs become longer than the whole plan, so that a search starting from these routes never uses them. If
    directions matter, it follows the same stop as before; otherwise its route may be reversed.

    Parameters
    ----------
    instance
        The problem.
    start
        Known feasible routes.
    routes
        Indices of the routes to keep.
    stops
        Customers to keep with their neighbours, on other routes.

    Raises
    ------
    OptionError
        If nothing is left to search.
    UnsupportedError
        If stops are to be kept, but there are too many customers for a matrix; or if the problem has other rules than
        capacities, windows and the limits of vehicles, of which the part would lose some.
    """
    refuse_other_rules(instance.rules, (), "keeping parts of a plan")
    vehicles = start.vehicle_types(instance)
    free = [index for index in range(len(start.routes)) if index not in routes]
    if not free:
        raise OptionError.about("--keep", "all routes are kept, so nothing is left to search.", "Keep fewer.")
    kept = sorted(routes)
    fixed = {customer for index in kept for customer in start.routes[index]}
    customers = tuple(customer for customer in range(1, instance.size + 1) if customer not in fixed)
    fleet, kinds = _take_vehicles(instance, Counter(vehicles[index] for index in kept))
    part = _take_customers(instance, customers)
    if instance.vehicles is not None:
        part = replace(part, vehicles=fleet)
    number_of = {customer: number for number, customer in enumerate(customers, start=1)}
    kind_of = {kind: index for index, kind in enumerate(kinds)}
    known = Solution(
        tuple(tuple(number_of[customer] for customer in start.routes[index]) for index in free),
        vehicles=None if instance.vehicles is None else tuple(kind_of[vehicles[index]] for index in free),
        statements=Statements(waiting=tuple(number_of[customer] for customer in start.statements.waiting)),
    )
    held = [number_of[customer] for customer in stops if customer in number_of]
    before = {
        customer: previous
        for route in start.routes
        for previous, customer in zip((0, *route[:-1]), route, strict=True)
        if customer in set(stops)
    }
    whole_costs = start.route_costs(instance)
    return Hold(
        instance=_lengthen_other_legs(part, known, held) if held else part,
        start=known,
        kept_cost=sum(whole_costs[index] for index in kept),
        _whole=instance,
        _routes=tuple((start.routes[index], index) for index in kept),
        _customers=customers,
        _before=before,
        _kinds=kinds,
        _kept_kinds=None if instance.vehicles is None else tuple(vehicles[index] for index in kept),
    )


def _take_vehicles(instance: Instance, used: Counter[int]) -> tuple[tuple[VehicleType, ...], tuple[int, ...]]:
    """Return the remaining vehicle types, and their indices among all."""
    left = [
        (
            replace(
                kind,
                count=None if kind.count is None else kind.count - used[index],
                min_vehicles=max(0, kind.min_vehicles - used[index]),
            ),
            index,
        )
        for index, kind in enumerate(instance.fleet)
        if kind.count is None or kind.count > used[index]
    ]
    return tuple(kind for kind, _ in left), tuple(index for _, index in left)


def _take_customers(instance: Instance, customers: Sequence[int]) -> Instance:
    """Restrict the problem to some of its customers."""
    nodes = [0, *customers]
    square = np.ix_(nodes, nodes)
    names, details = instance.customer_names, instance.details
    return replace(
        instance,
        coordinates=None if instance.coordinates is None else instance.coordinates[nodes],
        demands=instance.demands[nodes],
        distances=None if instance.distances is None else instance.distances[square],
        durations=None if instance.durations is None else instance.durations[square],
        service=None if instance.service is None else instance.service[nodes],
        windows=None if instance.windows is None else instance.windows[nodes],
        customer_names=None if names is None else tuple(names[customer - 1] for customer in customers),
        details=None if details is None else Details(details.columns, tuple(details.rows[node] for node in nodes)),
    )


def _lengthen_other_legs(instance: Instance, start: Solution, held: Sequence[int]) -> Instance:
    if instance.size > _MOST_CUSTOMERS:
        raise UnsupportedError.about(
            "--keep",
            f"stops can only be kept with up to {_MOST_CUSTOMERS:,} customers, not {instance.size:,}.",
            "Also keep whole routes, whose customers do not count.",
        )
    lengths = np.array(instance.distance_matrix)
    longer = lengths + 2.0 * start.cost(instance) + 1.0
    neighbours = {
        customer: (previous, following)
        for route in start.routes
        for previous, customer, following in zip((0, *route[:-1]), route, (*route[1:], 0), strict=True)
    }
    changed = lengths.copy()
    is_directed = not instance.is_symmetric or instance.has_times
    for customer in held:
        changed[:, customer] = longer[:, customer]
        changed[customer, :] = longer[customer, :]
    for customer in held:
        previous, following = neighbours[customer]
        legs = [(previous, customer), (customer, following)]
        for origin, destination in legs if is_directed else [*legs, *((end, begin) for begin, end in legs)]:
            changed[origin, destination] = lengths[origin, destination]
    np.fill_diagonal(changed, 0.0)
    return replace(instance, distances=changed, rounding="none")
