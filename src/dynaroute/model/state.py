"""The state of vehicles on their routes: remaining customers, remaining capacity (eq 21), feasible moves."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from dynaroute.model.rules import Outlook, RouteProgress, SegmentRules


def find_feasible(is_open: Tensor, demands: Tensor, remaining: Tensor, may_return: Tensor) -> Tensor:
    """Find where vehicles may go next (eqs 14 and 19): unvisited customers that fit, and possibly the depot.

    This is the one plain statement of the rule, for construction and replay. Its kernel twin is in
    `dynaroute.kernels.arithmetic`.

    Parameters
    ----------
    is_open
        (..., M) customers not yet visited.
    demands
        Demands; they broadcast to that shape.
    remaining
        (...) remaining capacity.
    may_return
        (...) whether the depot, slot 0, may be next.
    """
    feasible = is_open & (demands <= remaining[..., None])
    feasible[..., 0] = may_return
    return feasible


class RouteState(NamedTuple):
    """The state of P vehicles. Immutable: `update` returns the next state.

    Nodes are slots of the padded segments; slot 0 is the depot. Loads are integers, so exactly full vehicles are
    handled exactly.

    Attributes
    ----------
    demands
        (P, M) int32.
    capacity
        (P,) int32.
    remaining
        (P,) int32: D_t.
    previous
        (P,) int64: slot of the last visited node.
    is_open
        (P, M) bool: customers not yet visited, and further depots.
    is_done
        (P,) bool: no customer is left.
    rules, progress, outlook
        Rules beyond capacity, how far the vehicles are by them, and what they see; None without rules.
    """

    demands: Tensor
    capacity: Tensor
    remaining: Tensor
    previous: Tensor
    is_open: Tensor
    is_done: Tensor
    rules: SegmentRules | None = None
    progress: RouteProgress | None = None
    outlook: Outlook | None = None

    @classmethod
    def at_depot(
        cls, demands: Tensor, capacity: Tensor, is_open: Tensor, rules: SegmentRules | None = None
    ) -> RouteState:
        """Start with full vehicles at the depot.

        Parameters
        ----------
        demands
            (P, M) int32.
        capacity
            (P,) int32.
        is_open
            (P, M) bool: customers still to visit, and further depots.
        rules
            Rules beyond capacity.
        """
        previous = torch.zeros_like(capacity, dtype=torch.int64)
        state = cls(demands, capacity, capacity, previous, is_open, _find_done(is_open, rules), rules)
        return state if rules is None else state._at(rules.begin(), previous)

    def take(self, rows: Tensor) -> RouteState:
        """Select the (Q,) vehicles in `rows`, which may repeat."""
        demands, capacity, remaining, previous, is_open, is_done = (part[rows] for part in self[:6])
        taken = RouteState(demands, capacity, remaining, previous, is_open, is_done)
        if self.rules is None or self.progress is None or self.outlook is None:
            return taken
        return taken._replace(
            rules=self.rules.take(rows), progress=self.progress.take(rows), outlook=self.outlook.take(rows)
        )

    @property
    def is_open_customer(self) -> Tensor:
        """(P, M) customers not yet visited."""
        return self.is_open if self.rules is None else self.is_open & self.rules.stops.is_customer

    def feasible(self) -> Tensor:
        """(P, M) where each vehicle may go. It may stay at the depot only when it is done."""
        is_open, may_return = self.is_open, self.previous != 0
        if self.outlook is not None:
            is_allowed = self.outlook.feasible.squeeze(1)  # (P, M)
            is_open, may_return = is_open & is_allowed, may_return & is_allowed[:, 0]
        return find_feasible(is_open, self.demands, self.remaining, may_return | self.is_done)

    def update(self, chosen: Tensor) -> RouteState:
        """Return the state after each vehicle has moved to its (P,) chosen slot (eq 21)."""
        moved = self._move(chosen)
        if self.rules is None or self.progress is None:
            return moved
        return moved._at(self.rules.visit(self.progress, self.previous[:, None], chosen[:, None]), chosen)

    def _at(self, progress: RouteProgress, previous: Tensor) -> RouteState:
        """Return the state with this progress at (P,) slots."""
        assert self.rules is not None
        outlook = self.rules.look(progress, previous[:, None])
        return self._replace(remaining=progress.deliverable.squeeze(1), progress=progress, outlook=outlook)

    def _move(self, chosen: Tensor) -> RouteState:
        """Do the same as `update` for what every problem has."""
        delivered = self.demands.gather(1, chosen[:, None]).squeeze(1)  # (P,)
        is_open = self.is_open.scatter(1, chosen[:, None], False)
        return self._replace(
            remaining=torch.where(chosen != 0, self.remaining - delivered, self.capacity),
            previous=chosen,
            is_open=is_open,
            is_done=_find_done(is_open, self.rules),
        )


def _find_done(is_open: Tensor, rules: SegmentRules | None) -> Tensor:
    """(P,) whether no customer is left."""
    return ~(is_open if rules is None else is_open & rules.stops.is_customer).any(1)
