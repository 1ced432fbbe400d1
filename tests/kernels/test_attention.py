from __future__ import annotations

import pytest
import torch

from dynaroute.kernels import attention
from dynaroute.kernels.attention import AttentionShape, SegmentAttention
from dynaroute.model.encoder import attend
from dynaroute.model.packing import Packing

# infinite weights are what tells the kernel; on a CPU they warn
is_guessed_too_low = pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value")


def make_segments(*lengths: int) -> tuple[torch.Tensor, Packing]:
    generator = torch.Generator().manual_seed(sum(lengths))
    packed = torch.randn(sum(lengths), 3 * 32, generator=generator)  # two heads of 16
    return packed.requires_grad_(), Packing(torch.tensor(lengths), max(lengths))


def run_twin(packed: torch.Tensor, packing: Packing, scale: float) -> torch.Tensor:
    query, key, value = packed.view(len(packed), 3, 2, 16).unbind(1)
    return attend(query, key, value, packing, scale).flatten(1)


def run_kernel(packed: torch.Tensor, packing: Packing, scale: float) -> torch.Tensor:
    out: torch.Tensor = SegmentAttention.apply(  # type: ignore[no-untyped-call]
        packed, packing.offsets, packing.lengths, AttentionShape(packing.longest, 2, scale)
    )
    return out


@pytest.fixture(params=["all streamed", "short ones in tiles"])
def mixed_lengths(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of mixed lengths, as few tokens are handled, and as many are."""
    if request.param == "short ones in tiles":
        monkeypatch.setattr(attention, "_FEW_TOKENS", 0)


def test_segments_of_every_tile_agree_with_the_twin() -> None:
    packed, packing = make_segments(1, 2, 16, 17, 51, 101)
    torch.testing.assert_close(run_kernel(packed, packing, 0.7), run_twin(packed, packing, 0.7), rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("mixed_lengths")
@is_guessed_too_low
# at 4 one key decides, and it may not be in the sample; float32 then rounds scores of hundreds in the fifth digit
@pytest.mark.parametrize(("sharpness", "limit"), [(2, 2e-5), (4, 2e-4)])
def test_longer_segments_are_streamed(sharpness: float, limit: float) -> None:
    packed, packing = make_segments(1, 128, 129, 300, 5)
    packed = sharpness * packed.detach()
    torch.testing.assert_close(run_kernel(packed, packing, 0.7), run_twin(packed, packing, 0.7), rtol=1e-4, atol=limit)


@is_guessed_too_low
def test_a_largest_score_that_no_sample_shows_is_found_all_the_same() -> None:
    packed, packing = make_segments(300)
    packed = packed.detach().half()
    packed[:, :32] = 1.0  # all queries alike
    packed[:, 32:64] = -2.0
    packed[7, 32:64] = 1.0  # a weight of 2^69 beside those of the sample
    found = run_kernel(packed, packing, 1.0)
    torch.testing.assert_close(found, packed[7, 64:].expand(300, 32), rtol=1e-3, atol=1e-3)


def test_gradients_agree_with_the_twin() -> None:
    packed, packing = make_segments(1, 16, 17, 40)
    weights = torch.randn(len(packed), 32, generator=torch.Generator().manual_seed(1))
    (expected,) = torch.autograd.grad((run_twin(packed, packing, 0.7) * weights).sum(), packed)
    (found,) = torch.autograd.grad((run_kernel(packed, packing, 0.7) * weights).sum(), packed)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_rows_in_no_segment_are_zero_and_change_nothing() -> None:
    packed, packing = make_segments(5, 9)
    longer = torch.cat([packed, torch.full((3, packed.shape[1]), torch.nan)])
    roomy = Packing(torch.tensor([5, 9, 0]), 9)
    out = run_kernel(longer, roomy, 1.0)
    assert torch.equal(out[14:], torch.zeros(3, 32))
    torch.testing.assert_close(out[:14], run_kernel(packed, packing, 1.0))


@pytest.mark.usefixtures("mixed_lengths")
def test_gradients_of_longer_segments_agree_with_the_twin() -> None:
    packed, packing = make_segments(1, 128, 129, 300, 40)
    weights = torch.randn(len(packed), 32, generator=torch.Generator().manual_seed(1))
    (expected,) = torch.autograd.grad((run_twin(packed, packing, 0.7) * weights).sum(), packed)
    (found,) = torch.autograd.grad((run_kernel(packed, packing, 0.7) * weights).sum(), packed)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:overflow encountered")  # in rows past the end, which are never stored
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_gradients_stay_finite_where_all_scores_are_far_below_zero(dtype: torch.dtype) -> None:
    packed, packing = make_segments(200)
    packed = 0.01 * packed.detach()
    packed[:, :32] += 2.5
    packed[:, 32:64] -= 2.5  # scores of -100: keys past the end of the last block would weigh e^100
    packed = packed.to(dtype).requires_grad_()
    (found,) = torch.autograd.grad(run_kernel(packed, packing, 1.0).sum(), packed)
    assert bool(found.isfinite().all())
