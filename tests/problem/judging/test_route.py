"""Each rule is judged: a plan that keeps it passes, one fault is one violation of its kind."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.places import Place
from dynaroute.problem.profiles import Profile
from dynaroute.problem.solution import Solution, check
from dynaroute.problem.working_day import Balance, Break, Overtime

LINE = [[0.0, 0.0], [10, 0], [20, 0], [30, 0]]
FREE = math.inf
LIFT = frozenset({"lift"})
NONE: frozenset[str] = frozenset()
ALWAYS = [0.0, FREE]


def line(vehicles: tuple[VehicleType, ...] = (VehicleType(9),), **changes: Any) -> Instance:
    """Three customers on a line, 10 seconds from one to the next."""
    fields: dict[str, Any] = {"demands": [0, 2, 3, 4], "capacity": 9, "speed": 1.0} | changes
    return Instance(np.array(LINE), vehicles=vehicles, **fields)


def van(**fields: Any) -> tuple[VehicleType, ...]:
    return (VehicleType(fields.pop("capacity", 9), **fields),)


# the rule; right routes; wrong routes; the kind of their only violation, or the kinds
CASES: dict[str, tuple[Instance, list[tuple[int, ...]], list[tuple[int, ...]], str]] = {
    "pickups": (line(pickups=[0, 2, 0, 0]), [(3, 2, 1)], [(1, 2), (3,)], ""),
    "too much on board": (line(van(capacity=9), pickups=[0, 3, 0, 0]), [(3, 2, 1)], [(1, 3, 2)], "overload"),
    "a second dimension": (
        line(van(capacity=(9, 2)), demands=[[0, 0], [2, 1], [3, 1], [4, 1]], dimensions=("kg", "pallets")),
        [(1, 2), (3,)],
        [(1, 2, 3)],
        "overload",
    ),
    "a load at the start": (line(van(initial_load=4)), [(1, 2), (3,)], [(1, 2, 3)], "overload"),
    "strict backhauls": (
        line(demands=[0, 2, 3, 0], pickups=[0, 0, 0, 4], backhauls="strict"),
        [(1, 2, 3)],
        [(1, 3, 2)],
        "backhaul",
    ),
    "no trip of backhauls alone": (
        line(demands=[0, 2, 3, 0], pickups=[0, 0, 0, 4], backhauls="strict"),
        [(1, 2, 3)],
        [(1, 2), (3,)],
        "backhaul",
    ),
    "backhauls last, but also alone": (
        line(demands=[0, 2, 3, 0], pickups=[0, 0, 0, 4], backhauls="last"),
        [(1, 2), (3,)],
        [(1, 3, 2)],
        "backhaul",
    ),
    "a shipment's order": (
        line(demands=[0, 0, 3, 4], pickups=[0, 3, 0, 0], partners=[0, 2, 1, 0]),
        [(1, 2), (3,)],
        [(3, 2, 1)],
        "pair",
    ),
    "skills": (
        line((VehicleType(9, "a"), VehicleType(9, "b", skills=LIFT)), skills=(NONE, LIFT, NONE, NONE)),
        [(2, 3), (1,)],
        [(1,), (2, 3)],
        "skill",
    ),
    "allowed vehicles": (
        line((VehicleType(9, "a"), VehicleType(9, "b")), vehicles_allowed=(NONE, frozenset({"b"}), NONE, NONE)),
        [(2, 3), (1,)],
        [(1,), (2, 3)],
        "skill",
    ),
    "forbidden vehicles": (
        line((VehicleType(9, "a"), VehicleType(9, "b")), vehicles_forbidden=(NONE, frozenset({"a"}), NONE, NONE)),
        [(2, 3), (1,)],
        [(1,), (2, 3)],
        "skill",
    ),
    "reloads": (line(van(reload=("depot",), max_trips=2)), [(1, 2, 0, 3)], [(1, 0, 2, 0, 3)], "reload"),
    "no other place": (
        line(van(reload=("depot",)), places=(Place("home", 5, 5),)),
        [(1, 2, 0, 3)],
        [(1, 2, 4, 3)],
        "place",
    ),
    "a second window": (
        line(windows=[[ALWAYS] * 2, [[0, 12], [30, 40]], [ALWAYS] * 2, [ALWAYS] * 2]),
        [(2, 1), (3,)],
        [(1,), (2, 3)],
        "",
    ),
    "between two windows": (
        line(van(shift=(20, 100)), windows=[[ALWAYS] * 2, [[0, 12], [13, 25]], [ALWAYS] * 2, [ALWAYS] * 2]),
        [(2, 3), (3,)],
        [(1, 2, 3)],
        "late",
    ),
    "a break": (line(van(breaks=(Break(5, (12, 25)),), shift=(0, 65))), [(1, 2, 3)], [(1,), (2,)], ""),
    "no place for a break": (line(van(breaks=(Break(5, (2, 4)),), shift=(0, 61))), [(1, 2)], [(1, 2, 3)], "break"),
    "driving": (line(van(max_driving=50)), [(1, 2), (1,)], [(1, 2, 3)], "driving"),
    "overtime": (line(van(overtime=Overtime(30, 20, 1))), [(1, 2), (1,)], [(1, 2, 3)], "too_long"),
    "a release": (
        line(van(shift=(0, 90)), release=[0, 25, 0, 0]),
        [(1, 2, 3)],
        [(1,), (2, 3)],
        "",
    ),
    "a late release": (line(van(shift=(0, 90)), release=[0, 0, 31, 0]), [(1,), (2,)], [(1, 2, 3)], "release, late"),
    "a home": (
        line(van(end="home", max_distance=40), places=(Place("home", 40, 0),)),
        [(1, 2, 3)],
        [(3, 2, 1)],
        "too_far",
    ),
    "a place that closes": (
        line(van(end="home"), places=(Place("home", 40, 0, (0, 45)),)),
        [(1, 2, 3)],
        [(2, 1, 3)],
        "late",
    ),
    "a slow vehicle": (line(van(speed_factor=0.5, max_duration=100)), [(1, 2), (1,)], [(1, 2, 3)], "too_long"),
    "a slow driver": (
        line(van(service_factor=2, max_duration=100), service=[0, 10, 10, 10]),
        [(1, 2), (1,)],
        [(1, 2, 3)],
        "too_long",
    ),
    "the same vehicle": (line(same_vehicle=("", "x", "x", "")), [(1, 2), (3,)], [(1,), (2, 3)], "group"),
    "not together": (line(not_together=("", "x", "x", "")), [(1,), (2, 3)], [(1, 2), (3,)], "group"),
    "one of two": (line(one_of=("", "x", "x", "")), [(1, 3)], [(1, 2, 3)], "group"),
    "one of two, but none": (line(one_of=("", "x", "x", "")), [(2, 3)], [(3,)], "group"),
    "an optional customer": (line(prizes=[FREE, FREE, 5, FREE]), [(1, 3)], [(1, 2)], "missing"),
    "a priority": (line(priorities=[math.nan, math.nan, 0, math.nan]), [(1, 3)], [(1, 2)], "missing"),
    "a price of lateness": (
        line(windows=[ALWAYS, [0, 5], ALWAYS, [0, 5]], late_costs=[FREE, 2, FREE, FREE]),
        [(1, 2)],
        [(1, 2), (3,)],
        "late",
    ),
    "a least number of vehicles": (line(van(min_vehicles=2)), [(1,), (2, 3)], [(1, 2, 3)], "fleet"),
    "a beginning": (line(van(beginning=(2, 1), count=1)), [(2, 1, 3)], [(2, 3, 1)], "frozen"),
    "a beginning of another route": (
        line((VehicleType(9, "a", count=1), VehicleType(9, "b", count=1, beginning=(3,)))),
        [(1, 2), (3,)],
        [(1, 2, 3)],
        "frozen",
    ),
    "a locked leg": (line(locked=((3, 1),)), [(3, 1, 2)], [(1, 2, 3)], "frozen"),
    "half of a locked leg": (line(locked=((3, 1),)), [(2,)], [(2, 1)], "frozen"),
    "a buffer": (
        line(buffer=5, windows=[ALWAYS, [0, 15], [0, 24], ALWAYS]),
        [(1, 3)],
        [(1, 2), (3,)],
        "late",
    ),
    "first in, last out": (
        line(demands=[0, 0, 0, 4], pickups=[0, 4, 0, 0], partners=[0, 3, 0, 1], lifo=[False, True, False, False]),
        [(1, 2, 3)],
        [(2, 3, 1)],
        "pair",
    ),
    "a ride": (
        line(demands=[0, 0, 0, 4], pickups=[0, 4, 0, 0], partners=[0, 3, 0, 1], max_ride=[FREE, 25, FREE, FREE]),
        [(1, 2, 3)],
        [(2, 1, 3)],
        "",
    ),
    "a ride that is too long": (
        line(
            demands=[0, 0, 0, 4],
            pickups=[0, 4, 0, 0],
            partners=[0, 3, 0, 1],
            max_ride=[FREE, 21, FREE, FREE],
            service=[0, 0, 5, 0],
        ),
        [(2, 1, 3)],
        [(1, 2, 3)],
        "ride",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_plan_that_keeps_a_rule_has_only_missing_customers(case: str) -> None:
    instance, right, _, _ = CASES[case]
    routes = [route for number, route in enumerate(right) if not set(route) & {n for r in right[:number] for n in r}]
    vehicles = tuple(range(len(routes))) if len(instance.fleet) > 1 else None
    assert {found.kind for found in check(instance, Solution(tuple(routes), vehicles=vehicles))} <= {"missing"}


@pytest.mark.parametrize("case", CASES)
def test_a_fault_is_one_violation_of_its_kind(case: str) -> None:
    instance, _, wrong, kind = CASES[case]
    vehicles = tuple(range(len(wrong))) if len(instance.fleet) > 1 else None
    found = [str(each.kind) for each in check(instance, Solution(tuple(wrong), vehicles=vehicles))]
    ignored = "" if kind == "missing" else "missing"
    assert [each for each in found if each != ignored] == (kind.split(", ") if kind else [])


def test_a_stop_that_is_no_place_is_unknown_without_reloads() -> None:
    assert [found.kind for found in check(line(), Solution(((1, 0, 2, 3),)))] == ["unknown"]


def test_what_was_loaded_last_leaves_first() -> None:
    instance = Instance(
        np.array([*LINE, [40.0, 0]]),
        np.array([0, 0, 0, 1, 1]),
        9,
        pickups=np.array([0, 1, 1, 0, 0]),
        partners=np.array([0, 3, 4, 1, 2]),
        lifo=np.array([False, True, True, False, False]),
    )
    assert check(instance, Solution(((1, 2, 4, 3),))) == []
    assert check(instance, Solution(((1, 3, 2, 4),))) == []
    assert [(found.kind, found.customer) for found in check(instance, Solution(((1, 2, 3, 4),)))] == [("pair", 3)]


def test_half_a_shipment_is_a_pair_that_is_broken() -> None:
    optional: dict[str, Any] = {"prizes": [FREE, 5, 0, FREE]}
    instance = line(demands=[0, 0, 3, 4], pickups=[0, 3, 0, 0], partners=[0, 2, 1, 0], **optional)
    assert check(instance, Solution(((3,),))) == []
    assert {found.kind for found in check(instance, Solution(((3, 1),)))} == {"pair"}
    assert {found.kind for found in check(instance, Solution(((3, 2),)))} == {"pair"}


def test_the_cost_is_money_as_soon_as_anything_has_a_price() -> None:
    priced = VehicleType(9, fixed_cost=100, distance_cost=2, time_cost=0.5, overtime=Overtime(50, 60, 3))
    instance = line((priced,), prizes=[FREE, 7, FREE, FREE])
    plan = Solution(((2, 3),))
    assert plan.length(instance) == 60
    assert plan.cost(instance) == 100 + 120 + 30 + 30 + 7
    assert check(instance, Solution(plan.routes, stated_cost=287)) == []
    assert [found.kind for found in check(instance, Solution(plan.routes, stated_cost=60))] == ["cost"]


def test_a_customer_served_by_another_vehicle_than_before_has_a_price() -> None:
    vehicles = (VehicleType(9, "a"), VehicleType(9, "b"))
    instance = line(vehicles, usual_vehicles=[-1, 0, 1, -1], change_cost=5)
    plan = Solution(((1, 2, 3),), vehicles=(0,))
    assert plan.cost(instance) == 60 + 5
    assert [found.kind for found in check(instance, Solution(plan.routes, stated_cost=60, vehicles=(0,)))] == ["cost"]


@pytest.mark.parametrize(("of", "amount"), [("hours", 60 / 3600), ("stops", 3), ("load", 9)])
def test_work_above_the_target_costs_by_the_square_of_its_excess(of: Any, amount: float) -> None:
    instance = line(balance=Balance(of, 100, amount / 2))
    assert Solution(((1, 2, 3),)).cost(instance) == pytest.approx(60 + 100 * (amount / 2) ** 2)
    assert line(balance=Balance(of, 0, amount / 2)) == line()


def test_each_vehicle_drives_the_legs_of_its_profile() -> None:
    longer = [[0, 1, 1, 50], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]
    vehicles = (VehicleType(9, "car"), VehicleType(9, "lorry", profile="lorry", max_duration=9, max_distance=60))
    instance = line(vehicles, profiles=(Profile("lorry", np.array(longer), np.array(longer) / 10),))
    plan = Solution(((1, 2), (3,)), vehicles=(0, 1))
    assert plan.route_costs(instance) == [40, 51]
    assert check(instance, Solution(plan.routes, stated_cost=91, vehicles=(0, 1))) == []
    wrong = check(instance, Solution(((1, 2, 3),), vehicles=(1,)))
    assert wrong == []
    assert [found.kind for found in check(instance, Solution(((3,), (1, 2)), vehicles=(0, 0)))] == []


def test_far_from_the_centre_of_a_route_costs_more() -> None:
    instance = line(compactness=0.5)
    assert Solution(((1, 2, 3),)).cost(instance) == 60 + 0.5 * (10 + 10)
    assert Solution(((1, 3), (2,))).cost(instance) == 100 + 0.5 * 20


def test_lateness_at_a_price_costs_by_the_second() -> None:
    instance = line(windows=[ALWAYS, [0, 5], ALWAYS, [0, 25]], late_costs=[FREE, 2, FREE, 3])
    assert Solution(((1, 2, 3),)).cost(instance) == 60 + 2 * 5 + 3 * 5


def test_of_alternatives_that_are_all_left_out_the_largest_prize_is_lost() -> None:
    instance = line(prizes=[FREE, 7, 5, FREE], one_of=("", "x", "x", ""))
    assert Solution(((3,),)).cost(instance) == 60 + 7
    assert Solution(((3, 2),)).cost(instance) == 60
    assert check(instance, Solution(((3,),))) == []


def test_a_late_route_without_customers_waits_for_no_goods() -> None:
    far = Place("far", 50.0, 0.0)
    instance = line(van(shift=(0, 90), reload=("far",)), release=[0, 0, 31, 0], places=(far,))
    assert [
        found.kind for found in check(instance, Solution(((1, 2, 3), (4,)), vehicles=(0, 0))) if found.route == 2
    ] == ["late"]
