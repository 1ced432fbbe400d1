"""Turn a table of stops into an instance."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from pathlib import Path

from dynaroute.base.display import show_list
from dynaroute.base.errors import DynarouteError, FormatError, OptionError, Where, placed, warn_of_input
from dynaroute.base.vocabulary import Language
from dynaroute.formats.ignored import NOTHING_IGNORED, Ignored
from dynaroute.formats.tables.assumptions import warn_of_assumptions
from dynaroute.formats.tables.cells.amounts import BARE_NUMBER, Notation, find_evidence, split_unit, tidy
from dynaroute.formats.tables.cells.cells import Grid, Row
from dynaroute.formats.tables.cells.units import Unit, find_unit
from dynaroute.formats.tables.depots import add_missing_depot, make_vehicles, put_depot_first, read_further_depots
from dynaroute.formats.tables.dimensions import read_several_loads, refuse_plain_demands
from dynaroute.formats.tables.headers import (
    ROWS_LOOKED_AT,
    Column,
    Header,
    Renames,
    advise_columns,
    find_header,
    score_header,
)
from dynaroute.formats.tables.loads import count_stops, read_loads, scale_loads
from dynaroute.formats.tables.matrix import Legs, read_legs
from dynaroute.formats.tables.places import warn_of_odd_places
from dynaroute.formats.tables.positions import read_positions
from dynaroute.formats.tables.requests import refuse_requests_of_stops
from dynaroute.formats.tables.rules import ROLES_OF_FIELDS, name_wished_vehicles, read_wishes
from dynaroute.formats.tables.shipments import read_shipments
from dynaroute.formats.tables.table import Table, sort_rows
from dynaroute.formats.tables.time_cells import read_service, read_windows
from dynaroute.formats.tables.words import STOPS, simplify
from dynaroute.formats.text import one_line, read_rounding, shorten
from dynaroute.formats.unsupported import find_request, is_descriptive
from dynaroute.problem.details import Details
from dynaroute.problem.instance import Instance

_GLOBE, _PLANE = ("lat", "lon"), ("x", "y")
_WANTED = tuple(frozenset((*axes, "demand")) for axes in (_GLOBE, _PLANE, ("position",)))
_STREETS = (  # as `simplify` writes them
    "address, street, city, town, zip, postcode, postal code, adresse, anschrift, strasse, plz, ort, stadt, rue, ville,"
    " code postal, direccion, calle, ciudad, codigo postal"
)
_ADDRESSES = frozenset(_STREETS.split(", "))
_WIDE_SPACE = re.compile(r"\s{2,}")
_WHOLE_POINT_ZERO = re.compile(r"[0-9]+\.0")


@dataclass(frozen=True)
class ReadingOptions:
    """The user's options for reading a table.

    Attributes
    ----------
    capacity
        Capacity of a vehicle; overrides the file's.
    sheet
        Sheet of a workbook. None: the first visible one that has a header.
    columns
        Meanings of columns whose headings do not show them.
    distances, durations
        Tables of legs, each with the path of its file.
    has_depot
        Whether one of the rows is the depot. If not, all rows are customers and a depot is added at the first one.
    unit
        Unit of the vehicles' capacities, if known; demands are converted to it.
    ignored
        Columns to plan without.
    capacities
        Capacity of a vehicle in each dimension, if the vehicles have several; they override the file's.
    """

    capacity: float | Decimal | str | None = None
    sheet: str | None = None
    columns: Renames = ()
    distances: Legs | None = None
    durations: Legs | None = None
    has_depot: bool = True
    unit: Unit | None = None
    ignored: Ignored = NOTHING_IGNORED
    capacities: Mapping[str, Decimal] = field(default_factory=dict)


def find_stops_header(grid: Grid, columns: Renames, ignored: Ignored = NOTHING_IGNORED) -> Header:
    """Find the header of a table of stops; it raises if two columns mean the same."""
    return find_header(grid, STOPS, columns, _WANTED, ignored)


def has_header(grid: Grid, columns: Renames, ignored: Ignored = NOTHING_IGNORED) -> bool:
    """Whether a sheet contains a table of stops, judging by its header."""
    roles = _find_roles(grid, columns, ignored)
    return roles is None or ("demand" in roles and bool(roles - {"demand", "capacity", "kind"}))  # or of vehicles


def has_places(grid: Grid, columns: Renames, ignored: Ignored = NOTHING_IGNORED) -> bool:
    """Whether a sheet may contain a table of stops, since its header has positions, although it has no demands."""
    roles = _find_roles(grid, columns, ignored)
    return roles is not None and bool(roles & {"lat", "lon", "x", "y", "position"})


def _find_roles(grid: Grid, columns: Renames, ignored: Ignored) -> set[str] | None:
    """Find out which columns a sheet has; None if two have the same meaning, which reading it reports."""
    if not grid.rows:
        return set()
    try:
        found = find_stops_header(grid, columns, ignored).columns
        return {role.partition(" ")[0] for role in found}  # without dimensions
    except OptionError:
        return set()  # the user named columns of another sheet
    except DynarouteError:
        return None


def parse_stops(grid: Grid, reading: ReadingOptions, source: str) -> Instance:
    """Make an instance from a table with one stop per row.

    Parameters
    ----------
    grid
        Rows of cells.
    reading
        The user's options.
    source
        The file's path, for notes; its stem names an instance without a name.

    Raises
    ------
    DynarouteError
        If the table cannot be read or is not a valid problem.
    """
    if not grid.rows:
        raise FormatError("there is no header.", remedy="Start with a line 'id,x,y,demand'.")
    has_matrix = reading.distances is not None
    wanted = (*_WANTED, frozenset(("demand",))) if has_matrix else _WANTED
    header = find_header(grid, STOPS, reading.columns, wanted, reading.ignored)
    reading.ignored.refuse_unknown(header.headings)
    axes = _choose_axes(header, grid, needs_places=not has_matrix)
    keys = _position_roles(header, axes) or ("id", "demand")
    if "demand" not in header.columns:
        unfilled = Column(len(header.headings), "", "demand")
        header = replace(header, columns={**header.columns, "demand": unfilled})
    table = put_depot_first(sort_rows(grid, header, keys, source), source)
    if not table.rows:
        raise FormatError(
            "there is no row below the header.",
            where=Where(line=header.line),
            remedy="The first row is the depot, the others are customers.",
        )
    if not reading.has_depot:
        table = add_missing_depot(table)
    table = count_stops(table, source)
    everywhere = replace(table, rows=[*table.rows, *table.depots])
    refuse_requests_of_stops(table)
    if not header.dimensions:
        refuse_plain_demands(table, reading.capacities)
    elsewhere = partial(_find_notation, table)
    several = read_several_loads(table, reading.capacity, reading.capacities, elsewhere) if header.dimensions else None
    plain = read_loads(table, reading.capacity, reading.unit, elsewhere, source) if several is None else None
    word, line = grid.directives.get("rounding", ("none", 0))
    rounding = read_rounding(word.lower(), Where(line=line, field="rounding"))
    coordinates, written = read_positions(everywhere, axes, elsewhere) if axes else (None, [])
    names, ids = _read_names(table)
    windows = read_windows(everywhere, source)
    places = read_further_depots(table, coordinates, windows)
    nodes, count = None if ids is None else (*ids, *(place.name for place in places)), len(table.rows)
    lines = [row.line for row in everywhere.rows]
    legs = read_legs((reading.distances, reading.durations), nodes, lines, coordinates, source)
    with placed(_make_place(table, Where(field="capacity") if plain is None else plain.place)):
        loads = several if plain is None else scale_loads(table, plain, names, elsewhere)
        assert loads is not None  # one of the two was read
        demands, collected = loads.demands, loads.pickups
        shipments, wishes = read_shipments(table), read_wishes(table, source)
        if shipments is not None:
            demands, collected = shipments.move_demands(demands, collected)
            wishes |= shipments.fields
        instance = Instance(
            coordinates=None if coordinates is None else coordinates[:count],
            demands=demands,
            pickups=collected,
            capacity=loads.capacities[0],
            dimensions=header.dimensions or None,
            name=one_line(grid.directives["name"][0]) if "name" in grid.directives else Path(source).stem,
            distances=legs.distances,
            durations=legs.durations,
            matrix_unit=legs.unit,
            rounding=rounding,
            metric="great_circle" if axes in (_GLOBE, ("position",)) else "euclidean",
            customer_names=names,
            demand_scale=loads.scale,
            service=read_service(table),
            windows=None if windows is None else windows[:count],
            places=places,
            vehicles=make_vehicles(places, loads.capacities, name_wished_vehicles(wishes)),
            details=_read_details(table, names),
            language=_find_language(header),
            depot_name="" if ids is None or BARE_NUMBER.fullmatch(ids[0]) else ids[0],
            **wishes,
        )
    warn_of_assumptions(table, [*loads.written, *written], names, source)
    if loads.note:
        warn_of_input(source, loads.note)
    warn_of_odd_places(instance, {column.language for column in header.columns.values()}, source)
    return instance


def _find_language(header: Header) -> Language:
    """The language of most headings that are not English; many English words are used everywhere."""
    found = Counter(column.language for column in header.columns.values() if column.language != "en")
    return found.most_common(1)[0][0] if found else "en"


def _choose_axes(header: Header, grid: Grid, *, needs_places: bool) -> tuple[str, ...]:
    """Roles of the columns with positions; none if a matrix replaces them."""
    columns = header.columns
    globe, plane = [axis for axis in _GLOBE if axis in columns], [axis for axis in _PLANE if axis in columns]
    where = Where(line=header.line, field="header")
    if globe and plane:
        raise FormatError(
            "there are columns for both a plane (x, y) and the globe (lat, lon).",
            where=where,
            remedy="Keep one of the two pairs, or choose one: --columns x=x,y=y.",
        )
    axes: tuple[str, ...] = _GLOBE if globe else _PLANE
    has_pairs = "position" in columns and (columns["position"].tier < 2 or _holds_pairs(grid, header))
    if not globe and not plane and has_pairs:
        axes = ("position",)
    if not needs_places and not globe and not plane and not has_pairs:
        axes = ()
    missing = [name for name in (*axes, "demand") if name not in columns]
    are_counted = missing == ["demand"] and (axes or "id" in columns) and "pickup" not in columns
    if missing and (not are_counted or _find_example(header, grid)):
        raise _missing_columns(missing, header, grid)
    return axes


def _holds_pairs(grid: Grid, header: Header) -> bool:
    """Whether a column with a vague heading has two numbers in each cell."""
    index = header.columns["position"].index
    rows = grid.rows[header.last + 1 : header.last + 4]
    return bool(rows) and all(len(BARE_NUMBER.findall(row.text(index))) >= 2 for row in rows)


def _missing_columns(missing: Sequence[str], header: Header, grid: Grid) -> FormatError:
    found = [heading for heading in header.headings if heading]
    remedy = "One row must name the columns: demand, x and y (or lat and lon), and optionally id."
    if found and not any(character.isalpha() for heading in found for character in heading):
        told = "the first row contains numbers, not names of columns"
    elif any(score_header(_WIDE_SPACE.split(row.text(0)), STOPS, ()) > 1 for row in grid.rows[:ROWS_LOOKED_AT]):
        told, remedy = "the cells are separated only by spaces", "Save the table as CSV."
    elif score_header([row.text(0) for row in grid.rows[:ROWS_LOOKED_AT]], STOPS, ()) > 2:
        told, remedy = "the headings are in the first column", "Swap rows and columns: one row per stop."
    elif "demand" not in missing and any(simplify(heading) in _ADDRESSES for heading in found):
        told = f"found {show_list(found, 30)}"
        remedy = "Addresses are not looked up: add columns lat and lon in degrees, or give distances with --matrix."
    else:
        told = f"found {show_list(found, 30)}" if found else "there is no header"
        example = _find_example(header, grid)
        if example is not None:
            remedy += f" Or say what a column means: {advise_columns({missing[-1]: example}, header.columns.values())}."
            if missing == ["demand"] and "pickup" not in header.columns:
                remedy += f" If each stop counts as 1, plan without it: --ignore {shlex.quote(example.heading)}."
    names = f"the columns {', '.join(missing)} are" if len(missing) > 1 else f"the column {missing[0]} is"
    sheet = f" in the sheet {grid.sheet!r}" if grid.sheet else ""
    return FormatError(
        f"{names} missing{sheet}; {told}.",
        where=Where(line=header.line, field=", ".join(missing)),
        remedy=remedy,
    )


def _find_example(header: Header, grid: Grid) -> Column | None:
    """A column that could be the missing one, for the message: the last column of numbers without a role."""
    rows = grid.rows[header.last + 1 :]
    columns = [
        column
        for column in header.others
        if not column.is_ignored
        and not is_descriptive(column.heading)
        and simplify(column.heading) not in _ADDRESSES
        and _holds_numbers(texts := [row.text(column.index) for row in rows])
        and find_request(column.heading, texts, "stops") is None
    ]
    return columns[-1] if columns else None


def _holds_numbers(texts: Sequence[str]) -> bool:
    """Whether all cells that are filled contain a number, which may have a unit."""
    filled = [split_unit(tidy(text)) for text in texts if text]
    return bool(filled) and all(
        BARE_NUMBER.fullmatch(number.lstrip("+-")) and (not unit or find_unit(unit)) for number, unit in filled
    )


def _position_roles(header: Header, axes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(axis for axis in axes if axis in header.columns)


def _find_notation(table: Table) -> Notation | None:
    """The decimal separator of the whole table, if its numbers agree."""
    columns = [column for role, column in table.header.columns.items() if role in (*_GLOBE, *_PLANE, "demand")]
    found: set[Notation] = set()
    for column in columns:
        found |= find_evidence(row.text(column.index) for row in table.rows if row.kind(column.index) == "text")
    return found.pop() if len(found) == 1 else None


def _read_names(table: Table) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """The names of the customers, and those of all nodes with the depot first."""
    column = table.header.columns.get("id")
    if column is None:
        return None, None
    names = [one_line(row.text(column.index)) for row in table.rows]
    if column.tier == 2 and (len(set(names)) < len(names) or not all(names[1:])):
        return None, None  # a customer who ordered twice; the column is passed on like any other
    if all(_WHOLE_POINT_ZERO.fullmatch(name) for name in names[1:]):  # programs write 7 as 7.0 if a cell is blank
        names = [name.removesuffix(".0") for name in names]
    lines: dict[str, int] = {}
    for index, (row, name) in enumerate(zip(table.rows, names, strict=True)):
        if fault := _find_fault(row, column, name, lines, table, is_depot_row=index == 0):
            fault.where = table.where(row, column)
            raise fault
        lines[name] = row.line
    return tuple(names[1:]), tuple(names)


def _find_fault(
    row: Row, column: Column, name: str, lines: Mapping[str, int], table: Table, *, is_depot_row: bool
) -> FormatError | None:
    """The error for a wrong id; None if it is right."""
    if row.kind(column.index) in ("error", "formula"):
        told = row.text(column.index) or "a formula, but its result is not stored in the file"
        remedy = "Save the file in a spreadsheet program, which stores the results; or type the id."
        return FormatError(f"the id is {told}.", remedy=remedy)
    if table.grid.delimiter and "\n" in row.text(column.index):  # a stray quote would swallow whole rows
        return FormatError("the id contains a line break.", remedy="Check the quotes; an id must be on one line.")
    if not name and not is_depot_row:
        return FormatError("the id is missing.", remedy="Give each customer an id.")
    if name in lines:
        message = f"the id {shorten(name)} is used twice, first on line {lines[name]}."
        return FormatError(message, remedy="Give every stop a different id.")
    return None


def _read_details(table: Table, names: tuple[str, ...] | None) -> Details | None:
    """The columns to pass on to the output: all others that are not hidden."""
    header = table.header
    columns = list(header.others)
    identity = header.columns.get("id")
    if identity is not None and names is None:
        columns.insert(0, identity)
    kept = [
        column
        for column in columns
        if column.index not in table.grid.hidden_columns and any(row.text(column.index) for row in table.rows)
    ]
    if not kept:
        return None
    seen: Counter[str] = Counter()
    headings = []
    for column in kept:
        heading = one_line(column.heading)
        seen[heading] += 1
        headings.append(heading if seen[heading] == 1 else f"{heading} ({seen[heading]})")
    return Details(tuple(headings), tuple(tuple(row.text(column.index) for column in kept) for row in table.rows))


def _make_place(table: Table, capacity_place: Where) -> Callable[[Where], Where]:
    """Make a function that converts a field and customer of an instance to a cell of the table."""

    def place(where: Where) -> Where:
        if where.file is not None or where.line is not None:
            return where
        if where.field == "capacity":
            return capacity_place
        row = table.rows[where.customer or 0]
        roles = {"demands": "demand", "customer_names": "id", "service": "service", **ROLES_OF_FIELDS}
        column = table.header.columns.get(roles.get(where.field or "", "")) or (
            table.header.columns.get("window") or table.header.columns.get("latest")
            if where.field == "windows"
            else None
        )
        if column is not None:
            cell = table.where(row, column)
            return replace(where, line=cell.line, field=cell.field)
        if where.customer is not None:
            return replace(where, line=row.line)
        return where

    return place
