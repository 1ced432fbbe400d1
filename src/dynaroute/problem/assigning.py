"""Which vehicle types can drive which routes, and which do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynaroute.problem.fleet import TOLERANCE, VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.timetable import earliest_departure, latest_end, list_windows, measure_route, schedule_route

_Route = Sequence[int]


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
        nodes, windows = [0, *route, 0], list_windows(instance, list(route))
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
