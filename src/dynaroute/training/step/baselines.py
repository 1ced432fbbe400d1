"""Baselines: what the length of a sampled solution is compared with, b(X) of eq 26."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import NormalDist
from typing import Any, Protocol, TypeAlias

import torch
from torch import Tensor

from dynaroute.base.vocabulary import BaselineName
from dynaroute.batch import InstanceBatch
from dynaroute.batch.rules import KINDS
from dynaroute.construct.build import construct_once
from dynaroute.construct.choose import MostLikely
from dynaroute.model.policy import Policy
from dynaroute.training.ranks import Ranks
from dynaroute.training.step.instances import InstanceSource, RuledTask

__all__ = [
    "Baseline",
    "Comparison",
    "GreedyBaseline",
    "RolloutBaseline",
    "SharedBaseline",
    "SharedByKindBaseline",
    "evaluating",
    "greedy_lengths",
    "make_baseline",
    "subtract",
    "subtract_relatively",
]

Comparison: TypeAlias = Callable[[Tensor, Tensor], Tensor]

_SIGNIFICANCE = 0.05
_WARM_UP_DECAY = 0.8
_NEWEST = 0.05  # weight of a step among the squares of all before


class Baseline(Protocol):
    """Turns lengths into advantages, and keeps the state needed for that."""

    def advantages(self, batch: InstanceBatch, lengths: Tensor) -> Tensor:
        """Compute (B,) advantages: how much longer than expected each solution is.

        Parameters
        ----------
        batch
            The instances, without repetition.
        lengths
            (B,) lengths of sampled solutions, grouped by instance.
        """

    def end_epoch(self, policy: Policy) -> str:
        """End an epoch; returns a description of what was decided, or ""."""

    def state(self) -> dict[str, Any]:
        """Return the state that a resumed run needs."""

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved state."""


def subtract(length: Tensor, expected: Tensor) -> Tensor:
    """Return the difference from the expected length."""
    return length - expected


def subtract_relatively(length: Tensor, expected: Tensor) -> Tensor:
    """Return the relative difference. Without it, long instances would dominate where lengths differ."""
    return (length - expected) / expected.clamp(min=1e-9)


class _MemorylessBaseline:
    """What a baseline has that learns nothing from an epoch and keeps no state."""

    def end_epoch(self, policy: Policy) -> str:
        """Do nothing."""
        return ""

    def state(self) -> dict[str, Any]:
        """Return no state."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Do nothing."""


class SharedBaseline(_MemorylessBaseline):
    """The mean length of an instance's samples; differences are divided by their overall standard deviation.

    Parameters
    ----------
    ranks
        The processes.
    compare
        How lengths are compared.
    """

    def __init__(self, ranks: Ranks, compare: Comparison = subtract) -> None:
        self.ranks, self.compare = ranks, compare

    def advantages(self, batch: InstanceBatch, lengths: Tensor) -> Tensor:
        """Compute (B,) length minus the mean of the instance's samples, over the standard deviation."""
        grouped = lengths.view(len(batch), -1)  # (instances, samples)
        difference = self.compare(grouped, grouped.mean(1, keepdim=True))
        count = difference.numel() * self.ranks.count
        deviation = (self.ranks.sum(difference.square().sum()) / max(1, count - 1)).sqrt()
        return (difference / deviation.clamp(min=1e-9)).flatten()


