from __future__ import annotations

import torch

from dynaroute.kernels.attention import AttentionShape
from dynaroute.kernels.encoder_layer import EncoderLayer
from dynaroute.model import PolicyConfig
from dynaroute.model.encoder import AttentionLayer
from dynaroute.model.packing import Packing


def test_layer_and_its_gradients_agree_with_the_twin() -> None:
    torch.manual_seed(0)
    layer = AttentionLayer(PolicyConfig(dimension=32, heads=2, feed_forward=48))
    packing = Packing(torch.tensor([3, 20, 1]), 20)
    hidden = torch.randn(24, 32, requires_grad=True)
    weights = torch.randn(24, 32)
    parameters = list(layer.parameters())
    expected = layer(hidden, packing)
    found = EncoderLayer.apply(  # type: ignore[no-untyped-call]
        hidden, *parameters, packing.offsets, packing.lengths, AttentionShape(packing.longest, layer.heads, layer.scale)
    )
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    leaves = [hidden, *parameters]
    plain = torch.autograd.grad((expected * weights).sum(), leaves)
    fused = torch.autograd.grad((found * weights).sum(), leaves)
    for one, other in zip(fused, plain, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
