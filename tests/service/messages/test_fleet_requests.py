"""Fleets over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest
from running_service import INSTANCE

from dynaroute.formats import instance_from_json
from dynaroute.problem.solution import Solution, check
from dynaroute.search.with_limits.search import load_machine_code_of_limits

pytest_plugins = ("service_fixtures",)


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """The machine code is in its cache, so that no request waits for a compiler."""
    load_machine_code_of_limits()


def make_day(**parts: Any) -> dict[str, Any]:
    return {
        "depot": {"x": 0, "y": 0, "window": ["07:00", "18:00"]},
        "customers": [
            {"x": 3000, "y": 0, "demand": 4, "service": "5 min", "window": "08:00-10:00"},
            {"x": 0, "y": 4000, "demand": 5, "service": 600, "window": ["09:00", "11:00"]},
        ],
        "vehicles": [{"name": "van", "capacity": 9, "count": 1, "max_duration": "4h"}],
        "speed": 10,
        **parts,
    }


def test_a_fleet_is_solved_with_vehicles_and_arrivals(client: httpx.Client) -> None:
    answer = client.post("/v1/solve", json={**make_day(), "options": {"time_limit": 2}}, timeout=300)
    assert answer.status_code == 200, answer.text
    document = answer.json()
    assert document["vehicles"] == ["van"]
    assert document["unserved"] == [] and document["violations"] == []
    assert len(document["arrivals"][0]) == 2
    solution = Solution(document["routes"], document["cost"], vehicle_names=document["vehicles"])
    assert check(instance_from_json(make_day()), solution) == []


def test_a_fleet_without_a_search_is_built_by_insertion(client: httpx.Client) -> None:
    answer = client.post("/v1/solve", json=make_day(), timeout=300)
    assert answer.status_code == 200, answer.text
    assert answer.json()["method"] == "insertion"


def test_a_check_tells_why_customers_are_not_served(client: httpx.Client) -> None:
    customers = [{"id": name, "x": 1, "y": 2, "demand": 6} for name in ("A", "B")]
    instance = {**make_day(), "customers": customers}
    answer = client.post("/v1/check", json={"instance": instance, "solution": {"routes": [[1]]}}).json()

    reason = "the only vehicle has too little room (its demand is 6, at most 3 is free)"
    assert answer["unserved"] == [{"customer": 2, "id": "B", "reason": reason}]
    assert [violation["kind"] for violation in answer["violations"]] == ["missing"]


def test_a_check_of_a_plan_that_serves_all_has_no_such_list(client: httpx.Client) -> None:
    answer = client.post("/v1/check", json={"instance": make_day(), "solution": {"routes": [[1, 2]]}}).json()
    unknown = client.post("/v1/check", json={"instance": make_day(), "solution": {"routes": [[1, 7]]}}).json()

    assert "unserved" not in answer and "unserved" not in unknown


def test_a_plain_problem_has_no_vehicles(client: httpx.Client) -> None:
    assert client.post("/v1/solve", json=INSTANCE).json()["vehicles"] is None


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ({"speed": None}, "speed"),
        ({"vehicles": [{"name": "van"}]}, "vehicles[0].capacity"),
        ({"vehicles": [{"capacity": 9, "count": 1, "min_vehicles": 2}]}, "vehicles[0].min_vehicles"),
        ({"vehicles": [{"capacity": 5, "count": 1}]}, "vehicles"),
        ({"durations": [[0, 1], [1, 0]]}, "durations"),
        ({"version": 4}, "version"),
        ({"speed": 0.001}, "customers"),
        ({"options": {"improve": "local"}}, "improve"),
    ],
)
def test_a_faulty_or_impossible_fleet_is_refused_by_its_field(
    parts: dict[str, Any], field: str, client: httpx.Client
) -> None:
    answer = client.post("/v1/solve", json=make_day(**parts))
    assert answer.status_code == 422, answer.text
    assert answer.json()["where"]["field"] == field
    assert answer.json()["remedy"]


def test_a_late_plan_is_judged_so(client: httpx.Client) -> None:
    instance = make_day(speed=1)
    answer = client.post("/v1/check", json={"instance": instance, "solution": {"routes": [[2, 1]]}})
    assert answer.status_code == 200
    assert {"late"} <= {violation["kind"] for violation in answer.json()["violations"]}


def test_a_vehicle_that_there_is_not_has_no_cost(client: httpx.Client) -> None:
    question = {"instance": make_day(), "solution": {"routes": [[1, 2]], "vehicles": ["ship"]}}
    document = client.post("/v1/check", json=question).json()
    assert [violation["kind"] for violation in document["violations"]] == ["no_such_vehicle"]
    assert document["cost"] is None


def test_a_fleet_is_given_back_by_convert(client: httpx.Client) -> None:
    answer = client.post("/v1/convert", json=make_day())
    assert answer.status_code == 200, answer.text
    assert instance_from_json(answer.json()) == instance_from_json(make_day())


def test_two_matrices_of_1000_customers_are_let_in(client: httpx.Client) -> None:
    rows = np.random.default_rng(0).integers(1, 99_999, (1001, 1001)).tolist()
    document = {"capacity": 9, "customers": [{"demand": 1}] * 1000, "distances": rows, "durations": rows}
    answer = client.post("/v1/check", json={"instance": document, "solution": {"routes": [[1]]}}, timeout=120)
    assert answer.status_code == 200, answer.text[:200]


def test_windows_without_a_speed_can_be_read_so_that_one_is_added(client: httpx.Client) -> None:
    answer = client.post("/v1/convert", json=make_day(speed=None))
    assert answer.status_code == 200, answer.text
    assert "speed" not in answer.json()


# Many types


def make_crowd(customers: int, types: int, **parts: Any) -> dict[str, Any]:
    """A few customers, and vehicles of which each is a type of its own."""
    return make_day(
        customers=[{"x": 3000 + number, "y": 50 * number, "demand": 1} for number in range(customers)],
        vehicles=[{"name": f"van {number}", "capacity": 2, "count": 1, **parts} for number in range(types)],
    )


@pytest.mark.parametrize("options", [{}, {"time_limit": 0.5}, {"time_limit": 0.5, "objective": "vehicles"}])
def test_a_few_customers_and_a_thousand_vehicles_are_solved_with_the_users_names(
    options: dict[str, Any], client: httpx.Client
) -> None:
    instance = make_crowd(3, 1_000)
    answer = client.post("/v1/solve", json={**instance, "options": options}, timeout=60)
    assert answer.status_code == 200, answer.text
    document = answer.json()
    assert document["vehicles"] == ["van 0", "van 1"]
    solution = Solution(document["routes"], document["cost"], vehicle_names=document["vehicles"])
    assert check(instance_from_json(instance), solution) == []


def test_a_job_with_a_thousand_different_types_ends_when_it_is_deleted(client: httpx.Client) -> None:
    instance = make_crowd(6, 1_000)
    for number, vehicle in enumerate(instance["vehicles"]):
        vehicle["max_distance"] = 100_000 + number
    job = client.post("/v1/jobs", json={**instance, "options": {"time_limit": 300}}).json()
    ended = client.delete(f"/v1/jobs/{job['id']}", timeout=60).json()
    assert ended["state"] == "stopped"


@pytest.mark.parametrize(
    ("vehicles", "field"),
    [
        ([{"capacity": 9}] * 1_001, "vehicles"),
        ([{"capacity": 9, "name": "van " * 251}], "vehicles[0].name"),
    ],
    ids=["too many types", "a long name"],
)
def test_fleets_that_would_make_a_large_answer_are_refused_everywhere(
    vehicles: list[dict[str, Any]], field: str, client: httpx.Client
) -> None:
    instance = make_day(vehicles=vehicles)
    plan = {"instance": instance, "routes": [[1, 2]]}
    bodies = {
        "solve": instance,
        "jobs": instance,
        "convert": instance,
        "check": {"instance": instance, "solution": {"routes": [[1, 2]]}},
        "insert": {"plan": plan, "customers": [{"x": 1, "y": 1, "demand": 1}]},
    }
    for endpoint, body in bodies.items():
        answer = client.post(f"/v1/{endpoint}", json=body)
        assert answer.status_code == 413, (endpoint, answer.text)
        assert answer.json()["where"]["field"].endswith(field)
        assert len(answer.content) < 2_000


def test_a_check_tells_the_timetable_where_asked(client: httpx.Client) -> None:
    question = {"instance": make_day(), "solution": {"routes": [[1, 2]]}}
    told = client.post("/v1/check", json={**question, "timetable": True}).json()["timetable"]
    refused = client.post("/v1/check", json={**question, "timetable": "yes"})

    assert [stop["customer"] for stop in told[0]["stops"]] == [1, 2]
    assert told[0]["departure"] < told[0]["stops"][0]["arrival"]
    assert "timetable" not in client.post("/v1/check", json=question).json()
    assert (refused.status_code, refused.json()["where"]["field"]) == (422, "timetable")
