"""Log-probabilities of whole routes, all steps at once (eqs 12 to 20 under teacher forcing).

A segment holds what is left before a route: slot 0 the depot, slots 1 to L the route's customers in the order of
their visits, then everything later routes visit. So at step p = 0..L the vehicle is at slot p, slots 1..p are
visited, and the choice is slot p + 1, or the depot when p = L.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from dynaroute.kernels import dot_precision
from dynaroute.kernels.arithmetic import find_feasible, grow, log_distance

__all__ = ["RouteLogProbability", "RouteShape", "Routes", "load_rows", "measure", "store_rows"]


@triton.jit
def load_rows(packed, start, limit, column, STRIDE: tl.constexpr, ROWS: tl.constexpr, DK: tl.constexpr):
    """(ROWS, DK) columns of a segment's rows; zeros from `limit` on."""
    row = tl.arange(0, ROWS)
    where = (start + row)[:, None] * STRIDE + column + tl.arange(0, DK)[None, :]
    return tl.load(packed + where, mask=(row < limit)[:, None], other=0.0)


@triton.jit
def store_rows(packed, tile, start, first, limit, column, STRIDE: tl.constexpr, ROWS: tl.constexpr, DK: tl.constexpr):
    """The other way round, from row `first` on."""
    row = tl.arange(0, ROWS)
    where = (start + row)[:, None] * STRIDE + column + tl.arange(0, DK)[None, :]
    tl.store(packed + where, tile.to(packed.dtype.element_ty), mask=((row >= first) & (row < limit))[:, None])


@triton.jit
def _describe_steps(
    demands, positions, start, count, length, capacity, SHRINKS: tl.constexpr, IS_BIASED: tl.constexpr,
    M: tl.constexpr, L: tl.constexpr,
):  # fmt: skip
    """All steps of a route.

    They are (L, M) feasible nodes, (L, M) nodes in the mean, (L,) their share, (L,) D_t / D, (L, M) log-distances.
    """
    step = tl.arange(0, L)
    slot = tl.arange(0, M)
    on_route = tl.load(demands + start + step, mask=(step > 0) & (step <= length), other=0)
    visited = tl.where(step[None, :] <= step[:, None], on_route[None, :], 0)
    remaining = capacity - tl.sum(visited, 1)
    demand = tl.load(demands + start + slot, mask=slot < count, other=0)
    is_token = (slot < count)[None, :]
    is_depot = slot[None, :] == 0
    is_open = (slot[None, :] > step[:, None]) & is_token
    feasible = find_feasible(is_open, demand[None, :], remaining[:, None], is_depot, step[:, None] > 0)
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
def measure(positions, start, first, count, length, BLOCK: tl.constexpr, L: tl.constexpr):
    """(L, BLOCK) log-distances from the steps of a route to the nodes of a block."""
    here = positions + (start + tl.arange(0, L)) * 2
    on_route = tl.arange(0, L) <= length
    slot = first + tl.arange(0, BLOCK)
    there = positions + (start + slot) * 2
    x = tl.load(here, mask=on_route, other=0.0)[:, None] - tl.load(there, mask=slot < count, other=0.0)[None, :]
    y = tl.load(here + 1, mask=on_route, other=0.0)[:, None] - tl.load(there + 1, mask=slot < count, other=0.0)[None, :]
    return log_distance(x, y, count)


