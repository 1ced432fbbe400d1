"""Plans that are read: they may be wrong only where they say so themselves."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from example_plans import globe_plan, plane_plan

from dynaroute import check, read_plan, write_plan
from dynaroute.base.errors import DynarouteError, FormatError, InputWarning, PlanError
from dynaroute.plans import Plan
from dynaroute.plans.changes.insertion import insert_customers
from dynaroute.plans.files.json import plan_from_json, plan_to_json
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.solution import Solution


def document(plan: Plan | None = None, **changed: Any) -> dict[str, Any]:
    """A right plan as JSON, with some keys replaced."""
    return {**json.loads(json.dumps(plan_to_json(plan or plane_plan()))), **changed}


FAULTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "missing": ({"routes": [[1, 2]], "cost": 12}, "missing", "Customer 3 is not visited"),
    "repeated": ({"routes": [[1, 2], [3, 3]]}, "repeated", "customer 3, which was already visited"),
    "unknown": ({"routes": [[1, 2], [3], [9]]}, "unknown", "visits 9"),
    "overload": ({"routes": [[1, 2, 3]]}, "overload", "carries 18, 8 more than the capacity 10"),
    "cost": ({"cost": 13}, "cost", "stated cost is 13, but the routes cost 14"),
    "length of a route": ({"route_costs": [12, 3]}, "cost", "stated length of route 2 is 3, but it is 2 long"),
    "number of lengths": ({"route_costs": [14]}, "cost", "1 stated lengths for 2 routes"),
    "id": ({"ids": [["1", "3"], ["3"]]}, "ids", "Stop 2 of route 1 is customer 2, but its stated id is '3'"),
    "swapped ids": ({"ids": [["2", "1"], ["3"]]}, "ids", "Stop 1 of route 1 is customer 1"),
    "ids of too few stops": ({"ids": [["1"], ["3"]]}, "ids", "Route 1 has 2 stops, but 1 ids"),
    "ids of too many routes": ({"ids": [["1", "2"], ["3"], []]}, "ids", "ids of 3 routes, but 2 routes"),
    "load": ({"loads": [9, 8]}, "loads", "stated load of route 2 is 8, but it carries 9"),
    "number of loads": ({"loads": [9, 9, 0]}, "loads", "3 loads for 2 routes"),
    "served customer": ({"unserved": [3]}, "unserved", "Customer 3 is stated to be unserved, but route 2 visits it"),
    "unserved nobody": ({"unserved": [7]}, "unserved", "7 is stated to be unserved"),
}
WITHOUT: dict[str, Any] = dict.fromkeys(("cost", "ids", "loads", "route_costs"))


@pytest.mark.parametrize("fault", FAULTS)
def test_hidden_fault_is_refused_and_named(fault: str) -> None:
    changed, kind, message = FAULTS[fault]
    given = {**WITHOUT, **changed} if "routes" in changed else changed
    with pytest.raises(PlanError) as refusal:
        plan_from_json(document(**given))
    assert kind in {violation["kind"] for violation in refusal.value.violations}
    assert message in str(refusal.value)


def test_all_faults_are_named_at_once() -> None:
    with pytest.raises(PlanError, match="hides 5 faults") as refusal:
        plan_from_json(document(routes=[[1, 2, 2]], cost=5, ids=None, loads=[3], route_costs=None))
    kinds = [violation["kind"] for violation in refusal.value.violations]
    assert kinds == ["repeated", "overload", "missing", "loads", "cost"]
    for violation in refusal.value.violations:
        assert str(violation["message"]) in str(refusal.value)


def test_a_plan_without_statements_is_judged_by_its_routes_alone() -> None:
    assert plan_from_json(document(**WITHOUT)).solution.routes == plane_plan().solution.routes


def test_loads_that_were_added_up_in_binary_are_right() -> None:
    plan = globe_plan()
    scaled = Plan(replace(plan.instance, demand_scale=10), plan.solution)
    given = document(scaled)
    given["loads"] = [sum([0.1] * round(10 * load)) for load in given["loads"]]

    assert given["loads"] != document(scaled)["loads"]
    assert plan_from_json(given).solution.routes == plan.solution.routes


def test_empty_routes_need_no_statements_of_their_own() -> None:
    given = document(routes=[[1, 2], [], [3]], ids=[["1", "2"], [], ["3"]], loads=[9, 0, 9], route_costs=[12, 0, 2])

    assert plan_from_json(given).solution.routes == ((1, 2), (3,))


@pytest.mark.parametrize("key", ["unserved", "violations"])
def test_customer_that_the_plan_itself_says_is_not_served_is_a_warning(key: str) -> None:
    stated = {"unserved": [3]} if key == "unserved" else {"violations": [{"kind": "missing", "customer": 3}]}
    with pytest.warns(InputWarning, match="as it says itself: Customer 3 is not visited"):
        plan = plan_from_json(document(**WITHOUT, **stated, routes=[[1, 2]]))
    assert plan.solution.unserved(plan.instance) == [3]


def late_plan() -> Plan:
    """A plan that comes too late to customer 2, carries too much, and leaves customer 3 out."""
    plan = plane_plan()
    windows = np.array([[0, np.inf], [0, np.inf], [0, 2.0], [0, np.inf]])
    instance = replace(plan.instance, windows=windows, speed=1.0, vehicles=(VehicleType(9, count=1), VehicleType(10)))
    return Plan(replace(instance, demands=np.array([0, 4, 7, 9])), Solution(((1, 2),), vehicles=(0,)))


def test_violations_that_are_written_with_a_plan_are_read_with_warnings(tmp_path: Path) -> None:
    plan = late_plan()
    write_plan(plan, tmp_path / "plan.json")
    with pytest.warns(InputWarning) as warnings:
        again = read_plan(tmp_path / "plan.json")

    assert again.solution.routes == plan.solution.routes
    violations = check(plan.instance, plan.solution)
    assert {found.kind for found in violations} == {"overload", "late", "missing"}
    for found in violations:
        assert any(found.message in str(warning.message) for warning in warnings)


def test_violation_that_is_not_among_the_stated_ones_is_refused() -> None:
    given = json.loads(json.dumps(plan_to_json(late_plan())))
    given["violations"] = [stated for stated in given["violations"] if stated["kind"] != "late"]
    with pytest.raises(PlanError, match="hides 1 fault: Route 1 serves customer 2 from"):
        plan_from_json(given)


@pytest.mark.parametrize("fault", ["cost", "id", "load", "repeated", "unknown", "served customer"])
def test_contradiction_is_refused_even_if_it_is_stated(fault: str) -> None:
    changed, kind, _ = FAULTS[fault]
    stated = [
        {"kind": kind, "route": route, "customer": customer}
        for route in (None, 1, 2, 3)
        for customer in (None, 2, 3, 9)
    ]
    with pytest.raises(PlanError):
        plan_from_json(document(**changed, violations=stated))


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"ids": 3}, "ids"),
        ({"ids": [3]}, "ids[0]"),
        ({"ids": [["1", None], ["3"]]}, "ids[0][1]"),
        ({"loads": {}}, "loads"),
        ({"loads": ["nine", 9]}, "loads[0]"),
        ({"route_costs": [12, True]}, "route_costs[1]"),
        ({"unserved": "B"}, "unserved"),
        ({"unserved": [1.5]}, "unserved[0]"),
        ({"violations": [3]}, "violations[0]"),
        ({"violations": [{"route": 1}]}, "violations[0].kind"),
        ({"violations": [{"kind": "late", "route": "first"}]}, "violations[0].route"),
    ],
)
def test_statement_of_another_shape_is_refused_by_field(changed: dict[str, Any], field: str) -> None:
    with pytest.raises(FormatError) as refusal:
        plan_from_json(document(**changed))
    assert refusal.value.where.field == field


def test_error_survives_the_way_between_processes() -> None:
    with pytest.raises(PlanError) as refusal:
        plan_from_json(document(cost=13))
    error: DynarouteError = pickle.loads(pickle.dumps(refusal.value))

    assert error.to_json() == refusal.value.to_json()


def test_insertion_into_a_plan_with_unserved_customers_tells_all_of_them() -> None:
    plan = plane_plan()
    lacking = Plan(plan.instance, Solution(((1, 2),)))
    result = insert_customers(lacking, [{"x": 3, "y": 2, "demand": 1}])

    assert (result.unserved, result.fitting_nowhere) == ([3], [])
