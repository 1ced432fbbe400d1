"""Demands and capacities in several dimensions: columns such as "demand kg" and "demand pallets"."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openpyxl import Workbook

import dynaroute
from dynaroute.base.errors import DynarouteError, InputWarning, OptionError, UnsupportedError
from dynaroute.formats import format_csv, parse_csv
from dynaroute.formats.json.instance import format_json
from dynaroute.formats.vehicles import read_vehicles
from dynaroute.plans.changes.additions import read_customers
from dynaroute.problem.fleet import VehicleType

STOPS = """id,x,y,demand kg,demand pallets,pickup pallets,capacity kg,capacity pallets
depot,0,0,,,,30,4
A,3,4,2.5,1,1,,
B,6,8,,0.25,,,
"""
PLAIN_STOPS = "id,x,y,demand kg,demand pallets\ndepot,0,0,0,0\nA,3,4,3,1\nB,6,8,4,2\n"
VANS = "name,count,capacity Pallets,capacity kg,initial load kg\nvan,2,4,20,0.5\nlorry,1,9,80,\n"


def save(folder: Path, text: str, name: str = "stops.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_every_dimension_is_read_exactly_and_blank_cells_are_0(tmp_path: Path) -> None:
    instance = dynaroute.read(save(tmp_path, STOPS))
    assert instance.dimensions == ("kg", "pallets")
    assert instance.demand_scale == 100
    assert instance.demands.tolist() == [[0, 0], [250, 100], [0, 25]]
    assert instance.pickups is not None and instance.pickups.tolist() == [[0, 0], [0, 100], [0, 0]]
    assert instance.fleet == (VehicleType((3000, 400)),)


@pytest.mark.parametrize(
    ("demand", "capacity"),
    [
        ("demand", "capacity"),
        ("Bedarf", "Kapazität"),
        ("demande", "capacité"),
        ("demanda", "capacidad"),
        ("demand_", "capacity_"),
    ],
)
def test_dimensions_of_any_name_are_read_in_four_languages(demand: str, capacity: str, tmp_path: Path) -> None:
    headings = [f"{word} {name}".replace("_ ", "_") for word in (demand, capacity) for name in ("kg", "cold boxes")]
    text = f"id;x;y;{';'.join(headings)}\ndepot;0;0;0;0;9.5;3\nA;1;1;1.5;2;;\n"
    instance = dynaroute.read(save(tmp_path, text))
    assert instance.dimensions == ("kg", "cold boxes")
    assert instance.demands.tolist() == [[0, 0], [15, 20]]


def test_a_word_for_a_quantity_before_units_is_a_demand_too(tmp_path: Path) -> None:
    text = "id;x;y;Menge kg;Menge Paletten;Kapazität kg;Kapazität Paletten\nd;0;0;;;9;3\nA;1;1;5;2;;\n"
    assert dynaroute.read(save(tmp_path, text)).dimensions == ("kg", "Paletten")


def test_a_second_row_of_headings_may_name_the_dimensions(tmp_path: Path) -> None:
    text = "id;x;y;demand;;capacity;\n;;;kg;pallets;kg;pallets\nd;0;0;;;9;3\nA;1;1;5;2;;\n"
    assert dynaroute.read(save(tmp_path, text)).dimensions == ("kg", "pallets")


def test_a_row_of_sums_in_every_dimension_is_left_out(tmp_path: Path) -> None:
    text = STOPS.replace("pickup", "note on").replace("1,1,,\n", "1,,,\n") + ",,,2.5,1.25,,,\n"
    with pytest.warns(InputWarning, match="left out totals: line 5"):
        assert dynaroute.read(save(tmp_path, text)).size == 2


@pytest.mark.filterwarnings("ignore:.*read the columns:dynaroute.base.errors.InputWarning")
def test_a_single_capacity_is_for_one_dimension_when_the_others_are_ignored(tmp_path: Path) -> None:
    path = save(tmp_path, PLAIN_STOPS)
    with pytest.raises(UnsupportedError, match="one capacity is given") as refusal:
        dynaroute.read(path, capacity=9)
    with pytest.warns(InputWarning, match="kept the columns demand pallets"):
        instance = dynaroute.read(path, capacity=9, ignore=refusal.value.names)
    assert (instance.dimensions, instance.demands.tolist()) == (None, [0, 3, 4])


@pytest.mark.filterwarnings("ignore:.*read the columns:dynaroute.base.errors.InputWarning")
@pytest.mark.parametrize("heading", ["demand kg", "Demand (kg)", "demand_kg", "Menge kg", "demand pallets"])
def test_one_column_alone_is_a_plain_demand(heading: str, tmp_path: Path) -> None:
    instance = dynaroute.read(save(tmp_path, f"id,x,y,{heading}\ndepot,0,0,0\nA,3,4,3\n"), capacity=9)
    assert instance.dimensions is None and instance.demands.tolist() == [0, 3]


def test_columns_can_be_named_as_dimensions(tmp_path: Path) -> None:
    text = PLAIN_STOPS.replace("demand kg", "Gew").replace("demand pallets", "Pal")
    path, vans = save(tmp_path, text), save(tmp_path, VANS, "vans.csv")
    instance = dynaroute.read(path, columns="Gew=demand kg,E=demand pallets", vehicles=vans)
    assert instance.dimensions == ("kg", "pallets")
    assert np.array_equal(instance.demands, 10 * np.array([[0, 0], [3, 1], [4, 2]]))


def test_vehicles_may_name_the_dimensions_in_another_order(tmp_path: Path) -> None:
    instance = dynaroute.read(save(tmp_path, PLAIN_STOPS), vehicles=save(tmp_path, VANS, "vans.csv"))
    assert [kind.capacities for kind in instance.fleet] == [(200, 40), (800, 90)]
    assert [kind.initial_loads for kind in instance.fleet] == [(5, 0), (0, 0)]


def test_vehicles_in_json_may_have_several_capacities(tmp_path: Path) -> None:
    vans = save(tmp_path, '[{"capacity": {"pallets": 4, "kg": 20}}]', "vans.json")
    assert dynaroute.read(save(tmp_path, PLAIN_STOPS), vehicles=vans).fleet == (VehicleType((20, 4)),)


@pytest.mark.filterwarnings("ignore::dynaroute.base.errors.InputWarning")
def test_stops_and_vehicles_of_a_workbook_have_several_dimensions(tmp_path: Path) -> None:
    book, path = Workbook(), tmp_path / "day.xlsx"
    book.remove(book.active)
    for title, text in (
        ("Fuhrpark", "Name,Anzahl,Kapazität kg,Kapazität Paletten,Anfangsladung kg\nLKW,2,900.5,12,10\n"),
        ("Stopps", "Kunde,x,y,Bedarf kg,Bedarf Paletten\nDepot,0,0,,\nA,3,4,300,2\n"),
    ):
        sheet = book.create_sheet(title)
        for line in text.splitlines():
            sheet.append([float(cell) if cell.replace(".", "").isdigit() else cell for cell in line.split(",")])
    book.save(path)
    instance = dynaroute.read(path, vehicles=f"{path}#Fuhrpark")
    assert (instance.dimensions, instance.demands[1].tolist()) == (("kg", "Paletten"), [3000, 20])
    assert instance.fleet == (VehicleType((9005, 120), "LKW", 2, initial_load=(100, 0)),)


def test_a_plain_initial_load_is_read(tmp_path: Path) -> None:
    vans = save(tmp_path, "name,capacity (kg),initial load (t)\nvan,900,0.5\ncar,90,\n", "vans.csv")
    assert [kind.initial_loads for kind in read_vehicles(vans).types] == [(500,), (0,)]


@pytest.mark.parametrize(
    ("stops", "vans", "words"),
    [
        ("id,x,y,demand\nd,0,0,0\nA,3,4,3\n", VANS, "the demands name no dimension"),
        (PLAIN_STOPS, "name,capacity\nvan,9\n", "one capacity is given"),
        (PLAIN_STOPS, VANS.replace("Pallets", "litres"), "no capacity is given for pallets"),
        (PLAIN_STOPS, "name,capacity kg,capacity pallets,capacity litres\nvan,9,9,9\n", "a capacity for litres"),
        (PLAIN_STOPS, "name,capacity kg,capacity pallets,initial load\nvan,9,9,1\n", "initial load names no dimension"),
        (PLAIN_STOPS, "name,capacity kg,capacity pallets,capacity\nvan,9,9,1\n", "capacity names no dimension"),
    ],
)
def test_vehicles_and_stops_of_different_dimensions_are_refused(
    stops: str, vans: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(DynarouteError, match=words):
        dynaroute.read(save(tmp_path, stops), vehicles=save(tmp_path, vans, "vans.csv"))


def test_vehicles_of_other_dimensions_than_a_json_file_are_refused(tmp_path: Path) -> None:
    stops = save(tmp_path, format_json(dynaroute.read(save(tmp_path, STOPS))), "stops.json")
    vans = save(tmp_path, VANS.replace("Pallets", "litres"), "vans.csv")
    with pytest.raises(OptionError, match="capacities for litres, kg"):
        dynaroute.read(stops, vehicles=vans)


def test_a_dimension_without_capacity_can_be_ignored(tmp_path: Path) -> None:
    path = save(tmp_path, STOPS.replace("pickup pallets", "demand litres"))
    with pytest.raises(UnsupportedError) as refusal:
        dynaroute.read(path)
    assert refusal.value.names == ("demand litres",)
    with pytest.warns(InputWarning, match="kept the columns demand litres"):
        instance = dynaroute.read(path, ignore=refusal.value.names)
    assert instance.dimensions == ("kg", "pallets")


def test_another_dimension_beside_a_plain_demand_is_a_second_load(tmp_path: Path) -> None:
    path = save(tmp_path, "id,x,y,demand,demand pallets\nd,0,0,0,0\nA,3,4,300,2\n")
    with pytest.raises(UnsupportedError, match="a second load") as refusal:
        dynaroute.read(path, capacity=900)
    assert refusal.value.names == ("demand pallets",)


@pytest.mark.filterwarnings("ignore:.*kept the columns:dynaroute.base.errors.InputWarning")
def test_a_shipment_has_the_same_amounts_at_both_ends(tmp_path: Path) -> None:
    text = """id,x,y,demand kg,demand pallets,capacity kg,capacity pallets,shipment,kind
