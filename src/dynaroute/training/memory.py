"""How much memory a replay takes, and into how many parts a step is cut so that each part's fits."""

from __future__ import annotations

import torch

from dynaroute.kernels import LONGEST_ROUTE, kernels_run_on
from dynaroute.model.policy import Policy
from dynaroute.training.replay_layout import ReplaySize

__all__ = ["count_parts", "estimate_bytes"]

_PART_OF_GPU = 0.6  # of the memory that is there for us: what is kept for the way back is not all
_ON_CPU = 4 << 30


def count_parts(policy: Policy, needed: ReplaySize, nodes: int, instances: int) -> int:
    """Into how many parts of equally many instances a step is cut.

    Parameters
    ----------
    policy
        What is replayed.
    needed
        By the whole step.
    nodes
        Of the largest instance.
    instances
        Of the step.
    """
    budget = _find_budget(policy.device)
    wanted = estimate_bytes(policy, needed, nodes) / budget
    return next(
        parts for parts in range(1, instances + 1) if instances % parts == 0 and parts >= min(wanted, instances)
    )


def estimate_bytes(policy: Policy, needed: ReplaySize, nodes: int) -> float:
    """What a replay keeps for the way back, roughly: numbers per token, and scores where no kernel avoids them.

    Parameters
    ----------
    policy, needed, nodes
        As for `count_parts`.
    """
    config = policy.config
    # of a layer: input, queries, keys and values, heads, middle, inner; on the way back as much again once
    per_state_token = (config.layers + 1) * (7 * config.dimension + config.feed_forward)
    per_route_token = 13 * config.dimension  # embedding, five projections, and their gradients
    numbers = needed.state_tokens * per_state_token + needed.route_tokens * per_route_token
    if kernels_run_on(policy.device) and needed.longest_route <= LONGEST_ROUTE:
        return 2.0 * numbers
    scores = 4.0 * config.heads * needed.routes * (needed.longest_route + 1) * nodes
    return 4.0 * (numbers + scores)


def _find_budget(device: torch.device) -> float:
    """Bytes that a part may take."""
    if device.type != "cuda":
        return float(_ON_CPU)
    free, _ = torch.cuda.mem_get_info(device)
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return _PART_OF_GPU * (free + unused)
