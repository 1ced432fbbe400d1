"""A fleet, limits and a speed that are given beside a file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dynaroute.base.errors import DynarouteError, InstanceError, OptionError
from dynaroute.formats.fleet_options import FleetOptions, VehicleList
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance

PLACES = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]])


def make(**parts: Any) -> Instance:
    return Instance(PLACES, np.array([0, 15, 20]), 50, demand_scale=10, **parts)


def test_nothing_said_changes_nothing() -> None:
    assert FleetOptions().apply(make()) == make()


def test_a_number_and_limits_are_those_of_the_one_type() -> None:
    options = FleetOptions(vehicles=3, max_duration=60, max_distance=9, speed=2.0)
    assert options.apply(make()).fleet == (VehicleType(50, count=3, max_duration=60, max_distance=9),)


def test_limits_go_before_those_of_every_type_of_the_file() -> None:
    vehicles = (VehicleType(30, "van", max_distance=5), VehicleType(50, "lorry"))
    changed = FleetOptions(max_distance=7).apply(make(vehicles=vehicles))
    assert [kind.max_distance for kind in changed.fleet] == [7, 7]


def test_a_number_beside_several_types_is_refused() -> None:
    with pytest.raises(OptionError, match="2 vehicle types"):
        FleetOptions(vehicles=3).apply(make(vehicles=(VehicleType(30, "van"), VehicleType(50, "lorry"))))


def test_types_are_scaled_to_the_unit_of_the_demands() -> None:
    changed = FleetOptions(vehicles=VehicleList((VehicleType(225, "van"),), scale=100)).apply(make())
    assert changed.demands.tolist() == [0, 150, 200]
    assert changed.capacity == 225 and changed.demand_scale == 100


def test_types_too_small_for_a_demand_are_refused() -> None:
    with pytest.raises(InstanceError) as caught:
        FleetOptions(vehicles=VehicleList((VehicleType(1, "van"),))).apply(make())
    assert caught.value.where.customer == 1


def test_a_limit_of_time_without_a_speed_is_refused() -> None:
    with pytest.raises(InstanceError, match="speed"):
        FleetOptions(max_duration=60).apply(make())


def test_windows_of_a_file_need_a_speed_of_the_options() -> None:
    timeless = make(windows=np.array([[0, 9], [0, 9], [0, 9.0]]))
    with pytest.raises(InstanceError, match="speed"):
        FleetOptions().apply(timeless)
    assert FleetOptions(speed=1).apply(timeless).knows_times


@pytest.mark.parametrize("options", [{"vehicles": 0}, {"max_duration": -1.0, "speed": 1.0}, {"speed": 0.0}])
def test_what_cannot_be_meant_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(DynarouteError):
        FleetOptions(**options).apply(make())


def test_another_rounding_is_that_of_the_lengths() -> None:
    assert FleetOptions(rounding="up").apply(make()).leg_lengths(0, 1) == 2


def test_a_matrix_is_not_rounded_again() -> None:
    with pytest.raises(OptionError, match="matrix"):
        FleetOptions(rounding="dimacs").apply(make(distances=np.ones((3, 3))))


def test_vehicles_that_have_begun_their_routes_are_not_replaced() -> None:
    begun = make(vehicles=(VehicleType(50, count=1, beginning=(1,)),))
    with pytest.raises(OptionError) as refusal:
        FleetOptions(vehicles=VehicleList((VehicleType(90),))).apply(begun)
    assert refusal.value.where.field == "vehicles"


def test_customers_keep_their_usual_vehicles_by_name_if_the_vehicles_are_replaced() -> None:
    vehicles = (VehicleType(50, "a"), VehicleType(50, "b"))
    known = make(vehicles=vehicles, usual_vehicles=np.array([-1, 0, 1]), change_cost=3)
    others = VehicleList((VehicleType(90, "c"), VehicleType(90, "a")))
    usual = FleetOptions(vehicles=others).apply(known).usual_vehicles
    assert usual is not None
    assert usual.tolist() == [-1, 1, -1]
