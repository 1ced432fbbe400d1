"""From a table of stops to an instance."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dynaroute.details import Details
from dynaroute.display import show_list
from dynaroute.errors import DynarouteError, FormatError, OptionError, UnsupportedError, Where, placed, warn_of_input
from dynaroute.formats.numbers import Quantities, refuse_off_globe, refuse_unmeasurable, scale_quantities
from dynaroute.formats.requests import asks_for_more
from dynaroute.formats.tables.amounts import Amounts, Entry, Notation, find_evidence, is_blank, read_amounts
from dynaroute.formats.tables.cells import Grid, Row
from dynaroute.formats.tables.degrees import read_degrees, split_pair
from dynaroute.formats.tables.headers import Column, Header, Renames, find_header, score_header
from dynaroute.formats.tables.matrix import read_matrix
from dynaroute.formats.tables.places import warn_of_odd_places
from dynaroute.formats.tables.table import Table, find_label, sort_rows
from dynaroute.formats.tables.time_cells import read_service, read_windows
from dynaroute.formats.tables.units import Unit
from dynaroute.formats.tables.words import STOPS, Language, is_depot, read_truth, simplify
from dynaroute.formats.text import one_line, shorten
from dynaroute.instance import Instance
from dynaroute.lengths import ROUNDING_CODES
from dynaroute.vocabulary import Rounding, join_with_or

__all__ = ["Reading", "has_header", "parse_stops"]

_GLOBE, _PLANE = ("lat", "lon"), ("x", "y")
_WANTED = tuple(frozenset((*axes, "demand")) for axes in (_GLOBE, _PLANE, ("position",)))
_ROWS_LOOKED_AT = 60
_PICKUPS = frozenset(("pickup", "pickups", "pick up", "abholmenge", "abholung", "collecte", "recogida"))
_WHOLE_POINT_ZERO = re.compile(r"[0-9]+\.0")


@dataclass(frozen=True)
class Reading:
    """How the user wants a table to be read.

    Attributes
    ----------
    capacity
        Capacity of a vehicle; goes before the file's own.
    sheet
        Name of the sheet of a workbook; None: the first visible one that has a header.
    columns
        What columns are, where their headings do not say it.
    distances, durations
        Tables of legs, each with the path of its file.
    """

    capacity: float | Decimal | str | None = None
    sheet: str | None = None
    columns: Renames = ()
    distances: tuple[Grid, str] | None = None
    durations: tuple[Grid, str] | None = None


@dataclass
class _Understood:
    """What is found out about a table on the way, for the notes at its end."""

    table: Table
    source: str
    notations: set[Notation] = field(default_factory=set)
    grouped: str = ""

    def keep(self, amounts: Amounts) -> Amounts:
        if amounts.notation is not None:
            self.notations.add(amounts.notation)
        self.grouped = self.grouped or amounts.grouped
        return amounts


def has_header(grid: Grid, columns: Renames) -> bool:
    """Whether a sheet holds a table of stops, as far as its header tells."""
    if not grid.rows:
        return False
    try:
        header = find_header(grid, STOPS, columns, _WANTED)
    except DynarouteError:
        return True  # of two columns that claim the same there is more to say than that this is none
    return "demand" in header.columns and len(header.columns) > 1


def parse_stops(grid: Grid, reading: Reading, source: str) -> Instance:
    """Make an instance of a table with a stop in each row.

    Parameters
    ----------
    grid
        Rows of cells.
    reading
        What the user said about them.
    source
        The file's path: named in notes, and its stem is the name of an instance without one.

    Raises
    ------
    DynarouteError
        If the table cannot be read or is no problem.
    """
    if not grid.rows:
        raise FormatError("there is no header.", remedy="Start with a line 'id,x,y,demand'.")
    has_matrix = reading.distances is not None
    wanted = (*_WANTED, frozenset(("demand",))) if has_matrix else _WANTED
    header = find_header(grid, STOPS, reading.columns, wanted)
    axes = _choose_axes(header, grid, needs_places=not has_matrix)
    keys = _position_roles(header, axes) or ("id", "demand")
    table = _put_depot_first(sort_rows(grid, header, keys, source), source)
    if not table.rows:
        raise FormatError(
            "there is no row below the header.",
            where=Where(line=header.line),
            remedy="The first row is the depot, the others are customers.",
        )
    _refuse_pickups(table)
    known = _Understood(table, source)
    elsewhere = _find_notation(table)
    capacity, capacity_place, demands, unit = _read_loads(known, reading, elsewhere)
    rounding = _read_rounding(grid)
    coordinates = _read_places(known, axes, elsewhere) if axes else None
    names, ids = _read_names(table)
    distances, durations = (
        None if given is None else read_matrix(given[0], kind, ids, len(table.rows), given[1])
        for given, kind in ((reading.distances, "distance"), (reading.durations, "duration"))
    )
    with placed(_make_place(table, capacity_place)):
        quantities: Quantities = scale_quantities(demands, capacity, names)
        instance = Instance(
            coordinates=coordinates,
            demands=np.array(quantities.demands),
            capacity=quantities.capacity,
            name=one_line(grid.directives["name"][0]) if "name" in grid.directives else Path(source).stem,
            distances=None if distances is None else distances.values,
            durations=None if durations is None else durations.values,
            rounding=rounding,
            metric="great_circle" if axes in (_GLOBE, ("position",)) else "euclidean",
            customer_names=names,
            demand_scale=quantities.scale,
            service=read_service(table),
            windows=read_windows(table),
            details=_read_details(table),
        )
    _tell(known, names, unit)
    if quantities.note:
        warn_of_input(source, quantities.note)
    warn_of_odd_places(instance, {column.language for column in header.columns.values()}, source)
    return instance


def _choose_axes(header: Header, grid: Grid, *, needs_places: bool) -> tuple[str, ...]:
    """Roles of the columns with positions; none where a matrix makes them needless."""
    columns = header.columns
    globe, plane = [axis for axis in _GLOBE if axis in columns], [axis for axis in _PLANE if axis in columns]
    where = Where(line=header.line, field="header")
    if globe and plane:
        raise FormatError(
            "there are columns for the plane (x, y) and for the globe (lat, lon).",
            where=where,
            remedy="Keep one of the two pairs, or say which counts: --columns x=x,y=y.",
        )
    axes: tuple[str, ...] = _GLOBE if globe else _PLANE
    if not globe and not plane and "position" in columns:
        axes = ("position",)
    if not needs_places and not globe and not plane and "position" not in columns:
        axes = ()
    missing = [name for name in (*axes, "demand") if name not in columns]
    if missing:
        raise _missing_columns(missing, header, grid)
    return axes


def _missing_columns(missing: Sequence[str], header: Header, grid: Grid) -> FormatError:
    found = [heading for heading in header.headings if heading]
    remedy = "One row must name the columns: demand, and x and y or lat and lon; id if you like."
    if found and not any(character.isalpha() for heading in found for character in heading):
        told = "the first row holds numbers, not the names of columns"
    elif score_header([row.text(0) for row in grid.rows[:_ROWS_LOOKED_AT]], STOPS, ()) > 2:
        told, remedy = "the headings stand in the first column", "Exchange rows and columns: a row for each stop."
    else:
        told = f"found are {show_list(found, 30)}" if found else "there is no header"
        example = next((name for name in found if name not in {c.heading for c in header.columns.values()}), "Mng")
        remedy += f" Or say which is which: --columns '{example}={missing[-1]}'."
    names = f"the columns {', '.join(missing)} are" if len(missing) > 1 else f"the column {missing[0]} is"
    sheet = f" in the sheet {grid.sheet!r}" if grid.sheet else ""
    return FormatError(
        f"{names} missing{sheet}; {told}.",
        where=Where(line=header.line, field=", ".join(missing)),
        remedy=remedy,
    )


def _position_roles(header: Header, axes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(axis for axis in axes if axis in header.columns)


def _find_notation(table: Table) -> Notation | None:
    """What is decimal in the numbers of the whole table, if they agree."""
    columns = [column for role, column in table.header.columns.items() if role in (*_GLOBE, *_PLANE, "demand")]
    found: set[Notation] = set()
    for column in columns:
        found |= find_evidence(table.entry(row, column) for row in table.rows)
    return found.pop() if len(found) == 1 else None


def _put_depot_first(table: Table, source: str) -> Table:
    """Find the depot: marked in a column, the row that is called so, or the first one."""
    rows, columns = table.rows, table.header.columns
    if not rows:
        return table
    place, table = _find_marked(table)
    if place is None:
        named = [index for index, row in enumerate(rows) if _is_called_depot(row, table)]
        if len(named) == 2 and named == [0, len(rows) - 1] and _same_cells(rows[0], rows[-1], table):
            warn_of_input(source, f"left out the last row, line {rows[-1].line}: it is the depot again.")
            return replace(table, rows=rows[:-1])
        if len(named) != 1 or named[0] == 0:
            return table
        place = named[0]
    if place == 0:
        return table
    label = rows[place].text(columns["id"].index) if "id" in columns else ""
    warn_of_input(source, f"took line {rows[place].line}{f' ({label})' if label else ''} for the depot.")
    return replace(table, rows=[rows[place], *rows[:place], *rows[place + 1 :]])


def _find_marked(table: Table) -> tuple[int | None, Table]:
    """The row that a column marks as the depot; and the table, whose column is a further one if it marks nothing."""
    for role in ("depot", "kind"):
        column = table.header.columns.get(role)
        if column is None:
            continue
        texts = [row.text(column.index) for row in table.rows]
        marked = [index for index, text in enumerate(texts) if is_depot(text) or (role == "depot" and read_truth(text))]
        if len(marked) > 1 or (role == "depot" and not marked and len({text for text in texts if text}) > 1):
            raise UnsupportedError(
                f"{len(marked)} rows are marked as depots." if marked else "the column names several depots.",
                where=table.where(table.rows[marked[1] if marked else 0], column),
                remedy="One depot is planned at a time: keep one, and the customers that it serves.",
            )
        if marked:
            return marked[0], table
        table = replace(table, header=_release(table.header, role))
    return None, table


def _release(header: Header, role: str) -> Header:
    """A column that turned out to be a further one."""
    column = header.columns[role]
    columns = {name: other for name, other in header.columns.items() if name != role}
    others = sorted((*header.others, Column(column.index, column.heading)), key=lambda other: other.index)
    return replace(header, columns=columns, others=tuple(others))


def _is_called_depot(row: Row, table: Table) -> bool:
    header = table.header
    demand = row.text(header.columns["demand"].index)
    names = [*header.others, *(header.columns[role] for role in ("id",) if role in header.columns)]
    return (is_blank(demand) or demand in ("0", "0.0", "0,0")) and any(is_depot(row.text(name.index)) for name in names)


def _same_cells(first: Row, last: Row, table: Table) -> bool:
    places = [column for role, column in table.header.columns.items() if role in (*_GLOBE, *_PLANE, "position")]
    return bool(places) and all(first.text(column.index) == last.text(column.index) for column in places)


def _read_loads(
    known: _Understood, reading: Reading, elsewhere: Notation | None
) -> tuple[Decimal, Where, list[Decimal], Unit | None]:
    """The capacity, the place to blame for it, the demands, and their unit."""
    table = known.table
    column = table.header.columns["demand"]
    depot, customers = table.rows[0], table.rows[1:]
    given = [] if _says_nothing(depot, column) else [depot]
    is_comma, is_semicolon = table.grid.delimiter == ",", table.grid.delimiter == ";"
    open_points: Notation | None = "point" if is_comma else None
    open_commas: Notation | None = "point" if is_comma else "comma" if is_semicolon else None
    amounts = known.keep(
        read_amounts(
            table.entries(column, [*given, *customers]),
            heading_unit=column.unit,
            elsewhere=elsewhere,
            open_points=open_points,
            open_commas=open_commas,
        )
    )
    demands = amounts.values if given else [Decimal(0), *amounts.values]
    entry = _find_capacity(table, reading.capacity)
    by_option = reading.capacity is not None
    try:
        capacity = read_amounts(
            [entry],
            heading_unit=None,
            elsewhere=None if by_option else amounts.notation or elsewhere,
            open_points="point" if by_option else open_points,
            open_commas=None if by_option else open_commas,
        )
    except FormatError as error:
        if not by_option:
            raise
        raise OptionError(error.message, where=entry.where, remedy=error.remedy) from error
    value = _fit_unit(capacity, amounts.unit, entry)
    return value, entry.where, demands, amounts.unit


def _says_nothing(depot: Row, column: Column) -> bool:
    return depot.kind(column.index) == "text" and is_blank(depot.text(column.index))


def _fit_unit(capacity: Amounts, unit: Unit | None, entry: Entry) -> Decimal:
    """The capacity in the unit of the demands."""
    if capacity.unit is None or unit is None or capacity.unit == unit:
        return capacity.values[0]
    if capacity.unit.family != unit.family:
        raise FormatError(
            f"the capacity {shorten(entry.text)} is not in {unit.name}, as the demands are.",
            where=entry.where,
            remedy=f"Give it in {unit.name}.",
        )
    return capacity.values[0] * capacity.unit.size / unit.size


def _find_capacity(table: Table, option: float | Decimal | str | None) -> Entry:
    """Where the capacity stands: the option, a line, a word around the table, or a column."""
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
        raise FormatError(
            "the capacity is missing.",
            where=Where(field="capacity"),
            remedy="Add a first line '# capacity: 50', or give the option capacity.",
        )
    for other in found[1:]:
        if other.text != found[0].text:
            raise FormatError(
                f"capacity is given twice, {shorten(found[0].text)} and {shorten(other.text)}.",
                where=replace(other.where, field="capacity"),
                remedy="Keep one of the two; vehicles that differ have a table of their own, --vehicles.",
            )
    return found[0]


def _read_rounding(grid: Grid) -> Rounding:
    value, line = grid.directives.get("rounding", ("none", 0))
    for rounding in ROUNDING_CODES:
        if value.lower() == rounding:
            return rounding
    raise FormatError(
        f"the rounding rule {shorten(value)} is unknown.",
        where=Where(line=line, field="rounding"),
        remedy=f"Use {join_with_or(tuple(ROUNDING_CODES))}.",
    )


def _read_places(known: _Understood, axes: tuple[str, ...], elsewhere: Notation | None) -> NDArray[np.float64]:
    table = known.table
    if axes == ("position",):
        column = table.header.columns["position"]
        pairs = [(entry, split_pair(entry)) for entry in table.entries(column, table.rows)]
        if _names_longitude_first(column.heading):
            pairs = [(entry, (second, first)) for entry, (first, second) in pairs]
        cells = {
            axis: [Entry(pair[index], "text", entry.where) for entry, pair in pairs]
            for index, axis in enumerate(_GLOBE)
        }
        languages = dict.fromkeys(_GLOBE, column.language)
        units: dict[str, Unit | None] = dict.fromkeys(_GLOBE)
    else:
        columns = table.header.columns
        cells = {axis: table.entries(columns[axis], table.rows) for axis in axes}
        languages = {axis: columns[axis].language for axis in axes}
        units = {axis: columns[axis].unit for axis in axes}
    values = []
    for axis, entries in cells.items():
        is_angle = axis in _GLOBE
        if is_angle:
            entries = [_plain_angle(entry, axis, languages) for entry in entries]
        amounts = known.keep(
            read_amounts(
                entries,
                heading_unit=units[axis],
                elsewhere=None if is_angle else elsewhere,
                open_points="point",
                open_commas="comma",
            )
        )
        values.append([_read_axis(value, axis, entry) for value, entry in zip(amounts.values, entries, strict=True)])
    return np.array(values, dtype=np.float64).T


def _names_longitude_first(heading: str) -> bool:
    simple = heading.casefold()
    first = min((simple.find(word) for word in ("lon", "lng", "läng") if word in simple), default=-1)
    second = min((simple.find(word) for word in ("lat", "breit") if word in simple), default=-1)
    return 0 <= first < second


def _plain_angle(entry: Entry, axis: str, languages: Mapping[str, Language]) -> Entry:
    degrees = read_degrees(entry, axis, languages[axis])
    return entry if degrees is None else Entry(degrees, "number", entry.where)


def _read_axis(value: Decimal, axis: str, entry: Entry) -> float:
    number = refuse_unmeasurable(float(value), entry.where)
    if axis in _GLOBE and len(re.findall(r"[.,]", entry.text)) > 1:  # 53.550.123: a spreadsheet's work
        raise FormatError(
            f"{shorten(entry.text)} has lost its decimal point.",
            where=entry.where,
            remedy="A spreadsheet took it for thousands: format the column as text, and copy the coordinates again.",
        )
    return refuse_off_globe(number, axis, entry.where)


def _read_names(table: Table) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """Names of the customers; and those of all nodes, the depot's first."""
    column = table.header.columns.get("id")
    if column is None:
        return None, None
    names = [one_line(row.text(column.index)) for row in table.rows]
    if column.tier == 2 and (len(set(names)) < len(names) or not all(names[1:])):
        return None, None  # a customer who ordered twice; the column is carried along
    if all(_WHOLE_POINT_ZERO.fullmatch(name) for name in names[1:]):  # what becomes of numbers beside a blank cell
        names = [name.removesuffix(".0") for name in names]
    lines: dict[str, int] = {}
    for index, (row, name) in enumerate(zip(table.rows, names, strict=True)):
        where = table.where(row, column)
        if row.kind(column.index) in ("error", "formula"):
            told = row.text(column.index) or "a formula, but the file does not hold its value"
            remedy = "Let a spreadsheet program calculate and save it; or type the id."
            raise FormatError(f"the id is {told}.", where=where, remedy=remedy)
        if "\n" in row.text(column.index) and table.grid.delimiter:  # a quote astray would take whole rows into it
            raise FormatError(
                "the id goes on over a line end.", where=where, remedy="Check the quotes; ids are one line."
            )
        if not name and index > 0:
            raise FormatError("the id is missing.", where=where, remedy="Give each customer an id.")
        if name in lines:
            raise FormatError(
                f"the id {shorten(name)} comes twice, first on line {lines[name]}.",
                where=where,
                remedy="Ids must differ.",
            )
        lines[name] = row.line
    return tuple(names[1:]), tuple(names)


