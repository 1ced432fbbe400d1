"""Tables as planners of several countries write them: windows, no demands, several depots, vehicles beside them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from workbooks import make_workbook

from dynaroute.base.errors import DynarouteError, gather_notes
from dynaroute.formats import read, read_vehicles
from dynaroute.formats.fleet_options import FleetOptions
from dynaroute.problem.instance import Instance

H = 3600.0
SPEED = FleetOptions(speed=10.0)


@dataclass(frozen=True)
class Day:
    """A file, and what must come of it: windows in hours, demands, a note; or the words of its refusal."""

    rows: str
    windows: list[list[float | None]] | None = None
    demands: str = ""
    note: str = ""
    words: str = ""


DAYS = {
    "German bakery": Day(
        "Filiale;Breite;Länge;Kisten;Anlieferung von;bis\nZentrale;48,1;11,5;;;\nSchwabing;48,2;11,6;4;5:30;7\n",
        words="'Anlieferung von'",
    ),
    "German wholesaler": Day(
        "Kd-Nr;Name;Breitengrad;Längengrad;Menge (kg);Zeitfenster\n"
        "0;Lager;53,5;10,0;;6-18 Uhr\n1;Meyer;53,6;10,1;120;8.00-12.00\n2;Kurz;53,7;10,2;80;vormittags\n"
        "3;Lang;53,8;10,3;80;ab 14 Uhr\n4;Klein;53,9;10,4;1;8-10 und 14-16 Uhr\n",
        windows=[[8, 12], [0, 12], [14, None], [8, 10]],
        demands="120 80 80 1",
        note="'vormittags' as -12:00",
    ),
    "German with dates": Day(
        "Kunde;lat;lon;Menge;von;bis\nDepot;53,5;10;;;\nA;53,6;10,1;5;20.11.2026 08:00;20.11.2026 12:00\n",
        windows=[[8, 12]],
        demands="5",
        note="ignored the date 20.11.2026",
    ),
    "Austrian night shift": Day(
        "Nr;lat;lon;Menge;Zeitfenster\nDepot;48,2;16,3;;20:00-06:00\n1;48,3;16,4;5;22-2\n2;48,4;16,5;5;01:00-03:00\n",
        windows=[[22, 26], [25, 27]],
        demands="5 5",
        note="lines 4 as after midnight",
    ),
    "French florist": Day(
        "N°;Client;Latitude;Longitude;Colis;Créneau\n0;Dépôt;48,85;2,35;;7h-19h\n1;Dupont;48,86;2,36;5;8h30-12h\n"
        "2;Durand;48,87;2,37;7;matin\n3;Petit;48,88;2,38;2;à partir de 14h\n4;Roux;48,89;2,39;1;entre 8 et 10\n",
        windows=[[8.5, 12], [0, 12], [14, None], [8, 10]],
        demands="5 7 2 1",
        note="'matin' as -12:00",
    ),
    "Spanish laundry": Day(
        "Código;Latitud;Longitud;Cantidad;Horario\nAlmacén;40,4;-3,7;0;7-20\n1;40,5;-3,6;5;de 9 a 14\n"
        "2;40,6;-3,5;7;por la tarde\n3;40,7;-3,4;7;hasta mediodía\n",
        windows=[[9, 14], [12, 20], [0, 12]],
        demands="5 7 7",
        note="'por la tarde' as 12:00-20:00",
    ),
    "Spanish that may be tomorrow": Day(
        "Código;Latitud;Longitud;Cantidad;Horario\nAlmacén;40,4;-3,7;0;\n1;40,5;-3,6;5;mañana\n",
        words="line 3, field Horario: 'mañana' could mean the morning or tomorrow",
    ),
    "British groceries": Day(
        "Stop,Latitude,Longitude,Boxes,Delivery window\nDepot,51.5,-0.1,0,7am-9pm\nA,51.6,-0.2,4,0800-1200\n"
        "B,51.7,-0.2,4,1000 - 1400\nC,51.8,-0.3,4,until noon\nD,51.9,-0.3,2,2-4pm\n",
        windows=[[8, 12], [10, 14], [0, 12], [14, 16]],
        demands="4 4 4 2",
        note="'0800-1200' as 08:00-12:00",
    ),
    "American office hours": Day(
        "Stop,Latitude,Longitude,Boxes,Hours\nDepot,40.7,-74.0,0,\nA,40.8,-74.1,4,9-5\n",
        words="line 3, field Hours: '9-5' could mean the morning or the afternoon. Write 08:00-12:00",
    ),
    "American afternoons": Day(
        "Stop,Latitude,Longitude,Boxes,Hours\nDepot,40.7,-74.0,0,\nA,40.8,-74.1,4,2-4\n", words="the afternoon"
    ),
    "military seconds": Day("id,x,y,demand,window\n0,0,0,0,\nA,1,1,5,1000-1400\n", words="clock times or seconds"),
    "weekdays": Day("id,x,y,demand,window\n0,0,0,0,\nA,1,1,5,Mo-Fr 8-12\n", words="not a time window"),
    "two days": Day(
        "id,x,y,demand,window\n0,0,0,0,\nA,1,1,5,20.11.2026 8-12\nB,1,2,5,23.11.2026 8-12\n",
        words="line 4, field window",
    ),
    "by arrangement": Day("id,x,y,demand,window\n0,0,0,0,\nA,1,1,5,nach Vereinbarung\n", words="'nach Vereinbarung'"),
    "no demands": Day(
        "Name;Breite;Länge;PLZ;Telefon\nLager;53,5;10;20095;040 1\nA;53,6;10,1;20096;040 2\nB;53,7;10,2;20097;\n",
        demands="1 1",
        note="every stop counts as 1",
    ),
    "no demands and a depot that is not named": Day(
        "Name;Breite;Länge\nHafen;53,5;10\nA;53,6;10,1\nB;53,7;10,2\n",
        demands="1 1",
        note="used the first row, line 2, as the depot",
    ),
    "numbers that may be demands": Day(
        "Name;Breite;Länge;Posten A\nLager;53,5;10;\nA;53,6;10,1;5\n", words="--ignore 'Posten A'"
    ),
    "Swiss decimals": Day("Nr;x;y;Menge;Zeiten\nDepot;0;0;;\n1;1;1;2.5;8.50-11.00\n", words="8:50 or a decimal number"),
    "bounds swapped": Day("id,x,y,demand,from,to\nDepot,0,0,0,,\nA,1,1,5,12:00,08:00\n", words="before it begins"),
    "midnight cells of a spreadsheet": Day(
        "id,x,y,demand,window\nDepot,0,0,0,\nA,1,1,5,00:00-00:00\n", words="all day or midnight"
    ),
}


def read_day(text: str, folder: Path, **options: Any) -> tuple[Instance, list[str]]:
    path = folder / "day.csv"
    path.write_text(text)
    with gather_notes() as notes:
        instance = read(path, **{"capacity": 1000, "fleet": SPEED, **options})
    return instance, notes


@pytest.mark.parametrize("name", DAYS)
def test_a_planners_table_is_read_rightly_or_refused_in_plain_words(name: str, tmp_path: Path) -> None:
    day = DAYS[name]
    if day.words:
        with pytest.raises(DynarouteError) as refusal:
            read_day(day.rows, tmp_path)
        assert day.words in str(refusal.value)
        return
    instance, notes = read_day(day.rows, tmp_path)

    assert " ".join(map(str, (instance.demands[1:] // instance.demand_scale).tolist())) == day.demands
    assert any(day.note in note for note in notes)
    if day.windows is not None:
        assert instance.windows is not None
        first = instance.windows.reshape(instance.size + 1, -1, 2)[1:, 0] / H
        assert [[low, None if high == float("inf") else high] for low, high in first.tolist()] == day.windows


DEPOTS = "id,x,y,demand,depot,window\nNorth,0,0,,x,6-18\nSouth,900,0,,x,7-17\nA,10,10,3,,\nB,890,10,4,,\n"


def test_several_rows_may_be_depots(tmp_path: Path) -> None:
    instance, notes = read_day(DEPOTS, tmp_path)

    assert (instance.depot_name, instance.size) == ("North", 2)
    (south,) = instance.places
    assert (south.name, south.x, south.y, south.window) == ("South", 900, 0, (7 * H, 17 * H))
    assert [kind.start for kind in instance.fleet] == ["depot", "South"]
    assert any("line 2 (North), line 3 (South) as the depots" in note for note in notes)


def test_rows_called_depot_are_depots(tmp_path: Path) -> None:
    instance, _ = read_day("id,x,y,demand\nDepot Nord,0,0,\nDepot Süd,9,0,\nA,1,1,3\n", tmp_path)

    assert [place.name for place in instance.places] == ["Depot Süd"]


def read_with_vans(vans: str, folder: Path) -> Instance:
    (folder / "vans.csv").write_text(vans)
    vehicles = read_vehicles(folder / "vans.csv")
    return read_day(DEPOTS, folder, fleet=FleetOptions(vehicles=vehicles, speed=10.0))[0]


def test_vehicles_say_at_which_depot_they_start(tmp_path: Path) -> None:
    instance = read_with_vans("name,capacity,count,depot\nvan,5,2,north\ntruck,9,1,South\n", tmp_path)

    assert [(kind.start, kind.end) for kind in instance.fleet] == [("depot", "depot"), ("South", "South")]


def test_uncounted_vehicles_start_at_every_depot(tmp_path: Path) -> None:
    assert [kind.start for kind in read_with_vans("name,capacity\nvan,9\n", tmp_path).fleet] == ["depot", "South"]


@pytest.mark.parametrize(
    ("vans", "words"),
    [("name,capacity,count\nvan,9,2\n", "Add a column depot"), ("name,capacity,depot\nvan,9,West\n", "'West'")],
)
def test_vehicles_without_a_known_depot_are_refused(vans: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(DynarouteError, match=words):
        read_with_vans(vans, tmp_path)


@pytest.mark.parametrize("title", ["Vehicles", "Fahrzeuge", "Véhicules", "Flota 2026"])
def test_a_sheet_of_vehicles_is_offered(title: str, tmp_path: Path) -> None:
    path = tmp_path / "day.xlsx"
    stops = [("id", "x", "y", "demand"), ("Depot", 0, 0, 0), ("A", 1, 1, 5)]
    path.write_bytes(make_workbook(("Stops", stops), (title, [("name", "capacity"), ("van", 9)])))
    with gather_notes() as notes, pytest.raises(DynarouteError) as refusal:
        read(path)

    assert f"day.xlsx#{title}" in refusal.value.remedy
    assert any("--vehicles" in note for note in notes)


def test_a_sheet_of_places_without_demands_is_found(tmp_path: Path) -> None:
    path = tmp_path / "day.xlsx"
    stops = [("id", "x", "y"), ("Depot", 0, 0), ("A", 1, 1)]
    path.write_bytes(make_workbook(("Cover", [("Hello",)]), ("Stops", stops)))
    with gather_notes() as notes:
        assert read(path, capacity=9).demands.tolist() == [0, 1]

    assert any("read the sheet 'Stops', which has no demands" in note for note in notes)
