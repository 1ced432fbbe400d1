"""Parallel replay of policies that encode each instance once: all steps of whole solutions are decoded together."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from dynaroute.model.encoder import encode_exactly
from dynaroute.model.packing import Packing
from dynaroute.model.pointer import PointerNetwork, PointerSteps
from dynaroute.model.policy import Policy
from dynaroute.model.state import find_feasible
from dynaroute.training.replay.layout import KnownSteps, Solutions, count_steps, sum_steps

_NUMBERS_AT_ONCE = {"cpu": 1 << 22, "cuda": 1 << 28}  # elements in the largest array of a pointer network's replay


def replay_whole(policy: Policy, solutions: Solutions, precision: torch.dtype | None) -> Tensor:
    """Replay a static policy: every instance is encoded once, and all its steps are decoded together."""
    batch, samples = solutions.batch, solutions.samples
    is_node = batch.is_customer
    is_node[:, 0] = True
    if solutions.has_one_size:
        packing = Packing.evenly(len(batch) // samples, batch.nodes, batch.device)
        token = torch.arange(len(packing.lengths) * batch.nodes, device=batch.device)
        row, node = token // batch.nodes, token % batch.nodes  # (T,) each
    else:
        instances = is_node[::samples]  # (I, M)
        packing = Packing(instances.sum(1), batch.nodes)
        row, node = instances.nonzero().unbind(1)
    features = batch.features(row * samples, node, policy.dtype)  # (T, 3)
    encode = policy.encoder if precision is not None else partial(encode_exactly, policy.encoder)
    hidden = encode(features, node == 0, packing)  # (T, d_h)
    projections = policy.decoder.project(hidden, packing, policy.fold())
    if policy.config.distance_bias:
        projections = projections.at(features[:, :2], packing)
    if samples > 1:
        projections = projections.repeat_each(samples)
    steps = _list_steps(solutions, is_node)
    return sum_steps(policy, projections, steps, batch.demands, batch.capacity)


def _list_steps(solutions: Solutions, is_node: Tensor) -> KnownSteps:
    """List all steps of whole solutions, including returns to the depot."""
    batch, routes = solutions.batch, solutions.routes
    visits = routes.visits()  # (B, n)
    route = routes.route.gather(1, visits).long()  # (B, n)
    count = count_steps(routes, batch.sizes)  # (B,)
    step = torch.arange(solutions.count_steps(), device=batch.device)  # (S,)
    # the i-th visit follows i others and one return per earlier route; padding goes past the end
    when = torch.where(route >= 0, torch.arange(visits.shape[1], device=batch.device) + route, len(step))  # (B, n)
    target = visits.new_zeros(len(batch), len(step) + 1).scatter(1, when, visits)[:, :-1]  # (B, S); 0: a return
    previous = F.pad(target[:, :-1], (1, 0))
    visit_step = torch.zeros_like(routes.route, dtype=torch.int64).scatter(1, visits, when)  # (B, M)
    visit_step[:, 0] = -1
    load = batch.demands.long().gather(1, previous).cumsum(1)  # (B, S) delivered so far
    at_depot = torch.where(previous == 0, load, 0).cummax(1).values  # of it, on earlier routes
    return KnownSteps(
        previous=previous,
        target=target,
        is_step=step < count[:, None],
        is_open=(visit_step[:, None, :] >= step[:, None]) & is_node[:, None, :],
        is_node=is_node,
        remaining=batch.capacity[:, None] - (load - at_depot),
    )


def replay_pointer(policy: Policy, solutions: Solutions, precision: torch.dtype | None) -> Tensor:
    """Run the LSTM over whole solutions in one call, and decode all their steps in chunks."""
    assert isinstance(policy, PointerNetwork)
    batch = solutions.batch
    is_node = batch.is_customer
    is_node[:, 0] = True
    known = _list_steps(solutions, is_node)
    places = batch.locations.to(policy.dtype)  # (B, M, 2)
    fraction = batch.demands.to(policy.dtype) / batch.capacity[:, None].to(policy.dtype)  # (B, M)
    visited = places.gather(1, known.previous[..., None].expand(-1, -1, 2))  # (B, S, 2)
    hidden, folded = policy.remember(visited), policy.fold()  # (B, S, d), (3 d, 5)
    load = known.remaining.to(policy.dtype) / batch.capacity[:, None].to(policy.dtype)  # (B, S)
    may_return = (known.previous != 0) | ~known.is_step
    feasible = find_feasible(known.is_open, batch.demands[:, None], known.remaining, may_return)  # (B, S, M)

    def decode(rows: slice, some_hidden: Tensor, folded: Tensor) -> Tensor:
        """Compute (P, S) log p of the steps of some solutions."""
        demands = fraction[rows, None] * known.is_open[rows]  # (P, S, M)
        placed = policy.place(places[rows], folded)
        steps = PointerSteps(places[rows], *placed, demands, load[rows], some_hidden, is_node[rows], feasible[rows])
        target = torch.where(known.is_step[rows], known.target[rows], 0)[..., None]
        return policy.point(steps, folded).log_softmax(-1).gather(2, target).squeeze(-1)

    if policy.has_kernels:
        return torch.where(known.is_step, decode(slice(None), hidden, folded), 0.0).sum(1)
    numbers = _NUMBERS_AT_ONCE["cuda" if policy.device.type == "cuda" else "cpu"]
    together = max(1, numbers // (feasible[0].numel() * policy.config.dimension))
    parts = [
        # recomputed in the backward pass, because all steps of all solutions do not fit in memory
        checkpoint(decode, rows, hidden[rows], folded, use_reentrant=False)
        for rows in (slice(first, first + together) for first in range(0, len(batch), together))
    ]
    return torch.where(known.is_step, torch.cat(parts), 0.0).sum(1, dtype=torch.float64).to(policy.dtype)
