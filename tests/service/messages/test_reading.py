from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from running_service import INSTANCE
from strategies import instances

from dynaroute.base.errors import DynarouteError
from dynaroute.formats import format_csv, format_vrplib, instance_from_json, instance_to_json
from dynaroute.problem.instance import Instance
from dynaroute.service.messages.reading import Problem, read_judgement, read_problem
from dynaroute.service.messages.refusals import RequestError
from dynaroute.service.messages.request_schemas import QueryOptions
from dynaroute.service.messages.sizes import ReadingLimits

JSON, CSV, VRP = "application/json", "text/csv; charset=utf-8", "text/plain"
NO_OPTIONS = QueryOptions()
SMALL = instance_from_json(INSTANCE)
LIMITS = ReadingLimits(customers=100, stops=1_000, vehicle_types=20, name_length=50)


def read(body: bytes | dict[str, Any], content_type: str = JSON, **options: Any) -> Problem:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read_problem(content, content_type, QueryOptions(**options), LIMITS)


def make_form(*parts: tuple[str, bytes]) -> tuple[bytes, str]:
    lines = []
    for disposition, content in parts:
        lines += [b"--edge", f"Content-Disposition: form-data; {disposition}".encode(), b"", content]
    return b"\r\n".join([*lines, b"--edge--", b""]), "multipart/form-data; boundary=edge"


@given(instances())
def test_json_is_read_as_a_file_is(instance: Instance) -> None:
    document = instance_to_json(instance)

    assert read_problem(json.dumps(document).encode(), JSON, NO_OPTIONS, LIMITS).instance == instance_from_json(
        document
    )


def test_table_is_read() -> None:
    assert read(format_csv(SMALL).encode(), CSV).instance == SMALL


def test_vrplib_is_read() -> None:
    assert read(format_vrplib(SMALL).encode(), VRP).instance == SMALL


def test_capacity_of_a_table_may_come_from_the_query() -> None:
    assert read(b"x,y,demand\n0,0,0\n1,1,3\n", CSV, capacity=4.5).instance.capacity == 45


def test_form_holds_a_file_and_options() -> None:
    body, content_type = make_form(
        ('name="file"; filename="C:\\\\data\\\\small.vrp"', format_vrplib(SMALL).encode()),
        ('name="decode"', b"sample"),
        ('name="augment"', b"true"),
    )

    problem = read(body, content_type, seed=7)

    assert problem.instance == SMALL
    assert problem.options == {"decode": "sample", "augment": True, "seed": 7}


def test_options_of_a_body_are_read() -> None:
    problem = read({**INSTANCE, "options": {"time_limit": 1.5, "seed": 3.0, "model": None}})

    assert problem.options == {"time_limit": 1.5, "seed": 3}


def test_unknown_key_is_noted_for_this_request_alone() -> None:
    assert read({**INSTANCE, "colour": "red"}).notes == ("the key 'colour' is unknown and was ignored.",)
    assert read(INSTANCE).notes == ()


def test_a_time_limit_beside_the_problem_is_shown_its_place() -> None:
    with pytest.raises(DynarouteError, match="is an option") as caught:
        read(b'{"capacity": 1, "depot": {}, "customers": [], "time_limit": 5}')

    assert '"options": {"time_limit": 5}' in caught.value.remedy


def test_what_is_not_planned_is_refused_until_the_options_ignore_it() -> None:
    problem = {**INSTANCE, "customers": [{**customer, "crew": 2} for customer in INSTANCE["customers"]]}
    with pytest.raises(DynarouteError, match="'crew' looks like a crew") as caught:
        read(problem)

    assert caught.value.remedy == 'ignore=["crew"] plans without it.'
    assert read({**problem, "options": {"ignore": ["crew"]}}).instance == SMALL
    assert read(problem, ignore=["crew"]).instance == SMALL
    with pytest.raises(DynarouteError, match="is an option"):
        read({**problem, "ignore": ["crew"]})


def test_columns_of_an_uploaded_table_can_be_ignored() -> None:
    table = b"# capacity: 5\nx,y,demand,Prio,Pause\n0,0,0,,\n1,1,3,1,10\n"
    upload = ('name="file"; filename="my.csv"', table)

    assert read(table, CSV, ignore=["Prio", "Pause"]).instance.size == 1
    assert read(*make_form(upload, ('name="ignore"', b"Prio"), ('name="ignore"', b"Pause"))).instance.size == 1
    with pytest.raises(DynarouteError, match="'Pause' looks like a break"):
        read(*make_form(upload, ('name="ignore"', b"Prio")))
    with pytest.raises(DynarouteError, match="no column 'Max'"):
        read(table, CSV, ignore=["Prio", "Pause", "Max"])
    with pytest.raises(DynarouteError, match="only applies to tables"):
        read(format_vrplib(SMALL).encode(), VRP, ignore=["Prio"])


def test_a_solution_is_checked_without_ignored_keys() -> None:
    instance = {**INSTANCE, "breaks": [[1, 2]]}
    body = {"instance": instance, "solution": {"routes": [[1, 2], [3]]}}

    assert read_judgement(json.dumps({**body, "ignore": ["breaks"]}).encode(), JSON, LIMITS).instance == SMALL
    for wrong in (None, "breaks", [1], ["x" * 300]):
        with pytest.raises(DynarouteError):
            read_judgement(json.dumps({**body, "ignore": wrong}).encode(), JSON, LIMITS)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[1, 2",
        b'{"capacity": NaN}',
        b'{"capacity": -Infinity}',
        b'{"name": "NaN", "capacity": Infinity}',
        b'{"capacity": 1, "capacity": 2}',
        b'{"name": "\xff"}',
        b"[" * 100_000,
        b'{"capacity": 1e999999999999999999999}',
        b'{"capacity": ' + b"9" * 5000 + b"}",
    ],
)
def test_malformed_json_is_400(body: bytes) -> None:
    with pytest.raises(RequestError) as caught:
        read(body)

    assert caught.value.status == 400
    assert caught.value.kind == "json"
    assert caught.value.remedy


