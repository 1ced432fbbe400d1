"""Log-probabilities of routes through segments that fit in one tile on chip (eqs 12 to 20); see `route_parts`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from dynaroute.kernels import LONGEST_SEGMENT
from dynaroute.kernels.arithmetic import find_feasible
from dynaroute.kernels.route_parts import (
    RouteGradients,
    RouteShape,
    RuleTerms,
    find_remaining,
    is_of_tile,
    load_pairs,
    load_rows,
    measure,
    name_gradients,
    name_terms,
    store_pairs,
    store_rows,
)


@triton.jit
def _describe_steps(
    demands, positions, rule_remaining, rule_logits, start, count, length, capacity, SHRINKS: tl.constexpr,
    IS_BIASED: tl.constexpr, RULES: tl.constexpr, M: tl.constexpr, L: tl.constexpr,
):  # fmt: skip
    """The state at all steps of a route.

    Returns (L, M) feasible nodes, (L, M) nodes in the mean, (L,) the weight of each, (L,) D_t / D, and (L, M)
    log-distances.
    """
    step = tl.arange(0, L)
    slot = tl.arange(0, M)
    remaining = find_remaining(demands, start, length, capacity, L)
    if RULES:
        remaining = tl.load(rule_remaining + start + step, mask=step <= length, other=0)
    demand = tl.load(demands + start + slot, mask=slot < count, other=0)
    is_token = (slot < count)[None, :]
    is_depot = slot[None, :] == 0
    is_open = (slot[None, :] > step[:, None]) & is_token
    feasible = find_feasible(is_open, demand[None, :], remaining[:, None], is_depot, step[:, None] > 0)
    if RULES:
        feasible = feasible & (load_pairs(rule_logits, 0, count, length, M, L) > -1.0e29)
    in_mean = is_open | is_depot
    nodes_in_mean = count - step
    if not SHRINKS:
        in_mean = is_token & (step[:, None] >= 0)
        nodes_in_mean = count - step * 0
    per_node = 1.0 / tl.maximum(nodes_in_mean, 1).to(tl.float32)
    distance = tl.zeros((L, M), tl.float32)
    if IS_BIASED:
        distance = measure(positions, start, 0, count, length, M, L)
    return feasible, in_mean, per_node, remaining.to(tl.float32) / capacity.to(tl.float32), distance


@triton.jit
def _attend_head(
    packed, capacity_weight, distance_weight, rule_states, rule_moves, start, count, length, head, feasible, in_mean,
    fraction, per_node, distance, IS_BIASED: tl.constexpr, HAS_EDGES: tl.constexpr, RULES: tl.constexpr,
    M: tl.constexpr, L: tl.constexpr, D: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Eqs 12 to 16 for one head; returns the tiles, queries (L, DK), weights (L, M) and glimpses (L, DK)."""
    STRIDE: tl.constexpr = (6 if HAS_EDGES else 5) * D
    column = head * DK
    key = load_rows(packed, start, count, column, STRIDE, M, DK)
    value = load_rows(packed, start, count, column + D, STRIDE, M, DK)
    logit_key = load_rows(packed, start, count, column + 2 * D, STRIDE, M, DK)
    graph = load_rows(packed, start, count, column + 3 * D, STRIDE, M, DK)
    last = load_rows(packed, start, length + 1, column + 4 * D, STRIDE, L, DK)
    total = tl.dot(in_mean.to(graph.dtype), graph, input_precision=PRECISION)
    of_capacity = tl.load(capacity_weight + column + tl.arange(0, DK)).to(tl.float32)
    query = total * per_node[:, None] + last.to(tl.float32) + of_capacity[None, :] * fraction[:, None]
    if RULES:
        query += load_rows(rule_states, start, length + 1, column, 2 * D, L, DK).to(tl.float32)
    query = query.to(key.dtype)
    scores = tl.dot(query, tl.trans(key), input_precision=PRECISION)
    if IS_BIASED:
        scores += tl.load(distance_weight + head) * distance
    if RULES:
        scores += load_pairs(rule_moves, 0, count, length, M, L)
    scores = tl.where(feasible, scores, -1.0e30)
    weights = tl.exp(scores - tl.max(scores, 1)[:, None])
    weights = weights * (1.0 / tl.sum(weights, 1))[:, None]  # one division per row, because divisions are slow
    glimpse = tl.dot(weights.to(value.dtype), value, input_precision=PRECISION)
    if HAS_EDGES:
        glimpse += load_rows(packed, start, length + 1, column + 5 * D, STRIDE, L, DK).to(tl.float32)
        of_capacity = tl.load(capacity_weight + D + column + tl.arange(0, DK)).to(tl.float32)
        glimpse += of_capacity[None, :] * fraction[:, None]
    if RULES:
        glimpse += load_rows(rule_states, start, length + 1, column + D, 2 * D, L, DK).to(tl.float32)
    return key, value, logit_key, query, weights, glimpse.to(value.dtype)


