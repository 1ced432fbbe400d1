"""One encoder layer, forward and backward, with as little as possible between the matrix products (eqs 3 to 10)."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn import functional as F

from dynaroute.kernels.attention import Attended, AttentionShape, attention_backward, attention_forward

_BLOCK = 2048


@triton.jit
def _add_tanh_kernel(left, right, out, size, BLOCK: tl.constexpr):
    """Write tanh(left + right), computed in float32 as 2 sigmoid(2 x) - 1. Twin: torch.tanh."""
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = index < size
    total = tl.load(left + index, mask=mask, other=0.0).to(tl.float32) + tl.load(
        right + index, mask=mask, other=0.0
    ).to(tl.float32)
    tl.store(out + index, (2.0 * tl.sigmoid(2.0 * total) - 1.0).to(out.dtype.element_ty), mask=mask)


def _add_tanh(left: Tensor, right: Tensor) -> Tensor:
    out = torch.empty_like(left)
    _add_tanh_kernel[(triton.cdiv(left.numel(), _BLOCK),)](left, right, out, left.numel(), BLOCK=_BLOCK)
    return out


class EncoderLayer(torch.autograd.Function):
    """h -> ĥ = tanh(h + MHA(h)) -> tanh(ĥ + FF(ĥ)) on packed (T, d_h) tokens.

    The derivative of tanh only needs its output, so only the input and the operands of the matrix products are kept.
    Twin: `dynaroute.model.encoder.AttentionLayer`.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        query_key_value: Tensor,
        output: Tensor,
        weight_in: Tensor,
        bias_in: Tensor,
        weight_out: Tensor,
        bias_out: Tensor,
        offsets: Tensor,
        lengths: Tensor,
        shape: AttentionShape,
    ) -> Tensor:
        """Eqs 3 to 10; the matrices are those of `AttentionLayer`, in the dtype of `hidden`."""
        packed = F.linear(hidden, query_key_value)  # (T, 3 d_h)
        attended = attention_forward(packed, offsets, lengths, shape)  # (T, d_h)
        middle = _add_tanh(hidden, F.linear(attended.out, output))  # (T, d_h), eq 8
        inner = torch._addmm_activation(bias_in, middle, weight_in.t())  # (T, d_F), relu in the product's epilogue
        result = _add_tanh(middle, F.linear(inner, weight_out, bias_out))  # (T, d_h), eq 10
        activations = (hidden, packed, *attended, middle, inner, result)
        ctx.save_for_backward(*activations, query_key_value, output, weight_in, weight_out, offsets, lengths)
        ctx.shape = shape
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The chain rule, sub-layer by sub-layer."""
        hidden, packed, out, statistics, middle, inner, result, *others = ctx.saved_tensors
        query_key_value, output, weight_in, weight_out, offsets, lengths = others
        d_total = torch.ops.aten.tanh_backward(gradients[0], result)  # eq 10
        d_weight_out, d_bias_out = d_total.t() @ inner, d_total.sum(0)
        d_inner = torch.ops.aten.threshold_backward(d_total @ weight_out, inner, 0)
        d_weight_in, d_bias_in = d_inner.t() @ middle, d_inner.sum(0)
        d_middle = torch.addmm(d_total, d_inner, weight_in)  # (T, d_h)
        d_sum = torch.ops.aten.tanh_backward(d_middle, middle)  # eq 8
        d_output = d_sum.t() @ out
        attended = Attended(out, statistics)
        d_packed = attention_backward(packed, attended, d_sum @ output, offsets, lengths, ctx.shape)  # (T, 3 d_h)
        d_query_key_value = d_packed.t() @ hidden
        d_hidden = torch.addmm(d_sum, d_packed, query_key_value)  # (T, d_h)
        weights = (d_query_key_value, d_output, d_weight_in, d_bias_in, d_weight_out, d_bias_out)
        return d_hidden, *weights, None, None, None
