from __future__ import annotations

import pytest
import torch
from torch import Tensor

from dynaroute.model.state import RouteState


def start(demands: list[int], capacity: int, *, shrinks: bool = True) -> RouteState:
    """One vehicle at the depot; node j adds (j, 1) to the graph's sum."""
    nodes = len(demands) + 1
    is_open = torch.ones(1, nodes, dtype=torch.bool)
    is_open[0, 0] = False
    graph = torch.stack([torch.arange(nodes, dtype=torch.float64), torch.ones(nodes, dtype=torch.float64)], 1)[None]
    return RouteState.at_depot(
        demands=torch.tensor([[0, *demands]], dtype=torch.int32),
        capacity=torch.tensor([capacity], dtype=torch.int32),
        is_token=torch.ones(1, nodes, dtype=torch.bool),
        is_open=is_open,
        graph=graph,
        shrinks=shrinks,
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


@pytest.mark.parametrize(("shrinks", "expected"), [(True, [0 + 2, 2]), (False, [0 + 1 + 2 + 3, 4])])
def test_visited_nodes_leave_the_mean_if_it_shrinks(shrinks: bool, expected: list[float]) -> None:
    state = drive(start([1, 1, 1], 5, shrinks=shrinks), 3, 0, 1)
    assert state.graph_sum.tolist() == [expected]
    assert state.graph_count.tolist() == [expected[1]]


def test_a_state_does_not_change_when_the_vehicle_drives_on() -> None:
    state = start([3, 2], 5)
    drive(state, 1, 2)
    assert feasible_nodes(state) == [1, 2]
    assert state.remaining.tolist() == [5]
