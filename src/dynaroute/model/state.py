"""Where the vehicles are: what is left, how much still fits (eq 21)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["RouteState"]


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
    graph
        (P, M, d_h): what each node adds to the graph's sum.
    graph_sum
        (P, d_h): the numerator of the graph's mean h̄_t.
    graph_count
        (P,): its denominator.
    shrinks
        Whether visited nodes leave the mean.
    row_starts
        (P,) int64: where each row starts in a flattened (P, M) table.
    """

    demands: Tensor
    capacity: Tensor
    remaining: Tensor
    previous: Tensor
    is_open: Tensor
    is_done: Tensor
    graph: Tensor
    graph_sum: Tensor
    graph_count: Tensor
    shrinks: bool
    row_starts: Tensor

    @classmethod
    def at_depot(
        cls, demands: Tensor, capacity: Tensor, is_token: Tensor, is_open: Tensor, graph: Tensor, shrinks: bool
    ) -> RouteState:
        """All vehicles full, at the depot.

        Parameters
        ----------
        demands
            (P, M) int32.
        capacity
            (P,) int32.
        is_token
            (P, M) bool: nodes that were encoded, the depot included.
        is_open
            (P, M) bool: customers still to visit.
        graph
            (P, M, d_h) projections for the graph's mean; zeros for padding.
        shrinks
            Whether the mean is over unvisited nodes, or over all.
        """
        return cls(
            demands=demands,
            capacity=capacity,
            remaining=capacity,
            previous=torch.zeros_like(capacity, dtype=torch.int64),
            is_open=is_open,
            is_done=~is_open.any(1),
            graph=graph,
            graph_sum=graph.sum(1),
            graph_count=is_token.sum(1).to(graph.dtype),
            shrinks=shrinks,
            row_starts=torch.arange(len(demands), device=demands.device) * demands.shape[1],
        )

    def feasible(self) -> Tensor:
        """(P, M) the conditions of eqs 14 and 19: unvisited customers that fit; the depot unless just visited.

        A vehicle with nothing left to do may stay at the depot.
        """
        fits = self.is_open & (self.demands <= self.remaining[:, None])
        fits[:, 0] = (self.previous != 0) | self.is_done
        return fits

    def update(self, chosen: Tensor) -> RouteState:
        """Eq 21: the state after each vehicle went to its (P,) chosen slot."""
        to_customer = chosen != 0
        is_open = self.is_open.scatter(1, chosen[:, None], False)
        driven = self._replace(
            remaining=torch.where(to_customer, self.remaining - self.pick(self.demands, chosen), self.capacity),
            previous=chosen,
            is_open=is_open,
            is_done=~is_open.any(1),
        )
        if not self.shrinks:
            return driven
        left = to_customer.to(self.graph.dtype)  # (P,)
        return driven._replace(
            graph_sum=self.graph_sum - left[:, None] * self.pick(self.graph, chosen),
            graph_count=self.graph_count - left,
        )

    def pick(self, table: Tensor, slots: Tensor) -> Tensor:
        """(P, ...) entries of a (P, M, ...) table at (P,) slots."""
        return table.flatten(0, 1).index_select(0, self.row_starts + slots)
