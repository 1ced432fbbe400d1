"""Vehicles, limits and times in a CVRPLIB file, in the fields and sections that PyVRP reads. Time equals distance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.decimals import scale_to_integers
from dynaroute.base.errors import FormatError, InstanceError, Where
from dynaroute.formats.fleet_options import VehicleList
from dynaroute.formats.numbers import parse_decimal, parse_float, parse_whole
from dynaroute.formats.vrplib.outline import Outline, read_rows
from dynaroute.formats.vrplib.rules import Depots, read_vehicle_rules
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import LARGEST_INTEGER

FLEET_FIELDS = frozenset({"VEHICLES", "DISTANCE", "SERVICE_TIME", "VEHICLES_MAX_DISTANCE", "VEHICLES_MAX_DURATION"})
_BY_VEHICLE = {
    "capacity": "CAPACITY_SECTION",
    "max_distance": "VEHICLES_MAX_DISTANCE_SECTION",
    "max_duration": "VEHICLES_MAX_DURATION_SECTION",
}
FLEET_SECTIONS = frozenset({"TIME_WINDOW_SECTION", "SERVICE_TIME_SECTION", *_BY_VEHICLE.values()})


@dataclass(frozen=True)
class VrplibFleet:
    """What a file says about vehicles and times.

    Attributes
    ----------
    vehicles
        Vehicle types, if more than one capacity limits them.
    service, windows
        As in `Instance`.
    speed
        1 if times matter, since travel time equals distance.
    allowed
        The only customers that each vehicle type may serve; empty if all may serve all.
    """

    vehicles: VehicleList | None
    service: NDArray[np.float64] | None
    windows: NDArray[np.float64] | None
    speed: float | None
    allowed: tuple[frozenset[int], ...] = ()

    def place(self, where: Where, outline: Outline, node: int) -> Where:
        """Translate fields of an instance into sections of the file."""
        section = {"windows": "TIME_WINDOW_SECTION", "service": "SERVICE_TIME_SECTION"}.get(where.field or "")
        if section is None or section not in outline.sections:
            return where
        rows = [row for row in outline.sections[section].rows if row.tokens[0] == str(node + 1)]
        return replace(where, field=section, line=rows[0].line if rows else outline.sections[section].line)


def read_vrplib_fleet(outline: Outline, depots: Depots, capacity: Decimal | None) -> VrplibFleet:
    """Read what the file says about vehicles and times.

    Parameters
    ----------
    outline
        The file.
    depots
        Its depots.
    capacity
        Capacity of every vehicle; None if there is a CAPACITY_SECTION.
    """
    service = _read_service(outline, depots)
    windows = _read_windows(outline, depots.dimension)
    limits = _read_limits(outline, has_service=service is not None, has_windows=windows is not None)
    count = _read_count(outline)
    per_vehicle = {key: _read_by_vehicle(outline, section, count) for key, section in _BY_VEHICLE.items()}
    rules = read_vehicle_rules(outline, count, depots)
    vehicles, allowed = _make_types(
        capacity, count, limits, {key: rows for key, rows in per_vehicle.items() if rows is not None}, rules
    )
    is_timed = service is not None or windows is not None or _limits_duration(vehicles)
    is_timed |= "RELEASE_TIME_SECTION" in outline.sections
    return VrplibFleet(vehicles, service, windows, 1.0 if is_timed else None, allowed)


def _read_service(outline: Outline, depots: Depots) -> NDArray[np.float64] | None:
    """Read the service times, from one field for all customers or from a section."""
    field = outline.fields.get("SERVICE_TIME")
    if "SERVICE_TIME_SECTION" in outline.sections:
        if field is not None:
            raise FormatError(
                "there are both a field and a section of service times.",
                where=Where(line=field.line, field="SERVICE_TIME"),
                remedy="Keep one of the two.",
            )
        rows = read_rows(outline, "SERVICE_TIME_SECTION", ("node", "service time"), depots.dimension)
        return np.array(
            [parse_float(row.tokens[1], Where(line=row.line, field="SERVICE_TIME_SECTION")) for row in rows]
        )
    if field is None:
        return None
    where = Where(line=field.line, field="SERVICE_TIME")
    seconds = parse_float(field.value, where)
    if seconds < 0:
        raise InstanceError(f"the service time is {field.value}, below 0.", where=where, remedy="It must be 0 or more.")
    return np.r_[np.zeros(depots.count), np.full(depots.dimension - depots.count, seconds)] if seconds else None


def _read_windows(outline: Outline, dimension: int) -> NDArray[np.float64] | None:
    name = "TIME_WINDOW_SECTION"
    if name not in outline.sections:
        return None
    rows = read_rows(outline, name, ("node", "earliest time", "latest time"), dimension)
    return np.array(
        [[parse_float(token, Where(line=row.line, field=name)) for token in row.tokens[1:]] for row in rows]
    )


def _read_limits(outline: Outline, *, has_service: bool, has_windows: bool) -> dict[str, float]:
    """Read the limits of all vehicles.

    DISTANCE limits driving plus service times, as in the instances of Christofides, Mingozzi and Toth.
    """
    limits: dict[str, float] = {}
    for name in ("DISTANCE", "VEHICLES_MAX_DISTANCE", "VEHICLES_MAX_DURATION"):
        field = outline.fields.get(name)
        if field is None:
            continue
        where = Where(line=field.line, field=name)
        value = parse_float(field.value, where)
        if value <= 0:
            raise InstanceError(f"the limit is {field.value}, not above 0.", where=where, remedy="It must be above 0.")
        key = name.removeprefix("VEHICLES_").lower()
        if name == "DISTANCE":
            key = "max_duration" if has_service and not has_windows else "max_distance"
        if limits.setdefault(key, value) != value:
            raise FormatError("another field sets the same limit.", where=where, remedy="Keep one of the two.")
    return limits


def _read_count(outline: Outline) -> int | None:
    field = outline.fields.get("VEHICLES")
    if field is None:
        return None
    where = Where(line=field.line, field="VEHICLES")
    count = parse_whole(field.value, where)
    if not 1 <= count <= LARGEST_INTEGER:
        raise InstanceError(f"there are {count} vehicles.", where=where, remedy="Give at least one.")
    return count


def _read_by_vehicle(outline: Outline, name: str, count: int | None) -> list[Decimal] | None:
    """Read a section with one row per vehicle."""
    if name not in outline.sections:
        return None
    if count is None:
        raise FormatError(
            "the section has one row per vehicle, but VEHICLES is missing.",
            where=Where(line=outline.sections[name].line, field=name),
            remedy="Add a line 'VEHICLES : 5'.",
        )
    field = name.removesuffix("_SECTION")
    if field in outline.fields:
        raise FormatError(
            "there are both a field and a section of it.",
            where=Where(line=outline.fields[field].line, field=field),
            remedy="Keep one of the two.",
        )
    rows = read_rows(outline, name, ("vehicle", "value"), count)
    values = [parse_decimal(row.tokens[1], Where(line=row.line, field=name)) for row in rows]
    for row, value in zip(rows, values, strict=True):
        if value <= 0:
            raise InstanceError(
                f"the value is {row.tokens[1]}, not above 0.",
                where=Where(line=row.line, field=name),
                remedy="It must be above 0.",
            )
    return values


def _make_types(
    capacity: Decimal | None,
    count: int | None,
    limits: Mapping[str, Any],
    per_vehicle: Mapping[str, list[Decimal]],
    rules: Sequence[Mapping[str, Any]],
) -> tuple[VehicleList | None, tuple[frozenset[int], ...]]:
    """Group equal vehicles into types, and say which customers each may serve; nothing if all may serve all."""
    if not per_vehicle and not rules:
        if count is None and not limits:
            return None, ()
        assert capacity is not None  # otherwise there is a section of capacities
        whole, scale = scale_to_integers([capacity])
        return VehicleList((VehicleType(whole[0], count=count, **limits),), scale), ()
    assert count is not None  # required by the sections
    capacities = per_vehicle.get("capacity", [capacity or Decimal(1)] * count)
    whole, scale = scale_to_integers(capacities)
    own = {key: rows for key, rows in per_vehicle.items() if key != "capacity"}
    of_each: list[dict[str, Any]] = [
        {**limits, **{key: float(rows[vehicle]) for key, rows in own.items()}, **(rules[vehicle] if rules else {})}
        for vehicle in range(count)
    ]
    allowed = [given.pop("allowed", frozenset()) for given in of_each]
    kinds = Counter(
        (VehicleType(holds, **given), customers)
        for holds, given, customers in zip(whole, of_each, allowed, strict=True)
    )
    types = tuple(replace(kind, count=number) for (kind, _), number in kinds.items())
    return VehicleList(types, scale), tuple(customers for _, customers in kinds) if any(allowed) else ()


def _limits_duration(vehicles: VehicleList | None) -> bool:
    return vehicles is not None and any(kind.max_duration is not None for kind in vehicles.types)
