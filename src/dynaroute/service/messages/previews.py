"""What a table looks like before it is read: its sheets, its header, and what each column seems to mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from dynaroute.base.errors import DynarouteError, FormatError
from dynaroute.formats.ignored import Ignored
from dynaroute.formats.tables.cells.cells import Grid, name_column
from dynaroute.formats.tables.cells.text_cells import cut_text
from dynaroute.formats.tables.cells.workbook import cut_sheets
from dynaroute.formats.tables.headers import Header, Renames, find_header, score_header
from dynaroute.formats.tables.stops import find_stops_header, has_header, has_places
from dynaroute.formats.tables.vehicles import has_vehicles
from dynaroute.formats.tables.words import STOPS, VEHICLES, Vocabulary
from dynaroute.formats.text import decode_text
from dynaroute.service.messages.file_schemas import PreviewColumn, PreviewResponse, PreviewSheet, SheetKind

_MOST_ROWS = 12
_MOST_COLUMNS = 100
_LONGEST_CELL = 80


@dataclass(frozen=True)
class TableFile:
    """A table to look at, and how to read it.

    Attributes
    ----------
    content
        The file.
    is_workbook
        Whether it is a workbook; otherwise a text.
    sheet
        The sheet to show; None for the one that is read if none is named.
    renames
        Meanings of columns that the user gave.
    ignored
        Columns to plan without.
    """

    content: bytes
    is_workbook: bool
    sheet: str | None
    renames: Renames
    ignored: Ignored


def preview_table(file: TableFile) -> PreviewResponse:
    """Look at a table.

    Raises
    ------
    DynarouteError
        If it cannot be cut into cells, has no table, or no such sheet.
    """
    grids = _cut(file)
    if all(len(grid.rows) < 2 for grid in grids):
        raise FormatError("there is no table in it: only one row, or none.", remedy="Is it the right file?")
    kinds = [_judge(grid, file) for grid in grids]
    grid = _choose(grids, kinds, file.sheet)
    is_fleet = kinds[grids.index(grid)] == "vehicles"
    header, fault = _find_header(grid, file, is_fleet=is_fleet)
    rows = grid.rows[0 if header is None else header.last + 1 :]
    return PreviewResponse(
        sheets=[
            PreviewSheet(name=each.sheet, kind=kind, rows=len(each.rows))
            for each, kind in zip(grids, kinds, strict=True)
        ],
        sheet=grid.sheet,
        line=None if header is None else header.line,
        columns=_describe_columns(grid, header),
        meanings=_list_meanings(VEHICLES if is_fleet else STOPS, header),
        rows=[[cell[:_LONGEST_CELL] for cell in row.cells[:_MOST_COLUMNS]] for row in rows[:_MOST_ROWS]],
        count=len(rows),
        problem=None if fault is None else f"{fault.message} {fault.remedy}".strip(),
    )


def _cut(file: TableFile) -> list[Grid]:
    if file.is_workbook:
        return cut_sheets(file.content)
    score = partial(score_header, vocabulary=STOPS, renames=file.renames)
    return [cut_text(decode_text(file.content), score)]


def _judge(grid: Grid, file: TableFile) -> SheetKind:
    """Whether a sheet seems to contain stops or vehicles."""
    renames = file.renames if grid.sheet == (file.sheet or grid.sheet) else ()
    if has_header(grid, renames, file.ignored):
        return "stops"
    if has_vehicles(grid, file.ignored):
        return "vehicles"
    return "stops" if has_places(grid, renames, file.ignored) else "other"


def _choose(grids: list[Grid], kinds: list[SheetKind], sheet: str | None) -> Grid:
    if sheet is not None:
        named = next((grid for grid in grids if grid.sheet.casefold() == sheet.strip().casefold()), None)
        if named is None:
            known = ", ".join(grid.sheet for grid in grids)
            raise FormatError.about("sheet", f"there is no sheet {sheet!r}.", f"Use one of {known}.")
        return named
    if not grids:
        raise FormatError("the workbook has no visible sheet.", remedy="Show one in a spreadsheet program.")
    return grids[kinds.index("stops") if "stops" in kinds else 0]


def _find_header(grid: Grid, file: TableFile, *, is_fleet: bool) -> tuple[Header | None, DynarouteError | None]:
    """Find the header, and what is wrong with it: two columns may seem to mean the same."""
    if not grid.rows:
        return None, None
    try:
        if is_fleet:
            return find_header(grid, VEHICLES, (), (frozenset(("capacity",)),), file.ignored), None
        return find_stops_header(grid, file.renames, file.ignored), None
    except DynarouteError as error:
        return None, error


def _list_meanings(vocabulary: Vocabulary, header: Header | None) -> list[str]:
    """List all meanings that a column can have, and those of this table's dimensions."""
    own = [] if header is None else [column.role for column in header.columns.values()]
    return list(dict.fromkeys((*vocabulary.roles, *own)))


def _describe_columns(grid: Grid, header: Header | None) -> list[PreviewColumn]:
    """Describe the columns; without a header, by the cells of the first row."""
    if header is None:
        headings = grid.rows[0].cells if grid.rows else ()
        return [_describe_column(index, heading, None) for index, heading in enumerate(headings[:_MOST_COLUMNS])]
    roles = {column.index: column.role for column in header.columns.values()}
    return [
        _describe_column(index, heading, roles.get(index))
        for index, heading in enumerate(header.headings[:_MOST_COLUMNS])
    ]


def _describe_column(index: int, heading: str, meaning: str | None) -> PreviewColumn:
    return PreviewColumn(letter=name_column(index), heading=heading[:_LONGEST_CELL], meaning=meaning)
