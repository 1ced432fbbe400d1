"""Choosing the next node from its logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from dynaroute.batch import RouteBatch
from dynaroute.construct.noise import draw_gumbel

__all__ = ["Chooser", "Follow", "MostLikely", "Sample", "StartAt", "StepInfo"]


class StepInfo(NamedTuple):
    """The position of P trajectories in their solutions.

    Attributes
    ----------
    trajectory
        (P,) int64 index in the batch.
    step
        (P,) int64: nodes visited so far, including returns to the depot.
    route
        (P,) int64: routes finished so far.
    position
        (P,) int64: customers on the current route so far.
    nodes
        (P, M) int64: node number of each slot.
    """

    trajectory: Tensor
    step: Tensor
    route: Tensor
    position: Tensor
    nodes: Tensor


class Chooser(Protocol):
    """Chooses a slot for each of P trajectories."""

    def __call__(self, logits: Tensor, info: StepInfo) -> Tensor:
        """Choose (P,) slots from (P, M) logits, never one with minus infinity."""
        ...


class MostLikely:
    """Greedy: the most probable node; ties go to the lower number."""

    def __call__(self, logits: Tensor, info: StepInfo) -> Tensor:
        """Return the argmax."""
        return logits.argmax(1)


@dataclass(frozen=True, eq=False)
class Sample:
    """Sampling: a node drawn from eq 20.

    Attributes
    ----------
    stream_keys
        (B, 2) random streams of the trajectories.
    temperature
        Above 1 is more random, below 1 less.
    """

    stream_keys: Tensor
    temperature: float = 1.0

    def __call__(self, logits: Tensor, info: StepInfo) -> Tensor:
        """Return the argmax after adding Gumbel noise."""
        return self.scores(logits, info).argmax(1)

    def scores(self, logits: Tensor, info: StepInfo) -> Tensor:
        """Add noise to (P, M) logits: the largest is the sample."""
        noise = draw_gumbel(self.stream_keys[info.trajectory], info.step, info.nodes)
        return logits / self.temperature + noise


@dataclass(frozen=True, eq=False)
class StartAt:
    """Force the first customer of the solution, then use another chooser.

    Attributes
    ----------
    customers
        (B,) first customer of each trajectory.
    then
        The chooser for all other steps.
    """

    customers: Tensor
    then: Chooser

    def __call__(self, logits: Tensor, info: StepInfo) -> Tensor:
        """Return the forced customer at the first step, then the other chooser's slot."""
        chosen = self.then(logits, info)
        return torch.where(
            info.step == 0, self.customers[info.trajectory], chosen
        )  # at the first step, slots are node numbers


@dataclass(frozen=True, eq=False)
class Follow:
    """Follow given solutions, to compute their probability.

    Attributes
    ----------
    routes
        The solutions of all trajectories.
    """

    routes: RouteBatch

    def __call__(self, logits: Tensor, info: StepInfo) -> Tensor:
        """Return the next stop of the given route, or the depot at its end."""
        rows = info.trajectory[:, None]
        on_route = self.routes.route[rows, info.nodes] == info.route[:, None]  # (P, M)
        is_next = on_route & (self.routes.position[rows, info.nodes] == info.position[:, None])
        return is_next.int().argmax(1)  # 0, the depot, if no customer is next
