"""Plans as workbooks: times and numbers that a spreadsheet can reckon with, and a sheet of routes."""

from __future__ import annotations

import datetime
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from command_line import assert_refused, invoke
from example_plans import globe_plan
from openpyxl import load_workbook

from dynaroute.base.errors import DynarouteError
from dynaroute.plans import Plan, read_routes, write_plan
from dynaroute.plans.files.xlsx import format_xlsx_plan, parse_xlsx_plan
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.solution import Solution


def timed_plan() -> Plan:
    plan = globe_plan()
    windows = np.array([[8 * 3600.0, 20 * 3600.0]] + [[9 * 3600.0, 18 * 3600.0]] * 9)
    return Plan(replace(plan.instance, speed=10.0, windows=windows), plan.solution)


def test_times_are_times_and_amounts_are_numbers() -> None:
    plan = timed_plan()
    rows = list(load_workbook(BytesIO(format_xlsx_plan(plan)))["Stops"].values)
    first = dict(zip(rows[0], rows[2], strict=True))

    assert first["start"] == datetime.time(9)
    assert isinstance(first["demand"], int) and isinstance(first["distance km"], float)


def test_each_route_has_a_row_with_its_vehicle_and_hours() -> None:
    plan = timed_plan()
    rows = list(load_workbook(BytesIO(format_xlsx_plan(plan)))["Routes"].values)

    assert rows[0] == ("route", "stops", "load", "distance km", "vehicle", "capacity", "departure", "end", "hours")
    assert [row[:3] for row in rows[1:]] == [(1, 4, 14), (2, 5, 15)]
    assert isinstance(rows[1][6], datetime.time) and isinstance(rows[1][8], float)


def test_routes_read_back_from_such_a_workbook() -> None:
    plan = timed_plan()

    assert parse_xlsx_plan(format_xlsx_plan(plan), plan.instance).routes == plan.solution.routes


def edit(plan: Plan, path: Path, *cells: tuple[str, object]) -> Path:
    """A plan's workbook with some cells changed."""
    book = load_workbook(BytesIO(format_xlsx_plan(plan)))
    for place, value in cells:
        book["Stops"][place] = value
    book.save(path)
    return path


def test_a_plan_edited_in_a_workbook_gives_sheets_with_its_day(tmp_path: Path) -> None:
    plan = timed_plan()
    write_plan(plan, tmp_path / "plan.json")
    edited = edit(plan, tmp_path / "edited.xlsx", ("B3", 2), ("B4", 1))
    files = (tmp_path / "plan.json", edited, tmp_path / "drivers.pdf")

    assert invoke("convert", *files).exit_code == 0
    assert (tmp_path / "drivers.pdf").read_bytes().startswith(b"%PDF")
    assert read_routes(edited, plan.instance).routes[0] == (1, 3, 2, 4)


def test_vehicles_of_routes_read_back_even_if_stops_moved(tmp_path: Path) -> None:
    plan = globe_plan()
    types = (VehicleType(20, name="van"), VehicleType(30, name="truck"))
    plan = Plan(replace(plan.instance, vehicles=types), Solution(plan.solution.routes, vehicles=(1, 0)))
    rows = list(load_workbook(BytesIO(format_xlsx_plan(plan)))["Stops"].values)
    assert rows[2][:3] == (1, "truck", 1)
    edited = edit(plan, tmp_path / "edited.xlsx", ("A3", 2), ("C3", 9))

    solution = read_routes(edited, plan.instance)
    assert solution.vehicle_types(plan.instance) == (1, 0)
    assert solution.routes[1][-1] == plan.solution.routes[0][0]


def test_two_stops_with_one_number_are_refused(tmp_path: Path) -> None:
    plan = globe_plan()
    with pytest.raises(DynarouteError, match="stop 2 of route 1 is both"):
        read_routes(edit(plan, tmp_path / "edited.xlsx", ("B3", 2)), plan.instance)


def test_convert_takes_two_or_three_files(tmp_path: Path) -> None:
    assert_refused(invoke("convert", tmp_path / "plan.json"), "two or three")
