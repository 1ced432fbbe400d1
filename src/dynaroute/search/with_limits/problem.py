"""An instance with time windows, limits or several types of vehicles, as plain arrays for compiled code.

Two extra nodes are the ends of routes: `n + 1` is the return to the depot, and `n + 2` is the end of an open route,
which no distance or duration leads to. So compiled code measures the legs of all routes in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.memory import memory_for_fleets, require_memory
from dynaroute.problem.fleet import TOLERANCE
from dynaroute.problem.instance import Instance
from dynaroute.problem.timetable import earliest_departure, latest_end
from dynaroute.search.core.problem import list_matrix_rows, list_nearest

__all__ = ["FleetProblem", "FleetRoutes", "Kinds", "price_absence"]

_TOLERANCE = TOLERANCE / 4  # `check` may sum in another order, and its tolerance must not be exceeded
_WAITING_WEIGHT = 0.2  # weight of waiting between two customers, relative to driving

Lengths = NDArray[np.float64]
Longs = NDArray[np.int64]
Nodes = NDArray[np.int32]

# each route: the number of its type of vehicle among `Instance.alike_types`, then its customers
FleetRoutes = tuple[tuple[int, ...], ...]


class Kinds(NamedTuple):
    """The types of vehicles, alike ones merged; each array has one entry per type.

    Attributes
    ----------
    capacities, counts, stops
        Capacity of a vehicle, number of vehicles, and the most customers on a route.
    distances, durations
        Longest distance and longest duration of a route; infinite if unlimited.
    starts, ends
        Earliest departure, and latest end.
    end_nodes
        Node where the routes end.
    """

    capacities: Longs
    counts: Longs
    stops: Longs
    distances: Lengths
    durations: Lengths
    starts: Lengths
    ends: Lengths
    end_nodes: Longs


class FleetProblem(NamedTuple):
    """A problem with N = n + 3 nodes: the depot at 0, the customers, and two ends of routes.

    Attributes
    ----------
    distances
        (N, N) leg lengths, exactly as the instance measures them.
    durations
        (N, N) seconds from the start of service at one node to the arrival at another.
    demands
        (N,) int64.
    earliest, latest
        (N,) earliest and latest start of service.
    kinds
        The types of vehicles.
    alone
        (N, T) cost of a route of each type that serves only this customer; infinite if not allowed.
    neighbours
        (N, K) int32: the nearest customers of each node, nearest first.
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
    """

    distances: Lengths
    durations: Lengths
    demands: Longs
    earliest: Lengths
    latest: Lengths
    kinds: Kinds
    alone: Lengths
    neighbours: Nodes
    before: Nodes
    after: Nodes
    is_before: NDArray[np.bool_]
    has_durations: bool
    absence_price: float
    vehicle_price: float

    @property
    def size(self) -> int:
        """Number of customers."""
        return len(self.demands) - 3

    @property
    def fewest_routes(self) -> int:
        """A lower bound on the number of routes, by capacities and longest numbers of stops."""
        return max(
            _count_vehicles(int(self.demands.sum()), self.kinds.capacities, self.kinds.counts),
            _count_vehicles(self.size, self.kinds.stops, self.kinds.counts),
        )

    @classmethod
    def from_instance(
        cls,
        instance: Instance,
        vehicles_first: bool = False,
        neighbours: int = 100,
        beside: int = 40,
        is_time_up: Callable[[], bool] | None = None,
    ) -> FleetProblem:
        """Measure all legs of an instance, and list near customers.

        Parameters
        ----------
        instance
            Any problem.
        vehicles_first
            Whether fewer routes are better, whatever their length.
        neighbours, beside
            How many near customers to list for each node, and how many predecessors and successors.
        is_time_up
            Called every few milliseconds; returning true gives up.

        Raises
        ------
        OutOfTimeError
            If the time was up before the problem was ready.
        """
        size = instance.size
        require_memory(memory_for_fleets(size))
        distances, durations = np.zeros((size + 3, size + 3)), np.zeros((size + 3, size + 3))
        for rows in list_matrix_rows(size + 1, is_time_up):
            origins, nodes = np.arange(rows.start, rows.stop)[:, None], np.arange(size + 1)
            distances[rows, : size + 1] = instance.leg_lengths(origins, nodes)
            if instance.has_times:
                durations[rows, : size + 1] = instance.leg_durations(origins, nodes)
        distances[:, size + 1], durations[:, size + 1] = distances[:, 0], durations[:, 0]
        seconds = durations.sum()
        pace = float(distances.sum() / seconds) if seconds > 0 else 0.0  # converts seconds to lengths
        if instance.service is not None and instance.has_times:
            durations[: size + 1] += instance.service[:, None]
        earliest, latest = np.zeros(size + 3), np.full(size + 3, np.inf)
        if instance.windows is not None:
            earliest[1 : size + 1], latest[1 : size + 1] = instance.windows[1:].T
        latest += _TOLERANCE
        demands = np.append(instance.demands, (0, 0)).astype(np.int64)
        kinds = _list_kinds(instance)
        neighbourhood = _list_near(
            distances, durations, earliest, latest, pace, min(neighbours, size - 1), min(beside, size - 1), is_time_up
        )
        absence_price, vehicle_price = price_absence(instance, vehicles_first)
        return cls(
            distances,
            durations,
            demands,
            earliest,
            latest,
            kinds,
            _price_alone(distances, durations, demands, earliest, latest, kinds),
            *neighbourhood,
            has_durations=bool(np.isfinite(kinds.durations).any()),
            absence_price=absence_price,
            vehicle_price=vehicle_price,
        )

    def cost(self, routes: FleetRoutes) -> float:
        """The total length of routes, as in `Solution.cost`."""
        legs: list[float] = []
        for kind, *stops in routes:
            legs.extend(self.distances[[0, *stops], [*stops, self.kinds.end_nodes[kind]]].tolist())
        return math.fsum(legs)

    def price(self, routes: FleetRoutes) -> float:
        """The total length of routes plus the prices of missing customers and of vehicles."""
        absent = self.size - sum(len(route) - 1 for route in routes)
        return self.cost(routes) + self.absence_price * absent + self.vehicle_price * len(routes)


def _count_vehicles(amount: int, limits: Longs, counts: Longs) -> int:
    """How many vehicles an amount needs, using the largest first."""
    needed = 0
    for limit, count in sorted(zip(limits.tolist(), counts.tolist(), strict=True), reverse=True):
        used = min(count, -(-amount // limit))
        needed, amount = needed + used, amount - used * limit
        if amount <= 0:
            break
    return needed


def price_absence(instance: Instance, vehicles_first: bool) -> tuple[float, float]:
    """The prices of a customer that is not served, and of a vehicle.

    If vehicles come first, a vehicle costs more than any difference in length, and a customer more than all vehicles.
    """
    customers = np.arange(1, instance.size + 1)
    bound = 2 * float((instance.leg_lengths(0, customers) + instance.leg_lengths(customers, 0)).sum()) + 1.0
    vehicle = bound if vehicles_first else 0.0
    return bound + instance.size * vehicle, vehicle


def _list_kinds(instance: Instance) -> Kinds:
    size = instance.size
    vehicles = [group.merged for group in instance.alike_types]
    is_open = np.array([each.end == "open" for each in vehicles])
    return Kinds(
        capacities=np.array([each.capacity for each in vehicles], dtype=np.int64),
        counts=np.array([min(size, each.count or size) for each in vehicles], dtype=np.int64),
        stops=np.array([min(size, each.max_stops or size) for each in vehicles], dtype=np.int64),
        distances=_read_limits(each.max_distance for each in vehicles),
        durations=_read_limits(each.max_duration for each in vehicles),
        starts=np.array([earliest_departure(instance, each) for each in vehicles]),
        ends=np.array([latest_end(instance, each) for each in vehicles]) + _TOLERANCE,
        end_nodes=np.where(is_open, size + 2, size + 1).astype(np.int64),
    )


def _read_limits(values: Iterable[float | None]) -> Lengths:
    return np.array([np.inf if value is None else value + _TOLERANCE for value in values])


def _price_alone(
    distances: Lengths, durations: Lengths, demands: Longs, earliest: Lengths, latest: Lengths, kinds: Kinds
) -> Lengths:
    prices = np.empty((len(demands), len(kinds.counts)))
    for kind, end_node in enumerate(kinds.end_nodes.tolist()):  # one by one, because there may be a thousand
        lengths, outward, onward = distances[0] + distances[:, end_node], durations[0], durations[:, end_node]
        begins = np.maximum(kinds.starts[kind] + outward, earliest)
        fits = demands <= kinds.capacities[kind]
        fits &= (begins <= latest) & (begins + onward <= kinds.ends[kind])
        fits &= lengths <= kinds.distances[kind]
        fits &= outward + onward <= kinds.durations[kind]  # leaving late avoids waiting
        prices[:, kind] = np.where(fits, lengths, np.inf)
    return prices


def _list_near(
    distances: Lengths,
    durations: Lengths,
    earliest: Lengths,
    latest: Lengths,
    pace: float,
    neighbours: int,
    beside: int,
    is_time_up: Callable[[], bool] | None,
) -> tuple[Nodes, Nodes, Nodes, NDArray[np.bool_]]:
    """List the neighbours, predecessors and successors of each node; and the predecessors as a matrix.

    After T. Vidal et al. (2013): waiting between two customers counts as distance.
    """
    nodes, among = len(distances), len(distances) - 2
    near = np.zeros((nodes, neighbours), dtype=np.int32)
    before, after = np.full((nodes, beside), -1, dtype=np.int32), np.full((nodes, beside), -1, dtype=np.int32)
    is_before = np.zeros((nodes, nodes), dtype=np.bool_)
    everyone = slice(0, among)
    for rows in list_matrix_rows(among, is_time_up):
        onward = _weigh(rows, everyone, distances, durations, earliest, latest, pace)
        back = np.ascontiguousarray(_weigh(everyone, rows, distances, durations, earliest, latest, pace).T)
        list_nearest(np.minimum(onward, back), rows.start, near[rows])
        for listed, weights in ((after, onward), (before, back)):
            list_nearest(weights, rows.start, listed[rows])
            listed[rows][np.isinf(np.take_along_axis(weights, listed[rows], axis=1))] = -1
        for place in range(beside):
            chosen = before[rows, place]
            is_before[chosen[chosen > 0], np.arange(rows.start, rows.stop)[chosen > 0]] = True
    return near, before, after, is_before


def _weigh(
    origins: slice,
    destinations: slice,
    distances: Lengths,
    durations: Lengths,
    earliest: Lengths,
    latest: Lengths,
    pace: float,
) -> Lengths:
    """The distance between consecutive customers, including waiting; infinite if they cannot be consecutive."""
    taken = durations[origins, destinations]
    waiting = earliest[destinations] - (latest[origins, None] + taken)
    weights = distances[origins, destinations] + _WAITING_WEIGHT * pace * np.maximum(waiting, 0.0)
    weights[earliest[origins, None] + taken > latest[destinations]] = np.inf
    return weights
