"""CSV files: a header, the depot in the first row, one customer in each other row."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain
from pathlib import Path

import numpy as np

from dynaroute.display import show_list
from dynaroute.errors import FormatError, OptionError, UnsupportedError, Where, placed, warn_of_input
from dynaroute.formats.numbers import (
    format_load,
    format_number,
    parse_decimal,
    parse_float,
    refuse_off_globe,
    scale_quantities,
)
from dynaroute.formats.text import one_line, refuse_many_pieces, shorten, split_lines
from dynaroute.instance import Instance
from dynaroute.lengths import ROUNDING_CODES
from dynaroute.vocabulary import Metric, Rounding, join_with_or

__all__ = ["format_csv", "parse_csv"]

_DELIMITERS = ",;\t"
_SYNONYMS = {"latitude": "lat", "longitude": "lon", "lng": "lon", "long": "lon"}
_KNOWN_COLUMNS = ("id", "x", "y", "lat", "lon", "demand")
_DIRECTIVE = re.compile(r"#\s*(capacity|name|rounding)\s*[:=](.*)", re.IGNORECASE)
_DELIMITER_LINE = re.compile(r"sep=(.)", re.IGNORECASE)  # spreadsheets write and obey it
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")


@dataclass(frozen=True)
class _Row:
    """The cells of one node by their columns."""

    cells: dict[str, str]
    line: int

    def where(self, column: str) -> Where:
        return Where(line=self.line, field=column)


@dataclass(frozen=True)
class _Header:
    """The names of the columns, and how cells are separated."""

    columns: list[str]
    delimiter: str
    line: int


@dataclass(frozen=True)
class _Table:
    """What the text holds, before it is understood."""

    header: _Header
    rows: list[_Row]
    directives: dict[str, tuple[str, int]]
    commented_rows: list[int]


def parse_csv(text: str, *, capacity: float | Decimal | None = None, source: str = "") -> Instance:
    """Read an instance from a table.

    Parameters
    ----------
    text
        The file's text: columns id (optional), demand, and x and y, or lat and lon in degrees. Lines
        ``# capacity: 50``, ``# name: ...`` and ``# rounding: none|nearest|up`` may come first.
    capacity
        Capacity that goes before the text's own.
    source
        The file's path: named in warnings, and its stem is the name of an instance without one.

    Raises
    ------
    DynarouteError
        If the table cannot be read or is no problem.
    """
    table = _read_table(text)
    axes = _choose_axes(table)
    if not table.rows:
        raise FormatError(
            "there is no row below the header.",
            where=Where(line=table.header.line),
            remedy="The first row is the depot, the others are customers.",
        )
    exact_capacity, capacity_place = _read_capacity(table, capacity)
    rounding = _read_rounding(table)
    table = _with_decimal_points(table, axes, source)
    coordinates = np.array([[_read_axis(row, axis) for axis in axes] for row in table.rows])
    names = _read_names(table)
    metric: Metric = "great_circle" if axes == ("lat", "lon") else "euclidean"

    def place(where: Where) -> Where:
        if where.field == "capacity":
            return capacity_place
        if where.field == "demands":
            return replace(where, field="demand", line=table.rows[where.customer or 0].line)
        if where.customer is not None:
            return replace(where, line=table.rows[where.customer].line)
        return where

    with placed(place):
        quantities = scale_quantities([_read_demand(row, table) for row in table.rows], exact_capacity, names)
        instance = Instance(
            coordinates=coordinates,
            demands=np.array(quantities.demands),
            capacity=quantities.capacity,
            name=one_line(table.directives["name"][0]) if "name" in table.directives else Path(source).stem,
            rounding=rounding,
            metric=metric,
            customer_names=names,
            demand_scale=quantities.scale,
        )
    _warn_of_ignored(table, source)
    return instance


def format_csv(instance: Instance) -> str:
    """Write an instance as a table.

    Parameters
    ----------
    instance
        The problem.

    Raises
    ------
    UnsupportedError
        If it has a distance matrix, which this format cannot hold.
    """
    if instance.distances is not None or instance.coordinates is None:
        raise UnsupportedError(
            "a .csv file cannot hold a distance matrix.",
            where=Where(field="distances"),
            remedy="Write a .json file; without names of customers, .vrp will do too.",
        )
    return "\n".join([*_table_lines(instance), ""])


def _warn_of_ignored(table: _Table, source: str) -> None:
    ignored = [column for column in table.header.columns if column and column not in _KNOWN_COLUMNS]
    if any(row.cells.get("") for row in table.rows):
        ignored.append("without a name")
    if ignored:
        warn_of_input(source, f"ignored the columns {show_list(ignored)}; known are {', '.join(_KNOWN_COLUMNS)}.")
    if table.commented_rows:
        lines = show_list(table.commented_rows)
        warn_of_input(
            source, f"took the rows that start with '#' for comments, lines {lines}; ids with '#' need quotes."
        )


def _table_lines(instance: Instance) -> Iterator[str]:
    assert instance.coordinates is not None
    if instance.name:
        yield f"# name: {instance.name}"
    yield f"# capacity: {format_load(instance, instance.capacity)}"
    if instance.rounding != "none":
        yield f"# rounding: {instance.rounding}"
    yield "id,lat,lon,demand" if instance.metric == "great_circle" else "id,x,y,demand"
    names = [instance.customer_name(customer) for customer in range(1, instance.size + 1)]
    for name, place, demand in zip(
        [_unused_name(set(names)), *names], instance.coordinates.tolist(), instance.demands.tolist(), strict=True
    ):
        yield ",".join([_quote(name), *map(format_number, place), format_load(instance, demand)])


def _unused_name(names: set[str]) -> str:
    candidates = ("0", "depot", *(f"depot-{number}" for number in range(1, len(names) + 2)))
    return next(name for name in candidates if name not in names)


def _quote(name: str) -> str:
    # '#' because a line that starts with it is a comment
    return '"' + name.replace('"', '""') + '"' if set(name) & set('",;\t#') else name


def _read_table(text: str) -> _Table:
    header: _Header | None = None
    delimiter = ""
    rows: list[_Row] = []
    directives: dict[str, tuple[str, int]] = {}
    commented_rows: list[int] = []
    lines = enumerate(split_lines(text), start=1)
    for number, text_line in lines:
        line = text_line.strip(" ")  # spaces alone: a tab at the end is an empty cell
        if header is None and line.startswith('"#'):  # as spreadsheets write a comment with a comma
            line = line.rstrip(_DELIMITERS).strip('"')
        if line.startswith("#"):
            _read_directive(directives, line, number)
            if header is not None and line.count(header.delimiter) == len(header.columns) - 1:
                commented_rows.append(number)
        elif not line.strip(_DELIMITERS + " "):
            continue
        elif header is not None:
            rows.append(_read_row(line, lines, header, number))
        elif declared := _DELIMITER_LINE.fullmatch(line):
            delimiter = declared[1]
            refuse_many_pieces(text, delimiter)
        else:
            header = _read_header(line, lines, delimiter or max(_DELIMITERS, key=line.count), number)
    if header is None:
        raise FormatError("there is no header.", remedy="Start with a line 'id,x,y,demand'.")
    return _Table(header, rows, directives, commented_rows)


def _read_header(line: str, following: Iterator[tuple[int, str]], delimiter: str, number: int) -> _Header:
    names = [cell.lower() for cell in _split_cells(line, following, delimiter, number)]
    columns = [_SYNONYMS.get(name, name) for name in names]
    repeated = next((name for name in _KNOWN_COLUMNS if columns.count(name) > 1), None)
    if repeated is not None:
        raise FormatError(
            f"the column {repeated} comes twice.",
            where=Where(line=number, field=repeated),
            remedy="Keep one of the two.",
        )
    return _Header(columns, delimiter, number)


def _read_row(line: str, following: Iterator[tuple[int, str]], header: _Header, number: int) -> _Row:
    cells = _split_cells(line, following, header.delimiter, number)
    if len(cells) != len(header.columns):
        raise FormatError(
            f"the row has {len(cells)} cells, the header {len(header.columns)}.",
            where=Where(line=number),
            remedy="Give each row one cell a column.",
        )
    return _Row(dict(zip(header.columns, cells, strict=True)), number)


def _read_directive(directives: dict[str, tuple[str, int]], line: str, number: int) -> None:
    directive = _DIRECTIVE.fullmatch(line)
    if directive is None:
        return
    key, value = directive[1].lower(), directive[2].strip()
    if key != "name":
        value = value.rstrip(_DELIMITERS + " ")  # spreadsheets fill the line up with empty cells
    earlier, _ = directives.setdefault(key, (value, number))
    if earlier != value:
        raise FormatError(
            f"{key} is given twice, {shorten(earlier)} and {shorten(value)}.",
            where=Where(line=number, field=key),
            remedy="Keep one of the two.",
        )


def _split_cells(line: str, following: Iterator[tuple[int, str]], delimiter: str, number: int) -> list[str]:
    """Cut a line into cells, and with it those of the following lines that a cell in quotes goes on over."""
    lines = chain([line], (text for _, text in following))
    try:
        cells = next(
            csv.reader((f"{text}\n" for text in lines), delimiter=delimiter, skipinitialspace=True, strict=True)
        )
    except (csv.Error, TypeError, ValueError) as error:
        raise FormatError(
            f"the line cannot be cut into cells ({error}).", where=Where(line=number), remedy="Check the quotes."
        ) from error
    return [cell.strip() for cell in cells]


def _choose_axes(table: _Table) -> tuple[str, str]:
    columns = set(table.header.columns)
    where = Where(line=table.header.line, field="header")
    if columns & {"x", "y"} and columns & {"lat", "lon"}:
        raise FormatError(
            "there are columns for the plane (x, y) and for the globe (lat, lon).",
            where=where,
            remedy="Keep one of the two pairs.",
        )
    axes = ("lat", "lon") if columns & {"lat", "lon"} else ("x", "y")
    missing = [name for name in (*axes, "demand") if name not in columns]
    if missing:
        raise FormatError(
            f"the columns {', '.join(missing)} are missing."
            if len(missing) > 1
            else f"the column {missing[0]} is missing.",
            where=replace(where, field=", ".join(missing)),
            remedy="The first line must name the columns: demand, and x and y or lat and lon; id if you like.",
        )
    return axes


def _read_capacity(table: _Table, option: float | Decimal | None) -> tuple[Decimal, Where]:
    """The capacity, and the place to blame for it."""
    if option is not None:
        where = Where(field="capacity")
        try:
            return parse_decimal(str(option), where), where
        except FormatError as error:
            raise OptionError(error.message, where=where, remedy=error.remedy) from error
    if "capacity" not in table.directives:
        raise FormatError(
            "the capacity is missing.",
            where=Where(field="capacity"),
            remedy="Add a first line '# capacity: 50', or give the option capacity.",
        )
    value, line = table.directives["capacity"]
    where = Where(line=line, field="capacity")
    return parse_decimal(_with_point(value) if table.header.delimiter == ";" else value, where), where


def _read_rounding(table: _Table) -> Rounding:
    value, line = table.directives.get("rounding", ("none", 0))
    for rounding in ROUNDING_CODES:
        if value.lower() == rounding:
            return rounding
    raise FormatError(
        f"the rounding rule {shorten(value)} is unknown.",
        where=Where(line=line, field="rounding"),
        remedy=f"Use {join_with_or(tuple(ROUNDING_CODES))}.",
    )


def _with_decimal_points(table: _Table, axes: tuple[str, str], source: str) -> _Table:
    """Read 10,5 as 10.5 where cells are separated by semicolons, as spreadsheets of many countries write them."""
    numeric = (*axes, "demand")
    if table.header.delimiter != ";" or not any(
        _DECIMAL_COMMA.fullmatch(row.cells[column]) for row in table.rows for column in numeric
    ):
        return table
    rows = [
        _Row({**row.cells, **{column: _with_point(row.cells[column]) for column in numeric}}, row.line)
        for row in table.rows
    ]
    warn_of_input(source, "read decimal commas as decimal points.")
    return replace(table, rows=rows)


def _with_point(cell: str) -> str:
    return cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell) else cell


def _read_axis(row: _Row, axis: str) -> float:
    return refuse_off_globe(parse_float(row.cells[axis], row.where(axis)), axis, row.where(axis))


def _read_demand(row: _Row, table: _Table) -> Decimal:
    if row is table.rows[0] and not row.cells["demand"]:
        return Decimal(0)
    return parse_decimal(row.cells["demand"], row.where("demand"))


def _read_names(table: _Table) -> tuple[str, ...] | None:
    if "id" not in table.header.columns:
        return None
    lines: dict[str, int] = {}
    for index, row in enumerate(table.rows):
        if "\n" in row.cells["id"]:  # a quote astray would take whole rows into it
            raise FormatError(
                "the id goes on over a line end.", where=row.where("id"), remedy="Check the quotes; ids are one line."
            )
        name = one_line(row.cells["id"])
        if not name and index > 0:
            raise FormatError("the id is missing.", where=row.where("id"), remedy="Give each customer an id.")
        if name in lines:
            raise FormatError(
                f"the id {shorten(name)} comes twice, first on line {lines[name]}.",
                where=row.where("id"),
                remedy="Ids must differ.",
            )
        lines[name] = row.line
    return tuple(lines)[1:]
