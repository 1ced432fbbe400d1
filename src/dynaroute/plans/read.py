"""Reading plans, and routes in any format."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from dynaroute.errors import in_file
from dynaroute.files import read_bytes, refuse_unreadable
from dynaroute.formats import SOLUTION_SUFFIXES, read_solution
from dynaroute.formats.table import require_suffix
from dynaroute.formats.text import decode_text
from dynaroute.instance import Instance
from dynaroute.plans.csv_plan import parse_csv_plan
from dynaroute.plans.geojson import parse_geojson
from dynaroute.plans.json_plan import parse_json_plan
from dynaroute.plans.plan import Plan
from dynaroute.plans.xlsx_plan import parse_xlsx_plan
from dynaroute.solution import Solution

__all__ = ["ROUTE_SUFFIXES", "read_plan", "read_routes"]

# These identify customers by id, so they need the instance.
_BY_ID: dict[str, Callable[[bytes, Instance], Solution]] = {
    ".csv": parse_csv_plan,
    ".xlsx": parse_xlsx_plan,
    ".geojson": lambda content, instance: parse_geojson(decode_text(content, ",[{"), instance),
}

ROUTE_SUFFIXES = (*SOLUTION_SUFFIXES, *_BY_ID)


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
        A .sol or .json file, with customer numbers; or a .csv, .xlsx or .geojson file as written by `write_plan`, with
        ids.
    instance
        The problem.

    Raises
    ------
    DynarouteError
        If the file cannot be read, or contains unknown ids.
    """
    file, source = Path(path), os.fspath(path)
    parse = _BY_ID.get(file.suffix.lower())
    if parse is None and file.suffix.lower() in SOLUTION_SUFFIXES:
        return read_solution(path)
    with in_file(source):
        refuse_unreadable(file)
        require_suffix(file, ROUTE_SUFFIXES, "a solution")
        assert parse is not None  # or the suffix would have been refused
        return parse(read_bytes(file), instance)
