"""The page in a browser: making problems, solving them, and taking the routes away."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from page_driver import PageDriver, needs_browser, opened_page, running_browser
from running_service import RunningService, running_service

from dynaroute import check, read, read_solution
from dynaroute.draw import usual_capacity
from dynaroute.formats import instance_from_json
from dynaroute.problem.solution import Solution
from dynaroute.solving.options import choose_search_seconds

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
CSV = "# capacity: 10\nid,x,y,demand\ndepot,0,0,0\nnorth,3,4,2\neast,3,0,7\nwest,-1,0,9\n"


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


def draw_six(desk: PageDriver) -> None:
    """The depot in the middle and six customers around it."""
    desk.start_empty()
    for x, y in [(0.5, 0.5), (0.2, 0.2), (0.3, 0.2), (0.8, 0.3), (0.8, 0.6), (0.4, 0.8), (0.2, 0.7)]:
        desk.click_map(x, y)


def test_placed_points_are_solved_and_drawn(desk: PageDriver, tmp_path: Path) -> None:
    draw_six(desk)
    desk.find("#capacity").fill("10")
    desk.find("#capacity").press("Tab")
    desk.solve()

    assert desk.find("#map .point").count() == 7
    assert desk.drawn_routes() == 3 == desk.find(".routes-table tr[data-route]").count()
    assert "Checked: all visited once" in desk.text("#headline")
    answer = desk.answer(tmp_path)
    assert check(instance_from_json(answer["problem"]), Solution(answer["routes"], answer["cost"])) == []
    desk.keep_screenshot("drawn")


def test_street_map_is_not_offered_unless_the_service_names_one(desk: PageDriver) -> None:
    assert desk.find("#streets-field").is_hidden()


def test_depot_tool_moves_the_depot_to_a_click(desk: PageDriver) -> None:
    before = desk.centre_of("#map .depot")
    desk.find("[name=tool][value=depot]").check(force=True)
    desk.click_map(0.02, 0.5)

    assert desk.centre_of("#map .depot") == pytest.approx(desk.place_on_map(0.02, 0.5), abs=3)
    assert desk.centre_of("#map .depot") != before
    assert desk.find("#map .point").count() == 101


def test_dragging_moves_a_point_and_undo_brings_it_back_with_its_routes(desk: PageDriver) -> None:
    draw_six(desk)
    desk.solve()
    start, end = desk.place_on_map(0.8, 0.3), desk.place_on_map(0.9, 0.4)
    desk.page.mouse.move(*start)
    desk.page.mouse.down()
    desk.page.mouse.move(*end, steps=3)
    desk.page.mouse.up()

    assert desk.centre_of("#map .point.selected") == pytest.approx(end, abs=3)
    assert desk.drawn_routes() == 0
    assert "customer 3" in desk.text("#inspector-title").lower()

    desk.find("#undo").click()
    assert desk.drawn_routes() > 0


def test_point_is_selected_again_after_a_click_on_the_ground(desk: PageDriver) -> None:
    draw_six(desk)
    desk.find("[name=tool][value=select]").check(force=True)
    for _ in range(2):
        desk.click_map(0.2, 0.2)
        desk.find("#inspector").wait_for()
        desk.click_map(0.35, 0.55)
        desk.find("#inspector").wait_for(state="hidden")


def test_enter_in_the_inspector_leads_back_to_its_point(desk: PageDriver) -> None:
    draw_six(desk)
    desk.find("[name=tool][value=select]").check(force=True)
    desk.click_map(0.2, 0.2)
    desk.find("#inspector [name=demand]").press("Enter")
    assert "point" in str(desk.evaluate("document.activeElement.getAttribute('class')"))


def test_zooming_in_ends_where_numbers_have_no_more_digits(desk: PageDriver) -> None:
    draw_six(desk)
    desk.page.mouse.move(*desk.place_on_map(0.3, 0.3))
    for _ in range(120):  # by a factor of more than 10 ** 31
        desk.page.mouse.wheel(0, -400)
    desk.find("#tab-random").click()  # the page still answers
    desk.load_random(8)
    desk.solve()


def test_demand_is_set_in_the_inspector_and_in_the_table(desk: PageDriver, tmp_path: Path) -> None:
    draw_six(desk)
    desk.find("[name=tool][value=select]").check(force=True)
    desk.click_map(0.2, 0.2)
    desk.find("#inspector [name=demand]").fill("7")
    desk.find("#inspector [name=demand]").press("Enter")
    desk.find("#tab-customers").click()
    desk.page.get_by_label("demand of Customer 2").fill("2.5")
    desk.page.get_by_label("demand of Customer 2").press("Tab")
    desk.solve()

    demands = [customer["demand"] for customer in desk.answer(tmp_path)["problem"]["customers"]]
    assert demands == [7, 2.5, 5, 5, 5, 5]


def test_points_are_added_by_coordinates(desk: PageDriver) -> None:
    desk.start_empty()
    for x, y, demand in [(0, 0, 0), (3, 4, 2)]:
        for field, value in {"x": x, "y": y, "demand": demand}.items():
            desk.find(f"#add-form [name={field}]").fill(str(value))
        desk.find("#add-button").click()
    desk.solve()

    assert desk.cost() == pytest.approx(10)


def test_edited_problems_are_solved_again_where_asked(desk: PageDriver) -> None:
    draw_six(desk)
    desk.choose_method("greedy")
    desk.find("#follow").check()
    desk.click_map(0.6, 0.9)

    desk.find("#map .route").first.wait_for(state="attached")
    assert "7 customers" in desk.text("#problem-summary")


def test_random_problems_have_the_usual_capacity(desk: PageDriver) -> None:
    for size in (1, 15, 20, 70, 1000):
        desk.load_random(size)

        assert desk.find("#map .point").count() == size + 1
        assert int(desk.find("#capacity").input_value()) == usual_capacity(size)


def test_same_seed_draws_the_same_problem(desk: PageDriver) -> None:
    def places() -> list[str]:
        labels = desk.evaluate("[...document.querySelectorAll('#map .point')].map(p => p.getAttribute('aria-label'))")
        assert isinstance(labels, list)
        return labels

    desk.load_random(20, seed=5)
    first = places()
    desk.load_random(30, seed=6)
    desk.load_random(20, seed=5)
    assert places() == first
    desk.load_random(20, seed=7)
    assert places() != first


def test_uploaded_file_is_shown_and_solved(desk: PageDriver) -> None:
    desk.upload("harbour.vrp", VRP)
    desk.page.get_by_text("harbour · 3 customers, capacity 10").wait_for()
    desk.solve()

    assert desk.cost() == 14


def test_pasted_table_is_read(desk: PageDriver) -> None:
    desk.find("#tab-file").click()
    desk.page.get_by_text("Paste text instead").click()
    desk.find("#paste-form textarea").fill(CSV)
    desk.page.get_by_role("button", name="Read the text").click()

    desk.page.get_by_text("pasted · 3 customers, capacity 10").wait_for()
    assert desk.find("#map .point[aria-label*='Customer west']").count() == 1


def test_dropped_file_is_read(desk: PageDriver) -> None:
    dropped = desk.page.evaluate_handle(
        "text => { const data = new DataTransfer(); data.items.add(new File([text], 'dropped.vrp')); return data; }",
        VRP,
    )
    desk.find("#frame-a").dispatch_event("drop", {"dataTransfer": dropped})

    desk.page.get_by_text("harbour · 3 customers, capacity 10").wait_for()


def test_bad_file_is_explained_where_it_was_chosen(desk: PageDriver) -> None:
    desk.upload("bad.vrp", VRP.replace("CAPACITY : 10", "CAPACITY : ten"))
    error = desk.find("#file-notice [role=alert]")
    error.wait_for()

    assert "bad.vrp, line 5, field CAPACITY" in error.inner_text()
    assert "Write a plain number" in error.inner_text()
    assert "100 customers" in desk.text("#problem-summary"), "the problem before stays"
    desk.keep_screenshot("bad-file")


def test_impossible_problem_is_explained_and_its_customer_selected(desk: PageDriver) -> None:
    draw_six(desk)
    desk.find("#capacity").fill("4")
    desk.find("#solve").click()
    error = desk.find("#solve-notice [role=alert]")
    error.wait_for()

    assert "The demand of customer 1 is 5, above the capacity 4." in error.inner_text()
    assert "larger vehicles" in error.inner_text()
    assert desk.text("#inspector-title") == "Customer 1"


@pytest.mark.parametrize(("method", "endpoint"), [("greedy", "**/v1/solve"), ("search", "**/v1/jobs")])
def test_lost_connection_is_explained(desk: PageDriver, method: str, endpoint: str) -> None:
    desk.page.route(endpoint, lambda route: route.abort())
    desk.choose_method(method)
    desk.find("#solve").click()
    desk.find("#solve-notice [role=alert]").wait_for()

    assert "The server cannot be reached." in desk.text("#solve-notice")
    assert [text for text in desk.complaints if "ERR_FAILED" not in text] == []
    desk.complaints.clear()  # of the browser, about the connection we cut


def test_by_default_it_searches_for_a_time_that_follows_the_size(desk: PageDriver) -> None:
    assert desk.find("[name=method][value='search']").is_checked()
    for size in (20, 100, 1000):
        desk.load_random(size)
        assert float(desk.find("[name=seconds]").input_value()) == choose_search_seconds(size)
    desk.find("[name=seconds]").fill("7")
    desk.load_random(20)
    assert desk.find("[name=seconds]").input_value() == "7"


def test_token_is_asked_for_once(desk: PageDriver) -> None:
    refusal = {"code": "token", "message": "a token is needed.", "where": None, "remedy": "Send it."}

    def guard(route: Route) -> None:
        if route.request.headers.get("authorization") == "Bearer swordfish":
            route.continue_()
        else:
            route.fulfill(status=401, json=refusal)

    desk.page.route("**/v1/solve", guard)
    desk.choose_method("greedy")
    desk.find("#solve").click()
    desk.page.get_by_label("Bearer token").fill("swordfish")
    desk.page.get_by_role("button", name="Use it").click()
    desk.find("#map .route").first.wait_for(state="attached")
    desk.solve("augment")


def test_exported_solution_passes_the_checker(desk: PageDriver, tmp_path: Path) -> None:
    desk.solve("augment")
    desk.find("#tab-code").click()
    instance = read(desk.download("#save-instance", tmp_path))
    solution = read_solution(desk.download("#export-sol", tmp_path))

    assert instance.size == 100
    assert solution.stated_cost is not None
    assert check(instance, solution) == []


def test_exported_json_holds_the_run(desk: PageDriver, tmp_path: Path) -> None:
    desk.solve()
    answer = desk.answer(tmp_path)

    assert answer["cost"] == pytest.approx(desk.cost(), abs=1e-3)
    assert len(answer["routes"]) == len(answer["loads"]) == len(answer["route_costs"]) == desk.drawn_routes()
    assert sum(answer["route_costs"]) == pytest.approx(answer["cost"])


def test_exported_picture_shows_the_routes(desk: PageDriver, tmp_path: Path) -> None:
    from matplotlib.image import imread

    desk.solve()
    picture = imread(desk.download("#export-png", tmp_path))  # (height, width, 4)

    assert picture.shape == (2000, 2400, 4)
    colours = {tuple(pixel) for pixel in (picture[::7, ::7, :3] * 255).astype(int).reshape(-1, 3).tolist()}
    assert {(0x00, 0x68, 0xAD), (0xD1, 0x55, 0x0A), (0x00, 0x82, 0x64)} <= colours, "the first three routes"


def test_lines_of_python_do_the_same(desk: PageDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    desk.load_random(20)
    for method in ("greedy", "augment", "2opt"):
        desk.solve(method)
        desk.find("#tab-code").click()
        desk.download("#save-instance", tmp_path)
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(desk.text("#code-python"), {})

        assert float(printed.getvalue().split()[0]) == pytest.approx(desk.cost(), abs=1e-3), method


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_lines_of_curl_do_the_same(desk: PageDriver, tmp_path: Path) -> None:
    desk.load_random(20)
    desk.solve("augment")
    desk.find("#tab-code").click()
    desk.download("#save-instance", tmp_path)
    lines = desk.text("#code-curl")
    answer = subprocess.run(["sh", "-c", lines], cwd=tmp_path, capture_output=True, check=True, timeout=60)

    assert json.loads(answer.stdout)["cost"] == pytest.approx(desk.cost(), abs=1e-3)
