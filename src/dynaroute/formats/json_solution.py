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
        "instance",
        "loads",
        "route_costs",
        "seconds",
        "method",
        "model",
        "iterations",
        "interrupted",
        "trace",
        "arrivals",
    }
)


def parse_json_solution(text: str, *, source: str = "") -> Solution:
    """Read a solution: an object with routes, or a list that holds just one, as `dynaroute solve --json` prints.

    Parameters
    ----------
    text
        A JSON document.
    source
        The file's path, for warnings.

    Raises
    ------
    FormatError
        If it is not JSON, or not of the right shape.
    """
    document = load_json(text)
    if not isinstance(document, list):
        return solution_from_json(document, source=source)
    if len(document) != 1:
        raise FormatError(
            f"the list holds {len(document)} solutions.", where=Where(field="document"), remedy="Keep just one."
        )
    return solution_from_json(document[0], source=source)


def format_json_solution(solution: Solution) -> str:
    """Write a solution as a JSON object.

    Parameters
    ----------
    solution
        The solution.
    """
    return json.dumps(solution_to_json(solution), allow_nan=False) + "\n"


def solution_from_json(data: object, *, source: str = "") -> Solution:
    """Make a solution from decoded JSON.

    Parameters
    ----------
    data
        What a JSON decoder gave: {"routes": [[...], ...], "cost"?}.
    source
        The file's path, for warnings.

    Raises
    ------
    FormatError
        If it is not of the right shape.
    """
    document = require_object(data, "")
    routes = [
        _read_route(route, f"routes[{index}]")
        for index, route in enumerate(require_list(require(document, "routes", ""), "routes"))
    ]
    cost = _read_cost(document.get("cost"))
    unknown = sorted(document.keys() - _KEYS)
    warn_of_each(source, unknown, lambda key: f"the key {shorten(key)} is unknown and was ignored.")
    return Solution(tuple(routes), cost)


def solution_to_json(solution: Solution) -> dict[str, object]:
    """Turn a solution into plain data that JSON can hold.

    Parameters
    ----------
    solution
        The solution.
    """
    document: dict[str, object] = {"routes": [list(route) for route in solution.routes]}
    if solution.stated_cost is not None:
        document["cost"] = plain_number(solution.stated_cost)
    return document


def _read_route(value: object, path: str) -> tuple[int, ...]:
    stops = []
    for position, stop in enumerate(require_list(value, path)):
        if type(stop) is not int:  # not isinstance, which takes true and false
            raise FormatError(
                "this is not a customer.", where=Where(field=f"{path}[{position}]"), remedy="Write a whole number."
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
