"""Read the service times and time windows of a table."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.display import show_list
from dynaroute.base.errors import FormatError, Where, warn_of_input
from dynaroute.formats.tables.cells.amounts import Entry, is_blank, tidy
from dynaroute.formats.tables.cells.time_windows import DAY, Window, WindowReader
from dynaroute.formats.tables.headers import Column
from dynaroute.formats.tables.table import Table
from dynaroute.formats.text import shorten
from dynaroute.problem.times import parse_time

_HOUR = 3600.0
_BARE = re.compile(r"[0-9]+(?:[.,][0-9]+)?")
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
        entries = [table.entry(row, window) for row in table.rows]
        windows = _read_window_cells(entries, window, source)
    elif given:
        windows = _read_bounds(table, bounds, source)
    else:
        return None
    windows = _order_night(table, window or given[0], windows, source)
    most = max(map(len, windows))
    padded = np.array([[*each, *[each[-1]] * (most - len(each))] for each in windows])
    return padded[:, 0] if most == 1 else padded


def _read_window_cells(entries: Sequence[Entry], column: Column, source: str) -> list[list[Window]]:
    unit = find_time_unit(column.heading) or "h"
    is_clock = parse_time(f"1 {unit}", Where()) == _HOUR  # as in "opening hours"
    reader = WindowReader([entry.text for entry in entries], "" if is_clock else unit)
    for entry in entries:
        if entry.kind not in ("text", "time", "date"):
            raise _wrong_kind(entry, "08:00-12:00")
    windows = [reader.read_cell(entry) for entry in entries]
    reader.note(source)
    return windows


def _read_bounds(table: Table, columns: Sequence[Column | None], source: str) -> list[list[Window]]:
    """Read windows whose bounds are in two columns, either of which may be missing."""
    pairs = [
        [None if column is None else _name_unit(table.entry(row, column), column) for column in columns]
        for row in table.rows
    ]
    reader = WindowReader([entry.text for pair in pairs for entry in pair if entry is not None])
    windows = [reader.read_bounds(*pair) if any(pair) else (0.0, math.inf) for pair in pairs]
    reader.note(source)
    return [[window] for window in windows]


def _name_unit(entry: Entry, column: Column) -> Entry | None:
    """Add the unit of the heading, or of our own headings, to a bare number; None for a blank cell."""
    if is_blank(entry.text) and entry.kind == "text":
        return None
    if entry.kind not in ("text", "number", "time", "date"):
        raise _wrong_kind(entry, "08:00")
    text = tidy(entry.text)
    if _BARE.fullmatch(text):
        _refuse_fraction(text, entry, "08:00")
        unit = find_time_unit(column.heading) or ("s" if column.tier <= 0 else "")
        text = f"{text} {unit}".strip()
    return entry._replace(text=text)


def _order_night(table: Table, column: Column, windows: list[list[Window]], source: str) -> list[list[Window]]:
    """Put windows after midnight on the day after, where the depot's window passes midnight."""
    opens, closes = windows[0][0]
    night = max((latest for each in windows for _, latest in each if latest < math.inf), default=0.0)
    if night <= DAY:
        return windows
    if closes > DAY and math.isfinite(closes):
        late = [node for node, each in enumerate(windows) if each[-1][1] < opens]
        if late:
            lines = show_list([table.rows[node].line for node in late])
            warn_of_input(source, f"read the time windows of lines {lines} as after midnight, like the depot's end.")
        moved = {node: [(earliest + DAY, latest + DAY) for earliest, latest in windows[node]] for node in late}
        return [moved.get(node, each) for node, each in enumerate(windows)]
    for row, each in zip(table.rows, windows, strict=True):
        if 0 < each[0][0] < night - DAY and each[-1][1] <= DAY:
            raise FormatError(
                f"{shorten(row.text(column.index))} could be before or after the night, which other windows pass.",
                where=table.where(row, column),
                remedy="Give the depot a window that passes midnight, such as 20:00-06:00.",
            )
    return windows


def read_shift_cells(entries: Sequence[Entry], columns: Sequence[Column]) -> Window:
    """Read a shift from one cell, or its start and its end from two."""
    if len(entries) == 1:
        ((window, *more),) = _read_window_cells(entries, columns[0], "")
        if more or window[1] == math.inf:
            fault = "has no end" if not more else "has several windows"
            message = f"the shift {shorten(entries[0].text)} {fault}."
            raise FormatError(message, where=entries[0].where, remedy="Write, say, 08:00-17:00.")
        return window
    bounds = [_name_unit(entry, column) for entry, column in zip(entries, columns, strict=True)]
    return WindowReader([entry.text for entry in entries]).read_bounds(*bounds)


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
    _refuse_fraction(text, entry, example)
    if (unit := find_time_unit(column.heading)) is not None:
        return f"{text} {unit}"
    if column.tier <= 0 or not float(text.replace(",", ".")):
        return text
    heading = f", or give the unit in the heading: '{column.heading} (min)'" if example.endswith("min") else ""
    raise FormatError(f"{shorten(text)} has no unit.", where=entry.where, remedy=f"Write {example}{heading}.")


def _refuse_fraction(text: str, entry: Entry, example: str) -> None:
    if entry.kind == "number" and 0 < float(text) < 1:
        raise FormatError(
            f"{shorten(text)} looks like a time that the spreadsheet stores as a fraction of a day.",
            where=entry.where,
            remedy=f"Format the column as times, or write {example}.",
        )


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
