"""Self-attention within the segments of one packed array (eqs 4 to 6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from dynaroute.kernels import LONGEST_SEGMENT, dot_precision
from dynaroute.kernels.arithmetic import loop_end

__all__ = ["SegmentAttention", "attention_backward", "attention_forward"]

_WARPS = ((4, 5, 1), (6, 6, 4), (7, 7, 8))  # tiles from 2^first to 2^last, and the warps of a program
_QUERIES, _KEYS, _STREAM_WARPS = 128, 64, 8  # rows of the tiles of streamed segments, and the warps of a program


@triton.jit
def _load_head(packed, start, count, column, STRIDE: tl.constexpr, M: tl.constexpr, DK: tl.constexpr):
    """Load an (M, DK) tile of a segment's rows; zeros past its end."""
    row = tl.arange(0, M)
    where = (start + row)[:, None] * STRIDE + column + tl.arange(0, DK)[None, :]
    return tl.load(packed + where, mask=(row < count)[:, None], other=0.0)


@triton.jit
def _store_head(packed, tile, start, count, column, STRIDE: tl.constexpr, M: tl.constexpr, DK: tl.constexpr):
    row = tl.arange(0, M)
    where = (start + row)[:, None] * STRIDE + column + tl.arange(0, DK)[None, :]
    tl.store(packed + where, tile.to(packed.dtype.element_ty), mask=(row < count)[:, None])


@triton.jit
def _softmax_scores(query, key, count, scale, M: tl.constexpr, PRECISION: tl.constexpr):
    """Eqs 4 and 5: softmax over the segment's own tokens, (M, M) float32."""
    scores = tl.dot(query, tl.trans(key), input_precision=PRECISION) * scale
    scores = tl.where((tl.arange(0, M) < count)[None, :], scores, -1.0e30)
    weights = tl.exp(scores - tl.max(scores, 1)[:, None])
    return weights / tl.sum(weights, 1)[:, None]


@triton.jit
def _forward_tile(
    packed, out, start, count, head, scale, M: tl.constexpr, H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr
):
    query = _load_head(packed, start, count, head * DK, 3 * H * DK, M, DK)
    key = _load_head(packed, start, count, (H + head) * DK, 3 * H * DK, M, DK)
    value = _load_head(packed, start, count, (2 * H + head) * DK, 3 * H * DK, M, DK)
    weights = _softmax_scores(query, key, count, scale, M, PRECISION)
    _store_head(
        out,
        tl.dot(weights.to(value.dtype), value, input_precision=PRECISION),
        start,
        count,
        head * DK,
        H * DK,
        M,
        DK,
    )


