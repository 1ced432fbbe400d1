"""Routes as linked lists in flat arrays, with insertion and removal in constant time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.core.compiled import as_index, compiled_inline
from dynaroute.search.core.legs import measure_leg
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.with_limits.rules import NOTHING

__all__ = [
    "ABSENT",
    "AFTER",
    "BEFORE",
    "EARLY",
    "FIRST",
    "KIND",
    "LAST",
    "LATE",
    "MOST",
    "NO_ROUTE",
    "PLACE",
    "ROOM",
    "ROUTE",
    "SERVED",
    "SIZE",
    "SLOT_AT",
    "SPAN",
    "USED",
    "Tours",
    "change_kind",
    "close_slot",
    "insert_stop",
    "is_end",
    "is_stop",
    "join",
    "link_stop",
    "open_slot",
    "remove_stop",
    "unlink_stop",
    "unload_stop",
]

AFTER, BEFORE, ROUTE = 0, 1, 2  # columns of Tours.nodes; the first two of Tours.legs too
FIRST, LAST, ROOM, SIZE, KIND, PLACE, SLOT_AT = 0, 1, 2, 3, 4, 5, 6  # columns of Tours.slots
USED, ABSENT, MOST, SERVED = 0, 1, 2, 3  # entries of Tours.counts
SPAN, EARLY, LATE = 0, 1, 2  # columns of Tours.ahead and .behind
NO_ROUTE = -1

Integers = NDArray[np.int32]
Longs = NDArray[np.int64]
Lengths = NDArray[np.float64]


class Tours(NamedTuple):
    """Routes that are being changed: the nodes of the problem, and a slot for each of up to n routes.

    Attributes
    ----------
    nodes
        (N, 3) for each customer: the stop after it, the stop before it (0 is the depot), and the slot of its route, or
        -1 if it has none.
    legs
        (N, 2) for each customer: lengths of the legs to those two stops; not known with rules.
    slots
        (n, 7) for each slot: first and last customer, free capacity, number of customers, type of vehicle, its place
        in the list of slots; and in the last column that list, slots in use first.
    counts
        (4,) slots in use, missing customers who must be served, the most slots that may be in use, and stops on
        routes (only if there are rules).
    lengths
        (n,) length of each route. This and the next only with limits.
    free
        (T,) unused vehicles of each type.
    absent
        (n,) the missing customers; the first `counts[ABSENT]` entries.
    ready, due
        (N,) earliest start of service, and the latest start that lets all later stops be in time.
    ahead, behind
        (N, 3) for the part of the route up to each customer, and from it on: the least time from the first start of
        service to the last, and the earliest and latest first start that achieve it. Only if there is a longest
        duration.
    prices, driving, spans
        (n,) price, driving time and least duration of each route. These and the next only if there are rules.
    peaks
        (N, K, 3) the largest load on the legs of its trip up to the one that leaves a stop, the largest from there on,
        and the load on that leg.
    late
        (n,) price of lateness on each route.
    path, events, clocks, rests
        Room for driving a route: its stops; what happens on it; and for each set of breaks, when it is on the road
        and where the breaks are.
    tops
        (n, K, 3) the first two of the start of each route, and its largest load of all.
    """

    nodes: Integers
    legs: Lengths
    slots: Longs
    counts: Longs
    lengths: Lengths = NOTHING
    free: Longs = NOTHING
    absent: Integers = NOTHING
    ready: Lengths = NOTHING
    due: Lengths = NOTHING
    ahead: Lengths = NOTHING
    behind: Lengths = NOTHING
    prices: Lengths = NOTHING
    driving: Lengths = NOTHING
    spans: Lengths = NOTHING
    peaks: Longs = NOTHING
    late: Lengths = NOTHING
    path: Integers = NOTHING
    events: Lengths = NOTHING
    clocks: Lengths = NOTHING
    rests: Longs = NOTHING
    tops: Longs = NOTHING


@compiled_inline
def is_stop(node: int, problem: SearchProblem) -> bool:
    """Whether a node is a stop, neither a start nor an end; without rules, for nodes that are no ends."""
    if len(problem.rules) > 0:
        return bool(node != 0 and node <= len(problem.demands) - 3)
    return bool(node != 0)


@compiled_inline
def is_end(node: int, problem: SearchProblem) -> bool:
    """Whether a route ends at a node that follows another."""
    if len(problem.limited) > 0:
        return bool(node > len(problem.demands) - 3)
    return bool(node == 0)


@compiled_inline
def open_slot(tours: Tours, slot: int, kind: int, problem: SearchProblem) -> None:
    """Open an empty route of this type in an unused slot."""
    slots = tours.slots
    _swap_slots(slots, slot, tours.counts[USED])
    tours.counts[USED] += 1
    slots[slot, FIRST], slots[slot, LAST] = 0, 0
    slots[slot, SIZE], slots[slot, ROOM] = 0, problem.capacity
    if len(problem.limited) > 0:
        tours.free[kind] -= 1
        slots[slot, KIND] = kind
        slots[slot, FIRST], slots[slot, ROOM] = problem.kinds.end_nodes[kind], problem.kinds.capacities[kind]
        tours.lengths[slot] = 0.0
    if len(problem.rules) > 0:
        slots[slot, LAST] = problem.rules.start_nodes[kind]


@compiled_inline
def insert_stop(tours: Tours, customer: int, slot: int, previous: int, problem: SearchProblem) -> None:
    """Insert a customer after another stop of an open route, or first if `previous` is 0; times are not updated.

    With rules, nor are lengths: `refresh_route` computes them anew.
    """
    slots, distances = tours.slots, problem.distances
    is_first = not is_stop(previous, problem)
    if len(problem.rules) > 0:
        previous = problem.rules.start_nodes[slots[slot, KIND]] if is_first else previous
        following = slots[slot, FIRST] if is_first else tours.nodes[previous, AFTER]
        link_stop(tours, customer, slot, previous, following, 0.0, 0.0, problem)
        return
    following = slots[slot, FIRST] if is_first else tours.nodes[previous, AFTER]
    arrival, departure = measure_leg(distances, previous, customer), measure_leg(distances, customer, following)
    if len(problem.limited) > 0:
        tours.lengths[slot] -= measure_leg(distances, previous, following)
        tours.lengths[slot] += arrival
        tours.lengths[slot] += departure
    link_stop(tours, customer, slot, previous, following, arrival, departure, problem)


@compiled_inline
def link_stop(
    tours: Tours,
    customer: int,
    slot: int,
    previous: int,
    following: int,
    arrival: float,
    departure: float,
    problem: SearchProblem,
) -> None:
    """Put a customer between two stops of a route, given the lengths of both legs; that of the route is not updated."""
    slots = tours.slots
    customer, slot = as_index(customer), as_index(slot)
    tours.nodes[customer, ROUTE] = slot
    join(tours, slot, previous, customer, arrival, problem)
    join(tours, slot, customer, following, departure, problem)
    slots[slot, ROOM] -= problem.demands[customer]
    slots[slot, SIZE] += 1
    if len(problem.rules) > 0:
        tours.counts[SERVED] += 1


@compiled_inline
def remove_stop(tours: Tours, customer: int, problem: SearchProblem) -> None:
    """Remove a customer, and close its route if that is empty now; what is not updated is as for `insert_stop`."""
    nodes, distances = tours.nodes, problem.distances
    slot, previous, following = nodes[customer, ROUTE], nodes[customer, BEFORE], nodes[customer, AFTER]
    if len(problem.rules) > 0:
        unlink_stop(tours, customer, 0.0, problem)
        return
    bridge = measure_leg(distances, previous, following)
    if len(problem.limited) > 0:
        tours.lengths[slot] -= measure_leg(distances, previous, customer) + measure_leg(distances, customer, following)
        tours.lengths[slot] += bridge
    unlink_stop(tours, customer, bridge, problem)


@compiled_inline
def unlink_stop(tours: Tours, customer: int, bridge: float, problem: SearchProblem) -> None:
    """Remove a customer, given the length of the leg without it; the length of the route is not updated."""
    nodes = tours.nodes
    join(tours, nodes[customer, ROUTE], nodes[customer, BEFORE], nodes[customer, AFTER], bridge, problem)
    unload_stop(tours, customer, problem)


@compiled_inline
def unload_stop(tours: Tours, customer: int, problem: SearchProblem) -> None:
    """Subtract a customer from its route's load and size; the slot of an empty route becomes free."""
    nodes, slots, counts = tours.nodes, tours.slots, tours.counts
    customer = as_index(customer)
    slot = as_index(nodes[customer, ROUTE])
    nodes[customer, ROUTE] = NO_ROUTE
    slots[slot, ROOM] += problem.demands[customer]
    slots[slot, SIZE] -= 1
    if len(problem.rules) > 0:
        counts[SERVED] -= 1
    if slots[slot, SIZE] == 0:
        if len(problem.limited) > 0:
            tours.free[slots[slot, KIND]] += 1
        counts[USED] -= 1
        _swap_slots(slots, slot, counts[USED])


