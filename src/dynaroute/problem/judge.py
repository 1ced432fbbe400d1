"""The rules of `check` in plain Python: legs, times, limits, vehicle types and statements. No solver code is used."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from dynaroute.base.display import LONGEST_ITEM, show_text
from dynaroute.base.vocabulary import ViolationKind
from dynaroute.problem.fleet import TOLERANCE, VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.lengths import EARTH_RADIUS_METRES
from dynaroute.problem.statements import Statements

__all__ = [
    "Violation",
    "choose_types",
    "judge_costs",
    "judge_fleet",
    "judge_route",
    "judge_statements",
    "measure_leg",
    "measure_legs",
]

_Route = Sequence[int]


@dataclass(frozen=True)
class Violation:
    """One thing that is wrong with a solution.

    Attributes
    ----------
    kind
        What is wrong: an unknown, missing or repeated customer; overload; late at a customer or at the end; too long in
        time; too far in distance; too many stops; an unknown vehicle type; more vehicles of a type than there are; or a
        false statement of a file: a cost, ids, loads or unserved customers that do not fit its routes.
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

    def to_json(self) -> dict[str, object]:
        """Return it as in ``check --json``."""
        return {"kind": self.kind, "route": self.route, "customer": self.customer, "message": self.message}


def measure_legs(instance: Instance, route: _Route, vehicle: VehicleType) -> list[float]:
    """Measure the legs of a route one by one."""
    return [measure_leg(instance, start, end) for start, end in pairwise(_list_nodes(route, vehicle))]


def measure_leg(instance: Instance, start: int, end: int) -> float:
    """Measure one leg."""
    if instance.distances is not None:
        return float(instance.distances[start, end])
    assert instance.coordinates is not None
    (first_1, second_1), (first_2, second_2) = instance.coordinates[start].tolist(), instance.coordinates[end].tolist()
    if instance.metric == "great_circle":
        length = _globe_metres(first_1, second_1, first_2, second_2)
    else:
        # square root of the sum of squares, as CVRPLIB defines it; hypot may differ in the last digit
        width, height = first_1 - first_2, second_1 - second_2
        length = math.sqrt(width * width + height * height)
    if instance.rounding == "nearest":
        return float(math.floor(length + 0.5))
    if instance.rounding == "up":
        return float(math.ceil(length))
    return length


def judge_route(instance: Instance, number: int, route: _Route, vehicle: VehicleType) -> Iterator[Violation]:
    """Find everything wrong with one route of known customers; `number` names it in messages."""
    by = f" of {vehicle.name}" if vehicle.name else ""
    load = sum(instance.demands[list(route)].tolist())
    if load > vehicle.capacity:
        shown, excess, limit = map(instance.shown_demand, (load, load - vehicle.capacity, vehicle.capacity))
        message = f"Route {number} carries {shown}, {excess} more than the capacity {limit}{by}."
        yield Violation("overload", message, number)
    if vehicle.max_stops is not None and len(route) > vehicle.max_stops:
        message = f"Route {number} has {len(route)} stops, more than the limit of {vehicle.max_stops}{by}."
        yield Violation("too_many_stops", message, number)
    if vehicle.max_distance is not None:
        excess_distance = math.fsum(measure_legs(instance, route, vehicle)) - vehicle.max_distance
        if excess_distance > TOLERANCE:
            limit_shown = f"{vehicle.max_distance:.10g}{by}"
            message = f"Route {number} is {excess_distance:.10g} longer than the longest distance, {limit_shown}."
            yield Violation("too_far", message, number)
    if instance.has_times:
        yield from _judge_times(instance, number, route, vehicle)


