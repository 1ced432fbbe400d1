from __future__ import annotations

import torch
from torch import Tensor

from dynaroute.model.state import RouteState


def start(demands: list[int], capacity: int) -> RouteState:
    """One vehicle at the depot."""
    is_open = torch.ones(1, len(demands) + 1, dtype=torch.bool)
    is_open[0, 0] = False
    return RouteState.at_depot(
        demands=torch.tensor([[0, *demands]], dtype=torch.int32),
        capacity=torch.tensor([capacity], dtype=torch.int32),
        is_open=is_open,
    )


def drive(state: RouteState, *nodes: int) -> RouteState:
    for node in nodes:
        state = state.update(torch.tensor([node]))
    return state


def feasible_nodes(state: RouteState) -> list[int]:
    flags: Tensor = state.feasible()[0]
    return flags.nonzero().squeeze(1).tolist()


def test_the_depot_is_no_choice_at_the_depot() -> None:
    assert feasible_nodes(start([3, 4], 5)) == [1, 2]


def test_customers_that_do_not_fit_any_more_are_no_choice() -> None:
    assert feasible_nodes(drive(start([3, 2, 3, 0], 5), 1)) == [0, 2, 4]


def test_an_exactly_full_vehicle_may_visit_who_wants_nothing() -> None:
    assert feasible_nodes(drive(start([3, 2, 1, 0], 5), 1, 2)) == [0, 4]


def test_the_vehicle_is_empty_again_after_the_depot() -> None:
    state = drive(start([3, 2, 5], 5), 1, 0)
    assert feasible_nodes(state) == [2, 3]
    assert state.remaining.tolist() == [5]


def test_a_vehicle_with_nothing_left_to_do_stays_at_the_depot() -> None:
    assert feasible_nodes(drive(start([3], 5), 1, 0)) == [0]


def test_no_load_is_too_large_for_the_largest_vehicle() -> None:
    largest = 2**31 - 1
    state = drive(start([largest - 1, 1, 1], largest), 1, 2)
    assert state.remaining.tolist() == [0]
    assert feasible_nodes(state) == [0]


def test_a_state_does_not_change_when_the_vehicle_drives_on() -> None:
    state = start([3, 2], 5)
    drive(state, 1, 2)
    assert feasible_nodes(state) == [1, 2]
    assert state.remaining.tolist() == [5]
