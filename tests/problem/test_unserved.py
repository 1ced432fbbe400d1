"""Why customers are not served, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fleet_strategies import fleet_instances
from hypothesis import given
from hypothesis import strategies as st

from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.problem.unserved import count_unserved, explain_unserved, list_reasons


def street(*vehicles: VehicleType, **parts: Any) -> Instance:
    """Customers at 1, 2 and 3 on a line, with demands of 4, 4 and 5."""
    places = np.column_stack([np.arange(4.0), np.zeros(4)])
    fields = {"demands": [0, 4, 4, 5], "capacity": 10, "speed": 1.0, "vehicles": vehicles or None, **parts}
    return Instance(places, **fields)


def reason_of(instance: Instance, *routes: tuple[int, ...], vehicles: tuple[int, ...] | None = None) -> str:
    (found,) = explain_unserved(instance, Solution(routes, vehicles=vehicles))
    return found.reason


def test_plan_that_serves_all_has_nothing_to_explain() -> None:
    assert explain_unserved(street(), Solution(((1, 2), (3,)))) == ()


def test_full_vehicles_are_counted_with_the_room_that_is_left() -> None:
    room = "too little room (its demand is 5, at most"
    assert reason_of(street(VehicleType(10, count=1)), (1, 2)) == f"the only vehicle has {room} 2 is free)"
    assert reason_of(street(VehicleType(6, count=2)), (1,), (2,)) == f"both vehicles have {room} 2 is free)"


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"max_stops": 2}, "no stop left"),
        ({"max_distance": 4.5}, "too little distance left"),
        ({"max_duration": 4.5}, "too little time"),
    ],
)
def test_each_limit_is_named(limit: dict[str, float], words: str) -> None:
    instance = street(VehicleType(20, count=1, end="open", **limit))  # type: ignore[arg-type]
    assert reason_of(instance, (2, 1)) == f"the only vehicle has {words}"


def test_different_limits_are_told_apart() -> None:
    vehicles = (VehicleType(5, count=1), VehicleType(20, count=1, max_stops=1))

    assert reason_of(street(*vehicles), (1,), (2,), vehicles=(0, 1)) == (
        "of 2 vehicles, 1 has too little room (its demand is 5, at most 1 is free) and 1 has no stop left"
    )


def test_a_customer_that_no_vehicle_can_serve_even_alone_is_told_why() -> None:
    instance = street(VehicleType(20), windows=[[0, 99], [0, 99], [0, 99], [0, 2]])
    assert reason_of(instance, (1, 2)) == (
        "no vehicle can serve it, even alone: it is reached at 3 at the earliest, 1 after its window ends"
    )


def test_a_customer_that_could_be_served_is_told_by_whom() -> None:
    assert (
        reason_of(street(VehicleType(20, count=1)), (1, 2)) == "the plan leaves it out, although route 1 could serve it"
    )
    spare = street(VehicleType(8, "van", count=2))
    assert reason_of(spare, (1, 2)) == "the plan leaves it out, although another vehicle (van) could serve it"


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"not_together": ("", "x", "", "x")}, "serves customer 1 and customer 3 of group x, who may not be together"),
        (
            {"demands": [0, 5, 0, 4], "pickups": [0, 0, 4, 0], "partners": [0, 0, 3, 2], "max_ride": [9, 9, 0.5, 9]},
            "carries what it collects at customer 2 0.5 too long",
        ),
        (
            {"locked": ((2, 3),), "windows": [[0, 99]] * 3 + [[0, 2]]},
            "serves customer 3 from 3, 1 after its window ends",
        ),
        ({"buffer": 9, "windows": [[0, 99]] * 3 + [[0, 11]]}, "serves customer 3 from 3, 1 after its window ends"),
    ],
)
def test_a_rule_that_keeps_a_customer_out_is_told_for_the_vehicle(rules: dict[str, Any], words: str) -> None:
    instance = street(VehicleType(20, "van", count=1), **rules)
    reasons = {each.customer: each.reason for each in explain_unserved(instance, Solution(((1,),), vehicles=(0,)))}
    assert words in reasons[3]
    assert reasons[3].startswith("van: ")


def test_every_vehicle_has_a_reason_in_numbers_for_the_place_with_the_least_harm() -> None:
    vehicles = (VehicleType(20, "van", count=2, shift=(0, 5)), VehicleType(3, "bicycle", count=1))
    reasons = list_reasons(street(*vehicles), Solution(((1,), (2,)), vehicles=(0, 0)))
    assert reasons == {
        3: (
            "van 2: ends 1 after the end of its shift",
            "van: ends 1 after the end of its shift",
            "bicycle: carries 5, 2 more than the capacity 3 of bicycle",
        )
    }
    together = street(
        VehicleType(20, "van", count=1, shift=(0, 3), end="open"), windows=[[0, 99], [2, 9], [0, 9], [0, 9]]
    )
    assert list_reasons(together, Solution(((1,),), vehicles=(0,)))[3] == ("van: ends 1 after the end of its shift",)


def test_windows_without_travel_times_are_no_fault_of_the_vehicles() -> None:
    assert reason_of(street(windows=[[0, 99]] * 4, speed=None), (1, 2)) == "no route visits it"


def test_only_so_many_are_explained() -> None:
    assert [each.customer for each in explain_unserved(street(), Solution(()), most=2)] == [1, 2]


def test_count_is_written_as_in_a_sentence() -> None:
    assert (count_unserved(1), count_unserved(2)) == ("1 customer is not served", "2 customers are not served")


@given(st.data())
def test_every_customer_on_no_route_has_a_reason(data: st.DataObject) -> None:
    instance = data.draw(fleet_instances())
    order = data.draw(st.permutations(range(1, instance.size + 1)))
    served = data.draw(st.integers(0, instance.size))
    middle = served // 2
    solution = Solution((tuple(order[:middle]), tuple(order[middle:served])))

    found = explain_unserved(instance, solution)
    assert [each.customer for each in found] == sorted(order[served:])
    assert all(each.reason and each.reason[0].islower() and not each.reason.endswith((".", ": ")) for each in found)
