"""What a single route breaks, for `check`: loads, limits, times, skills, pairs and reloads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dynaroute.base.vocabulary import ViolationKind
from dynaroute.problem.fleet import TOLERANCE, VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.judging.drive import Drive, drive_route, is_soft, price_time
from dynaroute.problem.judging.legs import list_windows, measure_leg, measure_legs
from dynaroute.problem.places import DEPOT

_Route = Sequence[int]


@dataclass(frozen=True)
class Violation:
    """One thing that is wrong with a solution.

    Attributes
    ----------
    kind
        What is wrong: an unknown, missing or repeated customer; overload; late at a customer or at the end; too long in
        time; too far in distance; too many stops; an unknown vehicle type; more vehicles of a type than there are; a
        break, skill, pair, ride, reload, release, group, driving time, place or backhaul against the rules; a beginning
        or a leg that was fixed; or a false statement of a file: a cost or length, ids, loads or unserved customers that
        do not fit its routes.
    message
        A description of the violation.
    route
        Number of the route, from 1, or None.
    customer
        The customer, or None.
    """

    kind: ViolationKind
    message: str
    route: int | None = None
    customer: int | None = None

    @property
    def is_absence(self) -> bool:
        """Whether somebody must be served but is not: a customer, or one of several alternatives."""
        return self.kind == "missing" or (self.kind == "group" and self.route is None)

    def to_json(self) -> dict[str, object]:
        """Return it as in ``check --json``."""
        return {"kind": self.kind, "route": self.route, "customer": self.customer, "message": self.message}


def judge_route(instance: Instance, number: int, route: _Route, vehicle: VehicleType) -> Iterator[Violation]:
    """Find everything wrong with one route of known customers and places; `number` names it in messages."""
    by = f" of {vehicle.name}" if vehicle.name else ""
    yield from _judge_loads(instance, number, route, vehicle, by)
    stops = sum(1 <= node <= instance.size for node in route)
    if vehicle.max_stops is not None and stops > vehicle.max_stops:
        message = f"Route {number} has {stops} stops, more than the limit of {vehicle.max_stops}{by}."
        yield Violation("too_many_stops", message, number)
    if vehicle.max_distance is not None:
        excess_distance = math.fsum(measure_legs(instance, route, vehicle)) - vehicle.max_distance
        if excess_distance > TOLERANCE:
            limit_shown = f"{vehicle.max_distance:.10g}{by}"
            message = f"Route {number} is {excess_distance:.10g} longer than the longest distance, {limit_shown}."
            yield Violation("too_far", message, number)
    if instance.rules:
        yield from _judge_reloads(instance, number, route, vehicle, by)
        yield from _judge_skills(instance, number, route, vehicle)
        yield from _judge_pairs(instance, number, route)
        yield from _judge_lifo(instance, number, route)
        yield from _judge_backhauls(instance, number, route)
        yield from _judge_beginning(instance, number, route, vehicle)
    if instance.has_times:
        yield from _judge_times(instance, number, route, vehicle)


def price_route(instance: Instance, route: _Route, vehicle: VehicleType) -> float:
    """Price a route: its length, or money as soon as anything has a price."""
    length = math.fsum(measure_legs(instance, route, vehicle))
    if not instance.is_priced:
        return length
    price = vehicle.fixed_cost + vehicle.distance_cost * length + _price_changes(instance, route, vehicle)
    if instance.balance is not None and instance.balance.of == "stops":
        price += instance.balance.price(sum(1 <= node <= instance.size for node in route))
    if instance.balance is not None and instance.balance.of == "load":
        price += instance.balance.price(find_peak_loads(instance, route, vehicle)[0] / instance.demand_scale)
    price += instance.compactness * measure_spread(instance, route, vehicle)
    if not instance.has_times:
        return price
    drive = drive_route(instance, route, vehicle)
    if instance.balance is not None and instance.balance.of == "hours":
        price += instance.balance.price(drive.duration / 3600)
    return price + price_time(vehicle, drive.duration) + drive.late_cost


def measure_spread(instance: Instance, route: _Route, vehicle: VehicleType) -> float:
    """Add up the distances of a route's customers from its centre, the customer from whom that is least."""
    if instance.compactness == 0:
        return 0.0
    stops = [node for node in route if 1 <= node <= instance.size]
    sums = (
        math.fsum(measure_leg(instance, centre, stop, vehicle.profile) for stop in stops if stop != centre)
        for centre in stops
    )
    return min(sums, default=0.0)


