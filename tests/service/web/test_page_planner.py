"""The page as a planner uses it: their files, drivers' lists, changes by hand, at three widths and in both colours."""

from __future__ import annotations

import http.server
import io
import json
import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openpyxl import Workbook
from page_driver import PageDriver, needs_browser, opened_page, running_browser
from running_service import RunningService, running_service

from dynaroute import check, read_plan
from dynaroute.base.errors import InputWarning

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_browser

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
SIZES = {"phone": (390, 844), "tablet": (1024, 768), "desk": (1440, 900)}
HEADER = "id;lat;lon;demand;name;address;remark\n"
ROWS = "Depot;53,55;9,99;0;Hafen;Kai 1;\n" + "".join(
    f"K{number:02};{53.5 + 0.013 * ((number * 7) % 10):.3f};{9.8 + 0.04 * ((number * 3) % 11):.3f};{1 + number % 7};"
    f"Kunde {number};Weg {number};<b>{number}</b>\n".replace(".", ",")
    for number in range(1, 21)
)
TABLE = f"# capacity: 20\n{HEADER}{ROWS}"
SQUARE = {
    "capacity": 10,
    "depot": {"lat": 53.5, "lon": 10.0},
    "customers": [{"lat": 53.6, "lon": 10.0, "demand": 1}, {"lat": 53.5, "lon": 10.1, "demand": 1}],
}
# Two customers to the east, two to the west, and routes that the search finds as such.
CROSS = "# capacity: 10\nid,x,y,demand\ndepot,0,0,0\neast,10,1,4\nfar east,12,0,4\nwest,-10,1,4\nfar west,-12,0,2\n"


# Two vehicles hold 10 each, and 6, 6 and 8 do not fit.
TIGHT = {
    "name": "tight",
    "depot": {"lat": 53.5, "lon": 10.0},
    "customers": [
        {
            "id": f"K{number}",
            "lat": 53.5 + number / 100,
            "lon": 10.0,
            "demand": demand,
            "details": {"address": f"Weg {number}"},
        }
        for number, demand in enumerate((6, 6, 8), start=1)
    ],
    "vehicles": [{"name": "van", "capacity": 10, "count": 2}],
}

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c63b8f3efff7f0009d40"
    "3e2b2b0b0f40000000049454e44ae426082"
)


@dataclass
class Tiles:
    """A server of a street map's pictures, and what it was asked for."""

    address: str
    asked: list[str]


@pytest.fixture(scope="module")
def tiles() -> Iterator[Tiles]:
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "image/png")
            self.send_header("Content-Length", str(len(PIXEL)))
            self.end_headers()
            self.wfile.write(PIXEL)

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Tiles(f"http://127.0.0.1:{server.server_port}", asked)
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, tiles: Tiles) -> Iterator[RunningService]:
    settings = {"tiles": f"{tiles.address}/{{z}}/{{x}}/{{y}}.png", "tiles_attribution": "© Somebody <b>"}
    with running_service(tmp_path_factory.mktemp("service"), **settings) as service:
        yield service


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """For this file alone: playwright holds the event loop that tests in other files may want."""
    with running_browser() as browser:
        yield browser


@pytest.fixture
def desk(browser: Browser, service: RunningService) -> Iterator[PageDriver]:
    with opened_page(browser, service.address, SIZES["desk"]) as driver:
        yield driver


def load(page: PageDriver, name: str, text: str, customers: int) -> None:
    page.upload(name, text)
    page.page.locator("#problem-summary", has_text=f"{customers} customer").wait_for()


def box_of(page: PageDriver, selector: str) -> dict[str, float]:
    found = page.evaluate(
        f"""(() => {{ const box = document.querySelector('{selector}').getBoundingClientRect();
        return {{left: box.left, right: box.right, top: box.top + scrollY, bottom: box.bottom + scrollY}}; }})()"""
    )
    return dict(found)


def stops(page: PageDriver) -> list[list[str]]:
    """The list of stops, route by route, as it is shown."""
    lists = page.evaluate("[...document.querySelectorAll('.stops')].map(l => [...l.children].map(s => s.innerText))")
    return [list(map(str, names)) for names in lists]


