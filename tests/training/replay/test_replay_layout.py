from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject
from strategies import instances, solutions_of

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.problem.solution import Solution
from dynaroute.training.replay.layout import ReplayLayout, ReplaySize, RouteStarts

# depot, customers 1 to 5: routes (1, 2, 3) and (4, 5)
TWO_ROUTES = RouteBatch(torch.tensor([[-1, 0, 0, 0, 1, 1]]).int(), torch.tensor([[-1, 0, 1, 2, 0, 1]]).int())


def repeat(routes: RouteBatch, times: int) -> RouteBatch:
    return RouteBatch(routes.route.repeat(times, 1), routes.position.repeat(times, 1))


def list_different(solutions: list[Solution]) -> tuple[int, int, int, int]:
    """Numbers of different routes and their nodes, of different states and theirs, of one instance's solutions."""
    routes, states = set(), set()
    for solution in solutions:
        for number, route in enumerate(solution.routes):
            left = frozenset(stop for later in solution.routes[number:] for stop in later)
            states.add(left)
            routes.add((left, route))
    return len(routes), sum(1 + len(left) for left, _ in routes), len(states), sum(1 + len(left) for left in states)


def test_size_counts_routes_states_and_their_nodes() -> None:
    expected = ReplaySize(occurrences=2, routes=2, route_tokens=6 + 3, states=2, state_tokens=6 + 3, longest_route=3)
    assert ReplaySize.of(RouteStarts.of_routes(TWO_ROUTES, torch.tensor([5]))) == expected


def test_equal_solutions_of_one_instance_count_once() -> None:
    expected = ReplaySize(occurrences=6, routes=2, route_tokens=6 + 3, states=2, state_tokens=6 + 3, longest_route=3)
    assert ReplaySize.of(RouteStarts.of_routes(repeat(TWO_ROUTES, 3), torch.tensor([5, 5, 5]), samples=3)) == expected


def test_equal_solutions_of_two_instances_have_nothing_in_common() -> None:
    assert ReplaySize.of(RouteStarts.of_routes(repeat(TWO_ROUTES, 2), torch.tensor([5, 5]), samples=1)).states == 4


def test_routes_in_another_order_leave_other_states() -> None:
    backwards = RouteBatch(torch.tensor([[-1, 1, 1, 1, 0, 0]]).int(), TWO_ROUTES.position)
    both = RouteBatch(torch.cat([TWO_ROUTES.route, backwards.route]), torch.cat([TWO_ROUTES.position] * 2))
    size = ReplaySize.of(RouteStarts.of_routes(both, torch.tensor([5, 5]), samples=2))
    assert (size.occurrences, size.routes, size.states) == (4, 4, 3)  # the first state is everything


@given(st.data())
def test_what_is_different_is_counted_as_in_plain_python(data: DataObject) -> None:
    instance = data.draw(instances(sizes=st.integers(1, 6), placements=st.just("plane")))
    solutions = data.draw(st.lists(solutions_of(instance), min_size=1, max_size=4))
    batch = InstanceBatch.from_instances([instance] * len(solutions))
    size = ReplaySize.of(
        RouteStarts.of_routes(RouteBatch.from_solutions(solutions, batch), batch.sizes, len(solutions))
    )
    assert size.occurrences == sum(len(solution.routes) for solution in solutions)
    assert (size.routes, size.route_tokens, size.states, size.state_tokens) == list_different(solutions)


def test_layout_lists_what_is_left_before_each_route_in_the_order_of_visits() -> None:
    routes = RouteBatch(torch.tensor([[-1, 1, 0, 1, 0]]).int(), torch.tensor([[-1, 1, 0, 0, 1]]).int())
    layout = ReplayLayout.of_starts(RouteStarts.of_routes(routes, torch.tensor([4])), ReplaySize(3, 3, 10, 3, 10, 2))
    assert layout.routes.token_node.tolist() == [0, 2, 4, 3, 1, 0, 3, 1, -1, -1]
    assert layout.routes.lengths.tolist() == [5, 3, 0]
    assert layout.route_lengths.tolist() == [2, 2, 0]


def test_every_token_of_a_route_is_a_token_of_its_state() -> None:
    # routes (1, 2), (3, 4); (2, 1), (4, 3): the same two states, four routes
    route = torch.tensor([[-1, 0, 0, 1, 1], [-1, 0, 0, 1, 1]]).int()
    position = torch.tensor([[-1, 0, 1, 0, 1], [-1, 1, 0, 1, 0]]).int()
    routes, sizes = RouteBatch(route, position), torch.tensor([4, 4])
    starts = RouteStarts.of_routes(routes, sizes, 2)
    layout = ReplayLayout.of_starts(starts, ReplaySize.of(starts))
    assert layout.states.token_node.tolist() == [0, 1, 2, 3, 4, 0, 3, 4]
    assert layout.routes.token_node.tolist() == [0, 1, 2, 3, 4, 0, 3, 4, 0, 2, 1, 4, 3, 0, 4, 3]
    assert layout.states.token_node[layout.state_token].tolist() == layout.routes.token_node.tolist()
    assert layout.state_token.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 1, 4, 3, 5, 7, 6]
    assert layout.occurrence_solution.tolist() == [0, 0, 1, 1]
    assert layout.occurrence_route.tolist() == [0, 1, 2, 3]
