"""Requests about plans: comparing and explaining."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from desk_days import plan_document

pytest_plugins = ("service_fixtures",)


def test_two_plans_are_compared(client: httpx.Client) -> None:
    body = {"before": plan_document(), "after": plan_document([[1, 2], [4, 5, 6, 3], [7]])}
    answer = client.post("/v1/compare", json=body).json()

    assert answer["moved"] == 1
    (clinic,) = [stop for stop in answer["stops"] if stop["moved"]]
    assert (clinic["id"], clinic["after"]["vehicle"], clinic["after"]["stop"]) == ("Clinic", "Sprinter 2", 4)


def test_one_customer_is_explained_with_all_other_vehicles(client: httpx.Client) -> None:
    answer = client.post("/v1/explain", json={"plan": plan_document(), "id": "School"}).json()

    (school,) = answer["customers"]
    assert (school["vehicle"], school["stop"]) == ("Sprinter", 2)
    assert {place["vehicle"] for place in school["places"]} == {"Sprinter 2", "Bike"}
    assert all(place["reason"] for place in school["places"] if place["extra"] is None)


def test_all_customers_are_explained_without_an_id(client: httpx.Client) -> None:
    assert len(client.post("/v1/explain", json={"plan": plan_document()}).json()["customers"]) == 7


def test_a_day_that_cannot_be_planned_is_explained_by_what_makes_it_possible(client: httpx.Client) -> None:
    van = {"name": "van", "capacity": 10, "count": 1}
    customers = [{"id": "Bakery", "x": 3, "y": 4, "demand": 8}, {"id": "School", "x": 0, "y": 5, "demand": 7}]
    day = {"depot": {"x": 0, "y": 0}, "customers": customers, "vehicles": [van]}

    answer = client.post("/v1/explain", json={"day": day, "time_limit": 0.1}).json()

    assert answer["customers"] == []
    assert not answer["day"]["possible"] and answer["day"]["reason"]
    assert [each["name"] for each in answer["day"]["relaxations"]] == ["one van more"]
    possible = client.post("/v1/explain", json={"day": {**day, "vehicles": [{**van, "count": 2}]}}).json()["day"]
    assert possible == {"possible": True, "reason": "", "tried": 0, "relaxations": []}


def test_other_days_are_tried(client: httpx.Client) -> None:
    body = {"plan": plan_document(), "vehicles": ["Sprinter=1..2"], "window_until": {"School": "09:25"}}
    answer = client.post("/v1/what-if", json={**body, "time_limit": 0.03}).json()

    assert [each["name"] for each in answer["variants"]] == ["1 x Sprinter", "2 x Sprinter", "School until 09:25"]
    assert [each["possible"] for each in answer["variants"]] == [False, True, True]


def test_the_rest_of_a_day_is_planned_again(client: httpx.Client) -> None:
    body = {"plan": plan_document(), "now": "09:00", "cancel": ["Florist"], "time_limit": 0.05}
    answer = client.post("/v1/replan", json=body, timeout=300).json()  # the first search with rules may compile

    assert (answer["ok"], answer["cancelled"], answer["moved"]) == (True, ["Florist"], 0)
    assert [vehicle["name"] for vehicle in answer["plan"]["instance"]["vehicles"]][:2] == ["Sprinter", "Sprinter 2"]


@pytest.mark.parametrize(
    ("address", "body", "field"),
    [
        ("compare", {"before": plan_document()}, "after"),
        ("compare", {"before": 3, "after": 4}, "before"),
        (
            "compare",
            {"before": plan_document(), "after": {**plan_document(), "routes": [[1], [2], [3]]}},
            "after.routes",
        ),
        ("explain", {"plan": plan_document(), "id": 3}, "id"),
        ("explain", {"plan": plan_document(), "id": "Harbour"}, "id"),
        ("explain", {"plan": plan_document(), "customer": "School"}, "customer"),
        ("explain", {"plan": {"routes": [[1]]}}, "plan.instance"),
        ("what-if", {"plan": plan_document()}, "what-if"),
        ("replan", {"plan": plan_document()}, "now"),
        ("replan", {"plan": plan_document(), "now": "09:00", "broken": ["Van"]}, "broken"),
        ("replan", {"plan": plan_document(), "now": "09:00", "broken": {}}, "broken"),
        ("replan", {"plan": plan_document(), "now": "09:00", "cancel": ["Bakery"]}, "cancel"),
        ("replan", {"plan": plan_document(), "now": "09:00", "change_cost": -1}, "change_cost"),
        ("explain", {"plan": plan_document(), "day": plan_document()["instance"]}, "plan"),
        ("explain", {"plan": plan_document(), "time_limit": 1}, "time_limit"),
        ("explain", {"day": {"customers": []}}, "day"),
        ("what-if", {"plan": plan_document(), "vehicles": ["2..5"]}, "vehicles"),
        ("what-if", {"plan": plan_document(), "promises": True, "time_limit": 9}, "time_limit"),
        ("what-if", {"plan": plan_document(), "promises": 1}, "promises"),
        ("what-if", {"plan": plan_document(), "window_until": {"School": "late"}}, "window_until.School"),
    ],
)
def test_faulty_requests_are_refused_by_field(client: httpx.Client, address: str, body: Any, field: str) -> None:
    response = client.post(f"/v1/{address}", json=body)

    assert response.status_code == 422
    assert response.json()["where"]["field"].startswith(field)
