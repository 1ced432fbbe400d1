"""Service times and time windows of tables."""

from __future__ import annotations

import datetime
import math
from pathlib import Path

import pytest
from workbooks import make_workbook

from dynaroute.base.errors import DynarouteError, gather_notes
from dynaroute.formats import format_csv, parse_csv, read, write
from dynaroute.formats.fleet_options import FleetOptions
from dynaroute.problem.instance import Instance

ANY = [0.0, math.inf]

WINDOWS = {
    "window": ("window", "08:00-12:00", "-18:00"),
    "time_window": ("time_window", "8h-12h", "- 6 pm"),
    "German": ("Zeitfenster", "08:00 - 12:00 Uhr", "-18:00"),
    "French": ("Créneau horaire", "8h00-12h00", "-18h00"),
    "Spanish": ("Ventana horaria", "08:00 a 12:00", "-18:00"),
    "earliest, latest": ("earliest;latest", "28800;43200", ";64800"),
    "von, bis": ("von;bis", "08:00;12:00", ";18 Uhr"),
    "start, end in hours": ("ready time (h);due time (h)", "8;12", ";18"),
}
SERVICES = {
    "seconds": ("service", "600", "900"),
    "minutes": ("Standzeit (min)", "10", "15"),
    "minutes in words": ("Entladezeit in Minuten", "10", "15"),
    "units in cells": ("Standzeit", "10 min", "0,25 h"),
    "clock": ("durée de service", "00:10", "00:15"),
}
REFUSED = {
    "window backwards": ("Zeitfenster", "12:00-08:00", "ends at 08:00, before it begins at 12:00"),
    "window of one time": ("Zeitfenster", "08:00", "not a time window"),
    "window of an impossible clock": ("Zeitfenster", "08:75-12:00", "not a clock time"),
    "window twice": ("window;von;bis", "08:00-12:00;08:00;12:00", "both give"),
    "service without a unit": ("Standzeit", "10", "'Standzeit (min)'"),
    "service negative": ("service", "-5", "negative"),
    "service in moons": ("service", "5 moons", "'moons'"),
}


def read_columns(heading: str, *cells: str) -> Instance:
    blank = ";" * heading.count(";")
    places = ("53,6;10,1", "53,7;10,2")
    rows = [f"{name};{place};5;{cell}" for name, place, cell in zip("AB", places, cells, strict=False)]
    with gather_notes():
        return parse_csv("\n".join([f"id;lat;lon;demand;{heading}", f"Depot;53,5;10;0;{blank}", *rows]), capacity=100)


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_are_used(name: str) -> None:
    windows = read_columns(*WINDOWS[name]).windows

    assert windows is not None
    assert windows.tolist() == [ANY, [28800, 43200], [0, 64800]]


@pytest.mark.parametrize("words", ["", "-", "ganztägig", "All day", "toute la journée"])
def test_who_is_there_all_day_has_no_window(words: str) -> None:
    assert read_columns("Zeitfenster", words, "").windows is None


@pytest.mark.parametrize("name", SERVICES)
def test_service_times_are_used(name: str) -> None:
    service = read_columns(*SERVICES[name]).service

    assert service is not None
    assert service.tolist() == [0, 600, 900]


@pytest.mark.parametrize("name", REFUSED)
def test_a_time_that_cannot_be_meant_is_refused(name: str) -> None:
    heading, cell, words = REFUSED[name]
    with pytest.raises(DynarouteError) as caught:
        read_columns(heading, cell)

    assert words in str(caught.value)


def test_cells_of_a_workbook_hold_times(tmp_path: Path) -> None:
    path = tmp_path / "stops.xlsx"
    header = ("id", "x", "y", "demand", "von", "bis", "Standzeit")
    times = (datetime.time(8), datetime.time(12, 30), datetime.timedelta(minutes=10))
    path.write_bytes(make_workbook([header, ("Depot", 0, 0, 0), ("A", 1, 1, 5, *times)]))
    with gather_notes():
        instance = read(path, capacity=100, fleet=FleetOptions(speed=10.0))

    assert instance.windows is not None and instance.service is not None
    assert instance.windows.tolist() == [ANY, [28800, 45000]]
    assert instance.service.tolist() == [0, 600]


def test_times_of_one_day_are_used_without_the_day(tmp_path: Path) -> None:
    path = tmp_path / "stops.xlsx"
    day = datetime.datetime(2024, 5, 3)
    path.write_bytes(
        make_workbook(
            [("id", "x", "y", "demand", "von", "bis"), ("Depot", 0, 0, 0), ("A", 1, 1, 5, day.replace(hour=8))]
        )
    )
    with gather_notes() as notes:
        instance = read(path, capacity=100, fleet=FleetOptions(speed=10.0))

    assert instance.windows is not None
    assert instance.windows[1].tolist() == [28800, math.inf]
    assert any("ignored the date 2024-05-03" in note for note in notes)
    assert read_columns("von;bis", "03.05.2024 08:00;03.05.2024 12:00").windows is not None
    with pytest.raises(DynarouteError, match="is not on 03"):
        read_columns("von;bis", "03.05.2024 08:00;05.05.2024 12:00")


def test_a_date_for_a_time_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "stops.xlsx"
    rows = [("id", "x", "y", "demand", "window"), ("Depot", 0, 0, 0), ("A", 1, 1, 5, datetime.datetime(2024, 5, 3, 8))]
    path.write_bytes(make_workbook(rows))

    with pytest.raises(DynarouteError, match="is a date"):
        read(path, capacity=100)


def test_times_and_details_read_back() -> None:
    instance = read_columns("window;service;name", "08:00-12:00;10 min;Meyer", ";;Müller, Söhne")
    with gather_notes():
        again = parse_csv(format_csv(instance))

    assert again == instance
    assert again.details == instance.details


def test_a_customer_that_is_called_depot_is_not_taken_for_it(tmp_path: Path) -> None:
    instance = parse_csv("id,x,y,demand,depot\nH,0,0,0,x\nDepot,1,1,0,\nB,2,2,5,\n", capacity=10)
    write(instance, tmp_path / "stops.csv")

    assert read(tmp_path / "stops.csv") == instance
