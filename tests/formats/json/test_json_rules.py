"""JSON holds every rule: what is written reads back the same, and each faulty value is refused by its path."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from rich_problems import RULE_MAKERS, draw_problem

from dynaroute.base.errors import DynarouteError
from dynaroute.formats import instance_from_json, instance_to_json
from dynaroute.formats.json.instance import parse_json

CUSTOMER = {"x": 3, "y": 4, "demand": 4}
OTHER = {"x": 6, "y": 8, "demand": 5}
VAN = {"name": "van", "capacity": 10}
DAY: dict[str, Any] = {"depot": {"x": 0, "y": 0}, "customers": [CUSTOMER, OTHER], "vehicles": [VAN], "speed": 1}
HOME = {"id": "home", "x": 1, "y": 2, "window": ["06:00", "22:00"], "loading": "10 min"}
STOP = {"x": 1, "y": 1}
LONG_BREAK = {"duration": "45 min", "after_driving": "4h30"}
SENT = {"demand": 0, "pickup": 2, "shipment": "s"}
GOT = {"demand": 2, "shipment": "s"}
DESK = {"id": "desk", "pickup": STOP, "delivery": STOP | {"id": "Anna"}, "demand": 3, "prize": 9, "max_ride": 60}

GIVER = {"x": 1, "y": 1, "demand": 0, "pickup": 2, "shipment": "a"}
TAKER = {"x": 2, "y": 2, "demand": 2, "shipment": "a"}


def day(customer: dict[str, Any] | None = None, van: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    return {**DAY, "customers": [CUSTOMER, OTHER | (customer or {})], "vehicles": [VAN | (van or {})], **changes}


@pytest.mark.parametrize("seed", range(60))
def test_what_is_written_reads_back_the_same(seed: int) -> None:
    random = np.random.default_rng(seed)
    rules = set(random.choice(sorted(RULE_MAKERS), int(random.integers(1, 9)), replace=False).tolist())
    instance = draw_problem(random, rules)
    document = instance_to_json(instance)
    assert (document["version"] == 3) == bool(instance.rules or instance.dimensions)
    (again,) = parse_json(json.dumps(document))
    assert again == instance


def test_a_day_with_everything_is_read() -> None:
    instance = instance_from_json(
        day(
            customer={
                "pickup": 2,
                "priority": 40,
                "late_cost": 36,
                "windows": [["08:00", "09:00"], "14:00-16:00"],
                "release": "07:30",
                "skills": ["lift"],
                "not_vehicles": [],
            },
            van={
                "fixed_cost": 80,
                "distance_cost": 2,
                "time_cost": 36,
                "overtime": ["8h", "2h", 54],
                "start": "home",
                "end": "depot",
                "max_driving": "9h",
                "speed_factor": 0.8,
                "service_factor": 1.5,
                "breaks": [LONG_BREAK, {"duration": 1800, "window": "12:00-13:00"}],
                "reload": True,
                "max_trips": 2,
                "loading": "20 min",
                "skills": "lift",
                "initial_load": 1,
            },
            places=[HOME],
        )
    )
    (van,), (place,) = instance.fleet, instance.places
    assert (van.fixed_cost, van.distance_cost, van.time_cost) == (80, 2, 0.01)
    assert van.overtime is not None
    assert (van.overtime.after, van.overtime.at_most, van.overtime.cost) == (28800, 7200, 0.015)
    assert (van.start, van.end, van.reload, van.max_trips, van.loading) == ("home", "depot", ("depot",), 2, 1200)
    assert [(each.duration, each.window, each.after_driving) for each in van.breaks] == [
        (2700, None, 16200),
        (1800, (43200, 46800), None),
    ]
    assert (place.x, place.y, place.window, place.loading) == (1, 2, (21600, 79200), 600)
    assert instance.pickups is not None and instance.priorities is not None and instance.late_costs is not None
    assert instance.pickups.tolist() == [0, 0, 2]
    assert instance.priorities[2] == 40
    assert instance.late_costs.tolist() == [math.inf, math.inf, 0.01]
    assert instance.windows is not None and instance.windows.shape == (3, 2, 2)
    assert instance.windows[2].tolist() == [[28800, 32400], [50400, 57600]]


def test_prices_are_per_km_where_distances_are_metres() -> None:
    on_globe = {"depot": {"lat": 0, "lon": 0}, "customers": [{"lat": 1, "lon": 1, "demand": 1}]}
    document = day(van={"distance_cost": 2, "time_cost": 30}) | on_globe
    instance = instance_from_json(document)
    assert instance.fleet[0].distance_cost == 0.002
    written: Any = instance_to_json(instance)
    assert (written["vehicles"][0]["distance_cost"], written["vehicles"][0]["time_cost"]) == (2, 30)


def test_loads_have_dimensions_by_name() -> None:
    customers = [CUSTOMER | {"demand": {"kg": 3.5, "pallets": 1}}, OTHER | {"demand": {"kg": 2}}]
    instance = instance_from_json(DAY | {"customers": customers, "vehicles": [{"capacity": {"kg": 10, "pallets": 2}}]})
    assert instance.dimensions == ("kg", "pallets")
    assert instance.demands.tolist() == [[0, 0], [35, 10], [20, 0]]
    assert instance.fleet[0].capacity == (100, 20)
    assert instance == instance_from_json(instance_to_json(instance))


def test_a_shipment_is_two_customers() -> None:

    instance = instance_from_json(DAY | {"shipments": [DESK]})
    assert instance.customer_names == ("1", "2", "desk pickup", "Anna")
    assert instance.partners is not None and instance.prizes is not None and instance.max_ride is not None
    assert instance.partners.tolist() == [0, 0, 0, 4, 3]
    assert instance.prizes.tolist() == [math.inf, math.inf, math.inf, 9, 0]
    assert instance.max_ride[3] == 60
    assert instance == instance_from_json(instance_to_json(instance))
    assert instance_from_json({**DAY, "customers": [], "shipments": [DESK]}).size == 2


def test_what_a_plan_before_fixes_is_read_by_ids() -> None:
    instance = instance_from_json(
        day(
            {"id": "Anna", "usual_vehicle": "van"},
            {"count": 1, "beginning": ["Anna"]},
            locked=[["Anna", 1]],
            change_cost=4,
        )
    )
    assert instance.fleet[0].beginning == (2,)
    assert instance.locked == ((2, 1),)
    assert instance.usual_vehicles is not None
    assert (instance.usual_vehicles.tolist(), instance.change_cost) == ([-1, -1, 0], 4)


@pytest.mark.parametrize("wish", [{"prize": 3}, {"priority": 3}, {"optional": True}])
def test_who_may_be_left_out_may_ask_for_more_than_a_vehicle_holds(wish: dict[str, Any]) -> None:
    instance = instance_from_json(day({"demand": 11.5, **wish}))
    assert instance.shown_demand(instance.demands[2]) == Decimal("11.5")
    assert instance == instance_from_json(instance_to_json(instance))


def test_an_optional_customer_has_the_lowest_priority() -> None:
    instance = instance_from_json(day(customer={"optional": True}))
    assert instance.priorities is not None
    assert instance.priorities[2] == 0


@pytest.mark.parametrize(
    ("path", "document"),
    [
        ("customers[1].pickup", day({"pickup": "two"})),
        ("customers[1].pickup", day({"pickup": 11})),
        ("customers[1].priority", day({"priority": 101})),
        ("customers[1].late_cost", day({"late_cost": -1})),
        ("customers[1].windows[1]", day({"windows": [[1, 2], [3]]})),
        ("customers[1].windows", day({"windows": [[1, 2]], "window": [1, 2]})),
        ("customers[1].windows", day({"windows": [None]})),
        ("customers[1].release", day({"release": "soon"})),
        ("customers[1].release", day({"release": -1})),
        ("customers[1].max_ride", day({"max_ride": -1})),
        ("customers[1].max_ride", day({"max_ride": 60})),
        ("customers[3].max_ride", day(customers=[CUSTOMER, OTHER, GIVER, TAKER | {"max_ride": 60}])),
        ("customers[1].prize", day({"prize": Decimal("1e400")})),
        ("customers[1].late_cost", day({"late_cost": Decimal("1e400")})),
        ("customers[1].pickup", day({"pickup": Decimal("1e400")})),
        ("vehicles[0].capacity", day(van={"capacity": Decimal("1e400")})),
        ("vehicles[0].initial_load", day(van={"initial_load": Decimal("1e-400")})),
        ("customers[1].skills", day({"skills": [1]})),
        ("customers[1].skills", day({"skills": {}})),
        ("customers[1].not_vehicles", day({"not_vehicles": {}})),
        ("customers[1].optional", day({"optional": 0})),
        ("vehicles[0].skills", day(van={"skills": [1]})),
        ("customers[1].vehicles", day({"vehicles": ["lorry"]})),
        ("customers[1].not_vehicles", day({"not_vehicles": ["lorry"]})),
        ("customers[1].same_vehicle", day({"same_vehicle": True})),
        ("customers[1].shipment", day({"shipment": "a"})),
        ("depot.prize", day(depot={"x": 0, "y": 0, "prize": 3})),
        ("places[0].x", day(places=[{"id": "home", "y": 0}])),
        ("places[0].id", day(places=[{"id": [], "x": 0, "y": 0}])),
        ("places[0].colour", day(places=[HOME | {"colour": "red"}])),
        ("places[0]", day(places=[HOME | {"id": "depot"}])),
        ("places[0].window", day(places=[HOME | {"window": [1]}])),
        ("places[0].loading", day(places=[HOME | {"loading": -1}])),
        ("backhauls", day(backhauls="now and then")),
        ("vehicles[0].distance_cost", day(van={"distance_cost": -2})),
        ("vehicles[0].time_cost", day(van={"time_cost": "dear"})),
        ("vehicles[0].overtime", day(van={"overtime": [1, 2]})),
        ("vehicles[0].overtime[2]", day(van={"overtime": [1, 2, "much"]})),
        ("vehicles[0].end", day(van={"end": "home"})),
        ("vehicles[0].start", day(van={"start": "open"})),
        ("vehicles[0].reload[0]", day(van={"reload": ["home"]})),
        ("vehicles[0].max_trips", day(van={"max_trips": 0, "reload": True})),
        ("vehicles[0].max_trips", day(van={"max_trips": 2})),
        ("vehicles[0].max_driving", day(van={"max_driving": 0})),
        ("vehicles[0].speed_factor", day(van={"speed_factor": 0})),
        ("vehicles[0].service_factor", day(van={"service_factor": -1})),
        ("vehicles[0].breaks[0]", day(van={"breaks": [{"duration": 5}]})),
        ("vehicles[0].breaks[1]", day(van={"breaks": [LONG_BREAK, {"duration": -5, "window": [1, 2]}]})),
        ("vehicles[0].breaks[0].place", day(van={"breaks": [{"duration": 5, "place": "home"}]})),
        ("vehicles[0].loading", day(van={"loading": -1})),
        ("vehicles[0].initial_load", day(van={"initial_load": 11})),
        ("vehicles[0].capacity", day(van={"capacity": {"kg": 0}})),
        ("customers[0].demand", day(van={"capacity": {"kg": 9}})),
        (
            "customers[1].demand.cbm",
            day(
                {"demand": {"cbm": 1}},
                {"capacity": {"kg": 9}},
                customers=[CUSTOMER | {"demand": {"kg": 1}}, OTHER | {"demand": {"cbm": 1}}],
            ),
        ),
        ("vehicles[0].beginning[1]", day(van={"beginning": ["1", "nobody"], "count": 1})),
        ("vehicles[0].beginning", day(van={"beginning": ["1"]})),
        ("vehicles[0].min_vehicles", day(van={"min_vehicles": 1.5})),
        ("vehicles[0].min_vehicles", day(van={"min_vehicles": -1})),
        ("vehicles[0].min_vehicles", day(van={"min_vehicles": 3, "count": 2})),
        ("vehicles[0].beginning", day(van={"beginning": "1", "count": 1})),
        ("beginning", day(van={"beginning": ["1", 1], "count": 1})),
        ("locked[0][1]", day(locked=[["1", "nobody"]])),
        ("locked", day(locked=[["1"]])),
        ("locked", day(locked=[["1", "2"], ["2", "1"]])),
        ("customers[1].usual_vehicle", day({"usual_vehicle": "lorry"})),
        ("change_cost", day(change_cost="much")),
        ("buffer", day(buffer="soon")),
        ("buffer", day({"window": [0, 9]}, buffer=10)),
        ("customers[1].lifo", day({"lifo": True})),
        ("shipments[0].lifo", day(shipments=[{"pickup": STOP, "delivery": STOP, "lifo": "yes"}])),
        ("compactness", day(compactness="very")),
        ("compactness", day(compactness=-1)),
        ("balance", day(balance="hours")),
        ("balance.of", day(balance={"of": "wages", "weight": 1, "target": 1})),
        ("balance.target", day(balance={"of": "hours", "weight": 1, "target": "long"})),
        ("balance.weight", day(balance={"of": "stops", "target": 1})),
        ("balance.colour", day(balance={"of": "stops", "target": 1, "weight": 1, "colour": 1})),
        ("profiles.lorry.durations", day(profiles={"lorry": {"durations": [[0]]}})),
        ("profiles.lorry.speed_by_hour", day(profiles={"lorry": {"speed_by_hour": [1, 1, 0.5]}})),
        ("profiles.lorry.speed_by_hour", day(profiles={"lorry": {"speed_by_hour": [0] * 24}})),
        ("profiles.lorry.speed_by_hour", day(profiles={"lorry": {"speed_by_hour": "slow"}})),
        ("profiles.lorry.speed_by_hour[7]", day(profiles={"lorry": {"speed_by_hour": [1] * 7 + ["slow"] * 17}})),
        (
            "breaks",
            day(van={"profile": "lorry", "breaks": [LONG_BREAK]}, profiles={"lorry": {"speed_by_hour": [2] * 24}}),
        ),
        ("profiles.lorry.speed", day(profiles={"lorry": {"speed": 1}})),
        (
            "profiles.lorry.distances[1][0]",
            day(profiles={"lorry": {"distances": [[0, 1, 1], ["far", 0, 1], [1, 1, 0]]}}),
        ),
        ("vehicles[0].profile", day(van={"profile": 3})),
        ("profile", day(van={"profile": "lorry"})),
        ("change_cost", day(change_cost=-2)),
        ("shipments[0].pickup", day(shipments=[{"delivery": STOP}])),
        ("shipments[0].pickup.x", day(shipments=[{"pickup": {"y": 1}, "delivery": STOP}])),
        ("shipments[0].demand", day(shipments=[{"pickup": STOP, "delivery": STOP, "demand": "much"}])),
        ("shipments[0].id", day(shipments=[DESK | {"id": ["desk"]}])),
        ("shipments[0].pickup.demand", day(shipments=[DESK | {"pickup": STOP | {"demand": 2}}])),
        ("shipments[0].delivery.prize", day(shipments=[DESK | {"delivery": STOP | {"prize": 2}}])),
        ("shipments[0].delivery.shipment", day(shipments=[DESK | {"delivery": STOP | {"shipment": "a"}}])),
        ("customers[1].one_of", day({"one_of": ["x"]})),
        ("customers[0].one_of", day(customers=[CUSTOMER | SENT | {"one_of": "x"}, OTHER | GOT])),
        ("shipments[0].colour", day(shipments=[{"pickup": STOP, "delivery": STOP, "colour": "red"}])),
    ],
    ids=str,
)
def test_a_faulty_value_is_refused_by_its_path(path: str, document: dict[str, Any]) -> None:
    with pytest.raises(DynarouteError) as refusal:
        instance_from_json(document)
    assert refusal.value.where.field == path
    assert refusal.value.remedy
