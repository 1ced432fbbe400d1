"""POST /v1/insert: new customers in a plan."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from running_service import INSTANCE

pytest_plugins = ("service_fixtures",)

PLAN: dict[str, Any] = {"instance": INSTANCE, "routes": [[1, 2], [3]]}


def test_customer_is_put_where_it_costs_least(client: httpx.Client) -> None:
    body = {"plan": PLAN, "customers": [{"id": "new", "x": 3, "y": 2, "demand": 1}]}
    answer = client.post("/v1/insert", json=body).json()

    assert answer["routes"] == [[1, 4, 2], [3]]
    assert answer["insertions"] == [
        {"customer": 4, "id": "new", "route": 1, "stop": 2, "cost": 0, "opens_route": False}
    ]
    assert (answer["cost_before"], answer["cost"], answer["unserved"]) == (14, 14, [])


def test_new_customers_are_inserted_without_ignored_keys(client: httpx.Client) -> None:
    body = {"plan": PLAN, "customers": [{"x": 3, "y": 2, "demand": 1, "Prio": 2}]}
    refusal = client.post("/v1/insert", json=body)

    assert refusal.status_code == 422
    assert refusal.json()["remedy"] == 'ignore=["Prio"] plans without it.'
    assert client.post("/v1/insert", json={**body, "ignore": ["Prio"]}).json()["unserved"] == []


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"plan": PLAN}, 422, "customers"),
        ({"customers": []}, 422, "plan"),
        ({"plan": PLAN, "customers": []}, 422, "customers"),
        ({"plan": PLAN, "customers": [{"x": 1, "y": 1}]}, 422, "customers[0].demand"),
        ({"plan": {**PLAN, "routes": [[9]]}, "customers": [{"x": 1, "y": 1, "demand": 1}]}, 422, "plan"),
        ({"plan": {"routes": [[1]]}, "customers": [{"x": 1, "y": 1, "demand": 1}]}, 422, "plan.instance"),
        ({"plan": PLAN, "customers": [{"x": 1, "y": 1, "demand": 1}] * 101}, 413, "customers"),
        ({"plan": PLAN, "customers": [{"x": 1, "y": 1, "demand": 1}], "more": 1}, 422, "more"),
        ({"plan": 3, "customers": 4}, 422, "customers"),
    ],
)
def test_faulty_bodies_are_refused_by_field(client: httpx.Client, body: Any, status: int, field: str) -> None:
    response = client.post("/v1/insert", json=body)

    assert response.status_code == status
    assert str(response.json()["where"]["field"]).startswith(field)


NEW = [{"id": "new", "x": 3, "y": 2, "demand": 1}]


@pytest.mark.parametrize(
    ("changed", "kinds"),
    [
        ({"routes": [[1]]}, ["missing", "missing"]),
        ({"routes": [[1, 2], [3, 3]]}, ["repeated", "overload"]),
        ({"routes": [[1, 2, 3]]}, ["overload"]),
        ({"routes": [[1, 2], [9]]}, ["unknown", "missing"]),
        ({"cost": 3}, ["cost"]),
        ({"ids": [["2", "1"], ["3"]]}, ["ids", "ids"]),
        ({"loads": [9, 8], "route_costs": [12, 1]}, ["loads", "cost"]),
        ({"unserved": [10**400]}, ["unserved"]),
    ],
)
def test_plan_that_hides_faults_is_refused_with_all_of_them(
    client: httpx.Client, changed: dict[str, Any], kinds: list[str]
) -> None:
    response = client.post("/v1/insert", json={"plan": {**PLAN, **changed}, "customers": NEW})

    assert response.status_code == 422
    document = response.json()
    assert (document["code"], document["where"]["field"], document["left_out"]) == ("plan", "plan.routes", 0)
    assert [violation["kind"] for violation in document["violations"]] == kinds
    assert document["violations"][0]["message"][:50] in document["message"]


def test_faults_beyond_a_thousand_are_counted(client: httpx.Client) -> None:
    plan = {**PLAN, "routes": [[1]] * 1_200}
    document = client.post("/v1/insert", json={"plan": plan, "customers": NEW}).json()

    assert (len(document["violations"]), document["left_out"]) == (1_000, 201)


def test_plan_that_states_who_is_not_served_takes_customers_and_says_so(client: httpx.Client) -> None:
    lacking = {**PLAN, "routes": [[1, 2]], "unserved": [3]}
    response = client.post("/v1/insert", json={"plan": lacking, "customers": NEW})

    assert response.status_code == 200
    document = response.json()
    assert (document["routes"], document["unserved"]) == ([[1, 4, 2]], [3])
    assert any("Customer 3 is not visited" in message for message in document["messages"])


def test_vehicle_that_departs_earlier_is_told(client: httpx.Client) -> None:
    instance = {
        "capacity": 9,
        "speed": 1,
        "depot": {"x": 0, "y": 0},
        "customers": [{"x": 10, "y": 0, "demand": 1, "window": [100, 200]}],
        "vehicles": [{"name": "van", "capacity": 9, "count": 1}],
    }
    new = [{"x": 0, "y": 5, "demand": 1, "window": [0, 50]}]
    document = client.post(
        "/v1/insert", json={"plan": {"instance": instance, "routes": [[1]]}, "customers": new}
    ).json()

    (earlier,) = document["earlier"]
    assert (earlier["route"], earlier["vehicle"], earlier["before"], earlier["after"]) == (1, "van", 90, 45)
    assert earlier["message"] == "Route 1, van departs at 45 instead of 90, a time that may have passed."
    assert earlier["message"] in document["messages"]
