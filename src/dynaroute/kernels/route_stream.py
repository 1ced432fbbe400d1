"""Log-probabilities of whole routes through segments of any length: nodes pass by in blocks (eqs 12 to 20).

What is computed is said in `dynaroute.kernels.route_tile`, which holds a whole segment on chip, and how a segment is
laid out in `route_parts`. Here three kernels follow each other, and three on the way back in the opposite order:

    queries   q_p of all steps of a route (eqs 12 and 13)
    glimpses  g_p: attention of the steps of a route to the nodes of its segment (eqs 14 to 16)
    chances   log p of each step (eqs 17 to 20)

The steps of all routes lie one route behind the other, as the tokens do: step p of a route is at its first plus p.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from dynaroute.kernels import LONGEST_SEGMENT
from dynaroute.kernels.arithmetic import find_feasible, loop_end
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

_LOG2_E = tl.constexpr(1.4426950408889634)
_HUGE = tl.constexpr(1.0e30)
_BLOCK = 64  # nodes that pass by at once


@triton.jit
def _find_feasible(demands, start, first, count, remaining, BLOCK: tl.constexpr, L: tl.constexpr):
    """(L, BLOCK) which nodes of a block are feasible at which step."""
    step, slot = tl.arange(0, L), first + tl.arange(0, BLOCK)
    demand = tl.load(demands + start + slot, mask=slot < count, other=0)
    is_open = (slot[None, :] > step[:, None]) & (slot < count)[None, :]
    return find_feasible(is_open, demand[None, :], remaining[:, None], slot[None, :] == 0, step[:, None] > 0)


@triton.jit
def _share_of_node(count, SHRINKS: tl.constexpr, L: tl.constexpr):
    """(L,) one over the nodes in the mean."""
    in_mean = count - tl.arange(0, L)
    if not SHRINKS:
        in_mean = count - tl.arange(0, L) * 0
    return 1.0 / tl.maximum(in_mean, 1).to(tl.float32)


@triton.jit
def _query_kernel(
    packed, offsets, lengths, route_lengths, capacities, demands, positions, capacity_weight, distance_weight,
    first_steps, queries, SHRINKS: tl.constexpr, IS_BIASED: tl.constexpr, HAS_EDGES: tl.constexpr,
    RULES: tl.constexpr, H: tl.constexpr,
    DK: tl.constexpr, PRECISION: tl.constexpr, L: tl.constexpr, BLOCK: tl.constexpr, LONGEST_TILE: tl.constexpr,
    rule_first=None, rule_remaining=None, rule_states=None, rule_moves=None, rule_plane=None,
):  # fmt: skip
    """One program a route: q_p = mean of the graph's projections + last's of slot p + w D_p / D.

    The sum of the mean is that over all nodes, less those visited before: slots 1 to p.
    """
    D: tl.constexpr = H * DK
    STRIDE: tl.constexpr = (6 if HAS_EDGES else 5) * D
    segment = tl.program_id(0)
    count = tl.load(lengths + segment).to(tl.int32)
    length = tl.load(route_lengths + segment).to(tl.int32)
    if (count > LONGEST_TILE) & is_of_tile(length, L):
        start = tl.load(offsets + segment).to(tl.int64)
        capacity = tl.load(capacities + segment)
        total = tl.zeros((D,), tl.float32)
        for first in tl.range(0, loop_end(count), BLOCK):
            rows = load_rows(packed, start + first, count - first, 3 * D, STRIDE, BLOCK, D)
            total += tl.sum(rows.to(tl.float32), 0)
        mean = tl.broadcast_to(total[None, :], (L, D))
        if SHRINKS:
            slot, step = tl.arange(0, L), tl.arange(0, L)
            graph = load_rows(packed, start, length + 1, 3 * D, STRIDE, L, D)
            is_visited = (slot[None, :] <= step[:, None]) & (slot[None, :] > 0)
            mean -= tl.dot(is_visited.to(graph.dtype), graph, input_precision=PRECISION)
        mean = mean * _share_of_node(count, SHRINKS, L)[:, None]
        last = load_rows(packed, start, length + 1, 4 * D, STRIDE, L, D)
        of_capacity = tl.load(capacity_weight + tl.arange(0, D)).to(tl.float32)
        remaining = find_remaining(demands, start, length, capacity, L)
        if RULES:
            remaining = tl.load(rule_remaining + start + tl.arange(0, L), mask=tl.arange(0, L) <= length, other=0)
        fraction = remaining.to(tl.float32) / capacity.to(tl.float32)
        query = mean + last.to(tl.float32) + of_capacity[None, :] * fraction[:, None]
        if RULES:
            query += load_rows(rule_states, start, length + 1, 0, 2 * D, L, D).to(tl.float32)
        store_rows(queries, query, tl.load(first_steps + segment), 0, length + 1, 0, D, L, D)


@triton.jit
def _glimpse_kernel(
    packed, offsets, lengths, route_lengths, capacities, demands, positions, capacity_weight, distance_weight,
    first_steps, queries, glimpses, levels, SHRINKS: tl.constexpr, IS_BIASED: tl.constexpr, HAS_EDGES: tl.constexpr,
    RULES: tl.constexpr,
    H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr, L: tl.constexpr, BLOCK: tl.constexpr,
    LONGEST_TILE: tl.constexpr,
    rule_first=None, rule_remaining=None, rule_states=None, rule_moves=None, rule_plane=None,
):  # fmt: skip
    """One program a route and head: softmax(q k^T) v over feasible nodes, as in `dynaroute.kernels.attention`."""
    D: tl.constexpr = H * DK
    STRIDE: tl.constexpr = (6 if HAS_EDGES else 5) * D
    segment, head = tl.program_id(0), tl.program_id(1)
    count = tl.load(lengths + segment).to(tl.int32)
    length = tl.load(route_lengths + segment).to(tl.int32)
    if (count > LONGEST_TILE) & is_of_tile(length, L):
        start = tl.load(offsets + segment).to(tl.int64)
        first_step = tl.load(first_steps + segment)
        rule_logits = rule_moves
        remaining = find_remaining(demands, start, length, tl.load(capacities + segment), L)
        if RULES:
            remaining = tl.load(rule_remaining + start + tl.arange(0, L), mask=tl.arange(0, L) <= length, other=0)
            rule_moves += tl.load(rule_first + segment)
            rule_logits = rule_moves + H * rule_plane
        query = load_rows(queries, first_step, length + 1, head * DK, D, L, DK)
        highest = tl.full((L,), -_HUGE, tl.float32)
        weight_sum = tl.zeros((L,), tl.float32)
        total = tl.zeros((L, DK), tl.float32)
        for first in tl.range(0, loop_end(count), BLOCK):
            key = load_rows(packed, start + first, count - first, head * DK, STRIDE, BLOCK, DK)
            value = load_rows(packed, start + first, count - first, D + head * DK, STRIDE, BLOCK, DK)
            scores = tl.dot(query, tl.trans(key), input_precision=PRECISION)  # (L, BLOCK)
            if IS_BIASED:
                weight = tl.load(distance_weight + head)
                scores += weight * measure(positions, start, first, count, length, BLOCK, L)
            if RULES:
                scores += load_pairs(rule_moves + head * rule_plane, first, count, length, BLOCK, L)
            feasible = _find_feasible(demands, start, first, count, remaining, BLOCK, L)
            if RULES:
                feasible = feasible & (load_pairs(rule_logits, first, count, length, BLOCK, L) > -1.0e29)
            scores = tl.where(feasible, scores * _LOG2_E, -_HUGE)
            higher = tl.maximum(highest, tl.max(scores, 1))
            weights = tl.where(feasible, tl.exp2(scores - higher[:, None]), 0.0)
            fading = tl.exp2(highest - higher)
            weight_sum = weight_sum * fading + tl.sum(weights, 1)
            total = tl.dot(weights.to(value.dtype), value, total * fading[:, None], input_precision=PRECISION)
            highest = higher
        step = tl.arange(0, L)
        store_rows(glimpses, total / weight_sum[:, None], first_step, 0, length + 1, head * DK, D, L, DK)
        tl.store(levels + (first_step + step) * H + head, highest + tl.log2(weight_sum), mask=step <= length)


@triton.jit
def _add_edges(packed, capacity_weight, glimpse, start, length, fraction, D: tl.constexpr, L: tl.constexpr):
    """(L, D) glimpses, plus the edge projection of slot p and w' D_p / D."""
    edge = load_rows(packed, start, length + 1, 5 * D, 6 * D, L, D).to(tl.float32)
    of_capacity = tl.load(capacity_weight + D + tl.arange(0, D)).to(tl.float32)
    return (glimpse.to(tl.float32) + edge + of_capacity[None, :] * fraction[:, None]).to(glimpse.dtype)


