"""Columns of rules in tables: amounts to bring back, prizes, priorities, times, skills and prices of vehicles."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich_problems import RULE_MAKERS, draw_problem

import dynaroute
from dynaroute.base.errors import DynarouteError, InputWarning, UnsupportedError, gather_notes
from dynaroute.formats import format_csv, parse_csv
from dynaroute.formats.fleet_options import FleetOptions
from dynaroute.formats.vehicles import read_vehicles
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.impossible import refuse_impossible

STOPS = "id,x,y,demand,{}\ndepot,0,0,0,\nA,3,4,4,{}\nB,6,8,5,{}\n"


def read(folder: Path, heading: str, first: str, second: str) -> dynaroute.Instance:
    file = folder / "stops.csv"
    file.write_text(STOPS.format(heading, first, second), encoding="utf-8")
    return dynaroute.read(file, capacity=10, fleet=FleetOptions(speed=1.0))


@pytest.mark.parametrize("heading", ["pickup", "Abholmenge", "quantité ramassée", "cantidad recogida"])
def test_what_is_brought_back_is_read_in_four_languages(heading: str, tmp_path: Path) -> None:
    instance = read(tmp_path, heading, "2.5", "")
    assert instance.pickups is not None
    assert [instance.shown_demand(amount) for amount in instance.pickups.tolist()] == [0, 2.5, 0]


@pytest.mark.parametrize(
    ("demand", "pickup", "amounts"),
    [
        ("demand (kg)", "pickup (t)", [0, 2000, 0]),
        ("demand (kg)", "pickup (kg)", [0, 2, 0]),
        ("demand (kg)", "pickup", [0, 2, 0]),
    ],
)
def test_what_is_brought_back_is_in_the_unit_of_the_demands(
    demand: str, pickup: str, amounts: list[int], tmp_path: Path
) -> None:
    file = tmp_path / "stops.csv"
    file.write_text(f"id,x,y,{demand},{pickup}\nd,0,0,0,\nA,3,4,400,2\nB,6,8,500,\n", encoding="utf-8")
    instance = dynaroute.read(file, capacity=9000)
    assert instance.pickups is not None
    assert instance.pickups.tolist() == amounts


def test_what_is_brought_back_follows_the_demands_to_the_unit_of_the_vehicles(tmp_path: Path) -> None:
    stops, vans = tmp_path / "stops.csv", tmp_path / "vans.csv"
    stops.write_text("id,x,y,demand (kg),pickup\nd,0,0,0,\nA,3,4,400,200\n", encoding="utf-8")
    vans.write_text("name,capacity (t)\nvan,1\n", encoding="utf-8")
    with pytest.warns(InputWarning, match="converted the demands from kg to t"):
        instance = dynaroute.read(stops, fleet=FleetOptions(vehicles=read_vehicles(vans)))
    assert instance.pickups is not None
    assert float(instance.shown_demand(instance.pickups[1])) == 0.2


def test_what_is_brought_back_is_written_like_the_demands(tmp_path: Path) -> None:
    file = tmp_path / "stops.csv"
    file.write_text("id;x;y;demand;pickup\nd;0;0;0;\nA;3;4;1.200,5;1.500\n", encoding="utf-8")
    with pytest.warns(InputWarning, match="decimal commas"):
        instance = dynaroute.read(file, capacity=2000)
    assert instance.pickups is not None
    assert instance.shown_demand(instance.pickups[1]) == 1500


@pytest.mark.parametrize("pickup", ["(pallets),,2", ",5,2"])
def test_pickups_in_another_unit_or_at_the_depot_are_refused(pickup: str, tmp_path: Path) -> None:
    heading, depot, cell = pickup.split(",")
    file = tmp_path / "stops.csv"
    file.write_text(f"id,x,y,demand (kg),pickup {heading}\nd,0,0,0,{depot}\nA,3,4,40,{cell}\n", encoding="utf-8")
    with pytest.raises(DynarouteError) as refusal:
        dynaroute.read(file, capacity=100)
    assert refusal.value.where.field is not None and refusal.value.where.field.startswith("pickup")


@pytest.mark.parametrize("cell", ["none", "keine", "-", "n/a", "no"])
def test_words_for_nothing_are_no_skills(cell: str, tmp_path: Path) -> None:
    assert read(tmp_path, "skills", cell, "lift").skills == (frozenset(), frozenset(), frozenset({"lift"}))


@pytest.mark.parametrize(
    ("heading", "field", "cell", "value"),
    [
        ("prize", "prizes", "12", 12),
        ("Prämie", "prizes", "0", 0),
        ("priority", "priorities", "80", 80),
        ("priorité", "priorities", "5", 5),
        ("release", "release", "08:00", 28800),
        ("Verspätungskosten pro Stunde", "late_costs", "36", 0.01),
    ],
)
def test_a_column_is_read_and_blank_cells_mean_none(
    heading: str, field: str, cell: str, value: float, tmp_path: Path
) -> None:
    with gather_notes() as notes:
        values = getattr(read(tmp_path, heading, "", cell), field)
    assert values[2] == value
    assert not 0 < values[1] < math.inf
    assert any("those with a lower number first" in note for note in notes) == (field == "priorities")


@pytest.mark.parametrize("heading", ["one of", "one_of", "Eine von", "une de", "uno de"])
def test_alternatives_have_the_same_label(heading: str, tmp_path: Path) -> None:
    assert read(tmp_path, heading, "Smith", "Smith").one_of == ("", "Smith", "Smith")
    assert read(tmp_path, heading, "-", "").one_of is None


def test_skills_are_separated_by_semicolons(tmp_path: Path) -> None:
    assert read(tmp_path, "skills", "lift; crane", "").skills == (
        frozenset(),
        frozenset({"lift", "crane"}),
        frozenset(),
    )


@pytest.mark.parametrize(
    "heading", ["same vehicle", "same_vehicle", "Gleiches Fahrzeug", "même véhicule", "mismo vehículo"]
)
def test_customers_on_the_same_vehicle_have_the_same_label(heading: str, tmp_path: Path) -> None:
    assert read(tmp_path, heading, "Smith", "Smith").same_vehicle == ("", "Smith", "Smith")
    assert read(tmp_path, heading, "-", "").same_vehicle is None


@pytest.mark.parametrize("heading", ["not together", "nicht zusammen", "pas ensemble", "no juntos"])
def test_customers_who_are_apart_have_the_same_label(heading: str, tmp_path: Path) -> None:
    assert read(tmp_path, heading, "x", "x").not_together == ("", "x", "x")


@pytest.mark.parametrize(
    ("heading", "field"),
    [
        ("vehicles", "vehicles_allowed"),
        ("Fahrzeuge", "vehicles_allowed"),
        ("véhicules", "vehicles_allowed"),
        ("vehículos", "vehicles_allowed"),
        ("not vehicles", "vehicles_forbidden"),
        ("verbotene Fahrzeuge", "vehicles_forbidden"),
    ],
)
def test_customers_name_vehicles(heading: str, field: str, tmp_path: Path) -> None:
    instance = read(tmp_path, heading, "van; truck", "")
    assert getattr(instance, field) == (frozenset(), frozenset({"van", "truck"}), frozenset())
    assert [kind.name for kind in instance.fleet] == ["truck", "van"]
    vans = tmp_path / "vans.csv"
    vans.write_text("name,capacity\nvan,10\nbike,4\n", encoding="utf-8")
    with pytest.raises(DynarouteError, match="truck"):
        dynaroute.read(tmp_path / "stops.csv", fleet=FleetOptions(vehicles=read_vehicles(vans)))


SHIPMENT = "id,x,y,demand,{},{}\nd,0,0,,,\nA,3,4,2,s,{}\nB,6,0,2,s,{}\nC,1,1,1,,\n"


@pytest.mark.parametrize(
    "words",
    [
        ("shipment", "kind", "delivery", "pickup"),
        ("Sendung", "Art", "Lieferung", "Abholung"),
        ("envoi", "type", "livraison", "collecte"),
        ("envío", "tipo", "entrega", "recogida"),
    ],
)
def test_two_rows_are_a_shipment(words: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "stops.csv"
    file.write_text(SHIPMENT.format(*words), encoding="utf-8")
    with gather_notes():
        instance = dynaroute.read(file, capacity=10)
    assert instance.partners is not None and instance.pickups is not None
    assert instance.partners.tolist() == [0, 2, 1, 0]
    assert (instance.demands.tolist(), instance.pickups.tolist()) == ([0, 2, 0, 1], [0, 0, 2, 0])


@pytest.mark.parametrize(
    ("table", "line", "field"),
    [
        (SHIPMENT.format("shipment", "kind", "pickup", "pickup"), 4, "kind"),
        (SHIPMENT.format("shipment", "kind", "pickup", "by hand"), 4, "kind"),
        (SHIPMENT.format("shipment", "kind", "pickup", "delivery") + "D,1,1,1,t,pickup\n", 6, "shipment"),
        (SHIPMENT.format("shipment", "kind", "pickup", "delivery") + "D,1,1,1,,pickup\n", 6, "kind"),
        (SHIPMENT.format("shipment", "kind", "pickup", "delivery") + "D,1,1,1,s,delivery\n", 6, "shipment"),
        ("id,x,y,demand,max ride\nd,0,0,,\nA,3,4,2,10 min\n", 3, "max_ride"),
        ("id,x,y,demand,lifo\nd,0,0,,\nA,3,4,2,yes\n", 3, "lifo"),
    ],
)
def test_what_is_no_shipment_is_refused_with_its_place(table: str, line: int, field: str, tmp_path: Path) -> None:
    file = tmp_path / "stops.csv"
    file.write_text(table, encoding="utf-8")
    with gather_notes(), pytest.raises(DynarouteError) as refusal:
        dynaroute.read(file, capacity=10)
    assert (refusal.value.where.line, (refusal.value.where.field or "").replace(" ", "_")) == (line, field)


def test_a_longest_ride_may_stand_in_either_row(tmp_path: Path) -> None:
    file = tmp_path / "stops.csv"
    file.write_text("id,x,y,demand,shipment,kind,max ride\nd,0,0,,,,\nA,3,4,2,s,pickup,\nB,6,0,2,s,delivery,10 min\n")
    with gather_notes():
        rides = dynaroute.read(file, capacity=10, fleet=FleetOptions(speed=1.0)).max_ride
    assert rides is not None and rides.tolist() == [math.inf, 600, math.inf]


@pytest.mark.parametrize("heading", ["reload", "loading", "service factor", "profile", "lenkzeit pause"])
def test_rules_of_vehicles_that_tables_do_not_have_are_refused_by_name(heading: str, tmp_path: Path) -> None:
    file = tmp_path / "vans.csv"
    file.write_text(f"name,capacity,{heading}\nvan,10,{'depot' if heading in ('reload', 'profile') else '1.5'}\n")
    with pytest.raises(UnsupportedError) as refusal:
        read_vehicles(file)
    assert refusal.value.names == (heading,)


def test_several_windows_are_separated_by_semicolons(tmp_path: Path) -> None:
    windows = read(tmp_path, "window", "08:00-10:00; 14:00-16:00", "09:00-12:00").windows
    assert windows is not None
    assert windows.tolist()[1:] == [[[28800, 36000], [50400, 57600]], [[32400, 43200], [32400, 43200]]]


def test_vehicles_have_prices_and_skills(tmp_path: Path) -> None:
    vans = tmp_path / "vans.csv"
    vans.write_text(
        "name,capacity,cost per day,Kosten pro km,cost per hour,skills\nvan,10,80,2,36,lift\n", encoding="utf-8"
    )
    plane, globe = tmp_path / "stops.csv", tmp_path / "globe.csv"
    plane.write_text(STOPS.format("skills", "lift", ""), encoding="utf-8")
    globe.write_text("id,lat,lon,demand\nd,50,8,0\nA,50.1,8,3\n", encoding="utf-8")
    options = FleetOptions(vehicles=read_vehicles(vans), speed=1.0)
    (van,) = dynaroute.read(plane, fleet=options).fleet
    assert (van.fixed_cost, van.distance_cost, van.time_cost, van.skills) == (80, 2, 0.01, frozenset({"lift"}))
    assert dynaroute.read(globe, fleet=options).fleet[0].distance_cost == 0.002


@pytest.mark.parametrize(
    ("heading", "cell", "field"),
    [
        ("pickup", "two", "pickup"),
        ("pickup", "-1", "pickup"),
        ("pickup", "11", "pickup"),
        ("prize", "-1", "prize"),
        ("priority", "high", "priority"),
        ("priority", "101", "priority"),
        ("release", "soon", "release"),
        ("window", "08:00-10:00; 09:00-16:00", "window"),
    ],
)
def test_a_faulty_cell_is_refused_with_its_place(heading: str, cell: str, field: str, tmp_path: Path) -> None:
    with gather_notes(), pytest.raises(DynarouteError) as refusal:
        read(tmp_path, heading, "", cell)
    assert (refusal.value.where.line, refusal.value.where.field) == (4, field)
    assert refusal.value.remedy


def test_a_customer_whom_no_vehicle_may_serve_is_named_before_the_search(tmp_path: Path) -> None:
    with pytest.raises(DynarouteError, match=r"no vehicle may serve customer 2 \(B\): it needs crane") as refusal:
        refuse_impossible(read(tmp_path, "skills", "", "crane"))
    assert refusal.value.where.customer == 2


HELD = ("not_together", "one_of", "pickups", "priorities", "prizes", "release", "same_vehicle")


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.filterwarnings("ignore:.*may be left out:dynaroute.base.errors.InputWarning")
def test_rules_of_customers_that_are_written_read_back_the_same(seed: int) -> None:
    random = np.random.default_rng(seed)
    rules = set(random.choice(HELD, int(random.integers(1, 5)), replace=False).tolist())
    instance = replace(draw_problem(random, rules), vehicles=None, speed=None, service=None)
    assert instance.rules
    assert parse_csv(format_csv(instance)) == instance


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.filterwarnings("ignore:.*may be left out:dynaroute.base.errors.InputWarning")
def test_no_rule_is_lost_in_a_table(seed: int) -> None:
    random = np.random.default_rng(seed)
    rules = set(random.choice(sorted(RULE_MAKERS), int(random.integers(1, 4)), replace=False).tolist())
    instance = draw_problem(random, rules)
    with suppress(DynarouteError):  # where the rule needs vehicles or times
        several = (VehicleType(instance.fleet[0].capacities),) if instance.demands.ndim == 2 else None
        instance = replace(instance, vehicles=several, speed=None, service=None)
    try:
        text = format_csv(instance)
    except UnsupportedError as refusal:
        assert refusal.where.field and ".json" in (refusal.remedy or "")
        return
    assert parse_csv(text) == instance


@pytest.mark.parametrize("label", ["-", "a\nb"])
def test_a_label_that_a_table_would_change_is_refused(label: str) -> None:
    instance = replace(draw_problem(np.random.default_rng(0), {"same_vehicle"}, size=2), vehicles=None, speed=None)
    with pytest.raises(UnsupportedError) as refusal:
        format_csv(replace(instance, same_vehicle=("", label, label)))
    assert refusal.value.where.field == "same_vehicle"
