"""The page at three widths, in both colours, with a street map, and with a thousand stops."""

from __future__ import annotations

import http.server
import json
import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from page_driver import PageDriver, needs_browser, opened_page, running_browser
from running_service import RunningService, running_service

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_browser

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
SIZES = {"phone": (390, 844), "tablet": (1024, 768), "desk": (1440, 900)}
LEAST_CONTRAST = 4.5  # of text, for WCAG's level AA
LEAST_LINE_CONTRAST = 3.0
SQUARE = {
    "capacity": 10,
    "depot": {"lat": 53.5, "lon": 10.0},
    "customers": [{"lat": 53.6, "lon": 10.0, "demand": 1}, {"lat": 53.5, "lon": 10.1, "demand": 1}],
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
    with opened_page(browser, service.address) as driver:
        yield driver


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_planned_day_fits_and_axe_finds_no_fault(
    browser: Browser, service: RunningService, size: str, scheme: Any
) -> None:
    touch = {"has_touch": True, "is_mobile": True} if size == "phone" else {}
    settings = {"color_scheme": scheme, "bypass_csp": True, **touch}
    with opened_page(browser, service.address, SIZES[size], **settings) as page:
        page.solve("search", 1)
        assert_near_the_map(page, size)
        page.find("#gantt [data-stop='2']").click()
        page.keep_screenshot(f"planner-{size}-{scheme}")

        assert_fits(page, size)
        page.page.evaluate(AXE)
        assert list_faults(page) == []
        for tab in ("customers", "runs", "what-if"):
            page.find(f"#tab-{tab}").click()
            assert_fits(page, size)
            assert list_faults(page) == []
        page.upload("tour.csv", "id,lat,lon,demand\nDepot,53.5,10,0\nNord,53.6,10,3\n")
        page.find("#table-dialog[open]").wait_for()
        page.keep_screenshot(f"dialog-{size}-{scheme}")
        assert list_faults(page) == []


def list_faults(page: PageDriver) -> list[str]:
    found = page.page.evaluate(
        """axe.run({resultTypes: ['violations']}).then(found => found.violations
        .map(fault => fault.id + ': ' + fault.nodes.map(node => node.html).join(' ').slice(0, 300)))"""
    )
    return [str(fault) for fault in found]


def assert_fits(page: PageDriver, size: str) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    cut_off = page.evaluate(
        """[...document.querySelectorAll('.results button, .solve button, .day button, .stage-bar button')]
        .filter(button => { const box = button.getBoundingClientRect();
        return box.width > 0 && (box.left < 0 || box.right > innerWidth + 1); }).map(button => button.outerHTML)"""
    )
    assert cut_off == []


def assert_near_the_map(page: PageDriver, size: str) -> None:
    chart, stage, result = (box_of(page, selector) for selector in ("#gantt", "#map", "#headline"))
    assert 0 <= chart["top"] - stage["bottom"] < 20
    if size == "phone":
        assert 0 <= result["top"] - chart["bottom"] < 200
    else:
        assert result["left"] >= stage["right"]
        assert result["top"] < stage["bottom"]


def box_of(page: PageDriver, selector: str) -> dict[str, float]:
    found = page.evaluate(
        f"""(() => {{ const box = document.querySelector('{selector}').getBoundingClientRect();
        return {{left: box.left, right: box.right, top: box.top + scrollY, bottom: box.bottom + scrollY}}; }})()"""
    )
    return dict(found)


def test_taps_place_points_on_a_phone(browser: Browser, service: RunningService) -> None:
    with opened_page(browser, service.address, SIZES["phone"], has_touch=True, is_mobile=True) as phone:
        phone.start_empty()
        phone.find("#map").scroll_into_view_if_needed()
        for x, y in [(0.8, 0.2), (0.9, 0.9), (0.95, 0.5)]:
            phone.page.touchscreen.tap(*phone.place_on_map(x, y))
            phone.find("#inspector-close").tap()
        assert phone.find("#map .point").count() == 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_can_be_read(browser: Browser, service: RunningService, scheme: Any) -> None:
    with opened_page(browser, service.address, color_scheme=scheme) as desk:
        is_dark = luminance(colour(desk, "--surface")) < 0.2
        assert is_dark == (scheme == "dark")

        for text in ("--text", "--text-soft", "--accent", "--danger", "--good", "--warn"):
            assert contrast(colour(desk, text), colour(desk, "--surface")) >= LEAST_CONTRAST, text
        assert contrast(colour(desk, "--accent-text"), colour(desk, "--accent")) >= LEAST_CONTRAST
        assert contrast(colour(desk, "--danger"), colour(desk, "--danger-soft")) >= LEAST_CONTRAST
        for route in range(10):
            name = f"--route-{route}"
            assert contrast(colour(desk, name), colour(desk, "--surface")) >= LEAST_LINE_CONTRAST, name


def test_chosen_colours_go_before_the_system_and_are_remembered(browser: Browser, service: RunningService) -> None:
    with opened_page(browser, service.address, color_scheme="light") as desk:
        desk.find("#theme").select_option("dark")
        assert luminance(colour(desk, "--surface")) < 0.2
        desk.open()
        assert luminance(colour(desk, "--surface")) < 0.2


def colour(desk: PageDriver, name: str) -> tuple[int, int, int]:
    value = desk.evaluate(
        f"""(() => {{ const probe = document.createElement('i'); probe.style.color = 'var({name})';
        document.body.append(probe); const found = getComputedStyle(probe).color; probe.remove(); return found; }})()"""
    )
    red, green, blue = (int(part) for part in str(value).removeprefix("rgb(").removesuffix(")").split(","))
    return red, green, blue


def luminance(colour: tuple[int, int, int]) -> float:
    """Relative luminance, as WCAG defines it."""
    shares = [value / 255 for value in colour]
    red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_degrees_are_drawn_as_wide_as_they_are(desk: PageDriver) -> None:
    desk.upload("square.json", json.dumps(SQUARE))
    desk.wait_for_customers(2)
    depot, north, east = (desk.centre_of(f"#map [data-node='{node}']") for node in range(3))

    ratio = (east[0] - depot[0]) / (depot[1] - north[1])
    assert ratio == pytest.approx(math.cos(math.radians(53.55)), rel=0.02)
    assert str(desk.find(".leaflet-control-scale-line").text_content()).endswith("km")


def test_street_map_is_off_until_asked_for_and_the_policy_lets_its_server_alone_in(
    desk: PageDriver, tiles: Tiles
) -> None:
    before = len(tiles.asked)
    desk.page.wait_for_timeout(200)
    assert len(tiles.asked) == before
    desk.find("#streets").check()
    desk.find("#map img.leaflet-tile").nth(3).wait_for(state="attached")
    assert desk.text(".leaflet-control-attribution") == "© Somebody <b>"
    desk.find("#streets").uncheck()
    assert desk.find("#map img.leaflet-tile").count() == 0
    assert len(tiles.asked) > before
    assert all(request.startswith(tiles.address) for request in desk.foreign_requests)
    desk.foreign_requests.clear()
    policy = desk.page.request.get(desk.address).headers["content-security-policy"]
    assert policy.endswith(f"img-src 'self' {tiles.address}")


def test_a_thousand_stops_are_drawn_and_listed(desk: PageDriver) -> None:
    desk.load_random(1000)
    desk.page.locator("#problem-summary", has_text="1,000 customers").wait_for()
    desk.find("#solve-form .options summary").click()
    desk.find("#model").select_option("savings")
    desk.solve()
    desk.keep_screenshot("thousand")

    assert desk.find("#map .point").count() == 1001
    assert desk.find(".route-card").count() == desk.drawn_routes() > 5
    assert desk.find(".gantt-stop").count() == 1000


def test_every_control_has_a_name(desk: PageDriver) -> None:
    desk.solve()
    nameless = desk.evaluate(
        """[...document.querySelectorAll('button, input, select, textarea, a, [role=tab], [role=tabpanel], svg[role]')]
        .filter(element => !(element.getAttribute('aria-label') || element.getAttribute('aria-labelledby')
          || element.textContent.trim() || element.labels?.[0]?.textContent.trim()))
        .map(element => element.outerHTML)"""
    )

    assert nameless == []
