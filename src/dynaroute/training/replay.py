"""Parallel replay: the log-probabilities of finished solutions, all steps of all routes at once, with gradients.

Once a solution is known, so are all masks, loads and previous nodes. Sorted by their visits, what is left before
each route is a suffix: a segment of the depot and all later customers. All segments of all solutions are encoded in
one call, and all steps of all routes decoded in another: the depth is the number of layers, not of steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.kernels import LONGEST_SEGMENT, kernels_run_on
from dynaroute.model.encoder import AttentionLayer, Encoder
from dynaroute.model.packing import Packing
from dynaroute.model.policy import Policy

__all__ = ["ReplayLayout", "ReplaySize", "replay_log_probabilities", "route_log_probabilities"]


@dataclass(frozen=True)
class ReplaySize:
    """How large the arrays of a replay are: at least what the solutions need.

    Attributes
    ----------
    segments
        Routes in all.
    tokens
        Nodes in all their segments.
    longest_route
        Customers on the longest route.
    """

    segments: int
    tokens: int
    longest_route: int

    @classmethod
    def of(cls, routes: RouteBatch) -> ReplaySize:
        """Exactly what these solutions need; the one moment at which the host waits for the device."""
        # a customer on route r is in the segments of routes 0..r, and each segment has a depot
        segments = (routes.route.amax(1) + 1).sum()
        tokens = (routes.route + 1).sum() + segments
        counts = torch.stack([segments, tokens, routes.position.amax().long() + 1]).tolist()
        return cls(*counts)


@dataclass(frozen=True, eq=False)
class ReplayLayout:
    """Which nodes are in which segment.

    Attributes
    ----------
    trajectory
        (P,) solution of each segment.
    lengths, offsets
        (P,) tokens of each segment, and the first of them; 0 where arrays are larger than needed.
    route_lengths
        (P,) customers of the route that a segment comes before.
    token_trajectory, token_node
        (T,) solution and node of each token; node -1 in no segment.
    """

    trajectory: Tensor
    lengths: Tensor
    offsets: Tensor
    route_lengths: Tensor
    token_trajectory: Tensor
    token_node: Tensor

    @classmethod
    def of_routes(cls, routes: RouteBatch, sizes: Tensor, size: ReplaySize) -> ReplayLayout:
        """Lay out what is left before each route; shapes depend on `size` alone, so nothing waits for the device.

        Parameters
        ----------
        routes
            The solutions.
        sizes
            (B,) customers of each instance.
        size
            Room to make.
        """
        visits = routes.visits()  # (B, n)
        count, customers = visits.shape
        device = visits.device
        route = routes.route.gather(1, visits)  # (B, n)
        starts = (route >= 0) & (route != F.pad(route[:, :-1], (1, 0), value=-1))  # (B, n)
        starts = starts.flatten()  # (B n,)
        place = torch.where(starts, starts.cumsum(0) - 1, size.segments)
        first = torch.full((size.segments + 1,), -1, dtype=torch.int64, device=device)
        first = first.scatter(0, place, torch.arange(count * customers, device=device))[:-1]  # (P,) flat visit
        is_segment = first >= 0
        trajectory = first.clamp(min=0) // customers
        end = trajectory * customers + sizes[trajectory]  # (P,) flat visit after the last
        following = F.pad(first[1:], (0, 1), value=-1)
        following = torch.where(following < 0, end, torch.minimum(following, end))
        lengths = torch.where(is_segment, 1 + end - first, 0)
        offsets = lengths.cumsum(0) - lengths
        token = torch.arange(size.tokens, device=device)
        segment = torch.searchsorted(offsets + lengths, token, right=True).clamp(max=size.segments - 1)  # (T,)
        slot = token - offsets[segment]
        visited = (first[segment] + slot - 1).clamp(0, count * customers - 1)
        node = torch.where(slot > 0, visits.flatten()[visited], 0)
        return cls(
            trajectory=trajectory,
            lengths=lengths,
            offsets=offsets,
            route_lengths=torch.where(is_segment, following - first, 0),
            token_trajectory=trajectory[segment],
            token_node=torch.where(slot < lengths[segment], node, -1),
        )


def replay_log_probabilities(
    policy: Policy,
    batch: InstanceBatch,
    routes: RouteBatch,
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
    size
        Room to make, if more than needed; must hold the solutions.
    precision
        Of the matrix products; the policy's own if None.
    """
    if not policy.config.dynamic:
        return _replay_static(policy, batch, routes)
    room = size if size is not None else ReplaySize.of(routes)
    layout = ReplayLayout.of_routes(routes, batch.sizes, room)
    node, trajectory = layout.token_node.clamp(min=0), layout.token_trajectory
    flat = trajectory * batch.nodes + node  # (T,)
    demands = batch.demands.flatten()[flat] * (layout.token_node >= 0)  # (T,)
    fraction = demands.to(policy.dtype) / batch.capacity[trajectory].to(policy.dtype)
    features = torch.cat([batch.locations.flatten(0, 1)[flat].to(policy.dtype), fraction[:, None]], 1)  # (T, 3)
    dtype = precision if precision is not None else policy.dtype
    projected = _project(policy, features, node == 0, layout, batch.nodes, dtype)  # (T, 5 d_h)
    capacities = batch.capacity[layout.trajectory]  # (P,)
    weight = policy.decoder.context_query.weight[:, -1]  # (d_h,)
    if _use_kernels(projected, batch.nodes):
        from dynaroute.kernels.route_probability import RouteLogProbability

        per_route: Tensor = RouteLogProbability.apply(  # type: ignore[no-untyped-call]
            projected,
            weight.contiguous(),
            layout.offsets,
            layout.lengths,
            layout.route_lengths,
            capacities,
            demands,
            batch.nodes,
            room.longest_route,
            policy.config.heads,
            policy.config.clip,
        )  # (P,)
    else:
        exact = projected if dtype == torch.float64 else projected.float()  # softmax and logits want all digits
        per_route = route_log_probabilities(
            exact, weight, layout, capacities, demands, policy.config.heads, policy.config.clip
        )
    return per_route.new_zeros(len(batch)).index_add(0, layout.trajectory, per_route)


