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
from dynaroute.instance import LARGEST_INTEGER, Instance, Rounding
from dynaroute.solution import Solution

__all__ = ["InstanceBatch", "RouteBatch"]

_ROUNDING_CODES: dict[Rounding, int] = {"none": 0, "nearest": 1, "up": 2}


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
        (B,) int64 names of the instances' random streams. Made from what an instance holds, so that its sampled
        routes depend on itself and the seed alone, not on its neighbours in the batch.
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
            locations[index, : instance.size + 1] = _locate_in_unit_square(_project(instance)[None])[0]
            demands[index, : instance.size + 1] = instance.demands
        sizes = np.array([instance.size for instance in instances], dtype=np.int64)
        capacity = np.array([instance.capacity for instance in instances], dtype=np.int32)
        plain = all(instance.distances is None and instance.metric == "euclidean" for instance in instances)
        return cls(
            locations=torch.from_numpy(locations),
            demands=torch.from_numpy(demands),
            capacity=torch.from_numpy(capacity),
            sizes=torch.from_numpy(sizes),
            keys=torch.from_numpy(_hash_contents(coordinates, demands, capacity)),
            coordinates=torch.from_numpy(coordinates),
            rounding=torch.tensor([_ROUNDING_CODES[instance.rounding] for instance in instances], dtype=torch.int8),
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
        positions = np.concatenate([np.asarray(depot, np.float64)[:, None], np.asarray(customers, np.float64)], axis=1)
        count, nodes, _ = positions.shape  # (B, M, 2)
        whole_demands = np.pad(np.asarray(demands), ((0, 0), (1, 0)))  # (B, M)
        capacities = np.broadcast_to(np.asarray(capacity), (count,))
        _refuse_faulty_arrays(positions, whole_demands, capacities)
        demands_32, capacity_32 = whole_demands.astype(np.int32), capacities.astype(np.int32)
        return cls(
            locations=torch.from_numpy(_locate_in_unit_square(positions)),
            demands=torch.from_numpy(demands_32),
            capacity=torch.from_numpy(capacity_32),
            sizes=torch.full((count,), nodes - 1),
            keys=torch.from_numpy(_hash_contents(positions, demands_32, capacity_32)),
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

    def __getitem__(self, index: slice | Tensor) -> InstanceBatch:
        """Some of the instances, in the given order; they keep their random streams."""
        return self._map(lambda tensor: tensor[index])

    def to(self, device: torch.device | str) -> InstanceBatch:
        """The same batch on another device."""
        return self._map(lambda tensor: tensor.to(device))

    def repeat_each(self, copies: int) -> InstanceBatch:
        """Every instance `copies` times in a row."""
        return self._map(lambda tensor: tensor.repeat_interleave(copies, dim=0))

    def _map(self, change: Callable[[Tensor], Tensor]) -> InstanceBatch:
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
        shape = (len(batch), batch.nodes)
        route, position = np.full(shape, -1, dtype=np.int32), np.full(shape, -1, dtype=np.int32)
        for index, solution in enumerate(solutions):
            for number, stops in enumerate(solution.routes):
                route[index, list(stops)] = number
                position[index, list(stops)] = np.arange(len(stops))
        routes = cls(torch.from_numpy(route).to(batch.device), torch.from_numpy(position).to(batch.device))
        if not torch.equal(routes.route >= 0, batch.is_customer):
            raise SolutionError("a solution does not visit each customer once.", remedy="dynaroute check tells more.")
        return routes

    def __len__(self) -> int:
        return len(self.route)

    def __getitem__(self, index: slice | Tensor) -> RouteBatch:
        """Some of the solutions."""
        return RouteBatch(self.route[index], self.position[index])

    def visits(self) -> Tensor:
        """(B, M - 1) customers in the order of their visits; padding comes last as 0."""
        nodes = self.route.shape[1]
        key = self.route.long() * nodes + self.position  # (B, M)
        key = key.masked_fill(self.route < 0, nodes * nodes)
        order = key.argsort(dim=1)[:, : nodes - 1]  # (B, M - 1)
        return order.masked_fill(self.route.gather(1, order) < 0, 0)

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


def _project(instance: Instance) -> NDArray[np.float64]:
    """Positions in a plane: as they are, or the globe flattened around the depot's latitude and longitude."""
    assert instance.coordinates is not None
    if instance.metric == "euclidean":
        return instance.coordinates
    latitude, longitude = instance.coordinates.T
    east = (longitude - longitude[0] + 180.0) % 360.0 - 180.0  # the short way round, also across the date line
    return np.stack([east * np.cos(np.radians(latitude.mean())), latitude - latitude[0]], axis=1)


def _locate_in_unit_square(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale (B, M, 2) positions into the unit square, by one factor for both axes.

    Positions that are in the unit square already stay: they are what the policy was trained on.
    """
    low, high = positions.min(axis=1, keepdims=True), positions.max(axis=1, keepdims=True)  # (B, 1, 2)
    inside = ((low >= 0) & (high <= 1)).all(axis=2, keepdims=True)  # (B, 1, 1)
    extent = (high - low).max(axis=2, keepdims=True)  # (B, 1, 1)
    scaled: NDArray[np.float64] = (positions - low) / np.where(extent > 0, extent, 1.0)
    return np.where(inside, positions, scaled)


def _pad_distances(instances: Sequence[Instance], nodes: int) -> NDArray[np.float64]:
    distances = np.zeros((len(instances), nodes, nodes))
    for index, instance in enumerate(instances):
        distances[index, : instance.size + 1, : instance.size + 1] = instance.distance_matrix
    return distances


def _hash_contents(
    coordinates: NDArray[np.float64], demands: NDArray[np.int32], capacity: NDArray[np.int32]
) -> NDArray[np.int64]:
    """(B,) 63-bit hashes of what instances hold; zero padding does not change them."""
    words = np.concatenate([coordinates, demands[..., None].astype(np.float64)], axis=2) + 0.0  # no negative zero
    bits = words.view(np.uint64)  # (B, M, 3)
    nodes = bits.shape[1]
    # odd multipliers that differ for every place, so that the order of nodes counts
    places = _mix(np.arange(nodes * 3, dtype=np.uint64).reshape(nodes, 3)) | np.uint64(1)
    total = (_mix(bits) * places * (bits != 0)).sum(axis=(1, 2), dtype=np.uint64) + capacity.astype(np.uint64)
    return (_mix(total) >> np.uint64(1)).astype(np.int64)


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread every bit over all 64 (the finaliser of SplitMix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _refuse_faulty_arrays(positions: NDArray[np.float64], demands: NDArray[Any], capacity: NDArray[Any]) -> None:
    if demands.shape != positions.shape[:2]:
        raise InstanceError(
            f"demands are for {demands.shape[1] - 1} customers, positions for {positions.shape[1] - 1}.",
            where=Where(field="demands"),
            remedy="Give each customer one demand.",
        )
    checks: tuple[tuple[str, Any, str], ...] = (
        ("coordinates", np.isfinite(positions).all(axis=(1, 2)), "has a position that is not finite"),
        ("demands", (demands == np.floor(demands)).all(axis=1), "has a demand that is not a whole number"),
        ("demands", (demands >= 0).all(axis=1), "has a negative demand"),
        ("capacity", (capacity > 0) & (capacity <= LARGEST_INTEGER), "has no capacity, or too large a one"),
        ("demands", (demands <= capacity[:, None]).all(axis=1), "has a demand above its capacity"),
    )
    for field, sound, fault in checks:
        if not sound.all():
            index = int(np.argmin(sound))
            raise InstanceError(f"instance {index + 1} {fault}.", where=Where(field=field), remedy="Mend or drop it.")
