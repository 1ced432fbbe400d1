"""Read the demands and the capacity of a table, in one unit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import FormatError, InstanceError, OptionError, Where, warn_of_input
from dynaroute.formats.numbers import scale_quantities
from dynaroute.formats.tables.cells.amounts import Amounts, Entry, Notation, is_blank, read_amounts
from dynaroute.formats.tables.cells.cells import Row
from dynaroute.formats.tables.cells.units import Unit
from dynaroute.formats.tables.headers import Column
from dynaroute.formats.tables.table import Table, find_label
from dynaroute.formats.tables.words import STOPS
from dynaroute.formats.text import shorten

_TEXT_REMEDY = "Add a first line '# capacity: 50', or give the option capacity."
_SHEET_REMEDY = (
    "Write the word Capacity in a cell and the number in the next one, or give the option capacity, or a table of "
    "vehicles: --vehicles FILE#SHEET."
)


@dataclass(frozen=True)
class Loads:
    """The demands and the capacity of a table.

    Attributes
    ----------
    demands
        Demand of each node, the depot first.
    capacity
        In the unit of the demands.
    place
        Where the capacity was found.
    written
        Notation and units of the demands, then of the capacity.
    given_unit
        Unit of the demands as written, before they were converted to that of the vehicles.
    """

    demands: list[Decimal]
    capacity: Decimal
    place: Where
    written: tuple[Amounts, Amounts]
    given_unit: Unit | None = None


@dataclass(frozen=True)
class WholeLoads:
    """Amounts in whole numbers, in one dimension or in several.

    Attributes
    ----------
    demands
        (nodes,) or (nodes, dimensions) amounts, the depot's first.
    pickups
        The same of what is brought back; None if nothing is.
    capacities
        Of a vehicle, in each dimension.
    scale
        How many of these units make one unit of the table.
    written
        Notation and units of the columns of demands, and more.
    note
        What was corrected; "" if nothing was.
    """

    demands: NDArray[np.int64]
    pickups: NDArray[np.int64] | None
    capacities: tuple[int, ...]
    scale: int
    written: tuple[Amounts, ...]
    note: str = ""


def count_stops(table: Table, source: str) -> Table:
    """Give every customer a demand of 1 if the table has no such column, which then lies beyond its last one."""
    column, width = table.header.columns["demand"], len(table.header.headings)
    if column.index < width:
        return table
    warn_of_input(source, "there is no column with demands: every stop counts as 1, and the capacity is in stops.")
    depot, *customers = table.rows
    header = replace(table.header, headings=(*table.header.headings, "demand"))
    cells = [(*(row.text(index) for index in range(width)), "1") for row in customers]
    filled = [replace(row, cells=texts) for row, texts in zip(customers, cells, strict=True)]
    return replace(table, header=header, rows=[depot, *filled])


def read_loads(
    table: Table,
    option: float | Decimal | str | None,
    unit: Unit | None,
    elsewhere: Callable[[], Notation | None],
    source: str,
) -> Loads:
    """Read the demands, and find and read the capacity.

    Parameters
    ----------
    table
        The stops, the depot first; its demand may be blank.
    option
        The capacity that the user gave; it overrides the table's.
    unit
        Unit of the vehicles, if they have their own table with a unit.
    elsewhere
        Returns the decimal separator of the rest of the table.
    source
        The file's path, for notes.

    Raises
    ------
    DynarouteError
        If a demand is not a number, or the capacity is missing or given twice.
    """
    column = table.header.columns["demand"]
    depot, *customers = table.rows
    given = [] if _says_nothing(depot, column) else [depot]
    open_points, open_commas = _find_marks(table)
    amounts = read_column(table, column, [*given, *customers], elsewhere)
    if given and amounts.values[0] > 0:
        raise InstanceError(
            f"the demand of the depot is {depot.text(column.index)}, not 0.",
            where=table.where(depot, column),
            remedy="The depot is the first row, the row called Depot, or the row with an x in a column 'depot'.",
        )
    given_unit = amounts.unit
    if unit is not None and amounts.unit is not None and amounts.unit != unit:
        amounts = _turn_into(unit, amounts, table.where(customers[0], column) if customers else Where(), source)
    demands = amounts.values if given else [Decimal(0), *amounts.values]
    entry = _find_capacity(table, option)
    if isinstance(option, str):
        open_points = open_commas = None  # a person typed it and may mean thousands
    elif option is not None:
        open_points = "point"
    try:
        capacity = read_amounts(
            [entry],
            elsewhere=lambda: amounts.notation or elsewhere(),
            open_points=open_points,
            open_commas=open_commas,
        )
    except FormatError as error:
        if option is None:
            raise
        raise OptionError(error.message, where=entry.where, remedy=error.remedy) from error
    if capacity.unit is not None and amounts.unit is None and max(demands) > capacity.values[0]:
        warn_of_input(source, f"the demands have no unit; read them in {capacity.unit.name}, like the capacity.")
    return Loads(demands, _fit_unit(capacity, amounts.unit, entry), entry.where, (amounts, capacity), given_unit)


def read_column(table: Table, column: Column, rows: Sequence[Row], elsewhere: Callable[[], Notation | None]) -> Amounts:
    """Read a column of amounts; the separator of the cells tells decimal commas where nothing else does."""
    open_points, open_commas = _find_marks(table)
    return table.amounts(column, rows, elsewhere=elsewhere, open_points=open_points, open_commas=open_commas)


def _find_marks(table: Table) -> tuple[Notation | None, Notation | None]:
    """How to read 1.234 and 1,234 if nothing shows what is meant."""
    is_comma, is_semicolon = table.grid.delimiter == ",", table.grid.delimiter == ";"
    return "point" if is_comma else None, "point" if is_comma else "comma" if is_semicolon else None


def scale_loads(
    table: Table, loads: Loads, names: Sequence[str] | None, elsewhere: Callable[[], Notation | None]
) -> WholeLoads:
    """Turn the demands, the pickups, which are read too, and the capacity into whole numbers."""
    pickups = read_pickups(table, loads, elsewhere)
    labels = names if names is None or not pickups else (*names, "depot", *names)
    quantities = scale_quantities([*loads.demands, *pickups], loads.capacity, labels)
    amounts = np.array(quantities.demands).reshape(-1, len(table.rows))
    capacities, collected = (quantities.capacity,), amounts[1] if pickups else None
    return WholeLoads(amounts[0], collected, capacities, quantities.scale, loads.written, quantities.note)


def read_pickups(table: Table, loads: Loads, elsewhere: Callable[[], Notation | None]) -> list[Decimal]:
    """Read what is brought back from each stop, in the unit of the demands; nothing if there is no such column.

    Blank cells are 0. The notation is that of the demands where the column does not show its own.
    """
    column = table.header.columns.get("pickup")
    nodes = [] if column is None else [node for node, row in enumerate(table.rows) if not _says_nothing(row, column)]
    if column is None or not nodes:
        return []
    rows = [table.rows[node] for node in nodes]
    amounts = read_column(table, column, rows, lambda: loads.written[0].notation or elsewhere())
    where, wanted = table.where(rows[0], column), loads.written[0].unit
    size = compare_units(amounts.unit or loads.given_unit, wanted, where, ("pickups", "demands"))
    values = {node: value * size for node, value in zip(nodes, amounts.values, strict=True)}
    for node, row in zip(nodes, rows, strict=True):
        value, text = values[node], row.text(column.index)
        if not 0 <= value <= (0 if node == 0 else loads.capacity):
            of_depot = "of the depot " if node == 0 else ""
            wrong = "below 0" if value < 0 else "not 0" if of_depot else f"above the capacity {loads.capacity}"
            raise InstanceError(
                f"the pickup {of_depot}is {text}, {wrong}.",
                where=table.where(row, column),
                remedy="Give 0 or more, up to the capacity; nothing is picked up at the depot.",
            )
    return [values.get(node, Decimal(0)) for node in range(len(table.rows))] if any(values.values()) else []


def compare_units(unit: Unit | None, wanted: Unit | None, where: Where, called: tuple[str, str]) -> Decimal:
    """How many of the units that are wanted a unit is; `called` names the amounts in both."""
    if unit is None or wanted is None or unit == wanted:
        return Decimal(1)
    if unit.family != wanted.family:
        raise FormatError(
            f"the {called[0]} are in {unit.name}, but the {called[1]} are in {wanted.name}.",
            where=where,
            remedy="Give both in the same unit.",
        )
    return unit.size / wanted.size


def _turn_into(unit: Unit, amounts: Amounts, where: Where, source: str) -> Amounts:
    """Convert the demands to the unit of the vehicles."""
    assert amounts.unit is not None
    if amounts.unit.family != unit.family:
        raise FormatError(
            f"the demands are in {amounts.unit.name}, but the capacities of the vehicles are in {unit.name}.",
            where=where,
            remedy="Give both in the same unit.",
        )
    warn_of_input(source, f"converted the demands from {amounts.unit.name} to {unit.name}, like the vehicles.")
    values = [value * amounts.unit.size / unit.size for value in amounts.values]
    return replace(amounts, values=values, unit=unit)


def _says_nothing(depot: Row, column: Column) -> bool:
    return depot.kind(column.index) == "text" and is_blank(depot.text(column.index))


def _fit_unit(capacity: Amounts, unit: Unit | None, entry: Entry) -> Decimal:
    """Convert the capacity to the unit of the demands."""
    if capacity.unit is None or unit is None or capacity.unit == unit:
        return capacity.values[0]
    if capacity.unit.family != unit.family:
        raise entry.fault(
            f"the capacity {shorten(entry.text)} is not in {unit.name} like the demands.", f"Give it in {unit.name}."
        )
    return capacity.values[0] * capacity.unit.size / unit.size


def _find_capacity(table: Table, option: float | Decimal | str | None) -> Entry:
    """Find the capacity: in the option, a comment, a label around the table, or a column."""
    if option is not None:
        return Entry(str(option).strip(), "text", Where(field="capacity"))
    found: list[Entry] = []
    if "capacity" in table.grid.directives:
        value, line = table.grid.directives["capacity"]
        found.append(Entry(value, "text", Where(line=line, field="capacity")))
    found += find_label(table, "capacity", STOPS)
    column = table.header.columns.get("capacity")
    if column is not None:
        found += [entry for row in table.rows if (entry := table.entry(row, column)).text]
    if not found:
        raise FormatError.about(
            "capacity",
            "the capacity is missing.",
            "Give the most stops of a vehicle: --capacity 20."
            if table.header.columns["demand"].heading == ""
            else _SHEET_REMEDY
            if table.grid.sheet
            else _TEXT_REMEDY,
        )
    for other in found[1:]:
        if other.text != found[0].text:
            raise FormatError(
                f"capacity is given twice: {shorten(found[0].text)} and {shorten(other.text)}.",
                where=replace(other.where, field="capacity"),
                remedy="Keep one of the two. For vehicles that differ, give a table of vehicles: --vehicles.",
            )
    return found[0]
