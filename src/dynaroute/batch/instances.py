"""Batches of instances, as tensors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from dynaroute.base.errors import InstanceError, UnsupportedError
from dynaroute.batch.fleet import Fleet, has_kinds, split_by_kind
from dynaroute.batch.policy_view import hash_contents, locate_all, locate_in_unit_square
from dynaroute.batch.rules import RULE_WORDS, RuleBatch, find_rules, read_rules
from dynaroute.problem.instance import LARGEST_INTEGER, Instance
from dynaroute.problem.lengths import LONGEST_LENGTH, ROUNDING_CODES, SHORTEST_SPREAD

KINDS = "kinds"  # among known rules: vehicles may differ
_ODD = 0x2545F4914F6CDD1D  # spreads the bits of a hash

FeatureRule: TypeAlias = "Callable[[InstanceBatch], Tensor]"  # computes the (B, M) or (B, M, F) features of instances


@dataclass(frozen=True, eq=False)
class InstanceBatch:
    """A batch of B instances, padded to M nodes: the depot is node 0, then come customers, and further depots if any.

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
        (B,) int64 hashes of the instances, which name their random streams. Sampled routes therefore depend only on the
        instance and the seed, not on the rest of the batch.
    coordinates
        (B, M, 2) positions in the instances' own units, for costs.
    rounding
        (B,) int8: 0 none, 1 nearest, 2 up.
    distances
        (B, M, M) leg lengths if some instance does not use straight lines; else None.
    node_features
        (B, M, F) extra node features for a policy of your own; else None. `with_node_features` adds them.
    feature_rule
        Computes the extra node features again when the instances are turned; None if nothing is known about them.
    rules
        What routes must keep besides capacity; None if there is nothing.
    kinds, fleet
        If vehicles differ: the (B K) instances as each of K kinds of vehicles sees them, grouped by instance, and what
        the kinds cost. Else None.
    """

    locations: Tensor
    demands: Tensor
    capacity: Tensor
    sizes: Tensor
    keys: Tensor
    coordinates: Tensor
    rounding: Tensor
    distances: Tensor | None = None
    node_features: Tensor | None = None
    feature_rule: FeatureRule | None = None
    rules: RuleBatch | None = None
    kinds: InstanceBatch | None = None
    fleet: Fleet | None = None

    @classmethod
    def from_instances(cls, instances: Sequence[Instance], known_rules: Collection[str] = ()) -> InstanceBatch:
        """Pad instances of any sizes into one batch.

        Parameters
        ----------
        instances
            At least one instance, each with coordinates.
        known_rules
            Names of the rules that a policy knows (`PolicyConfig.rules`); instances with others are refused. "kinds":
            vehicles may differ.
        """
        if not instances:
            raise InstanceError("there is no instance.", remedy="Give at least one.")
        if KINDS in known_rules and any(has_kinds(instance) for instance in instances):
            return cls._from_kinds(instances, known_rules)
        count, nodes = len(instances), max(instance.node_count for instance in instances)
        coordinates = np.zeros((count, nodes, 2))
        demands = np.zeros((count, nodes), dtype=np.int32)
        names: set[str] = set()
        for index, instance in enumerate(instances):
            if not instance.is_plain:
                names |= _list_rules(instance, instance.name or str(index + 1), known_rules)
            if instance.coordinates is None:
                raise InstanceError.about(
                    "coordinates",
                    f"instance {instance.name or index + 1} has no coordinates, which a policy needs.",
                    "Use the savings heuristic, which needs only distances.",
                )
            coordinates[index, : instance.node_count] = instance.coordinates
            demands[index, : instance.size + 1] = instance.demands
        sizes = np.array([instance.size for instance in instances], dtype=np.int64)
        last = np.array([instance.node_count - 1 for instance in instances], dtype=np.int64)
        locations = locate_all(instances, coordinates, last)
        capacity = np.array([instance.capacity for instance in instances], dtype=np.int32)
        plain = all(instance.distances is None and instance.metric == "euclidean" for instance in instances)
        is_globe = np.array([instance.metric != "euclidean" for instance in instances], dtype=np.int64)
        batch = cls(
            locations=torch.from_numpy(locations),
            demands=torch.from_numpy(demands),
            capacity=torch.from_numpy(capacity),
            sizes=torch.from_numpy(sizes),
            # the policy sees degrees differently from plane coordinates
            keys=torch.from_numpy(hash_contents(coordinates, demands, capacity, sizes) ^ (is_globe << 58)),
            coordinates=torch.from_numpy(coordinates),
            rounding=torch.tensor([ROUNDING_CODES[instance.rounding] for instance in instances], dtype=torch.int8),
            distances=None if plain else torch.from_numpy(_pad_distances(instances, nodes)),
        )
        return batch.with_rules(read_rules(instances, locations, names)) if names else batch

    @classmethod
    def _from_kinds(cls, instances: Sequence[Instance], known_rules: Collection[str]) -> InstanceBatch:
        """Show every instance to each kind of vehicle; the first kind stands for the instance itself."""
        views = [split_by_kind(instance) for instance in instances]
        fleet = Fleet.gather(views)
        every = [view for own in views for view in (*own, *[own[0]] * (fleet.per_instance - len(own)))]
        shown = [view.instance for view in every]
        kinds = cls.from_instances(shown, [name for name in known_rules if name != KINDS])
        if kinds.rules is None:
            kinds = kinds.with_rules(read_rules(shown, kinds.locations.numpy(), ()))
        kinds = replace(kinds, capacity=torch.tensor([view.kind.capacities[0] for view in every], dtype=torch.int32))
        place = torch.arange(len(kinds)) % fleet.per_instance
        prices = (fleet.fixed.view(torch.int64) + 3 * fleet.per_length.view(torch.int64) + 5 * kinds.capacity) * _ODD
        named = (kinds.keys ^ (prices + 7 * fleet.counts)) * (2 * place + 1)
        whole = kinds[:: fleet.per_instance]
        return replace(whole, kinds=kinds, fleet=fleet, keys=named.view(len(instances), -1).sum(1))

    @classmethod
    def from_arrays(
        cls, depot: ArrayLike, customers: ArrayLike, demands: ArrayLike, capacity: ArrayLike
    ) -> InstanceBatch:
        """Make a batch of equal-sized instances from arrays, without a loop.

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
            raise InstanceError.about("customers", "there is no customer.", "Give at least one.")
        positions = np.concatenate([_read_array(depot, "depot", (count, 2))[:, None], customer_positions], axis=1)
        whole_demands = np.pad(_read_array(demands, "demands", (count, size)), ((0, 0), (1, 0)))  # (B, M)
        shape = () if np.ndim(capacity) == 0 else (count,)
        capacities = np.broadcast_to(_read_array(capacity, "capacity", shape), (count,))
        _refuse_faulty_values(positions, whole_demands, capacities)
        demands_32, capacity_32 = whole_demands.astype(np.int32), capacities.astype(np.int32)
        sizes = np.full(count, size, dtype=np.int64)
        return cls(
            locations=torch.from_numpy(locate_in_unit_square(positions)),
            demands=torch.from_numpy(demands_32),
            capacity=torch.from_numpy(capacity_32),
            sizes=torch.from_numpy(sizes),
            keys=torch.from_numpy(hash_contents(positions, demands_32, capacity_32, sizes)),
            coordinates=torch.from_numpy(positions),
            rounding=torch.zeros(count, dtype=torch.int8),
        )

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def device(self) -> torch.device:
        """Device of the tensors."""
        return self.sizes.device

    @property
    def nodes(self) -> int:
        """M: number of nodes of the largest instance, including the depot."""
        return self.demands.shape[1]

    @property
    def is_customer(self) -> Tensor:
        """(B, M) true for customers; false for the depot and for padding."""
        slots = torch.arange(self.nodes, device=self.device)
        return (slots > 0) & (slots <= self.sizes[:, None])

    @property
    def further_depots(self) -> Tensor | None:
        """(B, M) which nodes are depots besides the first; None if no instance can have any."""
        return None if self.rules is None or self.rules.depots == 1 else self.rules.is_further_depot

    def find_depots(self, instance: Tensor, node: Tensor) -> Tensor:
        """(T,) whether nodes are depots.

        Parameters
        ----------
        instance, node
            (T,) indices of instances and nodes.
        """
        further = self.further_depots
        return node == 0 if further is None else (node == 0) | further[instance, node]

    def features(self, instance: Tensor, node: Tensor, dtype: torch.dtype) -> Tensor:
        """(T, 3) position and demand / capacity of T nodes, as the policy sees them (eq 2), then `node_features`.

        Parameters
        ----------
        instance, node
            (T,) indices of instances and nodes.
        dtype
            Type of the result.
        """
        flat = instance * self.nodes + node  # (T,)
        fraction = self.demands.flatten()[flat].to(dtype) / self.capacity[instance].to(dtype)  # (T,)
        seen = [self.locations.flatten(0, 1)[flat].to(dtype), fraction[:, None]]
        if self.node_features is not None:
            seen.append(self.node_features.flatten(0, 1)[flat].to(dtype))
        if self.rules is not None:
            seen.append(self.rules.features(instance, node, self.capacity[instance]).to(dtype))
        return torch.cat(seen, 1)

    def with_rules(self, rules: RuleBatch) -> InstanceBatch:
        """Return the same instances with rules; different rules give different random streams."""
        node = torch.arange(self.nodes, device=self.device)
        of_nodes = (rules.pickups, rules.early, rules.late, rules.service)  # (B, M) each
        hashed = [(table * self.is_customer * (8 * node + 2 * place + 1)) for place, table in enumerate(of_nodes)]
        facts = (rules.late[:, 0], rules.longest_distance, rules.longest_duration, rules.is_open, rules.is_last)
        hashed += [(fact.long() * (2 * place + 1))[:, None] for place, fact in enumerate(facts)]
        named = torch.cat(hashed, 1) * _ODD  # (B, 4 M + 5)
        return replace(self, rules=rules, keys=self.keys ^ named.sum(1))

    def with_node_features(self, values: Tensor | FeatureRule, *, stay_when_turned: bool = False) -> InstanceBatch:
        """Return the same instances with extra node features; different features give different random streams.

        Parameters
        ----------
        values
            (B, M) or (B, M, F) numbers, the depot's first; values at padding are ignored. Or a function that computes
            them from a batch of these instances in any number and order, turned or not: positions are its `locations`,
            in the unit square, and its `coordinates` are the same.
        stay_when_turned
            Whether numbers are still right when their instance is turned or mirrored (`Augmented`), as an urgency is
            and an angle is not.
        """
        rule: FeatureRule | None
        if callable(values):
            rule, features = values, self._arrange_features(values(self._show_to_rule()))
        else:
            rule, features = _keep_features if stay_when_turned else None, self._arrange_features(values)
        places = torch.arange(1, features[0].numel() + 1, device=self.device).view(features.shape[1:])
        bits = features.double().view(torch.int64) * (
            2 * places + 1
        )  # odd multipliers, so that the position of a number matters
        return replace(self, node_features=features, feature_rule=rule, keys=self.keys ^ bits.sum((1, 2)))

    def turned_to(self, locations: Tensor) -> InstanceBatch:
        """Return the same instances with turned positions, and extra node features that fit these.

        Parameters
        ----------
        locations
            (B, M, 2) positions in the unit square.

        Raises
        ------
        UnsupportedError
            If the instances have extra node features that cannot be computed again.
        """
        turned = replace(self, locations=locations)
        if self.node_features is None:
            return turned
        if self.feature_rule is None:
            raise UnsupportedError.about(
                "node_features",
                "the instances are turned, but their node features are numbers, which cannot be computed again.",
                "Give with_node_features a function that computes them, or stay_when_turned=True if turning "
                "does not change them.",
            )
        return replace(turned, node_features=turned._arrange_features(self.feature_rule(turned._show_to_rule())))

    def _arrange_features(self, values: Tensor) -> Tensor:
        """Return extra node features as (B, M, F), with zeros at padding."""
        given = values if values.ndim == 3 else values[..., None]
        if given.shape[:2] != self.demands.shape:
            message = f"node features have shape {tuple(values.shape)}, not {tuple(self.demands.shape)} or more."
            raise InstanceError.about("node_features", message, "Give values for each node.")
        features = given.to(self.device, self.locations.dtype, copy=True)  # (B, M, F)
        features[self._is_padding] = 0.0
        return features

    def _show_to_rule(self) -> InstanceBatch:
        """Return the instances as a rule sees them: only positions that are turned, and padding always at zero."""
        seen = self.locations.masked_fill(self._is_padding[..., None], 0.0)
        return replace(self, locations=seen, coordinates=seen)

    @property
    def _is_padding(self) -> Tensor:
        return torch.arange(self.nodes, device=self.device) > self.sizes[:, None]

    def __getitem__(self, index: slice | Tensor) -> InstanceBatch:
        """Select instances, in the given order; they keep their random streams."""
        return self._map_rows(lambda tensor: tensor[index])

    def to(self, device: torch.device | str) -> InstanceBatch:
        """Copy the batch to another device."""
        return self.map_tensors(lambda tensor: tensor.to(device))

    def repeat_each(self, copies: int) -> InstanceBatch:
        """Repeat every instance `copies` times in a row."""
        return self._map_rows(lambda tensor: tensor.repeat_interleave(copies, dim=0))

    def map_tensors(self, change: Callable[[Tensor], Tensor]) -> InstanceBatch:
        """Apply a function to every tensor."""
        rules = None if self.rules is None else self.rules.map_tensors(change)
        kinds = None if self.kinds is None else self.kinds.map_tensors(change)
        fleet = None if self.fleet is None else self.fleet.map_tensors(change)
        return replace(self._map_own(change), rules=rules, kinds=kinds, fleet=fleet)

    def _map_rows(self, change: Callable[[Tensor], Tensor]) -> InstanceBatch:
        """Apply a function to what has a row for each instance, which tables of rules share with its copies."""
        rules = None if self.rules is None else self.rules.map_rows(change)
        chosen = replace(self._map_own(change), rules=rules)
        if self.kinds is None or self.fleet is None:
            return chosen
        rows = self.fleet.rows_of(change(torch.arange(len(self), device=self.device)))
        return replace(chosen, kinds=self.kinds[rows], fleet=self.fleet.map_tensors(lambda tensor: tensor[rows]))

    def list_tensors(self) -> list[Tensor]:
        """All tensors, in a fixed order."""
        own = (getattr(self, field.name) for field in fields(self))
        rules = [] if self.rules is None else self.rules.list_tensors()
        return [*(value for value in own if isinstance(value, Tensor)), *rules]

    def _map_own(self, change: Callable[[Tensor], Tensor]) -> InstanceBatch:
        values: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        changed: dict[str, Any] = {name: change(value) for name, value in values.items() if isinstance(value, Tensor)}
        return replace(self, **changed)


