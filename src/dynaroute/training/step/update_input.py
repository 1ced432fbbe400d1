"""The input of a gradient step: solutions and their advantages."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.training.replay.layout import RouteStarts

__all__ = ["UpdateInput"]


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
        values = [getattr(self.batch, field.name) for field in fields(self.batch)]
        return [
            value for value in (*values, self.routes.route, self.routes.position, self.advantages) if value is not None
        ]

    def find_starts(self) -> RouteStarts:
        """Find where routes begin, and which are equal."""
        return RouteStarts.of_routes(self.routes, self.batch.sizes, self.samples)

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
        routes = RouteBatch(self.routes.route.clone(), self.routes.position.clone())
        return UpdateInput(self.batch.map_tensors(torch.clone), routes, self.advantages.clone(), self.samples)
