"""Read distances or durations between all nodes from a table: a square of numbers, or one row per leg."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.display import show_list
from dynaroute.base.errors import DynarouteError, FormatError, InstanceError, Where, in_file, warn_of_input
from dynaroute.base.limits import refuse_large_content
from dynaroute.formats.numbers import refuse_unmeasurable
from dynaroute.formats.tables.cells.amounts import Amounts, Entry, is_blank, read_amounts, read_plain, split_unit, tidy
from dynaroute.formats.tables.cells.cells import Grid, Row
from dynaroute.formats.tables.cells.units import Unit, find_unit
from dynaroute.formats.tables.headers import Header, find_header
from dynaroute.formats.tables.time_cells import find_time_unit
from dynaroute.formats.tables.words import LEGS, is_depot, simplify
from dynaroute.formats.text import shorten
from dynaroute.problem.times import parse_time
from dynaroute.roads.matrix import RoadMatrix

Legs = tuple[Grid, str] | RoadMatrix  # a table with the path of its file, or what a routing service gave

_BYTES_OF_LEG = 8
_BARE = re.compile(r"[0-9]+(?:[.,][0-9]+)?")


@dataclass(frozen=True)
class Matrix:
    """Distances or durations between all nodes.

    Attributes
    ----------
    values
        (n + 1, n + 1), from row to column, in the order of the nodes.
    unit
        The unit of distances, if the table gives one.
    """

    values: NDArray[np.float64]
    unit: Unit | None


class AllLegs(NamedTuple):
    """Distances and durations of all legs, each None if it is not given, and the unit of distances if it is known."""

    distances: NDArray[np.float64] | None = None
    durations: NDArray[np.float64] | None = None
    unit: Literal["m"] | None = None


def read_legs(
    given: tuple[Legs | None, Legs | None],
    ids: Sequence[str] | None,
    lines: Sequence[int],
    places: NDArray[np.float64] | None,
    source: str,
) -> AllLegs:
    """Read distances and durations, from tables or from the answers of routing services.

    Parameters
    ----------
    given
        The distances and the durations.
    ids, lines, places
        Names, line numbers and positions of the nodes, the depot first; None where they are not known.
    source
        The path of the file of stops.
    """
    names = ["the depot", *(f"the stop on line {line}" for line in lines[1:])] if ids is None else [*map(shorten, ids)]
    is_globe = places is not None and bool((np.abs(places) <= [90.0, 180.0]).all())
    distances, durations, unit = None, None, None
    for kind, legs in zip(("distance", "duration"), given, strict=True):
        if isinstance(legs, RoadMatrix):
            lengths, times = legs.sort(names, lines, places if is_globe else None)
            for note in legs.notes:
                warn_of_input(source, note)
            if (lengths if kind == "distance" else times) is None:
                message = f"the matrix has no {kind}s."
                raise FormatError(message, where=Where(field="matrix"), remedy="Ask the service for both.")
            durations = times
            if kind == "distance":
                distances, unit = lengths, "m"
        elif legs is not None:
            matrix = read_matrix(legs[0], kind, ids, len(lines), legs[1]).values
            distances, durations = (matrix, durations) if kind == "distance" else (distances, matrix)
    return AllLegs(distances, durations, "m" if unit == "m" else None)


def read_matrix(grid: Grid, kind: str, ids: Sequence[str] | None, count: int, source: str) -> Matrix:
    """Read all legs.

    Parameters
    ----------
    grid
        A square, with or without names in its first row and column, in any order; or rows with from, to and a number.
    kind
        distance or duration; durations without a unit are seconds.
    ids
        Names of the nodes, the depot first. None: they are numbered.
    count
        Number of nodes.
    source
        The file's path.

    Raises
    ------
    FormatError
        If a leg is missing, given twice or not a number, or if names do not match.
    """
    with in_file(source):
        if not grid.rows:
            raise FormatError("there is no matrix.", remedy="Give a row and a column for each stop, the depot first.")
        refuse_large_content(_BYTES_OF_LEG * count**2, "matrix")
        names = ids if ids is not None else _number(grid, count)
        rows = _cut_title(grid.rows, names)
        titles = [row.text(index) for row in grid.rows[: len(grid.rows) - len(rows)] for index in row.filled]
        header = _find_list(Grid(rows, grid.delimiter, grid.sheet), kind)
        if header is not None:
            legs = _read_list(Grid(rows, grid.delimiter, grid.sheet), header, kind, names)
        else:
            heading = next(filter(find_time_unit, titles), "")
            legs = replace(_read_square(grid, rows, names, source), heading=heading)
        return _read_numbers(legs, kind, names, source)


def _find_list(grid: Grid, kind: str) -> Header | None:
    """The header of a table with one leg per row; None if this is no such table."""
    wanted = frozenset(("from", "to", kind))
    try:
        header = find_header(grid, LEGS, (), [wanted])
    except DynarouteError:  # these are names of stops, and two of them would mean the same in a header
        return None
    return header if wanted <= header.columns.keys() else None


def _number(grid: Grid, count: int) -> list[str]:
    """Number the nodes from 0, or from 1 if the table does."""
    labels = [row.text(min(row.filled)) for row in grid.rows[-count:]]
    first = 1 if labels == [str(number) for number in range(1, count + 1)] else 0
    return [str(number) for number in range(first, first + count)]


@dataclass(frozen=True)
class _Legs:
    """The cell of each leg.

    Attributes
    ----------
    grid
        The table.
    places
        The row and index of the cell, from node to node; None if it is blank.
    unit
        Unit of distances in the heading.
    heading
        The heading of durations, which may give their unit.
    remedy
        What to do about a missing leg.
    """

    grid: Grid
    places: list[list[tuple[Row, int] | None]]
    unit: Unit | None = None
    heading: str = ""
    remedy: str = "Fill in the cell."

    def entry(self, place: tuple[Row, int]) -> Entry:
        row, index = place
        return Entry(row.text(index), row.kind(index), self.grid.where(row.line, index, f"column {index + 1}"))


def _cut_title(rows: list[Row], names: Sequence[str]) -> list[Row]:
    """Drop the titles above the matrix: rows of one or two words that are not names of stops."""
    for index, row in enumerate(rows):
        texts = [row.text(cell) for cell in row.filled]
        if len(texts) > 2 or any(_is_number(text) or _is_name(text, names) for text in texts):
            return rows[index:]
    return rows


def _read_square(grid: Grid, rows: list[Row], names: Sequence[str], source: str) -> _Legs:
    """Put the cells of a square in the order of the nodes, by the names in its first row and column, if any."""
    count = len(names)
    left = min(min(row.filled) for row in rows)
    width = max(max(row.filled) for row in rows) + 1 - left
    is_named_across = len(rows) == count + 1 or _are_words(
        [rows[0].text(index) for index in range(left + 1, left + width)]
    )
    is_named_down = width == count + 1 or _are_words([row.text(left) for row in rows[1:]])
    top, side = rows[is_named_across:], left + is_named_down
    if not (is_named_across or is_named_down) and (len(rows), width) != (count, count):
        raise FormatError(
            f"the matrix has {len(rows)} rows and {width} columns, but there are {count} stops including the depot.",
            where=Where(field="matrix"),
            remedy="Give one row and column per stop, the depot first; or put names in the first row and column.",
        )
    across = [rows[0].text(index) for index in range(side, left + width)]
    columns = _match(across, names, "columns", source) if is_named_across else None
    lines = _match([row.text(left) for row in top], names, "rows", source) if is_named_down else None
    lines, columns = lines or columns or list(range(count)), columns or lines or list(range(count))
    if max(lines) >= len(top):
        raise FormatError(
            f"the matrix has {len(top)} rows, but there are {count} stops including the depot.",
            where=Where(field="matrix"),
            remedy="Give one row and column per stop.",
        )
    return _Legs(grid, [[_find_place(top[line], side + column) for column in columns] for line in lines])


def _find_place(row: Row, index: int) -> tuple[Row, int] | None:
    return None if is_blank(row.text(index)) and row.kind(index) == "text" else (row, index)


def _is_number(text: str) -> bool:
    return any(character.isdigit() for character in text) and not any(character.isalpha() for character in text)


def _is_name(text: str, names: Sequence[str]) -> bool:
    return bool(text) and not _is_number(text) and (_key(text) in {_key(name) for name in names} or is_depot(text))


def _is_word(text: str) -> bool:
    """Whether a cell is neither blank nor a number, with or without a unit."""
    return not is_blank(text) and not _is_number(text) and not find_unit(split_unit(tidy(text))[1])


def _are_words(texts: Sequence[str]) -> bool:
    """Whether most cells are words; one word among numbers is a mistake that is reported later."""
    filled = [text for text in texts if text]
    return 2 * sum(map(_is_word, filled)) > len(filled)


def _key(name: str) -> str:
    """The form in which names are compared: 7 equals 7.0, and accents and capitals do not count."""
    plain = name.strip().removesuffix(".0") if _is_number(name) else name.strip()
    return simplify(plain) or plain.casefold()


def _match(found: Sequence[str], names: Sequence[str], what: str, source: str) -> list[int]:
    """Find the row or column of each node."""
    places: dict[str, int] = {}
    for index, name in enumerate(found):
        if name and _key(name) in places:
            raise FormatError(
                f"{shorten(name)} appears twice in the {what} of the matrix.",
                where=Where(field="matrix"),
                remedy="Keep one.",
            )
        if name:
            places[_key(name)] = index
    depot = next((index for index, name in enumerate(found) if is_depot(name)), None)
    order = [places.get(_key(name), depot if node == 0 else None) for node, name in enumerate(names)]
    left = [index for index, name in enumerate(found) if name and index not in order]
    if order[0] is None and len(left) == 1 and None not in order[1:] and not _is_number(found[left[0]]):
        order[0] = left[0]  # the depot has another name here
    missing = [name for name, place in zip(names, order, strict=True) if place is None]
    if missing:
        raise FormatError(
            f"the {what} of the matrix lack {show_list(missing)}; found {show_list(list(filter(None, found)))}.",
            where=Where(field="matrix"),
            remedy="Use the names of the list of stops, for the depot too.",
        )
    further = [name for name in found if name and places[_key(name)] not in order]
    if further:
        warn_of_input(source, f"ignored the {what} of the matrix for {show_list(further)}, which are not stops.")
    return [place for place in order if place is not None]


def _read_list(grid: Grid, header: Header, kind: str, names: Sequence[str]) -> _Legs:
    nodes = {_key(name): node for node, name in enumerate(names)}
    places: list[list[tuple[Row, int] | None]] = [[None] * len(names) for _ in names]
    start, end, number = (header.columns[role] for role in ("from", "to", kind))
    for row in grid.rows[header.last + 1 :]:
        ends = []
        for column in (start, end):
            text = row.text(column.index)
            node = nodes.get(_key(text), 0 if is_depot(text) else None)
            if node is None:
                raise FormatError(
                    f"{shorten(text)} is not in the list of stops.",
                    where=grid.where(row.line, column.index, column.label),
                    remedy="Use the names of the list of stops.",
                )
            ends.append(node)
        if places[ends[0]][ends[1]] is not None:
            raise FormatError(
                f"the leg from {shorten(names[ends[0]])} to {shorten(names[ends[1]])} is given twice.",
                where=grid.where(row.line, number.index, number.label),
                remedy="Keep one of the two.",
            )
        places[ends[0]][ends[1]] = _find_place(row, number.index)
    remedy = f"Add a row for it, with its {start.heading} and {end.heading}."
    if kind == "duration":
        return _Legs(grid, places, heading=number.heading, remedy=remedy)
    return _Legs(grid, places, number.unit, remedy=remedy)


def _read_numbers(legs: _Legs, kind: str, names: Sequence[str], source: str) -> Matrix:
    """Read the numbers of all cells; a blank half is filled from the other half."""
    mirrored = _mirror(legs, names)
    if mirrored:
        warn_of_input(source, f"filled {mirrored} blank cells with the {kind} of the opposite direction.")
    places = [place for i, row in enumerate(legs.places) for j, place in enumerate(row) if i != j and place is not None]
    plain = read_plain([row.text(index) for row, index in places], legs.unit)
    is_plain = plain is not None and all(row.kind(index) in ("text", "number") for row, index in places)
    if plain is None or not is_plain or min(plain.values, default=0) < 0:
        amounts = _read_times(legs, places) if kind == "duration" else _read_lengths(legs, places)
    else:
        amounts = plain if kind == "distance" else _read_bare_times(legs, plain, source)
    if amounts.unit is not None:
        warn_of_input(source, f"the distances are in {amounts.unit.name}.")
    values = np.zeros((len(names), len(names)))
    values[~np.eye(len(names), dtype=bool)] = [float(value) for value in amounts.values]
    return Matrix(values, amounts.unit)


def _read_bare_times(legs: _Legs, plain: Amounts, source: str) -> Amounts:
    """Convert numbers without a unit to seconds, using the unit of the heading; without one they are seconds."""
    unit = find_time_unit(legs.heading)
    if unit is None:
        warn_of_input(source, "read durations without a unit as seconds (20 min and 0:20 work too).")
        return plain
    seconds = Decimal(parse_time(f"1 {unit}", Where()))
    return replace(plain, values=[value * seconds for value in plain.values])


def _read_times(legs: _Legs, places: Sequence[tuple[Row, int]]) -> Amounts:
    """Convert written times to seconds; bare numbers are in the unit of the heading, or in seconds."""
    unit = find_time_unit(legs.heading)
    entries = [legs.entry(place) for place in places]
    texts = [tidy(entry.text) for entry in entries]
    named = [f"{text} {unit}" if unit is not None and _BARE.fullmatch(text) else text for text in texts]
    seconds = [parse_time(text, entry.where) for text, entry in zip(named, entries, strict=True)]
    return Amounts(list(map(Decimal, seconds)), None, None, "")


def _read_lengths(legs: _Legs, places: Sequence[tuple[Row, int]]) -> Amounts:
    entries = list(map(legs.entry, places))
    amounts = read_amounts(entries, heading_unit=legs.unit, open_points="point", open_commas="comma")
    for value, entry in zip(amounts.values, entries, strict=True):
        if value < 0:
            raise InstanceError(f"the distance {entry.text} is negative.", where=entry.where, remedy="Give 0 or more.")
        refuse_unmeasurable(float(value), entry.where)
    return amounts


def _mirror(legs: _Legs, names: Sequence[str]) -> int:
    """Fill blank cells from the opposite direction, and count them."""
    cells, count = legs.places, len(names)
    blank = [(i, j) for i in range(count) for j in range(count) if i != j and cells[i][j] is None]
    is_triangle = all(i < j for i, j in blank) or all(i > j for i, j in blank)
    for row, column in sorted(blank, key=lambda leg: cells[leg[1]][leg[0]] is not None):
        if cells[column][row] is None or not is_triangle or len(blank) < count * (count - 1) // 2:
            raise FormatError(
                f"the leg from {shorten(names[row])} to {shorten(names[column])} is missing.",
                where=Where(field="matrix"),
                remedy=legs.remedy,
            )
        cells[row][column] = cells[column][row]
    return len(blank)