def _list_rules(instance: Instance, name: str, known: Collection[str]) -> frozenset[str]:
    """List an instance's rules, all of them known; others are refused."""
    if not known:
        raise UnsupportedError.about(
            "instances",
            f"instance {name} has time windows, limits, vehicle types or one-way "
            "distances, which policies do not support.",
            "Give a time limit, to search it on the CPU without a policy.",
        )
    rules = find_rules(instance)
    if unknown := sorted(rules.difference(known)):
        raise UnsupportedError.about(
            "instances",
            f"instance {name} has {RULE_WORDS[unknown[0]]}, which this policy does not know.",
            f"Use a policy that was trained with the rule {unknown[0]}, or give a time limit, to search without one.",
        )
    return rules


def _keep_features(batch: InstanceBatch) -> Tensor:
    """Return the extra node features that turning does not change."""
    assert batch.node_features is not None
    return batch.node_features


def _pad_distances(instances: Sequence[Instance], nodes: int) -> NDArray[np.float64]:
    distances = np.zeros((len(instances), nodes, nodes))
    for index, instance in enumerate(instances):
        distances[index, : instance.node_count, : instance.node_count] = instance.distance_matrix
    return distances


def _read_array(values: ArrayLike, field: str, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
    """Read numbers of a given shape; None means any length."""
    try:
        array = np.asarray(values, dtype=np.float64)  # exact for all allowed integers
    except (TypeError, ValueError, OverflowError) as error:
        raise InstanceError.about(
            field, "the values are not numbers in a rectangular array.", "Give such an array."
        ) from error
    is_wanted = (wanted in (None, found) for wanted, found in zip(shape, array.shape, strict=False))
    if array.ndim != len(shape) or not all(is_wanted):
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise InstanceError.about(
            field, f"the shape is {array.shape}, not ({wanted}).", "Give values for each instance and each customer."
        )
    return array


def _refuse_faulty_values(
    positions: NDArray[np.float64], demands: NDArray[np.float64], capacity: NDArray[np.float64]
) -> None:
    spread = np.ptp(positions, axis=1).max(axis=1)  # (B,)
    checks: tuple[tuple[str, Any, str], ...] = (
        ("coordinates", (np.abs(positions) <= LONGEST_LENGTH).all(axis=(1, 2)), "has a position that is not finite"),
        ("coordinates", (spread == 0) | (spread >= SHORTEST_SPREAD), "has positions too close to compute distances"),
        ("demands", (demands == np.floor(demands)).all(axis=1), "has a demand that is not a whole number"),
        ("demands", (demands >= 0).all(axis=1), "has a negative demand"),
        ("capacity", capacity == np.floor(capacity), "has a capacity that is not a whole number"),
        ("capacity", (capacity > 0) & (capacity <= LARGEST_INTEGER), "has no capacity, or too large a one"),
        ("demands", (demands <= capacity[:, None]).all(axis=1), "has a demand above its capacity"),
    )
    for field, sound, fault in checks:
        if not sound.all():
            index = int(np.argmin(sound))
            raise InstanceError.about(field, f"instance {index + 1} {fault}.", "Correct or remove it.")
