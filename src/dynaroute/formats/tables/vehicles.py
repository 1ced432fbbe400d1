"""Read types of vehicles from a table with one type per row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from dynaroute.base.decimals import scale_to_integers
from dynaroute.base.display import show_list
from dynaroute.base.errors import DynarouteError, FormatError, InstanceError, Where, in_file, warn_of_input
from dynaroute.base.vocabulary import RouteEnd
from dynaroute.formats.fleet_options import VehicleList
from dynaroute.formats.ignored import NOTHING_IGNORED, Ignored
from dynaroute.formats.numbers import parse_whole
from dynaroute.formats.tables.cells.amounts import Amounts, Entry, is_blank, tidy
from dynaroute.formats.tables.cells.cells import Grid, Row
from dynaroute.formats.tables.cells.units import Unit
from dynaroute.formats.tables.depots import release_column
from dynaroute.formats.tables.headers import Column, find_header
from dynaroute.formats.tables.loads import compare_units
from dynaroute.formats.tables.requests import holds_places, refuse_requests_of_vehicles
from dynaroute.formats.tables.rules import read_costs
from dynaroute.formats.tables.table import Table, sort_rows
from dynaroute.formats.tables.time_cells import read_duration_cell, read_shift_cells
from dynaroute.formats.tables.words import VEHICLES, read_truth, simplify
from dynaroute.formats.text import one_line, shorten
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import LARGEST_INTEGER
from dynaroute.problem.measures import parse_length
from dynaroute.problem.places import DEPOT

_WANTED = (frozenset(("capacity",)),)
_OPEN = frozenset(("open", "offen", "ouvert", "ouverte", "abierto", "abierta"))
_AT_THE_DEPOT = frozenset(("depot", "back", "return", "zuruck", "zurueck", "ruckkehr", "retour", "regreso", "deposito"))


def parse_vehicles(grid: Grid, source: str, ignored: Ignored = NOTHING_IGNORED) -> VehicleList:
    """Read types of vehicles: a column with the capacity, and optional limits; a blank cell means no limit.

    Parameters
    ----------
    grid
        Rows of cells.
    source
        The file's path.
    ignored
        Columns to plan without; names of other columns are left to the caller.

    Raises
    ------
    DynarouteError
        If a cell cannot be read, a type has no capacity, or a column asks for something unsupported.
    """
    with in_file(source):
        if not grid.rows:
            raise FormatError("there is no header.", remedy="Start with a line 'name,count,capacity'.")
        header = find_header(grid, VEHICLES, (), _WANTED, ignored)
        if "capacity" not in header.columns:
            raise FormatError(
                f"the column capacity is missing; found {show_list([name for name in header.headings if name])}.",
                where=Where(line=header.line, field="capacity"),
                remedy="One row must name the columns: capacity, and optionally name, count, max_duration, "
                "max_distance, shift, max_stops, end, fixed cost, cost per km, cost per hour, "
                "min vehicles, initial load and skills.",
            )
        table = sort_rows(grid, header, ("capacity",), source)
        if not table.rows:
            raise InstanceError("there is no vehicle.", where=Where(line=header.line), remedy="Give at least one type.")
        refuse_requests_of_vehicles(table)
        for role in ("shift_start", "shift_end"):
            if role in table.header.columns and holds_places(table, table.header.columns[role]):
                table = release_column(table, role)  # the depot
        columns = header.amounts.get("capacity", (header.columns["capacity"],))
        read = [_read_capacities(table, column) for column in columns if column is not None]
        units = [unit for _, unit in read]
        initial = _read_initial_loads(table, units)
        amounts = np.array([*(values for values, _ in read), *initial], dtype=object).T  # (types, 2 x dimensions)
        flat, scale = scale_to_integers(amounts.reshape(-1).tolist())
        whole = np.array(flat, dtype=object).reshape(amounts.shape).tolist()
        types = tuple(
            _read_type(table, row, tuple(each[: len(units)]), tuple(each[len(units) :]))
            for row, each in zip(table.rows, whole, strict=True)
        )
        _refuse_same_names(table, types)
        _warn_of_unused(table, types, source)
        headings = tuple(filter(None, header.headings))
        is_per_km, names_depots = (role in table.header.columns for role in ("distance_cost", "depot"))
        unit = "" if units[0] is None or header.dimensions else units[0].name
        dimensions = header.dimensions or None
        return VehicleList(types, scale, unit, headings, is_per_km, names_depots, dimensions)


def _read_initial_loads(table: Table, units: Sequence[Unit | None]) -> list[list[Decimal]]:
    """What every type carries at the start, in each dimension; blank cells are 0."""
    header = table.header
    plain = header.columns.get("initial_load") if "initial_load" not in header.amounts else None
    if header.dimensions and plain is not None:
        raise FormatError(
            "the initial load names no dimension, but the capacities do.",
            where=Where(line=header.line, field=plain.heading),
            remedy=f"Give a column for each, such as 'initial load {header.dimensions[0]}'.",
        )
    columns = header.amounts.get("initial_load", (plain,) if not header.dimensions else (None,) * len(units))
    loads = []
    for column, unit in zip(columns, units, strict=True):
        rows = [] if column is None else [row for row in table.rows if _is_filled(row, column)]
        values = dict.fromkeys((row.line for row in table.rows), Decimal(0))
        if column is not None and rows:
            amounts = _read_amounts(table, column, rows)
            size = compare_units(amounts.unit, unit, table.where(rows[0], column), ("initial loads", "capacities"))
            values |= {row.line: value * size for row, value in zip(rows, amounts.values, strict=True)}
        loads.append(list(values.values()))
    return loads


def _is_filled(row: Row, column: Column) -> bool:
    return not is_blank(row.text(column.index)) or row.kind(column.index) != "text"


def _read_amounts(table: Table, column: Column, rows: Sequence[Row]) -> Amounts:
    is_comma = table.grid.delimiter == ","
    return table.amounts(
        column,
        rows,
        elsewhere=lambda: None,
        open_points="point" if is_comma else None,
        open_commas="point" if is_comma else None,
    )


def _read_capacities(table: Table, column: Column) -> tuple[list[Decimal], Unit | None]:
    """The capacity of each type in one dimension, and the unit, if one is given."""
    entries = table.entries(column, table.rows)
    amounts = _read_amounts(table, column, table.rows)
    for value, entry in zip(amounts.values, entries, strict=True):
        if value <= 0:
            raise InstanceError(f"the capacity is {entry.text}.", where=entry.where, remedy="It must be above 0.")
        if value > LARGEST_INTEGER:
            raise InstanceError(
                f"the capacity {entry.text} is too large; the largest possible is {LARGEST_INTEGER}.",
                where=entry.where,
                remedy="Use a larger unit.",
            )
    return amounts.values, amounts.unit


def _read_type(table: Table, row: Row, capacities: tuple[int, ...], initial: tuple[int, ...]) -> VehicleType:
    cells = {
        role: (table.entry(row, column), column)
        for role, column in table.header.columns.items()
        if _is_filled(row, column)
    }

    def read_whole(role: str) -> int | None:
        return None if role not in cells else parse_whole(tidy(cells[role][0].text), cells[role][0].where)

    duration, distance = cells.get("max_duration"), cells.get("max_distance")
    try:
        return VehicleType(
            capacity=capacities if len(capacities) > 1 else capacities[0],
            initial_load=initial if len(initial) > 1 else initial[0],
            name=one_line(cells["name"][0].text) if "name" in cells else "",
            count=read_whole("count"),
            max_duration=None if duration is None else read_duration_cell(*duration),
            max_distance=None if distance is None else _read_length(*distance),
            shift=_read_shift(cells),
            max_stops=read_whole("max_stops"),
            min_vehicles=read_whole("min_vehicles") or 0,
            start=(start := one_line(cells["depot"][0].text) if "depot" in cells else DEPOT),
            end="open" if "end" in cells and _read_end(cells["end"][0]) == "open" else start,
            **read_costs(cells),
        )
    except InstanceError as error:
        column = table.header.columns.get(error.where.field or "")
        if error.where.line is None:
            error.where = Where(line=row.line, field=error.where.field) if column is None else table.where(row, column)
        raise


def _read_length(entry: Entry, column: Column) -> float:
    unit = "" if column.unit is None or any(sign.isalpha() for sign in entry.text) else f" {column.unit.name}"
    return parse_length(f"{tidy(entry.text)}{unit}", entry.where)


def _read_shift(cells: dict[str, tuple[Entry, Column]]) -> tuple[float, float] | None:
    roles = ("shift",) if "shift" in cells else ("shift_start", "shift_end")
    given = [cells[role] for role in roles if role in cells]
    if not given:
        return None
    if len(given) < len(roles):
        raise FormatError(
            "the shift needs both a start and an end.", where=given[0][0].where, remedy="Give both or neither."
        )
    return read_shift_cells([entry for entry, _ in given], [column for _, column in given])


def _read_end(entry: Entry) -> RouteEnd:
    """Read where routes end: a word, or yes or no in a column that asks whether they are open."""
    simple = simplify(entry.text)
    if simple in _OPEN:
        return "open"
    if simple in _AT_THE_DEPOT:
        return "depot"
    is_named_open = "open" in simplify(entry.where.field or "") or "offen" in simplify(entry.where.field or "")
    if is_named_open and (answer := read_truth(entry.text)) is not None:
        return "open" if answer else "depot"
    raise entry.fault(f"a route cannot end at {shorten(entry.text)}.", "Write depot or open.")


def _refuse_same_names(table: Table, types: tuple[VehicleType, ...]) -> None:
    lines: dict[str, int] = {}
    for row, kind in zip(table.rows, types, strict=True):
        if kind.name and kind.name in lines:
            raise InstanceError(
                f"the name {shorten(kind.name)} is used for two types, first on line {lines[kind.name]}.",
                where=table.where(row, table.header.columns["name"]),
                remedy="Make them one type with a count, or give them different names.",
            )
        lines[kind.name] = row.line


def _warn_of_unused(table: Table, types: tuple[VehicleType, ...], source: str) -> None:
    """Tell the user which columns were ignored, and that rows without a count stand for any number of vehicles."""
    if "count" not in table.header.columns and len({replace(kind, name="") for kind in types}) < len(types):
        warn_of_input(
            source,
            "several rows describe the same vehicle, and each row allows any number of them; add a "
            "column count to limit them.",
        )
    others = [
        column.heading
        for column in table.header.others
        if not column.is_ignored and any(row.text(column.index) for row in table.rows)
    ]
    if others:
        warn_of_input(source, f"ignored the columns {show_list(others)}; known columns: {', '.join(VEHICLES.roles)}.")


def has_vehicles(grid: Grid, ignored: Ignored = NOTHING_IGNORED) -> bool:
    """Whether a sheet contains types of vehicles, judging by its header."""
    try:
        return bool(grid.rows) and "capacity" in find_header(grid, VEHICLES, (), _WANTED, ignored).columns
    except DynarouteError as error:
        # two columns mean the same: reading it reports two capacities; another kind of table has no capacity
        return error.where.field == "capacity"
