from __future__ import annotations

import pytest
import torch
from policies import draw_batch

from dynaroute.training.step.update_input import weigh_sizes


@pytest.mark.parametrize(("exponent", "expected"), [(1.0, [5.0, 1.0, 0.2]), (0.5, [5**0.5, 1.0, 0.2**0.5])])
def test_larger_instances_count_more(exponent: float, expected: list[float]) -> None:
    torch.testing.assert_close(weigh_sizes(exponent, draw_batch(500, 100, 20)), torch.tensor(expected))


def test_without_an_exponent_all_count_alike() -> None:
    assert weigh_sizes(0.0, draw_batch(500, 20)) == 1.0
