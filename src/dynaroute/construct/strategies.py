"""Strategies: which attempts to make per instance, of which the best counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Protocol

import torch
from torch import Tensor

from dynaroute.base.errors import OptionError
from dynaroute.batch import InstanceBatch
from dynaroute.construct.choose import Chooser, MostLikely, Sample, SolutionBuilder, StartAt, make_stream_keys

SYMMETRIES = 8  # of the square: four quarter turns, each also mirrored

_HOTTEST = 1e6  # its inverse is the coldest; beyond these, logits / temperature overflow float32


class Strategy(Protocol):
    """A fixed number of attempts per instance."""

    @property
    def attempts(self) -> int:
        """Number of solutions built per instance."""
        ...

    @property
    def held(self) -> int:
        """Number of partial solutions that an attempt holds at once."""
        ...

    def place(self, batch: InstanceBatch, attempt: Tensor) -> InstanceBatch:
        """Return the instances as the policy sees them in these (B,) attempts."""
        ...

    def chooser(self, batch: InstanceBatch, attempt: Tensor, seed: int) -> Chooser | SolutionBuilder:
        """Return the chooser for these (B,) attempts at instances from `place`."""
        ...


class _AsGiven:
    """Attempts at instances as they are, one solution at a time."""

    @property
    def held(self) -> int:
        """One."""
        return 1

    def place(self, batch: InstanceBatch, attempt: Tensor) -> InstanceBatch:
        """Return them unchanged."""
        return batch


@dataclass(frozen=True)
class Greedy(_AsGiven):
    """Greedy decoding: one attempt, taking the most probable node at every step."""

    @property
    def attempts(self) -> int:
        """One."""
        return 1

    def chooser(self, batch: InstanceBatch, attempt: Tensor, seed: int) -> Chooser:
        """Greedy."""
        return MostLikely()


@dataclass(frozen=True)
class Sampling(_AsGiven):
    """Sampling from the policy. The first k samples are the same for any larger number of samples.

    Attributes
    ----------
    samples
        Number of samples.
    temperature
        Above 1 is more random, below 1 less.
    """

    samples: int = 16
    temperature: float = 1.0

    def __post_init__(self) -> None:
        refuse_below_one("samples", self.samples)
        if not isinstance(self.temperature, Real) or not 1 / _HOTTEST <= self.temperature <= _HOTTEST:
            raise OptionError.about(
                "temperature",
                f"the temperature is {self.temperature!r}.",
                f"Give a number from {1 / _HOTTEST:g} to {_HOTTEST:g}; greedy decoding is temperature 0.",
            )

    @property
    def attempts(self) -> int:
        """The number of samples."""
        return self.samples

    def chooser(self, batch: InstanceBatch, attempt: Tensor, seed: int) -> Chooser:
        """Sample, with a separate random stream per attempt."""
        return Sample(make_stream_keys(seed, batch.keys, attempt), self.temperature)


@dataclass(frozen=True)
class MultiStart(_AsGiven):
    """Greedy decoding from k distinct first customers, the nearest to the depot.

    Attributes
    ----------
    starts
        k; an instance with fewer customers reuses its starts.
    """

    starts: int = 16

    def __post_init__(self) -> None:
        refuse_below_one("starts", self.starts)

    @property
    def attempts(self) -> int:
        """The number of starts."""
        return self.starts

    def chooser(self, batch: InstanceBatch, attempt: Tensor, seed: int) -> Chooser:
        """Force the first customer, then decode greedily."""
        distance = (batch.locations - batch.locations[:, :1]).norm(dim=-1)  # (B, M)
        distance = distance.masked_fill(~batch.is_customer, torch.inf)
        nearest = distance.sort(dim=1, stable=True).indices  # (B, M); ties go to the lower number
        rank = attempt % batch.sizes
        return StartAt(nearest.gather(1, rank[:, None]).squeeze(1), MostLikely())


@dataclass(frozen=True)
class Augmented:
    """Another strategy in all eight orientations of the square; the first is the original instance.

    Extra node features are computed again for each orientation (`InstanceBatch.with_node_features`).

    Attributes
    ----------
    strategy
        The strategy for each orientation.
    """

    strategy: Strategy

    @property
    def attempts(self) -> int:
        """Eight times those of the other strategy."""
        return SYMMETRIES * self.strategy.attempts

    @property
    def held(self) -> int:
        """Those of the other strategy."""
        return self.strategy.held

    def place(self, batch: InstanceBatch, attempt: Tensor) -> InstanceBatch:
        """Turn and mirror the instances; each orientation has its own random streams."""
        inner = self.strategy.place(batch, attempt // SYMMETRIES)
        orientation = attempt % SYMMETRIES
        turned = inner.turned_to(reflect(inner.locations, orientation))
        # orientation 0 keeps the streams of the plain strategy
        return replace(turned, keys=inner.keys ^ (orientation << 59))

    def chooser(self, batch: InstanceBatch, attempt: Tensor, seed: int) -> Chooser | SolutionBuilder:
        """Return the other strategy's chooser."""
        return self.strategy.chooser(batch, attempt // SYMMETRIES, seed)


def reflect(locations: Tensor, symmetry: Tensor) -> Tensor:
    """Apply symmetries of the unit square.

    Parameters
    ----------
    locations
        (B, M, 2) in the unit square.
    symmetry
        (B,) 0 to 7; 0 is the identity.
    """
    code = symmetry[:, None]
    x, y = locations.unbind(-1)  # (B, M) each
    x = torch.where(code & 1 > 0, 1 - x, x)
    y = torch.where(code & 2 > 0, 1 - y, y)
    swap = code & 4 > 0
    return torch.stack([torch.where(swap, y, x), torch.where(swap, x, y)], -1)


def refuse_below_one(field: str, value: int) -> None:
    """Raise if a number of attempts is none."""
    if not isinstance(value, Integral) or value < 1:
        raise OptionError.about(field, f"{field} is {value!r}.", "Give a whole number above 0.")
