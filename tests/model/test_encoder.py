from __future__ import annotations

import copy

import pytest
import torch
from policies import SMALL_AM, SMALL_AMD, make_policy

from dynaroute.model import PolicyConfig
from dynaroute.model.encoder import encode_exactly
from dynaroute.model.packing import Packing

PACKING = Packing(torch.tensor([4, 9, 1]), 9)
FEATURES = torch.rand(14, 3, generator=torch.Generator().manual_seed(0))
IS_DEPOT = torch.tensor([True, *[False] * 3, True, *[False] * 8, True])


@pytest.mark.parametrize("config", [SMALL_AMD, SMALL_AM], ids=["AM-D", "AM"])
@pytest.mark.parametrize("training", [False, True])
def test_the_exact_encoding_is_that_of_float64_rounded(config: PolicyConfig, training: bool) -> None:
    encoder = make_policy(config).encoder.train(training)
    expected = copy.deepcopy(encoder).double()(FEATURES.double(), IS_DEPOT, PACKING)
    found = encode_exactly(encoder, FEATURES, IS_DEPOT, PACKING)
    assert found.dtype == torch.float32
    assert torch.equal(found, expected.float())


def test_the_exact_encoding_has_gradients_for_the_parameters() -> None:
    encoder = make_policy(SMALL_AMD).encoder
    exact = copy.deepcopy(encoder).double()
    expected = torch.autograd.grad(exact(FEATURES.double(), IS_DEPOT, PACKING).sum(), list(exact.parameters()))
    found = torch.autograd.grad(encode_exactly(encoder, FEATURES, IS_DEPOT, PACKING).sum(), list(encoder.parameters()))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other.float(), rtol=1e-6, atol=1e-6)


def test_the_exact_encoding_leaves_statistics_of_batches_as_they_are() -> None:
    encoder = make_policy(SMALL_AM).encoder.train()
    before = {name: buffer.clone() for name, buffer in encoder.named_buffers()}
    assert before
    encode_exactly(encoder, FEATURES, IS_DEPOT, PACKING)
    for name, buffer in encoder.named_buffers():
        assert torch.equal(buffer, before[name])
