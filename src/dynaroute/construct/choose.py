"""Ways to choose the next node from its logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from dynaroute.batch import RouteBatch
from dynaroute.construct.noise import draw_gumbel

__all__ = ["Chooser", "Follow", "MostLikely", "Sample", "StartAt", "StepInfo"]


class StepInfo(NamedTuple):
    """Where in their solutions P trajectories are.

    Attributes
    ----------
    trajectory
        (P,) int64 index in the batch.
    step
        (P,) int64: nodes visited so far, returns to the depot included.
    route
        (P,) int64: routes finished so far.
    position
        (P,) int64: customers on the present route so far.
    nodes
        (P, M) int64: node number of every slot.
    """

    trajectory: Tensor
    step: Tensor
    route: Tensor
    position: Tensor
    nodes: Tensor


class Chooser(Protocol):
    """Chooses a slot for each of P trajectories."""

    def __call__(self, logits: Tensor, info: StepInfo) -> Tensor:
        """(P,) chosen slots from (P, M) logits; minus infinity is never chosen."""
        ...


class MostLikely:
    """Greedy rollout: the most probable node; ties go to the lower number."""

    def __call__(self, logits: Tensor, info: StepInfo) -> Tensor:
        """The argmax."""
        return logits.argmax(1)


@dataclass(frozen=True, eq=False)
class Sample:
    """Sample rollout: a node drawn from eq 20.

    Attributes
    ----------
    stream_keys
        (B, 2) random streams of the trajectories.
    temperature
        Above 1 is wilder, below 1 tamer.
    """

    stream_keys: Tensor
    temperature: float = 1.0

    def __call__(self, logits: Tensor, info: StepInfo) -> Tensor:
        """The argmax under Gumbel noise."""
        return self.scores(logits, info).argmax(1)

    def scores(self, logits: Tensor, info: StepInfo) -> Tensor:
        """(P, M) logits with their noise: the largest is the sample."""
        noise = draw_gumbel(self.stream_keys[info.trajectory], info.step, info.nodes)
        return logits / self.temperature + noise


@dataclass(frozen=True, eq=False)
class StartAt:
    """Force the first customer of the whole solution, then choose as another chooser does.

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
        """The forced customer at the first step, the other chooser's slot later."""
        chosen = self.then(logits, info)
        return torch.where(info.step == 0, self.customers[info.trajectory], chosen)  # at first, slots are nodes


@dataclass(frozen=True, eq=False)
class Follow:
    """Follow given solutions, to learn their probability.

    Attributes
    ----------
    routes
        The solutions of all trajectories.
    """

    routes: RouteBatch

    def __call__(self, logits: Tensor, info: StepInfo) -> Tensor:
        """The next stop of the given route; the depot where it ends."""
        rows = info.trajectory[:, None]
        on_route = self.routes.route[rows, info.nodes] == info.route[:, None]  # (P, M)
        is_next = on_route & (self.routes.position[rows, info.nodes] == info.position[:, None])
        return is_next.int().argmax(1)  # 0, the depot, where no customer is next
