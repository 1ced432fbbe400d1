"""Vehicles, times and durations in JSON."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.decimals import count_decimals, plain_number, scale_to_integers
from dynaroute.base.errors import FormatError, InstanceError, Where, placed
from dynaroute.formats.fleet_options import VehicleList
from dynaroute.formats.json.document import read_number, require, require_list, require_object
from dynaroute.formats.json.frozen import frozen_to_json
from dynaroute.formats.json.requests import refuse_keys
from dynaroute.formats.json.rules import amount_to_json, read_amounts, write_json_rules
from dynaroute.formats.json.times import read_seconds, read_window
from dynaroute.formats.json.vehicle_rules import VEHICLE_RULE_KEYS, read_vehicle_rules, vehicle_rules_to_json
from dynaroute.formats.numbers import refuse_unmeasurable
from dynaroute.formats.text import one_line
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import LARGEST_INTEGER, Instance

VERSION = 3  # of documents that use rules; 2 of those that use only what else is here
NO_STOPS: Mapping[str, int] = MappingProxyType({})
_VEHICLE_KEYS = (
    frozenset({"name", "capacity", "count", "max_duration", "max_distance", "shift", "max_stops"}) | VEHICLE_RULE_KEYS
)


def read_json_version(value: object) -> None:
    """Raise if the document's version is newer than this program knows."""
    if value is None:
        return
    if type(value) is not int or not 1 <= value <= VERSION:
        raise FormatError.about(
            "version", f"the document's version {value!r} is unknown.", f"This program reads versions 1 to {VERSION}."
        )


def read_json_vehicles(
    value: object,
    dimensions: tuple[str, ...] | None = None,
    metres: float = 1.0,
    places: Collection[str] = (),
    depot: str = "",
    stops: Mapping[str, int] = NO_STOPS,
) -> VehicleList | None:
    """Read the vehicle types; None if there are none.

    Parameters
    ----------
    value
        The list in decoded JSON.
    dimensions
        Names of the dimensions of loads, if capacities are by dimension.
    metres
        How many units of distance the price of one is for: 1000 where they are metres.
    places, depot
        Names of further places, and of the first depot.
    stops
        The node of each id, for beginnings of routes.
    """
    if value is None:
        return None
    items = [require_object(item, f"vehicles[{index}]") for index, item in enumerate(require_list(value, "vehicles"))]
    if not items:
        raise InstanceError.about("vehicles", "there is no vehicle.", "Give at least one type.")
    refuse_keys(items, _VEHICLE_KEYS, "vehicles", lambda index: f"vehicles[{index}]")
    capacities = [_read_capacity(item, f"vehicles[{index}]", dimensions) for index, item in enumerate(items)]
    loads = [
        [Decimal(0)] * len(held)
        if item.get("initial_load") is None
        else read_amounts(item["initial_load"], f"vehicles[{index}].initial_load", dimensions)
        for index, (item, held) in enumerate(zip(items, capacities, strict=True))
    ]
    count = len(dimensions or ("",))
    whole, scale = scale_to_integers([amount for held in (*capacities, *loads) for amount in held])
    if max(whole) > LARGEST_INTEGER:
        index = whole.index(max(whole)) // count % len(items)
        raise InstanceError.about(
            f"vehicles[{index}].capacity",
            f"the capacity is too large; the largest possible is {LARGEST_INTEGER}.",
            "Use a larger unit, or fewer decimals.",
        )
    of_each = [tuple(whole[count * index : count * (index + 1)]) for index in range(2 * len(items))]
    types = []
    for index, item in enumerate(items):
        path = f"vehicles[{index}]"
        with placed(partial(_place_in_vehicle, path)):
            rules = read_vehicle_rules(item, path, metres=metres, places=places, depot=depot, stops=stops)
        if any(of_each[len(items) + index]):
            rules["initial_load"] = of_each[len(items) + index]
        types.append(_read_vehicle(index, item, of_each[index], rules))
    return VehicleList(tuple(types), scale)


def find_unknown_vehicle_keys(value: object) -> set[str]:
    """Find unknown keys of vehicles that have a value."""
    items = value if isinstance(value, list) else []
    return {key for item in items for key in item.keys() - _VEHICLE_KEYS if item[key] is not None}


