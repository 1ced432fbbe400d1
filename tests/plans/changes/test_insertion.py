"""New customers in a plan: each where it costs least, the rest as it was."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from example_plans import globe_plan, plane_plan
from hypothesis import given
from hypothesis import strategies as st
from strategies import instances, solutions_of

from dynaroute import check
from dynaroute.base.errors import DynarouteError, FormatError, UnsupportedError, gather_notes
from dynaroute.plans import Plan
from dynaroute.plans.changes.additions import extend_instance, read_customers
from dynaroute.plans.changes.insertion import insert_customers
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution


def at(x: float, y: float, demand: float = 1, **more: Any) -> dict[str, Any]:
    return {"x": x, "y": y, "demand": demand, **more}


def test_customer_goes_where_it_costs_least() -> None:
    result = insert_customers(plane_plan(), [at(3, 2)])

    assert result.plan.solution.routes == ((1, 4, 2), (3,))
    (insertion,) = result.insertions
    assert (insertion.route, insertion.stop, insertion.cost, insertion.opens_route) == (1, 2, 0.0, False)
    assert result.plan.cost == plane_plan().cost


def test_full_vehicles_are_passed_over_and_another_one_drives() -> None:
    result = insert_customers(plane_plan(), [at(3, 2, 8)])

    assert result.plan.solution.routes == ((1, 2), (3,), (4,))
    assert result.insertions[0].opens_route
    assert result.insertions[0].cost == pytest.approx(2 * math.hypot(3, 2))


def test_who_fits_nowhere_is_told_and_the_others_are_in() -> None:
    plan = plane_plan()
    fleet = Plan(replace(plan.instance, vehicles=(VehicleType(10, count=2),)), plan.solution)
    result = insert_customers(fleet, [at(3, 2, 8), at(0, 1, 1)])

    assert result.unserved == [4]
    assert [insertion.route for insertion in result.insertions] == [None, 1]
    assert [violation.kind for violation in check(result.plan.instance, result.plan.solution)] == ["missing"]


@pytest.mark.parametrize(
    "limits",
    [
        {"max_stops": 2},
        {"max_distance": 12.0},
        {"max_duration": 12.0},
        {"shift": (0.0, 12.0)},
    ],
)
def test_limits_of_vehicles_hold(limits: dict[str, Any]) -> None:
    plan = plane_plan()
    fleet = Plan(replace(plan.instance, vehicles=(VehicleType(10, **limits),), speed=1.0), plan.solution)
    result = insert_customers(fleet, [at(3.5, 2)])

    assert result.insertions[0].route != 1
    assert check(result.plan.instance, result.plan.solution) == []


def test_window_that_is_missed_there_sends_a_customer_elsewhere() -> None:
    plan = plane_plan()
    windows = np.array([[0, np.inf], [0, 5.0], [0, np.inf], [0, np.inf]])
    timed = Plan(replace(plan.instance, windows=windows, speed=1.0), plan.solution)
    result = insert_customers(timed, [at(1.5, 2, window=[0, 3])])

    assert result.plan.solution.routes[0] != (4, 1, 2) or check(result.plan.instance, result.plan.solution) == []
    assert check(result.plan.instance, result.plan.solution) == []


def test_open_route_takes_a_customer_at_its_end_without_a_way_back() -> None:
    plan = plane_plan()
    types = (VehicleType(10, end="open", count=2),)
    result = insert_customers(Plan(replace(plan.instance, vehicles=types), plan.solution), [at(3, -1)])

    assert result.plan.solution.routes[0] == (1, 2, 4)
    assert result.insertions[0].cost == 1.0


def brute_force_cost(plan: Plan, extended: Instance) -> float:
    """The least cost at which the last customer of an extended instance comes in."""
    new, routes = extended.size, plan.solution.routes
    candidates = [
        (*routes[:index], (*route[:place], new, *route[place:]), *routes[index + 1 :])
        for index, route in enumerate(routes)
        for place in range(len(route) + 1)
    ]
    solutions = [Solution(candidate) for candidate in (*candidates, (*routes, (new,)))]
    return min(
        solution.cost(extended) for solution in solutions if not check(extended, Solution(solution.routes))
    ) - plan.solution.cost(plan.instance)


@given(st.data())
def test_cost_is_the_least_of_all_places_and_the_rest_stays(data: st.DataObject) -> None:
    placements: Any = st.sampled_from(("plane", "globe"))
    instance = data.draw(instances(placements=placements, scales=st.just(1)))
    plan = Plan(instance, data.draw(solutions_of(instance)))
    axes = ("lat", "lon") if plan.has_degrees else ("x", "y")
    demand = data.draw(st.integers(0, instance.capacity))
    place = data.draw(st.tuples(st.floats(-80, 80), st.floats(-80, 80)))
    new = {**dict(zip(axes, place, strict=True)), "demand": demand, "id": "new customer"}
    result = insert_customers(plan, [new])

    (insertion,) = result.insertions
    assert check(result.plan.instance, result.plan.solution) == []
    best = brute_force_cost(plan, result.plan.instance)
    assert insertion.cost == pytest.approx(best, rel=1e-6, abs=1e-6 * (1 + result.plan.cost))
    without = [tuple(stop for stop in route if stop <= instance.size) for route in result.plan.solution.routes]
    assert tuple(route for route in without if route) == plan.solution.routes


def test_new_customers_are_read_from_a_table_without_depot_and_capacity(tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    path.write_text("Kunde;Breite;Länge;Menge;NAME\nNeu;53,55;10,0;2,5;Nele\n")
    plan = globe_plan()
    with gather_notes():
        result = insert_customers(plan, read_customers(path, plan.instance))

    (stop,) = [stop for route in result.plan.routes for stop in route.stops if stop.id == "Neu"]
    assert (stop.name, float(stop.demand)) == ("Nele", 2.5)
    assert result.plan.instance.size == plan.instance.size + 1


def test_what_new_customers_give_back_is_read_from_a_table(tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    path.write_text("id,x,y,demand,pickup\nC,1,1,2,3\n")

    assert [each["pickup"] for each in cast(Any, read_customers(path, plane_plan().instance))] == [3]


@pytest.mark.parametrize("text", ['[{"x": 3, "y": 2, "demand": 1}]', '{"customers": [{"x": 3, "y": 2, "demand": 1}]}'])
def test_new_customers_are_read_from_json(tmp_path: Path, text: str) -> None:
    path = tmp_path / "new.json"
    path.write_text(text)

    assert len(read_customers(path, plane_plan().instance)) == 1


@pytest.mark.parametrize(
    ("customers", "field", "message"),
    [
        ([at(1, 1), {"x": 1, "y": 1}], "customers[1].demand", "missing"),
        ([at(1, 1, 11)], "customers[0].demand", "above the capacity"),
        ([{"lat": 1, "lon": 1, "demand": 1}], "customers[0]", ""),
        ([at(1, 1, id="2")], "customers[0].id", "2"),
        ([3], "customers[0]", ""),
    ],
)
def test_faults_are_placed_among_the_new_customers(customers: list[Any], field: str, message: str) -> None:
    with pytest.raises(DynarouteError) as refusal:
        extend_instance(plane_plan().instance, customers)
    assert str(refusal.value.where.field).startswith(field)
    assert message in refusal.value.message


def test_none_and_matrices_are_refused() -> None:
    with pytest.raises(FormatError, match="no new customer"):
        extend_instance(plane_plan().instance, [])
    matrix = Instance(None, np.array([0, 1]), 2, distances=np.array([[0, 5], [5, 0]]))
    with pytest.raises(UnsupportedError, match="from a matrix"):
        extend_instance(matrix, [{"demand": 1}])
