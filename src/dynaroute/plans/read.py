"""Reading plans, and routes in any format."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dynaroute.base.errors import in_file
from dynaroute.base.files import read_bytes, refuse_unreadable
from dynaroute.formats import SOLUTION_SUFFIXES
from dynaroute.formats.json.document import load_json
from dynaroute.formats.json.instance import is_plan, plan_instance_from_json
from dynaroute.formats.json.solution import pick_solution, solution_from_json
from dynaroute.formats.registry import require_suffix
from dynaroute.formats.text import decode_text
from dynaroute.formats.vrplib.sol import number_as_instance, parse_sol
from dynaroute.plans.files.csv import list_csv_stops
from dynaroute.plans.files.geojson import list_geojson_stops
from dynaroute.plans.files.json import parse_json_plan
from dynaroute.plans.files.table import NamedStop, number_stops
from dynaroute.plans.files.xlsx import list_xlsx_stops
from dynaroute.plans.matching import KnownRoutes, match_solution, match_stops, number_by_id
from dynaroute.plans.plan import Plan
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution

# These identify customers only by id, so they need the instance.
_STOPS: dict[str, Callable[[bytes], list[NamedStop]]] = {
    ".csv": list_csv_stops,
    ".xlsx": list_xlsx_stops,
    ".geojson": lambda content: list_geojson_stops(decode_text(content, ",[{")),
}

ROUTE_SUFFIXES = (*SOLUTION_SUFFIXES, *_STOPS)


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Read a plan: an instance and its routes.

    Parameters
    ----------
    path
        A .json file as written by `write_plan`.

    Raises
    ------
    DynarouteError
        If the file cannot be read, or is not a plan.
    """
    file, source = Path(path), os.fspath(path)
    with in_file(source):
        refuse_unreadable(file)
        require_suffix(file, (".json",), "a plan with its instance")
        return parse_json_plan(decode_text(read_bytes(file), ",[{"), source=source)


def read_routes(path: str | os.PathLike[str], instance: Instance) -> Solution:
    """Read routes of an instance. Use `dynaroute.check` to verify them.

    Parameters
    ----------
    path
        A .sol or .json file; or a .csv, .xlsx or .geojson file as written by `write_plan`.
    instance
        The problem. Its customers are found by id if the file has ids, so they may have another order.

    Raises
    ------
    DynarouteError
        If the file cannot be read, or a table or map contains unknown ids.
    """
    source = os.fspath(path)
    with in_file(source):
        routes = _read_file(Path(path), source)
        if isinstance(routes, _Stated):
            return number_by_id(number_as_instance(routes.solution, instance), routes.own, instance, source)
        return number_stops(routes, instance)


def read_known_routes(path: str | os.PathLike[str], instance: Instance) -> KnownRoutes:
    """Read routes to start from, whose customers may be gone or have become more since.

    Parameters
    ----------
    path, instance
        As for `read_routes`.

    Raises
    ------
    DynarouteError
        If the file cannot be read, states something wrong other than its cost, or has none of the customers.
    """
    source = os.fspath(path)
    with in_file(source):
        routes = _read_file(Path(path), source)
        if isinstance(routes, _Stated):
            return match_solution(number_as_instance(routes.solution, instance), routes.own, instance, source)
        return match_stops(routes, instance, source)


@dataclass(frozen=True)
class _Stated:
    """Routes by number, and the plan's own instance, if any."""

    solution: Solution
    own: Instance | None = None


def _read_file(file: Path, source: str) -> _Stated | list[NamedStop]:
    refuse_unreadable(file)
    suffix = require_suffix(file, ROUTE_SUFFIXES, "a solution")
    if suffix in _STOPS:
        return _STOPS[suffix](read_bytes(file))
    if suffix != ".json":
        return _Stated(parse_sol(decode_text(read_bytes(file)), source=source))
    document = load_json(decode_text(read_bytes(file)))
    if is_plan(document):
        return _Stated(solution_from_json(document, source=source), plan_instance_from_json(document, source=source))
    return _Stated(pick_solution(document, source=source))
