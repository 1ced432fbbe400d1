"""What models are chosen by: greedy lengths on instances that are the same at every validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from dynaroute.batch import InstanceBatch
from dynaroute.construct import Greedy, construct
from dynaroute.distributions import draw_published_set
from dynaroute.instance import Instance
from dynaroute.model import Policy
from dynaroute.savings import build_by_savings
from dynaroute.training.baselines import evaluating
from dynaroute.training.instances import InstanceSource
from dynaroute.training.own_instances import InstanceFiles

__all__ = [
    "VALIDATION_SEED",
    "PublishedValidation",
    "RelativeValidation",
    "Validation",
    "draw_validation",
    "measure_greedy_length",
    "read_validation",
]

VALIDATION_SEED = 4321  # models are chosen on this set, and reported on that of 1234


class Validation(Protocol):
    """A measure of policies; less is better."""

    def measure(self, policy: Policy) -> float:
        """How good the policy's greedy solutions are.

        Parameters
        ----------
        policy
            Used as for evaluation, whatever mode it is in.
        """


@dataclass(frozen=True)
class PublishedValidation:
    """The mean greedy length on a set that is drawn as the published ones are.

    Attributes
    ----------
    size, count, capacity
        Customers, instances, and what a vehicle holds.
    """

    size: int
    count: int
    capacity: int

    def measure(self, policy: Policy) -> float:
        """The mean greedy length."""
        return measure_greedy_length(policy, self.size, VALIDATION_SEED, self.count, self.capacity)


@dataclass(frozen=True, eq=False)
class RelativeValidation:
    """The mean of greedy lengths, each over a length known of its instance, so that long routes count no more.

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
            The same instances, as policies and as savings see them.
        best
            The best known cost of each; the lengths of savings if None.
        """
        known = best if best is not None else [build_by_savings(each).cost(each) for each in instances]
        # where all customers are at the depot any solution is as good
        positive = [cost if cost > 0 else 1.0 for cost in known]
        return cls(batch, torch.tensor(positive, dtype=torch.float64, device=batch.device))

    def measure(self, policy: Policy) -> float:
        """The mean of greedy length over known length."""
        with evaluating(policy):
            lengths = construct(policy, self.batch, Greedy()).lengths(self.batch)
        return float((lengths.double() / self.known).mean())


def draw_validation(source: InstanceSource, count: int, device: torch.device) -> RelativeValidation:
    """Instances of a source, drawn once and the same on every machine, compared with savings.

    Parameters
    ----------
    source
        Draws on the host.
    count
        How many.
    device
        Where policies are measured.
    """
    batch = source.draw(count, torch.Generator().manual_seed(VALIDATION_SEED), first_key=0)
    return RelativeValidation.of_instances(batch.to(device), _list_instances(batch), None)


def read_validation(files: InstanceFiles, device: torch.device) -> RelativeValidation:
    """Instances of files, in their own units and rounding, compared with best known costs if there are any.

    Parameters
    ----------
    files
        Where they are.
    device
        Where policies are measured.
    """
    collection = files.read()
    batch = InstanceBatch.from_instances(collection.instances).to(device)
    return RelativeValidation.of_instances(batch, collection.instances, files.read_best(collection))


def measure_greedy_length(
    policy: Policy, size: int, seed: int, count: int = 10_000, capacity: int | None = None
) -> float:
    """Mean greedy length on instances drawn as the published sets are.

    Parameters
    ----------
    policy
        The policy.
    size
        Customers.
    seed
        Of the set.
    count
        How many instances; the published sets have 10,000.
    capacity
        Of vehicles; the usual one for the size if None.
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
