"""What a route costs and whether it keeps all rules, if there are more than windows and limits.

Every change of a route computes all that is known about it anew; then a further stop is priced in constant time.
"""

from __future__ import annotations

import numpy as np

from dynaroute.search.annealing.tours import (
    AFTER,
    BEFORE,
    EARLY,
    FIRST,
    KIND,
    LAST,
    LATE,
    NO_ROUTE,
    ROOM,
    ROUTE,
    SIZE,
    SPAN,
    Tours,
    is_end,
    is_stop,
)
from dynaroute.search.core.compiled import compiled_apart, compiled_inline
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.with_limits.driving import drive_path, write_path
from dynaroute.search.with_limits.rules import FROZEN, RELOAD

__all__ = [
    "append_span",
    "enter",
    "find_cheapest_kind",
    "find_group",
    "is_frozen",
    "is_needed",
    "is_route_allowed",
    "is_stop",
    "is_tied",
    "measure_span",
    "meets_other",
    "price_detour",
    "price_route",
    "refresh_route",
    "refresh_spans",
]


@compiled_inline
def append_span(
    span: float, early: float, late: float, between: float, span_after: float, early_after: float, late_after: float
) -> tuple[float, float, float]:
    """Join two parts of a route: the least duration of both, and its earliest and latest start."""
    offset = span + between
    waiting = max(0.0, early_after - offset - late)
    return offset + span_after + waiting, max(early_after - offset, early) - waiting, min(late_after - offset, late)


@compiled_inline
def is_frozen(stop: int, problem: SearchProblem) -> bool:
    """Whether a stop belongs to the beginning of a route, which cannot change."""
    if len(problem.driven) > 0:
        return bool(problem.rules.ties[stop] == FROZEN)
    return False


@compiled_inline
def is_tied(stop: int, problem: SearchProblem) -> bool:
    """Whether nothing may come between a stop and the one before it."""
    if len(problem.driven) > 0:
        return bool(problem.rules.ties[stop] > 0)
    return False


# All of a route


@compiled_apart
def refresh_route(tours: Tours, slot: int, problem: SearchProblem) -> None:
    """Compute length, times, loads and price of a route."""
    slots, nodes, rules = tours.slots, tours.nodes, problem.rules
    kind = slots[slot, KIND]
    profile, previous, stop, length = rules.profiles[kind], rules.start_nodes[kind], slots[slot, FIRST], 0.0
    while not is_end(stop, problem):
        length += rules.distances[profile, previous, stop]
        previous, stop = stop, nodes[stop, AFTER]
    length += rules.distances[profile, previous, stop]
    tours.lengths[slot] = length
    if rules.has_times:
        _refresh_times(tours, slot, problem)
    if rules.has_mixed_loads:
        for dimension in range(rules.rooms.shape[1]):
            _refresh_loads(tours, slot, dimension, problem)
    if len(problem.driven) > 0:
        stops = write_path(tours, slot, 0, 0, 0, 0, problem)
        tours.spans[slot], tours.late[slot] = drive_path(tours, stops, kind, problem)
    elif problem.has_durations:
        tours.spans[slot] = refresh_spans(tours, slot, problem)
    span = tours.spans[slot] if tours.spans[slot] < np.inf else 0.0
    tours.prices[slot] = price_route(kind, length, span, problem) + tours.late[slot]


@compiled_inline
def _refresh_times(tours: Tours, slot: int, problem: SearchProblem) -> None:
    """Compute the driving time, and the earliest and latest start of service at each stop."""
    slots, nodes, rules, kind = tours.slots, tours.nodes, problem.rules, tours.slots[slot, KIND]
    profile, previous, stop = rules.profiles[kind], rules.start_nodes[kind], slots[slot, FIRST]
    time, driving = problem.kinds.starts[kind], 0.0
    while True:
        seconds = rules.durations[profile, previous, stop]
        driving += seconds
        if is_stop(previous, problem):
            driving -= rules.service[profile, previous]
        if is_end(stop, problem):
            break
        time = enter(time + seconds, stop, problem)
        tours.ready[stop] = time
        previous, stop = stop, nodes[stop, AFTER]
    tours.driving[slot] = driving
    time, following, stop = problem.kinds.ends[kind], problem.kinds.end_nodes[kind], slots[slot, LAST]
    while is_stop(stop, problem):
        time = _leave(time - rules.durations[profile, stop, following], stop, problem)
        tours.due[stop] = time
        following, stop = stop, nodes[stop, BEFORE]


