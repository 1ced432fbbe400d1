"""Instances with fleets as arrays."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fleet_problems import make_delivery_day
from fleet_strategies import fleet_instances
from hypothesis import given, settings

from dynaroute.base.stopping import OutOfTimeError
from dynaroute.problem.assigning import can_drive
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.profiles import Profile
from dynaroute.problem.timetable import measure_route
from dynaroute.problem.working_day import Overtime
from dynaroute.search.with_limits.problem import count_fewest_routes, price_routes, read_problem

_CLOCK = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [0.0, 3.0]])


@settings(max_examples=60, deadline=None)
@given(fleet_instances())
def test_a_route_to_one_customer_is_priced_where_a_vehicle_can_drive_it(instance: Instance) -> None:
    problem = read_problem(instance)
    for customer in range(1, instance.size + 1):
        for kind, vehicle in enumerate(instance.fleet):
            price = problem.alone[customer, kind]
            assert math.isfinite(price) == can_drive(instance, (customer,), kind)
            if math.isfinite(price):
                assert price == pytest.approx(measure_route(instance, (customer,), vehicle))


def test_who_cannot_follow_somebody_in_time_is_not_listed() -> None:
    windows = np.array([[0.0, 100.0], [50.0, 51.0], [0.0, 5.0], [0.0, 100.0]])
    instance = Instance(_CLOCK, np.array([0, 1, 1, 1]), 3, windows=windows, speed=1.0)
    problem = read_problem(instance)
    assert problem.after[1].tolist() == [3, -1]
    assert problem.before[2].tolist() == [3, -1]
    assert problem.is_before[2, 1]
    assert not problem.is_before[1, 2]


def test_who_has_to_be_waited_for_is_less_near() -> None:
    windows = np.array([[0.0, 100.0], [0.0, 5.0], [60.0, 65.0], [0.0, 5.0]])
    instance = Instance(_CLOCK, np.array([0, 1, 1, 1]), 3, windows=windows, speed=1.0)
    assert read_problem(instance).neighbours[1].tolist() == [3, 2]


def test_the_way_back_of_open_routes_costs_nothing() -> None:
    types = VehicleType(3, "there and back"), VehicleType(3, "one way", end="open")
    problem = read_problem(Instance(_CLOCK, np.array([0, 1, 1, 1]), 3, vehicles=types))
    assert problem.cost(((0, 1, 2, 3),)) == 6.0
    assert problem.cost(((1, 1, 2, 3),)) == 3.0


def test_vehicles_are_of_one_class_if_they_differ_only_in_capacity_and_prices() -> None:
    twice = Profile("detours", distances=2 * np.abs(_CLOCK[:, None, 1] - _CLOCK[None, :, 1]))
    types = (
        VehicleType(3, "van", fixed_cost=1.0),
        VehicleType(9, "truck", fixed_cost=2.0, time_cost=1.0, overtime=Overtime(60.0, 60.0, 2.0)),
        VehicleType(9, "late truck", fixed_cost=2.0, overtime=Overtime(60.0, 60.0, 3.0)),
        VehicleType(9, "tractor", fixed_cost=2.0, profile="detours"),
        VehicleType(9, "bicycle", fixed_cost=2.0, speed_factor=0.5),
        VehicleType(3, "rented van", fixed_cost=5.0),
    )
    instance = Instance(_CLOCK, np.array([0, 1, 1, 1]), 9, vehicles=types, speed=1.0, profiles=(twice,))
    assert read_problem(instance).rules.classes.tolist() == [0, 1, 1, 2, 3, 0]


def test_a_customer_left_out_costs_more_than_any_plan_and_a_vehicle_more_than_any_way() -> None:
    problem = read_problem(make_delivery_day(), vehicles_first=True)
    everybody = tuple((0, customer) for customer in range(1, problem.size + 1))
    assert price_routes(problem, everybody[1:]) > price_routes(problem, everybody)
    assert price_routes(problem, ((0, *range(1, problem.size + 1)),)) < price_routes(problem, everybody)


@pytest.mark.parametrize(
    ("types", "fewest"),
    [
        ((VehicleType(4),), 3),
        ((VehicleType(8, count=1), VehicleType(2)), 3),
        ((VehicleType(100, max_stops=2),), 2),
    ],
)
def test_the_fewest_routes_hold_all_demand_and_all_stops(types: tuple[VehicleType, ...], fewest: int) -> None:
    instance = Instance(_CLOCK, np.array([0, 4, 4, 4]), 4, vehicles=types)
    assert count_fewest_routes(read_problem(instance)) == fewest


def test_it_gives_up_when_the_time_is_over() -> None:
    with pytest.raises(OutOfTimeError):
        read_problem(make_delivery_day(), is_time_up=lambda: True)