def headline(page: PageDriver) -> str:
    return page.text(".cost-value")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_planner_sees_map_result_and_stops_and_axe_finds_no_serious_fault(
    browser: Browser, service: RunningService, size: str, scheme: Any
) -> None:
    with opened_page(browser, service.address, SIZES[size], color_scheme=scheme, bypass_csp=True) as page:
        load(page, "tour.csv", TABLE, 20)
        page.solve()
        page.keep_screenshot(f"planner-{size}-{scheme}")

        assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
        assert sorted(name for names in stops(page) for name in names) == [f"K{number:02}" for number in range(1, 21)]
        assert page.find(".stop").first.is_visible()
        cut_off = page.evaluate(
            """[...document.querySelectorAll('.results button, .solve button, .problem button')].filter(b => {
            const box = b.getBoundingClientRect();
            return box.width > 0 && (box.left < 0 || box.right > innerWidth + 1); }).map(b => b.outerHTML)"""
        )
        assert cut_off == []
        assert_near_the_map(page, size)
        page.page.evaluate(AXE)
        faults = page.page.evaluate(
            """axe.run({resultTypes: ['violations']}).then(found => found.violations
            .filter(fault => ['serious', 'critical'].includes(fault.impact))
            .map(fault => fault.id + ': ' + fault.nodes.map(node => node.html).join(' ').slice(0, 300)))"""
        )
        assert faults == []


def assert_near_the_map(page: PageDriver, size: str) -> None:
    stage, result = box_of(page, "#map"), box_of(page, "#headline")
    if size == "phone":
        assert 0 <= stage["top"] - box_of(page, "#solve")["bottom"] < 200
        assert 0 <= result["top"] - stage["bottom"] < 200
    else:
        assert result["left"] >= stage["right"]
        assert result["top"] < stage["bottom"]


def test_degrees_are_drawn_as_wide_as_they_are(desk: PageDriver) -> None:
    load(desk, "square.json", json.dumps(SQUARE), 2)
    depot, north, east = (desk.centre_of(f"#map .point >> nth={index}") for index in (2, 0, 1))

    ratio = (east[0] - depot[0]) / (depot[1] - north[1])
    assert ratio == pytest.approx(math.cos(math.radians(53.55)), rel=0.01)
    assert str(desk.find("#map .scale text").text_content()).endswith("km")


def test_lengths_on_the_globe_are_kilometres(desk: PageDriver) -> None:
    load(desk, "tour.csv", TABLE, 20)
    desk.solve()

    assert headline(desk).endswith(" km")
    assert desk.find("tr[data-route='0'] td").nth(2).inner_text().endswith(" km")


def test_what_the_reader_noticed_is_told(desk: PageDriver) -> None:
    load(desk, "tour.csv", TABLE, 20)

    assert "decimal commas" in desk.text("#file-notice")


def test_table_without_capacity_asks_for_it_and_typing_it_is_enough(desk: PageDriver) -> None:
    desk.upload("tour.csv", HEADER + ROWS)
    desk.find("#file-notice [role=alert]").wait_for()

    assert "does not give the capacity of a vehicle" in desk.text("#file-notice")
    assert "--capacity" not in desk.text("#file-notice")
    assert desk.evaluate("document.activeElement.id") == "capacity"
    desk.page.keyboard.type("20")
    desk.page.keyboard.press("Enter")
    desk.page.get_by_text("tour · 20 customers, capacity 20").wait_for()


def test_workbook_is_read_and_asks_for_its_capacity(desk: PageDriver) -> None:
    book = Workbook()
    sheet = book.active
    for row in (
        ["Kunde", "Breite", "Länge", "Menge"],
        ["Depot", 53.5, 10, 0],
        ["Nord", 53.6, 10, 3],
        ["Ost", 53.5, 10.1, 4],
    ):
        sheet.append(row)
    content = io.BytesIO()
    book.save(content)
    desk.upload("tour.xlsx", content.getvalue())
    desk.find("#file-notice [role=alert]").wait_for()
    desk.page.keyboard.type("10")
    desk.page.keyboard.press("Enter")

    desk.page.locator("#problem-summary", has_text="2 customers, capacity 10").wait_for()
    desk.solve()
    assert sorted(name for names in stops(desk) for name in names) == ["Nord", "Ost"]


