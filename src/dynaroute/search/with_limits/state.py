"""The arrays of a plan that is being changed: linked lists, what is known about each stop, and what was changed."""

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
    "FleetLog",
    "FleetTours",
    "append_span",
    "make_fleet_log",
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


class FleetLog(NamedTuple):
    """The record of one iteration, so that it can be undone.

    Attributes
    ----------
    removed
        (n, 3) removed customers in order: customer, slot of its route, stop before it.
    order
        (n,) customers to insert, in order.
    keys
        (n,) sort keys of that order.
    ruined
        (n,) last iteration that removed customers from each route.
    touched
        (n, 2) slots of the routes that lost customers, and their types of vehicle before.
    absences
        (n + 1,) how often no position was found for each customer, plus 1.
    blinks
        (1,) positions to check before the next one is skipped.
    saved
        (n, 4) the routes as they were before the iteration, if there are rules: slot, type of vehicle (-1 if the slot
        was not in use), and where their stops begin and end in `stops`.
    stops
        (n,) their stops.
    stamps
        (n, 2) the last iteration that saved each slot, and the last look at it, or at a customer.
    now
        (5,) the present iteration, the number of saved routes, the number of their stops, the present look, and the
        customer around whom routes are ruined.
    """

    removed: NDArray[np.int32]
    order: NDArray[np.int32]
    keys: NDArray[np.float64]
    ruined: NDArray[np.int64]
    touched: NDArray[np.int64]
    absences: NDArray[np.int64]
    blinks: NDArray[np.int64]
    saved: NDArray[np.int64]
    stops: NDArray[np.int32]
    stamps: NDArray[np.int64]
    now: NDArray[np.int64]


def make_fleet_log(size: int) -> FleetLog:
    """Make an empty log for n customers."""
    return FleetLog(
        removed=np.zeros((size, 3), dtype=np.int32),
        order=np.zeros(size, dtype=np.int32),
        keys=np.zeros(size),
        ruined=np.full(size, -1, dtype=np.int64),
        touched=np.zeros((size, 2), dtype=np.int64),
        absences=np.ones(size + 1, dtype=np.int64),
        blinks=np.zeros(1, dtype=np.int64),
        saved=np.zeros((size, 4), dtype=np.int64),
        stops=np.zeros(size, dtype=np.int32),
        stamps=np.zeros((size, 2), dtype=np.int64),
        now=np.zeros(5, dtype=np.int64),
    )


@compiled_inline
def append_span(
    span: float, early: float, late: float, between: float, span_after: float, early_after: float, late_after: float
) -> tuple[float, float, float]:
    """Join two parts of a route: the least duration of both, and its earliest and latest start."""
    offset = span + between
    waiting = max(0.0, early_after - offset - late)
    return offset + span_after + waiting, max(early_after - offset, early) - waiting, min(late_after - offset, late)