def _read_details(table: Table) -> Details | None:
    """Further columns; hidden ones stay at home."""
    header = table.header
    columns = list(header.others)
    identity = header.columns.get("id")
    if identity is not None and _read_names(table)[0] is None:
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
    """Turn fields and customers of an instance into cells of the table."""

    def place(where: Where) -> Where:
        if where.file is not None or where.line is not None:
            return where
        if where.field == "capacity":
            return capacity_place
        row = table.rows[where.customer or 0]
        roles = {"demands": "demand", "customer_names": "id", "service": "service"}
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


def _refuse_pickups(table: Table) -> None:
    for column in table.header.others:
        if simplify(column.heading) not in _PICKUPS:
            continue
        for row in table.rows:
            text = row.text(column.index)
            if any(digit in text for digit in "123456789"):
                raise UnsupportedError(
                    f"{shorten(text)} is to be picked up, and only deliveries are planned here.",
                    where=table.where(row, column),
                    remedy="Remove the column to plan without it.",
                )


def _tell(known: _Understood, names: tuple[str, ...] | None, unit: Unit | None) -> None:
    """Name what was understood, put right and not used."""
    table, source = known.table, known.source
    header = table.header
    guessed = [column for column in header.columns.values() if column.tier > 0]
    if guessed:
        told = show_list([f"{column.heading} as {column.role}" for column in guessed], 12)
        warn_of_input(source, f"understood the columns {told}.")
    if "comma" in known.notations:
        warn_of_input(source, "read decimal commas as decimal points.")
    if known.grouped:
        warn_of_input(source, f"took the separator in {known.grouped} for one of thousands.")
    _tell_of_others(table, names, source)
    rows = [
        line
        for line, delimiters in table.grid.comments
        if line > header.line and delimiters == len(header.headings) - 1
    ]
    if rows:
        warn_of_input(
            source,
            f"took the rows that start with '#' for comments, lines {show_list(rows)}; ids with '#' need quotes.",
        )


def _tell_of_others(table: Table, names: tuple[str, ...] | None, source: str) -> None:
    header = table.header
    hidden = table.grid.hidden_columns
    filled = [column for column in header.others if any(row.text(column.index) for row in table.rows)]
    carried = [column.heading for column in filled if column.index not in hidden]
    limiting = [heading for heading in carried if asks_for_more(heading)]
    if carried:
        more = f"; {show_list(limiting)} does not limit the routes" if limiting else ""
        warn_of_input(source, f"carried along the columns {show_list(carried)}{more}.")
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
        warn_of_input(source, f"{identity.heading} does not tell the stops apart, so they are called by their numbers.")
