"""Commands about plans, as a planner calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import assert_refused, invoke, invoke_json
from desk_days import plan_document

COMMANDS = ("replan", "explain", "what-if", "simulate", "compare")


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan_document()))
    return file


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_and_json(command: str) -> None:
    shown = invoke(command, "--help").stdout

    assert f"dynaroute {command} " in shown.partition("Example:")[2]
    assert "--json" in shown


def test_a_customer_is_explained_in_words(plan: Path) -> None:
    shown = invoke("explain", plan, "School").stdout

    assert shown.startswith("School: Sprinter, stop 2, arrival 08:50\nleaving it out saves")
    assert "carries 11, 1 more than the capacity 10" in " ".join(shown.split())


def test_all_customers_are_explained(plan: Path) -> None:
    document = invoke_json("explain", plan)

    assert [each["id"] for each in document["customers"]][:3] == ["Bakery", "School", "Clinic"]
    assert all(len(each["places"]) <= 1 for each in document["customers"])


def test_an_unknown_customer_is_refused_by_name(plan: Path) -> None:
    assert_refused(invoke("explain", plan, "Harbour"), "Harbour")


def test_two_plans_are_compared_in_a_table(plan: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps(plan_document([[1, 2], [4, 5, 6, 3], [7]])))
    shown = invoke("compare", plan, other).stdout

    assert shown.endswith("1 stop (*) moved to another vehicle\n")
    assert any(line.split()[:2] == ["Clinic", "Sprinter"] for line in shown.splitlines())
    assert invoke_json("compare", plan, other)["moved"] == 1


def test_other_days_are_tried_in_one_table(plan: Path) -> None:
    arguments = (
        "what-if",
        plan,
        "--vehicles",
        "Sprinter=1..2",
        "--window-until",
        "School=09:25",
        "--time-limit",
        "0.03",
    )
    shown = invoke(*arguments).stdout

    assert [line.partition("  ")[0] for line in shown.splitlines()[1:5]] == [
        "the plan as it is",
        "1 x Sprinter",
        "2 x Sprinter",
        "School until 09:25",
    ]
    assert "1 x Sprinter: all customers demand 17" in shown
    document = invoke_json(*arguments)
    assert [each["possible"] for each in document["variants"]] == [False, True, True]


def test_a_time_that_is_none_is_refused(plan: Path) -> None:
    assert_refused(invoke("what-if", plan, "--window-until", "School"), "School=09:25")


def test_a_plan_is_driven_on_many_days(plan: Path) -> None:
    shown = invoke("simulate", plan, "--days", "100").stdout
    document = invoke_json("simulate", plan, "--days", "100")

    assert "of all stops are on time, on 100 days" in shown
    assert len(document["stops"]) == 7
    assert {"id", "on_time", "risky", "promise"} <= document["stops"][0].keys()
