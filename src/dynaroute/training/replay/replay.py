"""Parallel replay: differentiable log-probabilities of finished solutions, all steps of all routes at once.

Once a solution is known, so are all masks, loads and previous nodes. In order of visits, the nodes that remain before
each route are a suffix: the depot and all later customers. All segments of all solutions are encoded in one call, and
all steps of all routes are decoded in another, so the depth is the number of layers, not of steps. What several
solutions of an instance share is computed once (`replay_layout`).

The encoder may be changed by the user. A changed decoder is called step by step instead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dynaroute.base.errors import ModelError
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct.build import refuse_unknown_rules
from dynaroute.construct.eager import sum_log_probabilities
from dynaroute.kernels import LONGEST_ROUTE, LONGEST_SEGMENT, kernels_run_on
from dynaroute.model.changes import find_change, find_decoder_change, find_encoder_change, warn_once
from dynaroute.model.decoder import Projections
from dynaroute.model.encoder import AttentionLayer, Encoder, encode_exactly
from dynaroute.model.packing import Packing
from dynaroute.model.pointer import PointerNetwork
from dynaroute.model.policy import Policy
from dynaroute.model.rules import SegmentRules
from dynaroute.training.replay.layout import (
    KnownSteps,
    ReplayLayout,
    ReplaySize,
    RouteStarts,
    Segments,
    Solutions,
    WholeSize,
    sum_steps,
)
from dynaroute.training.replay.rule_terms import weigh_rules
from dynaroute.training.replay.whole import replay_pointer, replay_whole

ParallelReplay: TypeAlias = Callable[[Policy, Solutions, torch.dtype | None], Tensor]


def replay_log_probabilities(
    policy: Policy,
    batch: InstanceBatch,
    routes: RouteBatch,
    samples: int = 1,
    size: ReplaySize | WholeSize | None = None,
    precision: torch.dtype | None = None,
    starts: RouteStarts | None = None,
    *,
    has_one_size: bool = False,
) -> Tensor:
    """Compute (B,) log p(π | X) (eq 1), differentiable. Step-by-step twin: `dynaroute.construct.log_probabilities`.

    Parameters
    ----------
    policy
        The policy.
    batch
        The instances.
    routes
        A feasible solution for each instance.
    samples
        Number of consecutive copies of every instance, each with its solution.
    size
        Size of the arrays, if larger than needed.
    precision
        Precision of the matrix products. None is for comparisons: the encoder is exact (`encode_exactly`) and the rest
        has the policy's dtype, as in the twin. A changed encoder of AM-D is always run like this, because its
        sensitivity to rounding is unknown. AM, and heads that the kernels cannot hold, always use the policy's dtype.
    starts
        Where the routes begin, if already known.
    has_one_size
        Whether all instances are known to have the same number of customers, so that nothing waits for the device.
    """
    refuse_unknown_rules(policy, batch)
    replay = REPLAYS.get(policy.known_kind)
    why_not = find_decoder_change(policy) if replay is not None else f"there is no parallel replay for {policy.kind}"
    if replay is None or why_not:
        warn_once(why_not)
        begin = policy.begin_exactly if precision is None else policy.begin
        return sum_log_probabilities(policy, batch, routes, begin)
    if change := find_encoder_change(policy):
        _refuse_what_mixes_solutions(policy)
        warn_once(change)
    return replay(policy, Solutions(batch, routes, samples, starts, size, has_one_size), precision)


def find_fixed_size(policy: Policy, nodes: int, *, has_one_size: bool) -> type[ReplaySize] | type[WholeSize] | None:
    """Find in which arrays of fixed size a GPU can replay a policy, so that steps can be recorded; None: in none.

    Parameters
    ----------
    policy
        The policy.
    nodes
        Nodes of the largest instance.
    has_one_size
        Whether all instances have the same number of customers.
    """
    replay = REPLAYS.get(policy.known_kind)
    if replay is None or policy.device.type != "cuda" or find_change(policy):
        return None
    if replay is replay_pointer:
        assert isinstance(policy, PointerNetwork)
        return WholeSize if policy.has_kernels else None
    if replay is replay_whole:
        return WholeSize if has_one_size else None
    return ReplaySize if _use_kernels(policy, policy.dtype, nodes) else None


def _refuse_what_mixes_solutions(policy: Policy) -> None:
    """Raise if a module depends on the rest of the batch or on chance, which differ in a replay."""
    for name, module in policy.encoder.named_modules():
        mixes = isinstance(module, nn.modules.batchnorm._BatchNorm | nn.modules.dropout._DropoutNd)
        if mixes and module.training and policy.encodes_anew:
            raise ModelError.about(
                f"encoder.{name}",
                f"{type(module).__name__} depends on the batch or on chance, so solutions cannot be replayed.",
                "Use a module that works node by node, such as LayerNorm, or put it into evaluation mode.",
            )


# AM-D: the remaining nodes before each route


def _replay_states(policy: Policy, solutions: Solutions, precision: torch.dtype | None) -> Tensor:
    """Encode every state once, and decode every route that leaves it once."""
    batch, starts, room = solutions.batch, solutions.starts, solutions.room
    if starts is None:
        starts = RouteStarts.of_routes(solutions.routes, batch.sizes, solutions.samples, batch.rules)
    room = room if isinstance(room, ReplaySize) else ReplaySize.of(starts)
    by_kernels = _use_kernels(policy, precision or policy.dtype, batch.nodes) and room.longest_route <= LONGEST_ROUTE
    if not by_kernels:
        room = ReplaySize.of(starts)  # plain operations use arrays that fit exactly
    layout = ReplayLayout.of_starts(starts, room)
    encoded = _encode_states(policy, batch, layout.states, precision)  # (T of states, d_h)
    hidden: Tensor = _TakeRows.apply(encoded, layout.state_token)  # type: ignore[no-untyped-call]  # (T, d_h)
    decode = _decode_by_kernels if by_kernels else _decode_plainly
    per_route = decode(policy, batch, hidden, layout, room)  # (R,)
    per_occurrence = torch.where(layout.is_occurrence, per_route[layout.occurrence_route], 0.0).double()  # (O,)
    total = per_occurrence.new_zeros(len(batch)).index_add(0, layout.occurrence_solution, per_occurrence)  # (B,)
    return total.to(per_route.dtype)


def _encode_states(policy: Policy, batch: InstanceBatch, states: Segments, precision: torch.dtype | None) -> Tensor:
    """Encode every token in the context of its state (eqs 2 to 11, 22): (T, d_h)."""
    encoder = policy.encoder
    if precision is None or find_encoder_change(policy):
        return _encode_tokens(partial(encode_exactly, encoder), policy, batch, states)
    by_kernels = _use_kernels(policy, precision, batch.nodes)
    if not by_kernels and (precision == policy.dtype or not _fits_kernels(policy, batch.nodes)):
        return _encode_tokens(encoder, policy, batch, states)
    features = batch.features(states.token_solution, states.token_node.clamp(min=0), policy.dtype)  # (T, 3)
    # positions need full precision
    is_depot = batch.find_depots(states.token_solution, states.token_node.clamp(min=0))  # (T,)
    hidden = _embed(encoder, features, is_depot).to(precision)  # (T, d_h)
    packing = Packing(states.lengths, batch.nodes)
    for layer in encoder.layers:
        assert isinstance(layer, AttentionLayer)
        hidden = run_layer(layer, hidden, packing, by_kernels)
    return hidden


def _encode_tokens(
    encode: Callable[[Tensor, Tensor, Packing], Tensor], policy: Policy, batch: InstanceBatch, states: Segments
) -> Tensor:
    """Encode the tokens of states with the policy's own encoder: (T, d_h), zeros at padding."""
    token = (states.token_node >= 0).nonzero().squeeze(1)
    # in the order of construction, which may matter to a user's own encoder
    token = token[(states.token_segment * batch.nodes + states.token_node)[token].argsort()]
    node = states.token_node[token]
    lengths = states.lengths[states.lengths > 0]
    features = batch.features(states.token_solution[token], node, policy.dtype)
    is_depot = batch.find_depots(states.token_solution[token], node)
    hidden = encode(features, is_depot, Packing(lengths, int(lengths.max())))
    return hidden.new_zeros(len(states.token_node), hidden.shape[1]).index_copy(0, token, hidden)