d,0,0,,,9,9,,
A,1,1,3,1,,,one,pickup
B,2,2,3,1,,,one,delivery
"""
    instance = dynaroute.read(save(tmp_path, text))
    assert instance.pickups is not None and instance.pickups.tolist() == [[0, 0], [3, 1], [0, 0]]
    assert instance.demands.tolist() == [[0, 0], [0, 0], [3, 1]]


def test_several_dimensions_are_written_and_read_back(tmp_path: Path) -> None:
    instance = dynaroute.read(save(tmp_path, STOPS))
    assert parse_csv(format_csv(instance)) == instance


@pytest.mark.parametrize("name", ["KG", "(cold)", "_cold"])
def test_dimensions_whose_headings_would_mean_something_else_are_not_written(name: str, tmp_path: Path) -> None:
    instance = replace(dynaroute.read(save(tmp_path, STOPS)), dimensions=("kg", name))
    with pytest.raises(UnsupportedError, match="names of dimensions"):
        format_csv(instance)


def test_customers_are_added_in_every_dimension(tmp_path: Path) -> None:
    instance = dynaroute.read(save(tmp_path, STOPS))
    more = save(tmp_path, "id,x,y,demand kg,demand pallets\nC,1,1,2,1\n", "more.csv")
    added: Any = read_customers(more, instance)
    assert [each["demand"] for each in added] == [{"kg": 2, "pallets": 1}]
