"""Solutions in JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from dynaroute.base.decimals import LARGEST_INTEGER, plain_number
from dynaroute.base.errors import FormatError, Where, warn_of_each
from dynaroute.formats.json.document import (
    load_json,
    read_number,
    require,
    require_list,
    require_object,
)
from dynaroute.formats.text import one_line, shorten
from dynaroute.problem.solution import Solution
from dynaroute.problem.statements import StatedViolation, Statements

_KEYS = frozenset(
    {
        "routes",
        "cost",
        "unit",
        "ways",
        "ids",
        "vehicles",
        "unserved",
        "violations",
        "arrivals",
        "instance",
        "loads",
        "route_costs",
        "seconds",
        "method",
        "model",
        "iterations",
        "interrupted",
        "trace",
        "length",
        "hours",
        "money",
        "left_out",
        "breaks",
        "trips",
        "spread",
    }
)


def parse_json_solution(text: str, *, source: str = "") -> Solution:
    """Read a solution: an object with routes, or a list of one such object, as `dynaroute solve --json` prints.

    Raises
    ------
    FormatError
        If it is not JSON, or has the wrong shape.
    """
    return pick_solution(load_json(text), source=source)


def pick_solution(document: object, *, source: str = "") -> Solution:
    """Make a solution from decoded JSON: an object, or a list of one."""
    if not isinstance(document, list):
        return solution_from_json(document, source=source)
    if len(document) != 1:
        raise FormatError(
            f"the list holds {len(document)} solutions.", where=Where(field="document"), remedy="Keep only one."
        )
    return solution_from_json(document[0], source=source)


def format_json_solution(solution: Solution) -> str:
    """Write a solution as a JSON object."""
    return json.dumps(solution_to_json(solution), allow_nan=False) + "\n"


def solution_from_json(data: object, *, source: str = "") -> Solution:
    """Make a solution from decoded JSON.

    Parameters
    ----------
    data
        Decoded JSON: {"routes": [[...], ...], "cost"?, "vehicles"?, "ids"?, "loads"?, "route_costs"?, "unserved"?,
        "violations"?}. "vehicles" holds each route's vehicle type, by number from 0 or by name.
    source
        The file's path, for warnings.

    Raises
    ------
    FormatError
        If it has the wrong shape.
    """
    document = require_object(data, "")
    routes = [
        _read_route(route, f"routes[{index}]")
        for index, route in enumerate(require_list(require(document, "routes", ""), "routes"))
    ]
    cost = None if document.get("cost") is None else _read_cost(document["cost"], "cost")
    unknown = sorted(document.keys() - _KEYS)
    warn_of_each(source, unknown, lambda key: f"the key {shorten(key)} is unknown and was ignored.")
    vehicles, names = _read_vehicles(document.get("vehicles"), len(routes))
    return Solution(tuple(routes), cost, vehicles, names, _read_statements(document))


def solution_to_json(solution: Solution) -> dict[str, object]:
    """Convert a solution to plain data for JSON.

    Parameters
    ----------
    solution
        The solution.
    """
    document: dict[str, object] = {"routes": [list(route) for route in solution.routes]}
    if solution.stated_cost is not None:
        document["cost"] = plain_number(solution.stated_cost)
    if solution.vehicles is not None or solution.vehicle_names is not None:
        document["vehicles"] = list(solution.vehicles or solution.vehicle_names or ())
    return document


def _read_route(value: object, path: str) -> tuple[int, ...]:
    stops = []
    for position, stop in enumerate(require_list(value, path)):
        if type(stop) is not int:  # not isinstance, which accepts true and false
            raise FormatError(
                "this is not a customer number.",
                where=Where(field=f"{path}[{position}]"),
                remedy="Write a whole number.",
            )
        stops.append(stop)
    return tuple(stops)


def _read_cost(value: object, path: str) -> float:
    cost = float(read_number(value, path))
    if not math.isfinite(cost):
        raise FormatError("the cost is too large.", where=Where(field=path), remedy="Leave it out.")
    return cost


def _read_statements(document: Mapping[str, object]) -> Statements:
    """Read what a document states about its routes; null counts as not stated."""
    ids, loads, lengths, unserved, violations = (
        None if document.get(key) is None else require_list(document[key], key)
        for key in ("ids", "loads", "route_costs", "unserved", "violations")
    )
    return Statements(
        ids=None if ids is None else tuple(_read_ids(names, f"ids[{place}]") for place, names in enumerate(ids)),
        loads=None
        if loads is None
        else tuple(read_number(load, f"loads[{place}]") for place, load in enumerate(loads)),
        route_costs=None
        if lengths is None
        else tuple(_read_cost(length, f"route_costs[{place}]") for place, length in enumerate(lengths)),
        length=None if document.get("length") is None else _read_cost(document["length"], "length"),
        money=None if document.get("money") is None else _read_cost(document["money"], "money"),
        unserved=None if unserved is None else _read_route(unserved, "unserved"),
        violations=frozenset(
            _read_violation(violation, f"violations[{place}]") for place, violation in enumerate(violations or ())
        ),
    )


def _read_ids(value: object, path: str) -> tuple[str, ...]:
    names = []
    for position, name in enumerate(require_list(value, path)):
        if not isinstance(name, str) and type(name) is not int:
            raise FormatError("this is not an id.", where=Where(field=f"{path}[{position}]"), remedy="Write a string.")
        names.append(one_line(str(name)).strip())  # as in instances
    return tuple(names)


def _read_violation(value: object, path: str) -> StatedViolation:
    document = require_object(value, path)
    kind = require(document, "kind", path)
    if not isinstance(kind, str):
        raise FormatError("this is not a kind.", where=Where(field=f"{path}.kind"), remedy="Write a string.")
    return StatedViolation(kind, *(_read_place(document.get(key), f"{path}.{key}") for key in ("route", "customer")))


def _read_place(value: object, path: str) -> int | None:
    if value is None or type(value) is int:
        return value
    raise FormatError("this is not a whole number.", where=Where(field=path), remedy="Write a number, or null.")


def _read_vehicles(value: object, routes: int) -> tuple[tuple[int, ...] | None, tuple[str, ...] | None]:
    """Read each route's vehicle type, by number or by name."""
    if value is None:
        return None, None
    kinds = require_list(value, "vehicles")
    remedy = "Give each route's vehicle type, by number from 0 or by name."
    if len(kinds) != routes:
        message = f"there are {len(kinds)} vehicles for {routes} routes."
        raise FormatError(message, where=Where(field="vehicles"), remedy=remedy)
    if all(isinstance(kind, str) for kind in kinds):
        return None, tuple(map(str, kinds))
    for index, kind in enumerate(kinds):
        # not isinstance, which accepts true and false; a larger number could not even be shown in an error
        if type(kind) is not int or abs(kind) > LARGEST_INTEGER:
            raise FormatError("this is not a vehicle type.", where=Where(field=f"vehicles[{index}]"), remedy=remedy)
    return tuple(kind for kind in kinds if isinstance(kind, int)), None