class _TakeRows(torch.autograd.Function):
    """Select rows of a table, possibly repeated. Gradients are summed in float32, so that no digit is lost.

    Indices of unused rows should differ, because sums into the same row wait for each other.
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
    """Apply eq 2 as one product: a customer is (features, 1, zeros), a depot (zeros, features, 1).

    Twin: `Encoder.embed`.
    """
    customer, depot = encoder.embed_customer, encoder.embed_depot
    columns = features.shape[1]  # fewer than the weights', if a policy with rules has a plain problem
    missing = columns - encoder.depot_features
    weight = torch.cat(
        [customer.weight[:, :columns], customer.bias[:, None], F.pad(depot.weight, (0, missing)), depot.bias[:, None]],
        1,
    )  # (d_h, 8)
    known = F.pad(features, (0, 1), value=1.0)  # (T, 4)
    is_depot_column = is_depot[:, None].to(features.dtype)
    return torch.cat([known * (1 - is_depot_column), known * is_depot_column], 1) @ weight.T


def run_layer(layer: AttentionLayer, hidden: Tensor, packing: Packing, by_kernels: bool) -> Tensor:
    """Run a layer in the dtype of its input (eqs 3 to 10).

    Parameters
    ----------
    layer
        A layer with tanh after each sub-layer.
    hidden
        (T, d_h) tokens.
    packing
        Their segments.
    by_kernels
        Whether to use kernels or plain operations.
    """
    if not by_kernels:
        is_half = hidden.dtype not in (torch.float32, torch.float64)
        with torch.autocast(hidden.device.type, hidden.dtype if is_half else None, enabled=is_half):
            plain: Tensor = layer(hidden, packing)
        return plain
    from dynaroute.kernels.attention import AttentionShape
    from dynaroute.kernels.encoder_layer import EncoderLayer

    shape = AttentionShape(packing.longest, layer.heads, layer.scale)
    segments = (packing.offsets, packing.lengths, shape)
    fused: Tensor = EncoderLayer.apply(hidden, *layer.weights(hidden.dtype), *segments)  # type: ignore[no-untyped-call]
    return fused


def _use_kernels(policy: Policy, dtype: torch.dtype, nodes: int) -> bool:
    """Whether kernels can replay solutions with this many nodes."""
    return kernels_run_on(policy.device) and dtype != torch.float64 and _fits_kernels(policy, nodes)


def _fits_kernels(policy: Policy, nodes: int) -> bool:
    """Whether kernels support the head dimension (16, 32, 64, ...) and, in long segments, all heads together."""
    columns = policy.config.head_dimension
    together = columns if nodes <= LONGEST_SEGMENT else policy.config.dimension
    return columns >= 16 and columns & (columns - 1) == 0 and together & (together - 1) == 0


def _decode_by_kernels(
    policy: Policy, batch: InstanceBatch, hidden: Tensor, layout: ReplayLayout, room: ReplaySize
) -> Tensor:
    """Compute (R,) log-probabilities of routes with kernels (eqs 12 to 20). Twin: `_decode_plainly`."""
    from dynaroute.kernels.route_parts import Routes, RouteShape
    from dynaroute.kernels.route_probability import RouteLogProbability

    config, weight = policy.config, policy.decoder.distance_weight
    nowhere = hidden.new_empty(0, dtype=torch.float32)
    routes = Routes(
        offsets=layout.routes.offsets,
        lengths=layout.routes.lengths,
        route_lengths=layout.route_lengths,
        capacities=batch.capacity[layout.routes.solution],
        demands=_list_demands(batch, layout.routes),
        positions=nowhere if weight is None else _list_positions(batch, layout.routes, torch.float32),
    )
    shape = RouteShape(
        longest=batch.nodes,
        longest_route=room.longest_route,
        heads=config.heads,
        clip=config.clip,
        shrinks=config.shrinking_mean,
        is_biased=weight is not None,
        has_edges=config.edge_scores,
        has_rules=batch.rules is not None,
    )
    per_route: Tensor = RouteLogProbability.apply(  # type: ignore[no-untyped-call]
        hidden @ policy.fold().to(hidden.dtype).T,  # (T, 5 d_h or 6 d_h)
        policy.decoder.capacity_weights.flatten(),
        nowhere if weight is None else weight,
        routes,
        shape,
        len(batch) * batch.nodes + len(routes.lengths),  # customers of all solutions, plus returns
        *(() if batch.rules is None else weigh_rules(policy, batch, batch.rules, layout, room, hidden.dtype)),
    )
    return per_route


def _decode_plainly(
    policy: Policy, batch: InstanceBatch, hidden: Tensor, layout: ReplayLayout, room: ReplaySize
) -> Tensor:
    """Compute (R,) log-probabilities of routes in plain PyTorch (eqs 12 to 20)."""
    packing = Packing(layout.routes.lengths, int(layout.routes.lengths.max()))
    projections = policy.decoder.project(hidden, packing, policy.fold().to(hidden.dtype))
    # softmax and logits need full precision
    projections = projections.to(policy.dtype)
    if policy.config.distance_bias:
        projections = projections.at(_list_positions(batch, layout.routes, policy.dtype), packing)
    solution = layout.routes.solution
    capacities, demands = batch.capacity[solution], packing.pad(_list_demands(batch, layout.routes))
    rules = None
    if batch.rules is not None:
        nodes = packing.pad(layout.routes.token_node)  # (R, M)
        rules = SegmentRules.of(batch.rules, solution, nodes, demands, capacities, packing.lengths, policy.dtype)
    return route_log_probabilities(policy, projections, packing, layout.route_lengths, capacities, demands, rules)


def route_log_probabilities(
    policy: Policy,
    projections: Projections,
    packing: Packing,
    route_lengths: Tensor,
    capacities: Tensor,
    demands: Tensor,
    rules: SegmentRules | None = None,
) -> Tensor:
    """Compute (R,) log-probabilities of routes in plain PyTorch. Twin of `dynaroute.kernels.route_probability`.

    Parameters
    ----------
    policy
        The policy, whose decoder is used.
    projections
        Projections of the R segments that the routes leave, with nodes in order of visit.
    packing
        The segments.
    route_lengths
        (R,) number of customers on each route.
    capacities
        (R,) int32.
    demands
        (R, M) int32.
    rules
        Rules beyond capacity.
    """
    slot = torch.arange(packing.longest, device=demands.device)  # (M,)
    step = slot[: int(route_lengths.max()) + 1]  # (S,): at step p the vehicle is at slot p
    on_route = (step > 0) & (step <= route_lengths[:, None])  # (R, S)
    remaining = capacities[:, None] - (demands[:, : len(step)] * on_route).cumsum(1)  # (R, S)
    is_open = packing.is_token[:, None, :] & (slot > step[:, None])  # (R, S, M)
    is_step = step <= route_lengths[:, None]  # (R, S)
    previous = step.expand(len(capacities), -1)  # (R, S)
    outlook = None
    if rules is not None:
        progress = rules.follow(len(step))
        remaining, outlook = progress.deliverable, rules.look(progress, previous)
    steps = KnownSteps(
        previous=previous,
        target=torch.where(step < route_lengths[:, None], step + 1, 0),
        is_step=is_step,
        is_open=is_open,
        is_node=packing.is_token,
        remaining=remaining,
        outlook=outlook,
    )
    return sum_steps(policy, projections, steps, demands, capacities)


def _list_positions(batch: InstanceBatch, segments: Segments, dtype: torch.dtype) -> Tensor:
    """Return (T, 2) positions of all tokens in the unit square."""
    flat = segments.token_solution * batch.nodes + segments.token_node.clamp(min=0)  # (T,)
    return batch.locations.flatten(0, 1)[flat].to(dtype)


def _list_demands(batch: InstanceBatch, segments: Segments) -> Tensor:
    """Return (T,) demands of all tokens; 0 at padding."""
    flat = segments.token_solution * batch.nodes + segments.token_node.clamp(min=0)  # (T,)
    return batch.demands.flatten()[flat] * (segments.token_node >= 0)


# The parallel replay of each kind of policy, and of kinds that are built like it. Others are replayed step by step.
REPLAYS: dict[str, ParallelReplay] = {"AM-D": _replay_states, "AM": replay_whole, "RL": replay_pointer}
