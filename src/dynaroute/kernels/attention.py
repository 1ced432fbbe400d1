"""Self-attention within the segments of one packed array (eqs 4 to 6).

Segments of up to LONGEST_SEGMENT tokens are one tile each; through longer ones keys pass by in blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from dynaroute.kernels import LONGEST_SEGMENT, dot_precision
from dynaroute.kernels.arithmetic import grow, loop_end

__all__ = ["Attended", "AttentionShape", "SegmentAttention", "Stream", "attention_backward", "attention_forward"]

# tiles from 2^first to 2^last, and the warps of a program
_WARPS = ((4, 5, 1), (6, 6, 4), (7, 7, 8))
_WARPS_BACK = ((4, 5, 1), (6, 6, 4), (7, 7, 4))
_LOG2_E = tl.constexpr(1.4426950408889634)  # powers of 2 are what a GPU has an instruction for
_HUGE = tl.constexpr(1.0e30)
_FEW_TOKENS = 1 << 17  # which a GPU attends to in less time than a launch takes
_LARGEST_HALF = tl.constexpr(65504.0)  # of float16
_SUMS = tl.constexpr(8)  # columns of the smallest product
_SAMPLE = tl.constexpr(64)  # keys from which the largest score is guessed


@triton.jit
def _find_place(blocks, H: tl.constexpr):
    """The segment, head and block of a program: neighbours read the same rows, which the cache then holds for them."""
    program = tl.program_id(0)
    return program // (H * blocks), program % H, program // H % blocks


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
def _find_factor(count, scale, GROWS: tl.constexpr):
    """The factor on a segment's scores. Twin: `dynaroute.model.encoder.grow`."""
    if GROWS:
        scale = scale * grow(count)
    return scale


@triton.jit
def _weigh(query, key, count, scale, M: tl.constexpr, PRECISION: tl.constexpr):
    """Eqs 4 and 5, the segment's own tokens: (M, M) weights before their division, and the (M,) factors that do it.

    A division for each weight would take as long as its exponential.
    """
    scores = tl.dot(query, tl.trans(key), input_precision=PRECISION) * (scale * _LOG2_E)
    scores = tl.where((tl.arange(0, M) < count)[None, :], scores, -_HUGE)
    weights = tl.exp2(scores - tl.max(scores, 1)[:, None])
    return weights, 1.0 / tl.sum(weights, 1)


@triton.jit
def _forward_tile(
    packed, out, start, count, head, scale, M: tl.constexpr, H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr
):
    query = _load_head(packed, start, count, head * DK, 3 * H * DK, M, DK)
    key = _load_head(packed, start, count, (H + head) * DK, 3 * H * DK, M, DK)
    value = _load_head(packed, start, count, (2 * H + head) * DK, 3 * H * DK, M, DK)
    weights, per_row = _weigh(query, key, count, scale, M, PRECISION)
    total = tl.dot(weights.to(value.dtype), value, input_precision=PRECISION)
    _store_head(out, total * per_row[:, None], start, count, head * DK, H * DK, M, DK)


