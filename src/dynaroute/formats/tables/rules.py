"""What the rules of customers and vehicles say in a table: columns with a name of their own, in four languages."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from dynaroute.base.errors import InstanceError, warn_of_input
from dynaroute.formats.numbers import parse_decimal
from dynaroute.formats.tables.cells.amounts import Entry, is_blank, tidy
from dynaroute.formats.tables.headers import Column
from dynaroute.formats.tables.table import Table
from dynaroute.formats.tables.time_cells import read_time_cell
from dynaroute.formats.unsupported import says_something

ROLES_OF_FIELDS = {
    "pickups": "pickup",
    "prizes": "prize",
    "priorities": "priority",
    "late_costs": "late_cost",
    "release": "release",
    "skills": "skills",
    "vehicles_allowed": "vehicles",
    "vehicles_forbidden": "not_vehicles",
    "same_vehicle": "same_vehicle",
    "not_together": "not_together",
    "partners": "shipment",
    "max_ride": "max_ride",
    "one_of": "one_of",
}
_PER_HOUR = 3600.0
_COMMA = re.compile(r"[0-9]+,[0-9]{1,2}")
_SEPARATORS = re.compile(r"[;,/|+]")


def read_number_cell(entry: Entry) -> Decimal:
    """Read a number of 0 or more."""
    text = tidy(entry.text)
    number = parse_decimal(text.replace(",", ".") if _COMMA.fullmatch(text) else text, entry.where)
    if number < 0:
        raise InstanceError(f"the value is {text}, below 0.", where=entry.where, remedy="Give 0 or more.")
    return number


def read_wishes(table: Table, source: str) -> dict[str, Any]:
    """Read the fields of an instance that columns of rules give; `source` is the file's path, for notes."""
    columns, fields = table.header.columns, dict[str, Any]()
    readers: dict[str, tuple[str, float, Callable[[Entry, Column], float]]] = {
        "prize": ("prizes", math.inf, lambda entry, _: float(read_number_cell(entry))),
        "priority": ("priorities", math.nan, lambda entry, _: float(read_number_cell(entry))),
        "late_cost": ("late_costs", math.inf, lambda entry, _: float(read_number_cell(entry)) / _PER_HOUR),
        "release": ("release", 0.0, read_time_cell),
    }
    for role, (field, without, read) in readers.items():
        column = columns.get(role)
        if column is None:
            continue
        entries = [table.entry(row, column) for row in table.rows[1:]]
        values = [without if _is_empty(entry) else read(entry, column) for entry in entries]
        fields[field] = np.array([without, *values])
        if role == "priority" and not all(map(math.isnan, values)):  # many number them from 1, the most urgent
            message = f"customers with a {column.label} may be left out, those with a lower number first."
            warn_of_input(source, message)
    for role, field in (("skills", "skills"), ("vehicles", "vehicles_allowed"), ("not_vehicles", "vehicles_forbidden")):
        if (column := columns.get(role)) is not None:
            fields[field] = (frozenset(), *(read_skills(table.entry(row, column)) for row in table.rows[1:]))
    for role in ("same_vehicle", "not_together", "one_of"):
        if (column := columns.get(role)) is not None:
            entries = [table.entry(row, column) for row in table.rows[1:]]
            fields[role] = ("", *("" if _is_empty(entry) else tidy(entry.text) for entry in entries))
    return fields


def name_wished_vehicles(wishes: Mapping[str, Any]) -> tuple[str, ...]:
    """Name the types of vehicles that customers may, or may not, be served by."""
    listed = (wishes.get(field, ()) for field in ("vehicles_allowed", "vehicles_forbidden"))
    return tuple(sorted({name for names in listed for each in names for name in each}))


def read_skills(entry: Entry) -> frozenset[str]:
    """Read skills or names of vehicles, separated by commas or semicolons."""
    words = "" if _is_empty(entry) or not says_something([entry.text]) else entry.text  # "none" is no skill
    return frozenset(filter(None, (tidy(word) for word in _SEPARATORS.split(words))))


def read_costs(cells: Mapping[str, tuple[Entry, Column]]) -> dict[str, Any]:
    """Read the prices and skills of a vehicle type; the price of a distance is for a km where it is in metres."""
    units = {"fixed_cost": 1.0, "distance_cost": 1.0, "time_cost": _PER_HOUR}
    given: dict[str, Any] = {
        key: float(read_number_cell(cells[key][0])) / unit for key, unit in units.items() if key in cells
    }
    if "skills" in cells:
        given["skills"] = read_skills(cells["skills"][0])
    return given


def _is_empty(entry: Entry) -> bool:
    return entry.kind == "text" and is_blank(entry.text)
