"""Routes as linked lists in flat arrays, with insertion and removal in constant time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.core.compiled import as_index, compiled_inline, make_apart
from dynaroute.search.core.legs import measure_leg
from dynaroute.search.core.problem import SearchProblem

__all__ = [
    "AFTER",
    "BEFORE",
    "FIRST",
    "LOAD",
    "NO_ROUTE",
    "ROUTE",
    "SIZE",
    "SLOT_AT",
    "Tours",
    "insert_customer",
    "join",
    "link_customer",
    "load_customer",
    "make_tours",
    "read_routes",
    "remove_customer",
    "unload_customer",
]

AFTER, BEFORE, ROUTE = 0, 1, 2  # columns of Tours.nodes; the first two of Tours.legs too
FIRST, LAST, LOAD, SIZE, PLACE, SLOT_AT = 0, 1, 2, 3, 4, 5  # columns of Tours.slots
NO_ROUTE = -1

Integers = NDArray[np.int32]
Longs = NDArray[np.int64]
Lengths = NDArray[np.float64]


class Tours(NamedTuple):
    """A solution under construction: M nodes, and a slot for each of up to n routes.

    Attributes
    ----------
    nodes
        (M, 3) for each customer: the stop after it, the stop before it (0 is the depot), and the slot of its route, or
        -1 if it has none.
    legs
        (M, 2) for each customer: lengths of the legs to those two stops.
    slots
        (n, 6) for each slot: first and last customer, load, number of customers, and its place in the list of slots;
        the last column is that list, with used slots first.
    used
        (1,) number of slots in use.
    """

    nodes: Integers
    legs: Lengths
    slots: Longs
    used: Longs


def make_tours(problem: SearchProblem, routes: Sequence[Sequence[int]]) -> Tours:
    """Make tours from routes."""
    size = problem.size
    nodes = np.zeros((size + 1, 3), dtype=np.int32)
    nodes[:, ROUTE] = NO_ROUTE
    slots = np.zeros((size, 6), dtype=np.int64)
    slots[:, PLACE] = slots[:, SLOT_AT] = np.arange(size)
    tours = Tours(nodes, np.zeros((size + 1, 2)), slots, make_apart(1, np.int64))
    flat = np.array([stop for route in routes if route for stop in (*route, 0)], dtype=np.int32)
    _drive(tours, flat, problem)
    return tours


@compiled_inline
def _drive(tours: Tours, flat: Integers, problem: SearchProblem) -> None:
    """Fill tours with consecutive routes, each ended by a 0."""
    previous, slot = 0, 0
    for customer in flat:
        if customer == 0:
            previous, slot = 0, slot + 1
        else:
            insert_customer(tours, customer, slot, previous, problem)
            previous = customer


def read_routes(after: Integers) -> tuple[tuple[int, ...], ...]:
    """Convert to tuples, given the stop after each customer, sorted by first customer."""
    is_first = np.ones(len(after), dtype=np.bool_)
    is_first[after[1:]] = False
    is_first[0] = False
    following, routes = after.tolist(), []
    for customer in np.flatnonzero(is_first).tolist():
        route = []
        while customer != 0:
            route.append(customer)
            customer = following[customer]
        routes.append(tuple(route))
    return tuple(routes)


@compiled_inline
def insert_customer(tours: Tours, customer: int, slot: int, previous: int, problem: SearchProblem) -> None:
    """Insert a customer after another, or first if previous is 0; an unused slot becomes a route."""
    following = tours.nodes[previous, AFTER]
    if previous == 0:
        following = tours.slots[slot, FIRST] if tours.slots[slot, SIZE] > 0 else 0
    arrival = measure_leg(problem.distances, previous, customer)
    departure = measure_leg(problem.distances, customer, following)
    link_customer(tours, customer, slot, previous, following, arrival, departure)
    load_customer(tours, customer, slot, problem)


@compiled_inline
def link_customer(
    tours: Tours, customer: int, slot: int, previous: int, following: int, arrival: float, departure: float
) -> None:
    """Insert a customer between two stops of a route, given the lengths of both legs."""
    tours.nodes[customer, ROUTE] = slot
    join(tours, slot, previous, customer, arrival)
    join(tours, slot, customer, following, departure)


@compiled_inline
def load_customer(tours: Tours, customer: int, slot: int, problem: SearchProblem) -> None:
    """Add a customer to a route's load and size; an unused slot becomes a route."""
    slots, used = tours.slots, tours.used
    customer, slot = as_index(customer), as_index(slot)
    if slots[slot, SIZE] == 0:
        _swap_slots(slots, slot, used[0])
        used[0] += 1
    slots[slot, LOAD] += problem.demands[customer]
    slots[slot, SIZE] += 1


@compiled_inline
def remove_customer(tours: Tours, customer: int, problem: SearchProblem) -> None:
    """Remove a customer from its route; the slot of an empty route becomes free."""
    nodes = tours.nodes
    slot, previous, following = nodes[customer, ROUTE], nodes[customer, BEFORE], nodes[customer, AFTER]
    join(tours, slot, previous, following, measure_leg(problem.distances, previous, following))
    unload_customer(tours, customer, problem)


@compiled_inline
def unload_customer(tours: Tours, customer: int, problem: SearchProblem) -> None:
    """Subtract a customer from its route's load and size; the slot of an empty route becomes free."""
    nodes, slots, used = tours.nodes, tours.slots, tours.used
    customer = as_index(customer)
    slot = as_index(nodes[customer, ROUTE])
    nodes[customer, ROUTE] = NO_ROUTE
    slots[slot, LOAD] -= problem.demands[customer]
    slots[slot, SIZE] -= 1
    if slots[slot, SIZE] == 0:
        used[0] -= 1
        _swap_slots(slots, slot, used[0])


@compiled_inline
def join(tours: Tours, slot: int, one: int, other: int, length: float) -> None:
    """Link two stops of a route, or the depot and a stop."""
    nodes, legs, slots = tours.nodes, tours.legs, tours.slots
    one, other, slot = as_index(one), as_index(other), as_index(slot)
    if one == 0:
        slots[slot, FIRST] = other
    else:
        nodes[one, AFTER] = other
        legs[one, AFTER] = length
    if other == 0:
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
