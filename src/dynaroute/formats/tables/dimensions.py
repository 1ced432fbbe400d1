"""Read demands, pickups and capacities in several dimensions: columns such as "demand kg" and "demand pallets"."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from dynaroute.base.decimals import scale_to_integers
from dynaroute.base.display import show_list
from dynaroute.base.errors import FormatError, InstanceError, UnsupportedError, Where, placed
from dynaroute.formats.tables.cells.amounts import Amounts, Notation, is_blank
from dynaroute.formats.tables.cells.cells import Row
from dynaroute.formats.tables.headers import Column
from dynaroute.formats.tables.loads import WholeLoads, read_column
from dynaroute.formats.tables.table import Table, find_label
from dynaroute.formats.tables.words import STOPS
from dynaroute.problem.instance import LARGEST_INTEGER

Capacities = Mapping[str, Decimal]  # of each dimension
Elsewhere = Callable[[], Notation | None]


def refuse_plain_demands(table: Table, capacities: Capacities) -> None:
    """Raise if vehicles have a capacity in each of several dimensions, but the demands name none."""
    if capacities:
        names = show_list(list(capacities))
        raise FormatError(
            f"the vehicles have capacities for {names}, but the demands name no dimension.",
            where=Where(line=table.header.line, field="demand"),
            remedy=f"Give a column for each, such as 'demand {next(iter(capacities))}'.",
        )


def read_several_loads(table: Table, option: object, given: Capacities, elsewhere: Elsewhere) -> WholeLoads:
    """Read the demands, the pickups and the capacities of every dimension.

    Parameters
    ----------
    table
        The stops, the depot first.
    option
        A single capacity that the user gave, which cannot apply.
    given
        Capacities of the vehicles' own table, which override those of this one; empty without it.
    elsewhere
        Returns the decimal separator of the rest of the table.

    Raises
    ------
    DynarouteError
        If a cell is no amount, or demands and capacities name different dimensions.
    """
    if option is not None:
        names = " and ".join(table.header.dimensions)
        further = [each for role in ("demand", "pickup", "capacity") for each in table.header.list_amounts(role)[1:]]
        raise UnsupportedError(
            f"one capacity is given, but the demands are in {names}.",
            where=Where(field="capacity"),
            remedy=f"Name one for each: 'capacity {table.header.dimensions[0]}'.",
            names=[column.heading for column in further],
        )
    _refuse_other_dimensions(table, given)
    capacities = _find_given(table, given) if given else _read_capacities(table, elsewhere)
    amounts, written = {}, list[Amounts]()
    for role in ("demand", "pickup"):
        columns = table.header.amounts.get(role, (None,) * len(capacities))
        read = [_read_amounts(table, column, elsewhere) for column in columns]
        written += [column for _, column in read if column is not None and role == "demand"]
        amounts[role] = [values for values, _ in read]
        for column, values, (capacity, _) in zip(columns, amounts[role], capacities, strict=True):
            if column is not None:
                _refuse_faulty(table, column, values, capacity)
    _refuse_rows_without_demand(table)
    flat = [value for of_role in amounts.values() for values in of_role for value in values]
    whole, scale = scale_to_integers([*(capacity for capacity, _ in capacities), *flat])
    count = len(capacities)
    for amount, (_, where) in zip(whole, capacities, strict=False):
        if amount > LARGEST_INTEGER:
            message = f"the capacity is too large; the largest possible is {LARGEST_INTEGER}."
            raise InstanceError(message, where=where, remedy="Use a larger unit, or fewer decimals.")
    arrays = np.array(whole[count:], dtype=object).reshape(2, count, len(table.rows)).transpose(0, 2, 1)
    collected = arrays[1] if (arrays[1] != 0).any() else None
    return WholeLoads(arrays[0], collected, tuple(whole[:count]), scale, tuple(written))


def _refuse_other_dimensions(table: Table, given: Capacities) -> None:
    """Raise if demands, or pickups, and capacities name different dimensions."""
    header, line = table.header, table.header.line
    if "demand" not in header.amounts and "pickup" not in header.amounts:
        refuse_plain_demands(table, dict.fromkeys(header.dimensions, Decimal(0)))
    asked = {
        name.casefold(): column
        for role in ("demand", "pickup")
        for name, column in zip(header.dimensions, header.amounts.get(role, ()), strict=False)
        if column is not None
    }
    if not given:
        _refuse_plain_capacity(table)
    held = {name.casefold(): name for name in given} or {
        name.casefold(): name
        for name, column in zip(header.dimensions, header.amounts["capacity"], strict=True)
        if column is not None
    }
    for name, column in asked.items():
        if name not in held:
            asked_name = column.role.partition(" ")[2]
            raise UnsupportedError(
                f"no capacity is given for {asked_name}, but for {show_list(list(held.values()))}.",
                where=Where(line=line, field=column.heading),
                remedy=f"Add a column 'capacity {asked_name}'.",
                names=[column.heading],
            )
    for key, name in held.items():
        if key not in asked:
            raise FormatError(
                f"there is a capacity for {name}, but no demand.",
                where=Where(line=line, field=f"capacity {name}"),
                remedy=f"Add a column 'demand {name}', or leave the capacity out.",
            )


def _refuse_plain_capacity(table: Table) -> None:
    """Raise if the table has no capacity by dimension, or one that names none."""
    header = table.header
    directives = table.grid.directives
    plain = [Where(line=directives["capacity"][1], field="capacity")] if "capacity" in directives else []
    plain += [entry.where for entry in find_label(table, "capacity", STOPS)]
    if "capacity" in header.amounts and not plain:
        return
    names, example = show_list(list(header.dimensions)), header.dimensions[0]
    is_named = plain or "capacity" in header.columns
    told = "the capacity names no dimension" if is_named else "the capacities are missing"
    raise FormatError(
        f"{told}; demands are in {names}.",
        where=plain[0] if plain else Where(line=header.line, field="capacity"),
        remedy=f"Give a column for each, such as 'capacity {example}', or a table of vehicles: --vehicles.",
    )


def _find_given(table: Table, given: Capacities) -> list[tuple[Decimal, Where]]:
    by_name = {name.casefold(): amount for name, amount in given.items()}
    return [(by_name[name.casefold()], Where(field="capacity")) for name in table.header.dimensions]


def _read_capacities(table: Table, elsewhere: Elsewhere) -> list[tuple[Decimal, Where]]:
    """Read the capacity of every dimension, which may stand in any row."""
    found = []
    for name, column in zip(table.header.dimensions, table.header.amounts["capacity"], strict=True):
        assert column is not None  # other dimensions were refused before
        rows = [row for row in table.rows if not _is_empty(row, column)]
        if not rows:
            where = table.where(table.rows[0], column)
            raise FormatError(f"the capacity for {name} is missing.", where=where, remedy="Write it in the first row.")
        values = read_column(table, column, rows, elsewhere).values
        for row, value in zip(rows, values, strict=True):
            _refuse_unscalable(value, table.where(row, column))
            if value <= 0:
                where = table.where(row, column)
                raise InstanceError(f"the capacity for {name} is {value}.", where=where, remedy="It must be above 0.")
            if value != values[0]:
                raise FormatError(
                    f"the capacity for {name} is given twice: {values[0]} and {value}.",
                    where=table.where(row, column),
                    remedy="Keep one of the two. For vehicles that differ, give a table of vehicles: --vehicles.",
                )
        found.append((values[0], table.where(rows[0], column)))
    return found


def _read_amounts(table: Table, column: Column | None, elsewhere: Elsewhere) -> tuple[list[Decimal], Amounts | None]:
    """Read one column; blank cells are 0, and so is a dimension without a column."""
    nodes = [] if column is None else [node for node, row in enumerate(table.rows) if not _is_empty(row, column)]
    if column is None or not nodes:
        return [Decimal(0)] * len(table.rows), None
    amounts = read_column(table, column, [table.rows[node] for node in nodes], elsewhere)
    values = dict(zip(nodes, amounts.values, strict=True))
    return [values.get(node, Decimal(0)) for node in range(len(table.rows))], amounts


def _refuse_faulty(table: Table, column: Column, values: Sequence[Decimal], capacity: Decimal) -> None:
    """Raise if an amount is negative, of the depot, or above the capacity although its stop must be served."""
    may_be_left_out = not {"prize", "priority"}.isdisjoint(table.header.columns)
    for node, (row, value) in enumerate(zip(table.rows, values, strict=True)):
        wrong = (
            "below 0"
            if value < 0
            else "not 0 at the depot"
            if node == 0 and value
            else f"above the capacity {capacity}"
            if value > capacity and not may_be_left_out
            else ""
        )
        _refuse_unscalable(value, table.where(row, column))
        if wrong:
            raise InstanceError(
                f"the amount is {row.text(column.index)}, {wrong}.",
                where=replace(table.where(row, column), customer=node or None),
                remedy="Give 0 or more, up to the capacity, and nothing at the depot.",
            )


def _refuse_unscalable(value: Decimal, where: Where) -> None:
    """Raise if a number is beyond all scales, here where its place is known."""
    with placed(lambda _: where):
        scale_to_integers([value])


def _refuse_rows_without_demand(table: Table) -> None:
    """Raise if a customer's row has no amount in any dimension; one of them is enough."""
    columns = [column for role in ("demand", "pickup") for column in table.header.list_amounts(role)]
    for row in table.rows[1:]:
        if all(_is_empty(row, column) for column in columns):
            raise table.missing(row, columns[0])


def _is_empty(row: Row, column: Column) -> bool:
    return row.kind(column.index) == "text" and is_blank(row.text(column.index))