@triton.jit
def _forward_kernel(
    packed, offsets, lengths, out, scale, H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr,
    FIRST: tl.constexpr, LAST: tl.constexpr,
):  # fmt: skip
    """One program a segment and head: O = softmax(scale Q K^T) V, all of it one tile on chip.

    Twin: `dynaroute.model.encoder.attend`.
    """
    segment = tl.program_id(0)
    head = tl.program_id(1)
    start = tl.load(offsets + segment).to(tl.int64)
    count = tl.load(lengths + segment).to(tl.int32)
    for power in tl.static_range(FIRST, LAST + 1):  # the smallest tile of 16, 32, ... that holds the segment
        if (count > ((1 << power) // 2 if power > 4 else 0)) & (count <= (1 << power)):
            _forward_tile(packed, out, start, count, head, scale, 1 << power, H, DK, PRECISION)


@triton.jit
def _streamed_kernel(
    packed, offsets, lengths, out, scale, H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr,
    QUERIES: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """One program a segment, head and block of queries, which keys and values pass by in blocks.

    With m the largest score so far, and z and o the sums of e^(s - m) and e^(s - m) v over the keys seen so far, a
    block with a larger score m' has z and o multiplied by e^(m - m') first; in the end O = o / z.

    Twin: `dynaroute.model.encoder.attend`.
    """
    segment = tl.program_id(0)
    head = tl.program_id(1)
    first = tl.program_id(2) * QUERIES
    start = tl.load(offsets + segment).to(tl.int64)
    count = tl.load(lengths + segment).to(tl.int32)
    if first < count:
        query = _load_head(packed, start + first, count - first, head * DK, 3 * H * DK, QUERIES, DK)
        highest = tl.full((QUERIES,), -1.0e30, tl.float32)
        weight_sum = tl.zeros((QUERIES,), tl.float32)
        total = tl.zeros((QUERIES, DK), tl.float32)
        for block in tl.range(0, loop_end(count), KEYS):
            key = _load_head(packed, start + block, count - block, (H + head) * DK, 3 * H * DK, KEYS, DK)
            value = _load_head(packed, start + block, count - block, (2 * H + head) * DK, 3 * H * DK, KEYS, DK)
            scores = tl.dot(query, tl.trans(key), input_precision=PRECISION) * scale
            scores = tl.where((block + tl.arange(0, KEYS) < count)[None, :], scores, -1.0e30)
            higher = tl.maximum(highest, tl.max(scores, 1))
            weights = tl.exp(scores - higher[:, None])
            fading = tl.exp(highest - higher)
            weight_sum = weight_sum * fading + tl.sum(weights, 1)
            total = tl.dot(weights.to(value.dtype), value, total * fading[:, None], input_precision=PRECISION)
            highest = higher
        total = total / weight_sum[:, None]
        _store_head(out, total, start + first, count - first, head * DK, H * DK, QUERIES, DK)


@triton.jit
def _backward_tile(
    packed, out_gradient, gradient, start, count, head, scale, M: tl.constexpr, H: tl.constexpr, DK: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    query = _load_head(packed, start, count, head * DK, 3 * H * DK, M, DK)
    key = _load_head(packed, start, count, (H + head) * DK, 3 * H * DK, M, DK)
    value = _load_head(packed, start, count, (2 * H + head) * DK, 3 * H * DK, M, DK)
    d_out = _load_head(out_gradient, start, count, head * DK, H * DK, M, DK)
    weights = _softmax_scores(query, key, count, scale, M, PRECISION)
    d_value = tl.dot(tl.trans(weights.to(value.dtype)), d_out, input_precision=PRECISION)
    _store_head(gradient, d_value, start, count, (2 * H + head) * DK, 3 * H * DK, M, DK)
    d_weights = tl.dot(d_out, tl.trans(value), input_precision=PRECISION)
    d_scores = weights * (d_weights - tl.sum(d_weights * weights, 1)[:, None]) * scale
    d_scores = d_scores.to(value.dtype)
    d_query = tl.dot(d_scores, key, input_precision=PRECISION)
    _store_head(gradient, d_query, start, count, head * DK, 3 * H * DK, M, DK)
    d_key = tl.dot(tl.trans(d_scores), query, input_precision=PRECISION)
    _store_head(gradient, d_key, start, count, (H + head) * DK, 3 * H * DK, M, DK)


@triton.jit
def _backward_kernel(
    packed, offsets, lengths, out_gradient, gradient, scale, H: tl.constexpr, DK: tl.constexpr,
    PRECISION: tl.constexpr, FIRST: tl.constexpr, LAST: tl.constexpr,
):  # fmt: skip
    """One program a segment and head; the weights A are computed anew, being cheaper than their memory.

    dV = A^T dO;  dA = dO V^T;  dS = scale A * (dA - rowsum(dA * A));  dQ = dS K;  dK = dS^T Q.
    """
    segment = tl.program_id(0)
    head = tl.program_id(1)
    start = tl.load(offsets + segment).to(tl.int64)
    count = tl.load(lengths + segment).to(tl.int32)
    for power in tl.static_range(FIRST, LAST + 1):  # the smallest tile of 16, 32, ... that holds the segment
        if (count > ((1 << power) // 2 if power > 4 else 0)) & (count <= (1 << power)):
            _backward_tile(packed, out_gradient, gradient, start, count, head, scale, 1 << power, H, DK, PRECISION)


def attention_forward(
    packed: Tensor, offsets: Tensor, lengths: Tensor, longest: int, heads: int, scale: float
) -> Tensor:
    """Attend within segments.

    Parameters
    ----------
    packed
        (T, 3 d_h) queries, keys and values, each head after head; contiguous.
    offsets, lengths
        (P,) first token and number of tokens of each segment.
    longest
        No segment is longer.
    heads
        Number of heads.
    scale
        Factor on the scores.

    Returns
    -------
    Tensor
        (T, d_h); rows in no segment are 0.
    """
    out = packed.new_zeros(len(packed), packed.shape[1] // 3)
    if longest > LONGEST_SEGMENT:
        grid = (len(lengths), heads, triton.cdiv(longest, _QUERIES))
        shape = {"H": heads, "DK": packed.shape[1] // (3 * heads), "QUERIES": _QUERIES, "KEYS": _KEYS}
        precision = dot_precision(packed)
        _streamed_kernel[grid](
            packed, offsets, lengths, out, scale, **shape, PRECISION=precision, num_warps=_STREAM_WARPS
        )
        return out
    for settings in _launches(packed, longest, heads):
        _forward_kernel[(len(lengths), heads)](packed, offsets, lengths, out, scale, **settings)
    return out


def attention_backward(
    packed: Tensor, out_gradient: Tensor, offsets: Tensor, lengths: Tensor, longest: int, heads: int, scale: float
) -> Tensor:
    """Gradient of `packed`, given that of `attention_forward`'s result; parameters as there.

    No segment may be longer than LONGEST_SEGMENT.
    """
    gradient = torch.zeros_like(packed)
    for settings in _launches(packed, longest, heads):
        _backward_kernel[(len(lengths), heads)](packed, offsets, lengths, out_gradient, gradient, scale, **settings)
    return gradient


class SegmentAttention(torch.autograd.Function):
    """`attention_forward`, differentiable."""

    @staticmethod
    def forward(
        ctx: Any, packed: Tensor, offsets: Tensor, lengths: Tensor, longest: int, heads: int, scale: float
    ) -> Tensor:
        """Eqs 4 to 6."""
        ctx.save_for_backward(packed, offsets, lengths)
        ctx.settings = (longest, heads, scale)
        return attention_forward(packed, offsets, lengths, longest, heads, scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Gradient of the packed queries, keys and values."""
        packed, offsets, lengths = ctx.saved_tensors
        gradient = attention_backward(packed, gradients[0].contiguous(), offsets, lengths, *ctx.settings)
        return gradient, None, None, None, None, None


def _launches(packed: Tensor, longest: int, heads: int) -> Iterator[dict[str, Any]]:
    """A launch for each range of tiles, 16 to 2^LAST, with as many warps as its scores need registers of."""
    largest = max(16, triton.next_power_of_2(longest)).bit_length() - 1
    for first, last, warps in _WARPS:
        if first <= largest:
            yield {
                "H": heads,
                "DK": packed.shape[1] // (3 * heads),
                "PRECISION": dot_precision(packed),
                "FIRST": first,
                "LAST": min(last, largest),
                "num_warps": warps,
            }
