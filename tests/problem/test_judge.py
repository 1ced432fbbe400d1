"""Every single fault of a plan is found, by its kind, and what is within the tolerance is none."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fleet_strategies import Plan, plans
from hypothesis import assume, given
from hypothesis import strategies as st

from dynaroute.base.errors import InstanceError
from dynaroute.problem.fleet import TOLERANCE, VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.judging.route import Violation
from dynaroute.problem.solution import Solution, check, make_timetable
from dynaroute.problem.timetable import measure_route

MORE, LESS = 1e-5, 5e-7  # than the tolerance


def kinds_of(violations: list[Violation]) -> set[str]:
    return {violation.kind for violation in violations}


def with_limit(plan: Plan, kind: int, **limit: Any) -> Instance:
    """The problem with another limit of one type of vehicles."""
    vehicles = list(plan.instance.fleet)
    vehicles[kind] = replace(vehicles[kind], **limit)
    return replace(plan.instance, vehicles=tuple(vehicles))


@st.composite
def chosen_routes(draw: st.DrawFn) -> tuple[Plan, int]:
    plan = draw(plans())
    return plan, draw(st.integers(0, len(plan.solution.routes) - 1))


def route_of(plan: Plan, index: int) -> tuple[tuple[int, ...], int]:
    assert plan.solution.vehicles is not None
    return plan.solution.routes[index], plan.solution.vehicles[index]


@given(plans(), st.data())
def test_a_customer_left_out_is_missing(plan: Plan, data: st.DataObject) -> None:
    gone = data.draw(st.integers(1, plan.instance.size))
    routes = tuple(tuple(customer for customer in route if customer != gone) for route in plan.solution.routes)
    violations = check(plan.instance, replace(plan.solution, routes=routes))
    assert ("missing", gone) in {(violation.kind, violation.customer) for violation in violations}


@given(chosen_routes())
def test_a_customer_visited_again_is_repeated(chosen: tuple[Plan, int]) -> None:
    plan, index = chosen
    routes = list(plan.solution.routes)
    again = routes[0][0]
    routes[index] = (*routes[index], again)
    violations = check(plan.instance, replace(plan.solution, routes=tuple(routes)))
    assert ("repeated", again) in {(violation.kind, violation.customer) for violation in violations}


@given(chosen_routes(), st.sampled_from((-1, 0, 99)))
def test_a_customer_who_does_not_exist_is_unknown(chosen: tuple[Plan, int], stranger: int) -> None:
    plan, index = chosen
    routes = list(plan.solution.routes)
    routes[index] = (*routes[index], stranger)
    assert "unknown" in kinds_of(check(plan.instance, replace(plan.solution, routes=tuple(routes))))


@given(chosen_routes(), st.sampled_from((-1, 2, 7)))
def test_a_type_that_does_not_exist_is_no_such_vehicle(chosen: tuple[Plan, int], stranger: int) -> None:
    plan, index = chosen
    assert plan.solution.vehicles is not None
    vehicles = [*plan.solution.vehicles]
    vehicles[index] = stranger
    violations = check(plan.instance, replace(plan.solution, vehicles=tuple(vehicles)))
    assert ("no_such_vehicle", index + 1) in {(violation.kind, violation.route) for violation in violations}


@given(chosen_routes())
def test_one_unit_too_much_is_an_overload(chosen: tuple[Plan, int]) -> None:
    plan, index = chosen
    route, kind = route_of(plan, index)
    demands = plan.instance.demands.copy()
    demands[route[0]] += plan.instance.fleet[kind].capacities[0] - int(demands[list(route)].sum()) + 1
    assume(demands.max() <= plan.instance.capacity)
    violations = check(replace(plan.instance, demands=demands), plan.solution)
    assert [(violation.kind, violation.route) for violation in violations] == [("overload", index + 1)]


@given(chosen_routes())
def test_a_vehicle_too_many_is_a_fault_of_the_fleet(chosen: tuple[Plan, int]) -> None:
    plan, index = chosen
    _, kind = route_of(plan, index)
    assert plan.solution.vehicles is not None
    used = plan.solution.vehicles.count(kind)
    assume(used > 1)
    assert kinds_of(check(with_limit(plan, kind, count=used - 1), plan.solution)) == {"fleet"}


@given(chosen_routes())
def test_a_stop_too_many_is_found(chosen: tuple[Plan, int]) -> None:
    plan, index = chosen
    route, kind = route_of(plan, index)
    assume(len(route) > 1)
    violations = check(with_limit(plan, kind, max_stops=len(route) - 1), plan.solution)
    assert kinds_of(violations) == {"too_many_stops"}
    assert index + 1 in {violation.route for violation in violations}


@given(chosen_routes())
def test_too_far_is_found_beyond_the_tolerance(chosen: tuple[Plan, int]) -> None:
    plan, index = chosen
    route, kind = route_of(plan, index)
    length = measure_route(plan.instance, route, plan.instance.fleet[kind])
    assume(length > 1)
    assert "too_far" in kinds_of(check(with_limit(plan, kind, max_distance=length - MORE), plan.solution))
    within = check(with_limit(plan, kind, max_distance=length - LESS), plan.solution)
    assert ("too_far", index + 1) not in {(violation.kind, violation.route) for violation in within}


@given(chosen_routes())
def test_too_long_is_found_beyond_the_tolerance(chosen: tuple[Plan, int]) -> None:
    plan, index = chosen
    _, kind = route_of(plan, index)
    duration = make_timetable(plan.instance, plan.solution)[index].duration
    assume(duration > 1)
    assert "too_long" in kinds_of(check(with_limit(plan, kind, max_duration=duration - MORE), plan.solution))
    within = check(with_limit(plan, kind, max_duration=duration - LESS), plan.solution)
    assert ("too_long", index + 1) not in {(violation.kind, violation.route) for violation in within}


@given(chosen_routes())
def test_the_end_of_a_shift_is_kept_to_the_tolerance(chosen: tuple[Plan, int]) -> None:
    plan, index = chosen
    _, kind = route_of(plan, index)
    end = make_timetable(with_limit(plan, kind, shift=None), plan.solution)[index].end
    assume(end > 1)
    violations = check(with_limit(plan, kind, shift=(0, end - MORE)), plan.solution)
    assert ("late", index + 1, None) in {(found.kind, found.route, found.customer) for found in violations}
    within = check(with_limit(plan, kind, shift=(0, end - LESS)), plan.solution)
    assert ("late", index + 1, None) not in {(found.kind, found.route, found.customer) for found in within}


@given(chosen_routes(), st.data())
def test_whoever_is_served_after_the_window_is_late(chosen: tuple[Plan, int], data: st.DataObject) -> None:
    plan, index = chosen
    route, _ = route_of(plan, index)
    place = data.draw(st.integers(0, len(route) - 1))
    earliest = _first_starts(plan, index)[place]
    assume(earliest > max(1, _windows(plan.instance)[route[place], 0] + 2 * MORE))  # nobody waits there
    for excess, expected in ((MORE, True), (LESS, False)):
        windows = _windows(plan.instance)
        windows[route[place], 1] = earliest - excess
        violations = check(replace(plan.instance, windows=windows), plan.solution)
        assert (("late", route[place]) in {(found.kind, found.customer) for found in violations}) == expected


@given(chosen_routes())
def test_whoever_is_back_after_the_depot_closes_is_late(chosen: tuple[Plan, int]) -> None:
    plan, index = chosen
    _, kind = route_of(plan, index)
    end = make_timetable(plan.instance, plan.solution)[index].end
    assume(end > 1)
    windows = _windows(plan.instance)
    windows[0, 1] = end - MORE
    late = {(found.kind, found.route) for found in check(replace(plan.instance, windows=windows), plan.solution)}
    assert (("late", index + 1) in late) == (plan.instance.fleet[kind].end == "depot")


@given(plans(), st.floats(0.01, 3))
def test_a_wrong_stated_cost_is_found(plan: Plan, error: float) -> None:
    cost = plan.solution.cost(plan.instance)
    assert check(plan.instance, replace(plan.solution, stated_cost=cost)) == []
    wrong = replace(plan.solution, stated_cost=cost * (1 + error) + 1)
    assert kinds_of(check(plan.instance, wrong)) == {"cost"}


def _first_starts(plan: Plan, index: int) -> list[float]:
    """When services begin if the vehicle departs at once."""
    instance = plan.instance
    route, kind = route_of(plan, index)
    shift = instance.fleet[kind].shift
    clock = max(float(_windows(instance)[0, 0]), shift[0] if shift else 0.0)
    starts = []
    for start, end in zip((0, *route), route, strict=False):
        clock = max(clock + float(instance.leg_durations(start, end)), float(_windows(instance)[end, 0]))
        starts.append(clock)
        clock += 0.0 if instance.service is None else float(instance.service[end])
    return starts


def _windows(instance: Instance) -> np.ndarray:
    if instance.windows is None:
        return np.tile([0.0, math.inf], (instance.size + 1, 1))
    return instance.windows.copy()


def test_the_message_says_who_is_late_and_by_how_much() -> None:
    instance = Instance(
        np.array([[0.0, 0.0], [6000.0, 0.0]]), np.array([0, 1]), 5, speed=10.0, windows=np.array([[0, 9e4], [0, 300.0]])
    )
    (violation,) = check(instance, Solution(((1,),)))
    assert violation.message == "Route 1 serves customer 1 from 00:10, 5 min after its window ends."
    (violation,) = check(replace(instance, customer_names=("Meyer",)), Solution(((1,),)))
    assert "serves customer 1 (Meyer) from" in violation.message


def test_waiting_counts_only_where_no_departure_avoids_it() -> None:
    windows = np.array([[0, math.inf], [100, 200.0]])
    instance = Instance(
        np.array([[0.0, 0.0], [10.0, 0.0]]),
        np.array([0, 1]),
        5,
        speed=1.0,
        windows=windows,
        vehicles=(VehicleType(5, max_duration=20),),
    )
    assert check(instance, Solution(((1,),))) == []


def test_windows_without_a_speed_cannot_be_judged() -> None:
    instance = Instance(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([0, 1]), 5, windows=np.array([[0, 9], [0, 9.0]]))
    with pytest.raises(InstanceError, match="speed"):
        check(instance, Solution(((1,),)))


def test_the_tolerance_is_a_millionth() -> None:
    assert TOLERANCE == 1e-6


def test_types_by_name_are_those_of_the_instance() -> None:
    vehicles = (VehicleType(5, "van"), VehicleType(9, "lorry", count=1))
    instance = Instance(np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]), np.array([0, 5, 6]), 1, vehicles=vehicles)
    assert check(instance, Solution(((1,), (2,)), vehicle_names=("van", "lorry"))) == []
    assert kinds_of(check(instance, Solution(((1,), (2,)), vehicle_names=("lorry", "lorry")))) == {"fleet"}
    assert kinds_of(check(instance, Solution(((1,), (2,)), vehicle_names=("van", "ship")))) == {"no_such_vehicle"}
