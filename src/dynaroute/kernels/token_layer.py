"""All of an encoder layer but its attention, for tiles of tokens that stay on chip (eqs 7 to 10); inference alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from dynaroute.kernels import dot_precision
from dynaroute.kernels.arithmetic import native_tanh, tanh

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


@triton.jit(do_not_specialize=["tokens"])  # whose address is aligned by chance
def _token_kernel(
    attended, hidden, output, weight_in, bias_in, weight_out, bias_out, following, result, projected, tokens,
    PARTS: tl.constexpr, NATIVE: tl.constexpr, PRECISION: tl.constexpr, TILE: tl.constexpr, INNER: tl.constexpr,
    IS_DESCRIBED: tl.constexpr,
):  # fmt: skip
    """One program a tile: ĥ = tanh(h + W^O a), h' = tanh(ĥ + FF(ĥ)), and h' times the matrices that follow.

    Matrices pass by in parts: 64 columns of W^O, 64 rows of what follows, INNER of the 512 inner columns of FF; sums
    stay in registers. What meets all parts of a matrix goes through `result` to where the tensor cores can read
    it themselves: the registers that this saves let three programs share a multiprocessor, and some compute while
    others wait. Past the end of the last tile, the last token is computed again.
    Twin: `dynaroute.model.encoder.AttentionLayer.forward` from eq 7 on.
    """
    first = tl.program_id(0).to(tl.int64) * TILE
    count = tl.load(tokens)
    if first < count:
        kind = hidden.dtype.element_ty
        row = tl.minimum(tl.arange(0, TILE), count - 1 - first).to(tl.int32)
        dim, part, inner = tl.arange(0, 128), tl.arange(0, _PART), tl.arange(0, INNER)
        cell = row[:, None] * 128 + dim[None, :]
        attended += first * 128
        result += first * 128
        total = tl.load(hidden + first * 128 + cell).to(tl.float32)
        for chunk in range(128 // _PART):
            column = chunk * _PART + part
            heads = tl.load(attended + row[:, None] * 128 + column[None, :])  # (TILE, 64)
            weight = _load_part(output, 0, chunk * _PART, 128, _PART, 128, IS_DESCRIBED)
            total = tl.dot(heads, tl.trans(weight), total, input_precision=PRECISION)
        middle = _tanh(total, NATIVE)  # eq 8
        total = middle + tl.load(bias_out + dim).to(tl.float32)[None, :]
        middle = _exchange(result + cell, middle.to(kind))
        bias = tl.load(bias_in + inner).to(tl.float32)
        for chunk in range(512 // INNER):
            column = chunk * INNER + inner
            next_bias = tl.load(bias_in + (column + INNER) % 512)  # early, lest it is waited for
            into = _load_part(weight_in, chunk * INNER, 0, INNER, 128, 128, IS_DESCRIBED)
            between = tl.dot(middle, tl.trans(into), input_precision=PRECISION)  # (TILE, INNER)
            between = tl.maximum(between + bias[None, :], 0.0)
            out_of = _load_part(weight_out, 0, chunk * INNER, 128, INNER, 512, IS_DESCRIBED)
            total = tl.dot(between.to(kind), tl.trans(out_of), total, input_precision=PRECISION)
            bias = next_bias.to(tl.float32)
        embedded = _exchange(result + cell, _tanh(total, NATIVE).to(kind))  # eq 10
        projected += first * (PARTS * 128)
        for chunk in range(PARTS * 128 // _PART):
            column = chunk * _PART + part
            weight = _load_part(following, chunk * _PART, 0, _PART, 128, 128, IS_DESCRIBED)
            product = tl.dot(embedded, tl.trans(weight), input_precision=PRECISION)  # (TILE, 64)
            tl.store(projected + row[:, None] * (PARTS * 128) + column[None, :], product.to(kind))


@triton.jit
def _load_part(
    matrix, row, column, ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDTH: tl.constexpr, IS_DESCRIBED: tl.constexpr
):
    """(ROWS, COLUMNS) of a matrix of WIDTH columns; of one that is described, the chip's own engine fetches them."""
    if IS_DESCRIBED:
        return matrix.load([row, column])
    else:  # noqa: RET505 (Triton also compiles what follows a return)
        cell = (tl.arange(0, ROWS) + row)[:, None] * WIDTH + (tl.arange(0, COLUMNS) + column)[None, :]
        return tl.load(matrix + cell)


@triton.jit
def _exchange(cells, tile):
    """Write a tile and read it again, so that each thread finds what the others have written."""
    tl.debug_barrier()  # nobody may still want to read what is overwritten now
    tl.store(cells, tile)
    tl.debug_barrier()
    return tl.load(cells)


class TokenLaunch(NamedTuple):
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
    is_described
        Whether matrices are passed as descriptors: the kernel is faster, its launch slower.
    """

    tile: int
    inner: int
    warps: int
    stages: int
    registers: int | None
    is_described: bool


_MANY = 1 << 15  # tokens for which the launch does not matter
_HALF = TokenLaunch(tile=64, inner=32, warps=4, stages=3, registers=168, is_described=True)
_HALF_FEW = _HALF._replace(is_described=False)
_EXACT = TokenLaunch(tile=32, inner=64, warps=4, stages=1, registers=None, is_described=False)


def run_token_layer(attended: Tensor, hidden: Tensor, tokens: Tensor, layer: TokenLayer) -> tuple[Tensor, Tensor]:
    """The layer's result, and its products with what follows.

    Parameters
    ----------
    attended
        (T, 128) outputs of the heads.
    hidden
        (T, 128) input of the layer.
    tokens
        (1,) how many rows are tokens, from the first; the results' other rows are not written.
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
    launch = _EXACT if is_exact else _HALF if len(hidden) >= _MANY else _HALF_FEW
    _token_kernel[(triton.cdiv(len(hidden), launch.tile),)](
        attended,
        hidden,
        *(_describe(layer, launch.inner) if launch.is_described else layer),
        result,
        projected,
        tokens,
        PARTS=len(layer.following) // 128,
        NATIVE=hidden.is_cuda and not is_exact,
        PRECISION=dot_precision(hidden),
        TILE=launch.tile,
        INNER=launch.inner,
        IS_DESCRIBED=launch.is_described,
        num_warps=launch.warps,
        num_stages=launch.stages,
        maxnreg=launch.registers,
    )
    return result, projected


def _describe(layer: TokenLayer, inner: int) -> tuple[Any, ...]:
    """The layer with descriptors of its matrices, and of the parts that are read."""
    part = _PART.value
    return (
        TensorDescriptor.from_tensor(layer.output, [128, part]),
        TensorDescriptor.from_tensor(layer.weight_in, [inner, 128]),
        layer.bias_in,
        TensorDescriptor.from_tensor(layer.weight_out, [128, inner]),
        layer.bias_out,
        TensorDescriptor.from_tensor(layer.following, [part, 128]),
    )
