"""Many instances, and many solutions, as tensors: mixed sizes are padded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from dynaroute.errors import InstanceError, SolutionError, Where
from dynaroute.instance import LARGEST_INTEGER, Instance
from dynaroute.lengths import LONGEST_LENGTH, ROUNDING_CODES
from dynaroute.solution import Solution

__all__ = ["InstanceBatch", "RouteBatch"]

_SMALLEST_SPREAD = 0.1  # of the unit square: places closer together look all alike to a policy


@dataclass(frozen=True, eq=False)
class InstanceBatch:
    """Instances side by side; B of them, padded to M = largest size + 1 nodes, the depot at 0.

    Attributes
    ----------
    locations
        (B, M, 2) positions in the unit square, as the policy sees them.
    demands
        (B, M) int32; 0 for the depot and for padding.
    capacity
        (B,) int32.
    sizes
        (B,) int64 number of customers.
    keys
        (B,) int64 names of the instances and their random streams: two with the same name look the same to the
        policy. Made from what an instance holds, so that its sampled routes depend on itself and the seed alone, not
        on its neighbours in the batch.
    coordinates
        (B, M, 2) positions in the instances' own units, for costs.
    rounding
        (B,) int8: 0 none, 1 nearest, 2 up.
    distances
        (B, M, M) leg lengths, where some instance's are not plain straight lines; else None.
    """

    locations: Tensor
    demands: Tensor
    capacity: Tensor
    sizes: Tensor
    keys: Tensor
    coordinates: Tensor
    rounding: Tensor
    distances: Tensor | None = None

    @classmethod
    def from_instances(cls, instances: Sequence[Instance]) -> InstanceBatch:
        """Pad instances of any sizes into one batch.

        Parameters
        ----------
        instances
            At least one; each with coordinates, since the policy reads positions.
        """
        if not instances:
            raise InstanceError("there is no instance.", remedy="Give at least one.")
        count, nodes = len(instances), max(instance.size for instance in instances) + 1
        coordinates = np.zeros((count, nodes, 2))
        locations = np.zeros((count, nodes, 2))
        demands = np.zeros((count, nodes), dtype=np.int32)
        for index, instance in enumerate(instances):
            if instance.coordinates is None:
                raise InstanceError(
                    f"instance {instance.name or index + 1} has no coordinates, which the policy reads.",
                    where=Where(field="coordinates"),
                    remedy="Use the savings heuristic, which needs distances alone.",
                )
            coordinates[index, : instance.size + 1] = instance.coordinates
            locations[index, : instance.size + 1] = _locate(instance)
            demands[index, : instance.size + 1] = instance.demands
        sizes = np.array([instance.size for instance in instances], dtype=np.int64)
        capacity = np.array([instance.capacity for instance in instances], dtype=np.int32)
        plain = all(instance.distances is None and instance.metric == "euclidean" for instance in instances)
        is_globe = np.array([instance.metric != "euclidean" for instance in instances], dtype=np.int64)
        return cls(
            locations=torch.from_numpy(locations),
            demands=torch.from_numpy(demands),
            capacity=torch.from_numpy(capacity),
            sizes=torch.from_numpy(sizes),
            # the same numbers look different to the policy if they are degrees
            keys=torch.from_numpy(_hash_contents(coordinates, demands, capacity, sizes) ^ (is_globe << 58)),
            coordinates=torch.from_numpy(coordinates),
            rounding=torch.tensor([ROUNDING_CODES[instance.rounding] for instance in instances], dtype=torch.int8),
            distances=None if plain else torch.from_numpy(_pad_distances(instances, nodes)),
        )

    @classmethod
    def from_arrays(
        cls, depot: ArrayLike, customers: ArrayLike, demands: ArrayLike, capacity: ArrayLike
    ) -> InstanceBatch:
        """Make a batch of equal sizes from arrays, without a loop over instances.

        Parameters
        ----------
        depot
            (B, 2) positions.
        customers
            (B, n, 2) positions.
        demands
            (B, n) whole numbers.
        capacity
            (B,) whole numbers, or one for all.
        """
        customer_positions = _read_array(customers, "customers", (None, None, 2))  # (B, n, 2)
        count, size, _ = customer_positions.shape
        if size == 0:
            raise InstanceError("there is no customer.", where=Where(field="customers"), remedy="Give at least one.")
        positions = np.concatenate([_read_array(depot, "depot", (count, 2))[:, None], customer_positions], axis=1)
        whole_demands = np.pad(_read_array(demands, "demands", (count, size)), ((0, 0), (1, 0)))  # (B, M)
        shape = () if np.ndim(capacity) == 0 else (count,)
        capacities = np.broadcast_to(_read_array(capacity, "capacity", shape), (count,))
        _refuse_faulty_values(positions, whole_demands, capacities)
        demands_32, capacity_32 = whole_demands.astype(np.int32), capacities.astype(np.int32)
        sizes = np.full(count, size, dtype=np.int64)
        return cls(
            locations=torch.from_numpy(_locate_in_unit_square(positions)),
            demands=torch.from_numpy(demands_32),
            capacity=torch.from_numpy(capacity_32),
            sizes=torch.from_numpy(sizes),
            keys=torch.from_numpy(_hash_contents(positions, demands_32, capacity_32, sizes)),
            coordinates=torch.from_numpy(positions),
            rounding=torch.zeros(count, dtype=torch.int8),
        )

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.sizes.device

    @property
    def nodes(self) -> int:
        """M: nodes of the largest instance, the depot included."""
        return self.demands.shape[1]

    @property
    def is_customer(self) -> Tensor:
        """(B, M) true for customers; false for the depot and for padding."""
        slots = torch.arange(self.nodes, device=self.device)
        return (slots > 0) & (slots <= self.sizes[:, None])

    def features(self, instance: Tensor, node: Tensor, dtype: torch.dtype) -> Tensor:
        """(T, 3) position and demand / capacity of T nodes: what the policy sees of them (eq 2).

        Parameters
        ----------
        instance, node
            (T,) which nodes of which instances.
        dtype
            Of the result.
        """
        flat = instance * self.nodes + node  # (T,)
        fraction = self.demands.flatten()[flat].to(dtype) / self.capacity[instance].to(dtype)  # (T,)
        return torch.cat([self.locations.flatten(0, 1)[flat].to(dtype), fraction[:, None]], 1)

    def __getitem__(self, index: slice | Tensor) -> InstanceBatch:
        """Some of the instances, in the given order; they keep their random streams."""
        return self.map_tensors(lambda tensor: tensor[index])

    def to(self, device: torch.device | str) -> InstanceBatch:
        """The same batch on another device."""
        return self.map_tensors(lambda tensor: tensor.to(device))

    def repeat_each(self, copies: int) -> InstanceBatch:
        """Every instance `copies` times in a row."""
        return self.map_tensors(lambda tensor: tensor.repeat_interleave(copies, dim=0))

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> InstanceBatch:
        """The batch with every tensor changed in the same way."""
        values: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        changed: dict[str, Any] = {name: None if value is None else change(value) for name, value in values.items()}
        return InstanceBatch(**changed)


@dataclass(frozen=True, eq=False)
class RouteBatch:
    """One solution for each instance of a batch.

    Attributes
    ----------
    route
        (B, M) int32: the route a customer is on, from 0; -1 for the depot and for padding.
    position
        (B, M) int32: its place on that route, from 0; -1 likewise.
    """

    route: Tensor
    position: Tensor

    @classmethod
    def unvisited(cls, batch: InstanceBatch) -> RouteBatch:
        """Tables to be filled in: no customer of the batch is on a route yet."""
        route = torch.full((len(batch), batch.nodes), -1, dtype=torch.int32, device=batch.device)
        return cls(route, route.clone())

    @classmethod
    def from_solutions(cls, solutions: Sequence[Solution], batch: InstanceBatch) -> RouteBatch:
        """Turn solutions into tensors.

        Parameters
        ----------
        solutions
            One for each instance of `batch`, each visiting every customer once.
        batch
            The instances.
        """
        if len(solutions) != len(batch):
            message = f"there are {len(solutions)} solutions for {len(batch)} instances."
            raise SolutionError(message, remedy="Give one for each.")
        shape = (len(batch), batch.nodes)
        route, position = np.full(shape, -1, dtype=np.int32), np.full(shape, -1, dtype=np.int32)
        for index, (solution, size) in enumerate(zip(solutions, batch.sizes.tolist(), strict=True)):
            if sorted(customer for stops in solution.routes for customer in stops) != list(range(1, size + 1)):
                message = f"solution {index + 1} does not visit each customer once."
                raise SolutionError(message, where=Where(field="routes"), remedy="dynaroute check tells more.")
            for number, stops in enumerate(solution.routes):
                route[index, list(stops)] = number
                position[index, list(stops)] = np.arange(len(stops))
        return cls(torch.from_numpy(route).to(batch.device), torch.from_numpy(position).to(batch.device))

    def __len__(self) -> int:
        return len(self.route)

    def __getitem__(self, index: slice | Tensor) -> RouteBatch:
        """Some of the solutions."""
        return RouteBatch(self.route[index], self.position[index])

    def visits(self) -> Tensor:
        """(B, M - 1) customers in the order of their visits; padding comes last as 0."""
        nodes = self.route.shape[1]
        is_customer = self.route >= 0  # (B, M)
        route = self.route.clamp(min=0).long()
        counts = torch.zeros_like(route).scatter_add(1, route, is_customer.long())  # (B, M) customers of each route
        before = (counts.cumsum(1) - counts).gather(1, route)  # (B, M) customers on earlier routes
        place = torch.where(is_customer, before + self.position, nodes - 1)
        node = torch.arange(nodes, device=route.device).expand_as(route)
        return torch.zeros_like(route).scatter(1, place, node)[:, :-1]  # counting, which is cheaper than sorting

    def lengths(self, batch: InstanceBatch) -> Tensor:
        """(B,) cost of each solution in its instance's own units and rounding.

        Parameters
        ----------
        batch
            The instances these solutions belong to.
        """
        visits = self.visits()  # (B, M - 1)
        route = self.route.gather(1, visits)  # (B, M - 1); -1 where padding points at the depot
        same_route = (route[:, 1:] == route[:, :-1]) & (route[:, 1:] >= 0)
        depot = torch.zeros_like(visits)
        onward = _leg_lengths(batch, visits[:, :-1], visits[:, 1:])  # (B, M - 2)
        homeward = _leg_lengths(batch, visits, depot)  # (B, M - 1); 0 for padding
        # a change of route goes home and out again
        between = torch.where(same_route, onward, homeward[:, :-1] + homeward[:, 1:])
        return between.sum(1) + homeward[:, 0] + homeward[:, -1]

    def to_solutions(self, batch: InstanceBatch) -> list[Solution]:
        """Read the tensors as solutions, with their costs stated."""
        costs = self.lengths(batch).tolist()
        visits, sizes = self.visits().cpu().numpy(), batch.sizes.tolist()
        routes = self.route.cpu().numpy()
        solutions = []
        for index, (size, cost) in enumerate(zip(sizes, costs, strict=True)):
            order = visits[index, :size]
            breaks = np.flatnonzero(np.diff(routes[index, order])) + 1
            solutions.append(Solution(tuple(map(tuple, (part.tolist() for part in np.split(order, breaks)))), cost))
        return solutions


def _leg_lengths(batch: InstanceBatch, start: Tensor, end: Tensor) -> Tensor:
    """(B, L) lengths of the legs between (B, L) nodes."""
    rows = torch.arange(len(batch), device=batch.device)[:, None]
    if batch.distances is not None:
        return batch.distances[rows, start, end]
    difference = batch.coordinates[rows, start] - batch.coordinates[rows, end]  # (B, L, 2)
    length = difference.square().sum(-1).sqrt()  # (B, L)
    rounding = batch.rounding[:, None]
    length = torch.where(rounding == 1, (length + 0.5).floor(), length)
    return torch.where(rounding == 2, length.ceil(), length)


def _locate(instance: Instance) -> NDArray[np.float64]:
    """(n + 1, 2) positions in the unit square, as the policy sees them."""
    assert instance.coordinates is not None
    if instance.metric == "euclidean":
        located = _locate_in_unit_square(instance.coordinates[None])  # (1, n + 1, 2)
    else:
        located = _scale_to_unit_square(_flatten_globe(instance.coordinates)[None])
    return located.reshape(-1, 2)


def _flatten_globe(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Positions in a plane from latitudes and longitudes, with the depot at the origin."""
    latitude, longitude = degrees.T
    east = (longitude - longitude[0] + 180.0) % 360.0 - 180.0  # the short way round, also across the date line
    return np.stack([east * np.cos(np.radians(latitude.mean())), latitude - latitude[0]], axis=1)


