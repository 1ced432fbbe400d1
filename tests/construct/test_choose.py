from __future__ import annotations

import torch

from dynaroute.batch import RouteBatch
from dynaroute.construct.choose import Follow, MostLikely, StartAt, StepInfo

INFINITY = float("inf")


def info(*, steps: list[int], nodes: list[list[int]], route: int = 0, position: int = 0) -> StepInfo:
    count = len(steps)
    return StepInfo(
        trajectory=torch.arange(count),
        step=torch.tensor(steps),
        route=torch.full((count,), route),
        position=torch.full((count,), position),
        nodes=torch.tensor(nodes),
    )


def test_of_equal_logits_the_lower_number_is_chosen() -> None:
    logits = torch.tensor([[-INFINITY, 1.0, 2.0, 2.0], [3.0, 3.0, 3.0, 3.0], [-INFINITY, -9.0, -INFINITY, -9.0]])
    chosen = MostLikely()(logits, info(steps=[0, 1, 2], nodes=[[0, 1, 2, 3]] * 3))
    assert chosen.tolist() == [2, 0, 1]


def test_a_forced_start_is_forced_at_the_first_step_alone() -> None:
    logits = torch.tensor([[-INFINITY, 5.0, 1.0], [0.0, 5.0, 1.0]])
    chooser = StartAt(torch.tensor([2, 2]), MostLikely())
    assert chooser(logits, info(steps=[0, 3], nodes=[[0, 1, 2]] * 2)).tolist() == [2, 1]


def test_a_given_route_is_followed_by_its_nodes_not_by_their_slots() -> None:
    routes = RouteBatch(
        route=torch.tensor([[-1, 1, 0, 1]], dtype=torch.int32),
        position=torch.tensor([[-1, 1, 0, 0]], dtype=torch.int32),
    )
    logits = torch.zeros(1, 4)
    left = [[0, 1, 3, 0]]  # customer 2 is gone, the last slot is padding
    follow = Follow(routes)
    assert follow(logits, info(steps=[2], nodes=left, route=1, position=0)).tolist() == [2]
    assert follow(logits, info(steps=[3], nodes=left, route=1, position=1)).tolist() == [1]
    assert follow(logits, info(steps=[4], nodes=left, route=1, position=2)).tolist() == [0]
