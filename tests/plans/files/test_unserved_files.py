"""Files of plans that do not serve everyone begin with those customers and the reasons, and still read back."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest
from example_plans import globe_plan, unserved_plan
from fleet_strategies import fleet_instances
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import load_workbook
from published_schemas import find_geojson_faults, find_gpx_faults, find_kml_faults

from dynaroute.plans import ROUTE_SUFFIXES, Plan, read_routes, write_plan, write_sheets
from dynaroute.plans.files.csv import format_csv_plan, parse_csv_plan
from dynaroute.plans.files.geojson import format_geojson, parse_geojson
from dynaroute.plans.files.gpx import format_gpx
from dynaroute.plans.files.html import format_html_plan, format_html_sheet
from dynaroute.plans.files.kml import format_kml
from dynaroute.plans.files.pdf import format_pdf
from dynaroute.plans.files.xlsx import format_xlsx_plan, parse_xlsx_plan
from dynaroute.problem.solution import Solution

GPX_SPACE, KML_SPACE = "{http://www.topografix.com/GPX/1/1}", "{http://www.opengis.net/kml/2.2}"
IDS = ["@home", 'a;b,"c"']
REASONS = [
    "the only vehicle has too little room (its demand is 3, at most 1 is free)",
    "the only vehicle has too little room (its demand is 5, at most 1 is free)",
]


def overloaded_plan() -> Plan:
    """Everyone is served, by a lorry that does not hold them all."""
    plan = unserved_plan()
    return Plan(plan.instance, Solution((tuple(range(1, 10)),)))


def test_example_leaves_two_customers_out_for_lack_of_room() -> None:
    plan = unserved_plan()

    assert [(left_out.stop.id, left_out.reason) for left_out in plan.unserved] == list(zip(IDS, REASONS, strict=True))
    assert plan.faults == ()


def test_csv_begins_with_them() -> None:
    header, *rows = csv.reader(io.StringIO(format_csv_plan(unserved_plan())))
    places = [header.index(column) for column in ("route", "stop", "id", "name", "reason")]
    first, second, depot = ([row[place] for place in places] for row in rows[:3])

    assert first == ["not served", "", "'@home", "Kunde 7 <script>", REASONS[0]]
    assert second == ["not served", "", 'a;b,"c"', "Kunde 9 <script>", REASONS[1]]
    assert depot == ["1", "0", "", "Depot Hafen", ""]
    assert {len(row) for row in rows} == {len(header)}


def test_both_sheets_of_a_workbook_begin_with_them() -> None:
    book = load_workbook(io.BytesIO(format_xlsx_plan(unserved_plan())))
    rows = list(book.worksheets[0].iter_rows(values_only=True))

    assert [row[0] for row in rows[:4]] == ["route", "not served", "not served", 1]
    assert [row[rows[0].index("reason")] for row in rows[1:3]] == REASONS
    assert [row[:2] for row in book["Routes"].iter_rows(values_only=True)][:2] == [
        ("route", "stops"),
        ("not served", 2),
    ]


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".geojson", ".json"])
def test_routes_of_a_plan_that_leaves_customers_out_read_back(tmp_path: Path, suffix: str) -> None:
    plan = unserved_plan()
    write_plan(plan, tmp_path / f"plan{suffix}")

    assert suffix in ROUTE_SUFFIXES
    assert read_routes(tmp_path / f"plan{suffix}", plan.instance).routes == plan.solution.routes


@given(st.data())
def test_any_part_of_the_customers_reads_back(data: st.DataObject) -> None:
    instance = data.draw(fleet_instances())
    order = data.draw(st.permutations(range(1, instance.size + 1)))
    served = data.draw(st.integers(0, instance.size - 1))
    plan = Plan(instance, Solution((tuple(order[:served]),)))

    assert parse_csv_plan(format_csv_plan(plan).encode(), instance).routes == plan.solution.routes


@settings(max_examples=10)
@given(st.integers(0, 8))
def test_workbooks_and_maps_of_any_part_read_back(served: int) -> None:
    whole = globe_plan().instance
    plan = Plan(whole, Solution((tuple(range(1, served + 1)),)))

    assert parse_xlsx_plan(format_xlsx_plan(plan), whole).routes == plan.solution.routes
    assert parse_geojson(format_geojson(plan), whole).routes == plan.solution.routes


def test_table_that_a_spreadsheet_saved_with_them_is_read() -> None:
    plan = unserved_plan()
    text = "id;stop;route;reason\r\n'@home;;not served;no room\r\n007;1;1;\r\n"

    assert parse_csv_plan(text.encode("utf-8-sig"), plan.instance).routes == ((4,),)


def test_geojson_begins_with_them_as_a_member_and_as_points() -> None:
    text = format_geojson(unserved_plan())
    document = json.loads(text)

    assert list(document) == ["type", "name", "unserved", "features"]
    assert [(each["id"], each["reason"]) for each in document["unserved"]] == list(zip(IDS, REASONS, strict=True))
    kinds = [feature["properties"]["kind"] for feature in document["features"][:4]]
    assert kinds == ["unserved", "unserved", "depot", "route"]
    assert [feature["properties"]["reason"] for feature in document["features"][:2]] == REASONS
    assert find_geojson_faults(text) == []


def test_kml_begins_with_a_folder_of_them() -> None:
    text = format_kml(unserved_plan())
    folder, *_ = fromstring(text).iter(f"{KML_SPACE}Folder")
    marks = folder.findall(f"{KML_SPACE}Placemark")

    assert folder.findtext(f"{KML_SPACE}name") == "Not served"
    assert [mark.findtext(f"{KML_SPACE}name") for mark in marks] == [
        "@home Kunde 7 <script>",
        'a;b,"c" Kunde 9 <script>',
    ]
    described = [str(mark.findtext(f"{KML_SPACE}description")) for mark in marks]
    assert all(reason in words for reason, words in zip(REASONS, described, strict=True))
    assert "<script>" not in text
    assert find_kml_faults(text) == []


def test_gpx_begins_with_them_in_its_description_and_as_waypoints() -> None:
    text = format_gpx(unserved_plan())
    root = fromstring(text)
    points = root.findall(f"{GPX_SPACE}wpt")

    assert [element.tag.removeprefix(GPX_SPACE) for element in root] == ["metadata", "wpt", "wpt", "rte"]
    assert all(reason in str(root[0].findtext(f"{GPX_SPACE}desc")) for reason in REASONS)
    assert all(reason in str(point.findtext(f"{GPX_SPACE}desc")) for reason, point in zip(REASONS, points, strict=True))
    assert find_gpx_faults(text) == []


def test_html_begins_with_them_before_map_and_routes() -> None:
    page = format_html_plan(unserved_plan())
    places = [page.index(words) for words in ("2 customers are not served", "@home", REASONS[0], REASONS[1], "<svg")]

    assert places == sorted(places)
    overview = page.split('<section class="sheet"')[0]
    assert overview.count('stroke="#cc3311"') == 2  # their rings on the map of all routes


def test_pdf_begins_with_a_page_of_them() -> None:
    assert count_pages(format_pdf(unserved_plan())) == 1 + 1
    assert count_pages(format_pdf(overloaded_plan())) == 1 + 1
    assert count_pages(format_pdf(globe_plan())) == 2


def count_pages(content: bytes) -> int:
    return len(re.findall(rb"/Type /Page\b", content))


def test_folder_of_sheets_begins_with_a_page_of_them_which_goes_when_all_are_served(tmp_path: Path) -> None:
    files = write_sheets(unserved_plan(), tmp_path)

    assert [file.name for file in files] == ["not-served.html", "route-01.html"]
    assert sorted(tmp_path.iterdir()) == files
    assert all(reason in file.read_text() for file in files for reason in REASONS)
    write_sheets(globe_plan(), tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["route-01.html", "route-02.html"]


def test_sheet_of_a_driver_names_the_first_few_and_counts_the_others() -> None:
    plan = Plan(unserved_plan().instance, Solution(((3,),)))
    page = format_html_sheet(plan, plan.routes[0])

    assert page.index("8 customers are not served") < page.index("Route 1</h2>")
    assert page.count("the plan leaves it out") == 5
    assert "and 3 more" in page


FORMATS: dict[str, Callable[[Plan], str]] = {
    "csv": format_csv_plan,
    "geojson": format_geojson,
    "kml": format_kml,
    "gpx": format_gpx,
    "html": format_html_plan,
    "sheet": lambda plan: format_html_sheet(plan, plan.routes[0]),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_faults_of_routes_come_first_too(kind: str) -> None:
    text = FORMATS[kind](overloaded_plan())

    assert "Route 1 carries 29, 7 more than the capacity 22." in text[: text.index("Müller") if kind == "csv" else None]


@pytest.mark.parametrize("kind", FORMATS)
def test_plans_without_a_fault_are_written_without_a_warning(kind: str) -> None:
    text = FORMATS[kind](globe_plan())

    assert not re.search("not.served|unserved|reason|\\bfault\\b", text)


def test_windows_of_customers_that_are_not_served_are_listed() -> None:
    plan = unserved_plan()
    windows = np.array([[0, np.inf]] * 9 + [[28800, 43200]], dtype=float)
    timed = Plan(replace(plan.instance, windows=windows, speed=10.0), plan.solution)

    assert "08:00-12:00" in format_html_plan(timed).split("<svg")[0]