def read_json_service(nodes: Sequence[Mapping[str, object]], paths: Sequence[str]) -> NDArray[np.float64] | None:
    """Read the service times of all nodes, the depot first; None if no node has one."""
    if all(node.get("service") is None for node in nodes):
        return None
    return np.array(
        [read_seconds(node.get("service"), f"{path}.service", 0.0) for node, path in zip(nodes, paths, strict=True)]
    )


def read_json_windows(nodes: Sequence[Mapping[str, object]], paths: Sequence[str]) -> NDArray[np.float64] | None:
    """Read the windows of all nodes, the depot first; None if no node has one.

    With "windows", a node has as many rows as the one with the most; its last window is repeated.
    """
    if all(node.get("window") is None and node.get("windows") is None for node in nodes):
        return None
    several = [_list_windows(node, path) for node, path in zip(nodes, paths, strict=True)]
    most = max(map(len, several))
    if most == 1:
        return np.array([windows[0] for windows in several])
    return np.array([[*windows, *[windows[-1]] * (most - len(windows))] for windows in several])


def _list_windows(node: Mapping[str, object], path: str) -> list[tuple[float, float]]:
    if node.get("windows") is None:
        return [read_window(node.get("window"), f"{path}.window")]
    if node.get("window") is not None:
        raise FormatError.about(f"{path}.windows", "there are both window and windows.", "Keep one of the two.")
    listed = require_list(node["windows"], f"{path}.windows")
    if not listed:
        return [(0.0, math.inf)]
    if None in listed:
        raise FormatError.about(f"{path}.windows", "a window is missing.", "Leave null out.")
    return [read_window(window, f"{path}.windows[{index}]") for index, window in enumerate(listed)]


def read_json_speed(value: object) -> float | None:
    """Read a speed in distance units per second."""
    return None if value is None else float(read_number(value, "speed"))


def read_json_matrix(value: object, count: int, field: str) -> NDArray[np.float64] | None:
    """Read a matrix with one row and one column per node."""
    if value is None:
        return None
    rows = [require_list(row, f"{field}[{index}]") for index, row in enumerate(require_list(value, field))]
    uneven = next((index for index, row in enumerate(rows) if len(row) != count), None)
    if len(rows) != count or uneven is not None:
        place = field if len(rows) != count else f"{field}[{uneven}]"
        found = len(rows) if len(rows) != count else len(rows[uneven or 0])
        raise FormatError.about(
            place,
            f"the matrix has length {found} here, but there are {count} nodes.",
            "It needs a row and a column for the depot and for each customer.",
        )
    return np.array([_read_matrix_row(row, f"{field}[{index}]") for index, row in enumerate(rows)])


def _read_matrix_row(row: list[object], path: str) -> list[float]:
    if set(map(type, row)) <= {int, Decimal}:  # all at once: building the paths of a million numbers takes seconds
        with suppress(OverflowError):  # an integer of hundreds of digits, whose place is found below
            values: list[float] = list(map(float, row))  # type: ignore[arg-type]
            if all(map(math.isfinite, values)):
                return values
    return [
        refuse_unmeasurable(float(read_number(cell, place := f"{path}[{column}]")), Where(field=place))
        for column, cell in enumerate(row)
    ]


def write_json_fleet(instance: Instance, document: dict[str, object], nodes: Sequence[dict[str, object]]) -> None:
    """Add vehicles and times to an instance's document, and to the objects of its nodes."""
    before = set(document)
    if instance.vehicles is not None:
        document["vehicles"] = vehicles_to_json(instance)
    if instance.durations is not None:
        document["durations"] = [list(map(plain_number, row)) for row in instance.durations.tolist()]
    if instance.speed is not None:
        document["speed"] = plain_number(instance.speed)
    if instance.service is not None:
        for node, seconds in zip(nodes[1:], instance.service.tolist()[1:], strict=True):
            node["service"] = plain_number(seconds)
    if instance.windows is not None and instance.windows.ndim == 2:
        for node, (earliest, latest) in zip(nodes, instance.windows.tolist(), strict=True):
            if earliest > 0 or math.isfinite(latest):
                node["window"] = [plain_number(earliest), plain_number(latest) if math.isfinite(latest) else None]
    if set(document) != before or instance.service is not None or instance.windows is not None:
        document["version"] = 2
    write_json_rules(instance, document, nodes)
    frozen_to_json(instance, document, nodes)
    if (
        instance.rules
        or instance.dimensions is not None
        or instance.change_cost
        or instance.buffer
        or instance.usual_vehicles is not None
    ):
        document["version"] = VERSION


