"""Types of vehicles check themselves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dynaroute.errors import InstanceError
from dynaroute.fleet import VehicleType


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
        ("max_stops", 0),
        ("max_duration", 0),
        ("max_duration", -1.0),
        ("max_duration", math.nan),
        ("max_duration", math.inf),
        ("max_distance", "far"),
        ("max_distance", 0.0),
        ("shift", 8),
        ("shift", (1, 2, 3)),
        ("shift", (10, 5)),
        ("shift", (-1, 5)),
        ("shift", (0, math.nan)),
        ("end", "home"),
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