@triton.jit
def _attend_head(
    packed, capacity_weight, distance_weight, start, count, length, head, feasible, in_mean, fraction, per_node,
    distance, GROWS: tl.constexpr, IS_BIASED: tl.constexpr, M: tl.constexpr, L: tl.constexpr, D: tl.constexpr,
    DK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Eqs 12 to 16 of one head: the tiles, the queries (L, DK), the weights (L, M), the glimpses (L, DK)."""
    column = head * DK
    key = load_rows(packed, start, count, column, 5 * D, M, DK)
    value = load_rows(packed, start, count, column + D, 5 * D, M, DK)
    logit_key = load_rows(packed, start, count, column + 2 * D, 5 * D, M, DK)
    graph = load_rows(packed, start, count, column + 3 * D, 5 * D, M, DK)
    last = load_rows(packed, start, length + 1, column + 4 * D, 5 * D, L, DK)
    total = tl.dot(in_mean.to(graph.dtype), graph, input_precision=PRECISION)
    of_capacity = tl.load(capacity_weight + column + tl.arange(0, DK)).to(tl.float32)
    query = total * per_node[:, None] + last.to(tl.float32) + of_capacity[None, :] * fraction[:, None]
    if GROWS:
        query = query * grow(count)
    query = query.to(key.dtype)
    scores = tl.dot(query, tl.trans(key), input_precision=PRECISION)
    if IS_BIASED:
        scores += tl.load(distance_weight + head) * distance
    scores = tl.where(feasible, scores, -1.0e30)
    weights = tl.exp(scores - tl.max(scores, 1)[:, None])
    weights = weights / tl.sum(weights, 1)[:, None]
    glimpse = tl.dot(weights.to(value.dtype), value, input_precision=PRECISION).to(value.dtype)
    return key, value, logit_key, query, weights, glimpse


@triton.jit
def _sum_logits(
    packed, capacity_weight, distance_weight, start, count, length, feasible, in_mean, fraction, per_node, distance,
    GROWS: tl.constexpr, IS_BIASED: tl.constexpr, M: tl.constexpr, L: tl.constexpr, H: tl.constexpr, DK: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """Eqs 17 and 18: logits before clipping, a sum over heads since W^O and W^Q are folded into the logit keys."""
    logits = tl.zeros([L, M], dtype=tl.float32)
    for head in range(H):
        _, _, logit_key, _, _, glimpse = _attend_head(
            packed, capacity_weight, distance_weight, start, count, length, head, feasible, in_mean, fraction,
            per_node, distance, GROWS, IS_BIASED, M, L, H * DK, DK, PRECISION,
        )  # fmt: skip
        logits += tl.dot(glimpse, tl.trans(logit_key), input_precision=PRECISION)
    if IS_BIASED:
        logits += tl.load(distance_weight + H) * distance
    return logits


@triton.jit
def _forward_tile(
    packed, demands, positions, capacity_weight, distance_weight, out, segment, start, count, length, capacity, clip,
    SHRINKS: tl.constexpr, GROWS: tl.constexpr, IS_BIASED: tl.constexpr, M: tl.constexpr, L: tl.constexpr,
    H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    step = tl.arange(0, L)
    feasible, in_mean, per_node, fraction, distance = _describe_steps(
        demands, positions, start, count, length, capacity, SHRINKS, IS_BIASED, M, L
    )
    raw = _sum_logits(
        packed, capacity_weight, distance_weight, start, count, length, feasible, in_mean, fraction, per_node, distance,
        GROWS, IS_BIASED, M, L, H, DK, PRECISION,
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
    distance_gradient, segment, start, count, length, capacity, clip, SHRINKS: tl.constexpr, GROWS: tl.constexpr,
    IS_BIASED: tl.constexpr, M: tl.constexpr, L: tl.constexpr, H: tl.constexpr, DK: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    step = tl.arange(0, L)
    slot = tl.arange(0, M)
    feasible, in_mean, per_node, fraction, distance = _describe_steps(
        demands, positions, start, count, length, capacity, SHRINKS, IS_BIASED, M, L
    )
    raw = _sum_logits(
        packed, capacity_weight, distance_weight, start, count, length, feasible, in_mean, fraction, per_node, distance,
        GROWS, IS_BIASED, M, L, H, DK, PRECISION,
    )  # fmt: skip
    clipped = 2.0 * tl.sigmoid(2.0 * raw) - 1.0
    logits = tl.where(feasible, clip * clipped, -1.0e30)
    chances = tl.exp(logits - tl.max(logits, 1)[:, None])
    chances = chances / tl.sum(chances, 1)[:, None]
    target = tl.where(step < length, step + 1, 0)
    d_logits = tl.where(slot[None, :] == target[:, None], 1.0, 0.0) - chances
    d_logits = d_logits * tl.load(out_gradient + segment).to(tl.float32) * clip * (1.0 - clipped * clipped)
    is_step = (step <= length)[:, None]
    d_raw = tl.where(feasible & is_step, d_logits, 0.0)
    if IS_BIASED:
        distance_gradient += segment.to(tl.int64) * (H + 1)
        tl.store(distance_gradient + H, tl.sum(tl.sum(d_raw * distance, 1), 0))
    d_raw = d_raw.to(packed.dtype.element_ty)
    for head in range(H):
        column = head * DK
        key, value, logit_key, query, weights, glimpse = _attend_head(
            packed, capacity_weight, distance_weight, start, count, length, head, feasible, in_mean, fraction,
            per_node, distance, GROWS, IS_BIASED, M, L, H * DK, DK, PRECISION,
        )  # fmt: skip
        d_logit_key = tl.dot(tl.trans(d_raw), glimpse, input_precision=PRECISION)
        store_rows(gradient, d_logit_key, start, 0, count, column + 2 * H * DK, 5 * H * DK, M, DK)
        d_glimpse = tl.dot(d_raw, logit_key, input_precision=PRECISION).to(value.dtype)
        d_value = tl.dot(tl.trans(weights.to(value.dtype)), d_glimpse, input_precision=PRECISION)
        store_rows(gradient, d_value, start, 0, count, column + H * DK, 5 * H * DK, M, DK)
        d_weights = tl.dot(d_glimpse, tl.trans(value), input_precision=PRECISION)
        d_scores = weights * (d_weights - tl.sum(d_weights * weights, 1)[:, None])
        if IS_BIASED:
            tl.store(distance_gradient + head, tl.sum(tl.sum(d_scores * distance, 1), 0))
        d_scores = d_scores.to(value.dtype)
        d_key = tl.dot(tl.trans(d_scores), query, input_precision=PRECISION)
        store_rows(gradient, d_key, start, 0, count, column, 5 * H * DK, M, DK)
        d_query = tl.dot(d_scores, key, input_precision=PRECISION)
        if GROWS:
            d_query = d_query * grow(count)
        d_total = (d_query * per_node[:, None]).to(value.dtype)
        d_graph = tl.dot(tl.trans(in_mean.to(value.dtype)), d_total, input_precision=PRECISION)
        store_rows(gradient, d_graph, start, 0, count, column + 3 * H * DK, 5 * H * DK, M, DK)
        # only the route's own nodes were ever the last one; the others' rows are zero already
        store_rows(gradient, d_query, start, 0, length + 1, column + 4 * H * DK, 5 * H * DK, L, DK)
        d_capacity = tl.sum(d_query * fraction[:, None], 0)
        tl.store(capacity_gradient + segment.to(tl.int64) * H * DK + column + tl.arange(0, DK), d_capacity)


@triton.jit
def _forward_kernel(
    packed, offsets, lengths, route_lengths, capacities, demands, positions, capacity_weight, distance_weight, out,
    clip, SHRINKS: tl.constexpr, GROWS: tl.constexpr, IS_BIASED: tl.constexpr, POWERS: tl.constexpr, L: tl.constexpr,
    H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One program a route: the sum over its steps of log p (eq 20), every step's mask known beforehand.

    q_p = mean of the graph's projections over nodes not visited before p (all nodes, if the mean does not shrink)
    + last's of slot p + w D_p / D;
    A = softmax(q k^T) over feasible nodes, g = A v, u = C tanh(g logit_key^T), log p = u_target - logsumexp u.
    If attention grows, so do the q; if it is biased, log-distances times a learned weight are added to the scores of
    each head, and to what tanh is taken of.
    Twin: `dynaroute.training.replay.route_log_probabilities`.
    """
    segment = tl.program_id(0)
    start = tl.load(offsets + segment).to(tl.int64)
    count = tl.load(lengths + segment).to(tl.int32)
    length = tl.load(route_lengths + segment).to(tl.int32)
    capacity = tl.load(capacities + segment)
    for power in tl.static_range(4, POWERS):  # the smallest tile of 16, 32, ... that holds the segment
        if (count > ((1 << power) // 2 if power > 4 else 0)) & (count <= (1 << power)):
            _forward_tile(
                packed, demands, positions, capacity_weight, distance_weight, out, segment, start, count, length,
                capacity, clip, SHRINKS, GROWS, IS_BIASED, 1 << power, L, H, DK, PRECISION,
            )  # fmt: skip


@triton.jit
def _backward_kernel(
    packed, offsets, lengths, route_lengths, capacities, demands, positions, capacity_weight, distance_weight,
    out_gradient, gradient, capacity_gradient, distance_gradient, clip,
    SHRINKS: tl.constexpr, GROWS: tl.constexpr, IS_BIASED: tl.constexpr, POWERS: tl.constexpr, L: tl.constexpr,
    H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One program a route. With G the gradient of its log-probability:

    du = G (one-hot - softmax u) C (1 - tanh^2), then back through the logits, the glimpses g and the weights A as in
    attention; the mean hands dq_p / (nodes in it) to each of its nodes. Weights are computed anew.
    """
    segment = tl.program_id(0)
    start = tl.load(offsets + segment).to(tl.int64)
    count = tl.load(lengths + segment).to(tl.int32)
    length = tl.load(route_lengths + segment).to(tl.int32)
    capacity = tl.load(capacities + segment)
    for power in tl.static_range(4, POWERS):  # the smallest tile of 16, 32, ... that holds the segment
        if (count > ((1 << power) // 2 if power > 4 else 0)) & (count <= (1 << power)):
            _backward_tile(
                packed, demands, positions, capacity_weight, distance_weight, out_gradient, gradient,
                capacity_gradient, distance_gradient, segment, start, count, length, capacity, clip,
                SHRINKS, GROWS, IS_BIASED, 1 << power, L, H, DK, PRECISION,
            )  # fmt: skip


class Routes(NamedTuple):
    """P routes and the segments that they leave.

    Attributes
    ----------
    offsets, lengths
        (P,) segments; a length of 0 is no route.
    route_lengths
        (P,) customers of each route.
    capacities
        (P,) int32.
    demands
        (T,) int32.
    positions
        (T, 2) float32 in the unit square, of use with a bias by distances alone; empty without.
    """

    offsets: Tensor
    lengths: Tensor
    route_lengths: Tensor
    capacities: Tensor
    demands: Tensor
    positions: Tensor


class RouteShape(NamedTuple):
    """What is the same for all routes.

    Attributes
    ----------
    longest, longest_route
        No segment, no route is longer.
    heads
        Number of heads.
    clip
        C.
    shrinks
        Whether visited nodes leave the graph's mean.
    grows
        Whether a segment's scores grow with the logarithm of its length.
    is_biased
        Whether distances are weighed.
    """

    longest: int
    longest_route: int
    heads: int
    clip: float
    shrinks: bool
    grows: bool
    is_biased: bool

    def settings(self, packed: Tensor) -> dict[str, Any]:
        """What kernels are compiled for."""
        return {
            "SHRINKS": self.shrinks,
            "GROWS": self.grows,
            "IS_BIASED": self.is_biased,
            "H": self.heads,
            "DK": packed.shape[1] // (5 * self.heads),
            "PRECISION": dot_precision(packed),
        }


class RouteLogProbability(torch.autograd.Function):
    """(P,) log-probabilities of P routes from packed (T, 5 d_h) projections; see the kernels for the mathematics."""

    @staticmethod
    def forward(
        ctx: Any, packed: Tensor, capacity_weight: Tensor, distance_weight: Tensor, routes: Routes, shape: RouteShape
    ) -> Tensor:
        """Eqs 12 to 20.

        Parameters
        ----------
        ctx
            PyTorch's.
        packed
            (T, 5 d_h) key, value, logit key, graph and last of every token.
        capacity_weight
            (d_h,) float32.
        distance_weight
            (heads + 1,) float32; empty without a bias.
        routes
            The routes; no segment may be longer than LONGEST_SEGMENT.
        shape
            The rest.
        """
        out = torch.zeros(len(routes.lengths), dtype=torch.float32, device=packed.device)
        settings = shape.settings(packed) | {
            "POWERS": max(16, triton.next_power_of_2(shape.longest)).bit_length(),
            "L": max(16, triton.next_power_of_2(shape.longest_route + 1)),
            "num_warps": 4,
        }
        given = (*routes, capacity_weight, distance_weight)
        _forward_kernel[(len(out),)](packed, *given, out, shape.clip, **settings)
        ctx.save_for_backward(packed, *given)
        ctx.clip, ctx.settings = shape.clip, settings
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Gradients of the projections, of the capacity's weight and of those of distances."""
        packed, *given = ctx.saved_tensors
        count, dimension, weights = len(given[0]), packed.shape[1] // 5, given[-1]
        gradient = torch.zeros_like(packed)
        of_capacity = torch.zeros(count, dimension, dtype=torch.float32, device=packed.device)
        of_distance = of_capacity.new_zeros(count, len(weights))
        _backward_kernel[(count,)](
            packed, *given, gradients[0].contiguous(), gradient, of_capacity, of_distance, ctx.clip, **ctx.settings
        )
        return gradient, of_capacity.sum(0), of_distance.sum(0), None, None
