"""Parallel replay: the log-probabilities of finished solutions, all steps of all routes at once, with gradients.

Once a solution is known, so are all masks, loads and previous nodes. Sorted by their visits, what is left before
each route is a suffix: a segment of the depot and all later customers. All segments of all solutions are encoded in
one call, and all steps of all routes decoded in another: the depth is the number of layers, not of steps. What
several solutions of an instance have in common is computed once (`replay_layout`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.kernels import LONGEST_SEGMENT, kernels_run_on
from dynaroute.model.encoder import AttentionLayer, Encoder
from dynaroute.model.packing import Packing
from dynaroute.model.policy import Policy
from dynaroute.training.replay_layout import ReplayLayout, ReplaySize, RouteStarts, Segments

__all__ = ["replay_log_probabilities", "replay_starts", "route_log_probabilities", "run_layer"]


def replay_log_probabilities(
    policy: Policy,
    batch: InstanceBatch,
    routes: RouteBatch,
    samples: int = 1,
    size: ReplaySize | None = None,
    precision: torch.dtype | None = None,
) -> Tensor:
    """Eq 1: (B,) log p(π | X), differentiable. Twin: `dynaroute.construct.log_probabilities`, step by step.

    Parameters
    ----------
    policy
        The policy.
    batch
        The instances.
    routes
        A feasible solution of each.
    samples
        Every instance stands so many times in a row, with a solution each.
    size
        Room to make, if more than needed; must hold the solutions.
    precision
        Of the matrix products. None is for comparisons: the encoder is exact (`Encoder.encode_exactly`), the rest of
        the policy's own dtype, as in the twin. A static policy has no other precision than its own.
    """
    if not policy.config.dynamic:
        return _replay_static(policy, batch, routes, samples, precision)
    starts = RouteStarts.of_routes(routes, batch.sizes, samples)
    return replay_starts(policy, batch, starts, size if size is not None else ReplaySize.of(starts), precision)


def replay_starts(
    policy: Policy, batch: InstanceBatch, starts: RouteStarts, room: ReplaySize, precision: torch.dtype | None
) -> Tensor:
    """`replay_log_probabilities` of a dynamic policy, when it is known already where routes begin.

    Parameters
    ----------
    policy
        The policy.
    batch
        The instances.
    starts
        Of the solutions.
    room
        To make; must hold the solutions.
    precision
        Of the matrix products; None for an exact encoder.
    """
    layout = ReplayLayout.of_starts(starts, room)
    encoded = _encode(policy, batch, layout.states, precision)  # (T of states, d_h)
    hidden: Tensor = _TakeRows.apply(encoded, layout.state_token)  # type: ignore[no-untyped-call]  # (T, d_h)
    projected = hidden @ policy.decoder.fold().to(hidden.dtype).T  # (T, 5 d_h)
    per_route = _decode(policy, batch, projected, layout, room.longest_route)  # (R,)
    per_occurrence = torch.where(layout.is_occurrence, per_route[layout.occurrence_route], 0.0).double()  # (O,)
    total = per_occurrence.new_zeros(len(batch)).index_add(0, layout.occurrence_solution, per_occurrence)  # (B,)
    return total.to(per_route.dtype)


def _encode(policy: Policy, batch: InstanceBatch, states: Segments, precision: torch.dtype | None) -> Tensor:
    """Eqs 2 to 11, 22: (T, d_h) of every token, in the context of its state."""
    features = batch.features(states.token_solution, states.token_node.clamp(min=0), policy.dtype)  # (T, 3)
    is_depot = states.token_node <= 0
    if precision is None:
        return _encode_exactly(policy.encoder, features, is_depot, states)
    # positions need all their digits
    hidden = _embed(policy.encoder, features, is_depot).to(precision)  # (T, d_h)
    packing = Packing(states.lengths, batch.nodes)
    for layer in policy.encoder.layers:
        assert isinstance(layer, AttentionLayer)
        hidden = run_layer(layer, hidden, packing)
    return hidden


def _encode_exactly(encoder: Encoder, features: Tensor, is_depot: Tensor, states: Segments) -> Tensor:
    """(T, d_h) of the tokens of states; zeros where there is but room."""
    token = (states.token_node >= 0).nonzero().squeeze(1)
    lengths = states.lengths[states.lengths > 0]
    hidden = encoder.encode_exactly(features[token], is_depot[token], Packing(lengths, int(lengths.max())))
    return hidden.new_zeros(len(features), hidden.shape[1]).index_copy(0, token, hidden)


def _decode(
    policy: Policy, batch: InstanceBatch, projected: Tensor, layout: ReplayLayout, longest_route: int
) -> Tensor:
    """Eqs 12 to 20: (R,) log-probabilities of routes."""
    demands = _list_demands(batch, layout.routes)  # (T,)
    capacities = batch.capacity[layout.routes.solution]  # (R,)
    weight = policy.decoder.context_query.weight[:, -1]  # (d_h,)
    heads, clip = policy.config.heads, policy.config.clip
    if not _use_kernels(projected, batch.nodes):
        # softmax and logits want all digits
        exact = projected if projected.dtype == torch.float64 else projected.float()
        return route_log_probabilities(exact, weight, layout, capacities, demands, heads, clip)
    from dynaroute.kernels.route_probability import RouteLogProbability

    per_route: Tensor = RouteLogProbability.apply(  # type: ignore[no-untyped-call]
        projected,
        weight.contiguous(),
        layout.routes.offsets,
        layout.routes.lengths,
        layout.route_lengths,
        capacities,
        demands,
        batch.nodes,
        longest_route,
        heads,
        clip,
    )
    return per_route


def _list_demands(batch: InstanceBatch, segments: Segments) -> Tensor:
    """(T,) of every token; 0 in no segment."""
    flat = segments.token_solution * batch.nodes + segments.token_node.clamp(min=0)  # (T,)
    return batch.demands.flatten()[flat] * (segments.token_node >= 0)


class _TakeRows(torch.autograd.Function):
    """Rows of a table, some of them several times. Their gradients meet in float32, so that no digit is lost.

    Indices of rows that nobody reads should differ: sums at one place wait for each other.
    """

    @staticmethod
    def forward(ctx: Any, table: Tensor, index: Tensor) -> Tensor:
        ctx.save_for_backward(index)
        ctx.rows = len(table)
        return table.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (index,), gradient = ctx.saved_tensors, gradients[0]
        exact = gradient if gradient.dtype == torch.float64 else gradient.float()
        total = exact.new_zeros(ctx.rows, gradient.shape[1]).index_add_(0, index, exact)
        return total.to(gradient.dtype), None


def _embed(encoder: Encoder, features: Tensor, is_depot: Tensor) -> Tensor:
    """Eq 2 as one product: a node is (features, 1, zeros) if a customer, (zeros, features, 1) if a depot."""
    customer, depot = encoder.embed_customer, encoder.embed_depot
    missing = features.shape[1] - encoder.depot_features
    weight = torch.cat(
        [customer.weight, customer.bias[:, None], F.pad(depot.weight, (0, missing)), depot.bias[:, None]], 1
    )  # (d_h, 8)
    known = F.pad(features, (0, 1), value=1.0)  # (T, 4)
    is_depot_column = is_depot[:, None].to(features.dtype)
    return torch.cat([known * (1 - is_depot_column), known * is_depot_column], 1) @ weight.T


def _use_kernels(tokens: Tensor, longest: int) -> bool:
    """Whether kernels can do this: they hold a segment, of this many nodes at the most, in one tile."""
    return kernels_run_on(tokens.device) and tokens.dtype != torch.float64 and longest <= LONGEST_SEGMENT


def run_layer(layer: AttentionLayer, hidden: Tensor, packing: Packing) -> Tensor:
    """Eqs 3 to 10: a layer in the dtype of its input, by kernels where there are any.

    Parameters
    ----------
    layer
        Of a dynamic policy's encoder: with tanh after each half.
    hidden
        (T, d_h) tokens.
    packing
        Their segments.
    """
    if not _use_kernels(hidden, packing.longest):
        is_half = hidden.dtype not in (torch.float32, torch.float64)
        with torch.autocast(hidden.device.type, hidden.dtype if is_half else None, enabled=is_half):
            plain: Tensor = layer(hidden, packing)
        return plain
    from dynaroute.kernels.encoder_layer import EncoderLayer

    parameters = (
        layer.query_key_value.weight,
        layer.output.weight,
        layer.feed_forward_in.weight,
        layer.feed_forward_in.bias,
        layer.feed_forward_out.weight,
        layer.feed_forward_out.bias,
    )
    fused: Tensor = EncoderLayer.apply(  # type: ignore[no-untyped-call]
        hidden,
        *(parameter.to(hidden.dtype) for parameter in parameters),
        packing.offsets,
        packing.lengths,
        packing.longest,
        layer.heads,
        layer.scale,
    )
    return fused


def route_log_probabilities(
    projected: Tensor,
    capacity_weight: Tensor,
    layout: ReplayLayout,
    capacities: Tensor,
    demands: Tensor,
    heads: int,
    clip: float,
) -> Tensor:
    """(R,) log-probabilities of routes, in plain PyTorch. Twin of `dynaroute.kernels.route_probability`.

    Parameters
    ----------
    projected
        (T, 5 d_h) key, value, logit key, graph and last of every token.
    capacity_weight
        (d_h,) what the remaining capacity adds to the query.
    layout
        The segments; T is exactly what they hold.
    capacities
        (R,) int32.
    demands
        (T,) int32.
    heads
        Number of heads.
    clip
        C of eq 19.
    """
    packing = Packing(layout.routes.lengths, int(layout.routes.lengths.max()))
    slot = torch.arange(packing.longest, device=projected.device)  # (M,)
    step = slot[: int(layout.route_lengths.max()) + 1]  # (L,): at step p the vehicle is at slot p
    demand = packing.pad(demands)  # (P, M)
    on_route = (step > 0) & (step <= layout.route_lengths[:, None])  # (P, L)
    remaining = capacities[:, None] - (demand[:, : len(step)] * on_route).cumsum(1)  # (P, L)
    is_open = packing.is_token[:, None, :] & (slot > step[:, None])  # (P, L, M)
    feasible = is_open & (demand[:, None, :] <= remaining[:, :, None])
    feasible[:, 1:, 0] = True
    in_mean = is_open.clone()
    in_mean[:, :, 0] = True
    per_step = _log_probabilities_of_steps(
        packing.pad(projected),
        capacity_weight,
        _Steps(
            previous=step.expand(len(capacities), -1),
            target=torch.where(step < layout.route_lengths[:, None], step + 1, 0),
            feasible=feasible,
            in_mean=in_mean,
            fraction=remaining.to(projected.dtype) / capacities[:, None].to(projected.dtype),
        ),
        heads,
        clip,
    )  # (P, L)
    return torch.where(step <= layout.route_lengths[:, None], per_step, 0.0).sum(1)


@dataclass(frozen=True, eq=False)
class _Steps:
    """S known steps of P segments of M slots: (P, S) previous, target, fraction; (P, S, M) feasible, in_mean."""

    previous: Tensor
    target: Tensor
    feasible: Tensor
    in_mean: Tensor
    fraction: Tensor


def _log_probabilities_of_steps(
    padded: Tensor, capacity_weight: Tensor, steps: _Steps, heads: int, clip: float
) -> Tensor:
    """Eqs 12 to 20 for known steps: (P, S) from (P, M, 5 d_h) projections."""
    segments = len(padded)
    key, value, logit_key, graph, last = padded.chunk(5, dim=-1)  # (P, M, d_h) each
    nodes_in_mean = steps.in_mean.sum(-1, keepdim=True).clamp(min=1)  # (P, S, 1)
    query = (
        steps.in_mean.to(graph.dtype) @ graph / nodes_in_mean
        + last.gather(1, steps.previous[..., None].expand(-1, -1, last.shape[-1]))
        + steps.fraction[..., None] * capacity_weight.to(graph.dtype)
    )  # (P, S, d_h)
    split = [part.reshape(segments, -1, heads, part.shape[-1] // heads).transpose(1, 2) for part in (query, key, value)]
    queries, keys, values = split  # (P, heads, S or M, d_k)
    scores = (queries @ keys.transpose(-1, -2)).masked_fill(~steps.feasible[:, None], -torch.inf)  # (P, heads, S, M)
    # a padding step may have no feasible node at all; its weights are never read
    weights = scores.softmax(-1).nan_to_num(0.0)
    glimpse = (weights @ values).transpose(1, 2).reshape(segments, -1, key.shape[-1])  # (P, S, d_h)
    logits = clip * torch.tanh(glimpse @ logit_key.transpose(1, 2))  # (P, S, M)
    logits = logits.masked_fill(~steps.feasible, torch.finfo(logits.dtype).min)
    return logits.log_softmax(-1).gather(2, steps.target[..., None]).squeeze(-1)


def _replay_static(
    policy: Policy, batch: InstanceBatch, routes: RouteBatch, samples: int, precision: torch.dtype | None
) -> Tensor:
    """A static policy has one stage: every instance is encoded once, and all its steps are decoded together."""
    is_node = batch.is_customer
    is_node[:, 0] = True
    instances = is_node[::samples]  # (I, M)
    packing = Packing(instances.sum(1), batch.nodes)
    row, node = instances.nonzero().unbind(1)  # (T,) each
    row = row * samples
    features = batch.features(row, node, policy.dtype)  # (T, 3)
    encode = policy.encoder if precision is not None else policy.encoder.encode_exactly
    hidden = encode(features, node == 0, packing)  # (T, d_h)
    padded = packing.pad(hidden @ policy.decoder.fold().T).repeat_interleave(samples, 0)  # (B, M, 5 d_h)
    steps, is_step = _list_steps(policy, batch, routes, is_node)
    weight = policy.decoder.context_query.weight[:, -1]
    per_step = _log_probabilities_of_steps(padded, weight, steps, policy.config.heads, policy.config.clip)  # (B, S)
    return torch.where(is_step, per_step, 0.0).sum(1, dtype=torch.float64).to(policy.dtype)


def _list_steps(policy: Policy, batch: InstanceBatch, routes: RouteBatch, is_node: Tensor) -> tuple[_Steps, Tensor]:
    """All steps of whole solutions, returns to the depot included, and which of them are real: (B, S)."""
    visits = routes.visits()  # (B, n)
    route = routes.route.gather(1, visits).long()  # (B, n)
    count = batch.sizes + routes.route.amax(1) + 1  # (B,) steps: customers and returns
    step = torch.arange(int(count.max()), device=batch.device)  # (S,)
    # the i-th visit comes after i others and as many returns as routes before; padding goes past the end
    when = torch.where(route >= 0, torch.arange(visits.shape[1], device=batch.device) + route, len(step))  # (B, n)
    target = visits.new_zeros(len(batch), len(step) + 1).scatter(1, when, visits)[:, :-1]  # (B, S); 0: a return
    previous = F.pad(target[:, :-1], (1, 0))
    visit_step = torch.zeros_like(routes.route, dtype=torch.int64).scatter(1, visits, when)  # (B, M)
    visit_step[:, 0] = -1
    load = batch.demands.long().gather(1, previous).cumsum(1)  # (B, S) delivered so far
    at_depot = torch.where(previous == 0, load, 0).cummax(1).values  # of it, on earlier routes
    remaining = batch.capacity[:, None] - (load - at_depot)  # (B, S)
    is_open = (visit_step[:, None, :] >= step[:, None]) & is_node[:, None, :]  # (B, S, M)
    feasible = is_open & (batch.demands[:, None, :] <= remaining[:, :, None])
    is_step = step < count[:, None]  # (B, S)
    feasible[:, :, 0] = (previous != 0) | ~is_step
    in_mean = is_node[:, None, :].expand_as(is_open)
    if policy.config.shrinking_mean:
        in_mean = is_open.clone()
        in_mean[:, :, 0] = True
    fraction = remaining.to(policy.dtype) / batch.capacity[:, None].to(policy.dtype)
    return _Steps(previous, target, feasible, in_mean, fraction), is_step
