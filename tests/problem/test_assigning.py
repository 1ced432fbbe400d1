"""Who can drive routes, and who does."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product

import pytest
from fleet_problems import make_line
from fleet_strategies import Plan, fleet_instances, plans
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaroute.problem.assigning import _Limits, assign_vehicles, can_drive, can_serve_alone, measure_depot_legs
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.judge import choose_types, judge_fleet, judge_route
from dynaroute.problem.solution import Solution, check, recompute_cost
from dynaroute.problem.timetable import measure_route


@given(fleet_instances(), st.data())
def test_solver_and_judge_agree_who_can_drive_a_route(instance: Instance, data: st.DataObject) -> None:
    route = data.draw(st.lists(st.integers(1, instance.size), min_size=1, unique=True))
    for index, vehicle in enumerate(instance.fleet):
        assert can_drive(instance, route, index) == (not list(judge_route(instance, 1, route, vehicle)))


@given(plans())
def test_a_plan_made_to_be_right_is_right(plan: Plan) -> None:
    assert check(plan.instance, plan.solution) == []


@given(plans())
def test_routes_without_types_get_some_that_are_right(plan: Plan) -> None:
    routes = plan.solution.routes
    assert check(plan.instance, Solution(routes)) == []
    assert check(plan.instance, Solution(routes, vehicles=assign_vehicles(plan.instance, routes))) == []


@settings(max_examples=60)
@given(plans(sizes=st.integers(1, 5)))
def test_types_are_assigned_at_the_least_length(plan: Plan) -> None:
    instance, routes = plan.instance, plan.solution.routes
    possible = [
        math.fsum(
            measure_route(instance, route, instance.fleet[kind]) for route, kind in zip(routes, kinds, strict=True)
        )
        for kinds in product(range(len(instance.fleet)), repeat=len(routes))
        if _is_right(instance, routes, kinds)
    ]
    assert Solution(routes).cost(instance) == pytest.approx(min(possible), abs=1e-5)
    assert recompute_cost(instance, Solution(routes)) == pytest.approx(min(possible), abs=1e-5)


def _is_right(instance: Instance, routes: tuple[tuple[int, ...], ...], kinds: tuple[int, ...]) -> bool:
    return not list(judge_fleet(instance, kinds)) and all(
        can_drive(instance, route, kind) for route, kind in zip(routes, kinds, strict=True)
    )


def test_the_smallest_vehicles_go_first_and_others_move_on() -> None:
    vehicles = (VehicleType(3, "lorry", count=1), VehicleType(2, "van", count=1), VehicleType(1, "bicycle", count=1))
    instance = make_line(vehicles=vehicles)
    assert assign_vehicles(instance, [(1,), (2, 3)]) == (2, 1)
    assert sorted(assign_vehicles(instance, [(1,), (2,), (3,)])) == [0, 1, 2]


def test_routes_that_are_too_many_are_all_given_a_type() -> None:
    vehicles = (VehicleType(3, "lorry", count=1), VehicleType(2, "van", count=1))
    routes = [(1,), (2,), (3,)]
    for kinds in (
        assign_vehicles(make_line(vehicles=vehicles), routes),
        choose_types(make_line(vehicles=vehicles), routes),
    ):
        assert max(Counter(kinds).values()) == 2


@given(fleet_instances())
def test_customers_are_judged_alone_all_at_once_as_they_are_one_by_one(instance: Instance) -> None:
    if instance.has_times and not instance.knows_times:
        return
    legs = measure_depot_legs(instance)
    for index, kind in enumerate(instance.fleet):
        able = can_serve_alone(instance, kind, legs)[1:].tolist()
        assert able == [can_drive(instance, (customer,), index) for customer in range(1, instance.size + 1)]


@pytest.mark.parametrize("choose", [assign_vehicles, choose_types])
def test_vehicles_that_are_alike_are_used_one_after_the_other(choose: Callable[..., Sequence[int]]) -> None:
    vans = (VehicleType(1, "a", count=1), VehicleType(3, "b", count=1), VehicleType(1, "c", count=2))
    instance = make_line(vehicles=vans)
    assert tuple(choose(instance, ((1,), (2,), (3,)))) == (0, 2, 2)


@pytest.mark.parametrize("choose", [assign_vehicles, choose_types])
def test_more_routes_than_vehicles_leave_the_first_type_with_too_many(choose: Callable[..., Sequence[int]]) -> None:
    few = make_line(vehicles=(VehicleType(3, "a", count=2), VehicleType(3, "b", count=1)))
    assert tuple(choose(few, ((1,), (2,), (3,), (1,)))) == (0, 0, 1, 0)


@pytest.mark.parametrize("choose", [assign_vehicles, choose_types])
def test_a_thousand_types_are_chosen_from_without_comparing_them_in_pairs(choose: Callable[..., Sequence[int]]) -> None:
    fleet = tuple(VehicleType(3 + number, f"van {number}", count=1) for number in range(1000))
    assert tuple(choose(make_line(vehicles=fleet), ((1,), (2,), (3,)))) == (0, 1, 2)


@given(plans(), st.integers(0, 5))
def test_a_route_is_judged_for_all_types_at_once_as_for_each(plan: Plan, order: int) -> None:
    instance = plan.instance
    limits = _Limits.of(instance, instance.fleet)
    customers = list(range(1, instance.size + 1))
    for route in (*plan.solution.routes, customers[order:] + customers[:order], customers[::-1]):
        able = limits.allow(instance, route).tolist()
        assert able == [can_drive(instance, route, kind) for kind in range(len(instance.fleet))]
        lengths = limits.measure(instance, route).tolist()
        assert lengths == [measure_route(instance, route, kind) for kind in instance.fleet]
