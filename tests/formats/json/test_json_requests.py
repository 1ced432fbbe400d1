"""Keys of JSON documents that ask for what is not planned: refused, unless the user ignores them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dynaroute.base.errors import OptionError, UnsupportedError, gather_notes
from dynaroute.formats import instance_from_json, read, read_set, read_vehicles
from dynaroute.plans import read_plan

CUSTOMER = {"id": "A", "x": 3, "y": 4, "demand": 4}
DOCUMENT: dict[str, Any] = {"capacity": 10, "depot": {"x": 0, "y": 0}, "customers": [CUSTOMER, {**CUSTOMER, "id": "B"}]}
VAN = {"name": "van", "capacity": 10}
CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "breaks of the day": ({"breaks": [["12:00", "12:30"]]}, "breaks"),
    "a priority in German": ({"customers": [{**CUSTOMER, "Priorität": 1}]}, "customers[0].Priorität"),
    "a group": ({"customers": [CUSTOMER, {**CUSTOMER, "id": "B", "group": "north"}]}, "customers[1].group"),
    "a pickup": ({"customers": [{**CUSTOMER, "type": "pickup"}]}, "customers[0].type"),
    "a second demand": ({"customers": [{**CUSTOMER, "demand2": 3}]}, "customers[0].demand2"),
    "pallets beside the demand": ({"customers": [{**CUSTOMER, "pallets": 3}]}, "customers[0].pallets"),
    "a stop that is not required": ({"customers": [{**CUSTOMER, "required": False}]}, "customers[0].required"),
    "an objective": ({"objective": "vehicles"}, "objective"),
    "a matrix under another name": ({"matrix": [[0, 1], [1, 0]]}, "matrix"),
    "a second depot": ({"depot2": {"x": 1, "y": 1}}, "depot2"),
    "a pause of vehicles": ({"vehicles": [{**VAN, "Pause": "30 min"}]}, "vehicles[0].Pause"),
    "a speed of vehicles": ({"vehicles": [VAN, {**VAN, "name": "b", "speed": 3}]}, "vehicles[1].speed"),
    "a vehicle that is broken": (
        {"vehicles": [VAN, {**VAN, "name": "b", "available": False}]},
        "vehicles[1].available",
    ),
    "several capacities": ({"vehicles": [{**VAN, "capacities": [10, 4]}]}, "vehicles[0].capacities"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_key_that_would_not_be_planned_is_refused_until_it_is_ignored(name: str) -> None:
    change, field = CHANGES[name]
    with pytest.raises(UnsupportedError) as caught:
        instance_from_json({**DOCUMENT, **change})

    assert caught.value.where.field == field
    assert instance_from_json({**DOCUMENT, **change}, ignore=caught.value.names).capacity == 10


@pytest.mark.parametrize(
    "extra",
    [
        {"type": "customer"},
        {"priority": None},
        {"skills": []},
        {"optional": False},
        {"required": True},
        {"weight": 4},
        {"Telefon": "040"},
    ],
)
def test_a_key_that_asks_for_nothing_is_accepted(extra: dict[str, object]) -> None:
    with gather_notes():
        assert instance_from_json({**DOCUMENT, "customers": [{**CUSTOMER, **extra}]}).size == 1


def test_a_name_that_is_no_key_is_an_error() -> None:
    with pytest.raises(OptionError, match="no key 'Pause'"):
        instance_from_json(DOCUMENT, ignore=["Pause"])


def test_a_set_needs_the_key_in_one_instance_only(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text(json.dumps([DOCUMENT, {**DOCUMENT, "breaks": [[1, 2]]}]))

    assert len(read_set(path, ignore=["breaks"])) == 2
    with pytest.raises(OptionError, match="no key 'Pause'"):
        read_set(path, ignore=["breaks", "Pause"])


def test_vehicles_in_a_file_of_their_own_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "vans.json"
    path.write_text(json.dumps([{**VAN, "Pause": "30 min"}]))
    with pytest.raises(UnsupportedError, match="'Pause' looks like a break"):
        read_vehicles(path)

    assert read_vehicles(path, ignore="Pause").types[0].name == "van"


def test_a_plan_can_be_solved_again_without_a_key_but_not_be_read_without_it(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"instance": {**DOCUMENT, "breaks": [[1, 2]]}, "routes": [[1, 2]]}))

    assert read(path, ignore="breaks").size == 2
    with pytest.raises(UnsupportedError) as caught:
        read_plan(path)
    assert caught.value.remedy == "Remove it to plan without it."