def vehicles_to_json(instance: Instance) -> list[dict[str, object]]:
    """Convert vehicle types to plain data for JSON."""
    return [_vehicle_to_json(instance, kind) for kind in instance.fleet]


def _vehicle_to_json(instance: Instance, vehicle: VehicleType) -> dict[str, object]:
    document: dict[str, object] = {"name": vehicle.name} if vehicle.name else {}
    document["capacity"] = amount_to_json(instance, np.array(vehicle.capacities))
    for key in ("count", "max_duration", "max_distance", "max_stops"):
        value = getattr(vehicle, key)
        if value is not None:
            document[key] = plain_number(value)
    if vehicle.shift is not None:
        document["shift"] = list(map(plain_number, vehicle.shift))
    if any(vehicle.initial_loads):
        document["initial_load"] = amount_to_json(instance, np.array(vehicle.initial_loads))
    if vehicle.beginning:
        document["beginning"] = list(map(instance.customer_name, vehicle.beginning))
    return document | vehicle_rules_to_json(vehicle, 1000.0 if instance.unit == "m" else 1.0)


def _read_capacity(item: Mapping[str, object], path: str, dimensions: tuple[str, ...] | None) -> list[Decimal]:
    value, where = require(item, "capacity", path), Where(field=f"{path}.capacity")
    capacities = read_amounts(value, f"{path}.capacity", dimensions)
    if dimensions is not None and isinstance(value, Mapping) and len(value) < len(dimensions):
        remedy = f"Dimensions are {', '.join(dimensions)}."
        raise FormatError("the capacity of a dimension is missing.", where=where, remedy=remedy)
    for capacity in capacities:
        if capacity <= 0:
            raise InstanceError(f"the capacity is {capacity}.", where=where, remedy="It must be above 0.")
    return capacities


def _read_vehicle(
    index: int, item: Mapping[str, object], capacities: tuple[int, ...], rules: Mapping[str, Any]
) -> VehicleType:
    path = f"vehicles[{index}]"
    given: dict[str, Any] = {"capacity": capacities, "name": _read_name(item.get("name"), f"{path}.name"), **rules}
    for key in ("count", "max_stops", "max_trips", "min_vehicles"):
        if item.get(key) is not None:
            given[key] = _read_whole(item[key], f"{path}.{key}")
    if item.get("max_duration") is not None:
        given["max_duration"] = read_seconds(item["max_duration"], f"{path}.max_duration", 0.0)
    if item.get("max_distance") is not None:
        place = f"{path}.max_distance"
        given["max_distance"] = refuse_unmeasurable(float(read_number(item["max_distance"], place)), Where(field=place))
    if item.get("shift") is not None:
        given["shift"] = _read_shift(item["shift"], f"{path}.shift")
    with placed(partial(_place_in_vehicle, path)):
        return VehicleType(**given)


def _place_in_vehicle(path: str, where: Where) -> Where:
    return (
        where if where.field is None or where.field.startswith(path) else replace(where, field=f"{path}.{where.field}")
    )


def _read_name(value: object, path: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise FormatError.about(path, "the name is not a string.", "Write it in quotes.")
    return one_line(value)


def _read_whole(value: object, path: str) -> int:
    number = read_number(value, path)
    # compared without arithmetic, which fails for numbers such as 1e999999999
    if count_decimals(number) or not -LARGEST_INTEGER <= number <= LARGEST_INTEGER:
        raise FormatError.about(path, f"{number} is not a whole number.", "Write a whole number.")
    return int(number)


def _read_shift(value: object, path: str) -> tuple[float, float]:
    earliest, latest = read_window(value, path)
    if math.isinf(latest):
        raise FormatError.about(path, "the end of the shift is missing.", "Give two times.")
    return earliest, latest
