"""Time windows as people write them."""

from __future__ import annotations

import math

import pytest

from dynaroute.base.errors import DynarouteError, Where, gather_notes
from dynaroute.formats import parse_csv
from dynaroute.formats.tables.cells.amounts import Entry
from dynaroute.formats.tables.cells.time_windows import WindowReader

WHERE = Where(line=3, field="window")
H = 3600.0


def read_window(text: str, *beside: str, unit: str = "") -> list[tuple[float, float]]:
    with gather_notes():
        return [
            (earliest / H, latest / H)
            for earliest, latest in WindowReader([text, *beside], unit).read_cell(Entry(text, "text", WHERE))
        ]


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("8-12", (8, 12)),
        ("8 - 12", (8, 12)),
        ("08 \u2013 12", (8, 12)),
        ("8:00\u201412:30", (8, 12.5)),
        ("8 bis 12", (8, 12)),
        ("8-12 Uhr", (8, 12)),
        ("8.00-12.00", (8, 12)),
        ("08.30-12.15", (8.5, 12.25)),
        ("8,00 - 12,00", (8, 12)),
        ("8,5-12,5", (8.5, 12.5)),
        ("8.30-12h", (8.5, 12)),
        ("8.30h-12.00h", (8.5, 12)),
        ("0800-1200", (8, 12)),
        ("0800 - 1730 h", (8, 17.5)),
        ("8h-12h", (8, 12)),
        ("8h30 à 12h", (8.5, 12)),
        ("entre 8 et 12", (8, 12)),
        ("de 8 à 12", (8, 12)),
        ("de las 9 a las 14", (9, 14)),
        ("von 8 bis 16", (8, 16)),
        ("2-4 pm", (14, 16)),
        ("8am-12pm", (8, 12)),
        ("12-2 pm", (12, 14)),
        ("02-04", (2, 4)),
        ("5-14", (5, 14)),
        ("0-24", (0, 24)),
        ("ab 14 Uhr", (14, math.inf)),
        ("ab 14", (14, math.inf)),
        ("after 10am", (10, math.inf)),
        ("bis 12", (0, 12)),
        ("until noon", (0, 12)),
        ("bis mittags", (0, 12)),
        ("avant midi", (0, 12)),
        ("hasta mediodía", (0, 12)),
        ("18:00 - midnight", (18, 24)),
        ("vormittags", (0, 12)),
        ("Morning", (0, 12)),
        ("matin", (0, 12)),
        ("por la mañana", (0, 12)),
        ("nachmittags", (12, 18)),
        ("après-midi", (12, 18)),
        ("PM", (12, 24)),
        ("abends", (18, 24)),
        ("22:00-02:00", (22, 26)),
        ("22-6 Uhr", (22, 30)),
        ("6pm-12am", (18, 24)),
        ("2026-11-20 08:00-12:00", (8, 12)),
        ("20.11.2026 8-12", (8, 12)),
        ("20.11. 08:00-12:00", (8, 12)),
        ("2026-11-20T08:00 - 2026-11-20T12:00", (8, 12)),
        ("20.11.2026 22:00 - 21.11.2026 02:00", (22, 26)),
        ("28800-43200", (8, 12)),
    ],
)
def test_a_window_is_read_as_it_is_meant(text: str, window: tuple[float, float]) -> None:
    assert read_window(text) == [window]


@pytest.mark.parametrize(
    "text",
    [
        "8-10, 14-16",
        "8:00-10:00 / 14:00-16:00",
        "8h-10h et 14h-16h",
        "8-10 Uhr und 14-16 Uhr",
        "08:00-10:00; 14:00-16:00",
        "8-10 + 14-16",
    ],
)
def test_several_windows_are_told_apart(text: str) -> None:
    assert read_window(text) == [(8, 10), (14, 16)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("8-5", "morning or the afternoon"),
        ("2-4", "morning or the afternoon"),
        ("2-4:30", "morning or the afternoon"),
        ("until 6", "morning or the afternoon"),
        ("10-2pm", "10 am or 10 pm"),
        ("8.50-12.00", "8:50 or a decimal number"),
        ("8,30-12", "8:30 or a decimal number"),
        ("1000-1400", "clock times or seconds"),
        ("00:00-00:00", "all day or midnight"),
        ("mañana", "tomorrow"),
        ("20.11.2026 22:00 - 23.11.2026 02:00", "is not on 20.11.2026"),
        ("3/4/2026 22:00 - 4/4/2026 02:00", "is not on 3/4/2026"),
        ("Mo-Fr 8-12", "not a time window"),
        ("8-12 Mo", "unit"),
        ("25-26", "25"),
        ("nach Absprache", "not a time window"),
    ],
)
def test_a_window_with_two_readings_is_refused_with_what_to_write(text: str, words: str) -> None:
    with pytest.raises(DynarouteError) as refusal:
        read_window(text)

    assert words in refusal.value.message
    assert refusal.value.where == WHERE and refusal.value.remedy


def test_the_cells_of_a_column_decide_together() -> None:
    assert read_window("1000-1400", "0800-1200") == [(10, 14)]
    assert read_window("1000-1400", "28800-43200") == [(1000 / H, 1400 / H)]
    with pytest.raises(DynarouteError, match="hours or seconds"):
        read_window("8-12", "28800-43200")
    assert read_window("480-720", unit="min") == [(8, 12)]


def test_what_was_read_is_told() -> None:
    with gather_notes() as notes:
        parse_csv("id,x,y,demand,window\nd,0,0,0,\nA,1,1,1,8-12\nB,2,2,1,20.11.2026 08:00-09:00\n", capacity=9)

    assert any("'8-12' as 08:00-12:00" in note for note in notes)
    assert any("ignored the date 20.11.2026" in note for note in notes)


def read_column(*windows: str) -> list[list[float]]:
    rows = [f"{node},{node},0,{min(node, 1)},{window}" for node, window in enumerate(windows)]
    with gather_notes():
        instance = parse_csv("\n".join(["id,x,y,demand,window", *rows]), capacity=9)
    assert instance.windows is not None
    hours: list[list[float]] = (instance.windows / H).tolist()
    return hours


def test_windows_after_midnight_belong_to_the_night_of_the_depot() -> None:
    assert read_column("20:00-06:00", "01:00-03:00", "22-2") == [[20, 30], [25, 27], [22, 26]]


def test_without_the_depots_night_a_window_after_midnight_is_refused() -> None:
    with pytest.raises(DynarouteError, match="before or after the night"):
        read_column("", "01:00-03:00", "22:00-02:00")


def test_bounds_in_two_cells_follow_the_same_rules() -> None:
    with gather_notes():
        instance = parse_csv(
            "id;x;y;demand;von;bis\nd;0;0;0;;\nA;1;1;1;8;12\nB;2;2;1;0800;1630\nC;3;3;1;22 Uhr;2 Uhr\nD;4;4;1;;12\n",
            capacity=9,
        )

    assert instance.windows is not None
    assert (instance.windows[1:] / H).tolist() == [[8, 12], [8, 16.5], [22, 26], [0, 12]]