@compiled_inline
def price_route(kind: int, length: float, span: float, problem: SearchProblem) -> float:
    """The price of a route of this length and duration."""
    rules = problem.rules
    price = rules.fixed[kind] + rules.per_distance[kind] * length
    if problem.has_durations:
        price += rules.per_second[kind] * span + rules.overtime[kind, 1] * max(0.0, span - rules.overtime[kind, 0])
    return float(price)


@compiled_inline
def enter(time: float, stop: int, problem: SearchProblem) -> float:
    """The earliest start of service on arrival at this time; infinite after the last window."""
    windows = problem.rules.windows
    for index in range(windows.shape[1]):
        if time <= windows[stop, index, 1]:
            return float(max(time, windows[stop, index, 0]))
    return np.inf


@compiled_inline
def _leave(time: float, stop: int, problem: SearchProblem) -> float:
    """The latest start of service up to this time; minus infinity before the first window."""
    windows = problem.rules.windows
    for index in range(windows.shape[1] - 1, -1, -1):
        if time >= windows[stop, index, 0]:
            return float(min(time, windows[stop, index, 1]))
    return -np.inf


@compiled_inline
def measure_seconds(kind: int, one: int, other: int, problem: SearchProblem) -> float:
    """Seconds from the start of service at a stop to the arrival of this type of vehicle at another."""
    if len(problem.rules) > 0:
        return float(problem.rules.durations[problem.rules.profiles[kind], one, other])
    return float(problem.durations[one, other])


@compiled_inline
def refresh_spans(tours: Tours, slot: int, problem: SearchProblem) -> float:
    """Compute the durations of the parts of a route, and return that of the whole."""
    nodes, kind, earliest, latest = tours.nodes, tours.slots[slot, KIND], problem.earliest, problem.latest
    span, early, late = 0.0, problem.kinds.starts[kind], np.inf
    previous, stop = 0, tours.slots[slot, FIRST]
    if len(problem.rules) > 0:
        previous = problem.rules.start_nodes[kind]
    while not is_end(stop, problem):
        between = measure_seconds(kind, previous, stop, problem)
        span, early, late = append_span(span, early, late, between, 0.0, earliest[stop], latest[stop])
        tours.ahead[stop, SPAN], tours.ahead[stop, EARLY], tours.ahead[stop, LATE] = span, early, late
        previous, stop = stop, nodes[stop, AFTER]
    between = measure_seconds(kind, previous, stop, problem)
    whole, _, _ = append_span(span, early, late, between, 0.0, -np.inf, problem.kinds.ends[kind])
    span, early, late = 0.0, -np.inf, problem.kinds.ends[kind]
    following, stop = problem.kinds.end_nodes[kind], tours.slots[slot, LAST]
    while is_stop(stop, problem):
        between = measure_seconds(kind, stop, following, problem)
        span, early, late = append_span(0.0, earliest[stop], latest[stop], between, span, early, late)
        tours.behind[stop, SPAN], tours.behind[stop, EARLY], tours.behind[stop, LATE] = span, early, late
        following, stop = stop, nodes[stop, BEFORE]
    return whole


@compiled_inline
def _refresh_loads(tours: Tours, slot: int, dimension: int, problem: SearchProblem) -> None:
    """Compute the largest loads before and after each stop; a visit where the vehicle loads again begins a new trip."""
    nodes, slots, peaks, tops, rules = tours.nodes, tours.slots, tours.peaks, tours.tops, problem.rules
    onward, stop = 0, slots[slot, LAST]
    while is_stop(stop, problem):
        peaks[stop, dimension, 2] = onward  # what is still to be delivered on this trip
        if rules.roles[stop] == RELOAD:
            onward = 0
        elif rules.partners[stop] == 0:
            onward += rules.delivered[stop, dimension]
        stop = nodes[stop, BEFORE]
    aboard = rules.initial[slots[slot, KIND], dimension]
    first, stop = onward + aboard, slots[slot, FIRST]
    peak, top = first, first
    while is_stop(stop, problem):
        if rules.roles[stop] == RELOAD:
            aboard, peak = 0, 0
        else:
            aboard += rules.collected[stop, dimension]
            if rules.partners[stop] != 0:
                aboard -= rules.delivered[stop, dimension]
        load = peaks[stop, dimension, 2] + aboard
        peak, top = max(peak, load), max(top, load)
        peaks[stop, dimension, 0], peaks[stop, dimension, 2] = peak, load
        stop = nodes[stop, AFTER]
    after, stop = 0, slots[slot, LAST]
    while is_stop(stop, problem):
        after = max(after, peaks[stop, dimension, 2])
        peaks[stop, dimension, 1] = after
        if rules.roles[stop] == RELOAD:
            after = 0
        stop = nodes[stop, BEFORE]
    tops[slot, dimension, 0], tops[slot, dimension, 1], tops[slot, dimension, 2] = first, max(first, after), top


