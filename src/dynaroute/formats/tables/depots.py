"""Find the row that is the depot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.display import show_list
from dynaroute.base.errors import InstanceError, UnsupportedError, Where, warn_of_input
from dynaroute.formats.tables.cells.amounts import is_blank
from dynaroute.formats.tables.cells.cells import Row
from dynaroute.formats.tables.headers import Column
from dynaroute.formats.tables.table import Table
from dynaroute.formats.tables.words import is_depot, read_truth
from dynaroute.formats.text import one_line
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.places import DEPOT, Place

ANY = (0.0, math.inf)

_NOTHING = ("", "0", "0.0", "0,0")
_POSITIONS = ("lat", "lon", "x", "y", "position")


def put_depot_first(table: Table, source: str) -> Table:
    """Move the depot to the top: the row marked in a column, the row called depot, or the first one.

    Further rows that are marked, or called depot, become the table's `depots`.

    Parameters
    ----------
    table
        The stops.
    source
        The file's path, for the note that says which rows were used.

    Raises
    ------
    UnsupportedError
        If a column gives each customer a depot of its own.
    """
    rows, columns = table.rows, table.header.columns
    if not rows:
        return table
    found, table = _find_marked(table)
    found = found or _find_named(table)
    copies = [index for index in found[1:] if _same_cells(rows[found[0]], rows[index], table)]
    if copies == [len(rows) - 1]:
        warn_of_input(source, f"left out the last row, line {rows[-1].line}: it repeats the depot.")
        found, rows = found[:-1], rows[:-1]
    labels = [rows[index].text(columns["id"].index) if "id" in columns else "" for index in found]
    told = [
        f"line {rows[index].line}{f' ({label})' if label else ''}" for index, label in zip(found, labels, strict=True)
    ]
    if not found:
        if columns["demand"].index >= len(table.header.headings):  # the first row would not stand out as the depot
            warn_of_input(source, f"used the first row, line {rows[0].line}, as the depot.")
        return replace(table, rows=rows)
    if found != [0]:
        warn_of_input(source, f"used {show_list(told)} as the depot{'s' * (len(found) > 1)}.")
    customers = [row for index, row in enumerate(rows) if index not in found]
    first, *others = (rows[index] for index in found)
    return replace(table, rows=[first, *customers], depots=others)


def read_further_depots(
    table: Table, coordinates: NDArray[np.float64] | None, windows: NDArray[np.float64] | None
) -> tuple[Place, ...]:
    """Read the depots besides the first; arrays have rows for them after those of the customers."""
    columns, count, places = table.header.columns, len(table.rows), []
    for number, row in enumerate(table.depots):
        name = one_line(row.text(columns["id"].index)) if "id" in columns else ""
        x, y = (None, None) if coordinates is None else coordinates[count + number].tolist()
        opens, closes = (0.0, math.inf) if windows is None else windows[count + number].reshape(-1, 2)[0].tolist()
        try:
            places.append(
                Place(name or f"depot {number + 2}", x, y, (opens, closes) if (opens, closes) != ANY else None)
            )
        except InstanceError as error:
            error.where = Where(line=row.line, field="depot")
            raise
    return tuple(places)


def make_vehicles(
    places: Sequence[Place], capacities: tuple[int, ...], wished: Sequence[str]
) -> tuple[VehicleType, ...] | None:
    """Make vehicles of every depot, as many as needed, and of every name that customers ask for.

    If all are alike, the answer is None, or one type if capacities are in several dimensions.

    A file of vehicles replaces them.
    """
    capacity = capacities if len(capacities) > 1 else capacities[0]
    starts = (DEPOT, *(place.name for place in places)) if places else ()
    asked = [name for name in wished if name not in starts]
    of_depots = [VehicleType(capacity, name=name, start=name) for name in starts]
    return (*of_depots, *(VehicleType(capacity, name=name) for name in asked)) or (
        (VehicleType(capacity),) if len(capacities) > 1 else None
    )


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


def _find_marked(table: Table) -> tuple[list[int], Table]:
    """The rows that a column marks as depots, and the table; a column without marks loses its role."""
    for role in ("depot", "kind"):
        column = table.header.columns.get(role)
        if column is None:
            continue
        texts = [row.text(column.index) for row in table.rows]
        marked = [index for index, text in enumerate(texts) if is_depot(text) or (role == "depot" and read_truth(text))]
        if role == "depot" and not marked and len({text for text in texts if text}) > 1:
            raise UnsupportedError(
                "the column names several depots.",
                where=table.where(table.rows[0], column),
                remedy="Give each depot a row with an x in this column; any of them may serve any customer.",
            )
        if marked:
            return marked, table
        table = release_column(table, role)
    return [], table


def release_column(table: Table, role: str) -> Table:
    """Turn a column with a role into one without."""
    header = table.header
    column = header.columns[role]
    columns = {name: other for name, other in header.columns.items() if name != role}
    others = sorted((*header.others, Column(column.index, column.heading)), key=lambda other: other.index)
    return replace(table, header=replace(header, columns=columns, others=tuple(others)))


def _find_named(table: Table) -> list[int]:
    """Rows that any column calls depot and that have no demand."""
    header = table.header
    demands = header.list_amounts("demand")
    names = [*header.others, *(column for role, column in header.columns.items() if role == "id")]
    return [
        index
        for index, row in enumerate(table.rows)
        if all(row.text(demand.index) in _NOTHING or is_blank(row.text(demand.index)) for demand in demands)
        and any(is_depot(row.text(name.index)) for name in names)
    ]


def _same_cells(first: Row, last: Row, table: Table) -> bool:
    places = [column for role, column in table.header.columns.items() if role in _POSITIONS]
    return bool(places) and all(first.text(column.index) == last.text(column.index) for column in places)
