"""A table: its header, its rows, and the cells around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from dynaroute.base.display import show_list, show_text
from dynaroute.base.errors import FormatError, Where, warn_of_input
from dynaroute.formats.tables.cells.amounts import Amounts, Entry, Notation, read_amounts, read_plain
from dynaroute.formats.tables.cells.cells import Grid, Kind, Row
from dynaroute.formats.tables.cells.units import find_unit
from dynaroute.formats.tables.headers import Column, Header
from dynaroute.formats.tables.words import STOPS, Vocabulary, is_total
from dynaroute.formats.text import shorten

_LABEL = re.compile(r"\s*#?\s*([^:=]{2,60}?)\s*(?:[:=]\s*(.*))?", re.DOTALL)
_DIGIT = re.compile(r"[0-9]")
_AMOUNTS = ("id", "demand", "capacity")  # columns that may hold a total, or the word "total"


@dataclass(frozen=True)
class Table:
    """A header and the rows below it.

    Attributes
    ----------
    grid
        All cells of the file or sheet.
    header
        Which column is what.
    rows
        The rows of data: each is a stop, a leg or a vehicle.
    outside
        Rows above the header and below the data.
    depots
        Rows of depots besides the first.
    """

    grid: Grid
    header: Header
    rows: list[Row]
    outside: list[Row]
    depots: Sequence[Row] = ()

    def entry(self, row: Row, column: Column) -> Entry:
        """A cell and where it is."""
        return Entry(row.text(column.index), row.kind(column.index), self.where(row, column))

    def entries(self, column: Column, rows: Sequence[Row]) -> list[Entry]:
        """The cells of a column; a blank one is an error."""
        found = [self.entry(row, column) for row in rows]
        for row, entry in zip(rows, found, strict=True):
            if not entry.text and entry.kind == "text":
                raise self.missing(row, column)
        return found

    def amounts(
        self,
        column: Column,
        rows: Sequence[Row],
        *,
        elsewhere: Callable[[], Notation | None],
        open_points: Notation | None,
        open_commas: Notation | None,
    ) -> Amounts:
        """The numbers of a column; a missing one is an error. See `read_amounts` for the options."""
        plain = read_plain([row.text(column.index) for row in rows], column.unit)
        if plain is not None and all(row.kind(column.index) in ("text", "number") for row in rows):
            return plain
        return read_amounts(
            self.entries(column, rows),
            heading_unit=column.unit,
            elsewhere=elsewhere,
            open_points=open_points,
            open_commas=open_commas,
        )

    def where(self, row: Row, column: Column) -> Where:
        """Where a cell is, for messages."""
        return self.grid.where(row.line, column.index, column.label)

    def missing(self, row: Row, column: Column) -> FormatError:
        """The error for a cell that must not be blank."""
        merged = self.grid.merged.get((row.line, column.index))
        if merged is not None:
            return FormatError(
                f"the cell is blank because it is part of the merged cells {merged}.",
                where=self.where(row, column),
                remedy="Unmerge them and fill in every row.",
            )
        if len(row.filled) == 1:
            return FormatError(
                f"the row contains only {shorten(row.text(row.filled[0]))}.",
                where=self.where(row, column),
                remedy="Complete or delete it. If it is a remark, leave a blank row above it.",
            )
        return FormatError(
            "a number is missing.",
            where=self.where(row, column),
            remedy="Fill in the cell (0 is allowed) or delete the row.",
        )


def sort_rows(grid: Grid, header: Header, keys: Sequence[str], source: str) -> Table:
    """Separate the data rows from titles, totals, remarks, hidden rows and further tables.

    Parameters
    ----------
    grid
        All rows.
    header
        The header that was found.
    keys
        Roles of the columns that every data row must fill.
    source
        The file's path, for the notes on what was left out.
    """
    columns = [header.columns[role] for role in keys if role in header.columns]
    above = grid.rows[: header.first]
    below = grid.rows[header.last + 1 :]
    rows: list[Row] = []
    aside: dict[str, list[Row]] = {"hidden": [], "repeated": [], "total": [], "remark": [], "further": []}
    kind = "row"
    last = max((position for position, row in enumerate(below) if _has_numbers(row, columns)), default=-1)
    for position, row in enumerate(below):
        is_apart = row.follows_blank or kind in ("remark", "total")
        kind = _judge(row, header, columns, rows, grid, is_apart=is_apart, is_last=position > last)
        if kind == "further":
            aside["further"] = below[position:]
            break
        if kind == "row":
            rows.append(_fit(row, header, grid))
        else:
            aside[kind].append(row)
    _warn_of_skipped_rows(above, aside, grid, source)
    return Table(grid, header, rows, [*above, *aside["remark"], *aside["further"]])


def _judge(
    row: Row,
    header: Header,
    keys: Sequence[Column],
    earlier: Sequence[Row],
    grid: Grid,
    *,
    is_apart: bool,
    is_last: bool,
) -> str:
    """What kind of row this is, below the header.

    An incomplete row is a stop with a missing number, unless it is set apart from the rows above or no complete row
    follows it: then it may be a total or a remark.
    """
    is_complete = _has_numbers(row, keys)
    is_placed = any(row.text(column.index) for column in keys if column.role not in _AMOUNTS)
    if is_complete and (is_placed or row.is_hidden):
        return "hidden" if row.is_hidden else "row"
    is_total_row = any(is_total(row.text(index)) for index in row.filled[:3])
    if is_total_row and not is_placed:
        return "total"
    if is_complete:
        return "row"
    if tuple(row.cells[: len(header.headings)]) == header.headings:
        return "repeated"
    filled = row.filled
    if earlier and _is_capacity(row) and not all(row.text(column.index) for column in keys):
        return "remark"
    has_key = any(row.text(column.index) for column in keys)
    if not has_key and (is_total_row or _is_unnamed_total(row, header, earlier)):
        return "total"
    if is_total_row and all(not _DIGIT.search(row.text(column.index)) for column in keys):
        return "total"
    if row.is_hidden:
        return "hidden"
    if is_apart and earlier:
        if not has_key and len(filled) == 1:
            return "remark"
        has_digits = any(_DIGIT.search(row.text(column.index)) for column in keys) or _has_amount(row, header)
        if len(filled) > 1 and not has_digits and (has_key or is_last):
            return "further"
    if is_last and not has_key and grid.delimiter and len(row.cells) == 1 < len(header.headings):
        return "remark"
    if not has_key and earlier and _is_label(row):
        return "remark"
    return "row"


def _has_numbers(row: Row, keys: Sequence[Column]) -> bool:
    """Whether every required cell contains a digit."""
    return all(map(_DIGIT.search, [row.text(column.index) for column in keys]))


def _has_amount(row: Row, header: Header) -> bool:
    demand = header.columns.get("demand")
    return demand is not None and bool(_DIGIT.search(row.text(demand.index)))


def _is_label(row: Row) -> bool:
    """Whether a row is a word with a colon, followed by its value."""
    return len(row.filled) <= 3 and row.text(row.filled[0]).rstrip().endswith(":")


def _is_unnamed_total(row: Row, header: Header, earlier: Sequence[Row]) -> bool:
    """Whether a row contains only the sum of the demands above it."""
    demands = [column.index for column in header.list_amounts("demand")]
    if not demands or row.filled != sorted(demands) or len(earlier) < 2:
        return False
    try:
        return all(
            sum(Decimal(text) for other in earlier if (text := other.text(index).replace(",", ".")))
            == Decimal(row.text(index).replace(",", "."))
            for index in demands
        )
    except ArithmeticError:
        return False


def _fit(row: Row, header: Header, grid: Grid) -> Row:
    """Check that a row of a text has one cell per column; extra blank cells at the end are allowed."""
    count = len(header.headings)
    if not grid.delimiter or len(row.cells) == count:
        return row
    if len(row.cells) > count and not any(row.cells[count:]):
        return row
    hint = " If numbers have decimal commas, separate the cells with semicolons." if grid.delimiter == "," else ""
    raise FormatError(
        f"the row has {len(row.cells)} cells, but the header has {count}.",
        where=Where(line=row.line),
        remedy=f"Give each row one cell per column.{hint}",
    )


def _warn_of_skipped_rows(above: Sequence[Row], aside: dict[str, list[Row]], grid: Grid, source: str) -> None:
    """Tell the user what was left out."""
    for rows, what in (
        ([row for row in above if not _is_capacity(row)], "skipped the rows above the header"),
        (aside["total"], "left out totals"),
        (aside["repeated"], "skipped repeated headers"),
        ([row for row in aside["remark"] if not _is_capacity(row)], "skipped remarks among or below the rows"),
    ):
        if rows:
            warn_of_input(source, f"{what}: {_describe(rows)}.")
    if aside["hidden"]:
        lines = show_list([row.line for row in aside["hidden"]])
        warn_of_input(source, f"left out the hidden rows {lines}; unhide them in the spreadsheet to include them.")
    if aside["further"]:
        warn_of_input(
            source, f"read only the first table; ignored everything from {_describe(aside['further'][:1])} on."
        )


def _is_capacity(row: Row) -> bool:
    """Whether a row gives the capacity, so that it is not skipped."""
    return any(label for label in _find_values(row, row.filled, "capacity", STOPS))


def _describe(rows: Sequence[Row]) -> str:
    return show_list([f"line {row.line} ({show_text(row.text(row.filled[0]), 30)})" for row in rows], 4)


def find_label(table: Table, role: str, vocabulary: Vocabulary) -> Iterator[Entry]:
    """Find labels around the table, each with the value in the next cell or after its colon.

    Parameters
    ----------
    table
        The table. Cells without a heading, and those to the right of the last column, are searched too.
    role
        The meaning of the labels to find.
    vocabulary
        The words to look labels up in.
    """
    width = len(table.header.headings)
    bare = [index for index, heading in enumerate(table.header.headings) if not heading]
    headers = table.grid.rows[table.header.first : table.header.last + 1]
    places = [(row, row.filled) for row in table.outside]
    places += [
        (row, [*bare, *range(width, len(row.cells))])
        for row in (*headers, *table.rows)
        if bare or len(row.cells) > width
    ]
    for row, indices in places:
        for index, text, kind in _find_values(row, indices, role, vocabulary):
            yield Entry(text, kind, table.grid.where(row.line, index, role))


def _find_values(
    row: Row, indices: Sequence[int], role: str, vocabulary: Vocabulary
) -> Iterator[tuple[int, str, Kind]]:
    """The index, text and kind of each value that follows a label of this role."""
    filled = [index for index in indices if row.text(index)]
    for position, index in enumerate(filled):
        found = _LABEL.fullmatch(row.text(index))
        meaning = vocabulary.look_up(found[1]) if found else None
        if found is None or meaning is None or meaning.role != role:
            continue
        if found[2]:
            yield index, found[2], "text"
        elif position + 1 < len(filled):
            beside = filled[position + 1]
            unit = row.text(filled[position + 2]) if position + 2 < len(filled) else ""
            if find_unit(unit):
                yield beside, f"{row.text(beside)} {unit}", "text"
            else:
                yield beside, row.text(beside), row.kind(beside)
