"""``--ignore``: planning without columns that ask for something unsupported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import assert_refused, invoke, invoke_json, save

STOPS = "id,x,y,demand,Prio,window 2\n0,0,0,0,,\nA,1,1,1,1,08:00-10:00\nB,2,2,1,2,\n"
VANS = "name;capacity;Pause\nvan;10;30 min\n"
IGNORED = ("--ignore", "Prio", "--ignore", "window 2")


@pytest.mark.parametrize("command", ["info", "solve", "convert", "plot", "check"])
def test_every_command_that_reads_tables_refuses_and_ignores(command: str, tmp_path: Path) -> None:
    more: dict[str, tuple[str | Path, ...]] = {
        "solve": ("--model", "savings", "--improve", "none"),
        "convert": (tmp_path / "out.json",),
        "plot": ("--out", tmp_path / "out.png"),
        "check": (save(tmp_path, "a.sol", "Route #1: 1 2\n"),),
    }
    stops = save(tmp_path, "stops.csv", STOPS)
    arguments = (command, stops, *more.get(command, ()), "--capacity", "10")

    assert_refused(
        invoke(*arguments),
        "'Prio' looks like a priority",
        "'window 2' looks like a time window",
        "--ignore Prio --ignore 'window 2' plans without them.",
    )
    assert invoke(*arguments, *IGNORED).exit_code == 0


def test_a_column_of_the_vehicles_can_be_ignored(tmp_path: Path) -> None:
    vans = save(tmp_path, "vans.csv", VANS)
    arguments = ("info", save(tmp_path, "stops.csv", STOPS), "--vehicles", vans)

    assert_refused(invoke(*arguments, *IGNORED), "vans.csv, line 2", "--ignore Pause plans without it.")
    assert invoke(*arguments, *IGNORED, "--ignore", "Pause").exit_code == 0


def test_a_break_of_the_vehicles_can_be_ignored_beside_stops_of_a_program(tmp_path: Path) -> None:
    stops = {"depot": {"x": 0, "y": 0}, "customers": [{"x": 1, "y": 1, "demand": 1}], "capacity": 10}
    arguments = ("info", save(tmp_path, "stops.json", json.dumps(stops)), "--vehicles", save(tmp_path, "v.csv", VANS))

    assert invoke(*arguments, "--ignore", "Pause").exit_code == 0
    assert_refused(invoke(*arguments, "--ignore", "Pause", "--ignore", "x2"), "no key 'x2'")


def test_a_name_that_is_no_column_is_refused(tmp_path: Path) -> None:
    result = invoke("info", save(tmp_path, "stops.csv", STOPS), "--capacity", "10", *IGNORED, "--ignore", "Max")

    assert_refused(result, "--ignore", "no column 'Max'", "id, x, y, demand, Prio, window 2")


def test_a_format_without_columns_has_none_to_ignore(tmp_path: Path) -> None:
    assert_refused(invoke("info", save(tmp_path, "a.vrp", "NAME : a\n"), "--ignore", "Prio"), "--ignore", "tables")


@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_new_customers_are_inserted_without_a_column(suffix: str, tmp_path: Path) -> None:
    stops = save(tmp_path, "stops.csv", "# capacity: 9\nid,x,y,demand\n0,0,0,0\nA,1,1,1\n")
    assert (
        invoke("solve", stops, "--model", "savings", "--improve", "none", "--out", tmp_path / "p.json").exit_code == 0
    )
    new = {".csv": "id,x,y,demand,Prio\nN,2,2,1,1\n", ".json": '[{"id": "N", "x": 2, "y": 2, "demand": 1, "Prio": 1}]'}
    arguments = ("insert", tmp_path / "p.json", save(tmp_path, f"new{suffix}", new[suffix]))

    assert_refused(invoke(*arguments), "'Prio' looks like a priority", "--ignore Prio plans without it.")
    assert invoke_json(*arguments, "--ignore", "Prio")["unserved"] == []


def test_a_batch_tells_how_to_make_a_file_that_it_can_solve(tmp_path: Path) -> None:
    stops = save(tmp_path, "stops.csv", f"# capacity: 9\n{STOPS}")
    result = invoke("batch", stops, "--out", tmp_path / "out")

    assert_refused(result, f"dynaroute convert {stops} OUT.json --ignore Prio --ignore 'window 2'")
    assert invoke("convert", stops, tmp_path / "OUT.json", *IGNORED).exit_code == 0
    assert invoke("info", tmp_path / "OUT.json").exit_code == 0


def test_the_error_for_programs_has_the_same_words(tmp_path: Path) -> None:
    result = invoke("info", save(tmp_path, "stops.csv", STOPS), "--capacity", "10", "--ignore", "Prio", "--json")

    assert result.exit_code == 2
    assert json.loads(result.stderr)["code"] == "unsupported"
    assert json.loads(result.stderr)["remedy"].endswith("--ignore 'window 2' plans without it.")