def _price_changes(instance: Instance, route: _Route, vehicle: VehicleType) -> float:
    """Price the customers whom another type of vehicle served before."""
    usual, changes = instance.usual_vehicles, 0
    for node in route:
        if usual is not None and 1 <= node <= instance.size and usual[node] >= 0:
            changes += instance.fleet[usual[node]] != vehicle
    return instance.change_cost * changes


# Loads


def find_peak_loads(instance: Instance, route: _Route, vehicle: VehicleType) -> tuple[int, ...]:
    """Find the largest load on board, in every dimension."""
    return tuple(max(loads) for loads in zip(*_list_loads(instance, route, vehicle), strict=True))


def _list_loads(instance: Instance, route: _Route, vehicle: VehicleType) -> Iterator[tuple[int, ...]]:
    """List the loads on board at the start of every trip and after every stop."""
    loads = [*vehicle.initial_loads]
    trips: list[list[int]] = [[]]
    for node in route:
        if 1 <= node <= instance.size:
            trips[-1].append(node)
        else:
            trips.append([])
    for number, trip in enumerate(trips):
        if number > 0:
            loads = [0] * len(loads)
        for node in trip:
            if instance.partners is None or instance.partners[node] == 0:  # its goods come from the depot
                loads = [load + amount for load, amount in zip(loads, _amounts(instance, node), strict=True)]
        yield tuple(loads)
        for node in trip:
            collected = _amounts(instance, node, collected=True)
            loads = [
                load - amount + other
                for load, amount, other in zip(loads, _amounts(instance, node), collected, strict=True)
            ]
            yield tuple(loads)


def _amounts(instance: Instance, node: int, *, collected: bool = False) -> list[int]:
    """What a customer gets, or what is collected there, in every dimension."""
    table = instance.pickups if collected else instance.demands
    if table is None:
        return [0] * len(instance.fleet[0].capacities)
    return [int(amount) for amount in table[node].reshape(-1).tolist()]


def _judge_loads(instance: Instance, number: int, route: _Route, vehicle: VehicleType, by: str) -> Iterator[Violation]:
    if instance.rules:
        peaks = find_peak_loads(instance, route, vehicle)
    else:  # the same, at once
        peaks = (sum(instance.demands[list(route)].tolist()),)
    for dimension, (load, capacity) in enumerate(zip(peaks, vehicle.capacities, strict=True)):
        if load > capacity:
            of_what = "" if instance.demands.ndim == 1 else f" of {(instance.dimensions or ())[dimension]}"
            shown, excess, limit = map(instance.shown_demand, (load, load - capacity, capacity))
            message = f"Route {number} carries {shown}{of_what}, {excess} more than the capacity {limit}{by}."
            yield Violation("overload", message, number)


# Places, skills, pairs


def _judge_reloads(
    instance: Instance, number: int, route: _Route, vehicle: VehicleType, by: str
) -> Iterator[Violation]:
    visited = [node for node in route if not 1 <= node <= instance.size]
    for node in visited:
        name = DEPOT if node == 0 else instance.places[node - instance.size - 1].name
        if name not in vehicle.reload:
            kind: ViolationKind = "place" if vehicle.reload and node > 0 else "reload"
            message = f"Route {number} loads again at {instance.called(node)}, where it may not."
            yield Violation(kind, message, number)
    if vehicle.max_trips is not None and len(visited) >= vehicle.max_trips:
        message = f"Route {number} has {len(visited) + 1} trips, more than the limit of {vehicle.max_trips}{by}."
        yield Violation("reload", message, number)


