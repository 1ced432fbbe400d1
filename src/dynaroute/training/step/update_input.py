"""The input of a gradient step: solutions and their advantages, and how much each of them counts."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.training.replay.layout import RouteStarts

_USUAL_CUSTOMERS = 100
_MOST_ENTROPY = 0.1


@dataclass(frozen=True, eq=False)
class UpdateInput:
    """The input of a step: B solutions and their advantages.

    Attributes
    ----------
    batch
        The instances, one per solution.
    routes
        The solutions.
    advantages
        (B,) length minus baseline; negative is good.
    samples
        Number of consecutive copies of every instance, each with its solution.
    """

    batch: InstanceBatch
    routes: RouteBatch
    advantages: Tensor
    samples: int

    @property
    def instances(self) -> int:
        """Number of instances."""
        return len(self.batch) // self.samples

    def tensors(self) -> list[Tensor]:
        """All tensors, in a fixed order."""
        return [*self.batch.list_tensors(), *self.routes.list_tensors(), self.advantages]

    def find_starts(self) -> RouteStarts:
        """Find where routes begin, and which are equal."""
        return RouteStarts.of_routes(self.routes, self.batch.sizes, self.samples, self.batch.rules)

    def keep_most_instructive(self, count: int) -> UpdateInput:
        """Keep the solutions of each instance whose advantages differ most from their mean.

        They are the ones that the gradient depends on most (docs/training-log.md, "How noisy the gradient is").

        Parameters
        ----------
        count
            Solutions to keep per instance.
        """
        if count == self.samples:
            return self
        grouped = self.advantages.view(-1, self.samples)  # (instances, samples)
        # from their mean, because other baselines than the shared one may lie below all samples
        difference = (grouped - grouped.mean(1, keepdim=True)).abs()
        sample = difference.topk(count, dim=1).indices  # (instances, count)
        first = torch.arange(0, len(self.batch), self.samples, device=sample.device)  # (instances,)
        kept = (first[:, None] + sample).flatten()
        return UpdateInput(self.batch[kept], self.routes[kept], self.advantages[kept], count)

    def split(self, parts: int) -> list[UpdateInput]:
        """Split into parts of equally many instances, each with all its solutions."""
        if parts == 1:
            return [self]
        together = len(self.batch) // parts
        cuts = [slice(first, first + together) for first in range(0, len(self.batch), together)]
        return [UpdateInput(self.batch[cut], self.routes[cut], self.advantages[cut], self.samples) for cut in cuts]

    def clone(self) -> UpdateInput:
        """Copy all tensors."""
        batch, routes = self.batch.map_tensors(torch.clone), self.routes.map_tensors(torch.clone)
        return UpdateInput(batch, routes, self.advantages.clone(), self.samples)


def weigh_sizes(exponent: float, batch: InstanceBatch) -> Tensor | float:
    """Compute the (B,) factors by which instances count: (n / 100) ^ exponent.

    Gradients of large instances are about as noisy as those of small ones, but take much longer. So it is better to
    draw few large instances and to let each count more: for given parts of small and large ones in the aim of an
    update, the noise is least if an instance counts in proportion to the square root of its time
    (docs/training-log.md, "Fewer large instances that count more").

    Parameters
    ----------
    exponent
        0: all count the same. 1: an instance counts in proportion to its customers.
    batch
        The instances.
    """
    if exponent == 0:
        return 1.0
    factors: Tensor = (batch.sizes / _USUAL_CUSTOMERS) ** exponent
    return factors


def usual_entropy(customers: int) -> float:
    """Compute the weight that served for this many customers, in standard deviations of the samples' lengths.

    A policy has more entropy where it has more choices, and each of them matters less to the whole length. How the
    weights were found: docs/training-log.md, "What entropy is worth".
    """
    return min(_MOST_ENTROPY, 3 / customers)


def spread_entropy(weight: float, batch: InstanceBatch) -> Tensor | float:
    """Compute the (B,) weights of instances of several sizes: inversely proportional to size, like the usual ones.

    One weight for all would be worth more than the lengths of large instances: docs/training-log.md, "Entropy and
    size".

    Parameters
    ----------
    weight
        The weight of the largest instances that the batch has room for. Others have 0.1 at most, or this if it is more.
    batch
        The instances.
    """
    if weight == 0:
        return 0.0
    return (weight * (batch.nodes - 1) / batch.sizes).clamp(max=max(weight, _MOST_ENTROPY))
