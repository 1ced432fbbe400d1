"""Strategies: which attempts to make at an instance; the best one counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Protocol

import torch
from torch import Tensor

from dynaroute.batch import InstanceBatch
from dynaroute.construct.choose import Chooser, MostLikely, Sample, StartAt
from dynaroute.construct.noise import make_stream_keys
from dynaroute.errors import OptionError, Where

__all__ = ["SYMMETRIES", "Augmented", "Greedy", "MultiStart", "Sampling", "Strategy", "reflect"]

SYMMETRIES = 8  # of the square: four quarter turns, each with its mirror image

_HOTTEST = 1e6  # and its inverse the coldest: beyond, logits over temperature leave the range of float32


class Strategy(Protocol):
    """A number of attempts at every instance."""

    @property
    def attempts(self) -> int:
        """How many solutions are built for each instance."""
        ...

    def place(self, batch: InstanceBatch, attempt: Tensor) -> InstanceBatch:
        """The instances as the policy sees them in these (B,) attempts."""
        ...

    def chooser(self, batch: InstanceBatch, attempt: Tensor, seed: int) -> Chooser:
        """How nodes are chosen in these (B,) attempts at instances that `place` returned."""
        ...


@dataclass(frozen=True)
class Greedy:
    """The most probable node at every step: one attempt."""

    @property
    def attempts(self) -> int:
        """One."""
        return 1

    def place(self, batch: InstanceBatch, attempt: Tensor) -> InstanceBatch:
        """As they are."""
        return batch

    def chooser(self, batch: InstanceBatch, attempt: Tensor, seed: int) -> Chooser:
        """Greedy."""
        return MostLikely()


@dataclass(frozen=True)
class Sampling:
    """Solutions drawn from the policy. The first k of more samples are those of k samples.

    Attributes
    ----------
    samples
        How many.
    temperature
        Above 1 is wilder, below 1 tamer.
    """

    samples: int = 16
    temperature: float = 1.0

    def __post_init__(self) -> None:
        _refuse_below_one("samples", self.samples)
        if not isinstance(self.temperature, Real) or not 1 / _HOTTEST <= self.temperature <= _HOTTEST:
            raise OptionError(
                f"the temperature is {self.temperature!r}.",
                where=Where(field="temperature"),
                remedy=f"Give a number from {1 / _HOTTEST:g} to {_HOTTEST:g}; greedy decoding is temperature 0.",
            )

    @property
    def attempts(self) -> int:
        """The number of samples."""
        return self.samples

    def place(self, batch: InstanceBatch, attempt: Tensor) -> InstanceBatch:
        """As they are."""
        return batch

    def chooser(self, batch: InstanceBatch, attempt: Tensor, seed: int) -> Chooser:
        """Sample, each attempt from a random stream of its own."""
        return Sample(make_stream_keys(seed, batch.keys, attempt), self.temperature)


@dataclass(frozen=True)
class MultiStart:
    """Greedy from k distinct first customers: those nearest to the depot.

    Attributes
    ----------
    starts
        k; where an instance has fewer customers, its starts are used again.
    """

    starts: int = 16

    def __post_init__(self) -> None:
        _refuse_below_one("starts", self.starts)

    @property
    def attempts(self) -> int:
        """The number of starts."""
        return self.starts

    def place(self, batch: InstanceBatch, attempt: Tensor) -> InstanceBatch:
        """As they are."""
        return batch

    def chooser(self, batch: InstanceBatch, attempt: Tensor, seed: int) -> Chooser:
        """Greedy, but for the first customer."""
        distance = (batch.locations - batch.locations[:, :1]).norm(dim=-1)  # (B, M)
        distance = distance.masked_fill(~batch.is_customer, torch.inf)
        nearest = distance.sort(dim=1, stable=True).indices  # (B, M); ties go to the lower number
        rank = attempt % batch.sizes
        return StartAt(nearest.gather(1, rank[:, None]).squeeze(1), MostLikely())


@dataclass(frozen=True)
class Augmented:
    """Another strategy in each of the eight orientations of the square; the first is the instance as it is.

    Attributes
    ----------
    strategy
        What to do in each orientation.
    """

    strategy: Strategy

    @property
    def attempts(self) -> int:
        """Eight times the other strategy's."""
        return SYMMETRIES * self.strategy.attempts

    def place(self, batch: InstanceBatch, attempt: Tensor) -> InstanceBatch:
        """Turned and mirrored; each orientation draws from random streams of its own."""
        inner = self.strategy.place(batch, attempt // SYMMETRIES)
        orientation = attempt % SYMMETRIES
        return replace(
            inner,
            locations=reflect(inner.locations, orientation),
            keys=inner.keys ^ (orientation << 59),  # 0, the instance as it is, keeps the plain strategy's streams
        )

    def chooser(self, batch: InstanceBatch, attempt: Tensor, seed: int) -> Chooser:
        """As the other strategy does."""
        return self.strategy.chooser(batch, attempt // SYMMETRIES, seed)


def reflect(locations: Tensor, symmetry: Tensor) -> Tensor:
    """Apply symmetries of the unit square.

    Parameters
    ----------
    locations
        (B, M, 2) in the unit square.
    symmetry
        (B,) 0 to 7; 0 leaves everything as it is.
    """
    code = symmetry[:, None]
    x, y = locations.unbind(-1)  # (B, M) each
    x = torch.where(code & 1 > 0, 1 - x, x)
    y = torch.where(code & 2 > 0, 1 - y, y)
    swap = code & 4 > 0
    return torch.stack([torch.where(swap, y, x), torch.where(swap, x, y)], -1)


def _refuse_below_one(field: str, value: int) -> None:
    if not isinstance(value, Integral) or value < 1:
        raise OptionError(f"{field} is {value!r}.", where=Where(field=field), remedy="Give a whole number above 0.")