def _locate_in_unit_square(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale (B, M, 2) positions, but for those spread in the unit square already: the policy was trained on such."""
    inside = ((positions >= 0) & (positions <= 1)).all(axis=(1, 2), keepdims=True)  # (B, 1, 1)
    spread = np.ptp(positions, axis=1, keepdims=True).max(axis=2, keepdims=True) >= _SMALLEST_SPREAD  # (B, 1, 1)
    return np.where(inside & spread, positions, _scale_to_unit_square(positions))


def _scale_to_unit_square(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move and scale (B, M, 2) positions, by one factor for both axes."""
    low, high = positions.min(axis=1, keepdims=True), positions.max(axis=1, keepdims=True)  # (B, 1, 2)
    extent = (high - low).max(axis=2, keepdims=True)  # (B, 1, 1)
    scaled: NDArray[np.float64] = (positions - low) / np.where(extent > 0, extent, 1.0)
    return scaled


def _pad_distances(instances: Sequence[Instance], nodes: int) -> NDArray[np.float64]:
    distances = np.zeros((len(instances), nodes, nodes))
    for index, instance in enumerate(instances):
        distances[index, : instance.size + 1, : instance.size + 1] = instance.distance_matrix
    return distances


def _hash_contents(
    coordinates: NDArray[np.float64],
    demands: NDArray[np.int32],
    capacity: NDArray[np.int32],
    sizes: NDArray[np.int64],
) -> NDArray[np.int64]:
    """(B,) 63-bit hashes of what instances hold; zero padding does not change them, but a customer of zeros does."""
    words = np.concatenate([coordinates, demands[..., None].astype(np.float64)], axis=2) + 0.0  # no negative zero
    bits = words.view(np.uint64)  # (B, M, 3)
    nodes = bits.shape[1]
    # odd multipliers that differ for every place, so that the order of nodes counts
    places = _mix(np.arange(nodes * 3, dtype=np.uint64).reshape(nodes, 3)) | np.uint64(1)
    total = (_mix(bits) * places * (bits != 0)).sum(axis=(1, 2), dtype=np.uint64)
    total += capacity.astype(np.uint64) + _mix(sizes.astype(np.uint64))
    return (_mix(total) >> np.uint64(1)).astype(np.int64)


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread every bit over all 64 (the finaliser of SplitMix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _read_array(values: ArrayLike, field: str, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
    """Numbers of a given shape; None in it stands for any length."""
    try:
        array = np.asarray(values, dtype=np.float64)  # exact for all whole numbers that are allowed
    except (TypeError, ValueError, OverflowError) as error:
        raise InstanceError(
            "the values are not numbers in a rectangular array.", where=Where(field=field), remedy="Give such an array."
        ) from error
    is_wanted = (wanted in (None, found) for wanted, found in zip(shape, array.shape, strict=False))
    if array.ndim != len(shape) or not all(is_wanted):
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise InstanceError(
            f"the shape is {array.shape}, not ({wanted}).",
            where=Where(field=field),
            remedy="Give each instance and each customer its own.",
        )
    return array


def _refuse_faulty_values(
    positions: NDArray[np.float64], demands: NDArray[np.float64], capacity: NDArray[np.float64]
) -> None:
    checks: tuple[tuple[str, Any, str], ...] = (
        ("coordinates", (np.abs(positions) <= LONGEST_LENGTH).all(axis=(1, 2)), "has a position that is not finite"),
        ("demands", (demands == np.floor(demands)).all(axis=1), "has a demand that is not a whole number"),
        ("demands", (demands >= 0).all(axis=1), "has a negative demand"),
        ("capacity", capacity == np.floor(capacity), "has a capacity that is not a whole number"),
        ("capacity", (capacity > 0) & (capacity <= LARGEST_INTEGER), "has no capacity, or too large a one"),
        ("demands", (demands <= capacity[:, None]).all(axis=1), "has a demand above its capacity"),
    )
    for field, sound, fault in checks:
        if not sound.all():
            index = int(np.argmin(sound))
            raise InstanceError(f"instance {index + 1} {fault}.", where=Where(field=field), remedy="Mend or drop it.")
