"""Plans: routes stop by stop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from example_plans import globe_plan, plane_plan
from hypothesis import given
from hypothesis import strategies as st
from strategies import instances, solutions_of

from dynaroute.details import Details
from dynaroute.errors import SolutionError
from dynaroute.plans import Plan
from dynaroute.solution import Solution


def test_stops_tell_load_and_distance_so_far() -> None:
    first, second = plane_plan().routes

    assert [(stop.id, stop.demand, stop.load, stop.distance) for stop in first.stops] == [
        ("1", 2, 2, 5.0),
        ("2", 7, 9, 9.0),
    ]
    assert (first.load, first.length) == (9, 12.0)
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
