"""Tells the user what was assumed about a table of stops."""

from __future__ import annotations

from collections.abc import Sequence

from dynaroute.base.display import show_list
from dynaroute.base.errors import warn_of_input
from dynaroute.formats.tables.cells.amounts import BARE_NUMBER, Amounts
from dynaroute.formats.tables.headers import ROWS_LOOKED_AT, Column
from dynaroute.formats.tables.table import Table, find_label
from dynaroute.formats.tables.time_cells import find_time_unit
from dynaroute.formats.tables.words import STOPS
from dynaroute.formats.unsupported import holds_clock_times, is_unsupported


def warn_of_assumptions(table: Table, written: Sequence[Amounts], names: tuple[str, ...] | None, source: str) -> None:
    """Tell the user how columns were read, what was converted, and what was not used."""
    header = table.header
    guessed = [column for column in header.columns.values() if column.tier > 0]
    if guessed:
        told = show_list([f"{column.heading} as {column.role}" for column in guessed], 12)
        warn_of_input(source, f"read the columns {told}.")
    if any(amounts.notation == "comma" for amounts in written):
        warn_of_input(source, "read decimal commas as decimal points.")
    if grouped := next((amounts.grouped for amounts in written if amounts.grouped), ""):
        warn_of_input(source, f"read the separator in {grouped} as a thousands separator.")
    demands = written[0]
    if demands.unit is not None and demands.converted:
        warn_of_input(source, f"converted demands such as {demands.converted} to {demands.unit.name}.")
    if demands.unit is not None and demands.bare:
        warn_of_input(source, f"read {demands.bare} and other demands without a unit as {demands.unit.name}.")
    _warn_of_seconds(table, source)
    _warn_of_other_columns(table, names, source)
    rows = [
        line
        for line, delimiters in table.grid.comments
        if line > header.line and delimiters == len(header.headings) - 1
    ]
    if rows:
        warn_of_input(
            source,
            f"read rows that start with '#' as comments: lines {show_list(rows)}; put ids with '#' in quotes.",
        )


def _warn_of_seconds(table: Table, source: str) -> None:
    """Tell the user that bare numbers were read as seconds, if they are so small that hours or minutes may be meant."""
    for role, usual, example in (("earliest", 24, "08:00"), ("latest", 24, "12:00"), ("service", 60, "10 min")):
        column = table.header.columns.get(role)
        if column is None or column.tier > 0 or find_time_unit(column.heading) is not None:
            continue
        texts = [text for row in table.rows if (text := row.text(column.index)) not in ("", "0")]
        if texts and all(BARE_NUMBER.fullmatch(text) and float(text.replace(",", ".")) <= usual for text in texts):
            warn_of_input(source, f"read the numbers of {column.heading} as seconds; {example} works too.")


def _warn_of_other_columns(table: Table, names: tuple[str, ...] | None, source: str) -> None:
    header = table.header
    hidden = table.grid.hidden_columns
    filled = [column for column in header.others if any(row.text(column.index) for row in table.rows)]
    carried = [column.heading for column in filled if column.index not in hidden]
    limiting = [column.heading for column in filled if column.index not in hidden and _looks_limiting(table, column)]
    if carried:
        verb = "does" if len(limiting) == 1 else "do"
        more = f"; {show_list(limiting)} {verb} not limit the routes" if limiting else ""
        warn_of_input(source, f"kept the columns {show_list(carried)} for the output{more}.")
    used = [column.heading for column in header.columns.values() if column.index in hidden]
    if used:
        warn_of_input(source, f"used the hidden columns {show_list(used)}.")
    if concealed := [column.heading for column in filled if column.index in hidden]:
        warn_of_input(source, f"left out the hidden columns {show_list(concealed)}.")
    bare = [index for index, heading in enumerate(header.headings) if not heading]
    width = len(header.headings)
    capacities = list(find_label(table, "capacity", STOPS))
    beside = [row for row in table.rows if any(row.text(index) for index in (*bare, *range(width, len(row.cells))))]
    if any(all(entry.where.line != row.line for entry in capacities) for row in beside):
        warn_of_input(source, "ignored the columns without a name.")
    identity = header.columns.get("id")
    if identity is not None and names is None and identity.tier == 2:
        warn_of_input(source, f"{identity.heading} is not different for every stop, so stops are numbered.")


def _looks_limiting(table: Table, column: Column) -> bool:
    """Whether a column that is passed on may be taken for a limit, by its heading or because it contains times."""
    texts = [row.text(column.index) for row in table.rows[:ROWS_LOOKED_AT]]
    return is_unsupported(column.heading) or holds_clock_times(texts)
