"""Validation: greedy lengths on a fixed set of instances, by which models are selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct import Greedy, construct
from dynaroute.draw import draw_published_set
from dynaroute.model import Policy
from dynaroute.problem.instance import Instance
from dynaroute.search.savings import build_by_savings
from dynaroute.training.plan.own_instances import InstanceFiles
from dynaroute.training.step.baselines import evaluating
from dynaroute.training.step.instances import InstanceSource

VALIDATION_SEED = 4321  # models are selected on this set, and reported on that of seed 1234


class Validation(Protocol):
    """A measure of policies; lower is better."""

    def measure(self, policy: Policy) -> float:
        """Measure a policy's greedy solutions.

        Parameters
        ----------
        policy
            The policy; it is used in evaluation mode.
        """


@dataclass(frozen=True)
class PublishedValidation:
    """The mean greedy length on a set drawn like the published ones.

    Attributes
    ----------
    size, count, capacity
        Numbers of customers and instances, and the capacity.
    """

    size: int
    count: int
    capacity: int

    def measure(self, policy: Policy) -> float:
        """Return the mean greedy length."""
        return measure_greedy_length(policy, self.size, VALIDATION_SEED, self.count, self.capacity)


@dataclass(frozen=True, eq=False)
class RelativeValidation:
    """The mean of greedy lengths relative to known lengths, so that long instances do not dominate.

    Attributes
    ----------
    batch
        The instances.
    known
        (B,) best known costs, or those of savings.
    """

    batch: InstanceBatch
    known: Tensor

    @classmethod
    def of_instances(
        cls, batch: InstanceBatch, instances: Sequence[Instance], best: Sequence[float] | None
    ) -> RelativeValidation:
        """Compare with best known costs, or with savings.

        Parameters
        ----------
        batch, instances
            The same instances, as a batch and as a list.
        best
            The best known cost of each instance; None to compare with savings.
        """
        known = best if best is not None else [build_by_savings(each).cost(each) for each in instances]
        # if all customers are at the depot, every solution has length 0
        positive = [cost if cost > 0 else 1.0 for cost in known]
        return cls(batch, torch.tensor(positive, dtype=torch.float64, device=batch.device))

    def measure(self, policy: Policy) -> float:
        """Return the mean of greedy length over known length."""
        with evaluating(policy):
            lengths = construct(policy, self.batch, Greedy()).lengths(self.batch)
        return float((lengths.double() / self.known).mean())


def draw_validation(source: InstanceSource, count: int, device: torch.device) -> RelativeValidation:
    """Draw a fixed set of instances, the same on every machine, to compare with savings."""
    batch = source.draw(count, torch.Generator().manual_seed(VALIDATION_SEED), first_key=0)
    return RelativeValidation.of_instances(batch.to(device), _list_instances(batch), None)


def draw_validation_with_rules(source: InstanceSource, count: int, device: torch.device) -> RelativeValidation:
    """Draw a fixed set of instances with rules beyond capacity, to compare with a vehicle for each customer."""
    batch = source.draw(count, torch.Generator().manual_seed(VALIDATION_SEED), first_key=0).to(device)
    return RelativeValidation(batch, RouteBatch.alone(batch).lengths(batch).double().clamp(min=1e-9))


def read_validation(files: InstanceFiles, device: torch.device) -> RelativeValidation:
    """Read instances from files, to compare with best known costs if given, else with savings."""
    collection = files.read()
    batch = InstanceBatch.from_instances(collection.instances).to(device)
    return RelativeValidation.of_instances(batch, collection.instances, files.read_best(collection))


def measure_greedy_length(
    policy: Policy, size: int, seed: int, count: int = 10_000, capacity: int | None = None
) -> float:
    """Measure the mean greedy length on instances drawn like the published sets.

    Parameters
    ----------
    policy
        The policy.
    size
        Number of customers.
    seed
        Seed of the set.
    count
        Number of instances; the published sets have 10,000.
    capacity
        Capacity; the usual one for the size if None.
    """
    drawn = draw_published_set(size, count, seed, capacity)
    batch = InstanceBatch.from_arrays(drawn.depot, drawn.locations, drawn.demands, drawn.capacity).to(policy.device)
    with evaluating(policy):
        return float(construct(policy, batch, Greedy()).lengths(batch).mean())


def _list_instances(batch: InstanceBatch) -> list[Instance]:
    rows = zip(
        batch.coordinates.double(), batch.demands.long(), batch.capacity.tolist(), batch.sizes.tolist(), strict=True
    )
    return [
        Instance(places[: size + 1].numpy(), demands[: size + 1].numpy(), capacity)
        for places, demands, capacity, size in rows
    ]
