"""Columns that ask for what is not planned: refused, unless the user ignores them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from workbooks import make_workbook

from dynaroute.base.errors import DynarouteError, OptionError, UnsupportedError, gather_notes
from dynaroute.formats import read, read_vehicles, write
from dynaroute.formats.fleet_options import FleetOptions
from dynaroute.problem.instance import Instance

HEADER, DEPOT = ["id", "x", "y", "demand"], ["Depot", "0", "0", "0"]
A, B = ["A", "3", "4", "4"], ["B", "6", "0", "2"]
STOPS = {  # further columns with their cells: the depot's, A's and B's
    "two windows": (["window 1", "", "08:00-10:00", ""], ["window 2", "", "14:00-16:00", ""]),
    "priorities": (["Prio", "", "1", "2"],),
    "pickups and deliveries": (["type", "depot", "delivery", "pickup"],),
    "groups": (["group", "", "north", "south"],),
    "a second load": (["weight (kg)", "", "300", "20"],),
    "a second demand": (["demand 2", "", "3", "2"],),
    "pallets by their unit": (["Pal.", "", "3", "2"],),
    "a window under another heading": (["Anlieferung", "", "ab 8 Uhr", "bis 12:00"],),
    "an end of windows alone": (["bis", "", "10:00", "12:00"],),
    "several at once": (["Prio", "", "1", ""], ["licence", "", "C", ""], ["Fahrer", "", "", "Kim"]),
    "several days": (["Liefertag", "", "Mo", "Di"],),
}
HARMLESS = {
    "kinds of rows": (["type", "depot", "customer", "customer"],),
    "an empty column": (["Prio", "", "", ""],),
    "dashes": (["Pause", "", "-", "-"],),
    "one day": (["Liefertag", "", "Mo", "Mo"],),
    "the demand again": (["weight", "0", "4", "2"],),
    "descriptions": (["Telefon", "", "040 1", ""], ["Bemerkung", "", "8-10 Uhr klingeln", ""], ["PLZ", "", "1", "2"]),
    "an order": (["Reihenfolge", "", "1", "2"],),
    "one depot": (["Lager", "Nord", "Nord", "Nord"],),
}
VEHICLES = {
    "a break": "name;capacity;Pause\nvan;10;30 min\n",
    "working time": "name;capacity;Max. Arbeitszeit\nvan;10;8 h\n",
    "a speed": "name;capacity;speed\nvan;10;30\n",
    "costs": "name;capacity;Maut\nvan;10;1,20\n",
    "a second capacity": "name;Kapazität (kg);Kapazität (Paletten)\nvan;10;4\n",
    "a start by name": "name;capacity;start\nvan;10;home\n",
    "a start in German": "Fahrzeug;Kapazität;Beginn\nvan;10;Altona\n",
    "licences": "name;capacity;Führerschein\nvan;10;C\n",
    "fewest stops": "name;capacity;min. stops\nvan;10;2\n",
    "fewest stops in German": "Fahrzeug;Kapazität;Stopps min\nvan;10;2\n",
    "a latest return": "name;capacity;latest return\nvan;10;15:00\n",
    "stops in other words": "name;capacity;Max. Kunden\nvan;10;12\n",
}


def make_rows(columns: tuple[list[str], ...]) -> list[list[str]]:
    rows = [HEADER, DEPOT, A, B]
    return [[*row, *(column[index] for column in columns)] for index, row in enumerate(rows)]


def save(folder: Path, columns: tuple[list[str], ...], suffix: str = ".csv") -> Path:
    path = folder / f"stops{suffix}"
    rows = make_rows(columns)
    text = "\n".join(";".join(row) for row in rows)
    path.write_bytes(text.encode() if suffix == ".csv" else make_workbook(rows))
    return path


def read_quietly(path: Path, *ignore: str) -> Instance:
    with gather_notes():
        return read(path, capacity=10, ignore=ignore, fleet=FleetOptions(speed=1.0))


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
@pytest.mark.parametrize("name", STOPS)
def test_columns_that_would_not_be_planned_are_refused_until_they_are_ignored(
    name: str, suffix: str, tmp_path: Path
) -> None:
    path = save(tmp_path, STOPS[name], suffix)
    with pytest.raises(UnsupportedError, match="not supported") as caught:
        read_quietly(path)

    assert set(caught.value.names) == {column[0] for column in STOPS[name]}
    assert caught.value.where.line is not None
    assert read_quietly(path, *caught.value.names).size == 2


@pytest.mark.parametrize("name", HARMLESS)
def test_columns_that_limit_nothing_are_accepted(name: str, tmp_path: Path) -> None:
    assert read_quietly(save(tmp_path, HARMLESS[name])).size == 2


def test_an_ignored_column_is_passed_on_and_reads_back_as_a_description(tmp_path: Path) -> None:
    with gather_notes():
        instance = read(save(tmp_path, STOPS["priorities"]), capacity=10, ignore="prio")
    assert instance.details is not None
    assert instance.details.columns == ("Prio",)

    for suffix in (".csv", ".json"):
        write(instance, tmp_path / f"again{suffix}")
        with gather_notes():
            assert read(tmp_path / f"again{suffix}").size == 2


def test_a_column_that_is_used_can_be_ignored_too(tmp_path: Path) -> None:
    path = save(tmp_path, (["window", "", "1-2", "1-2"],))

    assert read_quietly(path, "window").windows is None


def test_a_second_load_is_no_question_where_the_user_chose_the_first(tmp_path: Path) -> None:
    path = save(tmp_path, STOPS["a second load"])
    with gather_notes():
        instance = read(path, capacity=1000, columns="weight (kg)=demand")

    assert instance.demands.tolist() == [0, 300, 20]


@pytest.mark.parametrize("names", ["Pause", ["Pause"]])
def test_a_name_that_is_no_column_is_an_error(names: str | list[str], tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no column 'Pause'") as caught:
        read(save(tmp_path, ()), capacity=10, ignore=names)

    assert "id, x, y, demand" in caught.value.remedy


def test_two_windows_are_told_which_could_be_used(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError) as caught:
        read_quietly(save(tmp_path, STOPS["two windows"]))

    assert "--columns 'window 1=window'" in caught.value.remedy


@pytest.mark.parametrize("name", VEHICLES)
def test_columns_of_vehicles_that_would_not_be_planned_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "vans.csv"
    path.write_text(VEHICLES[name])
    with pytest.raises(UnsupportedError) as caught:
        read_vehicles(path)

    assert caught.value.where.line is not None
    with gather_notes():
        assert read_vehicles(path, ignore=caught.value.names).types[0].capacity == 10


def test_a_sheet_of_vehicles_with_two_capacities_is_found_among_others(tmp_path: Path) -> None:
    stops = ("Stops", [HEADER, DEPOT, A])
    path = tmp_path / "week.xlsx"
    path.write_bytes(make_workbook(stops, ("Vans", [["name", "Zuladung", "Nutzlast"], ["van", 10, 4]])))
    with gather_notes(), pytest.raises(UnsupportedError, match="could all be the capacity") as caught:
        read_vehicles(path)

    with gather_notes():
        assert read_vehicles(path, ignore=caught.value.names).types[0].capacity == 10


def test_a_start_at_the_depot_is_what_every_vehicle_does(tmp_path: Path) -> None:
    path = tmp_path / "vans.csv"
    path.write_text("name,capacity,start\nvan,10,depot\n")
    with gather_notes():
        assert read_vehicles(path).types[0].shift is None


def test_a_column_of_either_table_can_be_ignored(tmp_path: Path) -> None:
    vans = tmp_path / "vans.csv"
    vans.write_text("name;capacity;Pause\nvan;10;30 min\n")
    with gather_notes():
        vehicles = read_vehicles(vans, ignore="Pause")
        instance = read(
            save(tmp_path, STOPS["priorities"]), fleet=FleetOptions(vehicles=vehicles), ignore=["Pause", "Prio"]
        )

    assert instance.size == 2
    with pytest.raises(OptionError, match="no column 'Prio'"):
        read_vehicles(vans, ignore=["Pause", "Prio"])


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("n/a", "'n/a' is not a time window"),
        ("2024-05-03", "contains a date"),
        ("8:00-12:00 14:00-16:00", "several time windows"),
    ],
)
def test_a_cell_that_is_no_window_is_called_what_it_is(cell: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(DynarouteError, match=re.escape(words)):
        read_quietly(save(tmp_path, (["window", "", cell, ""],)))


def test_pickups_are_no_advice_for_the_demand(tmp_path: Path) -> None:
    path = tmp_path / "stops.csv"
    path.write_text("id,x,y,delivery,pickup\n0,0,0,,\nA,1,1,5,3\n")
    with pytest.raises(DynarouteError) as caught:
        read(path, capacity=10)

    assert caught.value.remedy.endswith("--columns 'delivery=demand'.")
