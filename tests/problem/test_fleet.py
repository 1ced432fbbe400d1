"""Types of vehicles check themselves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dynaroute.base.errors import InstanceError
from dynaroute.problem.fleet import VehicleType, merge_alike


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("capacity", None),
        ("capacity", 0),
        ("capacity", -5),
        ("capacity", 2.5),
        ("capacity", True),
        ("count", 0),
        ("count", 1.5),
        ("count", "three"),
        ("count", 10**400),
        ("max_stops", 0),
        ("max_duration", 0),
        ("max_duration", -1.0),
        ("max_duration", math.nan),
        ("max_duration", math.inf),
        ("max_distance", "far"),
        ("max_distance", 0.0),
        ("max_distance", 10**400),
        ("max_duration", -(10**400)),
        ("shift", 8),
        ("shift", (1, 2, 3)),
        ("shift", (10, 5)),
        ("shift", (-1, 5)),
        ("shift", (0, math.nan)),
        ("shift", (0, 10**400)),
        ("end", 8),
        ("start", "open"),
        ("start", ""),
        ("capacity", ()),
        ("capacity", (5, 0)),
        ("fixed_cost", -1),
        ("distance_cost", math.nan),
        ("time_cost", "dear"),
        ("overtime", 3600),
        ("max_driving", 0),
        ("speed_factor", 0),
        ("service_factor", -1),
        ("breaks", ("lunch",)),
        ("reload", "depot"),
        ("max_trips", 2),
        ("loading", -1),
        ("skills", ("",)),
        ("initial_load", 11),
        ("initial_load", (1, 1)),
        ("profile", None),
        ("name", 7),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_by_its_field(field: str, value: object) -> None:
    given: dict[str, Any] = {"capacity": 10, field: value}
    with pytest.raises(InstanceError) as refusal:
        VehicleType(**given)
    assert refusal.value.where.field == field
    assert refusal.value.remedy


def test_numbers_of_numpy_become_those_of_python() -> None:
    numbers: dict[str, Any] = {"count": np.int32(2), "max_duration": np.float32(3), "shift": (np.float64(0), 9)}
    vehicle = VehicleType(int(np.int64(5)), **numbers)
    assert [type(value) for value in (vehicle.capacity, vehicle.count, vehicle.max_duration)] == [int, int, float]
    assert vehicle.shift == (0.0, 9.0)


def test_a_vehicle_with_a_capacity_alone_is_plain() -> None:
    assert VehicleType(5, name="van").is_plain


@pytest.mark.parametrize(
    "limit", [{"count": 1}, {"max_duration": 1}, {"max_distance": 1}, {"shift": (0, 1)}, {"max_stops": 1}]
)
def test_a_limit_makes_a_vehicle_other_than_plain(limit: dict[str, Any]) -> None:
    assert not VehicleType(5, **limit).is_plain


def test_an_open_end_makes_a_vehicle_other_than_plain() -> None:
    assert not VehicleType(5, end="open").is_plain


def test_types_that_differ_only_in_name_and_number_are_one_type_with_all_their_vehicles() -> None:
    fleet = (VehicleType(5, "a", 2), VehicleType(7, "b", 1), VehicleType(5, "c", 3), VehicleType(5, "d", 1, end="open"))
    alike = merge_alike(fleet)
    assert [each.members for each in alike] == [(0, 2), (1,), (3,)]
    assert [each.merged.count for each in alike] == [5, 1, 1]
    assert list(alike[0].list_vehicles(fleet)) == [0, 0, 2, 2, 2]


def test_as_many_vehicles_as_needed_of_one_type_are_enough_for_all_that_are_alike() -> None:
    (alike,) = merge_alike((VehicleType(5, "a", 2), VehicleType(5, "b")))
    assert alike.merged.count is None


@pytest.mark.parametrize("limit", [{"max_duration": 9.0}, {"max_distance": 9.0}, {"shift": (0, 9)}, {"max_stops": 2}])
def test_any_other_limit_makes_types_different(limit: dict[str, Any]) -> None:
    assert len(merge_alike((VehicleType(5), VehicleType(5, **limit)))) == 2
