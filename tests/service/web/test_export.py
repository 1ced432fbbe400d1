"""Writing plans as files over HTTP."""

from __future__ import annotations

import io
from typing import Any

import httpx
import pytest
from openpyxl import load_workbook
from running_service import INSTANCE

pytest_plugins = ("service_fixtures",)

PLAN: dict[str, Any] = {"instance": INSTANCE, "routes": [[1, 2], [3]]}


def export(client: httpx.Client, format: str, plan: dict[str, Any] = PLAN) -> httpx.Response:
    return client.post("/v1/export", json={"plan": plan, "format": format})


def test_sheets_for_drivers_are_written(client: httpx.Client) -> None:
    answer = export(client, "html")

    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''small.html"
    assert answer.text.count('class="sheet"') == 2
    assert export(client, "pdf").content.startswith(b"%PDF")


def test_table_has_a_row_for_each_stop(client: httpx.Client) -> None:
    workbook = load_workbook(io.BytesIO(export(client, "xlsx").content))

    assert workbook.worksheets[0].max_row > 3


@pytest.mark.parametrize(
    ("format", "begin"),
    [("sol", b"Route #1: 1 2\nRoute #2: 3\n"), ("vrp", b"NAME : small\n"), ("svg", b"<?xml"), ("png", b"\x89PNG")],
)
def test_routes_problem_and_picture_are_written(client: httpx.Client, format: str, begin: bytes) -> None:
    assert export(client, format).content.startswith(begin)


@pytest.mark.parametrize(
    ("format", "plan", "field"),
    [
        ("docx", PLAN, "format"),
        ("gpx", PLAN, None),
        ("html", {"instance": INSTANCE}, "plan.routes"),
        ("html", {"instance": INSTANCE, "routes": [[1, 2, 3]]}, None),
    ],
)
def test_what_cannot_be_written_is_refused(
    client: httpx.Client, format: str, plan: dict[str, Any], field: str | None
) -> None:
    answer = export(client, format, plan)

    assert answer.status_code == 422
    assert field is None or answer.json()["where"]["field"] == field
