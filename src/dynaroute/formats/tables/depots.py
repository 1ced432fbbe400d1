"""Find the row that is the depot."""

from __future__ import annotations

from dataclasses import replace

from dynaroute.base.display import show_list
from dynaroute.base.errors import UnsupportedError, warn_of_input
from dynaroute.formats.tables.cells.amounts import is_blank
from dynaroute.formats.tables.cells.cells import Row
from dynaroute.formats.tables.headers import Column
from dynaroute.formats.tables.table import Table
from dynaroute.formats.tables.words import is_depot, read_truth

__all__ = ["add_missing_depot", "put_depot_first", "release_column"]

_NOTHING = ("", "0", "0.0", "0,0")
_POSITIONS = ("lat", "lon", "x", "y", "position")


def put_depot_first(table: Table, source: str) -> Table:
    """Move the depot to the top: the row marked in a column, the row called depot, or the first one.

    Parameters
    ----------
    table
        The stops.
    source
        The file's path, for the note that says which row was used.

    Raises
    ------
    UnsupportedError
        If there are several depots.
    """
    rows, columns = table.rows, table.header.columns
    if not rows:
        return table
    place, table = _find_marked(table)
    if place is None:
        named = _find_named(table)
        if len(named) == 2 and named == [0, len(rows) - 1] and _same_cells(rows[0], rows[-1], table):
            warn_of_input(source, f"left out the last row, line {rows[-1].line}: it repeats the depot.")
            return replace(table, rows=rows[:-1])
        if len(named) > 1:
            others = [rows[index].line for index in named if index]
            warn_of_input(source, f"read further rows called depot as customers: lines {show_list(others)}.")
        if len(named) != 1 or named[0] == 0:
            return table
        place = named[0]
    if place == 0:
        return table
    label = rows[place].text(columns["id"].index) if "id" in columns else ""
    warn_of_input(source, f"used line {rows[place].line}{f' ({label})' if label else ''} as the depot.")
    return replace(table, rows=[rows[place], *rows[:place], *rows[place + 1 :]])


def add_missing_depot(table: Table) -> Table:
    """Add a depot at the place of the first customer, if the table has only customers.

    Parameters
    ----------
    table
        The stops; the depot first if there is one.
    """
    columns, first = table.header.columns, table.rows[0]
    if 0 in _find_named(table) or not columns.keys().isdisjoint(("depot", "kind")):
        return table
    kept = {column.index for role, column in columns.items() if role in _POSITIONS}
    cells = tuple(cell if index in kept else "" for index, cell in enumerate(first.cells))
    kinds = {index: kind for index, kind in first.kinds.items() if index in kept}
    return replace(table, rows=[replace(first, cells=cells, kinds=kinds), *table.rows])


def _find_marked(table: Table) -> tuple[int | None, Table]:
    """The row that a column marks as the depot, and the table; a column without marks loses its role."""
    for role in ("depot", "kind"):
        column = table.header.columns.get(role)
        if column is None:
            continue
        texts = [row.text(column.index) for row in table.rows]
        marked = [index for index, text in enumerate(texts) if is_depot(text) or (role == "depot" and read_truth(text))]
        if len(marked) > 1 or (role == "depot" and not marked and len({text for text in texts if text}) > 1):
            raise UnsupportedError(
                f"{len(marked)} rows are marked as depots." if marked else "the column names several depots.",
                where=table.where(table.rows[marked[1] if marked else 0], column),
                remedy="Plan one depot at a time: keep one depot and its customers.",
            )
        if marked:
            return marked[0], table
        table = release_column(table, role)
    return None, table


def release_column(table: Table, role: str) -> Table:
    """Turn a column with a role into one without."""
    header = table.header
    column = header.columns[role]
    columns = {name: other for name, other in header.columns.items() if name != role}
    others = sorted((*header.others, Column(column.index, column.heading)), key=lambda other: other.index)
    return replace(table, header=replace(header, columns=columns, others=tuple(others)))


def _find_named(table: Table) -> list[int]:
    """Rows that any column calls depot and that have no demand."""
    demand, header = table.header.columns["demand"], table.header
    names = [*header.others, *(column for role, column in header.columns.items() if role == "id")]
    return [
        index
        for index, row in enumerate(table.rows)
        if (row.text(demand.index) in _NOTHING or is_blank(row.text(demand.index)))
        and any(is_depot(row.text(name.index)) for name in names)
    ]


def _same_cells(first: Row, last: Row, table: Table) -> bool:
    places = [column for role, column in table.header.columns.items() if role in _POSITIONS]
    return bool(places) and all(first.text(column.index) == last.text(column.index) for column in places)
