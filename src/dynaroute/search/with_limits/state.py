"""The arrays of a plan that is being changed: routes as linked lists, and what is known about each stop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.core.compiled import compiled_inline

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
    "FleetTours",
    "append_span",
]

AFTER, BEFORE, ROUTE = 0, 1, 2  # columns of FleetTours.nodes
FIRST, LAST, ROOM, SIZE, KIND, PLACE, SLOT_AT = 0, 1, 2, 3, 4, 5, 6  # columns of FleetTours.slots
USED, ABSENT, MOST, SERVED = 0, 1, 2, 3  # entries of FleetTours.counts
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
        (4,) slots in use, missing customers who must be served, the most slots that may be in use, and stops on
        routes (only if there are rules).
    prices, driving, spans
        (n,) price, driving time and least duration of each route. These and the next two only if there are rules.
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
    prices: NDArray[np.float64]
    driving: NDArray[np.float64]
    spans: NDArray[np.float64]
    peaks: NDArray[np.int64]
    late: NDArray[np.float64]
    path: NDArray[np.int32]
    events: NDArray[np.float64]
    clocks: NDArray[np.float64]
    rests: NDArray[np.int64]
    tops: NDArray[np.int64]


@compiled_inline
def append_span(
    span: float, early: float, late: float, between: float, span_after: float, early_after: float, late_after: float
) -> tuple[float, float, float]:
    """Join two parts of a route: the least duration of both, and its earliest and latest start."""
    offset = span + between
    waiting = max(0.0, early_after - offset - late)
    return offset + span_after + waiting, max(early_after - offset, early) - waiting, min(late_after - offset, late)
