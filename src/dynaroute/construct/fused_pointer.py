"""Build routes of a pointer network (RL) with one launch. The plain twin is `construct_eagerly`."""

from __future__ import annotations

import torch
from torch import Tensor

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct.fused_choice import Choice
from dynaroute.kernels import dot_precision
from dynaroute.model.pointer import PointerNetwork

_VEHICLES, _BLOCK, _WARPS = 16, 4, 8  # vehicles, nodes at a time and warps of a program


def has_pointer_kernel(policy: PointerNetwork) -> bool:
    """Whether the kernel's products can hold an LSTM of this width."""
    width = policy.config.dimension
    return 16 <= width <= 128 and width & (width - 1) == 0


def construct_pointer(
    policy: PointerNetwork, batch: InstanceBatch, choice: Choice, precision: torch.dtype
) -> RouteBatch:
    """Build one solution for each instance.

    Parameters
    ----------
    policy
        The policy, on the batch's device.
    batch
        The instances.
    choice
        How the next node is chosen.
    precision
        Precision of the operands of matrix products.
    """
    from dynaroute.kernels.drive_pointer import drive_pointer

    routes = RouteBatch.unvisited(batch)
    with torch.no_grad():
        matrices, gates, vectors = _pack(policy, precision)
        drive_pointer[(-(-len(batch) // _VEHICLES),)](
            batch.locations.float().contiguous(),
            torch.where(batch.is_customer, batch.demands, -1),
            batch.capacity.contiguous(),
            batch.sizes.contiguous(),
            batch.sizes if choice.starts is None else choice.starts,
            batch.sizes if choice.stream_keys is None else choice.stream_keys,
            matrices,
            gates,
            vectors,
            routes.route,
            routes.position,
            len(batch),
            batch.nodes,
            choice.temperature,
            IS_SAMPLED=choice.stream_keys is not None,
            IS_FORCED=choice.starts is not None,
            NATIVE=precision != torch.float32 and batch.device.type == "cuda",
            PRECISION=dot_precision(matrices),
            VEHICLES=_VEHICLES,
            BLOCK=_BLOCK,
            WIDTH=policy.config.dimension,
            num_warps=_WARPS,
        )
    return routes


def _pack(policy: PointerNetwork, precision: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Lay out the parameters as the kernel reads them."""
    width, recurrent = policy.config.dimension, policy.recurrent
    into_gates, between_gates, bias, hidden_bias = recurrent.all_weights[0]
    of_hidden = torch.cat([between_gates, policy.attention.weight[:, 2 * width :]])  # (5 d, d)
    matrices = of_hidden.view(5, width, width).mT.to(precision).contiguous()
    static = policy.embed_static
    constant = into_gates @ static.bias + bias + hidden_bias  # (4 d,)
    gates = torch.cat([(into_gates @ static.weight).T, constant[None]]).contiguous()  # (3, 4 d)
    folded = policy.fold().view(3, width, 5).mT.reshape(15, width)
    vectors = torch.cat([folded, policy.attention_score.weight, policy.pointer_score.weight]).contiguous()  # (17, d)
    return matrices, gates, vectors
