"""The encoder of the kernel that builds whole solutions: a tile of rows on chip (eqs 2 to 11)."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, type-arg, no-any-return"

from __future__ import annotations

import triton
import triton.language as tl

from dynaroute.kernels.arithmetic import native_tanh, tanh
from dynaroute.kernels.rule_moves import RuleOffset
from dynaroute.kernels.weight_layout import MatrixOffset, VectorOffset

# The layout of `PackedWeights`, as a kernel can read it.
_KEY, _VALUE, _OUTPUT = (tl.constexpr(offset) for offset in (MatrixOffset.KEY, MatrixOffset.VALUE, MatrixOffset.OUTPUT))
_FEED_FORWARD_IN = tl.constexpr(MatrixOffset.FEED_FORWARD_IN)
_FEED_FORWARD_OUT = tl.constexpr(MatrixOffset.FEED_FORWARD_OUT)
_LAYER_MATRICES = tl.constexpr(MatrixOffset.LAYER)
_EMBEDDING_BIAS, _DEPOT = tl.constexpr(VectorOffset.EMBEDDING_BIAS), tl.constexpr(VectorOffset.DEPOT)
_LAYERS = tl.constexpr(VectorOffset.LAYERS)
_OUT_BIAS = tl.constexpr(VectorOffset.OUT_BIAS)
_FIRST_NORMALISATION = tl.constexpr(VectorOffset.FIRST_NORMALISATION)
_SECOND_NORMALISATION = tl.constexpr(VectorOffset.SECOND_NORMALISATION)
_LAYER_VECTORS = tl.constexpr(VectorOffset.LAYER)
_LAYER_VECTORS_WITH_BATCH_NORM = tl.constexpr(VectorOffset.LAYER_WITH_BATCH_NORM)
_DEPOT_RULES, _FEATURES = tl.constexpr(RuleOffset.DEPOT), tl.constexpr(RuleOffset.FEATURES)
_LOG2_E = tl.constexpr(1.4426950408889634)  # because the GPU has an instruction for powers of 2


@triton.jit
def embed(x, y, fraction, is_depot, dims, vectors):
    """Eq 2: (tile, 128) from position and demand."""
    customer = _linear_3(x, y, fraction, dims, vectors)
    depot = _linear_3(x, y, fraction, dims, vectors + _DEPOT)
    return tl.where(is_depot[:, None], depot, customer)


@triton.jit
def embed_rules(features, rule_vectors, is_row, is_depot, dims, tile: tl.constexpr):
    """Eq 2: what the further features add, (tile, 128)."""
    total = tl.zeros((tile, 128), tl.float32)
    for number in tl.static_range(_FEATURES):
        customer = tl.load(rule_vectors + dims * _FEATURES + number)[None, :]
        depot = tl.load(rule_vectors + _DEPOT_RULES + dims * _FEATURES + number)[None, :]
        feature = tl.load(features + number, mask=is_row, other=0.0)
        total += feature[:, None] * tl.where(is_depot[:, None], depot, customer)
    return total


@triton.jit
def _linear_3(x, y, fraction, dims, parameters):
    weight = parameters + dims * 3
    bias = tl.load(parameters + _EMBEDDING_BIAS + dims)
    from_x = x[:, None] * tl.load(weight)[None, :]
    from_y = y[:, None] * tl.load(weight + 1)[None, :]
    return from_x + from_y + fraction[:, None] * tl.load(weight + 2)[None, :] + bias[None, :]


@triton.jit
def encode(
    hidden, row_segment, dims, matrices, vectors, attention_scale, layers: tl.constexpr, has_batch_norm: tl.constexpr,
    native: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    """Eqs 3 to 11: (tile, 128) embeddings; each row attends only to its own segment.

    Heads are multiplied by their blocks of W^O one after the other, and inner columns of the feed-forward sub-layer 64
    at a time; the sum starts with the skip connection and stays in registers.
    """
    kind = matrices.dtype.element_ty
    head_dims, inner = tl.arange(0, 16), tl.arange(0, 64)
    segment = tl.where(row_segment[:, None] == head_dims[None, :], 32.0, 0.0).to(kind)  # (tile, 16)
    for layer in range(layers):
        weight = matrices + layer * _LAYER_MATRICES
        bias = vectors + _LAYERS + layer * (_LAYER_VECTORS_WITH_BATCH_NORM if has_batch_norm else _LAYER_VECTORS)
        tokens = hidden.to(kind)
        for head in range(8):
            in_head = weight + (head * 16 + head_dims)[:, None] * 128 + dims[None, :]  # (16, 128)
            query = tl.dot(tokens, tl.trans(tl.load(in_head)), input_precision=precision)  # (tile, 16)
            query = (query * (attention_scale * _LOG2_E)).to(kind)  # for powers of 2
            key = project(tokens, in_head + _KEY, precision)
            value = project(tokens, in_head + _VALUE, precision)
            if kind == tl.float32:
                scores = tl.dot(query, tl.trans(key), input_precision=precision)  # (tile, tile)
                scores = tl.where(row_segment[:, None] == row_segment[None, :], scores, float("-inf"))
            else:
                # a product lowers the scores of other segments by 1024, which is cheaper than masking every score
                scores = tl.dot(query, tl.trans(key), tl.dot(segment, tl.trans(segment)))
            scores = exp2(scores - tl.max(scores, 1)[:, None], native)
            attended = tl.dot(scores.to(kind), value, input_precision=precision)  # (tile, 16)
            attended = attended * invert(tl.sum(scores, 1), native)[:, None]
            output = tl.load(weight + _OUTPUT + dims[:, None] * 128 + (head * 16 + head_dims)[None, :])  # (128, 16)
            hidden = tl.dot(attended.to(kind), tl.trans(output), hidden, input_precision=precision)
        hidden = _normalise(hidden, bias + _FIRST_NORMALISATION, dims, has_batch_norm, native)
        tokens = hidden.to(kind)
        hidden += tl.load(bias + _OUT_BIAS + dims)[None, :]
        for chunk in range(8):
            into = tl.load(weight + _FEED_FORWARD_IN + (chunk * 64 + inner)[:, None] * 128 + dims[None, :])  # (64, 128)
            between = tl.dot(tokens, tl.trans(into), input_precision=precision)  # (tile, 64)
            between = tl.maximum(between + tl.load(bias + chunk * 64 + inner)[None, :], 0.0)
            out_of = tl.load(
                weight + _FEED_FORWARD_OUT + dims[:, None] * 512 + (chunk * 64 + inner)[None, :]
            )  # (128, 64)
            hidden = tl.dot(between.to(kind), tl.trans(out_of), hidden, input_precision=precision)
        hidden = _normalise(hidden, bias + _SECOND_NORMALISATION, dims, has_batch_norm, native)
    return hidden


@triton.jit
def project(tokens, weight_cells, precision: tl.constexpr):
    """Multiply tokens by the transpose of a weight matrix, rounded to the tokens' dtype."""
    return tl.dot(tokens, tl.trans(tl.load(weight_cells)), input_precision=precision).to(tokens.dtype)


@triton.jit
def _normalise(hidden, parameters, dims, has_batch_norm: tl.constexpr, native: tl.constexpr):
    """Apply tanh (eqs 8 and 10), or the factor and shift of a batch normalisation."""
    if has_batch_norm:
        hidden = hidden * tl.load(parameters + dims)[None, :] + tl.load(parameters + 128 + dims)[None, :]
    else:
        hidden = find_tanh(hidden, native)
    return hidden


@triton.jit
def find_tanh(x, native: tl.constexpr):
    """Tanh, by the GPU's own instruction or exactly."""
    return native_tanh(x) if native else tanh(x)


@triton.jit
def exp2(x, native: tl.constexpr):
    """Powers of 2; the GPU's own instruction rounds small results to 0."""
    if native:
        result = tl.inline_asm_elementwise(
            "ex2.approx.ftz.f32 $0, $1;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        result = tl.exp2(x)
    return result


@triton.jit
def invert(x, native: tl.constexpr):
    """1 / x; by the GPU's own instruction, within 1 ulp."""
    if native:
        result = tl.inline_asm_elementwise(
            "rcp.approx.ftz.f32 $0, $1;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        result = 1.0 / x
    return result
