from __future__ import annotations

import json
from pathlib import Path

from command_line import INSTANCE, RIGHT_SOLUTION, WRONG_SOLUTION, assert_refused, invoke, invoke_json, save


def test_right_solution_is_ok(tmp_path: Path) -> None:
    result = invoke("check", save(tmp_path, "a.vrp", INSTANCE), save(tmp_path, "a.sol", RIGHT_SOLUTION))

    assert result.exit_code == 0
    assert result.stdout == "ok: 2 routes, 3 customers, cost 14\n"


def test_wrong_solution_exits_with_one_and_lists_every_violation(tmp_path: Path) -> None:
    result = invoke("check", save(tmp_path, "a.vrp", INSTANCE), save(tmp_path, "a.sol", WRONG_SOLUTION))

    assert result.exit_code == 1
    for kind in ("repeated", "overload", "missing", "cost"):
        assert kind in result.stdout


def test_json_of_a_right_solution(tmp_path: Path) -> None:
    document = invoke_json("check", save(tmp_path, "a.vrp", INSTANCE), save(tmp_path, "a.sol", RIGHT_SOLUTION))

    assert document == {"ok": True, "cost": 14, "violations": []}


def test_json_of_a_wrong_solution(tmp_path: Path) -> None:
    instance, solution = save(tmp_path, "a.vrp", INSTANCE), save(tmp_path, "a.sol", "Route #1: 1 2\nRoute #2: 3 3\n")

    result = invoke("check", instance, solution, "--json")

    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["ok"] is False
    assert document["cost"] == 14
    assert [violation["kind"] for violation in document["violations"]] == ["repeated", "overload"]
    assert set(document["violations"][0]) == {"kind", "route", "customer", "message"}
    assert (document["violations"][0]["route"], document["violations"][0]["customer"]) == (2, 3)
    assert document["violations"][1]["customer"] is None


def test_unknown_customer_leaves_the_cost_open(tmp_path: Path) -> None:
    instance, solution = save(tmp_path, "a.vrp", INSTANCE), save(tmp_path, "a.sol", "Route #1: 1 2\nRoute #2: 3 77\n")

    result = invoke("check", instance, solution, "--json")

    assert result.exit_code == 1
    assert json.loads(result.stdout)["cost"] is None


def test_depot_in_a_route_is_shown_by_its_number(tmp_path: Path) -> None:
    instance, solution = save(tmp_path, "a.vrp", INSTANCE), save(tmp_path, "a.sol", "Route #1: 0 1 2\nRoute #2: 3\n")

    result = invoke("check", instance, solution)

    assert result.exit_code == 1
    assert result.stdout.splitlines()[1].split()[:3] == ["unknown", "1", "0"]


def test_solution_that_cannot_be_read_exits_with_two(tmp_path: Path) -> None:
    instance, solution = save(tmp_path, "a.vrp", INSTANCE), save(tmp_path, "a.sol", "Route #1: one\n")

    assert_refused(invoke("check", instance, solution), "a.sol", "line 1")


def test_missing_instance_exits_with_two(tmp_path: Path) -> None:
    result = invoke("check", tmp_path / "none.vrp", save(tmp_path, "a.sol", RIGHT_SOLUTION))

    assert_refused(result, "none.vrp", "no such file")


def test_capacity_option_completes_a_csv_file(tmp_path: Path) -> None:
    instance = save(tmp_path, "a.csv", "id,x,y,demand\ndepot,0,0,0\none,3,4,2\n")
    solution = save(tmp_path, "a.sol", "Route #1: 1\nCost 10\n")

    assert_refused(invoke("check", instance, solution), "capacity")
    assert invoke("check", instance, solution, "--capacity", "5").exit_code == 0
