"""Read the positions of a table: two columns, or one with both coordinates in each cell."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.vocabulary import Language
from dynaroute.formats.numbers import refuse_off_globe, refuse_unmeasurable
from dynaroute.formats.tables.cells.amounts import Amounts, Entry, Notation, read_amounts, read_plain
from dynaroute.formats.tables.cells.degrees import read_degrees, split_pair
from dynaroute.formats.tables.headers import Column
from dynaroute.formats.tables.table import Table
from dynaroute.formats.text import shorten
from dynaroute.problem.lengths import LARGEST_DEGREES, LONGEST_LENGTH

_GLOBE = ("lat", "lon")
_MARKS = re.compile(r"[.,]")


def read_positions(
    table: Table, axes: tuple[str, ...], elsewhere: Callable[[], Notation | None]
) -> tuple[NDArray[np.float64], list[Amounts]]:
    """Read the positions of all nodes, and the notation of their columns.

    Parameters
    ----------
    table
        The stops.
    axes
        Roles of the columns: lat and lon, x and y, or position.
    elsewhere
        Returns the decimal separator of the rest of the table; not needed for degrees, which are never thousands.

    Raises
    ------
    DynarouteError
        If a cell is not a coordinate.
    """
    if axes == ("position",):
        read = [_read_angles(entries, axis, language) for axis, entries, language in _split_pairs(table)]
        entries: list[Sequence[Entry] | None] = [found for found, _ in read]
        amounts = [found for _, found in read]
        axes = _GLOBE
    else:
        columns = [table.header.columns[axis] for axis in axes]
        amounts = [_read_column(table, column, elsewhere) for column in columns]
        entries = [None, None]
    coordinates = np.array([[float(value) for value in found.values] for found in amounts]).T
    _refuse_impossible(table, axes, coordinates, entries)
    return coordinates, amounts


def _read_column(table: Table, column: Column, elsewhere: Callable[[], Notation | None]) -> Amounts:
    if column.role not in _GLOBE:
        return table.amounts(column, table.rows, elsewhere=elsewhere, open_points="point", open_commas="comma")
    plain = read_plain([row.text(column.index) for row in table.rows], None)
    if plain is not None:
        return plain
    return _read_angles(table.entries(column, table.rows), column.role, column.language)[1]


def _read_angles(entries: Sequence[Entry], axis: str, language: Language) -> tuple[Sequence[Entry], Amounts]:
    """Read degrees in any notation."""
    plain = [
        entry if (text := read_degrees(entry, axis, language)) is None else Entry(text, "number", entry.where)
        for entry in entries
    ]
    return entries, read_amounts(plain, open_points="point", open_commas="comma")


def _split_pairs(table: Table) -> list[tuple[str, list[Entry], Language]]:
    """Split cells with both coordinates into latitudes and longitudes."""
    column = table.header.columns["position"]
    whole = table.entries(column, table.rows)
    pairs = [split_pair(entry) for entry in whole]
    halves = [
        [Entry(pair[half], "text", entry.where) for entry, pair in zip(whole, pairs, strict=True)] for half in (0, 1)
    ]
    if _names_longitude_first(column.heading):
        halves.reverse()
    return [(axis, half, column.language) for axis, half in zip(_GLOBE, halves, strict=True)]


def _names_longitude_first(heading: str) -> bool:
    simple = heading.casefold()
    longitude = min((simple.find(word) for word in ("lon", "lng", "läng") if word in simple), default=-1)
    latitude = min((simple.find(word) for word in ("lat", "breit") if word in simple), default=-1)
    return 0 <= longitude < latitude


def _refuse_impossible(
    table: Table, axes: tuple[str, ...], coordinates: NDArray[np.float64], entries: Sequence[Sequence[Entry] | None]
) -> None:
    """Refuse the first coordinate that is not on the globe or too large to measure with."""
    limits = [LARGEST_DEGREES.get(axis, LONGEST_LENGTH) for axis in axes]
    for node, side in np.argwhere(~(np.abs(coordinates) <= limits)):
        axis, halves = axes[side], entries[side]
        entry = table.entry(table.rows[node], table.header.columns[axis]) if halves is None else halves[node]
        if axis in _GLOBE and len(_MARKS.findall(entry.text)) > 1:  # 53.550.123
            raise entry.fault(
                f"{shorten(entry.text)} has lost its decimal point.",
                "A spreadsheet read it as thousands: format the column as text and paste the coordinates again.",
            )
        value = float(coordinates[node, side])
        refuse_off_globe(refuse_unmeasurable(value, entry.where), axis, entry.where)
