"""Self-attention within the segments of one packed array (eqs 4 to 6).

Segments of up to LONGEST_SEGMENT tokens are one tile each (`attention_tile`); others are streamed (`attention_stream`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
import triton
from torch import Tensor

from dynaroute.kernels import LONGEST_SEGMENT, dot_precision
from dynaroute.kernels.attention_stream import streamed_backward_kernel, streamed_kernel
from dynaroute.kernels.attention_tile import backward_kernel, forward_kernel

# tiles from 2^first to 2^last, and the warps of a program
_WARPS = ((4, 5, 1), (6, 6, 4), (7, 7, 8))
_WARPS_BACK = ((4, 5, 1), (6, 6, 4), (7, 7, 4))
_FEW_TOKENS = 1 << 17  # which a GPU attends to in less time than a launch takes


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
    """

    longest: int
    heads: int
    scale: float


class StreamLaunch(NamedTuple):
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


_STREAM_FORWARD = StreamLaunch(queries=128, keys=32, warps=2, stages=3, registers=128)
_STREAM_EXACT = _STREAM_FORWARD._replace(registers=None)  # of float32
_STREAM_BACKWARD = StreamLaunch(queries=64, keys=64, warps=4, stages=1)


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
        forward_kernel[(len(lengths) * shape.heads,)](packed, offsets, lengths, out, shape.scale, **settings)
    if shape.longest <= LONGEST_SEGMENT:
        return Attended(out, out.new_empty(0, dtype=torch.float32))
    statistics = out.new_empty(len(packed), shape.heads, dtype=torch.float32)
    stream = _STREAM_EXACT if packed.dtype == torch.float32 else _STREAM_FORWARD
    blocks = triton.cdiv(shape.longest, stream.queries)
    streamed_kernel[(len(lengths) * shape.heads * blocks,)](
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
        backward_kernel[(len(lengths) * shape.heads,)](
            packed, offsets, lengths, out_gradient, gradient, shape.scale, **settings
        )
    if shape.longest > LONGEST_SEGMENT:
        stream = _STREAM_BACKWARD
        query_sums = torch.empty_like(attended.out, dtype=torch.float32)
        streamed_backward_kernel[(len(lengths) * shape.heads,)](
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
