"""Text tables: CSV and TSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import FormatError, UnsupportedError
from dynaroute.formats.limitations import list_other_rules, refuse_what_cannot_be_stored
from dynaroute.formats.numbers import format_load, format_number
from dynaroute.formats.tables.cells.amounts import is_blank, tidy
from dynaroute.formats.tables.cells.text_cells import cut_text
from dynaroute.formats.tables.headers import score_header
from dynaroute.formats.tables.stops import ReadingOptions, parse_stops
from dynaroute.formats.tables.words import STOPS, is_depot
from dynaroute.formats.text import one_line
from dynaroute.formats.unsupported import find_request
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance

_HELD_RULES = frozenset(
    {"dimensions", "pickups", "prizes", "priorities", "release", "same_vehicle", "not_together", "one_of"}
)
_COLUMNS_OF_NUMBERS = {"prizes": "prize", "priorities": "priority", "release": "release"}
_COLUMNS_OF_LABELS = {"same_vehicle": "same vehicle", "not_together": "not together", "one_of": "one of"}
_OTHER_KINDS = {
    ("<!doctype", "<html", "<table", "<?xml"): "a web page (HTML), or XML",
    ("%pdf",): "a PDF document",
    ("{\\rtf",): "a text document (RTF)",
    ('{"', "{\n", "{\r", "{ ", "[{"): "JSON",
}


def parse_csv(text: str, *, capacity: float | Decimal | str | None = None, source: str = "") -> Instance:
    """Read an instance from a table.

    Parameters
    ----------
    text
        The file's text. Columns: id (optional), demand, and x and y, or lat and lon in degrees. Lines ``# capacity:
        50``, ``# name: ...`` and ``# rounding: none|nearest|up`` may come first.
    capacity
        Capacity of a vehicle; overrides that of the text.
    source
        The file's path, for warnings; its stem names an instance without a name.

    Raises
    ------
    DynarouteError
        If the table cannot be read or is not a valid problem.
    """
    return parse_text_table(text, ReadingOptions(capacity), source)


def parse_text_table(text: str, reading: ReadingOptions, source: str) -> Instance:
    """Read an instance from a table with the user's options."""
    _refuse_other_kinds(text)
    score = partial(score_header, vocabulary=STOPS, renames=reading.columns)
    return parse_stops(cut_text(text, score), reading, source)


def _refuse_other_kinds(text: str) -> None:
    """Refuse what is called a table, but begins as something else does."""
    start = text[:1000].lstrip("\ufeff \t\r\n").lower()
    for beginnings, kind in _OTHER_KINDS.items():
        if start.startswith(beginnings):
            raise FormatError(
                f"this is {kind}, not a table as text.",
                remedy="Save the table as CSV, or as an Excel workbook (.xlsx); if the suffix is wrong, mend it.",
            )


def format_csv(instance: Instance) -> str:
    """Write an instance as a table.

    Parameters
    ----------
    instance
        The problem.

    Raises
    ------
    UnsupportedError
        If it has a matrix, vehicles or a rule that this format cannot hold.
    """
    obstacles = {
        "distances": ("a distance matrix", instance.distances is not None or instance.coordinates is None),
        "durations": ("a matrix of durations", instance.durations is not None),
        "vehicles": ("vehicle types", _has_vehicles(instance)),
        "speed": ("a speed", instance.speed is not None),
    }
    for field, (thing, is_there) in obstacles.items():
        if is_there:
            raise UnsupportedError.about(
                field,
                f"a .csv file cannot hold {thing}.",
                "Write a .json file; without customer names, .vrp works too."
                if field == "distances"
                else "Write a .json file.",
            )
    others = list_other_rules(instance, _HELD_RULES)
    refuse_what_cannot_be_stored("a .csv file", others | _list_obstacles(instance))
    return "\n".join([*_table_lines(instance), ""])


def _has_vehicles(instance: Instance) -> bool:
    """Whether vehicles are more than one capacity, or one in each of several dimensions, which has columns."""
    plain = (VehicleType(instance.fleet[0].capacities),)
    return instance.vehicles is not None and (instance.demands.ndim == 1 or instance.vehicles != plain)


def _list_obstacles(instance: Instance) -> dict[str, tuple[str, bool]]:
    """What the columns of rules cannot say, although they hold the rule."""
    labels = {field: getattr(instance, field) or () for field in _COLUMNS_OF_LABELS}
    return {
        "release": ("a release time of the depot", instance.release is not None and instance.release[0] != 0),
        "dimensions": ("these names of dimensions", not _are_readable(instance.dimensions or ())),
        "pickups": ("a pickup at the depot", instance.pickups is not None and instance.pickups[0].any()),
    } | {
        field: (
            "labels that look empty, or have blanks around them or several lines",
            any(each and (is_blank(each) or each != tidy(each) or len(each.splitlines()) > 1) for each in given),
        )
        for field, given in labels.items()
    }


