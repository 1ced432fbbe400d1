"""Self-attention in segments that fit in a tile (eqs 4 to 6), and its gradient."""

from __future__ import annotations

import triton
import triton.language as tl

from dynaroute.kernels.attention_parts import HUGE, LOG2_E, find_place, load_head, store_head


@triton.jit
def _weigh(query, key, count, scale, M: tl.constexpr, PRECISION: tl.constexpr):
    """Eqs 4 and 5, the segment's own tokens: (M, M) weights before their division, and the (M,) factors that do it.

    A division for each weight would take as long as its exponential.
    """
    scores = tl.dot(query, tl.trans(key), input_precision=PRECISION) * (scale * LOG2_E)
    scores = tl.where((tl.arange(0, M) < count)[None, :], scores, -HUGE)
    weights = tl.exp2(scores - tl.max(scores, 1)[:, None])
    return weights, 1.0 / tl.sum(weights, 1)


@triton.jit
def _forward_tile(
    packed, out, start, count, head, scale, M: tl.constexpr, H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr
):
    query = load_head(packed, start, count, head * DK, 3 * H * DK, M, DK)
    key = load_head(packed, start, count, (H + head) * DK, 3 * H * DK, M, DK)
    value = load_head(packed, start, count, (2 * H + head) * DK, 3 * H * DK, M, DK)
    weights, per_row = _weigh(query, key, count, scale, M, PRECISION)
    total = tl.dot(weights.to(value.dtype), value, input_precision=PRECISION)
    store_head(out, total * per_row[:, None], start, count, head * DK, H * DK, M, DK)


@triton.jit
def forward_kernel(
    packed, offsets, lengths, out, scale, H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr,
    FIRST: tl.constexpr, LAST: tl.constexpr,
):  # fmt: skip
    """One program a segment and head: O = softmax(scale Q K^T) V, all of it one tile on chip.

    Twin: `dynaroute.model.encoder.attend`.
    """
    segment, head, _ = find_place(1, H)
    start = tl.load(offsets + segment).to(tl.int64)
    count = tl.load(lengths + segment).to(tl.int32)
    for power in tl.static_range(FIRST, LAST + 1):  # the smallest tile of 16, 32, ... that holds the segment
        if (count > ((1 << power) // 2 if power > 4 else 0)) & (count <= (1 << power)):
            _forward_tile(packed, out, start, count, head, scale, 1 << power, H, DK, PRECISION)


@triton.jit
def _backward_tile(
    packed, out_gradient, gradient, start, count, head, scale, M: tl.constexpr, H: tl.constexpr, DK: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    query = load_head(packed, start, count, head * DK, 3 * H * DK, M, DK)
    key = load_head(packed, start, count, (H + head) * DK, 3 * H * DK, M, DK)
    value = load_head(packed, start, count, (2 * H + head) * DK, 3 * H * DK, M, DK)
    d_out = load_head(out_gradient, start, count, head * DK, H * DK, M, DK)
    weights, per_row = _weigh(query, key, count, scale, M, PRECISION)
    weights = weights * per_row[:, None]
    d_value = tl.dot(tl.trans(weights.to(value.dtype)), d_out, input_precision=PRECISION)
    store_head(gradient, d_value, start, count, (2 * H + head) * DK, 3 * H * DK, M, DK)
    d_weights = tl.dot(d_out, tl.trans(value), input_precision=PRECISION)
    d_scores = weights * (d_weights - tl.sum(d_weights * weights, 1)[:, None]) * scale
    d_scores = d_scores.to(value.dtype)
    d_query = tl.dot(d_scores, key, input_precision=PRECISION)
    store_head(gradient, d_query, start, count, head * DK, 3 * H * DK, M, DK)
    d_key = tl.dot(tl.trans(d_scores), query, input_precision=PRECISION)
    store_head(gradient, d_key, start, count, (H + head) * DK, 3 * H * DK, M, DK)


@triton.jit
def backward_kernel(
    packed, offsets, lengths, out_gradient, gradient, scale, H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr,
    FIRST: tl.constexpr, LAST: tl.constexpr,
):  # fmt: skip
    """One program a segment and head; the weights A are computed anew, being cheaper than their memory.

    dV = A^T dO;  dA = dO V^T;  dS = scale A * (dA - rowsum(dA * A));  dQ = dS K;  dK = dS^T Q.
    """
    segment, head, _ = find_place(1, H)
    start = tl.load(offsets + segment).to(tl.int64)
    count = tl.load(lengths + segment).to(tl.int32)
    for power in tl.static_range(FIRST, LAST + 1):  # the smallest tile of 16, 32, ... that holds the segment
        if (count > ((1 << power) // 2 if power > 4 else 0)) & (count <= (1 << power)):
            _backward_tile(packed, out_gradient, gradient, start, count, head, scale, 1 << power, H, DK, PRECISION)
