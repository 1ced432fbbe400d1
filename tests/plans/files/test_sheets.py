"""Sheets for drivers: HTML and PDF, their small maps and links."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from example_plans import globe_plan, plane_plan

from dynaroute.plans import Plan, write_sheets
from dynaroute.plans.files.html import format_html_plan, format_html_sheet
from dynaroute.plans.files.links import SERVICES, list_links
from dynaroute.plans.files.pdf import format_pdf
from dynaroute.plans.files.sketch import sketch_plan
from dynaroute.problem.details import Details
from dynaroute.problem.instance import Instance
from dynaroute.problem.lengths import great_circle
from dynaroute.problem.solution import Solution

GOOGLE, OPEN_STREET_MAP = SERVICES


class Tags(HTMLParser):
    """All start tags, and the text of cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def many_stops(count: int) -> Plan:
    places = np.column_stack([np.linspace(50, 51, count + 1), np.linspace(8, 9, count + 1)])
    demands = np.array([0] + [1] * count)
    instance = Instance(places, demands, count, metric="great_circle")
    return Plan(instance, Solution((tuple(range(1, count + 1)),)))


def test_sheet_lists_the_stops_of_its_driver_with_load_and_distance() -> None:
    plan = globe_plan()
    page = Tags(format_html_sheet(plan, plan.routes[1]))

    assert "Route 2" in page.texts
    assert "5 stops, load 15 of 20, 59.37 km" in page.texts
    assert {'a;b,"c"', "=Straße 9", "Kunde 9 <script>"} <= set(page.texts)
    assert "007" not in page.texts
    assert [tag for tag, _ in page.tags].count("svg") == 2  # the map and a QR code


def test_sheet_begins_at_the_depot_and_tells_windows() -> None:
    plan = globe_plan()
    windows = np.array([[0, np.inf]] * 9 + [[28800, 43200]], dtype=float)
    timed = Plan(replace(plan.instance, windows=windows, speed=10.0), plan.solution)
    texts = Tags(format_html_sheet(timed, timed.routes[1])).texts

    assert texts.index("Start") < texts.index("Depot Hafen") < texts.index("Kunde 9 <script>") < texts.index("End")
    assert "Window" in texts and "08:00-12:00" in texts


def test_sheets_of_an_earlier_plan_are_taken_away_and_pages_of_others_stay(tmp_path: Path) -> None:
    write_sheets(globe_plan(), tmp_path)
    (tmp_path / "route-03.html").write_text("<p>mine</p>")
    (tmp_path / "notes.html").write_text(format_html_plan(globe_plan()))
    small = globe_plan().instance
    write_sheets(Plan(small, Solution((tuple(range(1, 10)),))), tmp_path)

    assert sorted(file.name for file in tmp_path.iterdir()) == ["notes.html", "route-01.html", "route-03.html"]


def test_whole_plan_has_an_overview_and_every_sheet() -> None:
    page = Tags(format_html_plan(globe_plan()))

    ids = [attributes["id"] for tag, attributes in page.tags if tag == "section"]
    assert ids == ["route-1", "route-2"]
    assert [tag for tag, _ in page.tags].count("svg") == 5  # three maps and two QR codes


def test_names_cannot_become_html() -> None:
    page = Tags(format_html_plan(globe_plan()))

    assert "script" not in [tag for tag, _ in page.tags]
    assert "b" not in [tag for tag, _ in page.tags]
    policies = [attributes["content"] for tag, attributes in page.tags if "http-equiv" in attributes]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]
    outside = [attributes[key] for _, attributes in page.tags for key in ("src", "href") if key in attributes]
    hosts = {urlsplit(str(address)).hostname for address in outside}
    assert hosts == {None, "www.google.com", "www.openstreetmap.org"}


def test_plan_without_places_has_lists_but_no_maps() -> None:
    matrix = np.array([[0, 5, 6], [5, 0, 3], [6, 3, 0]])
    plan = Plan(Instance(None, np.array([0, 1, 1]), 2, distances=matrix), Solution(((1, 2),)))

    assert "<svg" not in format_html_plan(plan)
    assert sketch_plan(plan) is None
    assert format_pdf(plan).startswith(b"%PDF")


def test_pdf_has_a_page_for_each_driver_and_is_the_same_each_time() -> None:
    content = format_pdf(globe_plan())

    assert len(re.findall(rb"/Type /Page\b", content)) == 2
    assert content == format_pdf(globe_plan())


def test_many_columns_of_the_file_share_one() -> None:
    plain = plane_plan()
    columns = tuple(f"column {number}" for number in range(40))
    rows = tuple(tuple(f"Donaudampfschifffahrtsgesellschaft {node} " * 9 for _ in columns) for node in range(4))
    plan = Plan(replace(plain.instance, details=Details(columns, rows)), plain.solution)

    page = Tags(format_html_sheet(plan, plan.routes[0]))
    assert page.texts.count("column 2") == 1
    assert "column 3" not in page.texts
    assert any(text.startswith("column 3: Donau") and "; column 39: Donau" in text for text in page.texts)
    assert format_pdf(plan).startswith(b"%PDF")


def test_long_route_goes_on_over_pages() -> None:
    assert len(re.findall(rb"/Type /Page\b", format_pdf(many_stops(80)))) > 1


def test_scale_of_a_small_map_is_right() -> None:
    plan = globe_plan()
    sketch = sketch_plan(plan)

    assert sketch is not None and sketch.scale is not None
    assert sketch.scale.text == "5 km"
    places = [plan.place(stop) for stop in plan.routes[0].stops[:2]]
    metres = float(great_circle(*map(np.array, places)))
    (x, y), (next_x, next_y) = sketch.routes[0].line[1:3]
    drawn = ((next_x - x) ** 2 + (next_y - y) ** 2) ** 0.5
    assert drawn / metres == pytest.approx(sketch.scale.width / 5000, rel=0.01)


def test_small_map_of_a_route_numbers_its_stops() -> None:
    sketch = sketch_plan(globe_plan(), (2,))

    assert sketch is not None
    assert [text for _, text in sketch.routes[0].labels] == ["1", "2", "3", "4", "5"]
    assert len(sketch.routes) == 1
    assert sketch_plan(plane_plan()) is not None


@pytest.mark.parametrize("shift", [0.0, 1e-9])
def test_all_places_in_one_are_drawn(shift: float) -> None:
    places = np.array([[50.0, 8.0], [50.0, 8.0 + shift]])
    plan = Plan(Instance(places, np.array([0, 1]), 1, metric="great_circle"), Solution(((1,),)))

    assert "<svg" in format_html_plan(plan)


def test_links_are_split_where_a_service_takes_few_stops() -> None:
    plan = many_stops(25)
    (route,) = plan.routes
    parts = list_links(plan, route, GOOGLE)

    assert [(first, last) for first, last, _ in parts] == [(0, 10), (10, 20), (20, 26)]
    query = parse_qs(urlsplit(parts[1][2]).query)
    assert len(query["waypoints"][0].split("|")) == 9
    assert query["origin"] == parse_qs(urlsplit(parts[0][2]).query)["destination"]
    assert len(list_links(plan, route, OPEN_STREET_MAP)) == 26


def test_titles_are_escaped() -> None:
    plan = globe_plan()
    named = Plan(replace(plan.instance, name="</title><script>alert(1)</script>"), plan.solution)

    assert "<script>" not in format_html_plan(named)