def judge_fleet(instance: Instance, types: Sequence[int], names: Sequence[str] | None = None) -> Iterator[Violation]:
    """Find vehicle types that are unknown or used too often; `names` are those in the solution, if any."""
    fleet = instance.fleet
    for number, index in enumerate(types, start=1):
        if not 0 <= index < len(fleet):
            shown = f"type {index + 1}" if names is None else repr(names[number - 1])
            message = f"Route {number} uses a vehicle of {shown}, but there is no such type."
            yield Violation("no_such_vehicle", message, number)
    for index, used in sorted(Counter(types).items()):
        count = fleet[index].count if 0 <= index < len(fleet) else None
        if count is not None and used > count:
            called = fleet[index].name or (f"type {index + 1}" if len(fleet) > 1 else "these vehicles")
            message = f"{used} routes use {called}, but there are only {count}: {used - count} too many."
            yield Violation("fleet", message)


def judge_statements(instance: Instance, routes: Sequence[_Route], statements: Statements) -> Iterator[Violation]:
    """Find false ids, loads and unserved customers among what a file states about its routes."""
    if statements.ids is not None:
        yield from _judge_ids(instance, routes, statements.ids)
    if statements.loads is not None:
        yield from _judge_loads(instance, routes, statements.loads)
    serving = {customer: number for number, route in enumerate(routes, start=1) for customer in route}
    for customer in statements.unserved or ():
        if not 1 <= customer <= instance.size:
            message = f"{customer} is stated to be unserved, but customers are 1 to {instance.size}."
            yield Violation("unserved", message, None, customer)
        elif customer in serving:
            called = instance.called(customer)
            message = (
                f"{called[0].upper()}{called[1:]} is stated to be unserved, but route {serving[customer]} visits it."
            )
            yield Violation("unserved", message, serving[customer], customer)


def judge_costs(
    instance: Instance,
    routes: Sequence[_Route],
    vehicles: Sequence[VehicleType],
    stated_cost: float | None,
    route_costs: Sequence[float] | None,
) -> Iterator[Violation]:
    """Find a false cost, or false lengths, of routes of known customers."""
    is_exact = _is_integral(instance)
    legs = [measure_legs(instance, route, vehicle) for route, vehicle in zip(routes, vehicles, strict=True)]
    if stated_cost is not None:
        cost = math.fsum(leg for route in legs for leg in route)
        if not _agrees(stated_cost, cost, exact=is_exact):
            message = f"The stated cost is {stated_cost:.10g}, but the routes cost {cost:.10g}."
            yield Violation("cost", message)
    if route_costs is None:
        return
    if len(route_costs) != len(routes):
        yield Violation("cost", f"There are {len(route_costs)} stated lengths for {len(routes)} routes.")
        return
    for number, (stated, route) in enumerate(zip(route_costs, legs, strict=True), start=1):
        length = math.fsum(route)
        if not _agrees(stated, length, exact=is_exact):
            message = f"The stated length of route {number} is {stated:.10g}, but it is {length:.10g} long."
            yield Violation("cost", message, number)


def choose_types(instance: Instance, routes: Sequence[_Route]) -> list[int]:
    """Choose vehicle types for routes that state none: feasible, within their counts, at the least total length.

    Routes left without a type get the largest that can drive them, or else the largest of all.
    """
    if len(instance.fleet) == 1:
        return [0] * len(routes)
    alike = instance.alike_types
    kinds = [each.merged for each in alike]
    by_size = sorted(range(len(kinds)), key=lambda index: kinds[index].capacity)
    lengths: list[dict[int, float]] = []  # per route: its length by each type that can drive it, smallest type first
    for route in routes:
        able = [index for index in by_size if next(judge_route(instance, 0, route, kinds[index]), None) is None]
        lengths.append({index: math.fsum(measure_legs(instance, route, kinds[index])) for index in able})
    chosen: list[int | None] = [None] * len(routes)
    for number in range(len(routes)):
        _choose_one_more(number, chosen, lengths, kinds)
    left = [each.list_vehicles(instance.fleet) for each in alike]
    types = []
    for number, kind in enumerate(chosen):
        if kind is None:
            kind = next(iter(reversed(lengths[number])), by_size[-1])
        types.append(next(left[kind], alike[kind].members[0]))
    return types


