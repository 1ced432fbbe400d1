"""Plans as workbooks: one sheet with a row per stop, and one with a row per route."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from dynaroute.base.decimals import plain_number
from dynaroute.base.errors import gather_notes
from dynaroute.formats.tables.cells.cells import Grid
from dynaroute.formats.tables.cells.workbook import cut_workbook
from dynaroute.plans.files.table import (
    NOT_SERVED,
    TIMES,
    Cell,
    NamedStop,
    distance_column,
    list_columns,
    list_named_stops,
    list_rows,
    number_stops,
    table_distance,
)
from dynaroute.plans.files.words import show_time
from dynaroute.plans.files.xml_text import xml_text
from dynaroute.plans.plan import Plan, PlannedRoute
from dynaroute.plotting.style import RED
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

_WIDEST = 40  # letters of a column
_ROUTE_TIMES = ("departure", "end", "hours")
_CLOCK = re.compile(r"([0-9]{2,}):([0-9]{2})(?::([0-9]{2}))?")


def format_xlsx_plan(plan: Plan) -> bytes:
    """Write a plan as a workbook. Texts are always stored as texts, never as formulas."""
    from openpyxl import Workbook

    book = Workbook()
    stops = book.active
    assert stops is not None  # a new workbook has a sheet
    stops.title = "Stops"
    warnings = len(plan.unserved) + len(plan.faults)
    _fill(stops, [list_columns(plan), *list_rows(plan)], warnings)
    left_out: list[list[Cell]] = [[NOT_SERVED, len(plan.unserved)]] if plan.unserved else []
    routes = [_describe_route(plan, route) for route in plan.routes]
    header: list[Cell] = ["route", "stops", "load", distance_column(plan), "vehicle", "capacity"]
    header += list(_ROUTE_TIMES) if plan.has_times else []
    left_out = [[*row, *[""] * (len(header) - len(row))] for row in left_out]
    _fill(book.create_sheet("Routes"), [header, *left_out, *routes], len(left_out))
    content = BytesIO()
    book.save(content)
    return content.getvalue()


def _describe_route(plan: Plan, route: PlannedRoute) -> list[Cell]:
    load, capacity = plain_number(route.load), plain_number(route.capacity)
    length = table_distance(plan, route.length)
    row: list[Cell] = [route.number, len(route.stops), load, length, route.vehicle, capacity]
    if not plan.has_times:
        return row
    start, last = route.start.leave or 0.0, route.places[-1]
    end = (last.leave if route.end is None else last.arrival) or start
    return [*row, show_time(plan, start), show_time(plan, end), round((end - start) / 3600, 2)]


def _find_clock(text: str) -> float | None:
    """The share of a day that a clock time is, as spreadsheets count times; None for other texts."""
    parts = _CLOCK.fullmatch(text)
    return None if parts is None else (int(parts[1]) * 60 + int(parts[2])) / 1440 + int(parts[3] or 0) / 86400


def _fill(sheet: Worksheet, rows: Sequence[Sequence[Cell]], warnings: int) -> None:
    """Fill a sheet; so many rows below the header are warnings, in red."""
    from openpyxl.styles import Alignment, Font
    from openpyxl.utils import get_column_letter

    times = {index for index, heading in enumerate(rows[0], start=1) if heading in (*TIMES, *_ROUTE_TIMES)}
    for line, row in enumerate(rows, start=1):
        for column, value in enumerate(row, start=1):
            cell: Any = sheet.cell(line, column)
            if column in times and isinstance(value, str) and (share := _find_clock(value)) is not None:
                cell.value, cell.number_format = share, "hh:mm" if share < 1 else "[h]:mm"
                continue
            cell.value = xml_text(value) if isinstance(value, str) else value
            if isinstance(value, str):
                cell.data_type = "s"  # openpyxl would make a formula of text that starts with "="
            if line == 1:
                cell.font = Font(bold=True)
            elif line <= warnings + 1:
                cell.font = Font(bold=True, color=RED[1:].upper())
                cell.alignment = Alignment(wrap_text=True, vertical="top")
    for column in range(1, len(rows[0]) + 1):
        longest = max(len(str(row[column - 1])) for row in rows)
        sheet.column_dimensions[get_column_letter(column)].width = min(_WIDEST, longest + 2)
    sheet.freeze_panes = "A2"


def list_xlsx_stops(content: bytes) -> list[NamedStop]:
    """List the stops of a plan, from the first sheet that has them.

    Raises
    ------
    DynarouteError
        If it is not a workbook, or has no such table.
    """
    with gather_notes():  # no note on which sheet was read, because the other one is ours too
        grid = cut_workbook(content, None, _has_header, "")
    return list_named_stops([row.cells for row in grid.rows])


def parse_xlsx_plan(content: bytes, instance: Instance) -> Solution:
    """Read the routes of a plan, by the ids of the instance's customers.

    Raises
    ------
    DynarouteError
        If it is not a workbook with such a table, or a stop has an unknown id.
    """
    return number_stops(list_xlsx_stops(content), instance)


def _has_header(grid: Grid) -> bool:
    return any({"route", "stop", "id"} <= {cell.lower() for cell in row.cells} for row in grid.rows[:1])
