"""The page in a browser: searches, comparisons, the film, and every way to look at it and to work it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from page_driver import PHONE, PageDriver, needs_browser, opened_page, running_browser
from running_service import RunningService, running_service

from dynaroute import check
from dynaroute.formats import instance_from_json
from dynaroute.problem.solution import Solution

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = needs_browser

LEAST_CONTRAST = 4.5  # of text, for WCAG's level AA
LEAST_LINE_CONTRAST = 3.0


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


def test_search_draws_better_routes_until_its_time_is_up(desk: PageDriver, tmp_path: Path) -> None:
    desk.solve()
    greedy = desk.cost()
    desk.begin_search(2)
    desk.find("#map .route").first.wait_for(state="attached")
    desk.keep_screenshot("search")
    desk.find("#search-progress").wait_for(state="hidden")

    assert desk.cost() < greedy
    answer = desk.answer(tmp_path)
    assert check(instance_from_json(answer["problem"]), Solution(answer["routes"], answer["cost"])) == []
    costs = [cost for _, cost in answer["trace"]]
    assert costs == sorted(costs, reverse=True)
    assert desk.find("#curve .curve-line").is_visible()


def test_first_solve_shows_the_routes_of_the_policy_and_goes_on_with_a_search(desk: PageDriver, tmp_path: Path) -> None:
    desk.load_random(40)
    desk.begin_search(2)
    desk.find("#map .route").first.wait_for(state="attached")
    desk.find("#search-progress").wait_for(state="hidden")

    assert "amd" in desk.text(".headline-facts")
    note = desk.find(".headline-note").first.inner_text()
    assert note.startswith("amd")
    assert "The search began from savings" in note
    assert desk.text("#playback-caption").startswith("How amd")
    assert len(desk.answer(tmp_path)["trace"]) > 1


def test_routes_keep_their_places_while_a_search_changes_them(desk: PageDriver) -> None:
    def order(before: list[list[int]], after: list[list[int]]) -> object:
        return desk.evaluate(f"import('/page/align.js').then(module => module.alignedOrder({before}, {after}))")

    assert order([], [[1], [2]]) == [0, 1], "nothing was there before"
    assert order([[1, 2], [3, 4, 5], [6]], [[6], [5, 4, 2], [1, 3]]) == [2, 1, 0]
    assert order([[1, 2], [3], [4, 5]], [[5, 4], [2, 3, 1]]) == [1, 0], "the last moves up where one is gone"
    assert order([[1, 2, 3]], [[1], [3, 2]]) == [1, 0], "a new one comes last"


def test_stopped_search_keeps_its_best(desk: PageDriver, tmp_path: Path) -> None:
    desk.begin_search(300)
    desk.find("#stop").click()
    desk.find("#search-progress").wait_for(state="hidden")

    assert "stopped" in desk.text(".headline-facts")
    answer = desk.answer(tmp_path)
    assert check(instance_from_json(answer["problem"]), Solution(answer["routes"], answer["cost"])) == []


@pytest.mark.parametrize(("state", "reason"), [("running", "compiles its code"), ("queued", "Waiting for other")])
def test_a_search_without_routes_says_what_it_waits_for(desk: PageDriver, state: str, reason: str) -> None:
    desk.page.clock.install()
    desk.page.route("**/v1/jobs/*/events", lambda route: None)  # no news
    desk.page.route("**/v1/jobs/*", lambda route: route.fulfill(json={"state": state}))
    desk.choose_method("search")
    desk.find("#solve").click()
    desk.page.get_by_text("Searching…", exact=True).wait_for()
    desk.page.clock.fast_forward(6000)
    desk.page.locator("#headline", has_text=reason).wait_for()


def test_many_edits_during_a_search_stop_it_without_a_complaint(desk: PageDriver) -> None:
    desk.load_random(30)
    desk.begin_search(300)
    desk.find("#map .point").first.focus()
    for _ in range(8):
        desk.page.keyboard.press("ArrowRight")
    desk.page.get_by_role("button", name="Solve", exact=True).wait_for()
    assert desk.find("#solve-notice .error").count() == 0


def test_problem_changed_before_its_search_began_is_not_waited_for(desk: PageDriver) -> None:
    def answer_late(route: Route) -> None:
        desk.page.wait_for_timeout(700)
        route.continue_()

    desk.page.route("**/v1/jobs", answer_late)
    desk.choose_method("search")
    desk.find("[name=seconds]").fill("300")
    desk.find("#solve").click()
    desk.load_random(9, seed=5)
    desk.page.get_by_role("button", name="Solve", exact=True).wait_for()
    assert desk.find("#solve-notice .error").count() == 0


def test_loading_another_problem_stops_the_search(desk: PageDriver) -> None:
    desk.begin_search(300)
    desk.load_random(20)
    desk.page.get_by_role("button", name="Solve", exact=True).wait_for()
    desk.solve("greedy")

    assert desk.find(".routes-table tr[data-route]").count() == desk.drawn_routes() > 0


def test_two_runs_are_compared_side_by_side(desk: PageDriver) -> None:
    desk.find("#solve-form .options summary").click()
    desk.find("#model").select_option("amd-20")
    desk.solve("greedy")
    greedy = desk.cost()
    desk.solve("2opt")
    tidied = desk.cost()
    desk.find("#tab-runs").click()
    desk.find("[name=run-b]").first.check()

    assert desk.find("#map-b .route").count() > 0
    assert desk.text("#caption-a") == f"A · At once + 2OPT · {tidied:.3f}"
    assert desk.text("#caption-b") == f"B · At once · {greedy:.3f}"
    share = 100 * (greedy / tidied - 1)
    assert float(desk.text(".facts dd >> nth=0").split()[0]) == pytest.approx(share, abs=0.02)
    desk.keep_screenshot("compare")

    desk.find("#run-b-none").check()
    assert desk.find("#frame-b").is_hidden()


def test_film_builds_the_routes_one_after_the_other(desk: PageDriver) -> None:
    desk.find("#solve-form .options summary").click()
    desk.find("#model").select_option("amd-100")
    desk.solve()
    routes = desk.drawn_routes()
    assert desk.text("#playback-caption") == "How amd-100 built the routes"

    desk.find("#scrub").fill("4.5")
    assert desk.drawn_routes() == 1
    assert desk.text("#playback-caption").startswith(f"Route 1 of {routes}, to customer")
    assert desk.find("#map .vehicle").is_visible()

    desk.find("#play").click()
    desk.find("#map .route").nth(1).wait_for(state="attached")
    desk.find("#play").click()
    assert 2 <= desk.drawn_routes() < routes
    desk.keep_screenshot("film")

    desk.find("#scrub").press("End")
    assert desk.drawn_routes() == routes
    assert desk.find("#map .vehicle").is_hidden()


def test_film_steps_from_route_to_route_where_motion_is_unwelcome(browser: Browser, service: RunningService) -> None:
    with opened_page(browser, service.address, reduced_motion="reduce") as desk:
        desk.load_random(20)
        desk.solve()
        desk.find("#speed").select_option("4")
        desk.find("#play").click()
        desk.page.get_by_text(re.compile(r"Route 1 of \d+ is complete")).wait_for()
        assert desk.find("#map .vehicle").is_hidden()
        desk.find("#play:not(.playing)").wait_for()


def test_table_and_map_light_up_together(desk: PageDriver) -> None:
    desk.solve()
    desk.find("tr[data-route='1']").hover()
    assert desk.find("#map .route.emphasised").get_attribute("data-route") == "1"

    desk.find("tr[data-route='2'] .route-toggle").focus()
    assert desk.find("#map .route.emphasised").get_attribute("data-route") == "2"

    stop = desk.find("#map .point.colour-3").first
    stop.hover()
    assert desk.find("tr[data-route].emphasised").get_attribute("data-route") == "3"
    assert "demand" in desk.text("#tooltip")

    desk.find("tr[data-route='4'] .route-toggle").click()
    desk.page.mouse.move(0, 0)
    assert desk.find("#map .route.emphasised").get_attribute("data-route") == "4"


def test_large_problem_is_drawn_and_its_film_played(desk: PageDriver) -> None:
    desk.load_random(1000)
    desk.find("#solve-form .options summary").click()
    desk.find("#model").select_option("savings")
    desk.solve()
    desk.keep_screenshot("thousand")

    assert desk.find("#map .point").count() == 1001
    assert desk.find(".routes-table tr[data-route]").count() == desk.drawn_routes()
    desk.find("#scrub").fill("500")
    assert 0 < desk.drawn_routes() < desk.find(".routes-table tr[data-route]").count()


def test_problem_without_places_is_solved_and_drawn_on_a_circle(desk: PageDriver, tmp_path: Path) -> None:
    matrix = "[[0,5,6,7],[5,0,3,9],[6,3,0,4],[7,9,4,0]]"
    customers = ",".join('{"demand":4}' for _ in range(3))
    desk.upload("matrix.json", f'{{"capacity":8,"customers":[{customers}],"distances":{matrix}}}')
    desk.page.get_by_text("matrix · 3 customers, capacity 8").wait_for()
    desk.solve()

    assert desk.cost() == 27
    assert desk.find("#inspector").is_hidden()
    desk.download("#export-png", tmp_path)


def test_keyboard_alone_edits_and_solves(desk: PageDriver) -> None:
    keys = desk.page.keyboard
    for key in ("Tab", "Enter", "Home"):  # the link that skips to the map, the map, its depot
        keys.press(key)
    assert focused(desk).startswith("Depot")
    keys.press("PageDown")
    assert focused(desk).startswith("Customer 1,")
    place = focused(desk)
    keys.press("Shift+ArrowRight")
    assert focused(desk) != place
    keys.press("Control+z")
    assert focused(desk) == place

    keys.press("a")
    assert focused(desk).startswith("Customer 101, demand 5")
    keys.press("Enter")
    assert desk.evaluate("document.activeElement.name") == "x"
    for key in ("Tab", "Tab"):
        keys.press(key)
    keys.type("3")
    keys.press("Escape")
    assert focused(desk).startswith("Customer 101, demand 3")
    keys.press("Delete")
    assert "100 customers" in desk.text("#problem-summary")

    desk.choose_method("greedy")
    for _ in range(40):
        keys.press("Tab")
        if desk.evaluate("document.activeElement.id") == "solve":
            break
    keys.press("Enter")
    desk.find("#map .route").first.wait_for(state="attached")
    assert re.search(r"At once: cost [\d.]+ with \d+ routes\.", desk.text("#live"))


def focused(desk: PageDriver) -> str:
    return str(desk.evaluate("document.activeElement.getAttribute('aria-label')"))


def test_every_control_has_a_name(desk: PageDriver) -> None:
    desk.solve()
    nameless = desk.evaluate(
        """[...document.querySelectorAll('button, input, select, textarea, a, [role=tab], [role=tabpanel], svg[role]')]
        .filter(element => !(element.getAttribute('aria-label') || element.getAttribute('aria-labelledby')
          || element.textContent.trim() || element.labels?.[0]?.textContent.trim()))
        .map(element => element.outerHTML)"""
    )

    assert nameless == []


def test_phone_needs_no_sideways_scrolling(browser: Browser, service: RunningService) -> None:
    with opened_page(browser, service.address, PHONE, has_touch=True, is_mobile=True) as phone:

        def assert_fits() -> None:
            assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE[0]

        assert_fits()
        phone.upload("bad.vrp", "NAME : " + "x" * 200)
        phone.find("#file-notice [role=alert]").wait_for()
        assert_fits()
        phone.solve("greedy")
        phone.solve("2opt")
        for tab in ("routes", "customers", "runs", "code"):
            phone.find(f"#tab-{tab}").click()
            assert_fits()
        phone.find("#tab-runs").click()
        phone.find("[name=run-b]").first.check()
        assert_fits()
        phone.find("#frame-b").wait_for()
        phone.keep_screenshot("phone-compare")


def test_taps_place_points_on_a_phone(browser: Browser, service: RunningService) -> None:
    with opened_page(browser, service.address, PHONE, has_touch=True, is_mobile=True) as phone:
        phone.start_empty()
        phone.find("#map").scroll_into_view_if_needed()
        for x, y in [(0.5, 0.5), (0.2, 0.3), (0.8, 0.7)]:
            phone.page.touchscreen.tap(*phone.place_on_map(x, y))
        assert phone.find("#map .point").count() == 3
        phone.solve()
        phone.find("#map").scroll_into_view_if_needed()
        phone.keep_screenshot("phone")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_can_be_read(browser: Browser, service: RunningService, scheme: Any) -> None:
    with opened_page(browser, service.address, color_scheme=scheme) as desk:
        desk.solve()
        desk.keep_screenshot(scheme)
        is_dark = luminance(colour(desk, "--surface")) < 0.2
        assert is_dark == (scheme == "dark")

        for text in ("--text", "--text-soft", "--accent", "--danger", "--good"):
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
    value = str(desk.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('{name}').trim()"))
    red, green, blue = (int(value[start : start + 2], 16) for start in (1, 3, 5))
    return red, green, blue


def luminance(colour: tuple[int, int, int]) -> float:
    """Relative luminance, as WCAG defines it."""
    shares = [value / 255 for value in colour]
    red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
