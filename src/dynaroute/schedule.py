"""Timetables of routes, and which vehicle type drives which route."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from dynaroute.fleet import TOLERANCE, VehicleType
from dynaroute.instance import Instance

__all__ = [
    "RouteSchedule",
    "Stop",
    "assign_vehicles",
    "can_drive",
    "earliest_departure",
    "latest_end",
    "measure_route",
    "schedule_route",
]

_Route = Sequence[int]


@dataclass(frozen=True)
class Stop:
    """One stop of a route.

    Attributes
    ----------
    customer
        The customer, from 1.
    arrival, start, leave
        Seconds: arrival, start of service (after waiting for the window if early), and departure.
    distance
        Distance driven so far.
    load
        Delivered so far including this stop, in the instance's stored units.
    """

    customer: int
    arrival: float
    start: float
    leave: float
    distance: float
    load: int

    @property
    def waiting(self) -> float:
        """Seconds of waiting until the window opens."""
        return self.start - self.arrival


@dataclass(frozen=True)
class RouteSchedule:
    """The times of one route.

    Attributes
    ----------
    vehicle
        Index of the vehicle type.
    departure
        Departure from the depot, in seconds.
    stops
        Stops in order.
    end
        Return to the depot, in seconds; for an open route, the end of the last service.
    distance, load
        Totals of the route.
    """

    vehicle: int
    departure: float
    stops: tuple[Stop, ...]
    end: float
    distance: float
    load: int

    @property
    def duration(self) -> float:
        """Seconds from departure to the end."""
        return self.end - self.departure

    @property
    def waiting(self) -> float:
        """Seconds of waiting at all stops."""
        return math.fsum(stop.waiting for stop in self.stops)


def measure_route(instance: Instance, route: _Route, vehicle: VehicleType) -> float:
    """Measure a route driven by this vehicle type; an open route does not return."""
    nodes = _nodes_of(route, vehicle)
    return math.fsum(instance.leg_lengths(nodes[:-1], nodes[1:]))


def schedule_route(instance: Instance, route: _Route, vehicle: int) -> RouteSchedule:
    """Compute the times of a route, departing as late as possible without delaying any stop.

    A late departure gives the shortest duration, which counts from departure to end. A customer that is reached too
    late anyway is served on arrival.
    """
    kind = instance.fleet[vehicle]
    nodes = _nodes_of(route, kind)
    customers = list(route)
    lengths = instance.leg_lengths(nodes[:-1], nodes[1:]).tolist()
    durations: list[float] = instance.leg_durations(nodes[:-1], nodes[1:]).tolist()
    service = [0.0] * len(route) if instance.service is None else instance.service[customers].tolist()
    windows = _windows_of(instance, customers)
    earliest = earliest_departure(instance, kind)

    departure = _delay_departure(earliest, durations, service, windows)
    distances = list(accumulate(lengths))
    loads = list(accumulate(instance.demands[customers].tolist()))
    stops = []
    leave = departure
    for index, customer in enumerate(customers):
        arrival = leave + durations[index]
        start = max(arrival, windows[index][0])
        leave = start + service[index]
        stops.append(Stop(customer, arrival, start, leave, distances[index], loads[index]))
    end = leave if kind.end == "open" else leave + durations[-1]
    return RouteSchedule(vehicle, departure, tuple(stops), end, math.fsum(lengths), loads[-1])


def earliest_departure(instance: Instance, vehicle: VehicleType) -> float:
    """Earliest departure in seconds, when depot and shift are open; 0 without either."""
    opening = 0.0 if instance.windows is None else float(instance.windows[0, 0])
    return opening if vehicle.shift is None else max(opening, vehicle.shift[0])


def latest_end(instance: Instance, vehicle: VehicleType) -> float:
    """Latest end in seconds: the end of the shift and, unless the route is open, of the depot's window."""
    closing = math.inf
    if instance.windows is not None and vehicle.end == "depot":
        closing = float(instance.windows[0, 1])
    return closing if vehicle.shift is None else min(closing, vehicle.shift[1])


def can_drive(instance: Instance, route: _Route, vehicle: int) -> bool:
    """Whether a vehicle type can drive a route within all limits, regardless of how many vehicles there are."""
    kind = instance.fleet[vehicle]
    if int(instance.demands[list(route)].sum()) > kind.capacity:
        return False
    if kind.max_stops is not None and len(route) > kind.max_stops:
        return False
    if kind.max_distance is not None and measure_route(instance, route, kind) > kind.max_distance + TOLERANCE:
        return False
    if not instance.has_times:
        return True
    times = schedule_route(instance, route, vehicle)
    if kind.max_duration is not None and times.duration > kind.max_duration + TOLERANCE:
        return False
    if times.end > latest_end(instance, kind) + TOLERANCE:
        return False
    return instance.windows is None or all(
        stop.start <= instance.windows[stop.customer, 1] + TOLERANCE for stop in times.stops
    )


