"""Vehicles and times of an instance, for ``dynaroute info``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dynaroute.base.decimals import plain_number
from dynaroute.base.errors import InstanceError
from dynaroute.cli.shared.output import count_of, show_length

if TYPE_CHECKING:
    from dynaroute.problem.fleet import VehicleType
    from dynaroute.problem.instance import Instance

__all__ = ["count_vehicles", "describe_fleet", "list_fleet_facts"]


def describe_fleet(instance: Instance) -> dict[str, Any]:
    """Return vehicles and times as plain data; for a plain instance, that the fleet is unlimited."""
    from dynaroute.formats.json.fleet import vehicles_to_json

    document: dict[str, Any] = {"fleet": count_vehicles(instance)}
    if instance.vehicles is not None:
        document["vehicles"] = vehicles_to_json(instance)
    if instance.windows is not None:
        document["windows"] = _count_windows(instance)
    if instance.service is not None:
        document["service"] = {"total": plain_number(float(instance.service.sum()))}
    if instance.knows_times:
        document["times"] = "matrix" if instance.speed is None else {"speed": plain_number(instance.speed)}
    if not instance.is_symmetric:
        document["symmetric"] = False
    if (reason := _find_impossibility(instance)) is not None:
        document["impossible"] = reason
    return document


def list_fleet_facts(instance: Instance) -> list[tuple[str, str]]:
    """Describe them in words, one line each."""
    facts = [("vehicles", _describe_type(instance, kind)) for kind in instance.vehicles or ()]
    if instance.windows is not None:
        opening, closing = (instance.shown_time(bound) for bound in instance.windows[0].tolist())
        customers = f"{_count_windows(instance)} of {count_of(instance.size, 'customer')}"
        facts.append(("windows", f"{customers}; the depot from {opening} to {closing}"))
    if instance.service is not None:
        facts.append(("service", f"{instance.shown_duration(float(instance.service.sum()))} in total"))
    if instance.knows_times:
        facts.append(
            ("times", "from a matrix" if instance.speed is None else _describe_speed(instance, instance.speed))
        )
    if not instance.is_symmetric:
        facts.append(("roads", "the two directions of a leg may differ"))
    if (reason := _find_impossibility(instance)) is not None:
        facts.append(("impossible", reason))
    return facts


def _describe_type(instance: Instance, kind: VehicleType) -> str:
    limits = [
        "any number" if kind.count is None else str(kind.count),
        f"capacity {instance.shown_demand(kind.capacities[0])}",
        "" if kind.max_duration is None else f"{instance.shown_duration(kind.max_duration)} at most",
        "" if kind.max_distance is None else f"length {show_length(kind.max_distance)} at most",
        "" if kind.shift is None else f"{instance.shown_time(kind.shift[0])} to {instance.shown_time(kind.shift[1])}",
        "" if kind.max_stops is None else f"{count_of(kind.max_stops, 'stop')} at most",
        "ends at its last customer" if kind.end == "open" else "",
    ]
    named = f"{kind.name}: " if kind.name else ""
    return named + ", ".join(filter(None, limits))


def _describe_speed(instance: Instance, speed: float) -> str:
    if instance.unit == "m":
        return f"at {speed * 3.6:g} km/h"
    return "as long as distances" if speed == 1 else f"at {speed:g} units of distance a second"


def count_vehicles(instance: Instance) -> str:
    """Describe the number of vehicles."""
    counts = [kind.count for kind in instance.fleet]
    known = [count for count in counts if count is not None]
    return count_of(sum(known), "vehicle") if len(known) == len(counts) else "unlimited"


def _count_windows(instance: Instance) -> int:
    if instance.windows is None:
        return 0
    earliest, latest = instance.windows[1:].T
    return int(((earliest > 0) | (latest < math.inf)).sum())


def _find_impossibility(instance: Instance) -> str | None:
    from dynaroute.problem.impossible import refuse_impossible

    try:
        refuse_impossible(instance)
    except InstanceError as error:
        return error.message
    return None
