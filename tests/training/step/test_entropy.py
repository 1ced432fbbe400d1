from __future__ import annotations

import torch
from policies import draw_batch

from dynaroute.training.step.update_input import spread_entropy, usual_entropy


def test_each_size_has_the_weight_of_a_plan_for_that_size_alone() -> None:
    weights = spread_entropy(usual_entropy(1000), draw_batch(1000, 500, 100, 50, 20))
    assert isinstance(weights, torch.Tensor)
    expected = [usual_entropy(size) for size in (1000, 500, 100, 50, 20)]
    torch.testing.assert_close(weights, torch.tensor(expected))


def test_instances_of_one_size_have_the_weight_that_was_given() -> None:
    torch.testing.assert_close(spread_entropy(0.3, draw_batch(7, 7)), torch.tensor([0.3, 0.3]))


def test_no_weight_stays_none() -> None:
    assert spread_entropy(0.0, draw_batch(7, 3)) == 0.0
