"""Sources of random training instances, drawn on the policy's device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from dynaroute.base.errors import OptionError
from dynaroute.batch import InstanceBatch
from dynaroute.draw.distribution import Distribution
from dynaroute.draw.drawing import draw_instances
from dynaroute.draw.ruled import add_rules

__all__ = ["DistributionTask", "InstanceSource", "RuledTask", "TrainingTask"]


class InstanceSource(Protocol):
    """A source of instances for training steps."""

    def draw(self, count: int, generator: torch.Generator, first_key: int) -> InstanceBatch:
        """Draw instances on the generator's device, without waiting for the host.

        Parameters
        ----------
        count
            Number of instances.
        generator
            Source of randomness.
        first_key
            Key of the first instance's random stream; the others follow.
        """


@dataclass(frozen=True)
class DistributionTask:
    """Instances from a mixture of kinds and sizes.

    Attributes
    ----------
    distribution
        The mixture.
    """

    distribution: Distribution

    def draw(self, count: int, generator: torch.Generator, first_key: int) -> InstanceBatch:
        """Draw instances, padded to the distribution's largest size: see `InstanceSource`."""
        return draw_instances(self.distribution, count, generator, first_key)


@dataclass(frozen=True)
class RuledTask:
    """Instances with rules beyond capacity, those of a random variant each.

    Attributes
    ----------
    plain
        Source of plain instances in the unit square.
    variants
        Names of the variants (`dynaroute.draw.ruled.find_variants`).
    """

    plain: InstanceSource
    variants: tuple[str, ...]

    def draw(self, count: int, generator: torch.Generator, first_key: int) -> InstanceBatch:
        """Draw instances: see `InstanceSource`."""
        return add_rules(self.plain.draw(count, generator, first_key), self.variants, generator)


@dataclass(frozen=True)
class TrainingTask:
    """The paper's distribution at one size: uniform positions, demands 1 to 9.

    Attributes
    ----------
    size
        Customers.
    capacities
        Capacities; each instance gets one of them, all equally likely.
    """

    size: int
    capacities: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.size < 1:
            raise OptionError.about("size", f"the size is {self.size}.", "Give 1 or more.")
        if not self.capacities or min(self.capacities) < 9:
            message = f"the capacities are {self.capacities}."
            raise OptionError.about("capacities", message, "Demands go up to 9: give 9 or more.")

    def draw(self, count: int, generator: torch.Generator, first_key: int) -> InstanceBatch:
        """Draw instances of one size: see `InstanceSource`."""
        device = generator.device
        locations = torch.rand(count, self.size + 1, 2, generator=generator, device=device)  # (B, M, 2)
        demands = torch.randint(1, 10, (count, self.size + 1), generator=generator, device=device, dtype=torch.int32)
        demands[:, 0] = 0
        return InstanceBatch(
            locations=locations,
            demands=demands,
            capacity=self._draw_capacities(count, generator),
            sizes=torch.full((count,), self.size, dtype=torch.int64, device=device),
            keys=torch.arange(first_key, first_key + count, device=device),
            coordinates=locations,
            rounding=torch.zeros(count, dtype=torch.int8, device=device),
        )

    def _draw_capacities(self, count: int, generator: torch.Generator) -> Tensor:
        """(B,) capacities."""
        # fill on the device: a copy from the host would wait for pending work
        drawn = torch.full((count,), self.capacities[0], dtype=torch.int32, device=generator.device)
        if len(self.capacities) == 1:
            return drawn
        which = torch.randint(len(self.capacities), (count,), generator=generator, device=generator.device)
        for index, capacity in enumerate(self.capacities):
            drawn.masked_fill_(which == index, capacity)
        return drawn
