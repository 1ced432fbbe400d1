"""Lengths and speeds with a unit."""

from __future__ import annotations

import pytest

from dynaroute.base.errors import DynarouteError, OptionError, Where
from dynaroute.problem.measures import parse_length, parse_speed

WHERE = Where(field="speed")


@pytest.mark.parametrize(
    ("text", "length"), [("120km", 120_000), ("1,5 km", 1500), ("5 mi", 8046.72), ("300 m", 300), ("42.5", 42.5)]
)
def test_a_length_is_read_in_metres_or_units(text: str, length: float) -> None:
    assert parse_length(text, WHERE) == pytest.approx(length)


@pytest.mark.parametrize(
    ("text", "speed"), [("36km/h", 10), ("36 km/h", 10), ("36kmh", 10), ("10m/s", 10), ("0.5/s", 0.5), ("60/min", 1)]
)
def test_a_speed_is_read_in_units_a_second(text: str, speed: float) -> None:
    assert parse_speed(text, WHERE) == pytest.approx(speed)


def test_miles_an_hour_are_metres_a_second() -> None:
    assert parse_speed("25 mph", WHERE) == pytest.approx(25 * 1609.344 / 3600)


def test_a_speed_without_a_unit_is_refused() -> None:
    with pytest.raises(OptionError, match="no unit"):
        parse_speed("40", WHERE)


@pytest.mark.parametrize("text", ["fast", "-40km/h", "40 knots", "40km/fortnight", "0km/h", "nan km/h", ""])
def test_what_is_no_speed_is_refused(text: str) -> None:
    with pytest.raises(DynarouteError):
        parse_speed(text, WHERE)


@pytest.mark.parametrize("text", ["far", "-3km", "3 leagues", ""])
def test_what_is_no_length_is_refused(text: str) -> None:
    with pytest.raises(DynarouteError):
        parse_length(text, WHERE)