def assign_vehicles(instance: Instance, routes: Sequence[_Route]) -> tuple[int, ...]:
    """Give each route a vehicle type that can drive it, within the number of vehicles of each type.

    The total length is minimal (open routes do not return) and, among equals, the vehicles are the smallest. If there
    is no such assignment, as many routes as possible get a type that can drive them. The others get the largest type
    that could, or the largest of all, and `check` reports what is wrong.
    """
    types = instance.fleet
    if len(types) == 1:
        return (0,) * len(routes)
    prices = _price_types(instance, routes)
    room = [len(routes) if kind.count is None else kind.count for kind in types]
    assigned = np.full(len(routes), -1)
    for route in range(len(routes)):
        _assign_one(route, assigned, prices, room)
    by_size = sorted(range(len(types)), key=lambda index: -types[index].capacity)
    for route in np.flatnonzero(assigned < 0).tolist():
        assigned[route] = next((kind for kind in by_size if np.isfinite(prices[route, kind])), by_size[0])
    return tuple(assigned.tolist())


def _price_types(instance: Instance, routes: Sequence[_Route]) -> NDArray[np.float64]:
    """Price each route and type, (routes, types): by length, then capacity; infinite if the type cannot drive it."""
    types = instance.fleet
    prices = np.full((len(routes), len(types)), np.inf)
    ranks = np.argsort(np.argsort([kind.capacity for kind in types], kind="stable"), kind="stable").tolist()
    differ = len({kind.end for kind in types}) > 1
    share = (
        TOLERANCE / (len(types) * max(1, len(routes))) if differ else 1.0
    )  # all ranks together must not outweigh any length
    for row, route in enumerate(routes):
        for index, kind in enumerate(types):
            if can_drive(instance, route, index):
                prices[row, index] = share * ranks[index] + (measure_route(instance, route, kind) if differ else 0.0)
    return prices


def _assign_one(route: int, assigned: NDArray[np.intp], prices: NDArray[np.float64], room: list[int]) -> None:
    """Give one more route a type at the least price, moving other routes if needed (Bellman-Ford)."""
    types = prices.shape[1]
    cost, before = prices[route].copy(), np.full(types, -1)
    handed = {}  # (from, to): the route that is cheapest to move
    for old in range(types):
        held = np.flatnonzero(assigned == old)
        if not len(held):
            continue
        changes = prices[held] - prices[held, old][:, None]
        for new in range(types):
            mover = int(np.argmin(changes[:, new]))
            if new != old and np.isfinite(changes[mover, new]):
                handed[old, new] = int(held[mover]), float(changes[mover, new])
    for _ in range(types):
        for (old, new), (_, change) in handed.items():
            if cost[old] + change < cost[new] - 1e-12:
                cost[new], before[new] = cost[old] + change, old
    counts = np.bincount(assigned[assigned >= 0], minlength=types)
    free = [kind for kind in range(types) if counts[kind] < room[kind] and np.isfinite(cost[kind])]
    if not free:
        return
    kind = min(free, key=lambda index: cost[index])
    for _ in range(types):
        if before[kind] < 0:
            break
        assigned[handed[int(before[kind]), kind][0]] = kind
        kind = int(before[kind])
    assigned[route] = kind


def _nodes_of(route: _Route, vehicle: VehicleType) -> list[int]:
    return [0, *route] if vehicle.end == "open" else [0, *route, 0]


def _windows_of(instance: Instance, customers: list[int]) -> list[list[float]]:
    if instance.windows is None:
        return [[0.0, math.inf]] * len(customers)
    rows: list[list[float]] = instance.windows[customers].tolist()
    return rows


def _delay_departure(
    earliest: float, durations: Sequence[float], service: Sequence[float], windows: Sequence[Sequence[float]]
) -> float:
    """Find the latest departure that delays no service beyond its window."""
    leave, waiting, slack = earliest, 0.0, math.inf
    for duration, served, (opens, closes) in zip(durations, service, windows, strict=False):
        arrival = leave + duration
        start = max(arrival, opens)
        waiting += start - arrival
        slack = min(slack, waiting + max(0.0, closes - start))
        leave = start + served
    return earliest + min(waiting, slack)
