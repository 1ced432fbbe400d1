"""The rules of `check` in plain Python: fleets, statements and costs; no solver code is used.

What concerns a single route is in `judging/route.py`, groups of customers are in `judging/groups.py`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal

from dynaroute.base.display import LONGEST_ITEM, show_text
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.judging.groups import price_left_out
from dynaroute.problem.judging.legs import measure_leg, measure_legs
from dynaroute.problem.judging.route import Violation, find_peak_loads, judge_route, price_route
from dynaroute.problem.statements import Statements

__all__ = [
    "Violation",
    "choose_types",
    "judge_costs",
    "judge_fleet",
    "judge_route",
    "judge_statements",
    "judge_totals",
    "measure_leg",
    "measure_legs",
    "price_all",
]

_Route = Sequence[int]


def judge_fleet(instance: Instance, types: Sequence[int], names: Sequence[str] | None = None) -> Iterator[Violation]:
    """Find vehicle types that are unknown, or used too often or too rarely; `names` are the solution's."""
    fleet = instance.fleet
    for number, index in enumerate(types, start=1):
        if not 0 <= index < len(fleet):
            shown = f"type {index + 1}" if names is None else repr(names[number - 1])
            message = f"Route {number} uses a vehicle of {shown}, but there is no such type."
            yield Violation("no_such_vehicle", message, number)
    for index, kind in enumerate(fleet):
        if kind.beginning and index not in types:
            message = f"{kind.name or f'The vehicle of type {index + 1}'} has begun its route, but drives none."
            yield Violation("frozen", message, None, next(iter(kind.beginning)) or None)
    numbers = Counter(types)
    for index, kind in enumerate(fleet):
        if numbers[index] < kind.min_vehicles:
            called = kind.name or (f"type {index + 1}" if len(fleet) > 1 else "these vehicles")
            message = f"Only {numbers[index]} of {called} drive, but at least {kind.min_vehicles} must be used."
            yield Violation("fleet", message)
    for index, used in sorted(numbers.items()):
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
    is_exact = _is_integral(instance) and not instance.is_priced
    legs = [measure_legs(instance, route, vehicle) for route, vehicle in zip(routes, vehicles, strict=True)]
    if stated_cost is not None:
        cost = price_all(instance, routes, vehicles)
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


def judge_totals(
    instance: Instance, routes: Sequence[_Route], vehicles: Sequence[VehicleType], statements: Statements
) -> Iterator[Violation]:
    """Find a false total length, or false money, of routes of known customers."""
    if statements.length is not None:
        length = math.fsum(
            leg
            for route, vehicle in zip(routes, vehicles, strict=True)
            for leg in measure_legs(instance, route, vehicle)
        )
        if not _agrees(statements.length, length, exact=False):
            yield Violation("cost", f"The stated length is {statements.length:.10g}, but it is {length:.10g}.")
    if statements.money is not None and instance.is_priced:
        money = price_all(instance, routes, vehicles)
        if not _agrees(statements.money, money, exact=False):
            yield Violation("cost", f"The stated money is {statements.money:.10g}, but the routes cost {money:.10g}.")


def price_all(instance: Instance, routes: Sequence[_Route], vehicles: Sequence[VehicleType]) -> float:
    """Price a whole plan: its length, or money with the prizes that are lost."""
    if not instance.is_priced:
        legs = (measure_legs(instance, route, vehicle) for route, vehicle in zip(routes, vehicles, strict=True))
        return math.fsum(leg for route in legs for leg in route)
    prices = [price_route(instance, route, vehicle) for route, vehicle in zip(routes, vehicles, strict=True)]
    return math.fsum([*prices, price_left_out(instance, routes)])


def choose_types(instance: Instance, routes: Sequence[_Route]) -> list[int]:
    """Choose vehicle types for routes that state none: feasible, within their counts, at the least total cost.

    Routes left without a type get the largest that can drive them, or else the largest of all.
    """
    if len(instance.fleet) == 1:
        return [0] * len(routes)
    alike = instance.alike_types
    kinds = [each.merged for each in alike]
    called = [instance.fleet[each.members[0]] for each in alike]  # with names, which customers may ask for
    by_size = sorted(range(len(kinds)), key=lambda index: kinds[index].capacities)
    lengths: list[dict[int, float]] = []  # per route: its cost by each type that can drive it, smallest type first
    for route in routes:
        able = [index for index in by_size if next(judge_route(instance, 0, route, called[index]), None) is None]
        lengths.append({index: price_route(instance, route, called[index]) for index in able})
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
    if "initial_load" in instance.rules:
        return  # it depends on the vehicle
    for number, (route, stated) in enumerate(zip(routes, loads, strict=True), start=1):
        if not all(0 <= node < instance.node_count for node in route):
            continue
        load = instance.shown_demand(find_peak_loads(instance, route, instance.fleet[0])[0])
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
