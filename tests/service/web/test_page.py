"""The page in a browser: beginning a day, planning it, and saving what came out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from page_driver import PageDriver, needs_browser, opened_page, running_browser
from running_service import RunningService, running_service

from dynaroute import check, read_plan
from dynaroute.draw import usual_capacity

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = needs_browser

VRP = """\
NAME : harbour
TYPE : CVRP
DIMENSION : 4
EDGE_WEIGHT_TYPE : EUC_2D
CAPACITY : 10
NODE_COORD_SECTION
1 0 0
2 3 4
3 3 0
4 -1 0
DEMAND_SECTION
1 0
2 2
3 7
4 9
DEPOT_SECTION
1
-1
EOF
"""


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


def place_points(desk: PageDriver) -> None:
    """The depot in the middle and six customers around it."""
    desk.start_empty()
    for x, y in [(0.5, 0.5), (0.6, 0.2), (0.4, 0.1), (0.7, 0.3), (0.7, 0.6), (0.4, 0.9), (0.6, 0.9)]:
        desk.click_map(x, y)
        desk.find("#inspector-close").click()


def test_page_begins_with_a_sample_day_of_two_vehicle_types(desk: PageDriver) -> None:
    assert "Hamburg, sample day" in desk.text("#problem-summary")
    assert "3 Sprinter, 2 Caddy" in desk.text("#problem-summary")
    desk.solve("search", 1)

    assert "all in time" in desk.text("#headline")
    assert "Elbphilharmonie" in [name for names in desk.routes() for name in names]
    desk.keep_screenshot("sample")


def test_placed_points_are_solved_and_drawn(desk: PageDriver, tmp_path: Path) -> None:
    place_points(desk)
    assert desk.find("#map .point").count() == 7
    desk.find("[data-field=capacity]").fill("3")
    desk.find("[data-field=capacity]").press("Tab")
    desk.solve()

    assert desk.drawn_routes() == 2 == desk.find(".route-card").count()
    plan = read_plan(desk.download("#save-plan", tmp_path))
    assert check(plan.instance, plan.solution) == []


def test_routes_and_a_picture_are_saved(desk: PageDriver, tmp_path: Path) -> None:
    desk.upload("harbour.vrp", VRP)
    desk.wait_for_customers(3)
    desk.solve()
    for format, begin in [("sol", "Route #1: "), ("vrp", "NAME : harbour"), ("svg", "<?xml")]:
        with desk.page.expect_download() as waiting:
            desk.find("#save-format").select_option(format)
        assert waiting.value.suggested_filename == f"harbour.{format}"
        assert waiting.value.path().read_text().startswith(begin)


def test_code_of_a_run_does_the_same(
    desk: PageDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.upload("harbour.vrp", VRP)
    desk.wait_for_customers(3)
    desk.find("#model").evaluate("select => select.value = 'savings'")
    desk.solve()
    desk.download("#save-plan", tmp_path)
    code = {}
    for suffix in ("py", "sh"):
        with desk.page.expect_download() as waiting:
            desk.find("#save-format").select_option(suffix)
        code[suffix] = waiting.value.path().read_text()
    monkeypatch.chdir(tmp_path)
    exec(code["py"], {})

    assert capsys.readouterr().out.startswith("14.0 ")
    assert """jq '.instance + {options: {"model":"savings"}}' 'harbour.plan.json'""" in code["sh"]
    assert f"'{desk.address.rstrip('/')}/v1/solve'" in code["sh"]


def test_random_points_have_the_usual_capacity_and_follow_their_seed(desk: PageDriver) -> None:
    places = []
    for size, seed in [(20, 5), (70, 6), (20, 5)]:
        desk.load_random(size, seed=seed)
        desk.wait_for_customers(size)
        assert int(desk.find("[data-field=capacity]").input_value()) == usual_capacity(size)
        places.append(desk.find("#map path.point").first.get_attribute("d"))
    assert places[0] == places[2] != places[1]


def test_uploaded_file_is_shown_and_solved(desk: PageDriver) -> None:
    desk.upload("harbour.vrp", VRP)
    desk.page.get_by_text("harbour · 3 customers, capacity 10").wait_for()
    desk.solve()

    assert desk.cost() == 14


def test_pasted_problem_is_read(desk: PageDriver) -> None:
    desk.unfold()
    desk.find("#paste-form textarea").fill(VRP)
    desk.page.get_by_role("button", name="Read the text").click()

    desk.page.get_by_text("harbour · 3 customers").wait_for()


def test_dropped_file_is_read(desk: PageDriver) -> None:
    dropped = desk.page.evaluate_handle(
        "text => { const data = new DataTransfer(); data.items.add(new File([text], 'dropped.vrp')); return data; }",
        VRP,
    )
    desk.find("#map").dispatch_event("drop", {"dataTransfer": dropped})

    desk.page.get_by_text("harbour · 3 customers").wait_for()


def test_bad_file_is_explained_where_it_was_chosen(desk: PageDriver) -> None:
    desk.upload("bad.vrp", VRP.replace("CAPACITY : 10", "CAPACITY : ten"))
    error = desk.find("#file-notice [role=alert]")
    error.wait_for()

    assert "bad.vrp, line 5, field CAPACITY" in error.inner_text()
    assert "28 customers" in desk.text("#problem-summary"), "the day before stays"


def test_impossible_day_is_explained_and_its_customer_selected(desk: PageDriver) -> None:
    desk.upload("harbour.vrp", VRP)
    desk.wait_for_customers(3)
    desk.find("[data-field=capacity]").fill("8")
    desk.find("[data-field=capacity]").press("Tab")
    desk.find("#solve").click()
    error = desk.find("#solve-notice [role=alert]")
    error.wait_for()

    assert "The demand of customer 3 is 9, above the capacity 8." in error.inner_text()
    assert desk.text("#inspector-title") == "3"


@pytest.mark.parametrize(("method", "endpoint"), [("greedy", "**/v1/solve"), ("search", "**/v1/jobs")])
def test_lost_connection_is_explained(desk: PageDriver, method: str, endpoint: str) -> None:
    desk.page.route(endpoint, lambda route: route.abort())
    desk.find(f"[name=method][value={method}]").check()
    desk.find("#solve").click()
    desk.find("#solve-notice [role=alert]").wait_for()

    assert "The server cannot be reached." in desk.text("#solve-notice")
    assert [text for text in desk.complaints if "ERR_FAILED" not in text] == []
    desk.complaints.clear()  # of the browser, about the connection we cut


def test_token_is_asked_for_once(desk: PageDriver) -> None:
    refusal = {"code": "token", "message": "a token is needed.", "where": None, "remedy": "Send it."}

    def guard(route: Route) -> None:
        if route.request.headers.get("authorization") == "Bearer swordfish":
            route.continue_()
        else:
            route.fulfill(status=401, json=refusal)

    desk.page.route("**/v1/solve", guard)
    desk.find("[name=method][value=greedy]").check()
    desk.find("#solve").click()
    desk.page.get_by_label("Bearer token").fill("swordfish")
    desk.page.get_by_role("button", name="Use it").click()
    desk.wait_until_judged()


def test_search_draws_better_routes_until_its_time_is_up(desk: PageDriver, tmp_path: Path) -> None:
    desk.load_random(60)
    desk.wait_for_customers(60)
    desk.solve()
    greedy = desk.cost()
    desk.solve("search", 1)

    assert desk.cost() < greedy
    assert desk.find("#curve .curve-line").is_visible()
    plan = read_plan(desk.download("#save-plan", tmp_path))
    assert check(plan.instance, plan.solution) == []


def test_stopped_search_keeps_its_best(desk: PageDriver) -> None:
    desk.begin_search(300)
    desk.find("#stop").click()
    desk.find("#search-progress").wait_for(state="hidden")
    desk.wait_until_judged()

    assert "stopped" in desk.text(".headline-facts")


@pytest.mark.parametrize(("state", "reason"), [("running", "compiles its code"), ("queued", "Waiting for other")])
def test_a_search_without_routes_says_what_it_waits_for(desk: PageDriver, state: str, reason: str) -> None:
    desk.page.clock.install()
    desk.page.route("**/v1/jobs/*/events", lambda route: None)  # no news
    desk.page.route("**/v1/jobs/*", lambda route: route.fulfill(json={"state": state}))
    desk.find("#solve").click()
    desk.page.locator("#headline", has_text="Searching…").wait_for()
    desk.page.clock.fast_forward(6000)
    desk.page.locator("#headline", has_text=reason).wait_for()


def test_film_of_a_policy_is_played_paused_stepped_and_skipped(desk: PageDriver) -> None:
    desk.load_random(20)
    desk.wait_for_customers(20)
    desk.find("#model").evaluate("select => select.value = 'amd-100'")
    desk.solve()
    routes = desk.drawn_routes()
    assert desk.text("#film-caption").startswith(f"amd-100 built {routes} routes")

    desk.find("#film-step").click()
    left = 20 - len(desk.routes()[0])
    assert f"Route 2 of {routes}: amd-100 looks anew at the {left} stops left" in desk.text("#film-caption")
    assert desk.drawn_routes() == 1
    desk.find("#film-play").click()
    desk.find("#map .route").nth(1).wait_for(state="attached")
    desk.find("#film-play").click()
    shown = desk.text("#film-caption")
    assert 2 <= desk.drawn_routes() < routes
    desk.page.wait_for_timeout(300)
    assert desk.text("#film-caption") == shown, "it is paused"

    desk.find("#film-skip").click()
    assert desk.drawn_routes() == routes


def test_film_plays_while_the_search_goes_on(desk: PageDriver) -> None:
    desk.load_random(60)
    desk.wait_for_customers(60)
    desk.begin_search(300)
    desk.page.locator("#film-caption", has_text="Route 2 of").wait_for()
    assert desk.find("#film-play.playing").is_visible()
    assert desk.find("#search-progress").is_visible()
    desk.keep_screenshot("film")
    desk.find("#film-skip").click()
    assert desk.text("#film-caption").startswith("amd built")
    assert desk.drawn_routes() == desk.find(".route-card").count()
    desk.find("#stop").click()
    desk.wait_until_judged()


def test_another_day_stops_the_search(desk: PageDriver) -> None:
    desk.begin_search(300)
    desk.load_random(20)
    desk.page.get_by_role("button", name="Plan routes").wait_for()
    desk.solve("greedy")

    assert desk.find(".route-card").count() == desk.drawn_routes() > 0
    assert desk.find("#solve-notice .error").count() == 0


def test_routes_keep_their_places_while_a_search_changes_them(desk: PageDriver) -> None:
    def order(before: list[list[int]], after: list[list[int]]) -> object:
        return desk.evaluate(f"import('/page/align.js').then(module => module.alignedOrder({before}, {after}))")

    assert order([], [[1], [2]]) == [0, 1], "nothing was there before"
    assert order([[1, 2], [3, 4, 5], [6]], [[6], [5, 4, 2], [1, 3]]) == [2, 1, 0]
    assert order([[1, 2], [3], [4, 5]], [[5, 4], [2, 3, 1]]) == [1, 0], "the last moves up where one is gone"


def test_day_without_places_is_solved_and_drawn_on_a_circle(desk: PageDriver) -> None:
    matrix = [[0, 5, 6, 7], [5, 0, 3, 9], [6, 3, 0, 4], [7, 9, 4, 0]]
    day = {"capacity": 8, "customers": [{"demand": 4}] * 3, "distances": matrix}
    desk.upload("matrix.json", json.dumps(day))
    desk.wait_for_customers(3)
    desk.solve()

    assert desk.cost() == 27
    assert desk.find("[name=tool][value=add]").is_disabled()


def test_keyboard_alone_edits_and_plans(desk: PageDriver) -> None:
    keys = desk.page.keyboard
    for key in ("Tab", "Enter", "Home"):  # the link that skips to the map, the map, its depot
        keys.press(key)
    assert focused(desk) == "Großmarkt"
    keys.press("PageDown")
    assert focused(desk) == "Hotel Vier Jahreszeiten, demand 90"
    keys.press("Enter")
    assert desk.evaluate("document.activeElement.name") == "name"
    keys.press("Tab")
    keys.type("70")
    keys.press("Enter")
    assert focused(desk) == "Hotel Vier Jahreszeiten, demand 70"
    keys.press("Control+z")
    keys.press("Home")
    keys.press("PageDown")
    assert focused(desk) == "Hotel Vier Jahreszeiten, demand 90"
    keys.press("Delete")
    desk.wait_for_customers(27)

    desk.find("[name=method][value=greedy]").check()
    desk.find("#solve").focus()
    keys.press("Enter")
    desk.wait_until_judged()
    assert "At once: cost" in desk.text("#live")


def focused(desk: PageDriver) -> str:
    return str(desk.evaluate("document.activeElement.getAttribute('aria-label')"))