@compiled_inline
def close_slot(tours: Tours, slot: int, problem: SearchProblem) -> None:
    """Take all stops off a route with rules, whose slot becomes free."""
    nodes, slots, counts = tours.nodes, tours.slots, tours.counts
    stop = slots[slot, FIRST]
    while not is_end(stop, problem):
        nodes[stop, ROUTE] = NO_ROUTE
        stop = nodes[stop, AFTER]
    counts[SERVED] -= slots[slot, SIZE]
    slots[slot, SIZE] = 0
    tours.free[slots[slot, KIND]] += 1
    counts[USED] -= 1
    _swap_slots(slots, slot, counts[USED])


@compiled_inline
def change_kind(tours: Tours, slot: int, kind: int, problem: SearchProblem) -> float:
    """Give a route another type of vehicle; returns the change of the length. Times are not updated."""
    slots, kinds, distances = tours.slots, problem.kinds, problem.distances
    old, last, before = slots[slot, KIND], slots[slot, LAST], tours.lengths[slot]
    slots[slot, KIND] = kind
    slots[slot, ROOM] += kinds.capacities[kind] - kinds.capacities[old]
    way_back = measure_leg(distances, last, kinds.end_nodes[kind])
    tours.lengths[slot] -= measure_leg(distances, last, kinds.end_nodes[old])
    tours.lengths[slot] += way_back
    join(tours, slot, last, kinds.end_nodes[kind], way_back, problem)
    if len(problem.rules) > 0:
        first, start = slots[slot, FIRST], problem.rules.start_nodes[kind]
        join(tours, slot, start, first, measure_leg(distances, start, first), problem)
    tours.free[old] += 1
    tours.free[kind] -= 1
    return float(tours.lengths[slot] - before)


@compiled_inline
def join(tours: Tours, slot: int, one: int, other: int, length: float, problem: SearchProblem) -> None:
    """Link two stops of a route, or a start or end and a stop."""
    nodes, legs, slots = tours.nodes, tours.legs, tours.slots
    one, other, slot = as_index(one), as_index(other), as_index(slot)
    if is_stop(one, problem):
        nodes[one, AFTER] = other
        legs[one, AFTER] = length
    else:
        slots[slot, FIRST] = other
    if is_end(other, problem):
        slots[slot, LAST] = one
    else:
        nodes[other, BEFORE] = one
        legs[other, BEFORE] = length


@compiled_inline
def _swap_slots(slots: Longs, slot: int, place: int) -> None:
    """Swap a slot with the one at a place of the list of slots."""
    other, old_place = slots[place, SLOT_AT], slots[slot, PLACE]
    slots[place, SLOT_AT], slots[old_place, SLOT_AT] = slot, other
    slots[slot, PLACE], slots[other, PLACE] = place, old_place
