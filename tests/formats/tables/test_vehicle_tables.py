"""Types of vehicles from tables."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from workbooks import make_workbook

from dynaroute.base.errors import DynarouteError, InputWarning, gather_notes
from dynaroute.formats import read, read_vehicles
from dynaroute.formats.fleet_options import FleetOptions, VehicleList
from dynaroute.problem.fleet import VehicleType

FULL = VehicleType(4505, "van", 2, 28800.0, 120000.0, (28800.0, 61200.0), 20, "open")

READ = {
    "English": "name,count,capacity,max_duration,max_distance,shift,max_stops,end\n"
    "van,2,450.5,8h,120km,08:00-17:00,20,open\n",
    "German": "Fahrzeug;Anzahl;Kapazität (kg);Max. Dauer;Reichweite (km);Schicht;Max. Stopps;offen\n"
    "van;2;450,5;8 Std;120;08:00-17:00;20;ja\n",
    "French": "Véhicule;Quantité;Charge utile;Durée max (h);Distance max;Début;Fin;Arrêts max;ouvert\n"
    "van;2;450,5 kg;8;120 km;8h00;17h00;20;ouvert\n",
    "Spanish": "Vehículo;Cantidad;Carga útil;Duración máxima;Distancia máxima;Desde;Hasta;Paradas max;abierto\n"
    "van;2;450,5;8 h;120 km;08:00;17:00;20;abierto\n",
}
REFUSED = {
    "no capacity": ("name,count\nvan,2\n", "capacity", "name, count"),
    "capacity blank": ("name,capacity,count\nvan,,2\n", "line 2", "capacity"),
    "capacity zero": ("name,capacity\nvan,0\n", "line 2", "above 0"),
    "capacity in words": ("name,capacity\nvan,much\n", "line 2", "not a number"),
    "capacity that may be two": ("name;capacity\nvan;1.234\n", "line 2", "1234 or 1.234"),
    "count fractional": ("name,capacity,count\nvan,5,1.5\n", "line 2", "whole number"),
    "count zero": ("name,capacity,count\nvan,5,0\n", "line 2", "count"),
    "names twice": ("name,capacity\nvan,5\nvan,6\n", "line 3", "'van'"),
    "costs": ("name,capacity,cost\nvan,5,3\n", "cost", "not supported"),
    "end on the moon": ("name,capacity,end\nvan,5,moon\n", "line 2", "depot or open"),
    "shift backwards": ("name,capacity,shift\nvan,5,17:00-08:00\n", "line 2", "before it starts"),
    "shift of bare numbers": ("name,capacity,shift\nvan,5,8-5\n", "line 2", "could mean the morning"),
    "shift without an end": ("name,capacity,shift\nvan,5,17:00-\n", "line 2", "no end"),
    "shift without a start": (
        "name,capacity,shift start,shift end\nvan,5,,17:00\n",
        "line 2",
        "both a start and an end",
    ),
    "duration without a unit": ("Fahrzeug;Kapazität;Höchstdauer\nvan;5;8\n", "line 2", "no unit"),
    "duration negative": ("name,capacity,max_duration\nvan,5,-3h\n", "line 2", "negative"),
    "duration in moons": ("name,capacity,max_duration\nvan,5,3 moons\n", "line 2", "'moons'"),
    "no vehicle": ("name,capacity\n", "line 1", "no vehicle"),
}


def read_text(folder: Path, text: str) -> VehicleList:
    path = folder / "vans.csv"
    path.write_text(text)
    return read_vehicles(path)


@pytest.mark.parametrize("language", READ)
def test_everything_that_limits_a_vehicle_is_read(language: str, tmp_path: Path) -> None:
    vehicles = read_text(tmp_path, READ[language])

    assert (vehicles.types, vehicles.scale) == ((FULL,), 10)


@pytest.mark.parametrize(
    ("stops", "demands"), [("Menge (t)", "200 400"), ("Menge (kg)", "0.2 0.4"), ("Menge", "0.2 0.4")]
)
def test_demands_are_turned_into_the_unit_of_the_vehicles(stops: str, demands: str, tmp_path: Path) -> None:
    path = tmp_path / "stops.csv"
    path.write_text(f"id;x;y;{stops}\nDepot;0;0;0\nA;1;1;0,2\nB;2;2;0,4\n")
    with gather_notes() as notes:
        vehicles = read_text(tmp_path, "Fahrzeug;Nutzlast (kg)\nvan;450\n")
        instance = read(path, fleet=FleetOptions(vehicles=vehicles))

    assert " ".join(str(instance.shown_demand(demand)) for demand in instance.demands[1:].tolist()) == demands
    assert instance.shown_demand(instance.capacity) == 450
    assert any("from t to kg" in note for note in notes) == (stops == "Menge (t)")


def test_demands_of_another_kind_than_the_vehicles_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "stops.csv"
    path.write_text("id;x;y;Paletten\nDepot;0;0;0\nA;1;1;2 Pal.\n")
    vehicles = read_text(tmp_path, "Fahrzeug;Nutzlast (kg)\nvan;450\n")

    with pytest.raises(DynarouteError, match="demands are in pallets, but the capacities of the vehicles are in kg"):
        read(path, fleet=FleetOptions(vehicles=vehicles))


def test_a_total_is_no_vehicle(tmp_path: Path) -> None:
    with pytest.warns(InputWarning, match=r"line 4 \(Summe\)"):
        vehicles = read_text(tmp_path, "Fahrzeug;Anzahl;Kapazität\nvan;2;450\nLKW;1;1200\nSumme;3;2100\n")

    assert [kind.name for kind in vehicles.types] == ["van", "LKW"]


def test_vehicles_listed_one_by_one_are_told_to_be_without_number(tmp_path: Path) -> None:
    with pytest.warns(InputWarning, match="add a column count to limit them"):
        read_text(tmp_path, "Kennzeichen;Nutzlast\nHH 1;450\nHH 2;450\n")


def test_blank_cells_limit_nothing(tmp_path: Path) -> None:
    vehicles = read_text(tmp_path, "name,count,capacity,max_duration,shift\na,,5,,\nb,2,6,-,\n")

    assert vehicles == VehicleList((VehicleType(5, "a"), VehicleType(6, "b", 2)), 1)


@pytest.mark.parametrize("name", REFUSED)
def test_a_faulty_table_of_vehicles_is_refused(name: str, tmp_path: Path) -> None:
    text, *words = REFUSED[name]
    with pytest.raises(DynarouteError) as caught:
        read_text(tmp_path, text)

    for word in words:
        assert word in str(caught.value)
    assert caught.value.where.file == str(tmp_path / "vans.csv")
    assert caught.value.remedy


def test_columns_that_mean_nothing_are_named(tmp_path: Path) -> None:
    with pytest.warns(InputWarning, match="colour"):
        read_text(tmp_path, "name,capacity,colour\nvan,5,red\n")


@pytest.mark.parametrize("spec", ["", "#Vans"])
def test_a_sheet_may_hold_them(spec: str, tmp_path: Path) -> None:
    rows = [
        ("Fleet",),
        (),
        ("type", "payload", "shift start", "shift end"),
        ("a", 5, datetime.time(8), datetime.time(17)),
    ]
    path = tmp_path / "fleet.xlsx"
    path.write_bytes(make_workbook(("Stops", [("id", "x", "y", "demand")]), ("Vans", rows)))
    with gather_notes():
        vehicles = read_vehicles(f"{path}{spec}")

    assert vehicles == VehicleList((VehicleType(5, "a", shift=(28800.0, 61200.0)),), 1)


def test_stops_need_no_capacity_where_there_are_vehicles(tmp_path: Path) -> None:
    stops = tmp_path / "stops.csv"
    stops.write_text("id,x,y,demand\n0,0,0,0\nA,1,1,5.5\n")
    vehicles = read_text(tmp_path, "name,capacity\nsmall,6\nlarge,10\n")
    instance = read(stops, fleet=FleetOptions(vehicles=vehicles))

    assert [kind.capacity for kind in instance.fleet] == [60, 100]
    assert (instance.demands.tolist(), instance.demand_scale) == ([0, 55], 10)
