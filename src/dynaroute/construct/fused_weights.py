"""A policy's parameters in the kernels' form: one array of matrices and one of vectors."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from dynaroute.kernels.weight_layout import WIDTH
from dynaroute.model.encoder import AttentionLayer
from dynaroute.model.policy import Policy

__all__ = ["PackedWeights"]


class PackedWeights(NamedTuple):
    """All parameters, in the order of their use.

    Attributes
    ----------
    matrices
        For each layer W^Q, W^K, W^V, W^O and the two matrices of the feed-forward sub-layer, with outputs as rows; then
        the result of `Decoder.fold`.
    vectors
        Float32: weights (128, 3) and bias (128) of the customers' embedding, then of the depot's; the capacity's part
        of the query and, with edges, of the heads' outputs (otherwise zeros); the weights of distances in the heads and
        the logits, padded to 16; for each layer the two biases of the feed-forward sub-layer and, with batch
        normalisation, factor and shift of both normalisations.
    """

    matrices: Tensor
    vectors: Tensor

    @classmethod
    def pack(cls, policy: Policy, dtype: torch.dtype) -> PackedWeights:
        """Copy a policy's parameters.

        Parameters
        ----------
        policy
            The policy. With batch normalisation it must be in evaluation mode: its running statistics are used.
        dtype
            Type of the matrices.
        """
        encoder, decoder = policy.encoder, policy.decoder
        layers = [layer for layer in encoder.layers if isinstance(layer, AttentionLayer)]
        matrices = [matrix.reshape(-1) for layer in layers for matrix in _matrices(layer)]
        depot = encoder.embed_depot.weight  # (128, 2 or 3)
        capacity = decoder.capacity_weights.flatten()  # (128,) or (256,)
        vectors = [
            encoder.embed_customer.weight.reshape(-1),
            encoder.embed_customer.bias,
            nn.functional.pad(depot, (0, 3 - depot.shape[1])).reshape(-1),
            encoder.embed_depot.bias,
            nn.functional.pad(capacity, (0, 2 * WIDTH - len(capacity))),
            _pad_distance_weight(policy),
            *(vector for layer in layers for vector in _vectors(layer)),
        ]
        return cls(
            matrices=torch.cat([*matrices, policy.fold().reshape(-1)]).to(dtype),
            vectors=torch.cat(vectors).float(),
        )


def _pad_distance_weight(policy: Policy) -> Tensor:
    """(16,) weights of distances; zeros if there is no bias."""
    decoder = policy.decoder
    weight = decoder.key.weight.new_zeros(0) if decoder.distance_weight is None else decoder.distance_weight
    return nn.functional.pad(weight, (0, 16 - len(weight)))


def _matrices(layer: AttentionLayer) -> tuple[Tensor, ...]:
    linear = (layer.query_key_value, layer.output, layer.feed_forward_in, layer.feed_forward_out)
    return tuple(part.weight for part in linear)


def _vectors(layer: AttentionLayer) -> list[Tensor]:
    vectors: list[Tensor] = [layer.feed_forward_in.bias, layer.feed_forward_out.bias]
    for normalisation in (layer.after_attention, layer.after_feed_forward):
        if isinstance(normalisation, nn.BatchNorm1d):
            vectors += _affine(normalisation)
    return vectors


def _affine(normalisation: nn.BatchNorm1d) -> list[Tensor]:
    """The factor and shift of a batch normalisation in evaluation mode."""
    assert normalisation.running_mean is not None
    assert normalisation.running_var is not None
    factor = normalisation.weight * (normalisation.running_var + normalisation.eps).rsqrt()
    return [factor, normalisation.bias - normalisation.running_mean * factor]