def test_name_may_speak_of_nan() -> None:
    assert read({**INSTANCE, "name": "NaN Infinity"}).instance.name == "NaN Infinity"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"capacity": 8}, "customers[2].demand"),
        ({"capacity": None}, "capacity"),
        ({"customers": []}, "customers"),
        ({"customers": [{"x": 1, "y": "2", "demand": 1}]}, "customers[0].y"),
        ({"customers": [{"x": 1, "y": 2, "demand": -1}]}, "customers[0].demand"),
        ({"max_duration": 8}, "max_duration"),
        ({"name": "\ud800"}, "name"),
        ({"options": []}, "options"),
        ({"options": {"seed": "1"}}, "options.seed"),
        ({"options": {"seed": 1.5}}, "options.seed"),
        ({"options": {"samples": True}}, "options.samples"),
        ({"options": {"haste": 1}}, "options.haste"),
    ],
)
def test_impossible_problem_names_the_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(DynarouteError) as caught:
        read({**INSTANCE, **change})

    assert caught.value.where.field == field
    assert getattr(caught.value, "status", 422) == 422


def test_fault_in_a_file_names_file_and_line() -> None:
    body, content_type = make_form(
        ('name="file"; filename="../my.csv"', b"# capacity: 5\nx,y,demand\n0,0,0\n1,one,3\n")
    )

    with pytest.raises(DynarouteError) as caught:
        read(body, content_type)

    assert (caught.value.where.file, caught.value.where.line, caught.value.where.field) == ("my.csv", 4, "y")


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ([], "file"),
        ([('name="seed"', b"1")], "file"),
        ([('name="file"; filename="a.doc"', b"x")], "file"),
        ([('name="file"; filename="a.csv"', b"x"), ('name="file"; filename="b.csv"', b"x")], "file"),
        ([('name="file"; filename="a.csv"', b"x"), ('name="seed"', b"one")], "seed"),
        ([('name="file"; filename="a.csv"', b"x"), ('name="augment"', b"yes")], "augment"),
    ],
)
def test_faulty_form_names_the_field(parts: list[tuple[str, bytes]], field: str) -> None:
    body, content_type = make_form(*parts)

    with pytest.raises(DynarouteError) as caught:
        read(body, content_type)

    assert caught.value.where.field == field


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"", "multipart/form-data"),
        (b"hello", "multipart/form-data; boundary=edge"),
        (b'--edge\r\nContent-Disposition: form-data; name="file"\r\n\r\nx', "multipart/form-data; boundary=edge"),
        (make_form(*[('name="a"', b"")] * 40)[0], "multipart/form-data; boundary=edge"),
    ],
)
def test_what_is_no_form_is_400(body: bytes, content_type: str) -> None:
    with pytest.raises(RequestError) as caught:
        read(body, content_type)

    assert caught.value.status == 400


@pytest.mark.parametrize("content_type", ["", "text/html", "application/x-www-form-urlencoded", "application/jsonx"])
def test_unknown_media_type_is_415(content_type: str) -> None:
    with pytest.raises(RequestError) as caught:
        read(b"{}", content_type)

    assert caught.value.status == 415
    assert "application/json" in caught.value.remedy


@pytest.mark.parametrize("content_type", [JSON, CSV])
def test_too_many_customers_are_413(content_type: str) -> None:
    place = {"x": 1, "y": 1, "demand": 1}
    document = {**INSTANCE, "customers": [place] * 101}
    body = json.dumps(document).encode() if content_type == JSON else format_csv(instance_from_json(document)).encode()

    with pytest.raises(RequestError) as caught:
        read(body, content_type)

    assert caught.value.status == 413
    assert "101 customers" in caught.value.message


def test_option_given_twice_is_refused() -> None:
    with pytest.raises(DynarouteError) as caught:
        read({**INSTANCE, "options": {"seed": 1}}, seed=2)

    assert caught.value.where.field == "seed"


@pytest.mark.parametrize("content_type", [JSON, VRP])
def test_capacity_is_for_tables_alone(content_type: str) -> None:
    body = json.dumps(INSTANCE).encode() if content_type == JSON else format_vrplib(SMALL).encode()

    with pytest.raises(DynarouteError) as caught:
        read(body, content_type, capacity=5)

    assert caught.value.where.field == "capacity"


def test_judgement_is_read() -> None:
    body = json.dumps({"instance": INSTANCE, "solution": {"routes": [[1, 2], [3]], "cost": 14}}).encode()

    judgement = read_judgement(body, JSON, LIMITS)

    assert judgement.instance == SMALL
    assert judgement.solution.routes == ((1, 2), (3,))
    assert judgement.solution.stated_cost == 14


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"instance": INSTANCE}, "solution"),
        ({"solution": {"routes": []}}, "instance"),
        ({"instance": {**INSTANCE, "capacity": 1}, "solution": {"routes": []}}, "instance.customers[0].demand"),
        ({"instance": INSTANCE, "solution": {"routes": [["1"]]}}, "solution.routes[0][0]"),
        ({"instance": INSTANCE, "solution": {"routes": []}, "hint": 1}, "hint"),
    ],
)
def test_faulty_judgement_names_the_field(document: dict[str, Any], field: str) -> None:
    with pytest.raises(DynarouteError) as caught:
        read_judgement(json.dumps(document).encode(), JSON, LIMITS)

    assert caught.value.where.field == field
