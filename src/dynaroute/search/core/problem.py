"""One instance as plain arrays, for compiled code."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.limits import LARGEST_MATRIX, memory_for_search, require_memory
from dynaroute.base.stopping import OutOfTimeError
from dynaroute.problem.instance import Instance
from dynaroute.problem.lengths import ROUNDING_CODES
from dynaroute.search.core.compiled import compiled
from dynaroute.search.core.legs import Distances, Globe, Plane, measure_legs, place_nodes
from dynaroute.search.core.neighbours import grow_tree, list_nearest_points
from dynaroute.search.with_limits.rules import NOTHING, OFF, Kinds, Rules, Switch

__all__ = ["SearchProblem", "list_matrix_rows", "list_nearest"]

_ENTRIES_AT_ONCE = 250_000  # between two checks of the clock: a few milliseconds
_POINTS_AT_ONCE = 500


class SearchProblem(NamedTuple):
    """A problem of n customers for compiled code; node 0 is the depot.

    There are M = n + 1 nodes. With limits there are N = n + 3, because the last two are ends of routes: the return to
    the depot, and the end of an open route, which no distance or duration leads to. So the legs of all routes are
    measured in the same way. What a problem does not need is an empty tuple, which compiled code knows by its type.

    Attributes
    ----------
    distances
        For `measure_leg`: leg lengths exactly as in the instance, as a matrix, or the nodes' positions.
    demands
        (M,) or (N,) int64; the depot's is 0.
    capacity
        Capacity of a vehicle, the largest if there are several types.
    neighbours
        (M, K) or (N, K) int32: the nearest customers of each node, nearest first, without itself and the depot. Ties go
        to the lower number.
    durations
        (N, N) seconds from the start of service at one node to the arrival at another. This and the next only with
        limits.
    earliest, latest
        (N,) earliest and latest start of service.
    kinds
        The types of vehicles.
    alone
        (N, T) cost of a route of each type that serves only this customer; infinite if not allowed.
    before, after
        (N, P) int32: possible direct predecessors and successors of each customer, nearest first; -1 ends a list.
    is_before
        (N, N) whether the first node is in the list of predecessors of the second.
    has_durations
        Whether any type has a longest duration.
    absence_price
        Price of a customer that is not served: more than any plan costs.
    vehicle_price
        Price of a route; 0 unless the number of vehicles comes first.
    rules
        Further rules.
    limited, paired, optional, driven, reloading
        Whether there are windows, limits or several types of vehicles; shipments; customers who may be left out; rules
        for which routes are driven stop by stop; and vehicles that load again.
    """

    distances: Distances
    demands: NDArray[np.int64]
    capacity: int
    neighbours: NDArray[np.int32]
    durations: NDArray[np.float64] = NOTHING
    earliest: NDArray[np.float64] = NOTHING
    latest: NDArray[np.float64] = NOTHING
    kinds: Kinds = NOTHING
    alone: NDArray[np.float64] = NOTHING
    before: NDArray[np.int32] = NOTHING
    after: NDArray[np.int32] = NOTHING
    is_before: NDArray[np.bool_] = NOTHING
    has_durations: bool = False
    absence_price: float = 0.0
    vehicle_price: float = 0.0
    rules: Rules = NOTHING
    limited: Switch = OFF
    paired: Switch = OFF
    optional: Switch = OFF
    driven: Switch = OFF
    reloading: Switch = OFF

    @property
    def size(self) -> int:
        """Number of customers."""
        return len(self.demands) - (3 if self.limited else 1)

    @classmethod
    def from_instance(
        cls,
        instance: Instance,
        neighbours: int = 100,
        is_time_up: Callable[[], bool] | None = None,
        largest_matrix: int = LARGEST_MATRIX,
    ) -> SearchProblem:
        """Measure all legs of an instance, unless it is large, and list near customers.

        Parameters
        ----------
        instance
            Any problem.
        neighbours
            Most near customers to list per node.
        is_time_up
            Called every few milliseconds; True gives up.
        largest_matrix
            Number of customers up to which all legs are precomputed; a given matrix is always kept.

        Raises
        ------
        OutOfTimeError
            If the time was up before the problem was ready.
        """
        require_memory(memory_for_search(instance.size, instance.distances is not None))
        nearest = np.empty((instance.size + 1, min(neighbours, instance.size - 1)), dtype=np.int32)
        is_measured = instance.distances is not None or instance.size <= largest_matrix
        measure = _measure_all if is_measured else _measure_on_demand
        distances = measure(instance, nearest, is_time_up)
        return cls(distances, instance.demands.copy(), instance.capacity, nearest)

    @property
    def has_matrix(self) -> bool:
        """Whether all legs are precomputed."""
        return isinstance(self.distances, np.ndarray)

    @property
    def longest_leg(self) -> float:
        """Length of the longest leg; without a matrix, an upper bound: twice the longest from the depot."""
        if isinstance(self.distances, np.ndarray):
            return float(self.distances.max())
        nodes = np.arange(self.size + 1)
        return 2 * float(measure_legs(self.distances, np.zeros_like(nodes), nodes).max())

    def cost(self, routes: Sequence[Sequence[int]]) -> float:
        """Measure routes, like `Solution.cost`; with limits, each starts with the number of its type of vehicle."""
        legs: list[tuple[int, int]] = []
        for route in routes:
            kind, stops = (route[0], route[1:]) if self.limited else (0, route)
            end = int(self.kinds.end_nodes[kind]) if self.limited else 0
            legs.extend(zip((0, *stops), (*stops, end), strict=True))
        origins, nodes = np.array(legs, dtype=np.int64).reshape(-1, 2).T.copy()
        return math.fsum(measure_legs(self.distances, origins, nodes))


def _measure_all(
    instance: Instance, nearest: NDArray[np.int32], is_time_up: Callable[[], bool] | None
) -> NDArray[np.float64]:
    """Compute all leg lengths as a matrix, and list each node's nearest customers."""
    nodes = instance.size + 1
    distances = np.empty((nodes, nodes))
    for rows in list_matrix_rows(nodes, is_time_up):
        _measure(instance, rows, distances[rows])
        list_nearest(distances[rows], rows.start, nearest[rows])
    return distances


