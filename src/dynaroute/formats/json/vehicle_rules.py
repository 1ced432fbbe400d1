"""Costs, places, breaks, reloads and skills of vehicles in JSON. Prices are per km, or unit of distance, and hour."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from dynaroute.base.decimals import plain_number
from dynaroute.base.errors import FormatError, InstanceError, Where, placed
from dynaroute.base.vocabulary import join_with_or
from dynaroute.formats.json.document import read_number, require, require_list, require_object
from dynaroute.formats.json.frozen import read_stops
from dynaroute.formats.json.rules import PER_HOUR, read_words
from dynaroute.formats.json.times import read_seconds, read_window
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.places import DEPOT
from dynaroute.problem.working_day import Break, Overtime

_AMOUNTS = ("fixed_cost", "distance_cost", "time_cost", "speed_factor", "service_factor")
_TIMES = ("max_driving", "loading")
VEHICLE_RULE_KEYS = frozenset(
    {
        *_AMOUNTS,
        *_TIMES,
        "overtime",
        "start",
        "end",
        "breaks",
        "reload",
        "max_trips",
        "min_vehicles",
        "skills",
        "initial_load",
        "beginning",
        "profile",
    }
)
_BREAK_KEYS = {"duration", "window", "after_driving"}


def read_vehicle_rules(
    item: Mapping[str, object],
    path: str,
    *,
    metres: float,
    places: Collection[str],
    depot: str,
    stops: Mapping[str, int],
) -> dict[str, Any]:
    """Read the fields of a vehicle type that rules give.

    Parameters
    ----------
    item, path
        The vehicle type, and where it is.
    metres
        How many units of distance the price of one is for: 1000 where they are metres.
    places, depot
        Names of the further places, and of the first depot.
    stops
        The node of each id.
    """
    units = {"distance_cost": metres, "time_cost": PER_HOUR}
    given: dict[str, Any] = {
        key: float(read_number(item[key], f"{path}.{key}")) / units.get(key, 1.0)
        for key in _AMOUNTS
        if item.get(key) is not None
    }
    given |= {key: read_seconds(item[key], f"{path}.{key}", 0.0) for key in _TIMES if item.get(key) is not None}
    for key in ("start", "end"):
        if item.get(key) is not None:
            given[key] = _read_place(item[key], f"{path}.{key}", places, depot, is_end=key == "end")
    if item.get("profile") is not None:
        if not isinstance(item["profile"], str):
            remedy = "Write the name of a profile in quotes."
            raise FormatError("the profile is not a text.", where=Where(field=f"{path}.profile"), remedy=remedy)
        given["profile"] = item["profile"]
    if item.get("reload") is not None:
        named = [DEPOT] if item["reload"] is True else [] if item["reload"] is False else item["reload"]
        listed = [named] if isinstance(named, str) else require_list(named, f"{path}.reload")
        given["reload"] = tuple(
            _read_place(name, f"{path}.reload[{index}]", places, depot) for index, name in enumerate(listed)
        )
    if item.get("overtime") is not None:
        given["overtime"] = _read_overtime(item["overtime"], f"{path}.overtime")
    if item.get("breaks") is not None:
        listed = require_list(item["breaks"], f"{path}.breaks")
        given["breaks"] = tuple(_read_break(each, f"{path}.breaks[{index}]") for index, each in enumerate(listed))
    if item.get("skills") is not None:
        given["skills"] = read_words(item["skills"], f"{path}.skills")
    if item.get("beginning") is not None:
        given["beginning"] = read_stops(item["beginning"], f"{path}.beginning", stops)
    return given


def _read_place(value: object, path: str, places: Collection[str], depot: str, *, is_end: bool = False) -> str:
    known = [DEPOT, *(["open"] if is_end else ()), *places]
    if isinstance(value, str) and value == depot:
        return DEPOT
    if not isinstance(value, str) or value not in known:
        what = path.rsplit(".", 1)[-1].split("[")[0]
        message, where = f"the {what} {value!r} is unknown.", Where(field=path)
        raise InstanceError(message, where=where, remedy=f"Use {join_with_or(known)}.")
    return value


def _read_overtime(value: object, path: str) -> Overtime:
    """Read [after, at most, cost per hour]; null means no limit."""
    parts = require_list(value, path)
    if len(parts) != 3:
        message = f"there are {len(parts)} values, not three."
        raise FormatError(message, where=Where(field=path), remedy="Give [after, at most, cost per hour].")
    after = read_seconds(parts[0], f"{path}[0]", 0.0)
    at_most = read_seconds(parts[1], f"{path}[1]", math.inf)
    return Overtime(after, at_most, float(read_number(parts[2], f"{path}[2]")) / PER_HOUR)


def _read_break(value: object, path: str) -> Break:
    item = require_object(value, path)
    for key in sorted(item.keys() - _BREAK_KEYS):
        raise FormatError(f"a break has no {key}.", where=Where(field=f"{path}.{key}"), remedy="Leave it out.")
    duration = read_seconds(require(item, "duration", path), f"{path}.duration", 0.0)
    window = None if item.get("window") is None else read_window(item["window"], f"{path}.window")
    driving = (
        None if item.get("after_driving") is None else read_seconds(item["after_driving"], f"{path}.after_driving", 0)
    )
    with placed(lambda where: replace(where, field=path)):
        return Break(duration, window, driving)


def vehicle_rules_to_json(vehicle: VehicleType, metres: float) -> dict[str, object]:
    """Convert the rules of a vehicle type to plain data."""
    usual, document = VehicleType(vehicle.capacity), dict[str, object]()
    units = {"distance_cost": metres, "time_cost": PER_HOUR}
    for key in (*_AMOUNTS, *_TIMES, "max_trips", "min_vehicles"):
        value = getattr(vehicle, key)
        if value != getattr(usual, key):
            document[key] = plain_number(round(value * units[key], 9) if key in units else value)
    if vehicle.start != DEPOT:
        document["start"] = vehicle.start
    if vehicle.end != vehicle.start:
        document["end"] = vehicle.end
    if vehicle.profile:
        document["profile"] = vehicle.profile
    if vehicle.reload:
        document["reload"] = list(vehicle.reload)
    if vehicle.overtime is not None:
        over = vehicle.overtime
        most = plain_number(over.at_most) if math.isfinite(over.at_most) else None
        document["overtime"] = [plain_number(over.after), most, plain_number(round(over.cost * PER_HOUR, 9))]
    if vehicle.breaks:
        document["breaks"] = [_break_to_json(each) for each in vehicle.breaks]
    if vehicle.skills:
        document["skills"] = sorted(vehicle.skills)
    return document


def _break_to_json(each: Break) -> dict[str, object]:
    item: dict[str, object] = {"duration": plain_number(each.duration)}
    if each.after_driving is not None:
        item["after_driving"] = plain_number(each.after_driving)
    if each.window is not None:
        opens, closes = each.window
        item["window"] = [plain_number(opens), plain_number(closes) if math.isfinite(closes) else None]
    return item