@triton.jit
def _find_logits(
    packed, demands, positions, distance_weight, rule_logits, glimpse, start, first, count, length, remaining,
    IS_BIASED: tl.constexpr, HAS_EDGES: tl.constexpr, RULES: tl.constexpr, H: tl.constexpr, DK: tl.constexpr,
    PRECISION: tl.constexpr, L: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Eqs 17 to 19 for a block of nodes: (L, BLOCK) tanh of the scores, and what is feasible; and the logit keys."""
    D: tl.constexpr = H * DK
    STRIDE: tl.constexpr = (6 if HAS_EDGES else 5) * D
    logit_key = load_rows(packed, start + first, count - first, 2 * D, STRIDE, BLOCK, D)
    raw = tl.dot(glimpse, tl.trans(logit_key), input_precision=PRECISION)  # (L, BLOCK)
    if IS_BIASED:
        raw += tl.load(distance_weight + H) * measure(positions, start, first, count, length, BLOCK, L)
    feasible = _find_feasible(demands, start, first, count, remaining, BLOCK, L)
    if RULES:
        of_moves = load_pairs(rule_logits, first, count, length, BLOCK, L)
        raw += of_moves
        feasible = feasible & (of_moves > -1.0e29)
    return 2.0 * tl.sigmoid(2.0 * raw) - 1.0, feasible, logit_key


@triton.jit
def _chance_kernel(
    packed, offsets, lengths, route_lengths, capacities, demands, positions, capacity_weight, distance_weight,
    first_steps, glimpses, out, normalisers, clip, SHRINKS: tl.constexpr, IS_BIASED: tl.constexpr,
    HAS_EDGES: tl.constexpr, RULES: tl.constexpr, H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr,
    L: tl.constexpr,
    BLOCK: tl.constexpr, LONGEST_TILE: tl.constexpr,
    rule_first=None, rule_remaining=None, rule_states=None, rule_moves=None, rule_plane=None,
):  # fmt: skip
    """One program a route: u = C tanh(g logit_key^T), log p = u_target - logsumexp u, and their sum over the steps.

    With edges, g is the glimpse and what `_add_edges` adds to it.
    """
    D: tl.constexpr = H * DK
    segment = tl.program_id(0)
    count = tl.load(lengths + segment).to(tl.int32)
    length = tl.load(route_lengths + segment).to(tl.int32)
    if (count > LONGEST_TILE) & is_of_tile(length, L):
        start = tl.load(offsets + segment).to(tl.int64)
        first_step = tl.load(first_steps + segment)
        rule_logits = rule_moves
        remaining = find_remaining(demands, start, length, tl.load(capacities + segment), L)
        if RULES:
            remaining = tl.load(rule_remaining + start + tl.arange(0, L), mask=tl.arange(0, L) <= length, other=0)
            rule_moves += tl.load(rule_first + segment)
            rule_logits = rule_moves + H * rule_plane
        glimpse = load_rows(glimpses, first_step, length + 1, 0, D, L, D)
        if HAS_EDGES:
            fraction = remaining.to(tl.float32) / tl.load(capacities + segment).to(tl.float32)
            glimpse = _add_edges(packed, capacity_weight, glimpse, start, length, fraction, D, L)
        if RULES:
            of_states = load_rows(rule_states, start, length + 1, D, 2 * D, L, D).to(tl.float32)
            glimpse = (glimpse.to(tl.float32) + of_states).to(glimpse.dtype)
        step = tl.arange(0, L)
        target = tl.where(step < length, step + 1, 0)
        chosen = tl.zeros((L,), tl.float32)
        chance_sum = tl.zeros((L,), tl.float32)  # of e^(u - C): no u is larger than C
        for first in tl.range(0, loop_end(count), BLOCK):
            clipped, feasible, _ = _find_logits(
                packed, demands, positions, distance_weight, rule_logits, glimpse, start, first, count, length,
                remaining, IS_BIASED, HAS_EDGES, RULES, H, DK, PRECISION, L, BLOCK,
            )  # fmt: skip
            slot = first + tl.arange(0, BLOCK)
            chosen += tl.sum(tl.where(slot[None, :] == target[:, None], clip * clipped, 0.0), 1)
            chance_sum += tl.sum(tl.where(feasible, tl.exp(clip * clipped - clip), 0.0), 1)
        normaliser = clip + tl.log(chance_sum)
        tl.store(normalisers + first_step + step, normaliser, mask=step <= length)
        tl.store(out + segment, tl.sum(tl.where(step <= length, chosen - normaliser, 0.0), 0))


@triton.jit
def _chance_backward_kernel(
    packed, offsets, lengths, route_lengths, capacities, demands, positions, capacity_weight, distance_weight,
    first_steps, glimpses, normalisers, out_gradient, gradient, glimpse_gradient, capacity_gradient, distance_gradient,
    clip, SHRINKS: tl.constexpr, IS_BIASED: tl.constexpr, HAS_EDGES: tl.constexpr, RULES: tl.constexpr,
    H: tl.constexpr, DK: tl.constexpr,
    PRECISION: tl.constexpr, L: tl.constexpr, BLOCK: tl.constexpr, LONGEST_TILE: tl.constexpr,
    rule_first=None, rule_remaining=None, rule_states=None, rule_moves=None, rule_plane=None, rule_states_gradient=None,
    rule_moves_gradient=None,
):  # fmt: skip
    """One program a route: du = G (one-hot - softmax u) C (1 - tanh^2), dg = du logit_key, dlogit_key = du^T g."""
    D: tl.constexpr = H * DK
    STRIDE: tl.constexpr = (6 if HAS_EDGES else 5) * D
    segment = tl.program_id(0)
    count = tl.load(lengths + segment).to(tl.int32)
    length = tl.load(route_lengths + segment).to(tl.int32)
    if (count > LONGEST_TILE) & is_of_tile(length, L):
        start = tl.load(offsets + segment).to(tl.int64)
        first_step = tl.load(first_steps + segment)
        rule_logits = rule_moves
        remaining = find_remaining(demands, start, length, tl.load(capacities + segment), L)
        if RULES:
            remaining = tl.load(rule_remaining + start + tl.arange(0, L), mask=tl.arange(0, L) <= length, other=0)
            rule_moves += tl.load(rule_first + segment)
            rule_logits = rule_moves + H * rule_plane
            rule_moves_gradient += tl.load(rule_first + segment)
        glimpse = load_rows(glimpses, first_step, length + 1, 0, D, L, D)
        if HAS_EDGES:
            fraction = remaining.to(tl.float32) / tl.load(capacities + segment).to(tl.float32)
            glimpse = _add_edges(packed, capacity_weight, glimpse, start, length, fraction, D, L)
        if RULES:
            of_states = load_rows(rule_states, start, length + 1, D, 2 * D, L, D).to(tl.float32)
            glimpse = (glimpse.to(tl.float32) + of_states).to(glimpse.dtype)
        step = tl.arange(0, L)
        target = tl.where(step < length, step + 1, 0)
        normaliser = tl.load(normalisers + first_step + step, mask=step <= length, other=_HUGE)
        weight = tl.load(out_gradient + segment).to(tl.float32) * clip
        d_glimpse = tl.zeros((L, D), tl.float32)
        d_distance = 0.0
        for first in tl.range(0, loop_end(count), BLOCK):
            clipped, feasible, logit_key = _find_logits(
                packed, demands, positions, distance_weight, rule_logits, glimpse, start, first, count, length,
                remaining, IS_BIASED, HAS_EDGES, RULES, H, DK, PRECISION, L, BLOCK,
            )  # fmt: skip
            slot = first + tl.arange(0, BLOCK)
            chance = tl.exp(clip * clipped - normaliser[:, None])
            d_raw = tl.where(slot[None, :] == target[:, None], 1.0, 0.0) - chance
            d_raw = d_raw * weight * (1.0 - clipped * clipped)
            d_raw = tl.where(feasible & (step <= length)[:, None], d_raw, 0.0)
            if IS_BIASED:
                d_distance += tl.sum(tl.sum(d_raw * measure(positions, start, first, count, length, BLOCK, L), 1), 0)
            if RULES:
                store_pairs(rule_moves_gradient + H * rule_plane, d_raw, first, count, length, BLOCK, L)
            d_raw = d_raw.to(glimpse.dtype)
            d_logit_key = tl.dot(tl.trans(d_raw), glimpse, input_precision=PRECISION)
            store_rows(gradient, d_logit_key, start + first, 0, count - first, 2 * D, STRIDE, BLOCK, D)
            d_glimpse = tl.dot(d_raw, logit_key, d_glimpse, input_precision=PRECISION)
        store_rows(glimpse_gradient, d_glimpse, first_step, 0, length + 1, 0, D, L, D)
        if RULES:
            store_rows(rule_states_gradient, d_glimpse, start, 0, length + 1, D, 2 * D, L, D)
        if HAS_EDGES:
            store_rows(gradient, d_glimpse, start, 0, length + 1, 5 * D, STRIDE, L, D)
            d_capacity = tl.sum(d_glimpse * fraction[:, None], 0)
            tl.store(capacity_gradient + segment.to(tl.int64) * (2 * D) + D + tl.arange(0, D), d_capacity)
        if IS_BIASED:
            tl.store(distance_gradient + segment.to(tl.int64) * (H + 1) + H, d_distance)


@triton.jit
def _glimpse_backward_kernel(
    packed, offsets, lengths, route_lengths, capacities, demands, positions, capacity_weight, distance_weight,
    first_steps, queries, glimpses, levels, glimpse_gradient, gradient, query_gradient, distance_gradient,
    SHRINKS: tl.constexpr, IS_BIASED: tl.constexpr, HAS_EDGES: tl.constexpr, RULES: tl.constexpr, H: tl.constexpr,
    DK: tl.constexpr,
    PRECISION: tl.constexpr, L: tl.constexpr, BLOCK: tl.constexpr, LONGEST_TILE: tl.constexpr,
    rule_first=None, rule_remaining=None, rule_states=None, rule_moves=None, rule_plane=None, rule_states_gradient=None,
    rule_moves_gradient=None,
):  # fmt: skip
    """One program a route and head: the way back through its attention, whose weights are computed anew."""
    D: tl.constexpr = H * DK
    STRIDE: tl.constexpr = (6 if HAS_EDGES else 5) * D
    segment, head = tl.program_id(0), tl.program_id(1)
    count = tl.load(lengths + segment).to(tl.int32)
    length = tl.load(route_lengths + segment).to(tl.int32)
    if (count > LONGEST_TILE) & is_of_tile(length, L):
        start = tl.load(offsets + segment).to(tl.int64)
        first_step = tl.load(first_steps + segment)
        rule_logits = rule_moves
        remaining = find_remaining(demands, start, length, tl.load(capacities + segment), L)
        if RULES:
            remaining = tl.load(rule_remaining + start + tl.arange(0, L), mask=tl.arange(0, L) <= length, other=0)
            rule_moves += tl.load(rule_first + segment)
            rule_logits = rule_moves + H * rule_plane
            rule_moves_gradient += tl.load(rule_first + segment)
        query = load_rows(queries, first_step, length + 1, head * DK, D, L, DK)
        glimpse = load_rows(glimpses, first_step, length + 1, head * DK, D, L, DK)
        d_glimpse = load_rows(glimpse_gradient, first_step, length + 1, head * DK, D, L, DK)
        common = tl.sum(d_glimpse.to(tl.float32) * glimpse.to(tl.float32), 1)
        step = tl.arange(0, L)
        level = tl.load(levels + (first_step + step) * H + head, mask=step <= length, other=_HUGE)
        d_query = tl.zeros((L, DK), tl.float32)
        d_distance = 0.0
        for first in tl.range(0, loop_end(count), BLOCK):
            key = load_rows(packed, start + first, count - first, head * DK, STRIDE, BLOCK, DK)
            value = load_rows(packed, start + first, count - first, D + head * DK, STRIDE, BLOCK, DK)
            scores = tl.dot(query, tl.trans(key), input_precision=PRECISION)  # (L, BLOCK)
            if IS_BIASED:
                distance = measure(positions, start, first, count, length, BLOCK, L)
                scores += tl.load(distance_weight + head) * distance
            if RULES:
                scores += load_pairs(rule_moves + head * rule_plane, first, count, length, BLOCK, L)
            feasible = _find_feasible(demands, start, first, count, remaining, BLOCK, L)
            if RULES:
                feasible = feasible & (load_pairs(rule_logits, first, count, length, BLOCK, L) > -1.0e29)
            weights = tl.where(feasible, tl.exp2(scores * _LOG2_E - level[:, None]), 0.0)
            d_value = tl.dot(tl.trans(weights.to(value.dtype)), d_glimpse, input_precision=PRECISION)
            store_rows(gradient, d_value, start + first, 0, count - first, D + head * DK, STRIDE, BLOCK, DK)
            d_weights = tl.dot(d_glimpse, tl.trans(value), input_precision=PRECISION)
            d_scores = weights * (d_weights - common[:, None])
            if IS_BIASED:
                d_distance += tl.sum(tl.sum(d_scores * distance, 1), 0)
            if RULES:
                store_pairs(rule_moves_gradient + head * rule_plane, d_scores, first, count, length, BLOCK, L)
            d_scores = d_scores.to(value.dtype)
            d_key = tl.dot(tl.trans(d_scores), query, input_precision=PRECISION)
            store_rows(gradient, d_key, start + first, 0, count - first, head * DK, STRIDE, BLOCK, DK)
            d_query = tl.dot(d_scores, key, d_query, input_precision=PRECISION)
        store_rows(query_gradient, d_query, first_step, 0, length + 1, head * DK, D, L, DK)
        if IS_BIASED:
            tl.store(distance_gradient + segment.to(tl.int64) * (H + 1) + head, d_distance)


@triton.jit
def _query_backward_kernel(
    packed, offsets, lengths, route_lengths, capacities, demands, positions, capacity_weight, distance_weight,
    first_steps, query_gradient, gradient, capacity_gradient, SHRINKS: tl.constexpr, IS_BIASED: tl.constexpr,
    HAS_EDGES: tl.constexpr, RULES: tl.constexpr, H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr,
    L: tl.constexpr,
    BLOCK: tl.constexpr, LONGEST_TILE: tl.constexpr,
    rule_first=None, rule_remaining=None, rule_states=None, rule_moves=None, rule_plane=None, rule_states_gradient=None,
    rule_moves_gradient=None,
):  # fmt: skip
    """One program a route: a node gets dq_p / (nodes in the mean) of every step whose mean it is in.

    Those are all steps for the depot and for nodes of later routes; for slot j of the route the steps before j.
    """
    D: tl.constexpr = H * DK
    STRIDE: tl.constexpr = (6 if HAS_EDGES else 5) * D
    segment = tl.program_id(0)
    count = tl.load(lengths + segment).to(tl.int32)
    length = tl.load(route_lengths + segment).to(tl.int32)
    if (count > LONGEST_TILE) & is_of_tile(length, L):
        start = tl.load(offsets + segment).to(tl.int64)
        capacity = tl.load(capacities + segment)
        d_query = load_rows(query_gradient, tl.load(first_steps + segment), length + 1, 0, D, L, D).to(tl.float32)
        remaining = find_remaining(demands, start, length, capacity, L)
        if RULES:
            remaining = tl.load(rule_remaining + start + tl.arange(0, L), mask=tl.arange(0, L) <= length, other=0)
        fraction = remaining.to(tl.float32) / capacity.to(tl.float32)
        if RULES:
            store_rows(rule_states_gradient, d_query, start, 0, length + 1, 0, 2 * D, L, D)
        d_capacity = tl.sum(d_query * fraction[:, None], 0)
        capacity_gradient += segment.to(tl.int64) * ((2 if HAS_EDGES else 1) * D)
        tl.store(capacity_gradient + tl.arange(0, D), d_capacity)
        # only the route's own nodes were ever the last one; the others' rows are zero already
        store_rows(gradient, d_query, start, 0, length + 1, 4 * D, STRIDE, L, D)
        d_mean = d_query * _share_of_node(count, SHRINKS, L)[:, None]
        d_total = tl.sum(d_mean, 0)
        slot, step = tl.arange(0, L), tl.arange(0, L)
        is_in_mean = (step[None, :] < slot[:, None]) | (slot[:, None] == 0)
        if not SHRINKS:
            is_in_mean = is_in_mean | (step[None, :] >= 0)
        kind = packed.dtype.element_ty
        d_graph = tl.dot(is_in_mean.to(kind), d_mean.to(kind), input_precision=PRECISION)
        store_rows(gradient, d_graph, start, 0, length + 1, 3 * D, STRIDE, L, D)
        for first in tl.range(0, loop_end(count), BLOCK):
            beyond = tl.broadcast_to(d_total[None, :], (BLOCK, D))
            store_rows(gradient, beyond, start + first, length + 1 - first, count - first, 3 * D, STRIDE, BLOCK, D)


class StreamedSteps(NamedTuple):
    """What is kept of all steps for the way back.

    Attributes
    ----------
    first
        (P,) the first step of each route.
    queries, glimpses
        (S, d_h) each.
    levels
        (S, heads) float32 of the softmax, as in `dynaroute.kernels.attention`.
    normalisers
        (S,) float32 of the chances.
    """

    first: Tensor
    queries: Tensor
    glimpses: Tensor
    levels: Tensor
    normalisers: Tensor


def run_stream(
    packed: Tensor,
    given: tuple[Tensor, ...],
    shape: RouteShape,
    out: Tensor,
    steps: int,
    rules: RuleTerms | None = None,
) -> StreamedSteps:
    """Write the log-probabilities of all routes whose segments do not fit in a tile.

    Parameters
    ----------
    packed, given, shape, out, rules
        As in `dynaroute.kernels.route_tile.run_tiles`.
    steps
        Room to make for the steps of all routes, returns included.
    """
    _, lengths, route_lengths, *_ = given
    taken = torch.where(lengths > LONGEST_SEGMENT, route_lengths + 1, 0)  # (P,)
    dimension = shape.find_dimension(packed)
    kept = StreamedSteps(
        first=taken.cumsum(0) - taken,
        queries=packed.new_empty(steps, dimension),
        glimpses=packed.new_empty(steps, dimension),
        levels=packed.new_empty(steps, shape.heads, dtype=torch.float32),
        normalisers=packed.new_empty(steps, dtype=torch.float32),
    )
    grid, all_given = (len(out),), (packed, *given, kept.first)
    for each in _launches(packed, shape):
        settings = each | name_terms(rules)
        _query_kernel[grid](*all_given, kept.queries, **settings)
        _glimpse_kernel[(*grid, shape.heads)](*all_given, kept.queries, kept.glimpses, kept.levels, **settings)
        _chance_kernel[grid](*all_given, kept.glimpses, out, kept.normalisers, shape.clip, **settings)
    return kept


def run_stream_backward(
    packed: Tensor,
    given: tuple[Tensor, ...],
    shape: RouteShape,
    kept: StreamedSteps,
    out_gradient: Tensor,
    gradients: RouteGradients,
    rules: RuleTerms | None = None,
) -> None:
    """Write the gradients of the same, given those of `out`; the other parameters are as in `run_stream`."""
    of_packed, of_capacity, of_distance, *_ = gradients
    d_queries, d_glimpses = torch.empty_like(kept.queries), torch.empty_like(kept.glimpses)
    grid, all_given = (len(out_gradient),), (packed, *given, kept.first)
    for each in _launches(packed, shape):
        settings = each | name_terms(rules) | name_gradients(gradients)
        _chance_backward_kernel[grid](
            *all_given, kept.glimpses, kept.normalisers, out_gradient, of_packed, d_glimpses, of_capacity, of_distance,
            shape.clip, **settings,
        )  # fmt: skip
        _glimpse_backward_kernel[(*grid, shape.heads)](
            *all_given, kept.queries, kept.glimpses, kept.levels, d_glimpses, of_packed, d_queries, of_distance,
            **settings,
        )  # fmt: skip
        _query_backward_kernel[grid](*all_given, d_queries, of_packed, of_capacity, **settings)


def _launches(packed: Tensor, shape: RouteShape) -> Iterator[dict[str, Any]]:
    """A launch for each tile of steps."""
    stages = 1 if packed.dtype == torch.float32 else 2  # numbers twice as large fill the memory on chip
    for tile in shape.list_tiles():
        launch = {"num_warps": 4 if tile < 64 else 8, "num_stages": stages}
        yield shape.settings(packed) | {"L": tile, "BLOCK": _BLOCK, "LONGEST_TILE": LONGEST_SEGMENT} | launch