@compiled_apart
def is_route_allowed(tours: Tours, slot: int, problem: SearchProblem) -> bool:
    """Whether a route keeps all rules of its type of vehicle."""
    slots, kinds, rules, kind = tours.slots, problem.kinds, problem.rules, tours.slots[slot, KIND]
    if slots[slot, SIZE] > kinds.stops[kind] or tours.lengths[slot] > kinds.distances[kind]:
        return False
    if tours.driving[slot] > rules.driving[kind]:
        return False
    first = slots[slot, FIRST]
    if tours.ready[first] > tours.due[first] or not _has_room(tours, slot, 0, 0, kind, problem):
        return False
    if tours.spans[slot] > kinds.durations[kind] or tours.spans[slot] == np.inf:
        return False
    stop = first
    while is_stop(stop, problem):
        if not rules.allowed[stop, kind]:
            return False
        stop = tours.nodes[stop, AFTER]
    return True


# A further stop


@compiled_inline
def price_detour(
    tours: Tours, customer: int, slot: int, previous: int, following: int, most: float, problem: SearchProblem
) -> tuple[float, int]:
    """What a stop between two others costs, and which type of vehicle then drives.

    The price is infinite if a rule forbids it, or if it is clearly not below `most`.
    """
    slots, rules, kind = tours.slots, problem.rules, tours.slots[slot, KIND]
    if len(problem.paired) == 0 and len(problem.reloading) == 0:  # all deliveries are on board at the start
        load = problem.kinds.capacities[kind] - slots[slot, ROOM] + problem.demands[customer]
        if load > rules.widest[kind]:
            return np.inf, kind
        if rules.has_mixed_loads:  # all that was collected is on board at the end
            load = tours.peaks[slots[slot, LAST], 0, 2] + rules.collected[customer, 0]
            if load > rules.widest[kind]:
                return np.inf, kind
    if not rules.allowed[customer, kind]:
        return np.inf, kind
    if is_tied(following, problem):
        return np.inf, kind
    if rules.apart[customer] > 0 and meets_other(tours, customer, slot, problem):
        return np.inf, kind
    profile = rules.profiles[kind]
    extra = rules.distances[profile, previous, customer] + rules.distances[profile, customer, following]
    extra -= rules.distances[profile, previous, following]
    if rules.per_distance[kind] * extra >= most:
        return np.inf, kind
    length = tours.lengths[slot] + extra
    if slots[slot, SIZE] >= problem.kinds.stops[kind] or length > problem.kinds.distances[kind]:
        return np.inf, kind
    if rules.has_times and not _is_in_time(tours, customer, slot, previous, following, problem):
        return np.inf, kind
    has_room = _has_room(tours, slot, previous, customer, kind, problem)
    if not has_room and len(tours.free) == 1:
        return np.inf, kind
    span, late = 0.0, 0.0
    if len(problem.driven) > 0:
        stops = write_path(tours, slot, customer, previous, 0, 0, problem)
        span, late = drive_path(tours, stops, kind, problem)
    elif problem.has_durations:
        span = measure_span(tours, customer, slot, previous, following, problem)
    if span > problem.kinds.durations[kind] or span == np.inf:
        return np.inf, kind
    price = price_route(kind, length, span, problem)
    if not has_room:
        kind, price = find_cheapest_kind(tours, slot, previous, customer, length, span, problem)
    return price + late - tours.prices[slot], kind


@compiled_inline
def _is_in_time(tours: Tours, customer: int, slot: int, previous: int, following: int, problem: SearchProblem) -> bool:
    """Whether a stop between two others, and all later ones, are in time, and the route is not driven for too long."""
    rules, kind, durations = problem.rules, tours.slots[slot, KIND], problem.rules.durations
    profile = rules.profiles[kind]
    outward, onward = durations[profile, previous, customer], durations[profile, customer, following]
    leaving = tours.ready[previous] if is_stop(previous, problem) else problem.kinds.starts[kind]
    start = enter(leaving + outward, customer, problem)
    limit = tours.due[following] if is_stop(following, problem) else problem.kinds.ends[kind]
    if start == np.inf or start + onward > limit:
        return False
    if rules.driving[kind] == np.inf:
        return True
    driving = outward + onward - rules.service[profile, customer] - durations[profile, previous, following]
    return bool(tours.driving[slot] + driving <= rules.driving[kind])


