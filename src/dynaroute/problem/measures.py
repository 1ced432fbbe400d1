"""Lengths and speeds with a unit, as people write them."""

from __future__ import annotations

import re

from dynaroute.base.display import show_text
from dynaroute.base.errors import FormatError, OptionError, Where

_METRES = {
    "m": 1.0,
    "metre": 1.0,
    "metres": 1.0,
    "meter": 1.0,
    "meters": 1.0,
    "km": 1000.0,
    "kilometre": 1000.0,
    "kilometres": 1000.0,
    "kilometer": 1000.0,
    "kilometers": 1000.0,
    "mi": 1609.344,
    "mile": 1609.344,
    "miles": 1609.344,
}
_SECONDS = {"s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "hr": 3600.0, "hour": 3600.0}
_SPEEDS = {"mph": ("mi", "h"), "kmh": ("km", "h"), "kph": ("km", "h"), "mps": ("m", "s")}
_MEASURE = re.compile(r"([0-9]+(?:[.,][0-9]+)?(?:[eE][+-]?[0-9]{1,2})?)\s*([a-z/]*)", re.IGNORECASE)


def parse_length(text: str, where: Where) -> float:
    """Read a length: metres if it has a unit, else in the instance's own unit.

    Parameters
    ----------
    text
        "120km", "5 mi", or a plain number in the instance's unit.
    where
        Place to name in errors.
    """
    number, unit = _split(text, where, "length", "Write 120km, or a number in the unit of the distances.")
    if unit and unit not in _METRES:
        raise FormatError(f"the unit {unit!r} is unknown.", where=where, remedy="Units of length are m, km and mi.")
    return number * _METRES.get(unit, 1.0)


def parse_speed(text: str, where: Where) -> float:
    """Read a speed in metres per second or, given a unit of time only, in the instance's units per second.

    Parameters
    ----------
    text
        "40km/h", "25 mph", "10m/s", "0.5/s".
    where
        Place to name in errors.

    Raises
    ------
    OptionError
        If it has no unit.
    """
    number, unit = _split(text, where, "speed", "Write 40km/h.")
    if not unit:
        raise OptionError(
            f"the speed {text.strip()} has no unit.",
            where=where,
            remedy=f"Write {text.strip()}km/h, {text.strip()}m/s, or {text.strip()}/s for distance units per second.",
        )
    length, _, time = unit.partition("/")
    length, time = _SPEEDS.get(unit, (length, time))
    if (length and length not in _METRES) or time not in _SECONDS:
        raise FormatError(f"the unit {unit!r} is unknown.", where=where, remedy="Units are km/h, mph, m/s, /s and /h.")
    if number <= 0:
        raise FormatError("the speed is 0.", where=where, remedy="Give one above 0.")
    return number * _METRES.get(length, 1.0) / _SECONDS[time]


def _split(text: str, where: Where, noun: str, remedy: str) -> tuple[float, str]:
    measure = _MEASURE.fullmatch(text.strip()) if len(text) < 60 else None
    if measure is None:
        raise FormatError(f"{show_text(text[:60])!r} is not a {noun}.", where=where, remedy=remedy)
    return float(measure[1].replace(",", ".")), measure[2].lower()