def _project(
    policy: Policy, features: Tensor, is_depot: Tensor, layout: ReplayLayout, longest: int, dtype: torch.dtype
) -> Tensor:
    """(T, 5 d_h) projections of every token, encoded in the context of its segment."""
    packing = Packing(layout.lengths, longest)
    hidden = _embed(policy.encoder, features, is_depot).to(dtype)  # (T, d_h); positions need all their digits
    for layer in policy.encoder.layers:
        assert isinstance(layer, AttentionLayer)
        hidden = _run_layer(layer, hidden, packing)
    return hidden @ policy.decoder.fold().to(dtype).T


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


def _run_layer(layer: AttentionLayer, hidden: Tensor, packing: Packing) -> Tensor:
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
    """(P,) log-probabilities of routes, in plain PyTorch. Twin of `dynaroute.kernels.route_probability`.

    Parameters
    ----------
    projected
        (T, 5 d_h) key, value, logit key, graph and last of every token.
    capacity_weight
        (d_h,) what the remaining capacity adds to the query.
    layout
        The segments; T is exactly what they hold.
    capacities
        (P,) int32.
    demands
        (T,) int32.
    heads
        Number of heads.
    clip
        C of eq 19.
    """
    packing = Packing(layout.lengths, int(layout.lengths.max()))
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


def _replay_static(policy: Policy, batch: InstanceBatch, routes: RouteBatch) -> Tensor:
    """A static policy has one stage: every instance is encoded once, and all its steps are decoded together."""
    is_node = batch.is_customer
    is_node[:, 0] = True
    packing = Packing(is_node.sum(1), batch.nodes)
    row, node = is_node.nonzero().unbind(1)  # (T,) each
    fraction = batch.demands[row, node].to(policy.dtype) / batch.capacity[row].to(policy.dtype)
    features = torch.cat([batch.locations[row, node].to(policy.dtype), fraction[:, None]], 1)  # (T, 3)
    hidden = policy.encoder(features, node == 0, packing)  # (T, d_h)
    padded = packing.pad(hidden @ policy.decoder.fold().T)  # (B, M, 5 d_h)
    steps, is_step = _list_steps(policy, batch, routes, is_node)
    weight = policy.decoder.context_query.weight[:, -1]
    per_step = _log_probabilities_of_steps(padded, weight, steps, policy.config.heads, policy.config.clip)  # (B, S)
    return torch.where(is_step, per_step, 0.0).sum(1)


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