def _choose_one_more(
    number: int, chosen: list[int | None], lengths: list[dict[int, float]], kinds: Sequence[VehicleType]
) -> None:
    """Give one more route a type, by the cheapest chain of changes."""
    used = Counter(chosen)
    best = dict(lengths[number])  # by type: least cost of placing the new route there, one too many
    cheapest = min(best, key=best.__getitem__, default=None)
    if cheapest is not None and _has_room(kinds[cheapest], used[cheapest]):
        chosen[number] = cheapest  # no chain is cheaper, because the others already cost the least
        return
    chain: dict[int, list[tuple[int, int]]] = {kind: [(number, kind)] for kind in best}
    for _ in kinds:
        before = len(chain), math.fsum(best.values())
        for other, kind in enumerate(chosen):
            if kind is None or kind not in best:
                continue
            for new, length in lengths[other].items():
                price = best[kind] + length - lengths[other][kind]
                if price < best.get(new, math.inf) - 1e-9 and all(other != moved for moved, _ in chain[kind]):
                    best[new], chain[new] = price, [*chain[kind], (other, new)]
        if before == (len(chain), math.fsum(best.values())):
            break
    free = [kind for kind in best if _has_room(kinds[kind], used[kind])]
    if free:
        for moved, kind in chain[min(free, key=best.__getitem__)]:
            chosen[moved] = kind


def _has_room(kind: VehicleType, used: int) -> bool:
    return kind.count is None or used < kind.count


def _judge_times(instance: Instance, number: int, route: _Route, vehicle: VehicleType) -> Iterator[Violation]:
    """Check lateness, departing as early as possible, and then the duration."""
    opening = max(_window(instance, 0)[0], 0.0 if vehicle.shift is None else vehicle.shift[0])
    starts, end = _drive(instance, route, vehicle, opening)
    for customer, start in zip(route, starts, strict=True):
        lateness = start - _window(instance, customer)[1]
        if lateness > TOLERANCE:
            message = (
                f"Route {number} serves {instance.called(customer)} from {instance.shown_time(start)}, "
                f"{instance.shown_duration(lateness)} after its window ends."
            )
            yield Violation("late", message, number, customer)
    closing = math.inf if vehicle.end == "open" else _window(instance, 0)[1]
    if end - closing > TOLERANCE:
        message = f"Route {number} is back {instance.shown_duration(end - closing)} after the depot closes."
        yield Violation("late", message, number)
    if vehicle.shift is not None and end - vehicle.shift[1] > TOLERANCE:
        message = f"Route {number} ends {instance.shown_duration(end - vehicle.shift[1])} after the end of its shift."
        yield Violation("late", message, number)
    if vehicle.max_duration is None:
        return
    departure = _latest_departure(instance, route, opening, starts)
    excess = _drive(instance, route, vehicle, departure)[1] - departure - vehicle.max_duration
    if excess > TOLERANCE:
        message = (
            f"Route {number} takes at least {instance.shown_duration(vehicle.max_duration + excess)}: "
            f"{instance.shown_duration(excess)} more than {instance.shown_duration(vehicle.max_duration)}."
        )
        yield Violation("too_long", message, number)


def _drive(instance: Instance, route: _Route, vehicle: VehicleType, departure: float) -> tuple[list[float], float]:
    """Find when each service begins, and when the route ends."""
    starts: list[float] = []
    clock, here = departure, 0
    for customer in route:
        clock = max(clock + _seconds(instance, here, customer), _window(instance, customer)[0])
        starts.append(clock)
        clock, here = clock + _service(instance, customer), customer
    return starts, clock if vehicle.end == "open" else clock + _seconds(instance, here, 0)


def _latest_departure(instance: Instance, route: _Route, opening: float, starts: Sequence[float]) -> float:
    """Find the latest departure that makes no stop late, or later than it already is."""
    latest = math.inf
    for before, customer, start in reversed(list(zip((0, *route), route, starts, strict=False))):
        latest = min(latest - _service(instance, customer), max(start, _window(instance, customer)[1]))
        latest -= _seconds(instance, before, customer)
    last_opening = max((_window(instance, customer)[0] for customer in route), default=0.0)
    return max(opening, min(latest, last_opening))  # after the last opening, no stop waits any more


