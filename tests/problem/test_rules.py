"""Fields of rules check themselves, cost nothing where they are absent, and are named by the instance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dynaroute.base.errors import InstanceError, UnsupportedError
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.places import Place
from dynaroute.problem.profiles import Profile
from dynaroute.problem.rules import RULES, refuse_other_rules
from dynaroute.problem.working_day import Balance, Break, Overtime
from dynaroute.search.rules import SEARCHED_RULES

SQUARE = [[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]
INFINITY = math.inf
NOBODY: tuple[frozenset[str], ...] = (frozenset(), frozenset(), frozenset())
LIFT = (frozenset[str](), frozenset({"lift"}), frozenset[str]())
TWO_WINDOWS = [[[0, INFINITY]] * 2, [[10, 20], [30, 40]], [[5, 9]] * 2]


def make(**changes: Any) -> Instance:
    fields: dict[str, Any] = {"coordinates": SQUARE, "demands": [0, 2, 3], "capacity": 5, "speed": 1.0} | changes
    return Instance(**fields)


def by_vehicle(**fields: Any) -> dict[str, Any]:
    return {"vehicles": (VehicleType(5, **fields),)}


USES: dict[str, dict[str, Any]] = {
    "dimensions": {"demands": [[0, 0], [1, 2], [3, 1]], "capacity": (5, 4)},
    "pickups": {"pickups": [0, 1, 0]},
    "backhauls": {"demands": [0, 2, 0], "pickups": [0, 0, 1], "backhauls": "strict"},
    "backhauls_last": {"demands": [0, 2, 0], "pickups": [0, 0, 1], "backhauls": "last"},
    "places": {"places": (Place("home", 1, 1),)} | by_vehicle(end="home"),
    "costs": by_vehicle(fixed_cost=3),
    "overtime": by_vehicle(overtime=Overtime(3600, 1800, 0.01)),
    "max_driving": by_vehicle(max_driving=60),
    "speed_factor": by_vehicle(speed_factor=1.2),
    "service_factor": by_vehicle(service_factor=0.5),
    "breaks": by_vehicle(breaks=(Break(60, window=(0, 100)),)),
    "reload": by_vehicle(reload=("depot",), max_trips=2),
    "initial_load": by_vehicle(initial_load=2),
    "profile": by_vehicle(profile="lorry") | {"profiles": (Profile("lorry"),)},
    "speed_by_hour": by_vehicle(profile="rush") | {"profiles": (Profile("rush", speed_by_hour=(1.0,) * 23 + (2.0,)),)},
    "buffer": {"buffer": 2, "windows": [[0, 9], [0, 9], [0, 9]]},
    "lifo": {"demands": [0, 0, 3], "pickups": [0, 3, 0], "partners": [0, 2, 1], "lifo": [False, True, False]},
    "balance": {"balance": Balance("stops", 2, 1)},
    "compactness": {"compactness": 0.5},
    "shipments": {"demands": [0, 0, 3], "pickups": [0, 3, 0], "partners": [0, 2, 1]},
    "max_ride": {"max_ride": [INFINITY, 60, INFINITY]},
    "prizes": {"prizes": [INFINITY, 5, INFINITY]},
    "priorities": {"priorities": [math.nan, 5, math.nan]},
    "windows": {"windows": TWO_WINDOWS},
    "late_costs": {"late_costs": [INFINITY, 0.1, INFINITY]},
    "release": {"release": [0, 10, 0]},
    "skills": {"skills": LIFT, "vehicles": (VehicleType(5), VehicleType(5, "b", skills=frozenset({"lift"})))},
    "same_vehicle": {"same_vehicle": ("", "a", "a")},
    "one_of": {"one_of": ("", "a", "a")},
    "not_together": {"not_together": ("", "a", "a")},
    "beginning": by_vehicle(beginning=(2,), count=1),
    "min_vehicles": by_vehicle(min_vehicles=2),
    "locked": {"locked": ((2, 1),)},
    "usual_vehicles": {"usual_vehicles": [-1, 0, -1], "change_cost": 4.0} | by_vehicle(name="van"),
}


def test_every_rule_has_an_example_here() -> None:
    assert sorted(USES) == sorted(RULES)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_an_instance_names_a_rule_that_it_uses(rule: str) -> None:
    instance = make(**USES[rule])
    assert rule in instance.rules
    assert not instance.is_plain
    assert instance == make(**USES[rule])
    assert instance != make()


def test_the_search_keeps_every_rule() -> None:
    assert set(RULES) == SEARCHED_RULES


def test_a_rule_that_somebody_does_not_know_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="the oven cannot handle breaks yet") as refusal:
        refuse_other_rules(("breaks", "costs"), {"costs"}, "the oven")
    assert refusal.value.where.field == "breaks"


@pytest.mark.parametrize(
    "absent",
    [
        {"pickups": [0, 0, 0]},
        {"partners": [0, 0, 0]},
        {"max_ride": [INFINITY] * 3},
        {"prizes": [INFINITY] * 3},
        {"priorities": [math.nan] * 3},
        {"late_costs": [INFINITY] * 3},
        {"release": [0, 0, 0]},
        {"skills": NOBODY},
        {"vehicles_allowed": NOBODY},
        {"same_vehicle": ("", "", "")},
        {"windows": [[[0, INFINITY]] * 2] * 3},
        {"demands": [[0], [2], [3]]},
        {"usual_vehicles": [-1, -1, -1]},
        {"balance": Balance("load", 0, 3)},
        {"compactness": 0},
        {"one_of": ("", "", "")},
        by_vehicle(),
    ],
    ids=str,
)
def test_a_field_that_asks_for_nothing_is_absent(absent: dict[str, Any]) -> None:
    instance = make(**absent)
    assert instance.is_plain
    assert instance == make()


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("demands", {"demands": [[0, 0], [1, 9], [3, 1]], "capacity": (5, 4)}),
        ("capacity", {"demands": [[0, 0], [1, 2], [3, 1]], "capacity": 5}),
        ("capacity", by_vehicle() | {"demands": [[0, 0], [1, 2], [3, 1]]}),
        ("dimensions", {"demands": [[0, 0], [1, 2], [3, 1]], "capacity": (5, 4), "dimensions": ("kg", "kg")}),
        ("dimensions", {"dimensions": ("kg", "pallets")}),
        ("pickups", {"pickups": [0, 6, 0]}),
        ("pickups", {"pickups": [0, 1]}),
        ("pickups", {"pickups": [1, 1, 0]}),
        ("pickups", {"pickups": [0, -1, 0]}),
        ("backhauls", {"backhauls": "sometimes"}),
        ("places", {"places": (Place("home"),)}),
        ("places", {"places": (Place("home", 1, 1), Place("home", 2, 2))}),
        ("places", {"places": "home"}),
        ("start", by_vehicle(start="home")),
        ("end", by_vehicle(end="home")),
        ("reload", by_vehicle(reload=("home",))),
        ("partners", {"partners": [0, 2, 0]}),
        ("partners", {"partners": [0, 1, 2]}),
        ("partners", {"partners": [0, 2, 1]}),
        ("partners", {"partners": [0, 3, 1]}),
        ("max_ride", {"max_ride": [INFINITY, -1, 5]}),
        ("prizes", {"prizes": [INFINITY, math.nan, 5]}),
        ("prizes", {"prizes": [INFINITY, 5]}),
        ("priorities", {"priorities": [math.nan, 101, 5]}),
        ("windows", {"windows": [[[0, INFINITY]] * 2, [[10, 20], [15, 40]], [[5, 9]] * 2]}),
        ("windows", {"windows": [[[0, 5], [7, 9]], [[10, 20], [30, 40]], [[5, 9]] * 2]}),
        ("windows", {"windows": [[[0, INFINITY]] * 2, [[10, 20], [40, 30]], [[5, 9]] * 2]}),
        ("late_costs", {"late_costs": [INFINITY, -1, INFINITY]}),
        ("release", {"release": [0, INFINITY, 0]}),
        ("skills", {"skills": LIFT[:2]}),
        ("vehicles_allowed", {"vehicles_allowed": LIFT}),
        ("vehicles_forbidden", {"vehicles_forbidden": LIFT}),
        ("same_vehicle", {"same_vehicle": ("", "a")}),
        ("not_together", {"not_together": (1, 2, 3)}),
        ("beginning", by_vehicle(beginning=(3,), count=1)),
        ("beginning", by_vehicle(beginning=(0,), count=1)),
        ("beginning", by_vehicle(beginning=(1, 1), count=1)),
        ("beginning", by_vehicle(beginning=(1, 2), count=1) | {"locked": ((2, 1),)}),
        ("locked", {"locked": ((1, 3),)}),
        ("locked", {"locked": ((1, 2), (2, 1))}),
        ("locked", {"locked": ((1, 1),)}),
        ("locked", {"locked": (1, 2)}),
        ("usual_vehicles", {"usual_vehicles": [-1, 1, 0]} | by_vehicle(name="van")),
        ("usual_vehicles", {"usual_vehicles": [-1, 0]} | by_vehicle(name="van")),
        ("usual_vehicles", {"usual_vehicles": [-1, 0, 0], "vehicles": (VehicleType(5, count=1),) * 2}),
        ("change_cost", {"change_cost": -1}),
        ("profile", by_vehicle(profile="lorry")),
        ("profiles", {"profiles": (Profile("lorry", durations=np.zeros((2, 2))),)}),
        ("profiles", {"profiles": (Profile("lorry", distances=-np.ones((3, 3))),)}),
        ("profiles", {"profiles": (Profile("lorry"), Profile("lorry"))}),
        ("profiles", {"profiles": ("lorry",)}),
        ("balance", {"balance": "stops"}),
        ("buffer", {"buffer": -1}),
        ("buffer", {"buffer": 6, "windows": [[0, 9], [0, 9], [0, 5]]}),
        ("lifo", {"lifo": [False, True, False]}),
        ("lifo", {"lifo": [True]}),
    ],
    ids=str,
)
def test_a_value_that_cannot_be_meant_is_refused_by_its_field(field: str, changes: dict[str, Any]) -> None:
    with pytest.raises(InstanceError) as refusal:
        make(**changes)
    assert refusal.value.where.field == field
    assert refusal.value.remedy


@pytest.mark.parametrize(
    ("field", "build"),
    [
        ("breaks", lambda: Break(60)),
        ("breaks", lambda: Break(60, (0, 5), 3600)),
        ("breaks", lambda: Break(60, (5, 0))),
        ("breaks", lambda: Break(-1, (0, 5))),
        ("breaks", lambda: Break(60, after_driving=0)),
        ("balance", lambda: Balance("wages", 1, 1)),  # type: ignore[arg-type]
        ("balance", lambda: Balance("stops", -1, 1)),
        ("balance", lambda: Balance("stops", 1, INFINITY)),
        ("overtime", lambda: Overtime(-1)),
        ("overtime", lambda: Overtime(1, cost=INFINITY)),
        ("places", lambda: Place("depot", 1, 1)),
        ("places", lambda: Place("", 1, 1)),
        ("places", lambda: Place("home", math.nan, 1)),
        ("places", lambda: Place("home", 1, 1, window=(9, 8))),
        ("loading", lambda: Place("home", 1, 1, loading=-1)),
    ],
)
def test_parts_of_a_day_and_places_check_themselves(field: str, build: Any) -> None:
    with pytest.raises(InstanceError) as refusal:
        build()
    assert refusal.value.where.field == field


def test_places_are_nodes_after_the_customers() -> None:
    instance = make(places=(Place("home", 6, 8),), vehicles=(VehicleType(5, start="home", end="depot"),))
    assert instance.node_count == 4
    assert (instance.start_nodes, instance.end_nodes) == ((3,), (0,))
    assert instance.leg_lengths(3, 1) == 5
    assert instance.called(3) == "home"
    assert instance.distance_matrix.shape == (4, 4)


def test_a_route_ends_where_it_starts_unless_it_says_so() -> None:
    assert VehicleType(5, start="home").end == "home"
    assert VehicleType(5, start="home", end="open").end == "open"
    assert VehicleType(5).end == "depot"


def test_skills_and_names_decide_who_may_serve_whom() -> None:
    vehicles = (VehicleType(5, "a"), VehicleType(5, "b", skills=frozenset({"lift"})), VehicleType(5, "c"))
    forbidden = (frozenset[str](), frozenset[str](), frozenset({"a"}))
    instance = make(skills=LIFT, vehicles_forbidden=forbidden, vehicles=vehicles)
    assert instance.allowed is not None
    assert instance.allowed.tolist() == [[True] * 3, [False, True, False], [False, True, True]]
    assert len(instance.alike_types) == 3  # a and c differ in whom they may serve


@pytest.mark.parametrize("fields", [{}, {"count": 2}, {"count": 1, "beginning": 1}, {"count": 1, "beginning": (-1,)}])
def test_only_one_vehicle_may_have_begun_a_route(fields: dict[str, Any]) -> None:
    with pytest.raises(InstanceError) as refusal:
        VehicleType(5, **{"beginning": (1,)} | fields)
    assert refusal.value.where.field == "beginning"


def test_types_that_customers_are_used_to_are_not_alike() -> None:
    vehicles = (VehicleType(5, "a"), VehicleType(5, "b"), VehicleType(5, "c"))
    usual = {"vehicles": vehicles, "usual_vehicles": [-1, 1, -1]}
    assert [each.members for each in make(**usual, change_cost=2).alike_types] == [(0, 2), (1,)]
    assert len(make(**usual).alike_types) == 1


def test_customers_with_a_prize_or_a_priority_are_optional() -> None:
    instance = make(prizes=[INFINITY, 4, INFINITY], priorities=[math.nan, math.nan, 0])
    assert instance.optional is not None
    assert instance.optional.tolist() == [False, True, True]


def test_who_may_be_left_out_may_ask_for_more_than_a_vehicle_holds() -> None:
    assert make(demands=[0, 9, 3], prizes=[INFINITY, 4, INFINITY]).demands.tolist() == [0, 9, 3]
    assert make(demands=[0, 2, 9], priorities=[math.nan, math.nan, 50]).demands.tolist() == [0, 2, 9]
    with pytest.raises(InstanceError) as refusal:
        make(demands=[0, 9, 3], prizes=[INFINITY, INFINITY, 4])
    assert (refusal.value.where.field, refusal.value.where.customer) == ("demands", 1)


def test_of_a_shipment_the_stop_that_collects_is_the_pickup() -> None:
    instance = make(demands=[0, 3, 0], pickups=[0, 0, 3], partners=[0, 2, 1])
    assert instance.is_pickup is not None
    assert instance.is_pickup.tolist() == [False, False, True]
    empty = make(demands=[0, 0, 0], partners=[0, 2, 1])
    assert empty.is_pickup is not None
    assert empty.is_pickup.tolist() == [False, True, False]


def test_amounts_of_all_kinds_share_one_scale() -> None:
    vehicles = (VehicleType((50, 40), initial_load=(10, 0)),)
    instance = make(
        demands=[[0, 0], [10, 20], [30, 10]], pickups=np.array([[0, 0], [20, 0], [0, 0]]), vehicles=vehicles
    )
    scaled = make(
        demands=[[0, 0], [10, 20], [30, 10]],
        pickups=np.array([[0, 0], [20, 0], [0, 0]]),
        vehicles=vehicles,
        demand_scale=10,
    )
    assert instance.demands.tolist() == [[0, 0], [10, 20], [30, 10]]
    assert scaled.demands.tolist() == [[0, 0], [1, 2], [3, 1]]
    assert scaled.fleet[0].capacity == (5, 4)
    assert scaled.fleet[0].initial_load == (1, 0)
    assert scaled.pickups is not None
    assert scaled.pickups[1].tolist() == [2, 0]
