"""The routes of local search: linked stops and totals of each route, as two tables of records.

Stops 1 to n are the customers. Route r starts at stop n + 1 + 2 r and ends at the next; both stand for the depot. Stop
0 is unused, so that customers keep their numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.core.compiled import compiled_inline
from dynaroute.search.core.legs import Distances, measure_leg
from dynaroute.search.core.paths import Path
from dynaroute.search.core.problem import SearchProblem

_KEPT_ROUTES = 256  # routes whose insertions are cached
_KEPT_INSERTIONS = 1_000_000  # in total: 48 megabytes
_NO_ROUTE = -1
_GRANULARITY = 20  # nearest others next to which a customer is tried
_LEAST_GAIN = 1e-7  # relative to the longest leg; smaller gains may be rounding

# indices are unsigned, so that numba does not check for negative ones, which saves a seventh of the time
_STOP = np.dtype(
    [
        ("before", np.uint32),
        ("after", np.uint32),
        ("route", np.uint32),
        ("position", np.int32),  # on its route; 0 for the depot that it begins with
        ("node", np.uint32),  # row in the distances; 0 for a depot
        ("tested", np.int32),  # number of moves made when its own moves were last tried
        ("load", np.int64),  # total demand of its route up to this stop
        ("arrival", np.float64),  # length of the leg that ends here
        ("removal", np.float64),  # change of length if it is removed; used only by SWAP*
    ]
)
_ROUTE = np.dtype(
    [
        ("load", np.int64),
        ("length", np.float64),
        ("size", np.int32),
        ("changed", np.int32),  # number of moves made when it was last changed
        ("swapped", np.int32),  # number of moves made when SWAP* was last tried on it
        ("mark", np.int32),
    ]
)
_INSERTION = np.dtype(
    [
        ("first", np.float64),
        ("second", np.float64),
        ("third", np.float64),
        ("after_first", np.uint32),
        ("after_second", np.uint32),
        ("after_third", np.uint32),
        ("route", np.int32),  # the route inserted into; several routes may share a row
        ("tested", np.int32),  # number of moves made when this was computed
    ]
)


class Task(NamedTuple):
    """What compiled code needs to know about a problem.

    Attributes
    ----------
    distances
        For `measure_leg`.
    demands
        (M,) int64.
    neighbours
        (M, K) int32: near customers, next to which a customer may be moved.
    capacity
        Capacity of a vehicle.
    tolerance
        A move has to gain more than this.
    """

    distances: Distances
    demands: NDArray[np.int64]
    neighbours: NDArray[np.int32]
    capacity: int
    tolerance: float


class RouteTable(NamedTuple):
    """A solution under construction; allocated once per instance and reused.

    Attributes
    ----------
    stops, routes
        Records of each stop and of each route.
    insertions
        Records of each customer's three cheapest insertions into other routes, for SWAP*; one row per route.
    """

    stops: NDArray[Any]
    routes: NDArray[Any]
    insertions: NDArray[Any]


def make_task(problem: SearchProblem) -> Task:
    """Take from a problem what compiled code needs, with the nearest neighbours."""
    neighbours = np.ascontiguousarray(problem.neighbours[:, :_GRANULARITY])
    tolerance = _LEAST_GAIN * problem.longest_leg
    return Task(problem.distances, problem.demands, neighbours, problem.capacity, tolerance)


def make_route_table(size: int) -> RouteTable:
    """Allocate memory for any solution of n customers: at most n routes, plus an empty one."""
    nodes = size + 1
    kept = max(2, min(nodes, _KEPT_ROUTES, _KEPT_INSERTIONS // nodes))
    return RouteTable(
        stops=np.zeros(nodes + 2 * nodes, dtype=_STOP),
        routes=np.zeros(nodes, dtype=_ROUTE),
        insertions=np.zeros((kept, nodes), dtype=_INSERTION),
    )


@compiled_inline
def first_stop(route: int, size: int) -> int:
    """Return the depot that a route starts with."""
    return size + 1 + 2 * route


@compiled_inline
def price_excess(load: int, capacity: int, penalty: float) -> float:
    """Compute the penalty of a load: nothing up to the capacity. An infinite penalty forbids any excess."""
    return (load - capacity) * penalty if load > capacity else 0.0


@compiled_inline
def price_two_loads(load_u: int, load_v: int, capacity: int, penalty: float) -> float:
    """Compute the penalty of two loads.

    Their excess is summed as integers before it is priced. So moving load between two full vehicles leaves the price
    exactly the same, and no move is made for rounding.
    """
    excess = max(0, load_u - capacity) + max(0, load_v - capacity)
    return excess * penalty if excess > 0 else 0.0


@compiled_inline
def load_path(path: Path, table: RouteTable, task: Task) -> int:
    """Link the stops along a path; returns the number of routes, the last one empty."""
    stops, size, route = table.stops, len(task.demands) - 1, 0
    _open_route(route, table, size)
    last = first_stop(route, size)
    for node in path:
        if node != 0:
            stops[node].node = node
            stops[node].tested = -1
            stops[last].after = node
            stops[node].before = last
            last = node
        elif last != first_stop(route, size):
            _close_ring(last, route, table, size)
            refresh_route(route, 0, table, task)
            route += 1
            _open_route(route, table, size)
            last = first_stop(route, size)
    _close_ring(last, route, table, size)
    refresh_route(route, 0, table, task)
    return route + 1


@compiled_inline
def _open_route(route: int, table: RouteTable, size: int) -> None:
    start = first_stop(route, size)
    for depot in (start, start + 1):
        table.stops[depot].node = 0
        table.stops[depot].route = route
    table.routes[route].swapped = -1
    table.routes[route].mark = -1
    row = route % len(table.insertions)
    for customer in range(1, size + 1):
        table.insertions[row, customer].route = _NO_ROUTE


@compiled_inline
def _close_ring(last: int, route: int, table: RouteTable, size: int) -> None:
    """Link the last stop to the depot, and that to the start, so that every stop has two on either side."""
    stops, start = table.stops, first_stop(route, size)
    stops[last].after = start + 1
    stops[start + 1].before = last
    stops[start + 1].after = start
    stops[start].before = start + 1


@compiled_inline
def refresh_route(route: int, moves: int, table: RouteTable, task: Task) -> None:
    """Update a route's positions, loads and lengths after its links changed; `moves` is the time stamp."""
    stops, distances, demands = table.stops, task.distances, task.demands
    stop = first_stop(route, len(demands) - 1)
    end = stop + 1
    position, load, length, previous = 0, 0, 0.0, 0
    stops[stop].position = 0
    stops[stop].load = 0
    while stop != end:
        stop = stops[stop].after
        node = stops[stop].node
        arrival = measure_leg(distances, previous, node)
        position += 1
        load += demands[node]
        length += arrival
        stops[stop].position = position
        stops[stop].route = route
        stops[stop].load = load
        stops[stop].arrival = arrival
        previous = node
    record = table.routes[route]
    record.size = position - 1
    record.load = load
    record.length = length
    record.changed = moves


