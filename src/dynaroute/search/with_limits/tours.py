"""Routes of a fleet as linked lists in flat arrays, with the earliest and latest start of service at each stop.

Inserting or removing a customer takes constant time, plus the time to update the starts that change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.core.compiled import compiled_inline
from dynaroute.search.with_limits.problem import FleetProblem, FleetRoutes

__all__ = [
    "ABSENT",
    "AFTER",
    "BEFORE",
    "FIRST",
    "KIND",
    "LAST",
    "MOST",
    "NO_ROUTE",
    "ROOM",
    "ROUTE",
    "SIZE",
    "SLOT_AT",
    "USED",
    "FleetTours",
    "append_span",
    "change_kind",
    "insert_stop",
    "is_within_limits",
    "is_within_times",
    "make_fleet_tours",
    "open_slot",
    "read_fleet_routes",
    "refresh_around",
    "refresh_times",
    "remove_stop",
]

AFTER, BEFORE, ROUTE = 0, 1, 2  # columns of FleetTours.nodes
FIRST, LAST, ROOM, SIZE, KIND, PLACE, SLOT_AT = 0, 1, 2, 3, 4, 5, 6  # columns of FleetTours.slots
USED, ABSENT, MOST = 0, 1, 2  # entries of FleetTours.counts
SPAN, EARLY, LATE = 0, 1, 2  # columns of FleetTours.ahead and .behind
NO_ROUTE = -1


class FleetTours(NamedTuple):
    """A plan that is being changed: N nodes, and a slot for each of up to n routes.

    Attributes
    ----------
    nodes
        (N, 3) for each customer: the stop after it, the stop before it (0 is the depot), and the slot of its route,
        or -1 if it is missing.
    legs
        (N,) length of the leg to the next stop.
    ready, due
        (N,) earliest start of service, and the latest start that lets all later stops be in time.
    ahead, behind
        (N, 3) for the part of the route up to each customer, and from it on: the least time from the first start of
        service to the last, and the earliest and latest first start that achieve it. Only if there is a longest
        duration.
    slots
        (n, 7) for each slot: first and last customer, free capacity, number of customers, type of vehicle, its place
        in the list of slots; and in the last column that list, slots in use first.
    lengths
        (n,) length of each route.
    free
        (T,) unused vehicles of each type.
    absent
        (n,) the missing customers; the first `counts[ABSENT]` entries.
    counts
        (3,) slots in use, missing customers, and the most slots that may be in use.
    """

    nodes: NDArray[np.int32]
    legs: NDArray[np.float64]
    ready: NDArray[np.float64]
    due: NDArray[np.float64]
    ahead: NDArray[np.float64]
    behind: NDArray[np.float64]
    slots: NDArray[np.int64]
    lengths: NDArray[np.float64]
    free: NDArray[np.int64]
    absent: NDArray[np.int32]
    counts: NDArray[np.int64]


def make_fleet_tours(problem: FleetProblem, routes: FleetRoutes, most: int | None = None) -> FleetTours:
    """Make tours from the given routes; all other customers are missing."""
    size, nodes = problem.size, len(problem.demands)
    slots = np.zeros((size, 7), dtype=np.int64)
    slots[:, PLACE] = slots[:, SLOT_AT] = np.arange(size)
    served = {customer for _, *stops in routes for customer in stops}
    missing = [customer for customer in range(1, size + 1) if customer not in served]
    links = np.zeros((nodes, 3), dtype=np.int32)
    links[:, ROUTE] = NO_ROUTE
    absent = np.zeros(size, dtype=np.int32)
    absent[: len(missing)] = missing
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
        counts=np.array([0, len(missing), size if most is None else most]),
    )
    flat = [number for kind, *stops in routes if stops for number in (-1 - kind, *stops)]
    _drive(tours, np.array(flat, dtype=np.int64), problem)
    return tours


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
    slots[slot, SIZE] = 0
    slots[slot, ROOM] = problem.kinds.capacities[kind]
    tours.lengths[slot] = 0.0


@compiled_inline
def insert_stop(tours: FleetTours, customer: int, slot: int, previous: int, problem: FleetProblem) -> None:
    """Insert a customer after another stop, or first if `previous` is 0; times are not updated."""
    slots, nodes, distances = tours.slots, tours.nodes, problem.distances
    following = slots[slot, FIRST] if previous == 0 else nodes[previous, AFTER]
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
    if slots[slot, SIZE] == 0:
        tours.free[slots[slot, KIND]] += 1
        tours.counts[USED] -= 1
        _swap_slots(tours, slot, tours.counts[USED])


@compiled_inline
def change_kind(tours: FleetTours, slot: int, kind: int, problem: FleetProblem) -> float:
    """Give a route another type of vehicle; returns the change of the length. Times are not updated."""
    slots, kinds, old = tours.slots, problem.kinds, tours.slots[slot, KIND]
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
    if one == 0:
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


# Times


@compiled_inline
def refresh_times(tours: FleetTours, slot: int, problem: FleetProblem) -> None:
    """Compute the times of all stops of a route."""
    slots, size = tours.slots, len(problem.demands) - 3
    if slots[slot, SIZE] == 0:
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
def append_span(
    span: float, early: float, late: float, between: float, span_after: float, early_after: float, late_after: float
) -> tuple[float, float, float]:
    """Join two parts of a route: the least duration of both, and its earliest and latest start."""
    offset = span + between
    waiting = max(0.0, early_after - offset - late)
    return offset + span_after + waiting, max(early_after - offset, early) - waiting, min(late_after - offset, late)


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
