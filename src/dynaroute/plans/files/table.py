"""A plan as a table with one row per stop, for the spreadsheet formats."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from dynaroute.base.decimals import plain_number
from dynaroute.base.display import show_list
from dynaroute.base.errors import FormatError, SolutionError, Where
from dynaroute.formats.text import shorten
from dynaroute.plans.files.words import show_time
from dynaroute.plans.plan import Plan, PlannedRoute, PlannedStop
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution

Cell = str | int | float

TIMES = ("arrival", "start", "leave")

# What stands in the column of routes, instead of a number, in the rows before the first route.
NOT_SERVED, FAULT = "not served", "fault"

_FORMULA = frozenset("=+-@\t\r\n")  # spreadsheets read cells that start with these, or their wide forms, as formulas


class NamedStop(NamedTuple):
    """A stop in a file that identifies customers by id; without a route, a customer that is not served."""

    route: int | None
    stop: int
    id: str
    where: Where
    vehicle: str = ""


def list_columns(plan: Plan) -> list[str]:
    """List the headings: our own columns, and the other columns of the file."""
    name = ["name"] if plan.name_column is not None else []
    reason = ["reason"] if _needs_reasons(plan) else []
    vehicle = ["vehicle"] if _names_vehicles(plan) else []
    times = list(TIMES) if plan.has_times else []
    pickup = ["pickup"] if plan.instance.pickups is not None else []
    ours = ["route", *vehicle, "stop", "id", *name, *reason, "demand", *pickup, "load", distance_column(plan), *times]
    return [*ours, *(f"{column} (file)" if column in ours else column for column in plan.detail_columns)]


def list_rows(plan: Plan) -> Iterator[list[Cell]]:
    """List the customers that are not served, the faults of the routes, and one row per stop.

    The depot is at both ends of each route, without an id.
    """
    for left_out in plan.unserved:
        yield _make_row(plan, None, left_out.stop, left_out.reason)
    columns = list_columns(plan)
    for fault in plan.faults:
        yield [{"route": FAULT, "reason": fault}.get(column, "") for column in columns]
    for route in plan.routes:
        for stop in route.places:
            yield _make_row(plan, route, stop)


def _make_row(plan: Plan, route: PlannedRoute | None, stop: PlannedStop, reason: str = "") -> list[Cell]:
    """Make the row of a stop; without a route, of a customer that is not served, with the reason."""
    ours: list[Cell] = [NOT_SERVED if route is None else route.number]
    if _names_vehicles(plan):
        ours.append("" if route is None else route.vehicle)
    ours += ["" if route is None else stop.number, stop.id]
    if plan.name_column is not None:
        ours.append(stop.name)
    if _needs_reasons(plan):
        ours.append(reason)
    has_dimensions = plan.instance.demands.ndim == 2
    ours.append(stop.delivered if has_dimensions else _as_cell(stop.demand))
    if plan.instance.pickups is not None:
        ours.append(_as_cell(Decimal(stop.pickup)) if stop.pickup and not has_dimensions else stop.pickup)
    load = stop.on_board if has_dimensions else _as_cell(stop.load)
    ours += ["", ""] if route is None else [load, table_distance(plan, stop.distance)]
    times = [show_time(plan, getattr(stop, column)) for column in TIMES] if plan.has_times else []
    details = [stop.details.get(column, "") for column in plan.detail_columns]
    return [*ours, *times, *details]


def _as_cell(amount: int | Decimal) -> Cell:
    return plain_number(amount) if isinstance(amount, Decimal) else amount


def _needs_reasons(plan: Plan) -> bool:
    return bool(plan.unserved or plan.faults)


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


def list_named_stops(rows: Sequence[Sequence[Cell | None]]) -> list[NamedStop]:
    """List the stops of a table with the columns route, stop and id, in any order; other columns are ignored.

    Parameters
    ----------
    rows
        Header and rows; rows without an id are the depot.

    Raises
    ------
    FormatError
        If a column is missing, or a route or a stop has no number.
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
    named = header.index("vehicle") if "vehicle" in header else len(header)
    of_routes = {  # rows of the depot say which vehicle drives; rows that were moved may still name another
        _text_of(row[places[0]]).strip(): _text_of(row[named]).strip()
        for row in rows[:0:-1]
        if max(named, *places) < len(row) and not _text_of(row[places[2]]).strip()
    }
    stops: list[NamedStop] = []
    for line, row in enumerate(rows[1:], start=2):
        route, stop, name = (row[place] if place < len(row) else None for place in places)
        text = _text_of(name)
        if not text.strip():
            continue
        where = Where(line=line, field="id")
        if _text_of(route).strip() == NOT_SERVED:
            stops.append(NamedStop(None, 0, text, where))
        else:
            own = _text_of(row[named]).strip() if named < len(row) else ""
            vehicle = of_routes.get(_text_of(route).strip()) or own
            numbers = _read_number(route, line, "route"), _read_number(stop, line, "stop")
            stops.append(NamedStop(*numbers, text, where, vehicle))
    return stops


def group_stops(stops: Sequence[NamedStop]) -> list[list[NamedStop]]:
    """Group stops by route, in order, without customers that are not served."""
    if not stops:
        raise FormatError.about("stop", "there are no stops.", "Give one row per stop.")
    routes: dict[int, list[NamedStop]] = {}
    taken: dict[tuple[int | None, int], NamedStop] = {}
    for stop in stops:
        if stop.route is not None and (other := taken.setdefault((stop.route, stop.stop), stop)) is not stop:
            message = f"stop {stop.stop} of route {stop.route} is both {shorten(other.id)} and {shorten(stop.id)}."
            raise FormatError(message, where=stop.where, remedy="Number the stops of each route in their order.")
    for stop in sorted((stop for stop in stops if stop.route is not None), key=lambda stop: (stop.route, stop.stop)):
        assert stop.route is not None
        routes.setdefault(stop.route, []).append(stop)
    return list(routes.values())


def number_stops(stops: Sequence[NamedStop], instance: Instance) -> Solution:
    """Make routes of an instance's customers.

    Raises
    ------
    DynarouteError
        If there are no stops, or an id is unknown.
    """
    find = find_by_id(instance)
    for stop in stops:
        if find(stop.id) is None:
            raise make_unknown_error(stop.id, stop.where)
    groups = group_stops(stops)
    vehicles = [{stop.vehicle for stop in route} for route in groups]
    for names, route in zip(vehicles, groups, strict=True):
        if len(names) > 1:
            message = f"route {route[0].route} has several vehicles: {show_list(sorted(names))}."
            raise FormatError(message, where=route[0].where, remedy="Write the same vehicle in all its rows.")
    named = tuple(names.pop() for names in vehicles)
    routes = tuple(tuple(find(stop.id) or 0 for stop in route) for route in groups)
    return Solution(routes, vehicle_names=named if named and all(named) else None)


def find_by_id(instance: Instance) -> Callable[[str], int | None]:
    """Return a function that finds a customer by its name, or by its number if customers have no names."""
    if instance.customer_names is not None:
        return {name: number for number, name in enumerate(instance.customer_names, start=1)}.get

    def find(name: str) -> int | None:
        is_number = name.isascii() and name.isdigit() and 1 <= int(name[:10]) <= instance.size
        return int(name) if is_number else None

    return find


def make_unknown_error(name: str, where: Where) -> SolutionError:
    """Make the error for an id that no customer has."""
    return SolutionError(
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