def _judge_skills(instance: Instance, number: int, route: _Route, vehicle: VehicleType) -> Iterator[Violation]:
    called_by = vehicle.name or "its vehicle"
    for node in route:
        if not 1 <= node <= instance.size:
            continue
        lacking = sorted(instance.skills[node] - vehicle.skills) if instance.skills else []
        if lacking:
            message = f"Route {number} serves {instance.called(node)}, but {called_by} lacks {lacking[0]}."
            yield Violation("skill", message, number, node)
        only = instance.vehicles_allowed[node] if instance.vehicles_allowed else frozenset()
        never = instance.vehicles_forbidden[node] if instance.vehicles_forbidden else frozenset()
        if (only and vehicle.name not in only) or vehicle.name in never:
            message = f"Route {number} serves {instance.called(node)}, which {called_by} may not serve."
            yield Violation("skill", message, number, node)


def _judge_pairs(instance: Instance, number: int, route: _Route) -> Iterator[Violation]:
    if instance.partners is None or instance.is_pickup is None:
        return
    trip, on_board = 0, {}
    for node in route:
        if not 1 <= node <= instance.size:
            trip += 1
        elif instance.is_pickup[node]:
            on_board[node] = trip
        elif (pickup := int(instance.partners[node])) and on_board.pop(pickup, None) != trip:
            giver = instance.called(pickup)
            message = f"Route {number} reaches {instance.called(node)} without what {giver} hands over."
            yield Violation("pair", message, number, node)
    for node in on_board:
        if int(instance.partners[node]) not in route:
            partner = instance.called(int(instance.partners[node]))
            message = f"Route {number} collects at {instance.called(node)}, but does not deliver it to {partner}."
            yield Violation("pair", message, number, node)


def _judge_lifo(instance: Instance, number: int, route: _Route) -> Iterator[Violation]:
    """Find shipments that leave while one that was loaded after them is still on board."""
    on_board: list[int] = []
    for node in route:
        if instance.lifo is None or instance.partners is None or not 1 <= node <= instance.size:
            continue
        pickup = int(instance.partners[node])
        if instance.lifo[node]:
            on_board.append(node)
        elif pickup in on_board:
            if on_board[-1] != pickup:
                message = f"Route {number} delivers to {instance.called(node)} before what it collected later at"
                yield Violation("pair", f"{message} {instance.called(on_board[-1])}.", number, node)
            on_board.remove(pickup)


def _judge_backhauls(instance: Instance, number: int, route: _Route) -> Iterator[Violation]:
    if instance.backhauls == "mixed":
        return
    last, delivered = 0, False  # the last pickup of the trip, and whether anything was delivered before
    for node in route:
        if not 1 <= node <= instance.size:
            last, delivered = 0, False
            continue
        if any(_amounts(instance, node)):
            if last:
                first = instance.called(last)
                message = f"Route {number} delivers to {instance.called(node)} after a pickup at {first}."
                yield Violation("backhaul", message, number, node)
            delivered = True
        if any(_amounts(instance, node, collected=True)):
            if instance.backhauls == "strict" and not delivered and not last:
                message = f"Route {number} begins with a pickup at {instance.called(node)}, before any delivery."
                yield Violation("backhaul", message, number, node)
            last = node


def _judge_beginning(instance: Instance, number: int, route: _Route, vehicle: VehicleType) -> Iterator[Violation]:
    for stop, node in enumerate(vehicle.beginning):
        if stop >= len(route) or route[stop] != node:
            message = (
                f"Route {number} of {vehicle.name or 'its vehicle'} does not begin as it did: its stop {stop + 1} was"
            )
            yield Violation("frozen", f"{message} {instance.called(node)}.", number, _customer(instance, node))
            return


def _customer(instance: Instance, node: int) -> int | None:
    return node if 1 <= node <= instance.size else None


# Times


