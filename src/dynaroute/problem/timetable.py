"""Timetables, lengths and prices of routes, and how late they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

import numpy as np

from dynaroute.problem.driving import list_loads, node_bounds, time_route
from dynaroute.problem.fleet import TOLERANCE, VehicleType
from dynaroute.problem.instance import Instance

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
        Delivered so far including this stop, in the instance's stored units, in the first dimension of loads.
    rest
        Seconds of breaks between arrival and start.
    on_board
        Load on board when the vehicle leaves, in each dimension; empty where nothing but demands is carried.
    """

    customer: int
    arrival: float
    start: float
    leave: float
    distance: float
    load: int
    rest: float = 0.0
    on_board: tuple[int, ...] = ()

    @property
    def waiting(self) -> float:
        """Seconds of waiting until the window opens."""
        return self.start - self.arrival - self.rest


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
        Totals of the route; with pickups or reloads, the load is the largest on board.
    breaks
        Each break: its start, its end, and after how many stops it is taken.
    driving
        Seconds of driving.
    """

    vehicle: int
    departure: float
    stops: tuple[Stop, ...]
    end: float
    distance: float
    load: int
    breaks: tuple[tuple[float, float, int], ...] = ()
    driving: float = 0.0

    @property
    def duration(self) -> float:
        """Seconds from departure to the end."""
        return self.end - self.departure

    @property
    def waiting(self) -> float:
        """Seconds of waiting at all stops."""
        return math.fsum(stop.waiting for stop in self.stops)


def list_breaks(times: RouteSchedule) -> list[dict[str, float | int]]:
    """The breaks of a route, as in JSON: start and end in seconds, and after how many stops."""
    return [{"start": start, "end": end, "after": after} for start, end, after in times.breaks]


def measure_route(instance: Instance, route: _Route, vehicle: VehicleType) -> float:
    """Measure a route driven by this vehicle type; an open route does not return."""
    nodes = _nodes_of(instance, route, vehicle)
    return math.fsum(instance.leg_lengths(nodes[:-1], nodes[1:], vehicle.profile))


def measure_routes(instance: Instance, routes: Sequence[_Route], vehicles: Sequence[VehicleType]) -> list[float]:
    """Measure routes, each driven by its vehicle type, all at once: there may be thousands."""
    if instance.profiles:
        return [measure_route(instance, route, vehicle) for route, vehicle in zip(routes, vehicles, strict=True)]
    nodes = [_nodes_of(instance, route, vehicle) for route, vehicle in zip(routes, vehicles, strict=True)]
    origins = [node for stops in nodes for node in stops[:-1]]
    destinations = [node for stops in nodes for node in stops[1:]]
    legs = iter(instance.leg_lengths(origins, destinations).tolist())
    return [math.fsum(islice(legs, len(stops) - 1)) for stops in nodes]


def schedule_route(instance: Instance, route: _Route, vehicle: int) -> RouteSchedule:
    """Compute the times of a route, departing as late as possible without delaying any stop.

    A late departure gives the shortest duration, which counts from departure to end. A customer that is reached too
    late anyway is served on arrival.
    """
    kind = instance.fleet[vehicle]
    nodes = _nodes_of(instance, route, kind)
    customers = list(route)
    if instance.rules:
        return _schedule_by_rules(instance, route, vehicle, nodes)
    lengths = instance.leg_lengths(nodes[:-1], nodes[1:]).tolist()
    durations: list[float] = instance.leg_durations(nodes[:-1], nodes[1:]).tolist()
    service = [0.0] * len(route) if instance.service is None else instance.service[customers].tolist()
    windows = list_windows(instance, customers)
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
    return RouteSchedule(
        vehicle, departure, tuple(stops), end, math.fsum(lengths), loads[-1], driving=math.fsum(durations)
    )


def _schedule_by_rules(instance: Instance, route: _Route, kind: int, nodes: Sequence[int]) -> RouteSchedule:
    """Compute the times of a route with any rules."""
    times = time_route(instance, route, kind)
    lengths = instance.leg_lengths(nodes[:-1], nodes[1:], instance.fleet[kind].profile).tolist()
    loads = list_loads(instance, route, instance.fleet[kind])
    is_customer = [0 < node <= instance.size for node in route]
    given = [_first(instance, node) if served else 0 for node, served in zip(route, is_customer, strict=True)]
    distances, delivered = list(accumulate(lengths)), list(accumulate(given))
    stops = [
        Stop(
            node,
            times.arrivals[index],
            times.starts[index],
            times.leaves[index],
            distances[index],
            delivered[index],
            times.rests[index],
            tuple(loads[index + 1].tolist()),
        )
        for index, node in enumerate(route)
    ]
    peak = int(loads[:, 0].max())
    length = math.fsum(lengths)
    return RouteSchedule(
        kind, times.departure, tuple(stops), times.end, length, peak, times.breaks, driving=times.driving
    )


def _first(instance: Instance, node: int) -> int:
    return int(instance.demands[node].reshape(-1)[0])


def price_routes(instance: Instance, routes: Sequence[_Route], kinds: Sequence[int]) -> list[float]:
    """Price routes, each driven by a type: their lengths, or money where anything has a price.

    Parameters
    ----------
    instance
        The problem.
    routes
        Routes over its customers and places.
    kinds
        Index of each route's vehicle type.
    """
    vehicles = [instance.fleet[kind] for kind in kinds]
    lengths = measure_routes(instance, routes, vehicles)
    if not instance.is_priced:
        return lengths
    prices = []
    for route, kind, vehicle, length in zip(routes, kinds, vehicles, lengths, strict=True):
        price = vehicle.fixed_cost + vehicle.distance_cost * length
        balance = instance.balance
        is_timed = vehicle.time_cost > 0 or vehicle.overtime is not None or instance.late_costs is not None
        if is_timed or (balance is not None and balance.of == "hours"):
            times = time_route(instance, route, kind)
            price += times.price(vehicle)
            price += 0.0 if balance is None or balance.of != "hours" else balance.price(times.duration / 3600)
        if balance is not None and balance.of == "stops":
            price += balance.price(sum(0 < node <= instance.size for node in route))
        if balance is not None and balance.of == "load":
            price += balance.price(float(list_loads(instance, route, vehicle)[:, 0].max()) / instance.demand_scale)
        if instance.compactness > 0:
            price += instance.compactness * measure_spread(instance, route, vehicle)
        if instance.usual_vehicles is not None:
            usual = instance.usual_vehicles[[node for node in route if node <= instance.size]]
            price += instance.change_cost * int(((usual >= 0) & (usual != kind)).sum())
        prices.append(price)
    return prices


def measure_spread(instance: Instance, route: _Route, vehicle: VehicleType) -> float:
    """Add up the distances of a route's customers from its centre, the one of them from whom that is least.

    Parameters
    ----------
    instance
        The problem.
    route
        Customers, and places where the vehicle loads again, which do not count.
    vehicle
        The type that drives; its profile may have distances of its own.
    """
    stops = np.array([node for node in route if 0 < node <= instance.size], dtype=np.intp)
    if len(stops) == 0:
        return 0.0
    lengths = instance.leg_lengths(stops[:, None], stops[None, :], vehicle.profile)
    np.fill_diagonal(lengths, 0.0)
    return float(lengths.sum(axis=1).min())


def price_left_out(instance: Instance, routes: Sequence[_Route]) -> float:
    """Add up the prizes that are lost: of alternatives without any that is served, the largest.

    Parameters
    ----------
    instance, routes
        The problem, and routes over its customers.
    """
    if instance.prizes is None:
        return 0.0
    is_lost = np.isfinite(instance.prizes)
    is_lost[[node for route in routes for node in route if node <= instance.size]] = False
    if instance.one_of is None:
        return math.fsum(instance.prizes[is_lost].tolist())
    labels = np.array(instance.one_of)
    served = {instance.one_of[node] for route in routes for node in route if node <= instance.size}
    single = math.fsum(instance.prizes[is_lost & (labels == "")].tolist())
    groups = set(labels[is_lost].tolist()) - served - {""}
    return single + math.fsum(float(instance.prizes[is_lost & (labels == label)].max()) for label in groups)


def earliest_departure(instance: Instance, vehicle: VehicleType) -> float:
    """Earliest departure in seconds, when depot and shift are open; 0 without either."""
    opening = node_bounds(instance, instance.node_of(vehicle.start))[0]
    return opening if vehicle.shift is None else max(opening, vehicle.shift[0])


def latest_end(instance: Instance, vehicle: VehicleType) -> float:
    """Latest end in seconds: the end of the shift and, unless the route is open, of the depot's window."""
    closing = math.inf
    if vehicle.end != "open":
        closing = node_bounds(instance, instance.node_of(vehicle.end))[1]
    return closing if vehicle.shift is None else min(closing, vehicle.shift[1])


