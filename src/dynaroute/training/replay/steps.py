"""Log-probabilities of steps that are already known, by the decoder used for construction."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from dynaroute.model.decoder import Context, Projections
from dynaroute.model.policy import Policy
from dynaroute.model.state import find_feasible

__all__ = ["KnownSteps", "sum_steps"]


class KnownSteps(NamedTuple):
    """S steps of each of P segments of M slots.

    Attributes
    ----------
    previous, target
        (P, S) int64: slots of the last visited node and of the next one.
    is_step
        (P, S) false for padding.
    is_open
        (P, S, M) customers not visited before a step.
    is_node
        (P, M) false for padding.
    remaining
        (P, S) remaining capacity.
    """

    previous: Tensor
    target: Tensor
    is_step: Tensor
    is_open: Tensor
    is_node: Tensor
    remaining: Tensor


def sum_steps(
    policy: Policy, projections: Projections, steps: KnownSteps, demands: Tensor, capacities: Tensor
) -> Tensor:
    """Sum log p over known steps, with the decoder used for construction (eqs 12 to 20): (P,)."""
    graph = projections.graph  # (P, M, d_h)
    # padding may always return, because something must be feasible
    may_return = (steps.previous != 0) | ~steps.is_step | ~steps.is_node[:, :1]
    feasible = find_feasible(steps.is_open, demands[:, None], steps.remaining, may_return)  # (P, S, M)
    in_mean = steps.is_node[:, None, :].expand_as(feasible)
    if policy.config.shrinking_mean:
        in_mean = steps.is_open.clone()
        in_mean[:, :, 0] = True
    nodes_in_mean = in_mean.sum(-1, keepdim=True).clamp(min=1)  # (P, S, 1)
    context = Context(
        mean=in_mean.to(graph.dtype) @ graph / nodes_in_mean,
        previous=steps.previous,
        fraction=steps.remaining.to(graph.dtype) / capacities[:, None].to(graph.dtype),
    )
    logits = policy.decoder.logits(projections, context, feasible)  # (P, S, M)
    target = torch.where(steps.is_step, steps.target, 0)
    chosen = logits.log_softmax(-1).gather(2, target[..., None]).squeeze(-1)  # (P, S), eq 20
    return torch.where(steps.is_step, chosen, 0.0).sum(1, dtype=torch.float64).to(graph.dtype)
