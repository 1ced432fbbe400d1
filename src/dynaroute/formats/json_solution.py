"""Solutions in JSON."""

from __future__ import annotations

import json
import math

from dynaroute.decimals import plain_number
from dynaroute.errors import FormatError, Where, warn_of_each
from dynaroute.formats.json_document import (
    load_json,
    read_number,
    require,
    require_list,
    require_object,
)
from dynaroute.formats.text import shorten
from dynaroute.solution import Solution

__all__ = ["format_json_solution", "parse_json_solution", "solution_from_json", "solution_to_json"]

_KEYS = frozenset(
    {
        "routes",
        "cost",
        "unit",
        "ids",
        "vehicles",
        "unserved",
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
    }
)


def parse_json_solution(text: str, *, source: str = "") -> Solution:
    """Read a solution: an object with routes, or a list of one such object, as `dynaroute solve --json` prints.

    Raises
    ------
    FormatError
        If it is not JSON, or has the wrong shape.
    """
    document = load_json(text)
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
        Decoded JSON: {"routes": [[...], ...], "cost"?, "vehicles"?}. "vehicles" holds each route's vehicle type, by
        number from 0 or by name.
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
    cost = _read_cost(document.get("cost"))
    unknown = sorted(document.keys() - _KEYS)
    warn_of_each(source, unknown, lambda key: f"the key {shorten(key)} is unknown and was ignored.")
    vehicles, names = _read_vehicles(document.get("vehicles"), len(routes))
    return Solution(tuple(routes), cost, vehicles, names)


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


def _read_cost(value: object) -> float | None:
    if value is None:
        return None
    cost = float(read_number(value, "cost"))
    if not math.isfinite(cost):
        raise FormatError("the cost is too large.", where=Where(field="cost"), remedy="Leave it out.")
    return cost


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
        if type(kind) is not int:  # not isinstance, which accepts true and false
            raise FormatError("this is not a vehicle type.", where=Where(field=f"vehicles[{index}]"), remedy=remedy)
    return tuple(kind for kind in kinds if isinstance(kind, int)), None
