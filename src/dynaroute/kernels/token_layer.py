"""All of an encoder layer but its attention, for tiles of tokens that stay on chip (eqs 7 to 10); inference alone."""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from dynaroute.kernels import dot_precision
from dynaroute.kernels.arithmetic import native_tanh, tanh

__all__ = ["Launch", "TokenLayer", "run_token_layer"]

_PART = tl.constexpr(64)  # columns of a square matrix that take their turn together


class TokenLayer(NamedTuple):
    """What a layer does to tokens, the matrices in the precision of the products.

    Attributes
    ----------
    output
        (128, 128) W^O of eq 7.
    weight_in, bias_in, weight_out, bias_out
        (512, 128), (512,), (128, 512), (128,) of eq 9.
    following
        (128 k, 128) what the layer's result meets next: W^Q, W^K, W^V of the next layer, or `Decoder.fold`.
    """

    output: Tensor
    weight_in: Tensor
    bias_in: Tensor
    weight_out: Tensor
    bias_out: Tensor
    following: Tensor


@triton.jit
def _tanh(x, NATIVE: tl.constexpr):
    return native_tanh(x) if NATIVE else tanh(x)


@triton.jit
def _token_kernel(
    attended, hidden, output, weight_in, bias_in, weight_out, bias_out, following, result, projected, tokens,
    PARTS: tl.constexpr, NATIVE: tl.constexpr, PRECISION: tl.constexpr, TILE: tl.constexpr, INNER: tl.constexpr,
):  # fmt: skip
    """One program a tile: ĥ = tanh(h + W^O a), h' = tanh(ĥ + FF(ĥ)), and h' times the matrices that follow.

    Matrices pass by in parts: 64 columns of W^O, 64 rows of what follows, INNER of the 512 inner columns of FF; sums
    stay in registers. What meets all parts of a matrix goes through `result` to where the tensor cores can read
    it themselves: the registers that this saves let two programs share a multiprocessor, and one of them computes
    while the other waits. Past the end, the last token is computed again.
    Twin: `dynaroute.model.encoder.AttentionLayer.forward` from eq 7 on.
    """
    kind = hidden.dtype.element_ty
    first = tl.program_id(0).to(tl.int64) * TILE
    row = tl.minimum(tl.arange(0, TILE), tokens - 1 - first).to(tl.int32)
    dim, part, inner = tl.arange(0, 128), tl.arange(0, _PART), tl.arange(0, INNER)
    cell = row[:, None] * 128 + dim[None, :]
    attended += first * 128
    result += first * 128
    total = tl.load(hidden + first * 128 + cell).to(tl.float32)
    for chunk in range(128 // _PART):
        column = chunk * _PART + part
        heads = tl.load(attended + row[:, None] * 128 + column[None, :])  # (TILE, 64)
        weight = tl.load(output + dim[:, None] * 128 + column[None, :])  # (128, 64)
        total = tl.dot(heads, tl.trans(weight), total, input_precision=PRECISION)
    middle = _tanh(total, NATIVE)  # eq 8
    total = middle + tl.load(bias_out + dim).to(tl.float32)[None, :]
    middle = _exchange(result + cell, middle.to(kind))
    bias = tl.load(bias_in + inner).to(tl.float32)
    for chunk in range(512 // INNER):
        column = chunk * INNER + inner
        next_bias = tl.load(bias_in + (column + INNER) % 512)  # early, lest it is waited for
        into = tl.load(weight_in + column[:, None] * 128 + dim[None, :])  # (INNER, 128)
        between = tl.dot(middle, tl.trans(into), input_precision=PRECISION)  # (TILE, INNER)
        between = tl.maximum(between + bias[None, :], 0.0)
        out_of = tl.load(weight_out + dim[:, None] * 512 + column[None, :])  # (128, INNER)
        total = tl.dot(between.to(kind), tl.trans(out_of), total, input_precision=PRECISION)
        bias = next_bias.to(tl.float32)
    embedded = _exchange(result + cell, _tanh(total, NATIVE).to(kind))  # eq 10
    projected += first * (PARTS * 128)
    for chunk in range(PARTS * 128 // _PART):
        column = chunk * _PART + part
        weight = tl.load(following + column[:, None] * 128 + dim[None, :])  # (64, 128)
        product = tl.dot(embedded, tl.trans(weight), input_precision=PRECISION)  # (TILE, 64)
        tl.store(projected + row[:, None] * (PARTS * 128) + column[None, :], product.to(kind))


@triton.jit
def _exchange(cells, tile):
    """Write a tile and read it again, so that each thread finds what the others have written."""
    tl.debug_barrier()  # nobody may still want to read what is overwritten now
    tl.store(cells, tile)
    tl.debug_barrier()
    return tl.load(cells)


class Launch(NamedTuple):
    """How the kernel is laid out on the machine; found by measurement (benchmarks/launches.py).

    Attributes
    ----------
    tile
        Tokens of a program.
    inner
        Columns of the feed-forward sub-layer that take their turn together.
    warps, stages
        Of a program, and of its pipeline.
    registers
        At most so many for a thread; None leaves it to the compiler.
    """

    tile: int
    inner: int
    warps: int
    stages: int
    registers: int | None


_HALF = Launch(tile=64, inner=32, warps=4, stages=3, registers=128)
_EXACT = Launch(tile=32, inner=64, warps=4, stages=1, registers=None)


def run_token_layer(attended: Tensor, hidden: Tensor, layer: TokenLayer) -> tuple[Tensor, Tensor]:
    """The layer's result, and its products with what follows.

    Parameters
    ----------
    attended
        (T, 128) outputs of the heads.
    hidden
        (T, 128) input of the layer.
    layer
        The rest of it.

    Returns
    -------
    Tensor
        (T, 128) h^(l).
    Tensor
        (T, 128 k).
    """
    result = torch.empty_like(hidden)
    projected = hidden.new_empty(len(hidden), len(layer.following))
    is_exact = hidden.dtype == torch.float32
    launch = _EXACT if is_exact else _HALF
    _token_kernel[(triton.cdiv(len(hidden), launch.tile),)](
        attended,
        hidden,
        *layer,
        result,
        projected,
        len(hidden),
        PARTS=len(layer.following) // 128,
        NATIVE=hidden.is_cuda and not is_exact,
        PRECISION=dot_precision(hidden),
        TILE=launch.tile,
        INNER=launch.inner,
        num_warps=launch.warps,
        num_stages=launch.stages,
        maxnreg=launch.registers,
    )
    return result, projected
