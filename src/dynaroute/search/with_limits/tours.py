"""Routes of a fleet as linked lists in flat arrays, with the earliest and latest start of service at each stop.

Inserting or removing a customer takes constant time, plus the time to update the starts that change.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.core.compiled import compiled_inline
from dynaroute.search.with_limits.evaluation import is_route_allowed, is_stop, refresh_route
from dynaroute.search.with_limits.missing import price_left_out
from dynaroute.search.with_limits.problem import FleetProblem, FleetRoutes
from dynaroute.search.with_limits.state import (
    ABSENT,
    AFTER,
    BEFORE,
    EARLY,
    FIRST,
    KIND,
    LAST,
    LATE,
    NO_ROUTE,
    PLACE,
    ROOM,
    ROUTE,
    SERVED,
    SIZE,
    SLOT_AT,
    SPAN,
    USED,
    FleetTours,
    append_span,
)

__all__ = [
    "add_prices_alone",
    "change_kind",
    "insert_followers",
    "insert_stop",
    "is_within_limits",
    "is_within_times",
    "make_fleet_tours",
    "open_slot",
    "price_driving",
    "price_plan",
    "read_fleet_routes",
    "refresh_around",
    "refresh_times",
    "remove_followers",
    "remove_stop",
    "value_route",
]


def make_fleet_tours(problem: FleetProblem, routes: FleetRoutes, most: int | None = None) -> FleetTours:
    """Make tours from the given routes; all other customers are missing."""
    size, nodes = problem.size, len(problem.demands)
    slots = np.zeros((size, 7), dtype=np.int64)
    slots[:, PLACE] = slots[:, SLOT_AT] = np.arange(size)
    served = {customer for _, *stops in routes for customer in stops}
    missing = [customer for customer in problem.list_required() if customer not in served]
    links = np.zeros((nodes, 3), dtype=np.int32)
    links[:, ROUTE] = NO_ROUTE
    absent = np.zeros(size, dtype=np.int32)
    absent[: len(missing)] = missing
    dimensions = problem.rules.rooms.shape[1] if problem.rules else 0
    tours = FleetTours(
        nodes=links,
        legs=np.zeros(nodes),
        ready=np.zeros(nodes),
        due=np.zeros(nodes),
        ahead=np.zeros((nodes, 3)),
        behind=np.zeros((nodes, 3)),
        slots=slots,
        lengths=np.zeros(size),
        free=problem.kinds.counts.copy(),
        absent=absent,
        counts=np.array([0, len(missing), size if most is None else most, 0]),
        prices=np.zeros(size),
        driving=np.zeros(size),
        spans=np.zeros(size),
        peaks=np.zeros((nodes, dimensions, 3), dtype=np.int64),
        late=np.zeros(size),
        path=np.zeros(size + 2, dtype=np.int32),
        events=np.zeros((4 * size + 8 if problem.driven else 0, 4)),
        clocks=np.zeros(8),
        rests=np.zeros((4, 2), dtype=np.int64),
        tops=np.zeros((size, dimensions, 3), dtype=np.int64),
    )
    flat = [number for kind, *stops in routes if stops for number in (-1 - kind, *stops)]
    _drive(tours, np.array(flat, dtype=np.int64), problem)
    return tours


def price_plan(problem: FleetProblem, routes: FleetRoutes) -> float:
    """What routes cost, with the prices of missing customers and of vehicles."""
    if not problem.rules:
        return problem.price(routes)
    tours = make_fleet_tours(problem, routes)
    used, absent = tours.counts[USED], tours.counts[ABSENT]
    price = math.fsum(tours.prices[:used].tolist()) + price_left_out(tours, problem)
    return price + float(absent * problem.absence_price + used * problem.vehicle_price)


def price_driving(problem: FleetProblem, routes: FleetRoutes) -> float:
    """What driving costs: the length, or its price and that of the time, without what vehicles cost in any case."""
    if not problem.rules:
        return problem.cost(routes)
    tours, rules = make_fleet_tours(problem, routes), problem.rules
    kinds = [kind for kind, *_ in routes]
    lengths, seconds = tours.lengths[: len(routes)], tours.driving[: len(routes)]
    return float((rules.per_distance[kinds] * lengths + rules.per_second[kinds] * seconds).sum())


@compiled_inline
def price_one_alone(tours: FleetTours, customer: int, kind: int, problem: FleetProblem) -> float:
    """What a route of this type to one customer, or to a pickup and its delivery, costs; or infinity."""
    partner, apart = problem.rules.partners[customer], problem.rules.apart
    if partner > 0 and apart[customer] > 0 and apart[customer] == apart[partner]:
        return np.inf
    open_slot(tours, 0, kind, problem)
    insert_stop(tours, customer, 0, 0, problem)
    if partner > 0:
        insert_stop(tours, partner, 0, customer, problem)
    insert_followers(tours, customer, 0, problem)
    refresh_times(tours, 0, problem)
    price = tours.prices[0] if is_within_limits(tours, 0, problem) else np.inf
    if partner > 0:
        remove_stop(tours, partner, problem)
    remove_followers(tours, customer, problem)
    remove_stop(tours, customer, problem)
    return float(price)


def add_prices_alone(problem: FleetProblem) -> FleetProblem:
    """Fill in what a route to each customer costs, which is known without driving it only if there are no rules."""
    if not problem.rules:
        return problem
    tours = make_fleet_tours(problem, ())
    for customer in problem.list_served_alone():
        for kind in range(len(tours.free)):
            problem.alone[customer, kind] = price_one_alone(tours, customer, kind, problem)
    return problem


@compiled_inline
def _drive(tours: FleetTours, flat: NDArray[np.int64], problem: FleetProblem) -> None:
    """Fill tours with concatenated routes, each of which starts with -1 minus its type."""
    previous, slot = 0, -1
    for index in range(len(flat)):
        if flat[index] < 0:
            if slot >= 0:
                refresh_times(tours, slot, problem)
            previous, slot = 0, slot + 1
            open_slot(tours, slot, -1 - flat[index], problem)
        else:
            insert_stop(tours, flat[index], slot, previous, problem)
            previous = flat[index]
    if slot >= 0:
        refresh_times(tours, slot, problem)


def read_fleet_routes(after: NDArray[np.int32], kinds: NDArray[np.int32]) -> FleetRoutes:
    """List routes, given the stop after each customer and the type of its route (-1 for a missing customer).

    They are sorted by their first customer.
    """
    size = len(after) - 3
    following, kind_of = after.tolist(), kinds.tolist()
    is_first = [kind >= 0 for kind in kind_of]
    for customer in range(1, size + 1):
        if kind_of[customer] >= 0 and following[customer] <= size:
            is_first[following[customer]] = False
    routes = []
    for first in range(1, size + 1):
        if not is_first[first]:
            continue
        route, customer = [kind_of[first]], first
        while customer <= size:
            route.append(customer)
            customer = following[customer]
        routes.append(tuple(route))
    return tuple(routes)


# Links


@compiled_inline
def open_slot(tours: FleetTours, slot: int, kind: int, problem: FleetProblem) -> None:
    """Open an empty route of this type in an unused slot."""
    slots = tours.slots
    _swap_slots(tours, slot, tours.counts[USED])
    tours.counts[USED] += 1
    tours.free[kind] -= 1
    slots[slot, KIND] = kind
    slots[slot, FIRST] = problem.kinds.end_nodes[kind]
    slots[slot, LAST] = 0
    if len(problem.rules) > 0:
        slots[slot, LAST] = problem.rules.start_nodes[kind]
    slots[slot, SIZE] = 0
    slots[slot, ROOM] = problem.kinds.capacities[kind]
    tours.lengths[slot] = 0.0


@compiled_inline
def insert_stop(tours: FleetTours, customer: int, slot: int, previous: int, problem: FleetProblem) -> None:
    """Insert a customer after another stop, or first if `previous` is 0; times are not updated."""
    slots, nodes, distances = tours.slots, tours.nodes, problem.distances
    is_first = previous == 0
    if len(problem.rules) > 0:
        is_first = not is_stop(previous, problem)
        previous = problem.rules.start_nodes[slots[slot, KIND]] if is_first else previous
        tours.counts[SERVED] += 1
    following = slots[slot, FIRST] if is_first else nodes[previous, AFTER]
    nodes[customer, ROUTE] = slot
    tours.lengths[slot] -= distances[previous, following]
    _join(tours, slot, previous, customer, problem)
    _join(tours, slot, customer, following, problem)
    slots[slot, ROOM] -= problem.demands[customer]
    slots[slot, SIZE] += 1


@compiled_inline
def remove_stop(tours: FleetTours, customer: int, problem: FleetProblem) -> None:
    """Remove a customer, and close its route if that is empty now; times are not updated."""
    slots, nodes, distances = tours.slots, tours.nodes, problem.distances
    slot, previous, following = nodes[customer, ROUTE], nodes[customer, BEFORE], nodes[customer, AFTER]
    tours.lengths[slot] -= distances[previous, customer] + distances[customer, following]
    _join(tours, slot, previous, following, problem)
    nodes[customer, ROUTE] = NO_ROUTE
    slots[slot, ROOM] += problem.demands[customer]
    slots[slot, SIZE] -= 1
    if len(problem.rules) > 0:
        tours.counts[SERVED] -= 1
    if slots[slot, SIZE] == 0:
        tours.free[slots[slot, KIND]] += 1
        tours.counts[USED] -= 1
        _swap_slots(tours, slot, tours.counts[USED])


@compiled_inline
def insert_followers(tours: FleetTours, customer: int, slot: int, problem: FleetProblem) -> None:
    """Insert all who follow a customer directly in all plans."""
    if len(problem.driven) > 0:
        before, stop = customer, problem.rules.followers[customer]
        while stop > 0:
            insert_stop(tours, stop, slot, before, problem)
            before, stop = stop, problem.rules.followers[stop]


@compiled_inline
def remove_followers(tours: FleetTours, customer: int, problem: FleetProblem) -> None:
    """Remove all who follow a customer directly in all plans."""
    if len(problem.driven) > 0:
        stop = problem.rules.followers[customer]
        while stop > 0:
            remove_stop(tours, stop, problem)
            stop = problem.rules.followers[stop]


@compiled_inline
def change_kind(tours: FleetTours, slot: int, kind: int, problem: FleetProblem) -> float:
    """Give a route another type of vehicle; returns the change of the length. Times are not updated."""
    slots, kinds, old = tours.slots, problem.kinds, tours.slots[slot, KIND]
    if len(problem.rules) > 0:
        _join(tours, slot, problem.rules.start_nodes[kind], slots[slot, FIRST], problem)
    last, before = slots[slot, LAST], tours.lengths[slot]
    slots[slot, KIND] = kind
    slots[slot, ROOM] += kinds.capacities[kind] - kinds.capacities[old]
    tours.lengths[slot] -= problem.distances[last, kinds.end_nodes[old]]
    _join(tours, slot, last, kinds.end_nodes[kind], problem)
    tours.free[old] += 1
    tours.free[kind] -= 1
    return float(tours.lengths[slot] - before)


@compiled_inline
def _join(tours: FleetTours, slot: int, one: int, other: int, problem: FleetProblem) -> None:
    """Link two stops of a route."""
    length = problem.distances[one, other]
    tours.lengths[slot] += length
    is_first = one == 0
    if len(problem.rules) > 0:
        is_first = not is_stop(one, problem)
    if is_first:
        tours.slots[slot, FIRST] = other
    else:
        tours.nodes[one, AFTER] = other
        tours.legs[one] = length
    if other > len(problem.demands) - 3:
        tours.slots[slot, LAST] = one
    else:
        tours.nodes[other, BEFORE] = one


@compiled_inline
def _swap_slots(tours: FleetTours, slot: int, place: int) -> None:
    """Swap a slot with the one at a place of the list of slots."""
    slots = tours.slots
    other, old_place = slots[place, SLOT_AT], slots[slot, PLACE]
    slots[place, SLOT_AT], slots[old_place, SLOT_AT] = slot, other
    slots[slot, PLACE], slots[other, PLACE] = place, old_place


@compiled_inline
def value_route(tours: FleetTours, slot: int, problem: FleetProblem) -> float:
    """What a route costs: its length, or its price if there are rules; nothing if its slot is not in use."""
    if len(problem.rules) > 0:
        return float(tours.prices[slot]) if tours.slots[slot, SIZE] > 0 else 0.0
    return float(tours.lengths[slot])


# Times


@compiled_inline
def refresh_times(tours: FleetTours, slot: int, problem: FleetProblem) -> None:
    """Compute the times of all stops of a route."""
    slots, size = tours.slots, len(problem.demands) - 3
    if slots[slot, SIZE] == 0:
        return
    if len(problem.rules) > 0:
        refresh_route(tours, slot, problem)
        return
    first, last = slots[slot, FIRST], slots[slot, LAST]
    _refresh_forward(tours, slot, first, size, False, problem)
    _refresh_backward(tours, slot, last, False, problem)
    if problem.has_durations:
        _refresh_spans(tours, slot, problem)


@compiled_inline
def refresh_around(tours: FleetTours, customer: int, problem: FleetProblem) -> None:
    """Compute the times of an inserted customer, and update those that it changes."""
    slot, size = tours.nodes[customer, ROUTE], len(problem.demands) - 3
    if len(problem.rules) > 0:
        refresh_route(tours, slot, problem)
        return
    tours.ready[customer], tours.due[customer] = np.nan, np.nan
    _refresh_forward(tours, slot, customer, size, True, problem)
    _refresh_backward(tours, slot, customer, True, problem)
    if problem.has_durations:
        _refresh_spans(tours, slot, problem)


@compiled_inline
def _refresh_forward(
    tours: FleetTours, slot: int, first: int, size: int, is_known: bool, problem: FleetProblem
) -> None:
    """Update earliest starts from a stop onwards; if the later ones were known, stop at the first unchanged one."""
    ready, durations = tours.ready, problem.durations
    previous = 0 if first == tours.slots[slot, FIRST] else tours.nodes[first, BEFORE]
    time = problem.kinds.starts[tours.slots[slot, KIND]] if previous == 0 else ready[previous]
    customer = first
    while customer <= size:
        time = max(time + durations[previous, customer], problem.earliest[customer])
        if is_known and time == ready[customer]:
            break
        ready[customer] = time
        previous, customer = customer, tours.nodes[customer, AFTER]


@compiled_inline
def _refresh_backward(tours: FleetTours, slot: int, last: int, is_known: bool, problem: FleetProblem) -> None:
    """Update latest starts from a stop backwards; if the earlier ones were known, stop at the first unchanged one."""
    due, durations = tours.due, problem.durations
    following = tours.nodes[last, AFTER]
    is_end = following > len(problem.demands) - 3
    time = problem.kinds.ends[tours.slots[slot, KIND]] if is_end else due[following]
    customer = last
    while customer != 0:
        time = min(time - durations[customer, following], problem.latest[customer])
        if time < problem.earliest[customer]:
            time = -np.inf  # waiting that long makes later stops late
        if is_known and time == due[customer]:
            break
        due[customer] = time
        following, customer = customer, tours.nodes[customer, BEFORE]


@compiled_inline
def _refresh_spans(tours: FleetTours, slot: int, problem: FleetProblem) -> None:
    """Compute the durations of the parts of a route."""
    nodes, kind, size = tours.nodes, tours.slots[slot, KIND], len(problem.demands) - 3
    durations, earliest, latest = problem.durations, problem.earliest, problem.latest
    span, early, late = 0.0, problem.kinds.starts[kind], np.inf
    previous, customer = 0, tours.slots[slot, FIRST]
    while customer <= size:
        span, early, late = append_span(
            span, early, late, durations[previous, customer], 0.0, earliest[customer], latest[customer]
        )
        tours.ahead[customer, SPAN], tours.ahead[customer, EARLY], tours.ahead[customer, LATE] = span, early, late
        previous, customer = customer, nodes[customer, AFTER]
    span, early, late = 0.0, -np.inf, problem.kinds.ends[kind]
    following, customer = problem.kinds.end_nodes[kind], tours.slots[slot, LAST]
    while customer != 0:
        span, early, late = append_span(
            0.0, earliest[customer], latest[customer], durations[customer, following], span, early, late
        )
        tours.behind[customer, SPAN], tours.behind[customer, EARLY], tours.behind[customer, LATE] = span, early, late
        following, customer = customer, nodes[customer, BEFORE]


@compiled_inline
def is_within_times(
    tours: FleetTours, customer: int, slot: int, previous: int, following: int, problem: FleetProblem
) -> bool:
    """Whether a customer between two stops, and all later ones, are in time and the route is short enough."""
    size, kind = len(problem.demands) - 3, tours.slots[slot, KIND]
    leaving = problem.kinds.starts[kind] if previous == 0 else tours.ready[previous]
    start = max(leaving + problem.durations[previous, customer], problem.earliest[customer])
    if start > problem.latest[customer]:
        return False
    limit = problem.kinds.ends[kind] if following > size else tours.due[following]
    if start + problem.durations[customer, following] > limit:
        return False
    if not problem.has_durations or not np.isfinite(problem.kinds.durations[kind]):
        return True
    span, early, late = 0.0, problem.kinds.starts[kind], np.inf
    if previous != 0:
        span, early, late = tours.ahead[previous, SPAN], tours.ahead[previous, EARLY], tours.ahead[previous, LATE]
    span, early, late = append_span(
        span,
        early,
        late,
        problem.durations[previous, customer],
        0.0,
        problem.earliest[customer],
        problem.latest[customer],
    )
    span_after, early_after, late_after = 0.0, -np.inf, problem.kinds.ends[kind]
    if following <= size:
        span_after, early_after = tours.behind[following, SPAN], tours.behind[following, EARLY]
        late_after = tours.behind[following, LATE]
    span, early, late = append_span(
        span, early, late, problem.durations[customer, following], span_after, early_after, late_after
    )
    return bool(span <= problem.kinds.durations[kind])


@compiled_inline
def is_within_limits(tours: FleetTours, slot: int, problem: FleetProblem) -> bool:
    """Whether a route with known times is within all limits of its type of vehicle."""
    if len(problem.rules) > 0:
        return is_route_allowed(tours, slot, problem)
    slots, kinds, kind = tours.slots, problem.kinds, tours.slots[slot, KIND]
    first, last = slots[slot, FIRST], slots[slot, LAST]
    if slots[slot, ROOM] < 0 or slots[slot, SIZE] > kinds.stops[kind] or tours.lengths[slot] > kinds.distances[kind]:
        return False
    if tours.ready[first] > tours.due[first]:
        return False
    if not problem.has_durations:
        return True
    span, _, _ = append_span(
        tours.ahead[last, SPAN],
        tours.ahead[last, EARLY],
        tours.ahead[last, LATE],
        problem.durations[last, kinds.end_nodes[kind]],
        0.0,
        -np.inf,
        kinds.ends[kind],
    )
    return bool(span <= kinds.durations[kind])