def _judge_ids(instance: Instance, routes: Sequence[_Route], ids: Sequence[Sequence[str]]) -> Iterator[Violation]:
    """Compare stated ids with the customers' own, stop by stop; unknown customers have none."""
    if len(ids) != len(routes):
        yield Violation("ids", f"There are ids of {len(ids)} routes, but {len(routes)} routes.")
        return
    for number, (route, names) in enumerate(zip(routes, ids, strict=True), start=1):
        if len(names) != len(route):
            yield Violation("ids", f"Route {number} has {len(route)} stops, but {len(names)} ids.", number)
            continue
        for stop, (customer, name) in enumerate(zip(route, names, strict=True), start=1):
            if 1 <= customer <= instance.size and instance.customer_name(customer) != name:
                shown = show_text(name, LONGEST_ITEM)
                message = (
                    f"Stop {stop} of route {number} is {instance.called(customer)}, but its stated id is {shown!r}."
                )
                yield Violation("ids", message, number, customer)


def _judge_loads(instance: Instance, routes: Sequence[_Route], loads: Sequence[Decimal]) -> Iterator[Violation]:
    if len(loads) != len(routes):
        yield Violation("loads", f"There are {len(loads)} loads for {len(routes)} routes.")
        return
    for number, (route, stated) in enumerate(zip(routes, loads, strict=True), start=1):
        if not all(1 <= customer <= instance.size for customer in route):
            continue
        load = instance.shown_demand(sum(instance.demands[list(route)].tolist()))
        if not math.isclose(stated, load, rel_tol=1e-9):  # decimals that were added up as binary numbers
            message = f"The stated load of route {number} is {stated:.10g}, but it carries {load}."
            yield Violation("loads", message, number)


def _is_integral(instance: Instance) -> bool:
    if instance.distances is not None:
        return bool((instance.distances == instance.distances.round()).all())
    return instance.rounding != "none"


def _agrees(stated: float, cost: float, *, exact: bool) -> bool:
    """Whether a stated cost matches, to its own digits (15.57 matches 15.5734) and within 0.1 %."""
    if exact:
        return stated == cost
    exponent = Decimal(repr(stated)).normalize().as_tuple().exponent
    assert isinstance(exponent, int)
    half_last_digit = 0.5 * 10.0 ** min(exponent, 0)
    return abs(stated - cost) <= min(half_last_digit, 1e-3 * abs(cost)) + 1e-9 * abs(cost)


def _list_nodes(route: _Route, vehicle: VehicleType) -> tuple[int, ...]:
    return (0, *route) if vehicle.end == "open" else (0, *route, 0)


def _seconds(instance: Instance, start: int, end: int) -> float:
    if instance.durations is not None:
        return float(instance.durations[start, end])
    instance.require_times()
    assert instance.speed is not None
    return measure_leg(instance, start, end) / instance.speed


def _service(instance: Instance, customer: int) -> float:
    return 0.0 if instance.service is None else float(instance.service[customer])


def _window(instance: Instance, node: int) -> tuple[float, float]:
    if instance.windows is None:
        return 0.0, math.inf
    earliest, latest = instance.windows[node].tolist()
    return earliest, latest


def _globe_metres(latitude_1: float, longitude_1: float, latitude_2: float, longitude_2: float) -> float:
    """Measure great-circle metres by Vincenty's formula for a sphere, deliberately not the solver's formula.

    Rounded to the micrometre like the instance's lengths: the formulas differ by nanometres.
    """
    phi_1, phi_2 = math.radians(latitude_1), math.radians(latitude_2)
    turn = math.radians(longitude_2 - longitude_1)
    across = math.cos(phi_2) * math.sin(turn)
    ahead = math.cos(phi_1) * math.sin(phi_2) - math.sin(phi_1) * math.cos(phi_2) * math.cos(turn)
    level = math.sin(phi_1) * math.sin(phi_2) + math.cos(phi_1) * math.cos(phi_2) * math.cos(turn)
    return round(EARTH_RADIUS_METRES * math.atan2(math.hypot(across, ahead), level), 6)
