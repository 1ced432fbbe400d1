"""Times as people write them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaroute.base.errors import DynarouteError, UnsupportedError, Where
from dynaroute.problem.times import format_clock, parse_time, parse_window

WHERE = Where(field="window")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("28800", 28800),
        ("12.5", 12.5),
        ("8h", 28800),
        ("1.5h", 5400),
        ("1,5 Std.", 5400),
        ("90 min", 5400),
        ("1h 30min", 5400),
        ("1h30", 5400),
        ("45 seconds", 45),
        ("2 Tage", 172800),
        ("26h", 93600),
        ("08:00", 28800),
        (" 8:05 ", 29100),
        ("08:00:30", 28830),
        ("24:00", 86400),
        ("00:00", 0),
        ("12:00 am", 0),
        ("12:15 pm", 44100),
        ("2 PM", 50400),
        ("2:30 p.m.", 52200),
        ("8 Uhr", 28800),
        ("8:30 Uhr", 30600),
        ("8.30 Uhr", 30600),
    ],
)
def test_a_time_is_read_in_seconds(text: str, seconds: float) -> None:
    assert parse_time(text, WHERE) == seconds


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("25:00", "not a clock time"),
        ("24:01", "not a clock time"),
        ("08:60", "not a clock time"),
        ("08:00:75", "not a clock time"),
        ("13 pm", "not a clock time"),
        ("0:30 am", "not a clock time"),
        ("8 fortnights", "unit 'fortnights'"),
        ("90 parsecs", "unit 'parsecs'"),
        ("8h 5x", "unit 'x'"),
        ("soon", "is not a time"),
        ("", "missing"),
        ("nan", "is not a time"),
        ("-5 min", "negative"),
        ("8:", "is not a time"),
        ("1" * 61, "is not a time"),
        ("1e99", "too long"),
    ],
)
def test_what_is_no_time_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(DynarouteError) as refusal:
        parse_time(text, WHERE)
    assert words in refusal.value.message
    assert refusal.value.where == WHERE and refusal.value.remedy


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("08:00-12:00", (28800, 43200)),
        ("08:00 \u2013 12:00", (28800, 43200)),
        ("[8:00 to 12:00]", (28800, 43200)),
        ("8 Uhr bis 12 Uhr", (28800, 43200)),
        ("8-12 Uhr", (28800, 43200)),
        ("8-12h", (28800, 43200)),
        ("9 am - 5 pm", (32400, 61200)),
        ("100-200", (100, 200)),
        ("08:00-", (28800, math.inf)),
        ("-12:00", (0, 43200)),
        ("ab 8 Uhr", (28800, math.inf)),
        ("bis 12:00", (0, 43200)),
        ("from 8:00", (28800, math.inf)),
        ("until 12:00", (0, 43200)),
        ("à partir de 8h", (28800, math.inf)),
        ("jusqu\u2019à 12h", (0, 43200)),
        ("desde las 8:00", (28800, math.inf)),
        ("antes de 12:00", (0, 43200)),
        ("von 8 bis 12 Uhr", (28800, 43200)),
        ("between 8:00 and 12:00", (28800, 43200)),
        ("de 8h à 12h", (28800, 43200)),
        ("de las 8:00 a las 12:00", (28800, 43200)),
        ("08.00-12.00 Uhr", (28800, 43200)),
    ],
)
def test_a_window_is_two_times(text: str, window: tuple[float, float]) -> None:
    assert parse_window(text, WHERE) == window


@pytest.mark.parametrize("text", ["", "-", "08:00", "08:00-09:00-10:00", "noon-midnight", "x" * 200])
def test_what_is_no_window_is_refused(text: str) -> None:
    with pytest.raises(DynarouteError) as refusal:
        parse_window(text, WHERE)
    assert "08:00-12:00" in refusal.value.remedy


@pytest.mark.parametrize("text", ["from 8", "bis 12", "8-12:00", "08:00-12", "de 8 à 12"])
def test_a_bare_number_that_may_be_hours_is_refused_beside_words_and_clocks(text: str) -> None:
    with pytest.raises(DynarouteError, match="could mean hours"):
        parse_window(text, WHERE)


@pytest.mark.parametrize(("text", "hint"), [("08:00-25:00", "write 25h."), ("23:00-24:30", "write 24h 30min.")])
def test_a_time_after_midnight_is_refused_with_how_to_write_it(text: str, hint: str) -> None:
    with pytest.raises(DynarouteError) as refusal:
        parse_window(text, WHERE)
    assert refusal.value.remedy.endswith(hint)


@pytest.mark.parametrize(
    "text",
    [
        "08:00-10:00, 14:00-16:00",
        "8h-10h; 14h-16h",
        "08:00-10:00 / 14:00-16:00",
        "08:00-10:00 14:00-16:00",
        "8 bis 10 Uhr und 14 bis 16 Uhr",
    ],
)
def test_several_windows_are_refused_by_name(text: str) -> None:
    with pytest.raises(UnsupportedError, match="several time windows"):
        parse_window(text, WHERE)


@given(st.integers(0, 86400))
def test_a_clock_reads_back(seconds: int) -> None:
    assert parse_time(format_clock(seconds), WHERE) == seconds


def test_a_clock_goes_on_after_midnight() -> None:
    assert format_clock(93600) == "26:00"


def test_never_is_a_dash() -> None:
    assert format_clock(math.inf) == "-"
