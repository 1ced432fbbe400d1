"""Plans as workbooks: a sheet with a row for each stop, and one with a row for each route."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from dynaroute.decimals import plain_number
from dynaroute.errors import FormatError
from dynaroute.instance import Instance
from dynaroute.limits import refuse_large_content
from dynaroute.plans.plan import Plan
from dynaroute.plans.table import Cell, distance_column, list_columns, list_rows, solution_from_rows, table_distance
from dynaroute.plans.xml_text import xml_text
from dynaroute.solution import Solution

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

__all__ = ["format_xlsx_plan", "parse_xlsx_plan"]

_WIDEST = 40  # letters of a column


def format_xlsx_plan(plan: Plan) -> bytes:
    """Write a plan as a workbook. Texts are stored as texts, whatever they begin with.

    Parameters
    ----------
    plan
        The plan.
    """
    from openpyxl import Workbook

    book = Workbook()
    stops = book.active
    assert stops is not None  # a new workbook has a sheet
    stops.title = "Stops"
    _fill(stops, [list_columns(plan), *list_rows(plan)])
    routes = [
        [route.number, len(route.stops), plain_number(route.load), table_distance(plan, route.length)]
        for route in plan.routes
    ]
    _fill(book.create_sheet("Routes"), [["route", "stops", "load", distance_column(plan)], *routes])
    content = BytesIO()
    book.save(content)
    return content.getvalue()


def _fill(sheet: Worksheet, rows: Sequence[Sequence[Cell]]) -> None:
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter

    for line, row in enumerate(rows, start=1):
        for column, value in enumerate(row, start=1):
            cell: Any = sheet.cell(line, column)
            cell.value = xml_text(value) if isinstance(value, str) else value
            if isinstance(value, str):
                cell.data_type = "s"  # openpyxl would make a formula of what begins with "="
            if line == 1:
                cell.font = Font(bold=True)
    for column in range(1, len(rows[0]) + 1):
        longest = max(len(str(row[column - 1])) for row in rows)
        sheet.column_dimensions[get_column_letter(column)].width = min(_WIDEST, longest + 2)
    sheet.freeze_panes = "A2"


def parse_xlsx_plan(content: bytes, instance: Instance) -> Solution:
    """Read the routes of a plan from the first sheet of a workbook.

    Parameters
    ----------
    content
        The file.
    instance
        Whose customers it visits.

    Raises
    ------
    DynarouteError
        If it is no workbook, or its first sheet is no such table.
    """
    from openpyxl import load_workbook

    try:
        with ZipFile(BytesIO(content)) as archive:
            refuse_large_content(8 * sum(entry.file_size for entry in archive.infolist()))
        book = load_workbook(BytesIO(content), read_only=True, data_only=True)
        rows = [[_plain(cell) for cell in row] for row in book.worksheets[0].iter_rows(values_only=True)]
    except (BadZipFile, KeyError, ValueError, IndexError, SyntaxError, OSError) as error:
        raise FormatError("this is not a workbook.", remedy="Save it as .xlsx again, or write .csv.") from error
    return solution_from_rows(rows, instance)


def _plain(value: object) -> Cell | None:
    return value if value is None or isinstance(value, str | int | float) else str(value)