def _are_readable(dimensions: Sequence[str]) -> bool:
    """Whether headings with these dimensions are read as they are meant; one alone would be read as a unit."""
    splits = [STOPS.split_dimension(one_line(f"demand {name}")) for name in dimensions]
    names = [split[1] for split in splits if split is not None and split[0].role == "demand"]
    is_distinct = len({name.casefold() for name in names}) == len(names) != 1
    return is_distinct and names == list(dimensions)


def _table_lines(instance: Instance) -> Iterator[str]:
    assert instance.coordinates is not None
    if instance.name:
        yield f"# name: {instance.name}"
    if instance.demands.ndim == 1:
        yield f"# capacity: {format_load(instance, instance.capacity)}"
    if instance.rounding != "none":
        yield f"# rounding: {instance.rounding}"
    names = [instance.customer_name(customer) for customer in range(1, instance.size + 1)]
    columns: dict[str, list[str]] = {"id": [_unused_name(instance.depot_name, set(names)), *names]}
    axes = ("lat", "lon") if instance.metric == "great_circle" else ("x", "y")
    for axis, values in zip(axes, instance.coordinates.T.tolist(), strict=True):
        columns[axis] = list(map(format_number, values))
    columns |= _columns_of_amounts(instance, "demand", instance.demands)
    if instance.demands.ndim == 2:
        held = [*instance.fleet[0].capacities]
        capacities = _columns_of_amounts(instance, "capacity", np.array([held] * (instance.size + 1), dtype=object))
        columns |= {heading: [cells[0], *[""] * instance.size] for heading, cells in capacities.items()}
    columns |= _further_columns(instance)
    yield ",".join(map(_quote, columns))
    for cells in zip(*columns.values(), strict=True):
        yield ",".join(map(_quote, cells))


def _columns_of_amounts(instance: Instance, word: str, amounts: NDArray[np.int64]) -> dict[str, list[str]]:
    """The column of an amount, or one for each dimension."""
    table = amounts.reshape(len(amounts), -1).T.tolist()
    headings = [word] if amounts.ndim == 1 else [f"{word} {name}" for name in instance.dimensions or ()]
    return {
        heading: [format_load(instance, amount) for amount in column]
        for heading, column in zip(headings, table, strict=True)
    }


def _further_columns(instance: Instance) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {}
    if instance.service is not None:
        columns["service"] = list(map(format_number, instance.service.tolist()))
    if instance.windows is not None:
        for role, bounds in zip(("earliest", "latest"), instance.windows.T.tolist(), strict=True):
            columns[role] = [format_number(bound) if np.isfinite(bound) else "" for bound in bounds]
    columns |= _columns_of_rules(instance)
    if _has_second_depot(instance) or not columns.keys().isdisjoint(_COLUMNS_OF_LABELS.values()):
        columns["depot"] = ["yes", *[""] * instance.size]
    if instance.details is not None:
        for index, heading in enumerate(instance.details.columns):
            # otherwise a heading with a meaning would be interpreted when the file is read
            cells = [row[index] for row in instance.details.rows]
            is_taken = (
                STOPS.look_up(heading)
                or STOPS.split_dimension(heading)
                or heading in columns
                or find_request(heading, cells, "stops")
            )
            columns[f"detail {heading}" if is_taken else heading] = cells
    return columns


def _columns_of_rules(instance: Instance) -> dict[str, list[str]]:
    """The columns that rules of customers have; the depot's cells are empty."""
    columns: dict[str, list[str]] = {}
    if instance.pickups is not None:
        columns |= _columns_of_amounts(instance, "pickup", instance.pickups)
    for field, heading in _COLUMNS_OF_NUMBERS.items():
        if (values := getattr(instance, field)) is not None:
            columns[heading] = [format_number(value) if np.isfinite(value) else "" for value in values.tolist()]
    for field, heading in _COLUMNS_OF_LABELS.items():
        if (labels := getattr(instance, field)) is not None:
            columns[heading] = list(labels)
    return {heading: ["", *cells[1:]] for heading, cells in columns.items()}


def _has_second_depot(instance: Instance) -> bool:
    """Whether a customer would be read as the depot: it has no demand and a depot's name."""
    texts = () if instance.details is None else instance.details.rows
    return any(
        is_depot(text)
        for customer in np.flatnonzero(~instance.demands.reshape(instance.size + 1, -1)[1:].any(axis=1)) + 1
        for text in (instance.customer_name(int(customer)), *(texts[customer] if texts else ()))
    )


def _unused_name(wanted: str, names: set[str]) -> str:
    candidates = (wanted or "0", "0", "depot", *(f"depot-{number}" for number in range(1, len(names) + 2)))
    return next(name for name in candidates if name not in names)


def _quote(cell: str) -> str:
    # '#' because it would start a comment
    return '"' + cell.replace('"', '""') + '"' if set(cell) & set('",;\t#') else cell
