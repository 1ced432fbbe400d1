from __future__ import annotations

import pytest
import torch

from dynaroute.kernels import token_layer
from dynaroute.kernels.token_layer import TokenLayer, run_token_layer
from dynaroute.model import PolicyConfig
from dynaroute.model.encoder import AttentionLayer


@pytest.mark.parametrize("is_described", [True, False])
@pytest.mark.parametrize("tokens", [70, 64, 33])  # of 70 rows; tiles have 32
def test_a_layer_without_its_attention_agrees_with_the_twin(
    monkeypatch: pytest.MonkeyPatch, tokens: int, is_described: bool
) -> None:
    monkeypatch.setattr(token_layer, "_EXACT", token_layer._EXACT._replace(is_described=is_described))
    generator = torch.Generator().manual_seed(2)
    layer = AttentionLayer(PolicyConfig())
    following = torch.randn(256, 128, generator=generator)
    attended, hidden = (torch.randn(70, 128, generator=generator) for _ in range(2))
    with torch.no_grad():
        weights = TokenLayer._make((*layer.weights(torch.float32)[1:], following))
        found, projected = run_token_layer(attended, hidden, torch.tensor([tokens]), weights)
        middle = layer.after_attention(hidden + layer.output(attended))
        expected = layer.after_feed_forward(middle + layer.feed_forward(middle))[:tokens]
    torch.testing.assert_close(found[:tokens], expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(projected[:tokens], expected @ following.T, rtol=1e-4, atol=1e-4)