def lateness_of(instance: Instance, times: RouteSchedule) -> list[float]:
    """Seconds of each stop after the end of its last window; 0 if it is in time."""
    late = []
    for stop in times.stops:
        windows = instance.windows_of(stop.customer)
        late.append(max(0.0, stop.start - windows[-1][1]) if windows else 0.0)
    return [seconds if seconds > TOLERANCE else 0.0 for seconds in late]


def measure_excess(instance: Instance, stops: tuple[int, ...], kind: int) -> float:
    """Seconds that a route is late or too long, altogether; 0 if times are not limited.

    Parameters
    ----------
    instance
        The problem.
    stops
        The route.
    kind
        Index of its type of vehicle.
    """
    if not instance.has_times:
        return 0.0
    vehicle, times = instance.fleet[kind], schedule_route(instance, stops, kind)
    late = zip(times.stops, lateness_of(instance, times), strict=True)
    hard = [seconds for stop, seconds in late if not _may_be_late(instance, stop.customer)]
    longest = math.inf if vehicle.max_duration is None else vehicle.max_duration
    if vehicle.overtime is not None:
        longest = min(longest, vehicle.overtime.after + vehicle.overtime.at_most)
    over = max(0.0, times.end - latest_end(instance, vehicle)), max(0.0, times.duration - longest)
    return math.fsum([*hard, *over])


def _may_be_late(instance: Instance, node: int) -> bool:
    costs = instance.late_costs
    return costs is not None and node <= instance.size and math.isfinite(costs[node])


def _nodes_of(instance: Instance, route: _Route, vehicle: VehicleType) -> list[int]:
    start = instance.node_of(vehicle.start)
    return [start, *route] if vehicle.end == "open" else [start, *route, instance.node_of(vehicle.end)]


def list_windows(instance: Instance, customers: list[int]) -> list[list[float]]:
    """List the earliest and latest start at some customers; none is later than infinity."""
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
