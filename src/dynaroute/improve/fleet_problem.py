"""An instance with time windows, limits or several kinds of vehicles, as plain arrays for compiled code.

Two nodes more than the instance has stand for the ends of routes: `n + 1` is back at the depot, and `n + 2` is where
open routes end, to which no way leads that counts. So compiled code measures all legs alike, on whatever kind of route.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.fleet import TOLERANCE
from dynaroute.improve.problem import list_nearest
from dynaroute.improve.stopping import OutOfTimeError
from dynaroute.instance import Instance
from dynaroute.memory import memory_for_fleets, require_memory
from dynaroute.schedule import earliest_departure, latest_end

__all__ = ["FleetProblem", "FleetRoutes", "Kinds", "price_absence"]

_TOLERANCE = TOLERANCE / 4  # sums in another order must not exceed what `check` allows
_WAITING_WEIGHT = 0.2  # of the time that two customers make a vehicle wait between them, beside the way
_ENTRIES_AT_ONCE = 250_000  # between two looks at the clock: a few milliseconds

Lengths = NDArray[np.float64]
Longs = NDArray[np.int64]
Nodes = NDArray[np.int32]

FleetRoutes = tuple[tuple[int, ...], ...]  # of each route: the number of its kind of vehicle, then its customers


class Kinds(NamedTuple):
    """The kinds of vehicles: in each array an entry for each of them.

    Attributes
    ----------
    capacities, counts, stops
        What one holds, how many there are, and how many customers one serves at most.
    distances, durations
        How far, and how long, one drives at most; infinite where that does not matter.
    starts, ends
        When one leaves at the earliest, and reaches its end at the latest.
    end_nodes
        Where its routes end.
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
    """A problem of N = n + 3 nodes: the depot at 0, customers, and two ends; compiled code takes it as it is.

    Attributes
    ----------
    distances
        (N, N) leg lengths, exactly as the instance prices them.
    durations
        (N, N) seconds from the start of service at one node to the arrival at another.
    demands
        (N,) int64.
    earliest, latest
        (N,) when service may start.
    kinds
        The vehicles.
    alone
        (N, T) what a route of each kind to a customer alone costs; infinite where it may not be.
    neighbours
        (N, K) int32: the customers nearest to each one, nearest first.
    before, after
        (N, P) int32: customers that may stand right before, and right after, each one, nearest first; -1 ends a list.
    is_before
        (N, N) whether the first is listed as one that may stand right before the second.
    has_durations
        Whether any kind has a longest duration.
    absence_price
        What a customer that is not served counts in the price of a plan: more than any plan costs.
    vehicle_price
        What a route counts in it; 0 unless the number of vehicles comes first.
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
        """A lower bound: by how much vehicles hold, and how many they serve, the largest first."""
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
            Whether a plan with fewer routes is better, whatever its length.
        neighbours, beside
            How many near customers to list for each node, and how many that may stand before and after it.
        is_time_up
            Asked every few milliseconds; true gives up.

        Raises
        ------
        OutOfTimeError
            If the time was up before the problem was ready.
        """
        size = instance.size
        require_memory(memory_for_fleets(size), size)
        distances, durations = np.zeros((size + 3, size + 3)), np.zeros((size + 3, size + 3))
        for rows in _list_portions(size + 1, is_time_up):
            origins, nodes = np.arange(rows.start, rows.stop)[:, None], np.arange(size + 1)
            distances[rows, : size + 1] = instance.leg_lengths(origins, nodes)
            if instance.has_times:
                durations[rows, : size + 1] = instance.leg_durations(origins, nodes)
        distances[:, size + 1], durations[:, size + 1] = distances[:, 0], durations[:, 0]
        pace = distances.sum() / max(durations.sum(), 1e-300)  # to count seconds beside lengths
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
        """Total length of routes: what `Solution.cost` says."""
        legs: list[float] = []
        for kind, *stops in routes:
            legs.extend(self.distances[[0, *stops], [*stops, self.kinds.end_nodes[kind]]].tolist())
        return math.fsum(legs)

    def price(self, routes: FleetRoutes) -> float:
        """The length of routes, and what customers that are not served and vehicles count beside it."""
        absent = self.size - sum(len(route) - 1 for route in routes)
        return self.cost(routes) + self.absence_price * absent + self.vehicle_price * len(routes)


def _count_vehicles(amount: int, limits: Longs, counts: Longs) -> int:
    """How many vehicles take an amount, the largest first."""
    needed = 0
    for limit, count in sorted(zip(limits.tolist(), counts.tolist(), strict=True), reverse=True):
        used = min(count, -(-amount // limit))
        needed, amount = needed + used, amount - used * limit
        if amount <= 0:
            break
    return needed


def price_absence(instance: Instance, vehicles_first: bool) -> tuple[float, float]:
    """What a customer that is not served, and a vehicle, count in the price of a plan.

    A vehicle counts more than plans differ in length, where it comes first, and a customer more than all vehicles.
    """
    customers = np.arange(1, instance.size + 1)
    bound = 2 * float((instance.leg_lengths(0, customers) + instance.leg_lengths(customers, 0)).sum()) + 1.0
    vehicle = bound if vehicles_first else 0.0
    return bound + instance.size * vehicle, vehicle


def _list_portions(nodes: int, is_time_up: Callable[[], bool] | None) -> Iterator[slice]:
    step = max(1, _ENTRIES_AT_ONCE // nodes)
    for first in range(0, nodes, step):
        if is_time_up is not None and is_time_up():
            raise OutOfTimeError
        yield slice(first, min(first + step, nodes))


def _list_kinds(instance: Instance) -> Kinds:
    size = instance.size
    vehicles = instance.fleet
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
    lengths = distances[0][:, None] + distances[:, kinds.end_nodes]
    outward, onward = durations[0][:, None], durations[:, kinds.end_nodes]
    begins = np.maximum(kinds.starts + outward, earliest[:, None])
    fits = demands[:, None] <= kinds.capacities
    fits &= (begins <= latest[:, None]) & (begins + onward <= kinds.ends)
    fits &= (lengths <= kinds.distances) & (outward + onward <= kinds.durations)  # who leaves late does not wait
    return np.where(fits, lengths, np.inf)


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
    """Who is near each node, who may stand before it, and after it, and the second as a matrix.

    After T. Vidal et al. (2013): the time that has to be waited between two customers makes them less near.
    """
    nodes, among = len(distances), len(distances) - 2
    near = np.zeros((nodes, neighbours), dtype=np.int32)
    before, after = np.full((nodes, beside), -1, dtype=np.int32), np.full((nodes, beside), -1, dtype=np.int32)
    is_before = np.zeros((nodes, nodes), dtype=np.bool_)
    everyone = slice(0, among)
    for rows in _list_portions(among, is_time_up):
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
    """How far apart customers are that follow each other; infinite where they cannot."""
    taken = durations[origins, destinations]
    waiting = earliest[destinations] - (latest[origins, None] + taken)
    weights = distances[origins, destinations] + _WAITING_WEIGHT * pace * np.maximum(waiting, 0.0)
    weights[earliest[origins, None] + taken > latest[destinations]] = np.inf
    return weights
