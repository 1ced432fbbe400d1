"""Read the service times and time windows of a table."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import FormatError, Where, warn_of_input
from dynaroute.formats.tables.cells.amounts import Entry, is_blank, tidy
from dynaroute.formats.tables.headers import Column
from dynaroute.formats.tables.table import Table
from dynaroute.formats.tables.words import simplify
from dynaroute.formats.text import shorten
from dynaroute.problem.times import may_be_hours, parse_time, parse_window

__all__ = ["find_time_unit", "read_duration_cell", "read_service", "read_time_cell", "read_window_cell", "read_windows"]

_ALL_DAY = (
    "all day, any, any time, anytime, open, always, ganztägig, ganztags, ganzer Tag, egal, immer, jederzeit,"
    " toute la journée, toujours, todo el día, siempre"
)
_ANY_TIME = frozenset(map(simplify, _ALL_DAY.split(",")))
_BARE = re.compile(r"[0-9]+(?:[.,][0-9]+)?")
_DATED = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4})[ T,]+([0-9]{1,2}:[0-9]{2}.*)")
_BETWEEN_WINDOWS = re.compile(r"\s*[;|\n]\s*")
_UNIT = re.compile(r"[(\[]\s*(?:in\s+)?([^)\]\d]+?)\.?\s*[)\]]\s*$|\bin\s+([^\W\d]+)\s*$|[\s_]([^\W\d]+)\s*$")


def read_service(table: Table) -> NDArray[np.float64] | None:
    """Seconds of service at each node; None if the column is missing or empty."""
    column = table.header.columns.get("service")
    if column is None:
        return None
    seconds = np.array([read_duration_cell(table.entry(row, column), column) for row in table.rows])
    return seconds if seconds.any() else None


def read_windows(table: Table, source: str) -> NDArray[np.float64] | None:
    """The earliest and latest start of service at each node; None if there are no such columns."""
    columns = table.header.columns
    window, bounds = columns.get("window"), [columns.get(role) for role in ("earliest", "latest")]
    given = [column for column in bounds if column is not None]
    if window is not None and given:
        raise FormatError(
            f"the columns {window.heading} and {given[0].heading} both give time windows.",
            where=Where(line=table.header.line, field=window.label),
            remedy="Keep either the window, or earliest and latest.",
        )
    if window is not None:
        several = [read_window_cells(table.entry(row, window)) for row in table.rows]
        most = max(map(len, several))
        padded = np.array([[*windows, *[windows[-1]] * (most - len(windows))] for windows in several])
        return padded[:, 0] if most == 1 else padded
    if not given:
        return None
    seconds = np.tile([0.0, math.inf], (len(table.rows), 1))
    places = [(side, column) for side, column in enumerate(bounds) if column is not None]
    cells = [(node, *place, table.entry(row, place[1])) for node, row in enumerate(table.rows) for place in places]
    times = _drop_day([entry for *_, entry in cells], source)
    for (node, side, column, _), entry in zip(cells, times, strict=True):
        if not is_blank(entry.text):
            seconds[node, side] = read_time_cell(entry, column)
    return seconds


def _drop_day(entries: Sequence[Entry], source: str) -> list[Entry]:
    """Remove the date that some programs write before each time; all must be on the same day."""
    day, times = "", []
    for entry in entries:
        dated = _DATED.fullmatch(tidy(entry.text))
        if dated is not None and day and dated[1] != day:
            raise FormatError(
                f"{shorten(entry.text)} is not on {day} like the times before it.",
                where=entry.where,
                remedy="Plan one day at a time: keep only the rows of that day.",
            )
        day = day if dated is None else dated[1]
        times.append(entry if dated is None else Entry(dated[2], "text", entry.where))
    if day:
        warn_of_input(source, f"ignored the date {day} of the time windows.")
    return times


def read_window_cells(entry: Entry) -> list[tuple[float, float]]:
    """Read one or more windows, separated by semicolons: 08:00-10:00; 14:00-16:00."""
    parts = [part for part in _BETWEEN_WINDOWS.split(entry.text) if part] if entry.kind == "text" else []
    return [read_window_cell(Entry(part, entry.kind, entry.where)) for part in parts] or [read_window_cell(entry)]


def read_window_cell(entry: Entry) -> tuple[float, float]:
    """Read a time window; a blank cell means any time."""
    if entry.kind == "text" and (is_blank(entry.text) or simplify(entry.text) in _ANY_TIME):
        return 0.0, math.inf
    if may_be_hours(entry.text):
        raise FormatError(
            f"{shorten(entry.text)} could mean hours or seconds.", where=entry.where, remedy="Write 08:00-12:00."
        )
    if entry.kind not in ("text", "time"):
        raise _wrong_kind(entry, "08:00-12:00")
    return parse_window(entry.text, entry.where)


def read_time_cell(entry: Entry, column: Column) -> float:
    """Read a time of day; a bare number is in the heading's unit, or in seconds under one of our own headings."""
    if entry.kind not in ("text", "number", "time"):
        raise _wrong_kind(entry, "08:00")
    return parse_time(_with_unit(entry, column, "08:00"), entry.where)


def read_duration_cell(entry: Entry, column: Column) -> float:
    """Read a duration; a blank cell means 0."""
    if is_blank(entry.text) and entry.kind == "text":
        return 0.0
    if entry.kind not in ("text", "number", "time"):
        raise _wrong_kind(entry, "10 min")
    return parse_time(_with_unit(entry, column, "10 min"), entry.where)


def _with_unit(entry: Entry, column: Column, example: str) -> str:
    """Add the unit of the heading to a time without a unit."""
    text = tidy(entry.text)
    if not _BARE.fullmatch(text):
        return text
    if entry.kind == "number" and 0 < float(text) < 1:
        raise FormatError(
            f"{shorten(text)} looks like a time that the spreadsheet stores as a fraction of a day.",
            where=entry.where,
            remedy=f"Format the column as times, or write {example}.",
        )
    if (unit := find_time_unit(column.heading)) is not None:
        return f"{text} {unit}"
    if column.tier <= 0 or not float(text.replace(",", ".")):
        return text
    heading = f", or give the unit in the heading: '{column.heading} (min)'" if example.endswith("min") else ""
    raise FormatError(f"{shorten(text)} has no unit.", where=entry.where, remedy=f"Write {example}{heading}.")


def find_time_unit(heading: str) -> str | None:
    """The unit of time in a heading such as "Fahrzeit (min)" or "Minuten"."""
    found = _UNIT.search(f" {heading}")
    word = next((part for part in found.groups() if part), None) if found else None
    if word is None:
        return None
    try:
        parse_time(f"1 {word}", Where())
    except FormatError:
        return None
    return word


def _wrong_kind(entry: Entry, example: str) -> FormatError:
    told = {
        "date": f"{entry.text} is a date",
        "error": f"the cell contains the error {entry.text}",
        "formula": "the cell has a formula, but its result is not stored in the file",
        "truth": f"the cell contains {entry.text}",
        "percent": f"{entry.text} is a percentage",
        "number": f"{entry.text} is a single number",
    }.get(entry.kind, f"{entry.text} is not a time")
    return FormatError(f"{told}.", where=entry.where, remedy=f"Write a time such as {example}.")
