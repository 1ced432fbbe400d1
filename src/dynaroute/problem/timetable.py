"""Timetables of routes, and which vehicle type drives which route."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

import numpy as np
from numpy.typing import NDArray

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
        if instance.usual_vehicles is not None:
            usual = instance.usual_vehicles[[node for node in route if node <= instance.size]]
            price += instance.change_cost * int(((usual >= 0) & (usual != kind)).sum())
        prices.append(price)
    return prices


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


def can_drive(instance: Instance, route: _Route, vehicle: int) -> bool:
    """Whether a vehicle type can drive a route within all limits, regardless of how many vehicles there are."""
    kind = instance.fleet[vehicle]
    if int(instance.demands[list(route)].sum()) > kind.capacities[0]:
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


@dataclass(frozen=True)
class DepotLegs:
    """Distances and durations from the depot to each node, and back.

    Attributes
    ----------
    distance_to, distance_back
        (n + 1,) lengths.
    duration_to, duration_back
        (n + 1,) seconds; the lengths if travel times are unknown.
    """

    distance_to: NDArray[np.float64]
    distance_back: NDArray[np.float64]
    duration_to: NDArray[np.float64]
    duration_back: NDArray[np.float64]


def measure_depot_legs(instance: Instance) -> DepotLegs:
    """Measure the direct legs between the depot and all nodes."""
    nodes = np.arange(instance.size + 1)
    measure = instance.leg_durations if instance.knows_times else instance.leg_lengths
    return DepotLegs(
        instance.leg_lengths(0, nodes), instance.leg_lengths(nodes, 0), measure(0, nodes), measure(nodes, 0)
    )


def can_serve_alone(instance: Instance, vehicle: VehicleType, legs: DepotLegs) -> NDArray[np.bool_]:
    """For each node, whether this type of vehicle can drive there and back within all limits, (n + 1,).

    The same as `can_drive` for a single customer, for all of them at once; the depot's entry has no meaning.
    """
    is_open = vehicle.end == "open"
    is_able: NDArray[np.bool_] = instance.demands <= vehicle.capacities[0]
    if vehicle.max_distance is not None:
        lengths = legs.distance_to if is_open else legs.distance_to + legs.distance_back
        is_able = is_able & (lengths <= vehicle.max_distance + TOLERANCE)
    if not instance.has_times:
        return is_able
    service = 0.0 if instance.service is None else instance.service
    back = 0.0 if is_open else legs.duration_back
    if vehicle.max_duration is not None:  # leaving late avoids waiting
        is_able = is_able & (legs.duration_to + service + back <= vehicle.max_duration + TOLERANCE)
    starts = earliest_departure(instance, vehicle) + legs.duration_to
    if instance.windows is not None:
        is_able = is_able & (starts <= instance.windows[:, 1] + TOLERANCE)
        starts = np.maximum(starts, instance.windows[:, 0])
    return is_able & (starts + service + back <= latest_end(instance, vehicle) + TOLERANCE)


def assign_vehicles(instance: Instance, routes: Sequence[_Route]) -> tuple[int, ...]:
    """Give each route a vehicle type that can drive it, within the number of vehicles of each type.

    The total length is minimal (open routes do not return) and, among equals, the vehicles are the smallest. If there
    is no such assignment, as many routes as possible get a type that can drive them. The others get the largest type
    that could, or the largest of all, and `check` reports what is wrong.
    """
    types = instance.fleet
    if len(types) == 1:
        return (0,) * len(routes)
    groups = instance.alike_types
    prices = _price_types(instance, routes, [group.members[0] for group in groups])
    room = [len(routes) if group.merged.count is None else group.merged.count for group in groups]
    assigned = np.full(len(routes), -1)
    for route in range(len(routes)):
        _assign_one(route, assigned, prices, room)
    by_size = sorted(range(len(groups)), key=lambda index: -groups[index].merged.capacities[0])
    vehicles = [group.list_vehicles(types) for group in groups]
    chosen = []
    for route, group in enumerate(assigned.tolist()):
        if group < 0:
            group = next((kind for kind in by_size if np.isfinite(prices[route, kind])), by_size[0])
        chosen.append(next(vehicles[group], groups[group].members[0]))
    return tuple(chosen)


def _price_types(instance: Instance, routes: Sequence[_Route], kinds: Sequence[int]) -> NDArray[np.float64]:
    """Price each route and type, (routes, kinds): by length, then capacity; infinite if the type cannot drive it."""
    types = instance.fleet
    chosen = [types[index] for index in kinds]
    ranks = np.argsort(np.argsort([kind.capacities[0] for kind in types], kind="stable"), kind="stable")[list(kinds)]
    is_open = np.array([kind.end == "open" for kind in chosen])
    # all ranks together must not outweigh any length
    differ = bool(is_open.any() and not is_open.all())
    share = TOLERANCE / (len(types) * max(1, len(routes))) if differ else 1.0
    limits = _Limits.of(instance, chosen)
    prices = np.full((len(routes), len(kinds)), np.inf)
    for row, route in enumerate(routes):
        lengths = limits.measure(instance, route) if differ else np.zeros(len(kinds))
        prices[row] = np.where(limits.allow(instance, route), share * ranks + lengths, np.inf)
    return prices


@dataclass(frozen=True)
class _Limits:
    """The limits of many types of vehicles as arrays, to judge a route for all of them at once."""

    capacities: NDArray[np.float64]
    stops: NDArray[np.float64]
    distances: NDArray[np.float64]
    durations: NDArray[np.float64]
    starts: NDArray[np.float64]
    ends: NDArray[np.float64]
    is_open: NDArray[np.bool_]

    @classmethod
    def of(cls, instance: Instance, kinds: Sequence[VehicleType]) -> _Limits:
        """Read the limits of some types."""
        return cls(
            capacities=np.array([kind.capacities[0] for kind in kinds], dtype=float),
            stops=_read_limits([kind.max_stops for kind in kinds]),
            distances=_read_limits([kind.max_distance for kind in kinds]),
            durations=_read_limits([kind.max_duration for kind in kinds]),
            starts=np.array([earliest_departure(instance, kind) for kind in kinds]),
            ends=np.array([latest_end(instance, kind) for kind in kinds]),
            is_open=np.array([kind.end == "open" for kind in kinds]),
        )

    def measure(self, instance: Instance, route: _Route) -> NDArray[np.float64]:
        """The length of a route, driven by each type."""
        nodes = [0, *route, 0]
        lengths = instance.leg_lengths(nodes[:-1], nodes[1:]).tolist()
        return np.where(self.is_open, math.fsum(lengths[:-1]), math.fsum(lengths))

    def allow(self, instance: Instance, route: _Route) -> NDArray[np.bool_]:
        """Whether each type can drive a route: what `can_drive` says for one."""
        is_able = (int(instance.demands[list(route)].sum()) <= self.capacities) & (len(route) <= self.stops)
        is_able &= self.measure(instance, route) <= self.distances + TOLERANCE
        if not instance.has_times:
            return is_able
        nodes, windows = [0, *route, 0], _windows_of(instance, list(route))
        durations: list[float] = instance.leg_durations(nodes[:-1], nodes[1:]).tolist()
        service = [0.0] * len(route) if instance.service is None else instance.service[list(route)].tolist()
        leave, waiting, slack = self.starts, np.zeros_like(self.starts), np.full_like(self.starts, math.inf)
        for duration, served, (opens, closes) in zip(durations, service, windows, strict=False):
            arrival = leave + duration
            start = np.maximum(arrival, opens)
            is_able &= start <= closes + TOLERANCE
            waiting = waiting + (start - arrival)
            slack = np.minimum(slack, waiting + np.maximum(0.0, closes - start))
            leave = start + served
        end = np.where(self.is_open, leave, leave + durations[-1])
        departure = self.starts + np.minimum(waiting, slack)  # a later one would delay the end, see _delay_departure
        return is_able & (end - departure <= self.durations + TOLERANCE) & (end <= self.ends + TOLERANCE)


def _read_limits(limits: Sequence[float | None]) -> NDArray[np.float64]:
    return np.array([math.inf if limit is None else limit for limit in limits], dtype=float)


def _assign_one(route: int, assigned: NDArray[np.intp], prices: NDArray[np.float64], room: list[int]) -> None:
    """Give one more route a type at the least price, moving other routes if needed (Bellman-Ford)."""
    types = prices.shape[1]
    counts = np.bincount(assigned[assigned >= 0], minlength=types)
    is_free = counts < np.array(room)
    cheapest = int(np.argmin(prices[route]))
    if is_free[cheapest] and np.isfinite(prices[route, cheapest]):
        assigned[route] = cheapest  # moving others gains nothing, because they are assigned at the least price
        return
    cost, before, mover_to = prices[route].copy(), np.full(types, -1), np.full(types, -1)
    held = {kind: np.flatnonzero(assigned == kind) for kind in np.flatnonzero(counts).tolist()}
    movers = {kind: _find_movers(kind, rows, prices) for kind, rows in held.items()}
    for _ in range(types):
        is_changing = False
        for old, (rows, changes) in movers.items():
            is_better = cost[old] + changes < cost - 1e-12
            if is_better.any():
                cost[is_better] = cost[old] + changes[is_better]
                before[is_better], mover_to[is_better] = old, rows[is_better]
                is_changing = True
        if not is_changing:
            break
    if not np.isfinite(cost[is_free]).any():
        return
    kind = int(np.argmin(np.where(is_free, cost, np.inf)))
    for _ in range(types):
        if before[kind] < 0:
            break
        assigned[mover_to[kind]] = kind
        kind = int(before[kind])
    assigned[route] = kind


def _find_movers(
    kind: int, held: NDArray[np.intp], prices: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """For every type, the route of this type that is cheapest to move there, and the change of its price."""
    changes = prices[held] - prices[held, kind][:, None]
    changes[:, kind] = np.inf
    movers = np.argmin(changes, axis=0)
    return held[movers], changes[movers, np.arange(len(movers))]


def _nodes_of(instance: Instance, route: _Route, vehicle: VehicleType) -> list[int]:
    start = instance.node_of(vehicle.start)
    return [start, *route] if vehicle.end == "open" else [start, *route, instance.node_of(vehicle.end)]


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
