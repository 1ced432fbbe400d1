"""Inserting new customers into a plan without changing its other stops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.decimals import plain_number
from dynaroute.plans.changes.additions import Customers, extend_instance
from dynaroute.plans.matching import KnownRoutes
from dynaroute.plans.plan import Plan
from dynaroute.problem.assigning import can_drive
from dynaroute.problem.fleet import TOLERANCE, VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.rules import refuse_other_rules
from dynaroute.problem.solution import Solution
from dynaroute.problem.timetable import measure_route

_MOST_OFFERS = 10_000  # pairs of a new customer and a route that are compared before a search


@dataclass(frozen=True)
class Insertion:
    """Where a new customer goes.

    Attributes
    ----------
    customer
        Its number in the new plan.
    route, stop
        Its route, and its stop once all new customers are inserted, from 1. None if it fits nowhere.
    cost
        Extra length of the plan.
    opens_route
        Whether it needs another vehicle.
    """

    customer: int
    route: int | None
    stop: int | None
    cost: float | None
    opens_route: bool = False


@dataclass(frozen=True)
class EarlierDeparture:
    """A vehicle that departs earlier than before, perhaps at a time that has passed.

    Attributes
    ----------
    route
        Its route, from 1.
    vehicle
        Name of its type; empty if types have no names.
    before, after
        Departure before and after, in seconds. For a new route, `before` is when the first vehicle departed.
    message
        The same in words.
    """

    route: int
    vehicle: str
    before: float
    after: float
    message: str


@dataclass(frozen=True)
class InsertionResult:
    """A plan with new customers.

    Attributes
    ----------
    plan
        The plan with all new customers in its instance, and those that fit in its routes.
    insertions
        One per new customer, in order.
    earlier
        Vehicles that depart earlier than before.
    """

    plan: Plan
    insertions: tuple[Insertion, ...]
    earlier: tuple[EarlierDeparture, ...] = ()

    @property
    def fitting_nowhere(self) -> list[int]:
        """New customers that fit on no route."""
        return [insertion.customer for insertion in self.insertions if insertion.route is None]

    @property
    def unserved(self) -> list[int]:
        """All customers on no route: new ones that fit nowhere, and those that the plan left out before."""
        return self.plan.solution.unserved(self.plan.instance)


def insertions_to_json(result: InsertionResult, cost_before: float) -> dict[str, object]:
    """Return the keys of ``dynaroute insert --json`` and ``/v1/insert``."""
    instance, solution = result.plan.instance, result.plan.solution
    return {
        "insertions": [
            {
                "customer": insertion.customer,
                "id": instance.customer_name(insertion.customer),
                "route": insertion.route,
                "stop": insertion.stop,
                "cost": None if insertion.cost is None else plain_number(insertion.cost),
                "opens_route": insertion.opens_route,
            }
            for insertion in result.insertions
        ],
        "unserved": result.unserved,
        "cost_before": plain_number(cost_before),
        "cost": plain_number(result.plan.cost),
        "unit": instance.unit,
        "routes": [list(route) for route in solution.routes],
        "ids": [list(map(instance.customer_name, route)) for route in solution.routes],
        "loads": [plain_number(route.load) for route in result.plan.routes],
        **({} if solution.vehicles is None else {"vehicles": list(solution.vehicles)}),
        "earlier": [asdict(departure) for departure in result.earlier],
    }


class _Offer(NamedTuple):
    """A place for a customer, ordered by cost."""

    cost: float
    route: int
    position: int
    vehicle: int


def insert_customers(plan: Plan, customers: Customers) -> InsertionResult:
    """Insert new customers where they cost least, one after the other, cheapest first.

    Existing stops keep their routes and order, and all limits of vehicles are respected. An unused vehicle is used if
    that is cheaper, or if nothing else is possible.

    Parameters
    ----------
    plan
        The plan.
    customers
        As in JSON: {"id"?, "x", "y", "demand", ...}.
    """
    instance = extend_instance(plan.instance, customers)
    refuse_other_rules(instance.rules, (), "inserting customers")
    work = _WaitingCustomers(instance, plan.solution)
    costs = work.insert_all(range(plan.instance.size + 1, instance.size + 1))
    after = Plan(instance, work.solution)
    insertions = tuple(_list_insertions(after.solution, costs, plan.instance.size, instance.size))
    return InsertionResult(after, insertions, tuple(_find_earlier_departures(plan, after)))


insert = insert_customers  # by its public name, dynaroute.insert


def _find_earlier_departures(before: Plan, after: Plan) -> Iterator[EarlierDeparture]:
    """Compare when each vehicle departs; a new one with the first that departed before."""
    if not before.has_times or not before.routes:
        return
    shown_time = after.instance.shown_time
    departures = [route.start.leave or 0.0 for route in before.routes]
    for index, route in enumerate(after.routes):
        is_new = index >= len(departures)
        planned, departure = min(departures) if is_new else departures[index], route.start.leave or 0.0
        if departure >= planned - TOLERANCE:
            continue
        change = f"before the plan began at {shown_time(planned)}" if is_new else f"instead of {shown_time(planned)}"
        message = f"{route.called} departs at {shown_time(departure)} {change}, a time that may have passed."
        yield EarlierDeparture(route.number, route.vehicle, planned, departure, message)


def _list_insertions(
    solution: Solution, costs: dict[int, tuple[float, bool]], known: int, size: int
) -> Iterator[Insertion]:
    places = {
        customer: (number, position)
        for number, route in enumerate(solution.routes, start=1)
        for position, customer in enumerate(route, start=1)
    }
    for customer in range(known + 1, size + 1):
        if customer in places:
            cost, opens_route = costs[customer]
            yield Insertion(customer, *places[customer], cost, opens_route)
        else:
            yield Insertion(customer, None, None, None)


def add_new_customers(known: KnownRoutes, routes: Collection[int] = (), stops: Collection[int] = ()) -> Solution:
    """Add the new customers to known routes, each where it costs least, so that a search can start from them.

    If there are very many, the others get routes of their own. With limits, customers that fit nowhere wait for the
    search.

    Parameters
    ----------
    known
        The routes and the new customers.
    routes, stops
        Indices of routes that take no customer, and stops that no customer may come beside.
    """
    instance = known.instance
    if known.new:
        refuse_other_rules(instance.rules, (), "inserting customers")
    work = _WaitingCustomers(instance, known.solution, frozenset(routes), frozenset(stops))
    most = max(1, _MOST_OFFERS // (len(known.solution.routes) + 1))
    work.insert_all(known.new[:most])
    for customer in known.new[most:] if instance.is_plain else ():
        work.open_route(customer)
    solution = work.solution
    waiting = tuple(customer for customer in known.new if customer in set(solution.unserved(instance)))
    return replace(solution, statements=replace(solution.statements, waiting=waiting))


class _WaitingCustomers:
    """Growing routes, and the best place in each for every waiting customer.

    No customer comes to the `closed` routes, or beside the `held` stops.
    """

    def __init__(
        self,
        instance: Instance,
        solution: Solution,
        closed: frozenset[int] = frozenset(),
        held: frozenset[int] = frozenset(),
    ) -> None:
        self.instance = instance
        self._closed, self._held = closed, held
        self.routes = [list(route) for route in solution.routes]
        self.vehicles = list(solution.vehicle_types(instance))
        self._has_types = instance.vehicles is not None
        self._offers: dict[tuple[int, int], _Offer | None] = {}  # by route and customer

    @property
    def solution(self) -> Solution:
        """The routes as they are now."""
        return Solution(tuple(map(tuple, self.routes)), vehicles=tuple(self.vehicles) if self._has_types else None)

    def insert_all(self, customers: Iterable[int]) -> dict[int, tuple[float, bool]]:
        """Insert all customers that fit; returns the cost of each, and whether it opened a route."""
        costs: dict[int, tuple[float, bool]] = {}
        waiting = list(customers)
        while waiting:
            offers = [(self.best_offer(customer), customer) for customer in waiting]
            possible = [(offer, customer) for offer, customer in offers if offer is not None]
            if not possible:
                break
            offer, customer = min(possible)
            costs[customer] = offer.cost, self.accept(offer, customer)
            waiting.remove(customer)
        return costs

    def open_route(self, customer: int) -> None:
        """Give a customer a vehicle of its own, if there is one."""
        if (offer := self._offer_alone(customer)) is not None:
            self.accept(offer, customer)

    def best_offer(self, customer: int) -> _Offer | None:
        """Find the cheapest place for a customer; None if there is none."""
        offers = [self._offer_in(route, customer) for route in range(len(self.routes))]
        return min((offer for offer in (*offers, self._offer_alone(customer)) if offer is not None), default=None)

    def accept(self, offer: _Offer, customer: int) -> bool:
        """Insert the customer; returns whether that opened a route."""
        opens_route = offer.route == len(self.routes)
        if opens_route:
            self.routes.append([])
            self.vehicles.append(offer.vehicle)
        self.routes[offer.route].insert(offer.position, customer)
        for key in [key for key in self._offers if key[0] == offer.route]:
            del self._offers[key]
        return opens_route

    def _offer_in(self, route: int, customer: int) -> _Offer | None:
        if (route, customer) not in self._offers:
            self._offers[route, customer] = self._find_offer(route, customer)
        return self._offers[route, customer]

    def _find_offer(self, route: int, customer: int) -> _Offer | None:
        stops, vehicle = self.routes[route], self.vehicles[route]
        if (
            route in self._closed
            or int(self.instance.demands[[*stops, customer]].sum()) > self.instance.fleet[vehicle].capacities[0]
        ):
            return None
        costs = _price_places(self.instance, stops, customer, self.instance.fleet[vehicle])
        for position in np.argsort(costs, kind="stable").tolist():
            longer = [*stops[:position], customer, *stops[position:]]
            if not self._held.isdisjoint(stops[max(0, position - 1) : position + 1]):
                continue
            if can_drive(self.instance, longer, vehicle):
                return _Offer(float(costs[position]), route, position, vehicle)
        return None

    def _offer_alone(self, customer: int) -> _Offer | None:
        """Offer a separate vehicle: the shortest route, then the smallest vehicle."""
        used = Counter(self.vehicles)
        offers = [
            (measure_route(self.instance, [customer], kind), kind.capacity, index)
            for index, kind in enumerate(self.instance.fleet)
            if (kind.count is None or used[index] < kind.count) and can_drive(self.instance, [customer], index)
        ]
        if not offers:
            return None
        cost, _, index = min(offers)
        return _Offer(cost, len(self.routes), 0, index)


def _price_places(instance: Instance, stops: Sequence[int], customer: int, vehicle: VehicleType) -> NDArray[np.float64]:
    """Price each place in a route; an open route does not return."""
    before = np.array([0, *stops])
    after = np.array([*stops, 0])
    costs = instance.leg_lengths(before, customer) + instance.leg_lengths(customer, after)
    costs = costs - instance.leg_lengths(before, after)
    if vehicle.end == "open":
        costs[-1] = float(instance.leg_lengths(before[-1], customer))
    return costs