@compiled_inline
def meets_other(tours: Tours, customer: int, slot: int, problem: SearchProblem) -> bool:
    """Whether a route serves somebody whom a customer must not be together with."""
    apart, stop = problem.rules.apart, tours.slots[slot, FIRST]
    while is_stop(stop, problem):
        if apart[stop] == apart[customer]:
            return True
        stop = tours.nodes[stop, AFTER]
    return False


@compiled_inline
def find_group(tours: Tours, customer: int, problem: SearchProblem) -> int:
    """The slot where others of a customer's group are, who must be on the same vehicle; -1 if there are none."""
    other = problem.rules.next_of_group[customer]
    while other != customer:
        if tours.nodes[other, ROUTE] != NO_ROUTE:
            return int(tours.nodes[other, ROUTE])
        other = problem.rules.next_of_group[other]
    return -1


@compiled_inline
def measure_span(
    tours: Tours, customer: int, slot: int, previous: int, following: int, problem: SearchProblem
) -> float:
    """The least duration of a route with a further stop."""
    kind = tours.slots[slot, KIND]
    span, early, late = 0.0, problem.kinds.starts[kind], np.inf
    if is_stop(previous, problem):
        span, early, late = tours.ahead[previous, SPAN], tours.ahead[previous, EARLY], tours.ahead[previous, LATE]
    earliest, latest = problem.earliest[customer], problem.latest[customer]
    outward = measure_seconds(kind, previous, customer, problem)
    span, early, late = append_span(span, early, late, outward, 0.0, earliest, latest)
    span_after, early_after, late_after = 0.0, -np.inf, problem.kinds.ends[kind]
    if not is_end(following, problem):
        span_after, early_after = tours.behind[following, SPAN], tours.behind[following, EARLY]
        late_after = tours.behind[following, LATE]
    onward = measure_seconds(kind, customer, following, problem)
    span, early, late = append_span(span, early, late, onward, span_after, early_after, late_after)
    return span


@compiled_inline
def _has_room(tours: Tours, slot: int, previous: int, customer: int, kind: int, problem: SearchProblem) -> bool:
    """Whether a type of vehicle has room for a further stop after another, or for the route as it is with stop 0."""
    rules, capacities = problem.rules, problem.kinds.capacities
    if not rules.has_mixed_loads:
        load = capacities[tours.slots[slot, KIND]] - tours.slots[slot, ROOM]
        return bool(load + problem.demands[customer] <= capacities[kind])
    for dimension in range(rules.rooms.shape[1]):
        before, after = tours.tops[slot, dimension, 0], tours.tops[slot, dimension, 1]
        if is_stop(previous, problem):
            before, after = tours.peaks[previous, dimension, 0], tours.peaks[previous, dimension, 1]
        delivered = rules.delivered[customer, dimension] if rules.partners[customer] == 0 else 0
        need = max(before + delivered, after + rules.collected[customer, dimension])
        if max(need, tours.tops[slot, dimension, 2]) > rules.rooms[kind, dimension]:
            return False
    return True


@compiled_inline
def is_needed(tours: Tours, kind: int, problem: SearchProblem) -> bool:
    """Whether no more vehicles of a type are used than must be."""
    if len(problem.optional) > 0:
        return bool(problem.kinds.counts[kind] - tours.free[kind] <= problem.rules.least[kind])
    return False


@compiled_inline
def find_cheapest_kind(
    tours: Tours, slot: int, previous: int, customer: int, length: float, span: float, problem: SearchProblem
) -> tuple[int, float]:
    """The cheapest free type of the same class with room for a further stop, and the price of the route; or -1."""
    classes, own = problem.rules.classes, tours.slots[slot, KIND]
    best, best_price = -1, np.inf
    for kind in range(len(tours.free)):
        if classes[kind] != classes[own] or (kind != own and tours.free[kind] <= 0):
            continue
        if kind != own and is_needed(tours, own, problem):
            continue
        price = price_route(kind, length, span, problem)
        if price < best_price and _has_room(tours, slot, previous, customer, kind, problem):
            best, best_price = kind, price
    return best, best_price