class SharedByKindBaseline:
    """The mean length of an instance's samples; differences are divided by the standard deviation of their kind.

    Where instances have different rules, lengths of some kinds differ far more than those of others, and would drown
    them. Deviations are remembered over some steps, because a step has few instances of each kind.

    Parameters
    ----------
    ranks
        The processes.
    compare
        How lengths are compared.
    """

    def __init__(self, ranks: Ranks, compare: Comparison = subtract) -> None:
        self.ranks, self.compare = ranks, compare
        self.squares: Tensor | None = None  # (KINDS,) mean squared differences; 0 for kinds that were not seen yet

    def advantages(self, batch: InstanceBatch, lengths: Tensor) -> Tensor:
        """Compute (B,) length minus the mean of the instance's samples, over the deviation of its kind."""
        grouped = lengths.view(len(batch), -1)  # (instances, samples)
        difference = self.compare(grouped, grouped.mean(1, keepdim=True))
        kind = torch.zeros_like(batch.sizes) if batch.rules is None else batch.rules.kinds  # (instances,)
        samples = grouped.shape[1]
        square = difference.double().square().sum(1) / max(1, samples - 1)
        sums = torch.zeros(2, KINDS, dtype=torch.float64, device=lengths.device)
        sums = self.ranks.sum(sums.index_add(1, kind, torch.stack([square, torch.ones_like(square)])))
        here = sums[0] / sums[1].clamp(min=1)
        before = here if self.squares is None else torch.where(self.squares > 0, self.squares, here)
        self.squares = torch.where(sums[1] > 0, before.lerp(here, _NEWEST), before)
        deviation = self.squares.sqrt().clamp(min=1e-9)[kind]  # (instances,)
        return (difference / deviation[:, None]).to(lengths.dtype).flatten()

    def end_epoch(self, policy: Policy) -> str:
        """Do nothing."""
        return ""

    def state(self) -> dict[str, Any]:
        """Return the mean squares."""
        return {"squares": self.squares}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved state."""
        self.squares = state["squares"]


class GreedyBaseline(_MemorylessBaseline):
    """L(π^g) of eq 27: the greedy solution of the current policy (Algorithm 1).

    Parameters
    ----------
    policy
        The policy being trained.
    compare
        How lengths are compared.
    """

    def __init__(self, policy: Policy, compare: Comparison = subtract) -> None:
        self.policy, self.compare = policy, compare

    def advantages(self, batch: InstanceBatch, lengths: Tensor) -> Tensor:
        """Compute (B,) length minus that of the greedy solution."""
        grouped = lengths.view(len(batch), -1)  # (instances, samples)
        return self.compare(grouped, greedy_lengths(self.policy, batch)[:, None]).flatten()


class RolloutBaseline:
    """The greedy solution of a frozen policy, replaced after an epoch if the new one is significantly better (AM).

    In the first epoch, before there is a useful policy, a moving average of the lengths is used instead.

    Parameters
    ----------
    policy
        The policy being trained; a copy of it is frozen.
    task
        Source of the instances for the comparison.
    count
        Number of instances.
    seed
        Seed of these instances; a new set is drawn after each replacement, so that none is memorised.
    ranks
        The processes.
    compare
        How lengths are compared.
    """

    def __init__(
        self,
        policy: Policy,
        task: InstanceSource,
        count: int,
        seed: int,
        ranks: Ranks,
        compare: Comparison = subtract,
    ) -> None:
        self.task, self.count, self.seed, self.ranks, self.compare = task, count, seed, ranks, compare
        self.frozen = copy.deepcopy(policy)
        self.replacements = 0
        self.is_warm = False
        self.average: Tensor | None = None

    def advantages(self, batch: InstanceBatch, lengths: Tensor) -> Tensor:
        """Compute (B,) length minus the frozen policy's greedy length or, in the first epoch, minus the average."""
        grouped = lengths.view(len(batch), -1)  # (instances, samples)
        if self.is_warm:
            return self.compare(grouped, greedy_lengths(self.frozen, batch)[:, None]).flatten()
        mean = self.ranks.sum(lengths.mean()) / self.ranks.count
        self.average = mean if self.average is None else _WARM_UP_DECAY * self.average + (1 - _WARM_UP_DECAY) * mean
        return self.compare(lengths, self.average)

    def end_epoch(self, policy: Policy) -> str:
        """Compare the policy with the frozen one on the same instances."""
        self.is_warm = True
        generator = torch.Generator(policy.device).manual_seed(self.seed + self.replacements)
        batch = self.task.draw(self.count, generator, first_key=0)
        difference = self.compare(
            greedy_lengths(policy, batch), greedy_lengths(self.frozen, batch)
        ).double()  # (count,)
        doubt = doubt_improvement(difference)
        if doubt >= _SIGNIFICANCE:
            return f"baseline kept (difference {float(difference.mean()):+.4f}, p = {doubt:.3g})"
        self.frozen = copy.deepcopy(policy)
        self.replacements += 1
        return f"baseline replaced (difference {float(difference.mean()):+.4f}, p = {doubt:.3g})"

    def state(self) -> dict[str, Any]:
        """Return the frozen policy, the average, and the number of replacements."""
        return {
            "frozen": self.frozen.state_dict(),
            "replacements": self.replacements,
            "is_warm": self.is_warm,
            "average": self.average,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved state."""
        if type(state["replacements"]) is not int or state["replacements"] < 0 or type(state["is_warm"]) is not bool:
            raise ValueError(
                "the number of replacements must be a whole number of 0 or more, and is_warm true or false"
            )
        self.frozen.load_state_dict(state["frozen"])
        self.replacements, self.is_warm = state["replacements"], state["is_warm"]
        self.average = None if state["average"] is None else state["average"].to(self.frozen.device)


def make_baseline(
    name: BaselineName,
    policy: Policy,
    task: InstanceSource,
    count: int,
    seed: int,
    ranks: Ranks,
    compare: Comparison = subtract,
) -> Baseline:
    """Make the baseline of this name.

    Parameters
    ----------
    name
        shared, greedy or rollout.
    policy
        The policy being trained.
    task, count, seed
        Instances for a rollout baseline's comparison.
    ranks
        The processes.
    compare
        `subtract`, or `subtract_relatively` if lengths differ between instances.
    """
    if name == "shared":
        return SharedByKindBaseline(ranks, compare) if type(task) is RuledTask else SharedBaseline(ranks, compare)
    if name == "greedy":
        return GreedyBaseline(policy, compare)
    return RolloutBaseline(policy, task, count, seed, ranks, compare)


def doubt_improvement(difference: Tensor) -> float:
    """Compute the one-sided p-value that the mean of paired differences is not below 0.

    With thousands of instances, Student's t equals the normal distribution to three digits.

    Parameters
    ----------
    difference
        (count,) differences, at least two.
    """
    error = float(difference.std()) / math.sqrt(len(difference))
    mean = float(difference.mean())
    if error == 0:
        return 0.0 if mean < 0 else 1.0
    return NormalDist().cdf(mean / error)


def greedy_lengths(policy: Policy, batch: InstanceBatch) -> Tensor:
    """Compute (B,) lengths of a policy's greedy solutions.

    Parameters
    ----------
    policy
        The policy; it is used in evaluation mode.
    batch
        The instances.
    """
    with evaluating(policy):
        return construct_once(policy, batch, MostLikely()).lengths(batch)


@contextmanager
def evaluating(policy: Policy) -> Iterator[None]:
    """Put the policy into evaluation mode inside this block."""
    was_training = policy.training
    policy.eval()
    try:
        yield
    finally:
        policy.train(was_training)
