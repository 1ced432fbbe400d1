"""The page as a planner uses it: tables, times, changes by hand, plans, paper, and what a reload leaves."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openpyxl import Workbook
from page_driver import PageDriver, needs_browser, opened_page, running_browser
from running_service import RunningService, running_service

from dynaroute import check, read_plan
from dynaroute.base.errors import InputWarning

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = needs_browser

# Two customers to the east, two to the west, and routes that the search finds as such; a unit takes a minute.
CROSS: dict[str, Any] = {
    "version": 2,
    "name": "cross",
    "depot": {"x": 0, "y": 0},
    "customers": [
        {"id": "east", "x": 10, "y": 1, "demand": 4, "service": 300, "window": [1200, 1500]},
        {"id": "far east", "x": 12, "y": 0, "demand": 4, "service": 300},
        {"id": "west", "x": -10, "y": 1, "demand": 4, "service": 300},
        {"id": "far west", "x": -12, "y": 0, "demand": 2, "service": 300},
    ],
    "vehicles": [{"name": "Sprinter", "count": 2, "capacity": 10}, {"name": "Caddy", "capacity": 6}],
    "speed": 1 / 60,
}
# Two vehicles hold 10 each, and 6, 6 and 8 do not fit.
TIGHT: dict[str, Any] = {
    "name": "tight",
    "depot": {"lat": 53.5, "lon": 10.0},
    "customers": [
        {"id": f"K{number}", "lat": 53.5 + number / 100, "lon": 10.0, "demand": demand}
        for number, demand in enumerate((6, 6, 8), start=1)
    ],
    "vehicles": [{"name": "van", "capacity": 10, "count": 2}],
}
SHEETS: dict[str, list[tuple[Any, ...]]] = {
    "Fahrzeuge": [("Typ", "Anzahl", "Kapazität"), ("Sprinter", 2, 900), ("Caddy", 1, 300)],
    "Montag": [
        ("Kunde", "Breitengrad", "Längengrad", "Menge", "Ladung", "Zeitfenster"),
        ("Depot", 53.5, 10.0, 0, 0, None),
        ("Nord", 53.6, 10.0, 120, 3, "08:00-10:00"),
        ("Ost", 53.5, 10.1, 80, 4, None),
    ],
}
TABLE = "id;lat;lon;demand;remark\nDepot;53,5;10;0;\nNord;53,6;10;3;<b>\nOst;53,5;10,1;4;\n"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with running_service(tmp_path_factory.mktemp("service")) as service:
        yield service


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """For this file alone: playwright holds the event loop that tests in other files may want."""
    with running_browser() as browser:
        yield browser


@pytest.fixture
def desk(browser: Browser, service: RunningService) -> Iterator[PageDriver]:
    with opened_page(browser, service.address) as driver:
        yield driver


def open_cross(desk: PageDriver) -> None:
    desk.upload("cross.json", json.dumps({"instance": CROSS, "routes": [[1, 2], [4, 3]], "vehicles": [0, 0]}))
    desk.wait_for_customers(4)
    desk.wait_until_judged()
    assert desk.routes() == [["east", "far east"], ["far west", "west"]]


def make_workbook() -> bytes:
    workbook = Workbook()
    workbook.remove(workbook.active)
    for name, rows in SHEETS.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(row)
    buffer = io.BytesIO()
    workbook.save(buffer)
    return buffer.getvalue()


def route_of(desk: PageDriver, stop: str) -> int:
    return next(index for index, names in enumerate(desk.routes()) if stop in names)


def wait_for_change(desk: PageDriver) -> None:
    """Until a change by hand is judged."""
    desk.page.locator(".headline-note", has_text="Changed").wait_for()


def test_routes_and_stops_tell_their_times_loads_and_slack(desk: PageDriver) -> None:
    open_cross(desk)
    card = desk.find(f"[data-card='{route_of(desk, 'east')}']")

    assert "Sprinter" in card.locator(".route-name").inner_text()
    assert card.locator(".load-text").inner_text() == "8 / 10"
    facts = card.locator(".route-facts").inner_text()
    assert "h · 24.2" in facts and "2 stops" in facts
    assert "00:20\N{EN DASH}00:25" in card.locator("tr[data-of='1']").inner_text()
    assert card.locator("tr.tight").get_attribute("data-of") == "1"
    assert "1 tight stop" in desk.text("#headline")
    desk.find("#tight").fill("0")
    desk.find("#tight").press("Tab")
    assert card.locator("tr.tight").count() == 0


def test_locked_route_is_left_as_it_is_by_moves_and_searches(desk: PageDriver) -> None:
    document = {"instance": CROSS, "routes": [[1, 4], [2, 3]], "vehicles": [0, 0]}
    desk.upload("cross.json", json.dumps(document))
    desk.wait_for_customers(4)
    desk.wait_until_judged()
    desk.find("[data-lock='0']").click()
    assert desk.find("[data-lock='0']").get_attribute("aria-pressed") == "true"

    desk.find(".route-card [data-stop='2']").focus()
    desk.page.keyboard.press("Alt+ArrowUp")
    assert "The route is locked." in desk.text("#change-notice")
    desk.solve("search", 0.3)
    assert ["east", "far west"] in desk.routes()
    assert desk.find("[data-lock][aria-pressed='true']").count() == 1

    desk.find("[data-lock='0']").click()
    desk.solve("search", 0.3)
    assert ["east", "far west"] not in desk.routes()


def test_chart_list_and_map_are_linked(desk: PageDriver) -> None:
    open_cross(desk)
    desk.find("[data-row='1'] .gantt-name").hover()
    assert desk.find("#map .route.emphasised").get_attribute("data-route") == "1"
    assert desk.find(".route-card.emphasised").get_attribute("data-card") == "1"
    desk.find("[data-card='0'] .route-facts").hover()
    assert desk.find(".gantt-row.emphasised").get_attribute("data-row") == "0"

    desk.find("#gantt [data-stop='3']").click()
    assert desk.text("#inspector-title") == "west"
    assert desk.find("#map .point.selected").get_attribute("data-node") == "3"
    assert desk.find(".stops-table tr.selected").get_attribute("data-of") == "3"
    desk.find("#inspector-close").click()
    desk.page.mouse.click(*desk.centre_of("#map [data-node='1']"))
    assert desk.find("#gantt .selected").get_attribute("data-stop") == "1"


def test_stop_is_dragged_in_the_chart_to_another_route_and_back_by_undo(desk: PageDriver) -> None:
    open_cross(desk)
    before, cost = desk.routes(), desk.cost()
    target = desk.centre_of("#gantt [data-stop='4']")
    desk.drag(desk.centre_of("#gantt [data-stop='2']"), (target[0] + 3, target[1]))
    wait_for_change(desk)

    changed = desk.routes()
    names = changed[route_of(desk, "far west")]
    assert sorted(map(len, changed)) == [1, 3]
    assert names.index("far east") == names.index("far west") + 1
    assert desk.cost() > cost
    desk.find("#undo").click()
    assert (desk.routes(), desk.cost()) == (before, cost)
    desk.find("#redo").click()
    assert desk.routes() == changed


def test_moved_stops_keep_the_vehicle_types_of_their_routes(desk: PageDriver, tmp_path: Path) -> None:
    instance = {**CROSS, "customers": CROSS["customers"][:2]}
    desk.upload(
        "plan.json", json.dumps({"instance": instance, "routes": [[1], [2]], "vehicles": ["Caddy", "Sprinter"]})
    )
    desk.wait_for_customers(2)
    desk.find("#gantt [data-stop='2']").focus()
    desk.page.keyboard.press("Alt+ArrowUp")
    desk.page.locator(".load-text", has_text="8 / 6").wait_for()

    assert desk.find(".route-card").count() == 1
    assert "more than the capacity 6 of Caddy" in desk.text("#headline")
    assert desk.find(".load.overloaded").count() == 1
    path = desk.download("#save-plan", tmp_path)
    with pytest.warns(InputWarning, match="more than the capacity"):
        saved = read_plan(path)
    assert "overload" in [violation.kind for violation in check(saved.instance, saved.solution)]


def test_form_of_a_stop_moves_it_and_leaves_it_out(desk: PageDriver) -> None:
    open_cross(desk)
    desk.find("#gantt [data-stop='2']").click()
    desk.find("#inspector-route").select_option(label="New route")
    desk.find(".route-card").nth(2).wait_for()
    assert sorted(map(len, desk.routes())) == [1, 1, 2]
    desk.find("#inspector-route").select_option(label="Not served")
    desk.page.locator(".gantt-chip", has_text="far east").wait_for()
    assert "1 customer is not served" in desk.text("#headline")


def test_stop_is_dragged_on_the_map_onto_another_route(desk: PageDriver) -> None:
    open_cross(desk)
    start = desk.centre_of("#map [data-node='2']")
    desk.drag(start, desk.centre_of("#map [data-node='3']"))
    wait_for_change(desk)

    assert sorted(map(len, desk.routes())) == [1, 3]
    assert desk.centre_of("#map [data-node='2']") == pytest.approx(start, abs=1)


def test_late_order_is_added_where_it_costs_least_and_removed_again(desk: PageDriver) -> None:
    open_cross(desk)
    before = desk.routes()
    desk.find("[name=tool][value=add]").check(force=True)
    x, y = desk.centre_of("#map [data-node='4']")
    desk.page.mouse.click(x + 40, y + 30)
    desk.wait_for_customers(5)
    wait_for_change(desk)

    assert "5" in desk.routes()[route_of(desk, "far west")]
    assert [[name for name in names if name != "5"] for names in desk.routes()] == before
    desk.find("#inspector [name=name]").fill("Bakery")
    desk.find("#inspector [name=name]").press("Tab")
    desk.page.locator("button.stop", has_text="Bakery").wait_for()
    desk.find("#inspector-remove").click()
    desk.page.locator("button.stop", has_text="Bakery").wait_for(state="detached")
    desk.wait_for_customers(4)
    assert desk.routes() == before


def test_window_of_a_stop_changes_its_times_but_not_its_route(desk: PageDriver) -> None:
    open_cross(desk)
    before = desk.routes()
    desk.find("#gantt [data-stop='3']").click()
    desk.find("#inspector [name=window]").fill("03:00-04:00")
    desk.find("#inspector [name=window]").press("Tab")
    desk.page.locator(".stops-table tr", has_text="03:00\N{EN DASH}04:00").wait_for()
    assert desk.routes() == before
    desk.find("#inspector [name=window]").fill("nonsense")
    desk.find("#inspector [name=window]").press("Tab")
    desk.find("#change-notice [role=alert]").wait_for()
    assert desk.routes() == before


def test_place_of_a_stop_is_moved_on_the_map(desk: PageDriver) -> None:
    open_cross(desk)
    before = desk.routes()
    desk.find("[name=tool][value=move]").check(force=True)
    x, y = desk.centre_of("#map [data-node='2']")
    desk.drag((x, y), (x - 30, y - 40))
    wait_for_change(desk)
    assert desk.centre_of("#map [data-node='2']") == pytest.approx((x - 30, y - 40), abs=3)
    assert desk.routes() == before


def test_vehicle_types_are_changed_in_their_table(desk: PageDriver) -> None:
    open_cross(desk)
    desk.find("[data-field=capacity]").first.fill("7")
    desk.find("[data-field=capacity]").first.press("Tab")
    desk.page.locator(".load-text", has_text="8 / 7").wait_for()
    assert len(desk.routes()) == 2
    desk.page.get_by_role("button", name="Add a type").click()
    desk.page.locator("#problem-summary", has_text="Type 3").wait_for()


def test_workbook_is_opened_with_its_sheet_vehicles_meanings_and_speed(desk: PageDriver) -> None:
    desk.upload("orders.xlsx", make_workbook())
    desk.find("#table-dialog[open]").wait_for()
    assert "Montag" in desk.text("#table-form [name=sheet] option:checked")
    assert "Fahrzeuge" in desk.text("#table-form [name=vehicles] option:checked")
    assert "could all be the demand" in desk.text("#table-notice")
    desk.page.get_by_label("Meaning of the column Menge").select_option("demand")
    desk.find("td.known").nth(4).wait_for()
    assert desk.page.get_by_label("Meaning of the column Längengrad").input_value() == "lon"
    desk.find("#table-form [name=speed]").fill("40")
    desk.find("#table-open").click()

    desk.page.locator("#problem-summary", has_text="2 Sprinter, 1 Caddy").wait_for()
    assert desk.find("#vehicle-speed").input_value() == "40"
    desk.solve("search")
    assert sorted(name for names in desk.routes() for name in names) == ["Nord", "Ost"]
    assert "08:00\N{EN DASH}10:00" in desk.text("#panel-routes")


def test_table_without_capacity_asks_for_it_in_the_dialog(desk: PageDriver) -> None:
    desk.upload("tour.csv", TABLE)
    desk.find("#table-dialog[open]").wait_for()
    desk.find("#table-open").click()
    desk.find("#table-notice [role=alert]").wait_for()
    assert "--capacity" not in desk.text("#table-notice")
    assert desk.evaluate("document.activeElement.name") == "capacity"
    desk.page.keyboard.type("20")
    desk.page.keyboard.press("Enter")

    desk.page.locator("#problem-summary", has_text="2 customers, capacity 20").wait_for()
    assert "decimal commas" in str(desk.find("#file-notice").text_content())


def test_vehicles_are_typed_in_the_dialog(desk: PageDriver) -> None:
    desk.upload("tour.csv", TABLE)
    desk.find("#table-form [name=vehicles]").select_option("table")
    desk.find("#table-vehicles [data-field=name]").fill("Bike")
    desk.find("#table-vehicles [data-field=name]").press("Tab")
    desk.find("#table-open").click()

    desk.page.locator("#problem-summary", has_text="3 Bike").wait_for()


def test_stops_are_added_and_moved_where_a_detour_lengthens_straight_lines(desk: PageDriver, tmp_path: Path) -> None:
    desk.upload("tour.csv", TABLE)
    desk.find("#table-form [name=capacity]").fill("20")
    desk.find("#table-form [name=detour]").select_option("1.3")
    desk.find("#table-open").click()
    desk.wait_for_customers(2)
    desk.solve()
    desk.find("[name=tool][value=add]").check(force=True)
    desk.click_map(0.6, 0.4)
    desk.wait_for_customers(3)
    wait_for_change(desk)
    desk.find("#inspector [name=lat]").fill("53.52")
    desk.find("#inspector [name=lat]").press("Tab")
    desk.page.locator(".headline-note", has_text="Changed: ").wait_for()

    plan = read_plan(desk.download("#save-plan", tmp_path))
    straight = replace(plan.instance, distances=None, matrix_unit=None).distance_matrix
    assert plan.instance.distance_matrix == pytest.approx(1.3 * straight, abs=1)
    assert "all visited once" in desk.text("#headline")


def test_saved_plan_is_opened_again(desk: PageDriver, tmp_path: Path) -> None:
    open_cross(desk)
    desk.find("#gantt [data-stop='2']").focus()
    desk.page.keyboard.press("Alt+ArrowUp" if route_of(desk, "far east") == 1 else "Alt+ArrowDown")
    wait_for_change(desk)
    routes, cost = desk.routes(), desk.cost()
    saved = desk.download("#save-plan", tmp_path)
    desk.unfold()
    desk.find("#open-sample").click()
    desk.wait_for_customers(28)
    desk.upload("again.json", saved.read_text())
    desk.wait_for_customers(4)
    desk.wait_until_judged()

    assert (desk.routes(), desk.cost()) == (routes, cost)


def test_reload_keeps_the_day_and_its_plan(desk: PageDriver) -> None:
    open_cross(desk)
    routes, cost = desk.routes(), desk.cost()
    desk.open()
    desk.find(".gantt-stop").first.wait_for()

    assert (desk.routes(), desk.cost()) == (routes, cost)
    desk.find("#gantt [data-stop='2']").focus()
    desk.page.keyboard.press("Alt+ArrowUp" if route_of(desk, "far east") == 1 else "Alt+ArrowDown")
    wait_for_change(desk)


def test_print_has_the_sheets_of_the_pdf(desk: PageDriver) -> None:
    open_cross(desk)
    desk.evaluate("void (window.print = () => { document.body.dataset.printed = 'yes'; })")
    desk.find("#print").click()
    desk.find("body[data-printed]").wait_for()
    content = desk.page.pdf(format="A4")

    assert content.count(b"/Type /Page\n") == 3, "an overview, and a page for each driver"
    desk.page.emulate_media(media="print")
    desk.keep_screenshot("print")
    assert "Route 1, Sprinter" in desk.find(".sheet").first.inner_text()
    assert not desk.find(".workbench").is_visible()
    desk.page.emulate_media(media="screen")


def test_plan_is_saved_as_pdf_and_table(desk: PageDriver, tmp_path: Path) -> None:
    open_cross(desk)
    for format, start in (("pdf", b"%PDF"), ("xlsx", b"PK")):
        with desk.page.expect_download() as waiting:
            desk.find("#save-format").select_option(format)
        assert waiting.value.suggested_filename == f"cross.{format}"
        waiting.value.save_as(tmp_path / f"cross.{format}")
        assert (tmp_path / f"cross.{format}").read_bytes().startswith(start)


def test_who_is_not_served_is_told_with_the_reason_and_in_what_is_saved(desk: PageDriver, tmp_path: Path) -> None:
    desk.upload("tight.json", json.dumps(TIGHT))
    desk.wait_for_customers(3)
    desk.solve("search")

    faults = desk.find(".headline-fault").all_inner_texts()
    assert faults[0] == "1 customer is not served:"
    assert "both vehicles have too little room" in faults[1] and len(faults) == 2
    document = desk.plan(tmp_path)
    assert document["vehicles"] == [0, 0]
    served = {customer for route in document["routes"] for customer in route}
    assert document["unserved"] == sorted({1, 2, 3} - served)
    desk.drag(desk.centre_of(".gantt-chip"), desk.centre_of("[data-row='2'] .gantt-new"))
    wait_for_change(desk)
    assert desk.find(".gantt-chip").count() == 0
    assert "van" in desk.text(".headline-fault >> nth=0")


def test_two_plans_are_compared(desk: PageDriver) -> None:
    open_cross(desk)
    desk.find("#gantt [data-stop='2']").focus()
    desk.page.keyboard.press("Alt+ArrowUp" if route_of(desk, "far east") == 1 else "Alt+ArrowDown")
    wait_for_change(desk)
    desk.find("#tab-runs").click()
    desk.find("[name=run-b]").first.check()

    desk.page.locator("#panel-runs tr", has_text="far east").wait_for()
    assert "Sprinter 2, not Sprinter" in desk.text("#panel-runs")
    assert desk.find("#map .route-shadow").count() == 2
    desk.find("#run-b-none").check()
    assert desk.find("#map .route-shadow").count() == 0


def test_stop_is_explained_and_moved_to_another_place(desk: PageDriver) -> None:
    open_cross(desk)
    desk.find("#gantt [data-stop='4']").click()
    desk.find("#inspector-explain").click()
    desk.page.locator("#inspector-explanation", has_text="Leaving it out saves").wait_for()
    assert "not possible, carries 10" not in desk.text("#inspector-explanation")
    desk.page.get_by_role("button", name="Move there").first.click()
    wait_for_change(desk)

    assert desk.routes()[route_of(desk, "far west")] != ["far west", "west"]


def test_other_days_are_asked_for_and_shown(desk: PageDriver) -> None:
    figures = {"cost": 40, "length": 40, "hours": 1, "vehicles": 1, "late": 0, "lateness": 0, "unserved": []}
    common = {"kind": "plan", "possible": True, "seconds": 0.1, "reason": "", "figures": figures}
    variants = [
        {**common, "name": "east at any time", "change": -4},
        {**common, "name": "1 x Sprinter", "possible": False, "change": None, "reason": "too little room."},
    ]
    answer = {"unit": None, "base": {**common, "name": "the plan as it is", "change": 0}, "variants": variants}
    asked: list[Any] = []

    def reply(route: Route) -> None:
        asked.append(route.request.post_data_json)
        route.fulfill(json=answer)

    desk.page.route("**/v1/what-if", reply)
    open_cross(desk)
    desk.find("#tab-what-if").click()
    desk.page.get_by_role("button", name="Try").click()
    assert "Nothing would be different" in desk.text("#what-if-notice")
    desk.find("#what-if-form [name=type]").select_option("Sprinter")
    desk.find("#what-if-form [name=from]").fill("1")
    desk.find("#what-if-form [name=stop]").select_option("east")
    desk.page.get_by_role("button", name="Try").click()
    desk.find(".what-if-table").wait_for()

    assert asked[0]["vehicles"] == ["Sprinter=1..1"] and asked[0]["without_window"] == ["east"]
    assert asked[0]["plan"]["routes"] == [[1, 2], [4, 3]]
    _, shorter, impossible = desk.find(".what-if-table tbody tr").all_inner_texts()
    assert "east at any time" in shorter and "40" in shorter
    assert "too little room" in impossible


def test_rest_of_the_day_is_planned_again(desk: PageDriver) -> None:
    plan = {
        "instance": CROSS,
        "routes": [[1], [2], [4, 3]],
        "vehicles": ["Sprinter", "Caddy", "Sprinter"],
        "cost": 72.2,
    }
    answer = {
        "plan": {**plan, "routes": [[1], [4, 3]], "vehicles": ["Sprinter", "Sprinter"], "unserved": [2]},
        "customers_to_call": ["west"],
        "drivers_to_call": ["Sprinter", "Sprinter 2"],
        "left_out": [],
        "messages": [],
    }
    asked: list[Any] = []

    def reply(route: Route) -> None:
        asked.append(route.request.post_data_json)
        route.fulfill(json=answer)

    desk.page.route("**/v1/replan", reply)
    open_cross(desk)
    desk.find("#replan summary").click()
    desk.find("#replan-form [name=now]").fill("00:15")
    desk.find("#replan-form [name=cancel]").select_option("far east")
    desk.find("#replan-form [name=broken]").select_option("Sprinter 2")
    desk.page.get_by_role("button", name="Plan the rest again").click()
    desk.page.locator("#headline", has_text="Planned again at 00:15").wait_for()

    assert {key: asked[0][key] for key in ("now", "cancel", "broken")} == {
        "now": "00:15",
        "cancel": ["far east"],
        "broken": ["Sprinter 2"],
    }
    assert "Call the drivers: Sprinter, Sprinter 2." in desk.text("#headline")
    assert "Call the customer: west." in desk.text("#headline")
    desk.find("#undo").click()
    assert desk.routes() == [["east", "far east"], ["far west", "west"]]


def test_stop_is_found_by_its_name(desk: PageDriver) -> None:
    desk.find("#tab-customers").click()
    desk.find("#stops-search").fill("elbphil")
    assert desk.find("#stops-list button.stop").all_inner_texts() == ["Elbphilharmonie"]
    desk.find("#stops-list button.stop").click()
    assert desk.text("#inspector-title") == "Elbphilharmonie"


def test_times_that_need_a_speed_ask_for_it(desk: PageDriver) -> None:
    desk.upload("cross.json", json.dumps({key: value for key, value in CROSS.items() if key != "speed"}))
    desk.wait_for_customers(4)
    assert "enter the average speed" in desk.text("#file-notice")
    assert desk.evaluate("document.activeElement.id") == "vehicle-speed"
    desk.find("#solve").click()
    assert "nothing says how long a leg takes" in desk.text("#solve-notice")
    desk.find("#vehicle-speed").fill("60")
    desk.find("#vehicle-speed").press("Tab")
    desk.solve("search")
    assert desk.find(".gantt-stop").count() == 4
