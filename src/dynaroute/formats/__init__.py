"""Reading and writing instances and solutions.

Begin with `registry`, the table of all formats by suffix; `read` and `write` look there. A format has one module, or a
room if it has more. It may import `base`, `problem` and `roads`.
"""

from dynaroute.formats.json.instance import instance_from_json, instance_to_json
from dynaroute.formats.json.solution import solution_from_json, solution_to_json
from dynaroute.formats.read import read, read_set, read_solution
from dynaroute.formats.registry import (
    INSTANCE_SUFFIXES,
    SOLUTION_SUFFIXES,
    WRITABLE_INSTANCE_SUFFIXES,
    WRITABLE_SET_SUFFIXES,
)
from dynaroute.formats.tables.csv import format_csv, parse_csv
from dynaroute.formats.vehicles import read_vehicles
from dynaroute.formats.vrplib.instance import parse_vrplib
from dynaroute.formats.vrplib.sol import format_sol, parse_sol
from dynaroute.formats.vrplib.writing import format_vrplib
from dynaroute.formats.write import write, write_set

__all__ = [
    "INSTANCE_SUFFIXES",
    "SOLUTION_SUFFIXES",
    "WRITABLE_INSTANCE_SUFFIXES",
    "WRITABLE_SET_SUFFIXES",
    "format_csv",
    "format_sol",
    "format_vrplib",
    "instance_from_json",
    "instance_to_json",
    "parse_csv",
    "parse_sol",
    "parse_vrplib",
    "read",
    "read_set",
    "read_solution",
    "read_vehicles",
    "solution_from_json",
    "solution_to_json",
    "write",
    "write_set",
]