def test_table_with_windows_asks_for_the_speed_and_is_solved_with_it(desk: PageDriver) -> None:
    header = "# capacity: 10\nid;lat;lon;demand;window\nLager Nord;53,5;10;0;\n"
    table = f"{header}Nord;53,6;10;3;ab 8 Uhr\nOst;53,5;10,1;4;bis 12:00\n"
    assert desk.find("#vehicle-speed").is_hidden()
    load(desk, "tour.csv", table, 2)

    assert "enter the average speed" in desk.text("#file-notice")
    assert desk.evaluate("document.activeElement.id") == "vehicle-speed"
    desk.page.keyboard.type("30")
    desk.page.keyboard.press("Enter")
    desk.solve()
    assert sorted(name for names in stops(desk) for name in names) == ["Nord", "Ost"]
    assert desk.find("#vehicle-speed").input_value() == "30"
    desk.page.emulate_media(media="print")
    desk.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    sheets = " ".join(desk.find(".sheet").all_inner_texts())
    assert "from 08:00" in sheets and "until 12:00" in sheets and "Back at Lager Nord" in sheets
    desk.page.emulate_media(media="screen")


def test_filled_capacity_does_not_make_json_refused(desk: PageDriver) -> None:
    desk.find("#capacity").fill("33")
    desk.find("#capacity").press("Tab")
    load(desk, "square.json", json.dumps(SQUARE), 2)

    assert desk.find("#capacity").input_value() == "10"
    assert desk.find("#file-notice .error").count() == 0
    assert desk.find("input[id*=capacity], input[name=capacity]").count() == 1


def test_page_opens_with_the_search_and_research_names_lie_under_a_fold(desk: PageDriver) -> None:
    assert desk.find("[name=method][value=search]").is_checked()
    assert not desk.page.get_by_text("2OPT").is_visible()
    assert not desk.page.get_by_text("Augmentation").is_visible()


def test_stop_is_dragged_to_another_route_and_undone(desk: PageDriver) -> None:
    load(desk, "cross.csv", CROSS, 4)
    desk.solve("search")
    before, cost = stops(desk), headline(desk)
    assert sorted(map(sorted, before)) == [["east", "far east"], ["far west", "west"]]
    west = next(index for index, names in enumerate(before) if "west" in names)
    desk.find("[data-stop='1']").drag_to(desk.find(f"tr[data-route='{west}'] .load"))

    desk.page.locator("#headline", has_text="Changed by hand").wait_for()
    assert sorted(map(len, stops(desk))) == [1, 3]
    assert headline(desk) != cost
    assert "10 / 10" in desk.text(f"tr[data-route='{west}'] .load-text")
    desk.page.get_by_text("Checked: all visited once").wait_for()
    desk.find("#undo").click()
    assert (stops(desk), headline(desk)) == (before, cost)


def test_overload_by_hand_is_told(desk: PageDriver) -> None:
    load(desk, "cross.csv", CROSS.replace("far west,-12,0,2", "far west,-12,0,4"), 4)
    desk.solve("search")
    stop = desk.find("[data-stop='1']")
    stop.focus()
    desk.page.keyboard.press("Alt+ArrowDown" if "east" in stops(desk)[0] else "Alt+ArrowUp")

    desk.find(".headline-fault").wait_for()
    assert "more than the capacity" in desk.text(".headline-fault")
    assert desk.find("tr.overloaded").count() == 1


def test_saved_plan_states_what_is_wrong_with_it(desk: PageDriver, tmp_path: Path) -> None:
    load(desk, "cross.csv", CROSS.replace("far west,-12,0,2", "far west,-12,0,4"), 4)
    desk.solve("search")
    desk.find("[data-stop='1']").focus()
    desk.page.keyboard.press("Alt+ArrowDown" if "east" in stops(desk)[0] else "Alt+ArrowUp")
    desk.find(".headline-fault").wait_for()
    with pytest.warns(InputWarning, match="more than the capacity"):
        plan = read_plan(desk.download("#export-plan", tmp_path))

    assert [violation.kind for violation in check(plan.instance, plan.solution)] == ["overload"]


def test_keys_take_a_stop_to_another_route_and_another_place(desk: PageDriver) -> None:
    load(desk, "cross.csv", CROSS, 4)
    desk.solve("search")
    first = stops(desk)[0]
    desk.find(".stop").first.focus()
    desk.page.keyboard.press("Alt+ArrowRight")
    assert stops(desk)[0] == first[::-1]
    desk.page.keyboard.press("Alt+ArrowDown")
    assert first[0] in stops(desk)[1]
    assert "moved to route 2" in desk.text("#live")


