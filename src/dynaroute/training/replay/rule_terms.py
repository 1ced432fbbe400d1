"""What rules beyond capacity add to queries and scores, for the kernels that replay routes.

The states of all steps of known routes are running sums and maxima (`SegmentRules.follow`). What a vehicle sees of a
node is computed once for each pair of a step and a node, all pairs of all routes one after the other.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dynaroute.batch import InstanceBatch
from dynaroute.batch.rules import RuleBatch
from dynaroute.model.policy import Policy
from dynaroute.model.rules import SegmentRules
from dynaroute.training.replay.layout import ReplayLayout, ReplaySize


def weigh_rules(
    policy: Policy, batch: InstanceBatch, rules: RuleBatch, layout: ReplayLayout, room: ReplaySize, dtype: torch.dtype
) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
    """Compute what rules add in all steps of all distinct routes (`dynaroute.kernels.route_parts.RuleTerms`).

    Shapes depend only on `room`, so nothing waits for the device.

    Parameters
    ----------
    policy, batch, rules
        The policy, the instances, and their rules.
    layout, room
        The routes, and the size of the arrays.
    dtype
        Precision of the kernels' matrix products.

    Returns
    -------
    tuple
        (T, 2 d_h) of states and (heads + 1, N) of moves, which have gradients; then (R,) first pairs and (T,) free
        capacities.
    """
    routes, lengths, device = layout.routes, layout.route_lengths, batch.device
    slot = torch.arange(batch.nodes, device=device)  # (M,)
    token = (routes.offsets[:, None] + slot).clamp(max=len(routes.token_node) - 1)  # (R, M)
    nodes = torch.where(slot < routes.lengths[:, None], routes.token_node[token], 0)  # (R, M)
    demands, capacities = batch.demands[routes.solution[:, None], nodes], batch.capacity[routes.solution]
    segments = SegmentRules.of(rules, routes.solution, nodes, demands, capacities, routes.lengths, policy.dtype)
    steps = min(room.longest_route + 1, batch.nodes)
    progress = segments.follow(steps)  # (R, S)

    # steps, at the tokens where the vehicles are
    place = torch.arange(len(routes.token_node), device=device) - routes.offsets[routes.token_segment]  # (T,)
    at = routes.token_segment, place.clamp(0, steps - 1)
    states = segments.describe(progress, torch.arange(steps, device=device).expand(len(nodes), -1))  # (R, S, STATES)
    assert policy.decoder.states is not None
    assert policy.decoder.moves is not None
    of_states = policy.decoder.states(states[at]).to(dtype)  # (T, 2 d_h)

    # pairs of a step and a node, route after route
    sizes = torch.where(routes.lengths > 0, (lengths + 1) * routes.lengths, 0)  # (R,)
    first = sizes.cumsum(0) - sizes
    pair = torch.arange(room.pairs, device=device)  # (N,)
    route = torch.searchsorted(first + sizes, pair, right=True).clamp(max=len(sizes) - 1)
    cell, count = pair - first[route], routes.lengths[route].clamp(min=1)
    step, other = (cell // count).clamp(max=steps - 1), cell % count
    outlook = segments.look_at(progress, route, step, other)
    of_moves = policy.decoder.moves(outlook.moves).to(dtype).T.contiguous()  # (heads + 1, N)
    is_forbidden = ~outlook.feasible & ((other > 0) | (step > 0))
    last = torch.arange(len(of_moves), device=device)[:, None] == len(of_moves) - 1  # (heads + 1, 1)
    of_moves = of_moves.masked_fill(is_forbidden & last, -torch.inf)
    return of_states, of_moves, (first, progress.deliverable[at].int())
