"""Driving the web page in a real Chromium, in front of the real service."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

SCREENSHOTS = Path(__file__).resolve().parents[2] / "build" / "screenshots"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
BROWSER_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESK = (1280, 800)
COMPILED_WITHIN = 240_000  # milliseconds: the first search on a machine compiles its code

needs_browser = pytest.mark.skipif(
    CHROMIUM is None or importlib.util.find_spec("playwright") is None,
    reason="the page is tested in Chromium by playwright, and one of them is not installed",
)


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=BROWSER_ARGUMENTS)
        yield browser
        browser.close()


class PageDriver:
    """The page as a user works with it.

    Parameters
    ----------
    page
        A fresh one.
    address
        Of the service.
    """

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.complaints: list[str] = []
        self.foreign_requests: list[str] = []
        page.set_default_timeout(20_000)
        page.on("console", lambda message: self._note(message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self._watch_request(request.url))

    def open(self) -> PageDriver:
        """Open the page, and wait for the day it begins with."""
        self.page.goto(self.address)
        self.find(".map .point").nth(1).wait_for()
        return self

    def find(self, selector: str) -> Locator:
        return self.page.locator(selector)

    def text(self, selector: str) -> str:
        return self.find(selector).inner_text()

    def unfold(self) -> None:
        """Show the less usual ways to begin a day."""
        self.evaluate("document.querySelector('.day details').open = true")

    def load_random(self, size: int, *, seed: int = 1) -> None:
        self.unfold()
        self.find("#random-form [name=size]").fill(str(size))
        self.find("#random-form [name=seed]").fill(str(seed))
        self.page.get_by_role("button", name="Random points").click()

    def start_empty(self) -> None:
        self.unfold()
        self.find("#start-empty").click()

    def click_map(self, x: float, y: float) -> None:
        """Click at a share of the map's width and height."""
        self.page.mouse.click(*self.place_on_map(x, y))

    def place_on_map(self, x: float, y: float) -> tuple[float, float]:
        box = self.find("#map").bounding_box()
        assert box is not None
        return box["x"] + x * box["width"], box["y"] + y * box["height"]

    def centre_of(self, selector: str) -> tuple[float, float]:
        box = self.find(selector).first.bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.page.mouse.move(*start)
        self.page.mouse.down()
        self.page.mouse.move(*end, steps=4)
        self.page.mouse.up()

    def solve(self, method: str = "greedy", seconds: float = 0.3) -> None:
        """Plan the routes, and wait until they are judged."""
        self.find(f"[name=method][value='{method}']").check()
        if method == "search":
            self.find("[name=seconds]").fill(str(seconds))
        self.find("#solve").click()
        self.page.get_by_role("button", name="Plan routes").wait_for(timeout=COMPILED_WITHIN)
        self.wait_until_judged()

    def wait_until_judged(self) -> None:
        self.find(".headline-check, .headline-fault").first.wait_for()

    def begin_search(self, seconds: float) -> None:
        """Begin a search, and wait for its first routes."""
        self.find("[name=method][value=search]").check()
        self.find("[name=seconds]").fill(str(seconds))
        self.find("#solve").click()
        self.find("#search-progress").wait_for()
        self.find(".cost-value").wait_for()

    def upload(self, name: str, content: str | bytes) -> None:
        buffer = content.encode() if isinstance(content, str) else content
        self.find("#file").set_input_files({"name": name, "mimeType": "text/plain", "buffer": buffer})

    def open_table(self, name: str, content: str | bytes, customers: int) -> None:
        """Open a table as the dialog offers it."""
        self.upload(name, content)
        self.find("#table-dialog[open]").wait_for()
        self.find("#table-open").click()
        self.wait_for_customers(customers)

    def wait_for_customers(self, count: int) -> None:
        self.page.locator("#problem-summary", has_text=f"{count} customer").wait_for()

    def cost(self) -> float:
        """Of a day whose lengths have no unit."""
        return float(self.text(".cost-value").replace(",", ""))

    def drawn_routes(self) -> int:
        return self.find("#map .route").count()

    def routes(self) -> list[list[str]]:
        """The stops of each route, as they are listed."""
        listed = self.evaluate(
            "[...document.querySelectorAll('.route-card')].map(card => "
            "[...card.querySelectorAll('button.stop')].map(stop => stop.lastChild.textContent))"
        )
        return [list(map(str, names)) for names in listed]

    def download(self, button: str, folder: Path) -> Path:
        """Press a button that saves a file."""
        with self.page.expect_download() as waiting:
            self.find(button).click()
        path = folder / waiting.value.suggested_filename
        waiting.value.save_as(path)
        return path

    def plan(self, folder: Path) -> Any:
        """The plan that the page saves."""
        return json.loads(self.download("#save-plan", folder).read_text())

    def evaluate(self, script: str) -> Any:
        return self.page.evaluate(script)

    def keep_screenshot(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png")

    def _note(self, kind: str, text: str) -> None:
        # a refusal of the API is no fault of the page, which shows it; the browser mentions it all the same
        if kind in ("error", "warning") and not text.startswith("Failed to load resource: the server responded"):
            self.complaints.append(text)

    def _watch_request(self, url: str) -> None:
        if not url.startswith((self.address, "blob:", "data:")):
            self.foreign_requests.append(url)


@contextmanager
def opened_page(browser: Browser, address: str, size: tuple[int, int] = DESK, **settings: Any) -> Iterator[PageDriver]:
    """A page in a browser of its own, which must stay within the service and without a complaint."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, accept_downloads=True, **settings)
    try:
        driver = PageDriver(context.new_page(), address)
        yield driver.open()
        assert driver.complaints == []
        assert driver.foreign_requests == []
    finally:
        context.close()
