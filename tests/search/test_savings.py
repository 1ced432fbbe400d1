from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import instances

from dynaroute.base.stopping import OutOfTimeError
from dynaroute.draw import XSettings, draw_paper_set, draw_x_set
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search.savings import build_by_savings


def build_plainly(instance: Instance) -> set[frozenset[tuple[int, int]]]:
    """Clarke and Wright pair by pair, with nothing made fast; each route as its set of legs."""
    distances = instance.distance_matrix
    customers = range(1, instance.size + 1)
    savings = [
        (distances[0, one] + distances[0, other] - distances[one, other], one, other)
        for one in customers
        for other in customers
        if one < other
    ]
    route_of = {customer: [customer] for customer in customers}
    for saving, one, other in sorted(savings, key=lambda entry: (-entry[0], entry[1], entry[2])):
        left, right = route_of[one], route_of[other]
        if saving < 0 or left is right or instance.demands[left + right].sum() > instance.capacity:
            continue
        if one not in (left[0], left[-1]) or other not in (right[0], right[-1]):
            continue
        joined = (left if left[-1] == one else left[::-1]) + (right if right[0] == other else right[::-1])
        route_of.update(dict.fromkeys(joined, joined))
    return {legs_of(tuple(route)) for route in route_of.values()}


def legs_of(route: tuple[int, ...]) -> frozenset[tuple[int, int]]:
    stops = (0, *route, 0)
    return frozenset((min(leg), max(leg)) for leg in pairwise(stops))


def without_cost(instance: Instance) -> list[list[int]]:
    return [list(route) for route in build_by_savings(instance).routes]


@given(instances())
def test_any_instance_gets_a_feasible_solution_with_its_cost_stated(instance: Instance) -> None:
    solution = build_by_savings(instance)
    assert solution.stated_cost is not None
    assert check(instance, solution) == []


@given(instances())
def test_it_is_never_worse_than_one_customer_per_route(instance: Instance) -> None:
    alone = 2 * math.fsum(instance.distance_matrix[0])
    assert build_by_savings(instance).cost(instance) <= alone + 1e-9 * max(1.0, alone)


@given(instances(sizes=st.integers(1, 40)))
def test_it_builds_the_routes_of_the_plain_algorithm(instance: Instance) -> None:
    assert set(map(legs_of, build_by_savings(instance).routes)) == build_plainly(instance)


@pytest.mark.parametrize("size", [100, 150])
def test_chunks_and_blocks_change_nothing(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynaroute.search.savings._BLOCK_ENTRIES", 3 * size)
    for instance in draw_paper_set(size, 3, np.random.default_rng(size)).instances():
        assert set(map(legs_of, build_by_savings(instance).routes)) == build_plainly(instance)


def test_rounded_clustered_instances_with_many_ties_are_built_like_the_plain_algorithm() -> None:
    settings = XSettings(120, customers="clustered", depot="corner", route_length=8)
    for instance in draw_x_set(settings, 3, np.random.default_rng(1)).instances():
        solution = build_by_savings(instance)
        assert check(instance, solution) == []
        assert set(map(legs_of, solution.routes)) == build_plainly(instance)


def test_a_thousand_customers_are_routed_feasibly() -> None:
    (instance,) = draw_paper_set(1000, 1, np.random.default_rng(1)).instances()
    solution = build_by_savings(instance)
    assert check(instance, solution) == []
    assert len(solution.routes) <= 1.1 * instance.minimum_routes


def test_it_is_about_six_percent_above_the_best_known_mean() -> None:
    lengths = [
        build_by_savings(instance).cost(instance)
        for instance in draw_paper_set(100, 200, np.random.default_rng(1)).instances()
    ]
    assert np.mean(lengths) == pytest.approx(15.56 * 1.06, rel=0.01)


def test_two_near_customers_share_a_vehicle() -> None:
    instance = Instance(np.array([[0, 0], [0, 9], [0, 10], [0, -9]]), np.array([0, 1, 1, 1]), 2)
    assert set(map(legs_of, build_by_savings(instance).routes)) == {legs_of((1, 2)), legs_of((3,))}


def test_vehicles_are_filled_exactly() -> None:
    instance = Instance(np.array([[0, 0], [5, 0], [5, 1], [5, 2]]), np.array([0, 10, 10, 10]), 30)
    assert len(build_by_savings(instance).routes) == 1


@pytest.mark.parametrize("place", [(0.0, 0.0), (1.0, 1.0)])
def test_customers_in_one_place_need_no_more_vehicles_than_their_demand(place: tuple[float, float]) -> None:
    instance = Instance(np.array([(0.0, 0.0), *[place] * 6]), np.array([0, *[1] * 6]), 3)
    assert len(build_by_savings(instance).routes) == 2


def test_customers_without_demand_share_one_vehicle() -> None:
    instance = Instance(np.array([[0, 0], [1, 0], [0, 1], [1, 1]]), np.array([0, 0, 0, 0]), 1)
    assert len(build_by_savings(instance).routes) == 1


def test_a_detour_is_not_taken() -> None:
    matrix = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 3.0], [1.0, 3.0, 0.0]])  # breaks the triangle inequality
    assert len(build_by_savings(Instance(None, np.array([0, 1, 1]), 2, distances=matrix)).routes) == 2


