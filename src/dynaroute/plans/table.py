"""A plan as a table with one row per stop, for the spreadsheet formats."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal

from dynaroute.decimals import plain_number
from dynaroute.display import show_list
from dynaroute.errors import FormatError, SolutionError, Where
from dynaroute.formats.text import shorten
from dynaroute.instance import Instance
from dynaroute.plans.plan import Plan, PlannedRoute, Stop
from dynaroute.plans.words import show_time
from dynaroute.solution import Solution

__all__ = [
    "Cell",
    "distance_column",
    "guard",
    "list_columns",
    "list_rows",
    "look_up",
    "order_stops",
    "solution_from_rows",
    "table_distance",
    "unguard",
]

Cell = str | int | float

_TIMES = ("arrival", "start", "leave")

_FORMULA = frozenset("=+-@\t\r\n")  # spreadsheets read cells that start with these, or their wide forms, as formulas


def list_columns(plan: Plan) -> list[str]:
    """List the headings: our own columns, and the other columns of the file."""
    name = ["name"] if plan.name_column is not None else []
    vehicle = ["vehicle"] if _names_vehicles(plan) else []
    times = list(_TIMES) if plan.has_times else []
    ours = ["route", *vehicle, "stop", "id", *name, "demand", "load", distance_column(plan), *times]
    return [*ours, *(f"{column} (file)" if column in ours else column for column in plan.detail_columns)]


def list_rows(plan: Plan) -> Iterator[list[Cell]]:
    """List one row per stop, including the depot at both ends of each route, which has no id."""
    for route in plan.routes:
        for stop in route.places:
            yield _make_row(plan, route, stop)


def _make_row(plan: Plan, route: PlannedRoute, stop: Stop) -> list[Cell]:
    vehicle = [route.vehicle] if _names_vehicles(plan) else []
    name = [stop.name] if plan.name_column is not None else []
    amounts = [plain_number(amount) if isinstance(amount, Decimal) else amount for amount in (stop.demand, stop.load)]
    times = [show_time(plan, getattr(stop, column)) for column in _TIMES] if plan.has_times else []
    details = [stop.details.get(column, "") for column in plan.detail_columns]
    distance = table_distance(plan, stop.distance)
    return [route.number, *vehicle, stop.number, stop.id, *name, *amounts, distance, *times, *details]


def _names_vehicles(plan: Plan) -> bool:
    return any(vehicle.name for vehicle in plan.instance.fleet)


def distance_column(plan: Plan) -> str:
    """The heading of the column of distances."""
    return "distance km" if plan.instance.unit == "m" else "distance"


def table_distance(plan: Plan, length: float) -> float:
    """Convert a distance to the unit of its column."""
    return round(length / 1000, 3) if plan.instance.unit == "m" else plain_number(round(length, 6))


def guard(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would read as a formula.

    `unguard` removes it, so that every id is read back unchanged.
    """
    return f"'{text}" if _begins_formula(text.lstrip("'")) else text


def unguard(text: str) -> str:
    """Remove the apostrophe that `guard` added."""
    return text[1:] if text.startswith("'") and _begins_formula(text.lstrip("'")) else text


def _begins_formula(text: str) -> bool:
    return bool(text) and unicodedata.normalize("NFKC", text[0]) in _FORMULA


def solution_from_rows(rows: Sequence[Sequence[Cell | None]], instance: Instance) -> Solution:
    """Make routes from a table with the columns route, stop and id, in any order; other columns are ignored.

    Parameters
    ----------
    rows
        Header and rows; rows without an id are the depot.
    instance
        The instance whose customers are visited.

    Raises
    ------
    FormatError
        If a column is missing, or a route or a stop has no number.
    SolutionError
        If an id is unknown.
    """
    header = [str(cell).strip().lower() if cell is not None else "" for cell in (rows[0] if rows else [])]
    missing = [column for column in ("route", "stop", "id") if column not in header]
    if missing:
        found = show_list([column for column in header if column]) or "none"
        raise FormatError(
            f"a plan needs the column {missing[0]!r}; found {found}.",
            where=Where(line=1, field=missing[0]),
            remedy="Give a file that dynaroute solve --out wrote, or a .sol or .json file.",
        )
    places = [header.index(column) for column in ("route", "stop", "id")]
    stops: list[tuple[int, int, int]] = []
    for line, row in enumerate(rows[1:], start=2):
        route, stop, name = (row[place] if place < len(row) else None for place in places)
        text = _text_of(name)
        if not text.strip():
            continue
        where = Where(line=line, field="id")
        stops.append(
            (_read_number(route, line, "route"), _read_number(stop, line, "stop"), look_up(text, instance, where))
        )
    return order_stops(stops)


def order_stops(stops: Sequence[tuple[int, int, int]]) -> Solution:
    """Make routes from (route, stop, customer) in any order."""
    if not stops:
        raise FormatError("there are no stops.", where=Where(field="stop"), remedy="Give one row per stop.")
    routes: dict[int, list[int]] = {}
    for route, _, customer in sorted(stops, key=lambda entry: entry[:2]):
        routes.setdefault(route, []).append(customer)
    return Solution(tuple(map(tuple, routes.values())))


def look_up(name: str, instance: Instance, where: Where) -> int:
    """Find a customer by its name, or by its number if customers have no names."""
    names = instance.customer_names
    if names is None:
        if name.isascii() and name.isdigit() and 1 <= int(name[:10]) <= instance.size:
            return int(name)
    elif name in names:
        return names.index(name) + 1
    raise SolutionError(
        f"no customer has the id {shorten(name)}.", where=where, remedy="Is this the plan of another instance?"
    )


def _text_of(cell: Cell | None) -> str:
    if cell is None:
        return ""
    return str(plain_number(cell)) if isinstance(cell, float) else str(cell)


def _read_number(cell: Cell | None, line: int, column: str) -> int:
    text = _text_of(cell).strip()
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise FormatError(
            f"{shorten(text)} is not the number of a {column}.",
            where=Where(line=line, field=column),
            remedy="Write a whole number.",
        )
    return int(text)
