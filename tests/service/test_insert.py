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