def test_form_of_a_stop_takes_it_to_another_route(desk: PageDriver) -> None:
    load(desk, "cross.csv", CROSS, 4)
    desk.solve("search")
    desk.find(".stop").first.click()
    desk.find("#inspector-route").select_option(label="New route")

    assert sorted(map(len, stops(desk))) == [1, 1, 2]


def test_stop_is_dragged_on_the_map_onto_another_route(desk: PageDriver) -> None:
    load(desk, "cross.csv", CROSS, 4)
    desk.solve("search")
    desk.find("[name=tool][value=reassign]").check(force=True)
    start = desk.centre_of("#map .point[aria-label^='Customer east']")
    end = desk.centre_of("#map .point[aria-label^='Customer west']")
    desk.page.mouse.move(*start)
    desk.page.mouse.down()
    desk.page.mouse.move(*end, steps=4)
    desk.page.mouse.up()

    desk.page.locator("#headline", has_text="Changed by hand").wait_for()
    assert sorted(map(len, stops(desk))) == [1, 3]
    assert desk.centre_of("#map .point[aria-label^='Customer east']") == pytest.approx(start, abs=1)


def test_locked_route_stays_when_the_problem_is_solved_again(desk: PageDriver, tmp_path: Path) -> None:
    load(desk, "cross.csv", CROSS, 4)
    desk.solve("search")
    desk.find(".stop").first.focus()
    desk.page.keyboard.press("Alt+ArrowDown")
    kept = max(stops(desk), key=len)
    place = stops(desk).index(kept)
    desk.find(".lock").nth(place).click()
    assert desk.find(".stop[draggable=true]").count() == 1
    desk.find("#solve").click()
    desk.page.locator("#headline", has_text="Search 0.").wait_for()

    assert kept in stops(desk)
    desk.page.get_by_text("Checked: all visited once").wait_for()
    plan = read_plan(desk.download("#export-plan", tmp_path))
    assert check(plan.instance, plan.solution) == []


def test_print_has_a_page_for_each_driver(desk: PageDriver) -> None:
    load(desk, "tour.csv", TABLE, 20)
    desk.solve()
    routes = desk.drawn_routes()
    content = desk.page.pdf(format="A4")

    assert content.count(b"/Type /Page\n") == routes
    desk.page.emulate_media(media="print")
    desk.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    desk.keep_screenshot("planner-print")
    assert desk.find(".sheet").count() == routes
    first = desk.find(".sheet").first.inner_text()
    assert "Route 1" in first and "km" in first and "Kunde" in first and "<b>" in first
    assert not desk.find(".workbench").is_visible()
    desk.page.emulate_media(media="screen")


def test_print_begins_with_who_is_not_served_and_why(desk: PageDriver) -> None:
    load(desk, "tight.json", json.dumps(TIGHT), 3)
    desk.solve("search")
    desk.page.emulate_media(media="print")
    desk.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    desk.keep_screenshot("planner-print-unserved")
    first, *others = desk.find(".sheet").all_inner_texts()
    desk.page.emulate_media(media="screen")

    assert first.startswith("1 customer is not served")
    assert "both vehicles have too little room (its demand is" in first and "Why it is not served" in first
    assert "Weg" in first  # the other columns of the file
    assert [text.split("\n")[0] for text in others] == ["Route 1", "Route 2"]


def test_who_is_not_served_is_told_with_the_reason_and_in_what_is_saved(desk: PageDriver, tmp_path: Path) -> None:
    load(desk, "tight.json", json.dumps(TIGHT), 3)
    desk.solve("search")

    faults = desk.find(".headline-fault").all_inner_texts()
    assert faults[0] == "1 customer is not served:"
    assert "both vehicles have too little room" in faults[1] and len(faults) == 2
    document = json.loads(desk.download("#export-plan", tmp_path).read_text())
    assert document["vehicles"] == [0, 0]
    served = {customer for route in document["routes"] for customer in route}
    assert document["unserved"] == sorted({1, 2, 3} - served)
    with pytest.warns(InputWarning, match="is not visited"):
        plan = read_plan(tmp_path / "tight.plan.json")
    assert [violation.kind for violation in check(plan.instance, plan.solution)] == ["missing"]


def test_picture_begins_with_who_is_not_served(desk: PageDriver, tmp_path: Path) -> None:
    load(desk, "tight.json", json.dumps(TIGHT), 3)
    desk.solve("search")
    desk.evaluate(
        """(() => { window.written = []; const pen = CanvasRenderingContext2D.prototype; const fill = pen.fillText;
        pen.fillText = function (text, ...rest) { written.push(text); return fill.call(this, text, ...rest); }; })()"""
    )
    desk.download("#export-png", tmp_path)
    written = desk.evaluate("window.written")

    assert written[0] == "1 customer is not served:"
    assert "both vehicles have too little room" in written[1]


