"""The encoder: node embeddings by self-attention over the remaining nodes (eqs 2 to 11, 22, 23)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from dynaroute.batch.rules import FEATURES
from dynaroute.model.config import PolicyConfig
from dynaroute.model.packing import Packing


class Encoder(nn.Module):
    """ENCODE^N of eqs 11 and 22.

    The nodes that eq 23 masks are left out of the input. Their rows would never be read, so the result is the same for
    half the work.

    Parameters
    ----------
    config
        Settings of the policy.
    """

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__()
        self.further_features = FEATURES if config.rules else 0
        self.depot_features = config.depot_features + self.further_features
        self.embed_customer = nn.Linear(3 + self.further_features, config.dimension)
        self.embed_depot = nn.Linear(self.depot_features, config.dimension)
        self.layers = nn.ModuleList(AttentionLayer(config) for _ in range(config.layers))

    def forward(self, features: Tensor, is_depot: Tensor, packing: Packing) -> Tensor:
        """Encode nodes, each in the context of its own segment (eq 11).

        Parameters
        ----------
        features
            (T, 3) position and demand / capacity of every remaining node; where there are rules (T, F).
        is_depot
            (T,) which of them are depots.
        packing
            The segments, one per instance.

        Returns
        -------
        Tensor
            (T, d_h) node embeddings h^N.
        """
        hidden = self.embed(features, is_depot)  # (T, d_h)
        for layer in self.layers:
            hidden = layer(hidden, packing)
        return hidden

    def embed(self, features: Tensor, is_depot: Tensor) -> Tensor:
        """Embed nodes as h^0 (eq 2); the depot has its own parameters."""
        if self.further_features and features.shape[1] == 3:
            features = F.pad(features, (0, self.further_features))  # (T, F): a plain problem has no rules
        depot = self.embed_depot(features[:, : self.depot_features])  # (T, d_h)
        return torch.where(is_depot[:, None], depot, self.embed_customer(features))


class AttentionLayer(nn.Module):
    """One layer: multi-head attention, then feed-forward, each with a skip connection.

    Parameters
    ----------
    config
        Settings of the policy.
    """

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.scale = config.attention_scale
        dimension = config.dimension
        self.query_key_value = nn.Linear(dimension, 3 * dimension, bias=False)  # W^Q, W^K, W^V of all heads, stacked
        self.output = nn.Linear(dimension, dimension, bias=False)  # W^O of all heads, side by side
        self.feed_forward_in = nn.Linear(dimension, config.feed_forward)
        self.feed_forward_out = nn.Linear(config.feed_forward, dimension)
        self.after_attention = _make_normalisation(config)
        self.after_feed_forward = _make_normalisation(config)

    def weights(self, dtype: torch.dtype) -> tuple[Tensor, ...]:
        """Return matrices and biases in the order of `dynaroute.kernels.encoder_layer`."""
        attention = (self.query_key_value.weight, self.output.weight)
        inner, outer = self.feed_forward_in, self.feed_forward_out
        parameters = (*attention, inner.weight, inner.bias, outer.weight, outer.bias)
        return tuple(parameter.to(dtype) for parameter in parameters)

    def forward(self, hidden: Tensor, packing: Packing) -> Tensor:
        """Apply eqs 3 to 10: from h^(l-1) to h^(l), both (T, d_h)."""
        attended = _normalise(self.after_attention, hidden + self.attention(hidden, packing), packing)  # eq 8
        return _normalise(self.after_feed_forward, attended + self.feed_forward(attended), packing)  # eq 10

    def attention(self, hidden: Tensor, packing: Packing) -> Tensor:
        """Eqs 3 to 7: MHA, (T, d_h)."""
        projected: Tensor = self.query_key_value(hidden)  # (T, 3 d_h), eq 3
        query, key, value = projected.view(len(hidden), 3, self.heads, -1).unbind(1)  # each (T, heads, d_k)
        heads = attend(query, key, value, packing, self.scale)  # (T, heads, d_k), eqs 4 to 6
        output: Tensor = self.output(heads.flatten(1))  # (T, d_h), eq 7
        return output

    def feed_forward(self, hidden: Tensor) -> Tensor:
        """Eq 9: FF, (T, d_h)."""
        output: Tensor = self.feed_forward_out(F.relu(self.feed_forward_in(hidden)))
        return output


def encode_exactly(encoder: nn.Module, features: Tensor, is_depot: Tensor, packing: Packing) -> Tensor:
    """Apply eq 11 in float64, whatever the dtype of the parameters, and round once at the end.

    This is for comparing gradients. ReLU (eq 9) has a kink: of millions of units a few are so close to zero that
    float32 rounding decides their sign, and each change of sign visibly changes the gradient of its row of W
    (docs/engine.md). Running batch statistics are not updated.

    Parameters
    ----------
    encoder
        `Encoder`, or a module with the same call.
    features, is_depot, packing
        Its inputs.
    """
    exact = {name: parameter.double() for name, parameter in encoder.named_parameters()}
    statistics = {name: buffer.to(torch.float64, copy=True) for name, buffer in encoder.named_buffers()}
    hidden: Tensor = functional_call(encoder, exact | statistics, (features.double(), is_depot, packing))  # (T, d_h)
    return hidden.to(features.dtype)


def attend(query: Tensor, key: Tensor, value: Tensor, packing: Packing, scale: float) -> Tensor:
    """Let every token attend to the tokens of its own segment (eqs 4 to 6).

    Parameters
    ----------
    query, key, value
        (T, heads, d_k) each.
    packing
        The segments.
    scale
        Factor for the scores.

    Returns
    -------
    Tensor
        (T, heads, d_k).
    """
    queries, keys, values = (
        packing.pad(tokens).transpose(1, 2) for tokens in (query, key, value)
    )  # (P, heads, M, d_k)
    mask = None if packing.is_even else packing.is_token[:, None, None, :]  # (P, 1, 1, M)
    heads = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, scale=scale)  # (P, heads, M, d_k)
    return packing.pack(heads.transpose(1, 2))  # (T, heads, d_k)


def _normalise(module: nn.Module, hidden: Tensor, packing: Packing) -> Tensor:
    """(T, d_h): a module whose `sees_packing` is true is told which nodes belong together."""
    normalised: Tensor = module(hidden, packing) if getattr(module, "sees_packing", False) else module(hidden)
    return normalised


def _make_normalisation(config: PolicyConfig) -> nn.Module:
    return nn.Tanh() if config.normalisation == "tanh" else nn.BatchNorm1d(config.dimension)
