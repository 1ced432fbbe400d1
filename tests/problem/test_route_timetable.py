"""Times of routes, and who drives them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest
from fleet_strategies import Plan, fleet_instances, plans
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaroute.base.errors import InstanceError
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.judge import choose_types, judge_fleet, judge_route
from dynaroute.problem.solution import Solution, check, make_timetable, recompute_cost
from dynaroute.problem.timetable import (
    _Limits,
    assign_vehicles,
    can_drive,
    can_serve_alone,
    measure_depot_legs,
    measure_route,
    schedule_route,
)

LINE = np.array([[0.0, 0.0], [10.0, 0.0], [20.0, 0.0], [30.0, 0.0]])


def make_line(**parts: object) -> Instance:
    """Customers 10, 20 and 30 away, a unit of distance a second."""
    given: dict[str, object] = {"demands": [0, 1, 1, 1], "capacity": 3, "speed": 1.0, **parts}
    return Instance(LINE, **given)  # type: ignore[arg-type]


def test_a_vehicle_leaves_as_late_as_does_no_harm() -> None:
    instance = make_line(windows=[[0, math.inf], [50, 60], [0, 62], [0, math.inf]])
    (times,) = make_timetable(instance, Solution(((1, 2, 3),)))
    assert times.departure == 40
    assert [stop.start for stop in times.stops] == [50, 60, 70]
    assert times.waiting == 0 and times.end == 100 and times.duration == 60


def test_a_later_window_that_closes_soon_keeps_the_departure_early() -> None:
    instance = make_line(windows=[[0, math.inf], [0, 12], [50, 60], [0, math.inf]])
    (times,) = make_timetable(instance, Solution(((1, 2, 3),)))
    assert times.departure == 2
    assert times.stops[1].waiting == 28


def test_who_is_late_is_served_on_arrival() -> None:
    instance = make_line(windows=[[0, math.inf], [0, math.inf], [0, 5], [0, math.inf]])
    (times,) = make_timetable(instance, Solution(((2, 3),)))
    assert times.stops[0].start == times.stops[0].arrival == 20


def test_an_open_route_ends_when_its_last_service_ends() -> None:
    instance = make_line(vehicles=(VehicleType(3, end="open"),), service=[0, 1, 1, 7])
    (times,) = make_timetable(instance, Solution(((1, 2, 3),)))
    assert (times.end, times.distance) == (39, 30)


def test_a_shift_begins_the_route() -> None:
    instance = make_line(vehicles=(VehicleType(3, shift=(100, 300)),))
    assert make_timetable(instance, Solution(((1,),)))[0].departure == 100


def test_the_stops_tell_what_was_driven_and_delivered_so_far() -> None:
    (times,) = make_timetable(make_line(), Solution(((1, 2, 3),)))
    assert [(stop.distance, stop.load) for stop in times.stops] == [(10, 1), (20, 2), (30, 3)]
    assert (times.distance, times.load) == (60, 3)


def test_without_a_speed_there_is_no_timetable() -> None:
    with pytest.raises(InstanceError, match="speed"):
        make_timetable(Instance(LINE, np.array([0, 1, 1, 1]), 3), Solution(((1,),)))


@given(fleet_instances(), st.data())
def test_no_departure_that_makes_nobody_later_has_a_shorter_route(instance: Instance, data: st.DataObject) -> None:
    route = data.draw(st.permutations(range(1, instance.size + 1)))
    times = schedule_route(instance, route, 0)
    at_once = _drive(instance, route, 0.0 if instance.windows is None else float(instance.windows[0, 0]))
    latest = [math.inf] * instance.size if instance.windows is None else instance.windows[route, 1].tolist()
    for delay in np.linspace(0, 200, 80):
        starts = _drive(instance, route, times.departure + delay)
        if all(s <= max(late, first) + 1e-9 for s, late, first in zip(starts, latest, at_once, strict=True)):
            assert starts[-1] - (times.departure + delay) >= times.stops[-1].start - times.departure - 1e-6


def _drive(instance: Instance, route: list[int], departure: float) -> list[float]:
    starts, clock = [], departure
    for start, end in zip([0, *route], route, strict=False):
        clock += float(instance.leg_durations(start, end))
        clock = max(clock, 0.0 if instance.windows is None else float(instance.windows[end, 0]))
        starts.append(clock)
        clock += 0.0 if instance.service is None else float(instance.service[end])
    return starts


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
