"""Where the vehicles are: what is left, how much still fits (eq 21), and where they may go next."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["RouteState", "find_feasible"]


def find_feasible(is_open: Tensor, demands: Tensor, remaining: Tensor, may_return: Tensor) -> Tensor:
    """Where a vehicle may go next, by eqs 14 and 19: unvisited customers that fit, and the depot if it may return.

    The only plain statement of this rule: building and replaying both ask here. Kernels have a twin of it in
    `dynaroute.kernels.arithmetic`.

    Parameters
    ----------
    is_open
        (..., M) customers not visited yet.
    demands
        Broadcast to that shape.
    remaining
        (...) what still fits.
    may_return
        (...) whether the depot, slot 0, may be next.
    """
    feasible = is_open & (demands <= remaining[..., None])
    feasible[..., 0] = may_return
    return feasible


class RouteState(NamedTuple):
    """P vehicles on their routes; immutable, `update` returns the next state.

    Nodes are slots of the padded segments: 0 is the depot. Loads are integers, so that a vehicle that is
    exactly full is exactly full.

    Attributes
    ----------
    demands
        (P, M) int32.
    capacity
        (P,) int32.
    remaining
        (P,) int32: D_t.
    previous
        (P,) int64: slot of the node visited last.
    is_open
        (P, M) bool: customers not visited yet.
    is_done
        (P,) bool: no customer is left.
    """

    demands: Tensor
    capacity: Tensor
    remaining: Tensor
    previous: Tensor
    is_open: Tensor
    is_done: Tensor

    @classmethod
    def at_depot(cls, demands: Tensor, capacity: Tensor, is_open: Tensor) -> RouteState:
        """All vehicles full, at the depot.

        Parameters
        ----------
        demands
            (P, M) int32.
        capacity
            (P,) int32.
        is_open
            (P, M) bool: customers still to visit.
        """
        previous = torch.zeros_like(capacity, dtype=torch.int64)
        return cls(demands, capacity, capacity, previous, is_open, ~is_open.any(1))

    def feasible(self) -> Tensor:
        """(P, M) where each vehicle may go. It may not stay at the depot, unless nothing is left to do."""
        return find_feasible(self.is_open, self.demands, self.remaining, (self.previous != 0) | self.is_done)

    def update(self, chosen: Tensor) -> RouteState:
        """Eq 21: the state after each vehicle went to its (P,) chosen slot."""
        delivered = self.demands.gather(1, chosen[:, None]).squeeze(1)  # (P,)
        is_open = self.is_open.scatter(1, chosen[:, None], False)
        return self._replace(
            remaining=torch.where(chosen != 0, self.remaining - delivered, self.capacity),
            previous=chosen,
            is_open=is_open,
            is_done=~is_open.any(1),
        )
