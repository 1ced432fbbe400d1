"""Routes made into tours, and read from them again.

With limits, each route starts with the number of its type of vehicle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.annealing.tours import (
    ABSENT,
    MOST,
    NO_ROUTE,
    PLACE,
    ROUTE,
    SLOT_AT,
    Tours,
    insert_stop,
    open_slot,
)
from dynaroute.search.core.compiled import compiled_inline, make_apart
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.with_limits.problem import list_required
from dynaroute.search.with_limits.times import refresh_times

__all__ = ["make_tours", "read_routes"]


def make_tours(problem: SearchProblem, routes: Sequence[Sequence[int]], most: int | None = None) -> Tours:
    """Make tours from routes; all other customers are missing.

    Parameters
    ----------
    problem
        The problem.
    routes
        Routes within all limits.
    most
        The most routes allowed.
    """
    size, nodes = problem.size, len(problem.demands)
    slots = np.zeros((size, 7), dtype=np.int64)
    slots[:, PLACE] = slots[:, SLOT_AT] = np.arange(size)
    tours = Tours(np.zeros((nodes, 3), dtype=np.int32), np.zeros((nodes, 2)), slots, make_apart(4, np.int64))
    tours.nodes[:, ROUTE] = NO_ROUTE
    tours.counts[MOST] = size if most is None else most
    if problem.limited:
        tours = _add_limits(tours, problem, routes)
    if problem.rules:
        tours = _add_rules(tours, problem)
    typed = routes if problem.limited else [(0, *route) for route in routes]
    flat = [number for kind, *stops in typed if stops for number in (-1 - kind, *stops)]
    _drive(tours, np.array(flat, dtype=np.int64), problem)
    return tours


def _add_limits(tours: Tours, problem: SearchProblem, routes: Sequence[Sequence[int]]) -> Tours:
    """Add what is known about routes with limits, and list the missing customers."""
    served = {customer for _, *stops in routes for customer in stops}
    if problem.rules:
        served = {int(problem.rules.orders[customer]) for customer in served}
    missing = [customer for customer in list_required(problem) if customer not in served]
    nodes, size = len(problem.demands), problem.size
    tours = tours._replace(
        lengths=np.zeros(size),
        free=problem.kinds.counts.copy(),
        absent=np.zeros(size, dtype=np.int32),
        ready=np.zeros(nodes),
        due=np.zeros(nodes),
        ahead=np.zeros((nodes, 3)),
        behind=np.zeros((nodes, 3)),
    )
    tours.absent[: len(missing)] = missing
    tours.counts[ABSENT] = len(missing)
    return tours


def _add_rules(tours: Tours, problem: SearchProblem) -> Tours:
    """Add what is known about routes with rules."""
    nodes, size, dimensions = len(problem.demands), problem.size, problem.rules.rooms.shape[1]
    return tours._replace(
        due=np.full(nodes, np.inf),  # where nothing can be too late, it stays so
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


@compiled_inline
def _drive(tours: Tours, flat: NDArray[np.int64], problem: SearchProblem) -> None:
    """Fill tours with concatenated routes, each of which starts with -1 minus its type."""
    previous, slot = 0, -1
    for place in range(len(flat)):
        if flat[place] < 0:
            previous, slot = 0, slot + 1
            open_slot(tours, slot, -1 - flat[place], problem)
        else:
            insert_stop(tours, flat[place], slot, previous, problem)
            previous = flat[place]
    if len(problem.limited) > 0:
        for opened in range(slot + 1):
            refresh_times(tours, opened, problem)


def read_routes(after: NDArray[np.int32], kinds: NDArray[np.int32] | None = None) -> tuple[tuple[int, ...], ...]:
    """List routes by their first customers.

    Parameters
    ----------
    after
        The stop after each customer.
    kinds
        With limits: the type of vehicle of each route at its customers, -1 at missing ones. Then routes start with it.
    """
    size = len(after) - (1 if kinds is None else 3)
    is_first = np.ones(size + 1, dtype=np.bool_) if kinds is None else kinds[: size + 1] >= 0
    is_first[0] = False
    behind = after[: size + 1][is_first]
    is_first[behind[behind <= size]] = False
    following, routes = after.tolist(), []
    for first in np.flatnonzero(is_first).tolist():
        route, customer = [] if kinds is None else [int(kinds[first])], first
        while 0 < customer <= size:
            route.append(customer)
            customer = following[customer]
        routes.append(tuple(route))
    return tuple(routes)