@triton.jit
def _forward_kernel(
    packed, offsets, lengths, out, scale, GROWS: tl.constexpr, H: tl.constexpr, DK: tl.constexpr,
    PRECISION: tl.constexpr, FIRST: tl.constexpr, LAST: tl.constexpr,
):  # fmt: skip
    """One program a segment and head: O = softmax(scale Q K^T) V, all of it one tile on chip.

    Twin: `dynaroute.model.encoder.attend`.
    """
    segment, head, _ = _find_place(1, H)
    start = tl.load(offsets + segment).to(tl.int64)
    count = tl.load(lengths + segment).to(tl.int32)
    scale = _find_factor(count, scale, GROWS)
    for power in tl.static_range(FIRST, LAST + 1):  # the smallest tile of 16, 32, ... that holds the segment
        if (count > ((1 << power) // 2 if power > 4 else 0)) & (count <= (1 << power)):
            _forward_tile(packed, out, start, count, head, scale, 1 << power, H, DK, PRECISION)


@triton.jit
def _scale(query, factor):
    """Queries times a factor, in their own precision; both ways do so, and round alike."""
    return (query.to(tl.float32) * factor).to(query.dtype)


@triton.jit
def _score(
    packed, query, floor, start, block, count, head, IS_LAST: tl.constexpr, H: tl.constexpr, DK: tl.constexpr,
    PRECISION: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """(QUERIES, KEYS) scores of a block of keys, on top of a number of each query: the products begin with it.

    Only the last block may have rows past the segment's end.
    """
    key = _load_head(packed, start + block, count - block, (H + head) * DK, 3 * H * DK, KEYS, DK)
    floor = tl.broadcast_to(floor[:, None], (query.shape[0], KEYS))
    scores = tl.dot(query, tl.trans(key), floor, input_precision=PRECISION)
    if IS_LAST:
        scores = tl.where((block + tl.arange(0, KEYS) < count)[None, :], scores, -_HUGE)
    return scores


@triton.jit
def _find_highest(
    packed, query, start, count, head, H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr, KEYS: tl.constexpr
):
    """(QUERIES,) the largest score of each query."""
    highest = tl.full((query.shape[0],), -_HUGE, tl.float32)
    nothing = tl.zeros((query.shape[0],), tl.float32)
    for block in tl.range(0, loop_end(count), KEYS):
        scores = _score(packed, query, nothing, start, block, count, head, True, H, DK, PRECISION, KEYS)
        highest = tl.maximum(highest, tl.max(scores, 1))
    return highest


@triton.jit
def _guess_highest(packed, query, start, count, head, H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr):
    """(QUERIES,) the largest score of each query among some keys from all over the segment."""
    row = tl.arange(0, _SAMPLE) * count // _SAMPLE
    where = (start + row)[:, None] * (3 * H * DK) + (H + head) * DK + tl.arange(0, DK)[None, :]
    return tl.max(tl.dot(query, tl.trans(tl.load(packed + where)), input_precision=PRECISION), 1)


@triton.jit
def _meet_keys(
    packed, query, level, weight_sum, total, start, block, count, head, IS_LAST: tl.constexpr, H: tl.constexpr,
    DK: tl.constexpr, PRECISION: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """Let one block of keys and values pass by the queries."""
    scores = _score(packed, query, -level, start, block, count, head, IS_LAST, H, DK, PRECISION, KEYS)
    value = _load_head(packed, start + block, count - block, (2 * H + head) * DK, 3 * H * DK, KEYS, DK)
    weights = tl.exp2(scores).to(value.dtype)
    total = tl.dot(weights, value, total, input_precision=PRECISION)
    ones = tl.full((KEYS, _SUMS), 1.0, value.dtype)
    weight_sum = tl.dot(weights, ones, weight_sum, input_precision=PRECISION)
    return weight_sum, total


@triton.jit
def _meet_all_keys(
    packed, query, level, start, count, head, H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr,
    KEYS: tl.constexpr,
):  # fmt: skip
    """(QUERIES,) and (QUERIES, DK): the sums of 2^(s - level) and 2^(s - level) v over the segment's keys."""
    weight_sum = tl.zeros((query.shape[0], _SUMS), tl.float32)  # all columns alike
    total = tl.zeros((query.shape[0], DK), tl.float32)
    whole = (count // KEYS) * KEYS
    for block in tl.range(0, loop_end(whole), KEYS):
        weight_sum, total = _meet_keys(
            packed, query, level, weight_sum, total, start, block, count, head, False, H, DK, PRECISION, KEYS
        )
    if whole < count:
        weight_sum, total = _meet_keys(
            packed, query, level, weight_sum, total, start, whole, count, head, True, H, DK, PRECISION, KEYS
        )
    return tl.max(weight_sum, 1), total


@triton.jit(do_not_specialize=["blocks"])
def _streamed_kernel(
    packed, offsets, lengths, out, statistics, scale, blocks, GROWS: tl.constexpr, H: tl.constexpr, DK: tl.constexpr,
    PRECISION: tl.constexpr, LONGEST_TILE: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """One program a segment, head and block of queries, which keys and values pass by in blocks.

    With s the scores times log2(e), and z and o the sums of 2^(s - m) and 2^(s - m) v over all keys, O = o / z for
    any m, as long as no 2^(s - m) is too large for float16 and not all of them are too small. The largest score
    among a sample of the keys is such an m, but for one block of queries in a hundred, whose z tells: those begin
    again with the largest score of all. (To keep m the largest score so far, as one might, takes half as many
    instructions again as the sums themselves.) The way back gets m + log2(z), with which the weights are
    2^(s - m - log2(z)).

    Twin: `dynaroute.model.encoder.attend`.
    """
    segment, head, block = _find_place(blocks, H)
    first = block * QUERIES
    count = tl.load(lengths + segment).to(tl.int32)
    if (count > LONGEST_TILE) & (first < count):
        start = tl.load(offsets + segment).to(tl.int64)
        query = _load_head(packed, start + first, count - first, head * DK, 3 * H * DK, QUERIES, DK)
        query = _scale(query, _find_factor(count, scale, GROWS) * _LOG2_E)
        level = _guess_highest(packed, query, start, count, head, H, DK, PRECISION)
        weight_sum, total = _meet_all_keys(packed, query, level, start, count, head, H, DK, PRECISION, KEYS)
        if tl.max(weight_sum, 0) > _LARGEST_HALF:
            level = _find_highest(packed, query, start, count, head, H, DK, PRECISION, KEYS)
            weight_sum, total = _meet_all_keys(packed, query, level, start, count, head, H, DK, PRECISION, KEYS)
        total = total * (1.0 / weight_sum)[:, None]
        _store_head(out, total, start + first, count - first, head * DK, H * DK, QUERIES, DK)
        row = first + tl.arange(0, QUERIES)
        tl.store(statistics + (start + row) * H + head, level + tl.log2(weight_sum), mask=row < count)


@triton.jit
def _load_statistics(statistics, start, count, head, H: tl.constexpr, ROWS: tl.constexpr):
    """(ROWS,) of `_streamed_kernel`; past the segment's end such that weights are 0."""
    row = tl.arange(0, ROWS)
    return tl.load(statistics + (start + row) * H + head, mask=row < count, other=_HUGE)


@triton.jit
def _streamed_backward_kernel(
    packed, offsets, lengths, out, out_gradient, statistics, query_sums, gradient, scale, GROWS: tl.constexpr,
    H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr, LONGEST_TILE: tl.constexpr, QUERIES: tl.constexpr,
    KEYS: tl.constexpr,
):  # fmt: skip
    """One program a segment and head: all queries pass by each block of keys and values, in blocks.

    The mathematics is that of `_backward_kernel`, with rowsum(dA * A) = rowsum(dO * O). dK and dV of a block stay in
    registers. dQ is a sum over blocks of keys, which waits in `query_sums`, in float32; the last of them writes it.
    Queries past the segment's end weigh nothing, and neither do keys.
    """
    segment, head, _ = _find_place(1, H)
    count = tl.load(lengths + segment).to(tl.int32)
    if count > LONGEST_TILE:
        start = tl.load(offsets + segment).to(tl.int64)
        scale = _find_factor(count, scale, GROWS)
        for own in tl.range(0, loop_end(count), KEYS):
            key = _load_head(packed, start + own, count - own, (H + head) * DK, 3 * H * DK, KEYS, DK)
            value = _load_head(packed, start + own, count - own, (2 * H + head) * DK, 3 * H * DK, KEYS, DK)
            beyond = tl.where(own + tl.arange(0, KEYS) < count, 0.0, -_HUGE)
            d_key = tl.zeros((KEYS, DK), tl.float32)
            d_value = tl.zeros((KEYS, DK), tl.float32)
            for block in tl.range(0, loop_end(count), QUERIES):
                first, rows = start + block, count - block
                query = _load_head(packed, first, rows, head * DK, 3 * H * DK, QUERIES, DK)
                query = _scale(query, scale * _LOG2_E)
                attended = _load_head(out, first, rows, head * DK, H * DK, QUERIES, DK)
                d_out = _load_head(out_gradient, first, rows, head * DK, H * DK, QUERIES, DK)
                level = _load_statistics(statistics, first, rows, head, H, QUERIES)
                common = tl.sum(d_out.to(tl.float32) * attended.to(tl.float32), 1)  # rowsum(dO * O)
                # the products begin with what is subtracted from them
                floor = beyond[:, None] - level[None, :]  # (KEYS, QUERIES)
                weights = tl.exp2(tl.dot(key, tl.trans(query), floor, input_precision=PRECISION))
                d_value = tl.dot(weights.to(value.dtype), d_out, d_value, input_precision=PRECISION)
                floor = tl.broadcast_to(-common[None, :], (KEYS, QUERIES))
                d_weights = tl.dot(value, tl.trans(d_out), floor, input_precision=PRECISION)
                d_scores = (weights * d_weights).to(key.dtype)
                d_key = tl.dot(d_scores, query, d_key, input_precision=PRECISION)
                d_query = tl.dot(tl.trans(d_scores), key, input_precision=PRECISION)

                row = tl.arange(0, QUERIES)
                where = (first + row)[:, None] * (H * DK) + head * DK + tl.arange(0, DK)[None, :]
                is_row = (row < rows)[:, None]
                is_last = own + KEYS >= count
                d_query += tl.load(query_sums + where, mask=is_row & (own > 0), other=0.0)
                tl.store(query_sums + where, d_query, mask=is_row & (not is_last))
                rows = tl.where(is_last, rows, 0)
                _store_head(gradient, d_query * scale, first, rows, head * DK, 3 * H * DK, QUERIES, DK)
            rows = count - own
            _store_head(gradient, d_key / _LOG2_E, start + own, rows, (H + head) * DK, 3 * H * DK, KEYS, DK)
            _store_head(gradient, d_value, start + own, rows, (2 * H + head) * DK, 3 * H * DK, KEYS, DK)


@triton.jit
def _backward_tile(
    packed, out_gradient, gradient, start, count, head, scale, M: tl.constexpr, H: tl.constexpr, DK: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    query = _load_head(packed, start, count, head * DK, 3 * H * DK, M, DK)
    key = _load_head(packed, start, count, (H + head) * DK, 3 * H * DK, M, DK)
    value = _load_head(packed, start, count, (2 * H + head) * DK, 3 * H * DK, M, DK)
    d_out = _load_head(out_gradient, start, count, head * DK, H * DK, M, DK)
    weights, per_row = _weigh(query, key, count, scale, M, PRECISION)
    weights = weights * per_row[:, None]
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
    packed, offsets, lengths, out_gradient, gradient, scale, GROWS: tl.constexpr, H: tl.constexpr, DK: tl.constexpr,
    PRECISION: tl.constexpr, FIRST: tl.constexpr, LAST: tl.constexpr,
):  # fmt: skip
    """One program a segment and head; the weights A are computed anew, being cheaper than their memory.

    dV = A^T dO;  dA = dO V^T;  dS = scale A * (dA - rowsum(dA * A));  dQ = dS K;  dK = dS^T Q.
    """
    segment, head, _ = _find_place(1, H)
    start = tl.load(offsets + segment).to(tl.int64)
    count = tl.load(lengths + segment).to(tl.int32)
    scale = _find_factor(count, scale, GROWS)
    for power in tl.static_range(FIRST, LAST + 1):  # the smallest tile of 16, 32, ... that holds the segment
        if (count > ((1 << power) // 2 if power > 4 else 0)) & (count <= (1 << power)):
            _backward_tile(packed, out_gradient, gradient, start, count, head, scale, 1 << power, H, DK, PRECISION)


class Attended(NamedTuple):
    """What attention gives.

    Attributes
    ----------
    out
        (T, d_h); rows in no segment are 0.
    statistics
        (T, heads) float32 of tokens in segments longer than a tile, which the way back needs; empty without any.
    """

    out: Tensor
    statistics: Tensor


class AttentionShape(NamedTuple):
    """What is the same for all segments.

    Attributes
    ----------
    longest
        No segment is longer.
    heads
        Number of heads.
    scale
        Factor on the scores.
    grows
        Whether a segment's scores grow with the logarithm of its length.
    """

    longest: int
    heads: int
    scale: float
    grows: bool = False


class Stream(NamedTuple):
    """How kernels for long segments are laid out on the machine; found by measurement (benchmarks/launches.py).

    Attributes
    ----------
    queries, keys
        Rows of the tiles.
    warps, stages
        Of a program, and of its pipeline.
    registers
        At most so many for a thread; None leaves it to the compiler.
    """

    queries: int
    keys: int
    warps: int
    stages: int
    registers: int | None = None


_STREAM_FORWARD = Stream(queries=128, keys=32, warps=2, stages=3, registers=128)
_STREAM_EXACT = _STREAM_FORWARD._replace(registers=None)  # of float32
_STREAM_BACKWARD = Stream(queries=64, keys=64, warps=4, stages=1)


def attention_forward(
    packed: Tensor, offsets: Tensor, lengths: Tensor, shape: AttentionShape, out: Tensor | None = None
) -> Attended:
    """Attend within segments.

    Parameters
    ----------
    packed
        (T, 3 d_h) queries, keys and values, each head after head; contiguous.
    offsets, lengths
        (P,) first token and number of tokens of each segment.
    shape
        The rest.
    out
        (T, d_h) where to write, if rows in no segment may stay as they are.
    """
    if out is None:
        out = packed.new_zeros(len(packed), packed.shape[1] // 3)
    longest_tile = _find_longest_tile(packed, lengths, shape)
    for settings in _launches(packed, shape, longest_tile, _WARPS):
        _forward_kernel[(len(lengths) * shape.heads,)](packed, offsets, lengths, out, shape.scale, **settings)
    if shape.longest <= LONGEST_SEGMENT:
        return Attended(out, out.new_empty(0, dtype=torch.float32))
    statistics = out.new_empty(len(packed), shape.heads, dtype=torch.float32)
    stream = _STREAM_EXACT if packed.dtype == torch.float32 else _STREAM_FORWARD
    blocks = triton.cdiv(shape.longest, stream.queries)
    _streamed_kernel[(len(lengths) * shape.heads * blocks,)](
        packed, offsets, lengths, out, statistics, shape.scale, blocks, **_settings(packed, shape),
        LONGEST_TILE=longest_tile, QUERIES=stream.queries, KEYS=stream.keys, num_warps=stream.warps,
        num_stages=stream.stages, maxnreg=stream.registers,
    )  # fmt: skip
    return Attended(out, statistics)


def attention_backward(
    packed: Tensor, attended: Attended, out_gradient: Tensor, offsets: Tensor, lengths: Tensor, shape: AttentionShape
) -> Tensor:
    """Gradient of `packed`, given that of `attention_forward`'s result; parameters as there."""
    gradient = torch.zeros_like(packed)
    longest_tile = _find_longest_tile(packed, lengths, shape)
    for settings in _launches(packed, shape, longest_tile, _WARPS_BACK):
        _backward_kernel[(len(lengths) * shape.heads,)](
            packed, offsets, lengths, out_gradient, gradient, shape.scale, **settings
        )
    if shape.longest > LONGEST_SEGMENT:
        stream = _STREAM_BACKWARD
        query_sums = torch.empty_like(attended.out, dtype=torch.float32)
        _streamed_backward_kernel[(len(lengths) * shape.heads,)](
            packed, offsets, lengths, attended.out, out_gradient, attended.statistics, query_sums, gradient,
            shape.scale, **_settings(packed, shape), LONGEST_TILE=longest_tile, QUERIES=stream.queries,
            KEYS=stream.keys, num_warps=stream.warps, num_stages=stream.stages, maxnreg=stream.registers,
        )  # fmt: skip
    return gradient


class SegmentAttention(torch.autograd.Function):
    """`attention_forward`, differentiable."""

    @staticmethod
    def forward(ctx: Any, packed: Tensor, offsets: Tensor, lengths: Tensor, shape: AttentionShape) -> Tensor:
        """Eqs 4 to 6."""
        attended = attention_forward(packed, offsets, lengths, shape)
        ctx.save_for_backward(packed, *attended, offsets, lengths)
        ctx.shape = shape
        return attended.out

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Gradient of the packed queries, keys and values."""
        packed, out, statistics, offsets, lengths = ctx.saved_tensors
        attended = Attended(out, statistics)
        gradient = attention_backward(packed, attended, gradients[0].contiguous(), offsets, lengths, ctx.shape)
        return gradient, None, None, None


def _settings(packed: Tensor, shape: AttentionShape) -> dict[str, Any]:
    """What all kernels are compiled for."""
    return {
        "GROWS": shape.grows,
        "H": shape.heads,
        "DK": packed.shape[1] // (3 * shape.heads),
        "PRECISION": dot_precision(packed),
    }


def _find_longest_tile(packed: Tensor, lengths: Tensor, shape: AttentionShape) -> int:
    """Segments up to this length are one tile each; 0 where a launch for them takes longer than it saves."""
    if shape.longest <= LONGEST_SEGMENT:
        return LONGEST_SEGMENT
    hardly_any_is_short = len(packed) > 2 * LONGEST_SEGMENT * len(lengths)
    return 0 if hardly_any_is_short or len(packed) <= _FEW_TOKENS else LONGEST_SEGMENT


def _launches(
    packed: Tensor, shape: AttentionShape, longest_tile: int, all_warps: tuple[tuple[int, int, int], ...]
) -> Iterator[dict[str, Any]]:
    """A launch for each range of tiles, 16 to 2^LAST, with as many warps as its scores need registers of."""
    longest = min(shape.longest, longest_tile)
    largest = max(16, triton.next_power_of_2(longest)).bit_length() - 1 if longest else 0
    for first, last, warps in all_warps:
        if first <= largest:
            tiles = {"FIRST": first, "LAST": min(last, largest), "num_warps": warps}
            yield _settings(packed, shape) | tiles