def test_insertion_is_not_called_savings(desk: PageDriver) -> None:
    load(desk, "tight.json", json.dumps(TIGHT), 3)
    desk.solve("search")

    assert "insertion" in desk.text(".headline-facts") and "savings" not in desk.text(".headline-facts")
    assert desk.text("#playback-caption").startswith("Built by insertion")


def test_savings_are_called_so(desk: PageDriver) -> None:
    load(desk, "cross.csv", CROSS, 4)
    desk.evaluate("document.querySelector('.options').open = true")
    desk.find("#model").select_option("savings")
    desk.solve()

    assert "savings" in desk.text(".headline-facts")
    assert desk.text("#playback-caption").startswith("Built by savings")


def test_picture_has_legend_numbers_and_kilometres(desk: PageDriver, tmp_path: Path) -> None:
    load(desk, "tour.csv", TABLE, 20)
    desk.solve()
    drawn = desk.evaluate(
        """(() => { window.written = []; const pen = CanvasRenderingContext2D.prototype; const fill = pen.fillText;
        pen.fillText = function (text, ...rest) { written.push(text); return fill.call(this, text, ...rest); }; })()"""
    )
    assert drawn is None
    picture = desk.download("#export-png", tmp_path)
    written = desk.evaluate("window.written")

    assert picture.stat().st_size > 10_000
    assert any(text.startswith("1   ") and text.endswith(" km") for text in written), "the legend"
    assert "5 km" in written or "10 km" in written, "the scale"
    assert {"1", "2", "3"} <= set(written), "the order of stops"


def test_street_map_is_off_until_asked_for_and_the_policy_lets_its_server_alone_in(
    desk: PageDriver, tiles: Tiles
) -> None:
    load(desk, "tour.csv", TABLE, 20)
    before = len(tiles.asked)
    desk.page.wait_for_timeout(200)
    assert len(tiles.asked) == before
    desk.find("#streets").check()
    desk.find("#map image").nth(3).wait_for(state="attached")
    assert desk.text("#attribution") == "© Somebody <b>"
    assert_tiles_lie_right(desk)
    desk.keep_screenshot("planner-streets")
    desk.find("#streets").uncheck()
    assert desk.find("#map image").count() == 0
    assert len(tiles.asked) > before
    assert all(request.startswith(tiles.address) for request in desk.foreign_requests)
    desk.foreign_requests.clear()
    policy = desk.page.request.get(desk.address).headers["content-security-policy"]
    assert policy.endswith(f"img-src 'self' {tiles.address}")


def assert_tiles_lie_right(page: PageDriver) -> None:
    """The picture under the depot is the one that street maps have for its place."""
    zoom, column, row, left, top, size = page.evaluate(
        """(() => { const depot = document.querySelector('#map .depot').getBoundingClientRect();
        const at = [depot.left + depot.width / 2, depot.top + depot.height / 2];
        const image = [...document.querySelectorAll('#map image')].find(i => { const b = i.getBoundingClientRect();
          return b.left <= at[0] && at[0] < b.right && b.top <= at[1] && at[1] < b.bottom; });
        const b = image.getBoundingClientRect();
        return [...image.getAttribute('href').match(/\\d+(?=[/.])/g).slice(-3).map(Number),
          (at[0] - b.left) / b.width, (at[1] - b.top) / b.height, b.width]; })()"""
    )
    count = 2**zoom
    x = (9.99 + 180) / 360 * count
    y = (1 - math.asinh(math.tan(math.radians(53.55))) / math.pi) / 2 * count
    assert (column + left, row + top) == pytest.approx((x, y), abs=0.03)
    assert 128 < size < 512


def test_fleet_is_told_and_keeps_its_own_capacities(desk: PageDriver) -> None:
    vehicles = [{"name": "van", "capacity": 10, "count": 2}, {"name": "bike", "capacity": 4}]
    load(desk, "fleet.json", json.dumps({**SQUARE, "version": 2, "vehicles": vehicles}), 2)

    assert "Vehicles: 2 van, any number of bike." in desk.text("#capacity-hint")
    assert desk.find("#capacity").is_disabled()