def _judge_times(instance: Instance, number: int, route: _Route, vehicle: VehicleType) -> Iterator[Violation]:
    """Check lateness, departing as early as possible, then breaks, driving, rides and the duration."""
    drive, shown = drive_route(instance, route, vehicle), instance.shown_duration
    if late := list(_judge_lateness(instance, number, route, vehicle, drive)):
        yield from _judge_release(instance, number, route, vehicle)
        yield from late
    if not drive.has_breaks:
        by = vehicle.name or "its driver"
        yield Violation("break", f"Route {number} leaves {by} no place for a break that is due.", number)
    if vehicle.max_driving is not None and drive.driving - vehicle.max_driving > TOLERANCE:
        message = (
            f"Route {number} is driven for {shown(drive.driving)}: {shown(drive.driving - vehicle.max_driving)} more "
            f"than {shown(vehicle.max_driving)}."
        )
        yield Violation("driving", message, number)
    yield from _judge_rides(instance, number, drive)
    longest = math.inf if vehicle.max_duration is None else vehicle.max_duration
    if vehicle.overtime is not None:
        longest = min(longest, vehicle.overtime.after + vehicle.overtime.at_most)
    if drive.duration - longest > TOLERANCE:
        message = (
            f"Route {number} takes at least {shown(drive.duration)}: "
            f"{shown(drive.duration - longest)} more than {shown(longest)}."
        )
        yield Violation("too_long", message, number)


def _judge_lateness(
    instance: Instance, number: int, route: _Route, vehicle: VehicleType, drive: Drive
) -> Iterator[Violation]:
    """Find lateness at customers, where the vehicle loads again, and at the end."""
    shown_time, shown = instance.shown_time, instance.shown_duration
    buffer = f", less a buffer of {shown(instance.buffer)}" if instance.buffer else ""
    for node, start, lateness in zip(route, drive.starts, drive.lateness, strict=True):
        if lateness <= TOLERANCE or is_soft(instance, node):
            continue
        if 1 <= node <= instance.size:
            message = (
                f"Route {number} serves {instance.called(node)} from {shown_time(start)}, "
                f"{shown(lateness)} after its window ends{buffer}."
            )
            yield Violation("late", message, number, node)
        else:
            message = f"Route {number} loads again {shown(lateness)} after {instance.called(node)} closes."
            yield Violation("late", message, number)
    end_node = None if vehicle.end == "open" else instance.node_of(vehicle.end)
    closing = math.inf if end_node is None else list_windows(instance, end_node)[0][1]
    if end_node is not None and drive.end - closing > TOLERANCE:
        message = f"Route {number} is back {shown(drive.end - closing)} after {instance.called(end_node)} closes."
        yield Violation("late", message, number)
    if vehicle.shift is not None and drive.end - vehicle.shift[1] > TOLERANCE:
        message = f"Route {number} ends {shown(drive.end - vehicle.shift[1])} after the end of its shift."
        yield Violation("late", message, number)


def _judge_release(instance: Instance, number: int, route: _Route, vehicle: VehicleType) -> Iterator[Violation]:
    """Find out whether a late route waits for goods: without release times it would be in time."""
    if instance.release is None:
        return
    released = {node: float(instance.release[node]) for node in route if 1 <= node <= instance.size}
    if not released:  # it only loads again, for nobody
        return
    last = max(released, key=released.__getitem__)
    at_once = replace(instance, release=None)
    drive = drive_route(at_once, route, vehicle)
    if next(_judge_lateness(at_once, number, route, vehicle, drive), None) is None:
        when = instance.shown_time(released[last])
        message = (
            f"Route {number} waits for the goods of {instance.called(last)}, which are released at {when}: too late."
        )
        yield Violation("release", message, number, last)


def _judge_rides(instance: Instance, number: int, drive: Drive) -> Iterator[Violation]:
    for node, excess in drive.rides:
        if excess > TOLERANCE:
            too_long = instance.shown_duration(excess)
            message = f"Route {number} carries what it collects at {instance.called(node)} {too_long} too long."
            yield Violation("ride", message, number, node)
