"""What cannot be is found before any search, and explained; what can be is never refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from brute_force import find_best_plan
from fleet_strategies import Plan, fleet_instances, plans
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaroute.base.errors import InstanceError
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.impossible import refuse_impossible
from dynaroute.problem.instance import Instance

LINE = np.array([[0.0, 0.0], [10.0, 0.0], [20.0, 0.0], [100.0, 0.0]])


def make_line(**parts: Any) -> Instance:
    given_parts: dict[str, Any] = {"demands": [0, 3, 4, 5], "capacity": 12, "speed": 1.0, **parts}
    return Instance(LINE, **given_parts)


def refusal_of(instance: Instance) -> InstanceError:
    with pytest.raises(InstanceError) as caught:
        refuse_impossible(instance)
    assert caught.value.remedy
    return caught.value


@given(plans())
def test_what_has_a_plan_is_not_refused(plan: Plan) -> None:
    refuse_impossible(plan.instance)


@settings(max_examples=80)
@given(fleet_instances(sizes=st.integers(1, 4)))
def test_what_is_refused_has_no_plan(instance: Instance) -> None:
    try:
        refuse_impossible(instance)
    except InstanceError:
        assert find_best_plan(instance) is None


def test_more_demand_than_the_fleet_carries() -> None:
    refusal = refusal_of(make_line(vehicles=(VehicleType(5, count=2),)))
    assert "demand 12" in refusal.message and "carry 10" in refusal.message and "2 too little" in refusal.message


def test_large_demands_that_only_few_vehicles_hold() -> None:
    refusal = refusal_of(make_line(vehicles=(VehicleType(5, "lorry", count=1), VehicleType(3, "van", count=9))))
    assert "customers above 3 demand 9" in refusal.message


def test_more_customers_than_stops() -> None:
    assert "3 customers" in refusal_of(make_line(vehicles=(VehicleType(12, count=1, max_stops=2),))).message


def test_longer_services_than_the_fleet_works() -> None:
    instance = make_line(vehicles=(VehicleType(12, count=1, max_duration=210),), service=[0, 80, 80, 60])
    assert "serving all customers takes 220" in refusal_of(instance).message


@pytest.mark.parametrize(
    ("parts", "customer", "words"),
    [
        ({"windows": [[0, math.inf], [0, 9], [0, math.inf], [0, math.inf]]}, 1, "at the earliest, 1 after its window"),
        ({"windows": [[0, 150], [0, 99], [0, 99], [0, 140]]}, 3, "is back at 200"),
        ({"vehicles": (VehicleType(12, shift=(0, 199)),)}, 3, "is back at 200"),
        ({"vehicles": (VehicleType(12, shift=(0, 15)),)}, 1, "is back at 20"),
        ({"vehicles": (VehicleType(12, max_distance=150),)}, 3, "above the longest distance 150"),
        ({"vehicles": (VehicleType(12, max_duration=150),)}, 3, "above the longest duration"),
        ({"vehicles": (VehicleType(12, end="open", max_distance=99),)}, 3, "the trip there is 100"),
        ({"vehicles": (VehicleType(12, max_duration=210),), "service": [0, 1, 1, 20]}, 3, "take 220"),
    ],
)
def test_a_customer_nobody_can_serve_is_named_with_the_reason(parts: dict[str, Any], customer: int, words: str) -> None:
    refusal = refusal_of(make_line(**parts))
    assert refusal.where.customer == customer
    assert words in refusal.message


def test_the_reason_is_told_for_each_type() -> None:
    vehicles = (VehicleType(12, "bicycle", max_distance=50), VehicleType(4, "van"))
    assert (
        "bicycle: the trip" in (told := refusal_of(make_line(vehicles=vehicles)).message)
        and "van: its demand is 5" in told
    )


def test_others_who_cannot_be_served_are_named_too() -> None:
    refusal = refusal_of(make_line(windows=[[0, math.inf], [0, 1], [0, 1], [0, 1]]))
    assert "The same is true of 2, 3." in refusal.message


def test_others_who_cannot_be_served_are_named_by_their_ids() -> None:
    windows = [[0, math.inf], [0, 1], [0, 1], [0, 1]]
    refusal = refusal_of(make_line(windows=windows, customer_names=("K07", "K08", "K11")))
    assert "customer 1 (K07)" in refusal.message and "The same is true of K08, K11." in refusal.message


def test_a_way_over_others_counts_where_it_is_shorter() -> None:
    distances = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 1.0], [9.0, 1.0, 0.0]])
    instance = Instance(None, np.array([0, 1, 1]), 2, distances=distances, vehicles=(VehicleType(2, max_distance=4),))
    refuse_impossible(instance)


def test_windows_without_a_speed_are_refused() -> None:
    assert refusal_of(make_line(windows=[[0, 9]] * 4, speed=None)).where.field == "speed"


def test_a_way_round_is_looked_for_no_longer_than_there_is_time() -> None:
    distances = np.full((4, 4), 50.0)
    far = make_line(distances=distances, vehicles=(VehicleType(12, max_distance=20.0),))
    assert "above the longest distance" in refusal_of(far).message
    answers = iter([False, True])
    refuse_impossible(far, lambda: next(answers))


def test_the_reason_names_the_smallest_capacity_whose_larger_vehicles_are_too_few() -> None:
    fleet = tuple(VehicleType(1 + number, f"van {number}", count=1) for number in range(1000))
    refuse_impossible(make_line(vehicles=fleet))
    refusal = refusal_of(make_line(demands=[0, 999, 999, 999], vehicles=fleet))
    assert "customers above 998 demand 2997, but the vehicles that can serve them carry 1999" in refusal.message