@compiled_inline
def find_empty_route(count: int, table: RouteTable, task: Task) -> int:
    """Find an empty route among the first `count`, or else return the next one."""
    for route in range(count):
        if table.routes[route].size == 0:
            return route
    size = len(task.demands) - 1
    _open_route(count, table, size)
    _close_ring(first_stop(count, size), count, table, size)
    refresh_route(count, 0, table, task)
    return count


@compiled_inline
def unload_path(route_order: NDArray[np.int32], table: RouteTable, size: int, path: Path) -> None:
    """Write routes in this order into a path, skipping empty ones; the rest is set to 0."""
    stops, place = table.stops, 1
    path[:] = 0
    for route in route_order:
        start = first_stop(route, size)
        stop = stops[start].after
        if stop == start + 1:
            continue
        while stop != start + 1:
            path[place] = stop
            place += 1
            stop = stops[stop].after
        place += 1


@compiled_inline
def total_length(table: RouteTable, count: int) -> float:
    """Sum the lengths of the first `count` routes."""
    total = 0.0
    for route in range(count):
        total += table.routes[route].length
    return total


@compiled_inline
def total_excess(table: RouteTable, count: int, capacity: int) -> int:
    """Sum the load above the capacity over the first `count` routes."""
    total = 0
    for route in range(count):
        total += max(0, table.routes[route].load - capacity)
    return total