def _measure_on_demand(
    instance: Instance, nearest: NDArray[np.int32], is_time_up: Callable[[], bool] | None
) -> Plane | Globe:
    """Return the nodes' positions, and list each node's nearest customers, before rounding."""
    places = place_nodes(instance)
    tree = grow_tree(places.points, 1)
    for rows in _list_portions(instance.size + 1, _POINTS_AT_ONCE, is_time_up):
        list_nearest_points(tree, rows.start, nearest[rows])
    return places


def list_matrix_rows(nodes: int, is_time_up: Callable[[], bool] | None) -> Iterator[slice]:
    """List the rows of a matrix, a few milliseconds of work at a time; raises OutOfTimeError when the time is up."""
    return _list_portions(nodes, max(1, _ENTRIES_AT_ONCE // nodes), is_time_up)


def _list_portions(count: int, step: int, is_time_up: Callable[[], bool] | None) -> Iterator[slice]:
    for first in range(0, count, step):
        if is_time_up is not None and is_time_up():
            raise OutOfTimeError
        yield slice(first, min(first + step, count))


def _measure(instance: Instance, rows: slice, into: NDArray[np.float64]) -> None:
    """Measure legs from some nodes to all."""
    if instance.distances is not None:
        into[:] = instance.distances[rows]
    elif instance.metric == "euclidean":
        assert instance.coordinates is not None
        # a copy, because compiled code distinguishes read-only arrays and would be compiled twice
        coordinates = instance.coordinates.copy()
        _measure_straight_lines(coordinates, rows.start, ROUNDING_CODES[instance.rounding], into)
    else:
        into[:] = instance.leg_lengths(np.arange(rows.start, rows.stop)[:, None], np.arange(instance.size + 1))


@compiled
def _measure_straight_lines(
    coordinates: NDArray[np.float64], first: int, rounding: int, into: NDArray[np.float64]
) -> None:
    """Compute exactly what `Instance.leg_lengths` does, several times faster."""
    count, nodes = into.shape
    x, y = np.ascontiguousarray(coordinates[:, 0]), np.ascontiguousarray(coordinates[:, 1])
    for row in range(count):
        x_row, y_row = x[first + row], y[first + row]
        for node in range(nodes):
            width, height = x_row - x[node], y_row - y[node]
            into[row, node] = np.sqrt(width * width + height * height)
        if rounding == 1:
            for node in range(nodes):
                into[row, node] = np.floor(into[row, node] + 0.5)
        elif rounding == 2:
            for node in range(nodes):
                into[row, node] = np.ceil(into[row, node])


@compiled
def list_nearest(distances: NDArray[np.float64], first: int, nearest: NDArray[np.int32]) -> None:
    """For each row, which is node `first` + row, list the nearest customers, nearest first.

    They are collected in a heap whose root is the farthest, and sorted at the end.
    """
    count, nodes = distances.shape
    wanted = nearest.shape[1]
    if wanted == 0:
        return
    for row in range(count):
        heap, away = nearest[row], distances[row]
        listed = 0
        for customer in range(1, nodes):
            if customer == first + row:
                continue
            if listed < wanted:
                heap[listed] = customer
                listed += 1
                if listed == wanted:
                    for place in range(wanted // 2 - 1, -1, -1):
                        _sink(heap, place, wanted, away)
            elif away[customer] < away[heap[0]]:
                heap[0] = customer
                _sink(heap, 0, wanted, away)
        for last in range(wanted - 1, 0, -1):
            heap[0], heap[last] = heap[last], heap[0]
            _sink(heap, 0, last, away)


@compiled
def _sink(heap: NDArray[np.int32], place: int, length: int, away: NDArray[np.float64]) -> None:
    """Restore the heap below a place; among equally far customers, the higher number counts as farther."""
    customer = heap[place]
    while True:
        child = 2 * place + 1
        if child >= length:
            break
        if child + 1 < length and _is_farther(heap[child + 1], heap[child], away):
            child += 1
        if not _is_farther(heap[child], customer, away):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = customer


@compiled
def _is_farther(one: int, other: int, away: NDArray[np.float64]) -> bool:
    return away[one] > away[other] or (away[one] == away[other] and one > other)
