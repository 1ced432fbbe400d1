"""Plans with any rules are written, shown and read again in every form."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import invoke
from rich_problems import RULE_MAKERS, draw_problem, draw_routes

from dynaroute.formats import instance_to_json
from dynaroute.plans.files.table import list_columns, list_rows
from dynaroute.plans.plan import Plan
from dynaroute.plans.read import read_plan
from dynaroute.plans.write import write_plan
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.problem.unserved import explain_unserved
from dynaroute.problem.working_day import Break

LINE = np.array([[0.0, 0], [10, 0], [20, 0], [30, 0]])


@pytest.mark.filterwarnings("ignore::dynaroute.base.errors.InputWarning")
@pytest.mark.parametrize("suffix", [".json", ".csv", ".html"])
@pytest.mark.parametrize("seed", range(12))
def test_a_plan_with_rules_is_written(suffix: str, seed: int, tmp_path: Path) -> None:
    random = np.random.default_rng(seed)
    rules = set(random.choice(sorted(RULE_MAKERS), int(random.integers(2, 9)), replace=False).tolist())
    instance = draw_problem(random, rules)
    plan = Plan(instance, draw_routes(random, instance))
    file = tmp_path / f"plan{suffix}"
    write_plan(plan, file)
    if suffix == ".json":
        again = read_plan(file)
        assert again.instance == instance
        assert again.solution.routes == plan.solution.routes


def day() -> tuple[Instance, Solution]:
    vehicle = VehicleType(
        9, "van", breaks=(Break(5, (12, 25)),), reload=("depot",), shift=(0, 70), fixed_cost=50, loading=2
    )
    instance = Instance(
        LINE,
        np.array([0, 2, 3, 4]),
        9,
        vehicles=(vehicle,),
        speed=1.0,
        pickups=np.array([0, 1, 0, 0]),
        priorities=np.array([np.nan, np.nan, np.nan, 10]),
    )
    return instance, Solution(((1, 0, 2),), vehicles=(0,))


def test_a_route_names_reloads_pickups_and_breaks(tmp_path: Path) -> None:
    instance, solution = day()
    (route,) = Plan(instance, solution).routes
    assert [(stop.id, stop.is_reload, stop.on_board) for stop in route.stops] == [
        ("1", False, "1"),
        ("", True, "3"),
        ("2", False, "0"),
    ]
    assert route.stops[0].pickup == "1"
    assert [(start, end) for start, end, _ in route.breaks] == [(20, 25)]
    write_plan(Plan(instance, solution), tmp_path / "plan.html")
    page = (tmp_path / "plan.html").read_text(encoding="utf-8")
    assert "Reload" in page
    assert "break" in page


def globe() -> Plan:
    """A route on the globe with money, two dimensions of loads and a pickup, which is on board at the end."""
    vehicle = VehicleType((90, 3), "van", fixed_cost=50)
    demands, pickups = np.array([[0, 0], [20, 1], [30, 2]]), np.array([[0, 0], [10, 1], [0, 0]])
    instance = Instance(
        np.array([[50.0, 8], [50.01, 8], [50.02, 8]]),
        demands,
        90,
        metric="great_circle",
        vehicles=(vehicle,),
        pickups=pickups,
        dimensions=("kg", "pallets"),
    )
    return Plan(instance, Solution(((1, 2),), vehicles=(0,)))


def test_amounts_are_written_in_every_dimension_up_to_the_end(tmp_path: Path) -> None:
    plan = globe()
    end = plan.routes[0].end
    assert end is not None
    assert end.on_board == "10 kg, 1 pallets"
    for name in ("plan.csv", "plan.html"):
        write_plan(plan, tmp_path / name)
    rows = list(csv.DictReader((tmp_path / "plan.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["demand"], row["pickup"], row["load"]) for row in rows] == [
        ("", "", "50 kg, 3 pallets"),
        ("20 kg, 1 pallets", "10 kg, 1 pallets", "40 kg, 3 pallets"),
        ("30 kg, 2 pallets", "", "10 kg, 1 pallets"),
        ("", "", "10 kg, 1 pallets"),
    ]
    page = (tmp_path / "plan.html").read_text(encoding="utf-8")
    assert "20 kg, 1 pallets, pickup 10 kg, 1 pallets" in page
    assert page.count("10 kg, 1 pallets") >= 3


def test_what_is_collected_is_a_number_where_loads_have_one_dimension() -> None:
    instance, solution = day()
    plan = Plan(instance, solution)
    place = list_columns(plan).index("pickup")
    assert [row[place] for row in list_rows(plan)] == ["", "", 1, "", "", ""]


def test_money_has_no_unit_of_length(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    write_plan(globe(), file)
    assert invoke("check", file).stdout == "ok: 1 route, 2 customers, cost 4497.80\n"
    assert "1 routes, 4497.80\n" in invoke("info", file).stdout


def test_a_customer_who_is_left_out_is_explained_by_vehicle() -> None:
    instance, solution = day()
    (left_out,) = explain_unserved(instance, solution)
    assert left_out.reason.startswith("van: ends 17 after the end of its shift; van 2: leaves van no place")
    free = replace(instance, vehicles=(replace(instance.fleet[0], breaks=(), shift=None),))
    (left_out,) = explain_unserved(free, solution)
    assert left_out.reason == "serving it would cost more than leaving it out"


def test_info_and_check_tell_about_rules(tmp_path: Path) -> None:
    instance, solution = day()
    file, plan = tmp_path / "day.json", tmp_path / "plan.json"
    file.write_text(json.dumps(instance_to_json(instance)), encoding="utf-8")
    write_plan(Plan(instance, solution), plan)
    told = invoke("info", str(file))
    assert told.exit_code == 0
    assert "1 break" in told.stdout
    assert "customers with a priority" in told.stdout
    checked = invoke("check", str(file), str(plan), "--timetable")
    assert checked.exit_code == 0
    assert "Break from" in checked.stdout
