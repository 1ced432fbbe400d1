from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from problems import make_instance

from dynaroute.base.errors import DynarouteError, FormatError, InputWarning, UnsupportedError
from dynaroute.formats import instance_from_json, instance_to_json
from dynaroute.formats.json.instance import format_json_set, parse_json


def document(**changes: Any) -> dict[str, Any]:
    customers = [{"x": 3, "y": 4, "demand": 4}, {"x": 6, "y": 8, "demand": 5}]
    return {"capacity": 10, "depot": {"x": 0, "y": 0}, "customers": customers, **changes}


def test_plain_data_becomes_an_instance_and_back() -> None:
    instance = instance_from_json(document(name="two", rounding="up"))

    assert instance == make_instance([[0, 0], [3, 4], [6, 8]], [0, 4, 5], 10, rounding="up")
    assert instance_to_json(instance) == document(name="two", rounding="up")


def test_a_float_means_the_decimals_it_is_written_with() -> None:
    instance = instance_from_json(document(capacity=10.1))

    assert (instance.capacity, instance.demand_scale) == (101, 10)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "10", [10], 10**400])
def test_a_capacity_that_is_no_finite_number_is_refused(value: object) -> None:
    with pytest.raises(DynarouteError) as caught:
        instance_from_json(document(capacity=value))

    assert caught.value.where.field == "capacity"


@pytest.mark.parametrize("value", [float("nan"), False, "3", 10**400, None])
def test_a_coordinate_that_is_no_finite_number_is_refused_by_its_path(value: object) -> None:
    with pytest.raises(DynarouteError) as caught:
        instance_from_json(document(customers=[{"x": value, "y": 4, "demand": 4}]))

    assert caught.value.where.field == "customers[0].x"


def test_positions_for_some_nodes_only_are_refused() -> None:
    distances = [[0, 1, 2], [1, 0, 3], [2, 3, 0]]

    with pytest.raises(FormatError) as caught:
        instance_from_json(document(distances=distances, depot={}))

    assert caught.value.where.field == "customers[0].x"


def test_a_limit_that_is_null_is_no_limit() -> None:
    assert instance_from_json(document(max_duration=None)).size == 2


def test_a_limit_on_the_depot_is_refused_by_its_path() -> None:
    with pytest.raises(UnsupportedError) as caught:
        instance_from_json(document(depot={"x": 0, "y": 0, "due": 50}))

    assert caught.value.where.field == "depot.due"


def test_an_unknown_key_is_warned_of_once_in_a_set() -> None:
    with pytest.warns(InputWarning, match=r"set\.json.*colour") as warned:
        parse_json(json.dumps([document(colour="red")] * 3), source="set.json")

    assert len(warned) == 1


def test_a_set_is_written_one_instance_a_line() -> None:
    instance = instance_from_json(document())

    assert len(format_json_set([instance, instance]).splitlines()) == 4


def test_the_written_shape_is_the_documented_one() -> None:
    instance = make_instance([[52.5, 13.4], [48.1, 11.6]], [0, 25], 100, "g", metric="great_circle", demand_scale=10)

    assert instance_to_json(instance) == {
        "name": "g",
        "capacity": 10,
        "depot": {"lat": 52.5, "lon": 13.4},
        "customers": [{"lat": 48.1, "lon": 11.6, "demand": 2.5}],
    }


def test_a_file_of_every_json_value_but_an_instance_is_refused() -> None:
    for text in ("null", "true", '"text"', "{}", "[[]]", "[null]", "[{}]", '{"customers": null}', "1e5"):
        with pytest.raises(FormatError) as caught:
            parse_json(text)
        assert caught.value.remedy


def test_this_documentation_example_is_read(tmp_path: Path) -> None:
    from dynaroute.formats import read

    path = tmp_path / "example.json"
    path.write_text(json.dumps(document(customers=[{"id": "Smith", "x": 3, "y": 4, "demand": 4}])))

    assert read(path).customer_names == ("Smith",)


def test_details_of_nodes_are_carried_through() -> None:
    customers = [{"x": 3, "y": 4, "demand": 4, "details": {"name": "Meyer", "phone": "040 1"}}]
    plain = document(name="told", customers=customers, depot={"x": 0, "y": 0, "details": {"address": "Kai 1"}})
    instance = instance_from_json(plain)

    assert instance.details is not None
    assert instance.details.columns == ("address", "name", "phone")
    assert instance.details.rows == (("Kai 1", "", ""), ("", "Meyer", "040 1"))
    assert instance_to_json(instance) == plain


def test_details_that_are_no_texts_are_refused_by_their_path() -> None:
    with pytest.raises(FormatError) as caught:
        instance_from_json(document(customers=[{"x": 3, "y": 4, "demand": 4, "details": {"phone": 401}}]))

    assert caught.value.where.field == "customers[0].details.phone"
