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


def make_packing(*lengths: int) -> Packing:
    return Packing(torch.tensor(lengths), max(lengths))


@pytest.mark.parametrize("lengths", [(1,), (3, 3), (2, 5, 1), (4, 1, 4)])
def test_packing_gives_back_what_was_padded(lengths: tuple[int, ...]) -> None:
    packing = make_packing(*lengths)
    tokens = torch.arange(sum(lengths) * 2.0).view(-1, 2)
    padded = packing.pad(tokens)
    assert padded.shape == (len(lengths), max(lengths), 2)
    assert torch.equal(packing.pack(padded), tokens)


def test_padding_keeps_segments_apart_and_fills_with_zeros() -> None:
    padded = make_packing(2, 3, 1).pad(torch.tensor([1, 2, 3, 4, 5, 6]))
    assert padded.tolist() == [[1, 2, 0], [3, 4, 5], [6, 0, 0]]


def test_offsets_point_at_the_first_token_of_each_segment() -> None:
    assert make_packing(2, 3, 1).offsets.tolist() == [0, 2, 5]


def test_equal_segments_need_no_padding() -> None:
    assert make_packing(3, 3).is_even
    assert not make_packing(3, 2).is_even
