from __future__ import annotations

import pytest
import torch

from dynaroute.model.packing import Packing


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
