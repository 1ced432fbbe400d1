from __future__ import annotations

import torch

from dynaroute.kernels.token_layer import TokenLayer, run_token_layer
from dynaroute.model import PolicyConfig
from dynaroute.model.encoder import AttentionLayer


def test_a_layer_without_its_attention_agrees_with_the_twin() -> None:
    generator = torch.Generator().manual_seed(2)
    layer = AttentionLayer(PolicyConfig())
    following = torch.randn(256, 128, generator=generator)
    attended, hidden = (torch.randn(70, 128, generator=generator) for _ in range(2))  # no whole number of tiles
    with torch.no_grad():
        weights = TokenLayer._make((*layer.weights(torch.float32)[1:], following))
        found, projected = run_token_layer(attended, hidden, weights)
        middle = layer.after_attention(hidden + layer.output(attended))
        expected = layer.after_feed_forward(middle + layer.feed_forward(middle))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(projected, expected @ following.T, rtol=1e-4, atol=1e-4)
