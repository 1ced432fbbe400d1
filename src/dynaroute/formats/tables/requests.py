"""Refusing columns that ask for what is not planned, such as breaks."""

from __future__ import annotations

from collections.abc import Sequence

from dynaroute.base.errors import FormatError, UnsupportedError, Where
from dynaroute.formats.tables.cells.amounts import is_blank
from dynaroute.formats.tables.headers import Column, advise_columns
from dynaroute.formats.tables.shipments import find_kinds
from dynaroute.formats.tables.table import Table
from dynaroute.formats.unsupported import (
    Owner,
    Request,
    find_load,
    find_request,
    refuse_requests,
    says_something,
)
from dynaroute.problem.times import parse_time, parse_window

_TIMES = ("window", "earliest", "latest")
_SHIFTS = ("shift_start", "shift_end")


def refuse_requests_of_stops(table: Table) -> None:
    """Raise if a column that is not used limits the routes.

    Parameters
    ----------
    table
        The stops, the depot first.
    """
    found = _find_requests(table, "stops")
    found += [(column, request) for column in table.header.others if (request := _find_load(table, column))]
    if not any(role in table.header.columns for role in _TIMES):
        found = _advise_to_use(table, found)
    _refuse(table, found)


def refuse_requests_of_vehicles(table: Table) -> None:
    """Raise if a column of types of vehicles that is not used limits or prices the routes."""
    starts = [column for role in _SHIFTS if (column := table.header.columns.get(role)) and holds_places(table, column)]
    found = [(column, find_request("start", _texts(table, column), "vehicles")) for column in starts]
    away = [(column, request._replace(heading=column.heading)) for column, request in found if request]
    _refuse(table, [*away, *_find_requests(table, "vehicles")])


def holds_places(table: Table, column: Column) -> bool:
    """Whether a column that could hold the times of shifts names places instead: "start" with "home"."""
    filled = [text for text in _texts(table, column) if not is_blank(text)]
    return bool(filled) and not any(character.isdigit() for text in filled for character in text)


def _find_requests(table: Table, owner: Owner) -> list[tuple[Column, Request]]:
    columns = [*table.header.others, *(column for role, column in table.header.columns.items() if role == "kind")]
    kinds = find_kinds(table)  # of shipments, which are planned
    columns = [column for column in columns if kinds is None or column.index != kinds.index]
    return [
        (column, request)
        for column in columns
        if not column.is_ignored and (request := find_request(column.heading, _texts(table, column), owner))
    ]


def _find_load(table: Table, column: Column) -> Request | None:
    """Find a second load, such as pallets beside kilograms, unless the user said which one counts."""
    demand, texts = table.header.columns["demand"], _texts(table, column)
    if column.is_ignored or demand.tier < 0 or texts == _texts(table, demand):
        return None
    return find_load(column.heading, texts)


def _advise_to_use(table: Table, found: list[tuple[Column, Request]]) -> list[tuple[Column, Request]]:
    """Tell the user how columns with times can be used, if no column with a time window is."""
    meant: dict[str, Column] = {}
    for column, request in found:
        if request.role and _is_readable(_texts(table, column), request.role):
            meant.setdefault(request.role, column)
    chosen = {"window": meant["window"]} if "window" in meant else meant
    if not chosen:
        return found
    advice = advise_columns(chosen, table.header.columns.values())
    hint = f"To use {'it' if len(chosen) == 1 else 'them'}, give {advice}."
    used = {column.index for column in chosen.values()}
    return [(column, request._replace(hint=hint) if column.index in used else request) for column, request in found]


def _is_readable(texts: Sequence[str], role: str) -> bool:
    parse = parse_window if role == "window" else parse_time
    try:
        for text in dict.fromkeys(texts):
            if not is_blank(text):
                parse(text, Where())
    except (FormatError, UnsupportedError):
        return False
    return True


def _refuse(table: Table, found: Sequence[tuple[Column, Request]]) -> None:
    if not found:
        return
    column = found[0][0]
    row = next((row for row in table.rows if says_something([row.text(column.index)])), table.rows[0])
    refuse_requests([request for _, request in found], table.where(row, column))


def _texts(table: Table, column: Column) -> list[str]:
    return [row.text(column.index) for row in table.rows]
