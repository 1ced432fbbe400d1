"""Memory of a replay, and how many parts a training step is cut into so that each fits."""

from __future__ import annotations

import torch

from dynaroute.kernels import LONGEST_ROUTE, kernels_run_on
from dynaroute.model.policy import Policy
from dynaroute.training.replay.layout import ReplaySize

__all__ = ["count_parts", "estimate_bytes"]

_PART_OF_GPU = 0.6  # of the available memory; what is kept for the backward pass is not all that is used
_ON_CPU = 4 << 30


def count_parts(policy: Policy, needed: ReplaySize, nodes: int, instances: int) -> int:
    """Return the number of equal parts that a step is cut into."""
    budget = _find_budget(policy.device)
    wanted = estimate_bytes(policy, needed, nodes) / budget
    return next(
        parts for parts in range(1, instances + 1) if instances % parts == 0 and parts >= min(wanted, instances)
    )


def estimate_bytes(policy: Policy, needed: ReplaySize, nodes: int) -> float:
    """Estimate what a replay keeps for the backward pass: numbers per token, and scores if no kernel avoids them."""
    config = policy.config
    # per layer: input, queries, keys and values, heads, middle, inner; as much again once in the backward pass
    per_state_token = (config.layers + 1) * (7 * config.dimension + config.feed_forward)
    per_route_token = 13 * config.dimension  # embedding, five projections, and their gradients
    numbers = needed.state_tokens * per_state_token + needed.route_tokens * per_route_token
    if kernels_run_on(policy.device) and needed.longest_route <= LONGEST_ROUTE:
        return 2.0 * numbers
    scores = 4.0 * config.heads * needed.routes * (needed.longest_route + 1) * nodes
    return 4.0 * (numbers + scores)


def _find_budget(device: torch.device) -> float:
    """Return how many bytes a part may take."""
    if device.type != "cuda":
        return float(_ON_CPU)
    free, _ = torch.cuda.mem_get_info(device)
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return _PART_OF_GPU * (free + unused)
