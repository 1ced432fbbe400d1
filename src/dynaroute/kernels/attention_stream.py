"""Self-attention in longer segments (eqs 4 to 6), through which keys or queries pass in blocks, and its gradient."""

from __future__ import annotations

import triton
import triton.language as tl

from dynaroute.kernels.arithmetic import loop_end
from dynaroute.kernels.attention_parts import HUGE, LOG2_E, find_place, load_head, store_head

_LARGEST_HALF = tl.constexpr(65504.0)  # of float16
_SUMS = tl.constexpr(8)  # columns of the smallest product
_SAMPLE = tl.constexpr(64)  # keys from which the largest score is guessed


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
    key = load_head(packed, start + block, count - block, (H + head) * DK, 3 * H * DK, KEYS, DK)
    floor = tl.broadcast_to(floor[:, None], (query.shape[0], KEYS))
    scores = tl.dot(query, tl.trans(key), floor, input_precision=PRECISION)
    if IS_LAST:
        scores = tl.where((block + tl.arange(0, KEYS) < count)[None, :], scores, -HUGE)
    return scores


@triton.jit
def _find_highest(
    packed, query, start, count, head, H: tl.constexpr, DK: tl.constexpr, PRECISION: tl.constexpr, KEYS: tl.constexpr
):
    """(QUERIES,) the largest score of each query."""
    highest = tl.full((query.shape[0],), -HUGE, tl.float32)
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
    value = load_head(packed, start + block, count - block, (2 * H + head) * DK, 3 * H * DK, KEYS, DK)
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
def streamed_kernel(
    packed, offsets, lengths, out, statistics, scale, blocks, H: tl.constexpr, DK: tl.constexpr,
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
    segment, head, block = find_place(blocks, H)
    first = block * QUERIES
    count = tl.load(lengths + segment).to(tl.int32)
    if (count > LONGEST_TILE) & (first < count):
        start = tl.load(offsets + segment).to(tl.int64)
        query = load_head(packed, start + first, count - first, head * DK, 3 * H * DK, QUERIES, DK)
        query = _scale(query, scale * LOG2_E)
        level = _guess_highest(packed, query, start, count, head, H, DK, PRECISION)
        weight_sum, total = _meet_all_keys(packed, query, level, start, count, head, H, DK, PRECISION, KEYS)
        if tl.max(weight_sum, 0) > _LARGEST_HALF:
            level = _find_highest(packed, query, start, count, head, H, DK, PRECISION, KEYS)
            weight_sum, total = _meet_all_keys(packed, query, level, start, count, head, H, DK, PRECISION, KEYS)
        total = total * (1.0 / weight_sum)[:, None]
        store_head(out, total, start + first, count - first, head * DK, H * DK, QUERIES, DK)
        row = first + tl.arange(0, QUERIES)
        tl.store(statistics + (start + row) * H + head, level + tl.log2(weight_sum), mask=row < count)


@triton.jit
def _load_statistics(statistics, start, count, head, H: tl.constexpr, ROWS: tl.constexpr):
    """(ROWS,) of `streamed_kernel`; past the segment's end such that weights are 0."""
    row = tl.arange(0, ROWS)
    return tl.load(statistics + (start + row) * H + head, mask=row < count, other=HUGE)


@triton.jit
def streamed_backward_kernel(
    packed, offsets, lengths, out, out_gradient, statistics, query_sums, gradient, scale, H: tl.constexpr,
    DK: tl.constexpr, PRECISION: tl.constexpr, LONGEST_TILE: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """One program a segment and head: all queries pass by each block of keys and values, in blocks.

    The mathematics is that of `attention_tile.backward_kernel`, with rowsum(dA * A) = rowsum(dO * O). dK and dV of a
    block stay in registers. dQ is a sum over blocks of keys, which waits in `query_sums`, in float32; the last of them
    writes it. Queries past the segment's end weigh nothing, and neither do keys.
    """
    segment, head, _ = find_place(1, H)
    count = tl.load(lengths + segment).to(tl.int32)
    if count > LONGEST_TILE:
        start = tl.load(offsets + segment).to(tl.int64)
        for own in tl.range(0, loop_end(count), KEYS):
            key = load_head(packed, start + own, count - own, (H + head) * DK, 3 * H * DK, KEYS, DK)
            value = load_head(packed, start + own, count - own, (2 * H + head) * DK, 3 * H * DK, KEYS, DK)
            beyond = tl.where(own + tl.arange(0, KEYS) < count, 0.0, -HUGE)
            d_key = tl.zeros((KEYS, DK), tl.float32)
            d_value = tl.zeros((KEYS, DK), tl.float32)
            for block in tl.range(0, loop_end(count), QUERIES):
                first, rows = start + block, count - block
                query = load_head(packed, first, rows, head * DK, 3 * H * DK, QUERIES, DK)
                query = _scale(query, scale * LOG2_E)
                attended = load_head(out, first, rows, head * DK, H * DK, QUERIES, DK)
                d_out = load_head(out_gradient, first, rows, head * DK, H * DK, QUERIES, DK)
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
                store_head(gradient, d_query * scale, first, rows, head * DK, 3 * H * DK, QUERIES, DK)
            rows = count - own
            store_head(gradient, d_key / LOG2_E, start + own, rows, (H + head) * DK, 3 * H * DK, KEYS, DK)
            store_head(gradient, d_value, start + own, rows, (2 * H + head) * DK, 3 * H * DK, KEYS, DK)