@triton.jit
def _sum_logits(
    packed, capacity_weight, distance_weight, rule_states, rule_moves, rule_plane, start, count, length, feasible,
    in_mean, fraction, per_node, distance, IS_BIASED: tl.constexpr, HAS_EDGES: tl.constexpr, RULES: tl.constexpr,
    M: tl.constexpr, L: tl.constexpr, H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Eqs 17 and 18: logits before clipping, summed over heads because W^O and W^Q are folded into the logit keys."""
    logits = tl.zeros([L, M], dtype=tl.float32)
    for head in range(H):
        _, _, logit_key, _, _, glimpse = _attend_head(
            packed, capacity_weight, distance_weight, rule_states, rule_moves, start, count, length, head, feasible,
            in_mean, fraction, per_node, distance, IS_BIASED, HAS_EDGES, RULES, M, L, H * DK, DK, PRECISION,
        )  # fmt: skip
        if RULES:
            rule_moves += rule_plane
        logits += tl.dot(glimpse, tl.trans(logit_key), input_precision=PRECISION)
    if IS_BIASED:
        logits += tl.load(distance_weight + H) * distance
    if RULES:
        logits += load_pairs(rule_moves, 0, count, length, M, L)
    return logits


@triton.jit
def _forward_tile(
    packed, demands, positions, capacity_weight, distance_weight, out, rule_remaining, rule_states, rule_moves,
    rule_logits, rule_plane, segment, start, count, length, capacity, clip, SHRINKS: tl.constexpr,
    IS_BIASED: tl.constexpr, HAS_EDGES: tl.constexpr, RULES: tl.constexpr, M: tl.constexpr, L: tl.constexpr,
    H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    step = tl.arange(0, L)
    feasible, in_mean, per_node, fraction, distance = _describe_steps(
        demands, positions, rule_remaining, rule_logits, start, count, length, capacity, SHRINKS, IS_BIASED, RULES, M, L
    )
    raw = _sum_logits(
        packed, capacity_weight, distance_weight, rule_states, rule_moves, rule_plane, start, count, length, feasible,
        in_mean, fraction, per_node, distance, IS_BIASED, HAS_EDGES, RULES, M, L, H, DK, PRECISION,
    )  # fmt: skip
    logits = tl.where(feasible, clip * (2.0 * tl.sigmoid(2.0 * raw) - 1.0), -1.0e30)
    top = tl.max(logits, 1)
    normaliser = top + tl.log(tl.sum(tl.exp(logits - top[:, None]), 1))
    target = tl.where(step < length, step + 1, 0)
    chosen = tl.sum(tl.where(tl.arange(0, M)[None, :] == target[:, None], logits, 0.0), 1)
    tl.store(out + segment, tl.sum(tl.where(step <= length, chosen - normaliser, 0.0), 0))


@triton.jit
def _backward_tile(
    packed, demands, positions, capacity_weight, distance_weight, out_gradient, gradient, capacity_gradient,
    distance_gradient, rule_remaining, rule_states, rule_moves, rule_logits, rule_plane, rule_states_gradient,
    rule_moves_gradient, segment, start, count, length, capacity, clip, SHRINKS: tl.constexpr, IS_BIASED: tl.constexpr,
    HAS_EDGES: tl.constexpr, RULES: tl.constexpr, M: tl.constexpr, L: tl.constexpr, H: tl.constexpr, DK: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    step = tl.arange(0, L)
    slot = tl.arange(0, M)
    feasible, in_mean, per_node, fraction, distance = _describe_steps(
        demands, positions, rule_remaining, rule_logits, start, count, length, capacity, SHRINKS, IS_BIASED, RULES, M, L
    )
    raw = _sum_logits(
        packed, capacity_weight, distance_weight, rule_states, rule_moves, rule_plane, start, count, length, feasible,
        in_mean, fraction, per_node, distance, IS_BIASED, HAS_EDGES, RULES, M, L, H, DK, PRECISION,
    )  # fmt: skip
    clipped = 2.0 * tl.sigmoid(2.0 * raw) - 1.0
    logits = tl.where(feasible, clip * clipped, -1.0e30)
    chances = tl.exp(logits - tl.max(logits, 1)[:, None])
    chances = chances * (1.0 / tl.sum(chances, 1))[:, None]
    target = tl.where(step < length, step + 1, 0)
    d_logits = tl.where(slot[None, :] == target[:, None], 1.0, 0.0) - chances
    d_logits = d_logits * tl.load(out_gradient + segment).to(tl.float32) * clip * (1.0 - clipped * clipped)
    is_step = (step <= length)[:, None]
    d_raw = tl.where(feasible & is_step, d_logits, 0.0)
    if IS_BIASED:
        distance_gradient += segment.to(tl.int64) * (H + 1)
        tl.store(distance_gradient + H, tl.sum(tl.sum(d_raw * distance, 1), 0))
    if RULES:
        store_pairs(rule_moves_gradient + H * rule_plane, d_raw, 0, count, length, M, L)
    d_raw = d_raw.to(packed.dtype.element_ty)
    STRIDE: tl.constexpr = (6 if HAS_EDGES else 5) * H * DK
    capacity_gradient += segment.to(tl.int64) * ((2 if HAS_EDGES else 1) * H * DK)
    for head in range(H):
        column = head * DK
        key, value, logit_key, query, weights, glimpse = _attend_head(
            packed, capacity_weight, distance_weight, rule_states, rule_moves, start, count, length, head, feasible,
            in_mean, fraction, per_node, distance, IS_BIASED, HAS_EDGES, RULES, M, L, H * DK, DK, PRECISION,
        )  # fmt: skip
        d_logit_key = tl.dot(tl.trans(d_raw), glimpse, input_precision=PRECISION)
        store_rows(gradient, d_logit_key, start, 0, count, column + 2 * H * DK, STRIDE, M, DK)
        d_glimpse = tl.dot(d_raw, logit_key, input_precision=PRECISION)
        if HAS_EDGES:
            store_rows(gradient, d_glimpse, start, 0, length + 1, column + 5 * H * DK, STRIDE, L, DK)
            d_capacity = tl.sum(d_glimpse * fraction[:, None], 0)
            tl.store(capacity_gradient + H * DK + column + tl.arange(0, DK), d_capacity)
        if RULES:
            store_rows(
                rule_states_gradient, d_glimpse, start, 0, length + 1, column + H * DK, 2 * H * DK, L, DK
            )  # fmt: skip
        d_glimpse = d_glimpse.to(value.dtype)
        d_value = tl.dot(tl.trans(weights.to(value.dtype)), d_glimpse, input_precision=PRECISION)
        store_rows(gradient, d_value, start, 0, count, column + H * DK, STRIDE, M, DK)
        d_weights = tl.dot(d_glimpse, tl.trans(value), input_precision=PRECISION)
        d_scores = weights * (d_weights - tl.sum(d_weights * weights, 1)[:, None])
        if IS_BIASED:
            tl.store(distance_gradient + head, tl.sum(tl.sum(d_scores * distance, 1), 0))
        if RULES:
            store_pairs(rule_moves_gradient, d_scores, 0, count, length, M, L)
            rule_moves += rule_plane
            rule_moves_gradient += rule_plane
        d_scores = d_scores.to(value.dtype)
        d_key = tl.dot(tl.trans(d_scores), query, input_precision=PRECISION)
        store_rows(gradient, d_key, start, 0, count, column, STRIDE, M, DK)
        d_query = tl.dot(d_scores, key, input_precision=PRECISION)
        d_total = (d_query * per_node[:, None]).to(value.dtype)
        d_graph = tl.dot(tl.trans(in_mean.to(value.dtype)), d_total, input_precision=PRECISION)
        store_rows(gradient, d_graph, start, 0, count, column + 3 * H * DK, STRIDE, M, DK)
        # only the route's own nodes are ever the last node; the other rows are already zero
        store_rows(gradient, d_query, start, 0, length + 1, column + 4 * H * DK, STRIDE, L, DK)
        d_capacity = tl.sum(d_query * fraction[:, None], 0)
        tl.store(capacity_gradient + column + tl.arange(0, DK), d_capacity)
        if RULES:
            store_rows(rule_states_gradient, d_query, start, 0, length + 1, column, 2 * H * DK, L, DK)


@triton.jit
def _forward_kernel(
    packed, offsets, lengths, route_lengths, capacities, demands, positions, capacity_weight, distance_weight, out,
    clip, SHRINKS: tl.constexpr, IS_BIASED: tl.constexpr, HAS_EDGES: tl.constexpr, RULES: tl.constexpr,
    FIRST: tl.constexpr, LAST: tl.constexpr, L: tl.constexpr, H: tl.constexpr, DK: tl.constexpr,
    PRECISION: tl.constexpr, rule_first=None, rule_remaining=None, rule_states=None, rule_moves=None, rule_plane=None,
):  # fmt: skip
    """One program per route: the sum of log p (eq 20) over its steps, whose masks are all known.

    q_p = mean of the graph projections over nodes not visited before p (all nodes, if the mean does not shrink)
    + last projection of slot p + w D_p / D;
    A = softmax(q k^T) over feasible nodes, g = A v, u = C tanh(g logit_key^T), log p = u_target - logsumexp u.
    If attention is biased, log-distances times a learned weight are added to the scores of each head, and to the
    argument of tanh. With edges, the edge projection of slot p + w' D_p / D is added to g. With rules, their terms are
    added to the query, to the scores, to g, and to the argument of tanh.
    Twin: `dynaroute.training.replay.replay.route_log_probabilities`.
    """
    segment = tl.program_id(0)
    start = tl.load(offsets + segment).to(tl.int64)
    count = tl.load(lengths + segment).to(tl.int32)
    length = tl.load(route_lengths + segment).to(tl.int32)
    capacity = tl.load(capacities + segment)
    rule_logits = rule_moves
    if RULES:
        rule_moves += tl.load(rule_first + segment)
        rule_logits = rule_moves + H * rule_plane
    for power in tl.static_range(FIRST, LAST + 1):  # the smallest tile of 16, 32, ... that holds the segment
        is_smallest = (count > ((1 << power) // 2 if power > 4 else 0)) & (count <= (1 << power))
        if is_smallest & is_of_tile(length, L):
            _forward_tile(
                packed, demands, positions, capacity_weight, distance_weight, out, rule_remaining, rule_states,
                rule_moves, rule_logits, rule_plane, segment, start, count, length, capacity, clip, SHRINKS, IS_BIASED,
                HAS_EDGES, RULES, 1 << power, L, H, DK, PRECISION,
            )  # fmt: skip


@triton.jit
def _backward_kernel(
    packed, offsets, lengths, route_lengths, capacities, demands, positions, capacity_weight, distance_weight,
    out_gradient, gradient, capacity_gradient, distance_gradient, clip, SHRINKS: tl.constexpr, IS_BIASED: tl.constexpr,
    HAS_EDGES: tl.constexpr, RULES: tl.constexpr, FIRST: tl.constexpr, LAST: tl.constexpr, L: tl.constexpr,
    H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr, rule_first=None, rule_remaining=None, rule_states=None,
    rule_moves=None, rule_plane=None, rule_states_gradient=None, rule_moves_gradient=None,
):  # fmt: skip
    """One program per route. With G the gradient of its log-probability:

    du = G (one-hot - softmax u) C (1 - tanh^2), then back through the logits, the glimpses g and the weights A as in
    attention; the mean passes dq_p / (number of its nodes) to each of its nodes. Weights are recomputed.
    """
    segment = tl.program_id(0)
    start = tl.load(offsets + segment).to(tl.int64)
    count = tl.load(lengths + segment).to(tl.int32)
    length = tl.load(route_lengths + segment).to(tl.int32)
    capacity = tl.load(capacities + segment)
    rule_logits = rule_moves
    if RULES:
        rule_moves += tl.load(rule_first + segment)
        rule_moves_gradient += tl.load(rule_first + segment)
        rule_logits = rule_moves + H * rule_plane
    for power in tl.static_range(FIRST, LAST + 1):  # the smallest tile of 16, 32, ... that holds the segment
        is_smallest = (count > ((1 << power) // 2 if power > 4 else 0)) & (count <= (1 << power))
        if is_smallest & is_of_tile(length, L):
            _backward_tile(
                packed, demands, positions, capacity_weight, distance_weight, out_gradient, gradient, capacity_gradient,
                distance_gradient, rule_remaining, rule_states, rule_moves, rule_logits, rule_plane,
                rule_states_gradient, rule_moves_gradient, segment, start, count, length, capacity, clip, SHRINKS,
                IS_BIASED, HAS_EDGES, RULES, 1 << power, L, H, DK, PRECISION,
            )  # fmt: skip


def run_tiles(
    packed: Tensor, given: tuple[Tensor, ...], shape: RouteShape, out: Tensor, rules: RuleTerms | None = None
) -> None:
    """Write the log-probabilities of all routes whose segments fit in a tile.

    Parameters
    ----------
    packed
        (T, 5 d_h) projections, or (T, 6 d_h) with edges.
    given
        The fields of `Routes`, then the capacity weight and the distance weights.
    shape
        Settings that all routes share.
    out
        (P,) float32 result.
    rules
        What rules beyond capacity add.
    """
    for settings in _launches(packed, shape):
        _forward_kernel[(len(out),)](packed, *given, out, shape.clip, **settings, **name_terms(rules))


def run_tiles_backward(
    packed: Tensor,
    given: tuple[Tensor, ...],
    shape: RouteShape,
    out_gradient: Tensor,
    gradients: RouteGradients,
    rules: RuleTerms | None = None,
) -> None:
    """Write the gradients, given those of `out`; the other parameters are those of `run_tiles`."""
    for settings in _launches(packed, shape):
        terms = name_terms(rules) | name_gradients(gradients)
        _backward_kernel[(len(out_gradient),)](
            packed, *given, out_gradient, *gradients[:3], shape.clip, **settings, **terms
        )


def _launches(packed: Tensor, shape: RouteShape) -> Iterator[dict[str, Any]]:
    """The constants of each launch, one per tile of steps; no segment is shorter than its route."""
    largest = max(16, triton.next_power_of_2(min(shape.longest, LONGEST_SEGMENT)))
    for tile in shape.list_tiles():
        if tile <= largest:
            powers = {"FIRST": tile.bit_length() - 1, "LAST": largest.bit_length() - 1}
            yield shape.settings(packed) | powers | {"L": tile, "num_warps": 4}
