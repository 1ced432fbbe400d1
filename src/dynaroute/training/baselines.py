"""What the length of a sampled solution is compared with: b(X) of eq 26."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import NormalDist
from typing import Any, Protocol, TypeAlias

import torch
from torch import Tensor

from dynaroute.batch import InstanceBatch
from dynaroute.construct.build import construct_once
from dynaroute.construct.choose import MostLikely
from dynaroute.model.policy import Policy
from dynaroute.training.instances import InstanceSource
from dynaroute.training.plan import BaselineName
from dynaroute.training.ranks import Ranks

__all__ = [
    "Baseline",
    "Comparison",
    "GreedyBaseline",
    "RolloutBaseline",
    "SharedBaseline",
    "evaluating",
    "greedy_lengths",
    "make_baseline",
    "subtract",
    "subtract_relatively",
]

Comparison: TypeAlias = Callable[[Tensor, Tensor], Tensor]

_SIGNIFICANCE = 0.05
_WARM_UP_DECAY = 0.8


class Baseline(Protocol):
    """Advantages from lengths, and what has to be remembered for them."""

    def advantages(self, batch: InstanceBatch, lengths: Tensor) -> Tensor:
        """(B,) how much longer than expected each solution is.

        Parameters
        ----------
        batch
            The instances, each once.
        lengths
            (B,) lengths of sampled solutions, those of an instance in a row.
        """

    def end_epoch(self, policy: Policy) -> str:
        """Take notice that an epoch is over; returns what was decided, in words, or nothing."""

    def state(self) -> dict[str, Any]:
        """All that a resumed run needs."""

    def restore(self, state: dict[str, Any]) -> None:
        """Be as when `state` was taken."""


def subtract(length: Tensor, expected: Tensor) -> Tensor:
    """How much longer than expected a solution is."""
    return length - expected


def subtract_relatively(length: Tensor, expected: Tensor) -> Tensor:
    """The same as a part of what was expected: for instances whose lengths differ, or the longest would teach all."""
    return (length - expected) / expected.clamp(min=1e-9)


class SharedBaseline:
    """The mean length of an instance's samples; differences are divided by their deviation over all processes.

    Parameters
    ----------
    ranks
        The processes.
    compare
        What a difference is.
    """

    def __init__(self, ranks: Ranks, compare: Comparison = subtract) -> None:
        self.ranks, self.compare = ranks, compare

    def advantages(self, batch: InstanceBatch, lengths: Tensor) -> Tensor:
        """(B,) length minus the mean of the siblings, over the deviation."""
        grouped = lengths.view(len(batch), -1)  # (instances, samples)
        difference = self.compare(grouped, grouped.mean(1, keepdim=True))
        count = difference.numel() * self.ranks.count
        deviation = (self.ranks.sum(difference.square().sum()) / max(1, count - 1)).sqrt()
        return (difference / deviation.clamp(min=1e-9)).flatten()

    def end_epoch(self, policy: Policy) -> str:
        """Nothing to do."""
        return ""

    def state(self) -> dict[str, Any]:
        """Nothing to remember."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Nothing to restore."""


class GreedyBaseline:
    """L(π^g) of eq 27: the greedy solution of the policy as it is now (Algorithm 1).

    Parameters
    ----------
    policy
        What learns.
    compare
        What a difference is.
    """

    def __init__(self, policy: Policy, compare: Comparison = subtract) -> None:
        self.policy, self.compare = policy, compare

    def advantages(self, batch: InstanceBatch, lengths: Tensor) -> Tensor:
        """(B,) length minus that of the greedy solution."""
        grouped = lengths.view(len(batch), -1)  # (instances, samples)
        return self.compare(grouped, greedy_lengths(self.policy, batch)[:, None]).flatten()

    def end_epoch(self, policy: Policy) -> str:
        """Nothing to do."""
        return ""

    def state(self) -> dict[str, Any]:
        """Nothing to remember."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Nothing to restore."""


class RolloutBaseline:
    """The greedy solution of a frozen policy, replaced after an epoch if the new one is better beyond doubt (AM).

    In the first epoch, before there is a policy worth comparing with, a moving average of the lengths stands in.

    Parameters
    ----------
    policy
        What learns; frozen as it is at first.
    task
        Where the instances of the comparison come from.
    count
        How many there are.
    seed
        Of these instances; a new set is drawn after each replacement, so that none is learned by heart.
    ranks
        The processes.
    compare
        What a difference is.
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
        """(B,) length minus that of the frozen policy's greedy solution; in the first epoch, minus the average."""
        grouped = lengths.view(len(batch), -1)  # (instances, samples)
        if self.is_warm:
            return self.compare(grouped, greedy_lengths(self.frozen, batch)[:, None]).flatten()
        mean = self.ranks.sum(lengths.mean()) / self.ranks.count
        self.average = mean if self.average is None else _WARM_UP_DECAY * self.average + (1 - _WARM_UP_DECAY) * mean
        return self.compare(lengths, self.average)

    def end_epoch(self, policy: Policy) -> str:
        """Compare the policy with the frozen one, paired on the same instances."""
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
        """The frozen policy, the average, and how far the comparison is."""
        return {
            "frozen": self.frozen.state_dict(),
            "replacements": self.replacements,
            "is_warm": self.is_warm,
            "average": self.average,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Be as when `state` was taken."""
        if type(state["replacements"]) is not int or state["replacements"] < 0 or type(state["is_warm"]) is not bool:
            raise ValueError("the number of replacements is a whole number from 0, is_warm true or false")
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
    """The baseline of that name.

    Parameters
    ----------
    name
        shared, greedy or rollout.
    policy
        What learns.
    task, count, seed
        Instances that a rollout baseline is compared on.
    ranks
        The processes.
    compare
        What a difference is: `subtract`, or `subtract_relatively` where lengths differ.
    """
    if name == "shared":
        return SharedBaseline(ranks, compare)
    if name == "greedy":
        return GreedyBaseline(policy, compare)
    return RolloutBaseline(policy, task, count, seed, ranks, compare)


def doubt_improvement(difference: Tensor) -> float:
    """One-sided p-value that the mean of paired differences is not below 0.

    Student's t has as many degrees of freedom as there are instances, thousands, where it is the normal distribution
    to three digits.

    Parameters
    ----------
    difference
        (count,) at least two.
    """
    error = float(difference.std()) / math.sqrt(len(difference))
    mean = float(difference.mean())
    if error == 0:
        return 0.0 if mean < 0 else 1.0
    return NormalDist().cdf(mean / error)


def greedy_lengths(policy: Policy, batch: InstanceBatch) -> Tensor:
    """(B,) lengths of a policy's greedy solutions.

    Parameters
    ----------
    policy
        Used as for evaluation, whatever mode it is in.
    batch
        The instances.
    """
    with evaluating(policy):
        return construct_once(policy, batch, MostLikely()).lengths(batch)


@contextmanager
def evaluating(policy: Policy) -> Iterator[None]:
    """Within this block the policy does not normalise over the batch; after it, it is as it was."""
    was_training = policy.training
    policy.eval()
    try:
        yield
    finally:
        policy.train(was_training)
