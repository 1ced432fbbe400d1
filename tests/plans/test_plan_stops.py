"""Plans: routes stop by stop."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from example_plans import globe_plan, plane_plan
from hypothesis import given
from hypothesis import strategies as st
from strategies import instances, solutions_of

from dynaroute.base.errors import SolutionError
from dynaroute.plans import Plan
from dynaroute.plans.files.csv import format_csv_plan
from dynaroute.plans.files.html import format_html_plan
from dynaroute.plans.files.words import describe_window
from dynaroute.problem.details import Details
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.solution import Solution, make_timetable


def test_stops_tell_load_and_distance_so_far() -> None:
    first, second = plane_plan().routes

    assert [(stop.id, stop.demand, stop.load, stop.distance) for stop in first.stops] == [
        ("1", 2, 2, 5.0),
        ("2", 7, 9, 9.0),
    ]
    assert (first.load, first.length) == (9, 12.0)
    assert second.end is not None
    assert (second.end.id, second.end.name, second.end.distance) == ("", "depot", 2.0)


def test_the_column_of_names_is_found_and_the_others_stay() -> None:
    plan = globe_plan()

    assert plan.name_column == "Name"
    assert plan.detail_columns == ("Adresse",)
    stop = plan.routes[0].stops[0]
    assert (stop.name, stop.details) == ("Kunde 3 <script>", {"Adresse": "=Straße 3"})
    assert plan.routes[0].start.name == "Depot Hafen"


@pytest.mark.parametrize("column", ["name", "Kunde", "customer name", "Nom", "nombre", "Company", "Kundenname"])
def test_columns_of_names_are_known_in_four_languages(column: str) -> None:
    plain = plane_plan()
    details = Details((column,), (("",), ("a",), ("b",), ("c",)))
    plan = Plan(replace(plain.instance, details=details), plain.solution)

    assert [stop.name for stop in plan.routes[0].stops] == ["a", "b"]


def test_a_customer_that_is_not_there_is_refused() -> None:
    with pytest.raises(SolutionError):
        Plan(plane_plan().instance, Solution(((4,),)))


@given(st.data())
def test_lengths_and_loads_are_those_of_the_solution(data: st.DataObject) -> None:
    instance = data.draw(instances())
    solution = data.draw(solutions_of(instance))
    routes = Plan(instance, solution).routes

    assert [route.length for route in routes] == solution.route_costs(instance)
    assert [route.load for route in routes] == [instance.shown_demand(load) for load in solution.loads(instance)]
    assert np.array_equal(sum(len(route.stops) for route in routes), instance.size)


def timed_plan() -> Plan:
    """One van that ends at its last customer, and one that drives home; a unit of distance takes a minute."""
    fleet = (VehicleType(10, "van", end="open"), VehicleType(10, "truck"))
    windows = np.array([[28800, 64800], [0, np.inf], [36000, np.inf], [0, np.inf]], dtype=float)
    plain = plane_plan()
    service = np.array([0.0, 600.0, 0.0, 0.0])
    timed = replace(plain.instance, vehicles=fleet, windows=windows, service=service, speed=1 / 60)
    return Plan(timed, Solution(plain.solution.routes, vehicles=(0, 1)))


def test_a_stop_tells_its_window() -> None:
    plan = timed_plan()
    windows = np.array([[0, np.inf], [0, np.inf], [36000, 39600], [0, 43200]], dtype=float)
    bounded = Plan(replace(plan.instance, windows=windows), plan.solution)

    assert [describe_window(plan, stop) for stop in plan.routes[0].stops] == ["", "from 10:00"]
    assert describe_window(bounded, bounded.routes[0].stops[1]) == "10:00-11:00"
    assert describe_window(bounded, bounded.routes[1].stops[0]) == "until 12:00"


def test_a_depot_without_a_name_in_a_column_is_called_by_its_id() -> None:
    plan = plane_plan()
    named = Plan(replace(plan.instance, depot_name="Lager Nord"), plan.solution)

    assert named.routes[0].start.name == "Lager Nord"


def test_times_are_those_of_the_timetable() -> None:
    plan = timed_plan()
    first, second = make_timetable(plan.instance, plan.solution)

    assert [stop.arrival for stop in plan.routes[0].stops] == [stop.arrival for stop in first.stops]
    assert plan.routes[0].start.leave == first.departure
    assert plan.routes[1].end is not None
    assert plan.routes[1].end.arrival == second.end


def test_open_route_ends_at_its_last_customer_and_names_its_vehicle() -> None:
    first, second = timed_plan().routes

    assert first.end is None
    assert (first.length, second.length) == (9.0, 2.0)
    assert (first.called, second.called) == ("Route 1, van", "Route 2, truck")


def test_tables_and_sheets_tell_vehicle_and_times() -> None:
    plan = timed_plan()
    header, depot, first, second, *_ = csv.reader(io.StringIO(format_csv_plan(plan)))

    times = ["arrival", "start", "leave"]
    assert header == ["route", "vehicle", "stop", "id", "demand", "load", "distance", *times]
    assert depot[7:] == ["", "", "09:41"]
    assert (first[7:], second[7:]) == (["09:46", "09:46", "09:56"], ["10:00"] * 3)
    assert "09:41 to 10:00" in format_html_plan(plan)
