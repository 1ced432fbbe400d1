"""Plans as files: what is written reads back, and no text becomes a formula."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from example_plans import ODD_IDS, globe_plan, plane_plan
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import load_workbook
from strategies import instances, solutions_of

from dynaroute import check, read
from dynaroute.base.errors import DynarouteError, FormatError, SolutionError, UnsupportedError
from dynaroute.plans import PLAN_SUFFIXES, ROUTE_SUFFIXES, Plan, read_plan, read_routes, write_plan, write_sheets
from dynaroute.plans.files.csv import format_csv_plan, parse_csv_plan
from dynaroute.plans.files.geojson import format_geojson, parse_geojson
from dynaroute.plans.files.json import format_json_plan, parse_json_plan
from dynaroute.plans.files.xlsx import format_xlsx_plan, parse_xlsx_plan


@pytest.mark.parametrize("suffix", ROUTE_SUFFIXES)
def test_routes_read_back_by_ids_as_they_were(tmp_path: Path, suffix: str) -> None:
    plan = globe_plan()
    write_plan(plan, tmp_path / f"plan{suffix}")

    assert read_routes(tmp_path / f"plan{suffix}", plan.instance).routes == plan.solution.routes


@given(st.data())
def test_all_formats_read_back_equal(data: st.DataObject) -> None:
    instance = data.draw(instances())
    plan = Plan(instance, data.draw(solutions_of(instance)))
    routes = plan.solution.routes

    assert parse_csv_plan(format_csv_plan(plan).encode(), instance).routes == routes
    again = parse_json_plan(format_json_plan(plan))
    assert (again.instance, again.solution.routes) == (instance, routes)
    assert check(again.instance, again.solution) == []
    if plan.has_degrees:
        assert parse_geojson(format_geojson(plan), instance).routes == routes


@settings(max_examples=15)
@given(st.data())
def test_workbooks_read_back_equal(data: st.DataObject) -> None:
    instance = data.draw(instances(sizes=st.integers(1, 4)))
    plan = Plan(instance, data.draw(solutions_of(instance)))

    assert parse_xlsx_plan(format_xlsx_plan(plan), instance).routes == plan.solution.routes


def test_plan_holds_instance_details_and_routes(tmp_path: Path) -> None:
    plan = globe_plan()
    write_plan(plan, tmp_path / "plan.json")

    again = read_plan(tmp_path / "plan.json")
    assert again.instance == plan.instance == read(tmp_path / "plan.json")
    assert again.instance.details == plan.instance.details
    document = json.loads((tmp_path / "plan.json").read_text())
    assert (document["unit"], document["ids"][0][0]) == ("m", "<b>bold</b>")


def test_no_cell_of_a_csv_begins_a_formula() -> None:
    rows = list(csv.reader(io.StringIO(format_csv_plan(globe_plan()))))

    assert not [cell for row in rows for cell in row if cell[:1] in tuple("=+-@\t\r")]
    assert {row[2] for row in rows[1:]} >= {"'=1+1", "'-5", "''=quoted", "'@home", "'+49 40", "007"}


def test_texts_of_a_csv_stand_in_quotes_so_that_nothing_parts_them() -> None:
    assert '"a;b,""c"""' in format_csv_plan(globe_plan())


def test_workbook_stores_texts_as_texts() -> None:
    book = load_workbook(io.BytesIO(format_xlsx_plan(globe_plan())))

    cells = [cell for row in book["Stops"].iter_rows(min_row=2) for cell in row if cell.value is not None]
    assert "f" not in {cell.data_type for cell in cells}
    assert {cell.value for cell in cells} >= set(ODD_IDS)
    assert [cell.value for cell in book["Routes"][1]][:4] == ["route", "stops", "load", "distance km"]


def test_tables_have_the_columns_of_the_file_and_kilometres() -> None:
    header, depot, first, *_ = csv.reader(io.StringIO(format_csv_plan(globe_plan())))

    assert header == ["route", "stop", "id", "name", "demand", "load", "distance km", "Adresse"]
    assert depot == ["1", "0", "", "Depot Hafen", "0", "0", "0.0", "Kai 1"]
    assert first[:6] == ["1", "1", "<b>bold</b>", "Kunde 3 <script>", "2", "2"]


def test_table_that_a_spreadsheet_saved_with_semicolons_and_in_another_order_is_read() -> None:
    plan = plane_plan()
    text = "id;stop;route\r\n2;2;1\r\n3;1;2\r\n;0;1\r\n1;1;1\r\n"

    assert parse_csv_plan(text.encode("utf-8-sig"), plan.instance).routes == plan.solution.routes


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("route,id\n1,1\n", FormatError, "column 'stop'; found route, id"),
        ("route,stop,id\n1,1,9\n", SolutionError, "no customer has the id '9'"),
        ("route,stop,id\nfirst,1,1\n", FormatError, "'first' is not the number of a route"),
        ("route,stop,id\n", FormatError, "there are no stops"),
        ('route,stop,id\n1,1,"1\n', FormatError, "not CSV"),
    ],
)
def test_faulty_tables_are_refused_in_words(text: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        parse_csv_plan(text.encode(), plane_plan().instance)


def test_what_is_no_workbook_is_refused() -> None:
    with pytest.raises(FormatError, match="not an Excel workbook"):
        parse_xlsx_plan(b"route,stop,id", plane_plan().instance)


@pytest.mark.parametrize("suffix", [".geojson", ".gpx", ".kml"])
def test_maps_refuse_a_plane_by_name(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(UnsupportedError, match=f"a {suffix} file needs places in degrees.*x and y in a plane"):
        write_plan(plane_plan(), tmp_path / f"plan{suffix}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [suffix for suffix in PLAN_SUFFIXES if suffix not in (".geojson", ".gpx", ".kml")])
def test_the_other_formats_take_a_plane(tmp_path: Path, suffix: str) -> None:
    write_plan(plane_plan(), tmp_path / f"plan{suffix}")

    assert (tmp_path / f"plan{suffix}").stat().st_size > 0


def test_unknown_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"no format '\.doc'"):
        write_plan(plane_plan(), tmp_path / "plan.doc")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"routes": [[1]]}', "this is not a plan"),
        ('{"instance": {"capacity": 1}}', "this is not a plan"),
        ('{"instance": {"capacity": 1, "customers": 3, "depot": {}}, "routes": []}', r"instance\.customers"),
    ],
)
def test_faulty_plans_are_refused_in_words(text: str, message: str) -> None:
    with pytest.raises(DynarouteError) as refusal:
        parse_json_plan(text)
    assert message.replace("\\", "") in str(refusal.value)


def test_sheets_are_one_file_a_driver(tmp_path: Path) -> None:
    files = write_sheets(globe_plan(), tmp_path / "sheets")

    assert [file.name for file in files] == ["route-01.html", "route-02.html"]
    first = files[0].read_text()
    assert "Müller" not in first and "007" in first