# Every single fault in its solutions is found


@given(instances(), st.data())
def test_a_dropped_customer_is_found(instance: Instance, data: st.DataObject) -> None:
    routes = without_cost(instance)
    route = data.draw(st.sampled_from(routes))
    customer = data.draw(st.sampled_from(route))
    route.remove(customer)
    (violation,) = check(instance, Solution(tuple(map(tuple, routes))))
    assert (violation.kind, violation.customer) == ("missing", customer)


@given(instances(), st.data())
def test_a_repeated_customer_is_found(instance: Instance, data: st.DataObject) -> None:
    routes = without_cost(instance)
    customer = data.draw(st.integers(1, instance.size))
    route = data.draw(st.sampled_from(routes))
    route.insert(data.draw(st.integers(0, len(route))), customer)
    violations = check(instance, Solution(tuple(map(tuple, routes))))
    assert [violation.customer for violation in violations if violation.kind == "repeated"] == [customer]
    assert {violation.kind for violation in violations} <= {"repeated", "overload"}


@given(instances(), st.data())
def test_an_unknown_customer_is_found(instance: Instance, data: st.DataObject) -> None:
    routes = without_cost(instance)
    stranger = data.draw(st.one_of(st.integers(max_value=0), st.integers(min_value=instance.size + 1)))
    number = data.draw(st.integers(1, len(routes)))
    routes[number - 1].insert(data.draw(st.integers(0, len(routes[number - 1]))), stranger)
    (violation,) = check(instance, Solution(tuple(map(tuple, routes))))
    assert (violation.kind, violation.route, violation.customer) == ("unknown", number, stranger)


@given(instances(sizes=st.integers(2, 12)), st.data())
def test_a_customer_moved_into_a_full_vehicle_is_found(instance: Instance, data: st.DataObject) -> None:
    routes = without_cost(instance)
    moves = [
        (source, customer, target)
        for source, route in enumerate(routes)
        for customer in route
        for target, other in enumerate(routes)
        if source != target and instance.demands[[*other, customer]].sum() > instance.capacity
    ]
    assume(moves)
    source, customer, target = data.draw(st.sampled_from(moves))
    excess = int(instance.demands[[*routes[target], customer]].sum()) - instance.capacity
    routes[source].remove(customer)
    routes[target].append(customer)
    (violation,) = check(instance, Solution(tuple(map(tuple, routes))))
    assert violation.kind == "overload"
    assert f"{instance.shown_demand(excess)} more than" in violation.message


@given(instances(), st.floats(0.01, 1e6), st.sampled_from((-1, 1)))
def test_a_wrong_cost_is_found(instance: Instance, error: float, sign: int) -> None:
    solution = build_by_savings(instance)
    assert solution.stated_cost is not None
    stated = solution.stated_cost + sign * error * max(1.0, solution.stated_cost)
    (violation,) = check(instance, Solution(solution.routes, stated))
    assert violation.kind == "cost"


@pytest.mark.parametrize("asked", range(3))
def test_it_is_given_up_when_the_time_is_up(asked: int) -> None:
    answers = iter([False] * asked + [True] * 99)
    with pytest.raises(OutOfTimeError):
        (instance,) = draw_paper_set(30, 1, np.random.default_rng(1)).instances()
        build_by_savings(instance, lambda: next(answers))
