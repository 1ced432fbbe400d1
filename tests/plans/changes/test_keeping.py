"""Searches that leave parts of a plan as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from example_plans import plane_plan
from hypothesis import given
from hypothesis import strategies as st
from strategies import instances, solutions_of

from dynaroute import check, solve
from dynaroute.base.errors import OptionError, SolutionError, UnsupportedError
from dynaroute.plans.changes.keeping import hold, parse_keep
from dynaroute.plans.matching import KnownRoutes
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution


def bad_routes(size: int = 24) -> tuple[Instance, Solution]:
    """Customers in a square, and routes that cross all over it."""
    rng = np.random.default_rng(5)
    demands = np.array([0, *rng.integers(1, 9, size)])
    order = rng.permutation(np.arange(1, size + 1)).tolist()
    routes = tuple(tuple(order[place : place + 4]) for place in range(0, size, 4))
    return Instance(rng.random((size + 1, 2)), demands, 40), Solution(routes)


def test_kept_routes_stay_and_the_others_get_better() -> None:
    instance, start = bad_routes()
    held = hold(instance, start, {1, 4}, ())
    found = held.restore(solve(held.instance, start=held.start, iterations=2000).solution)

    assert found.routes[1] == start.routes[1]
    assert start.routes[4] in found.routes
    assert check(instance, found) == []
    assert found.cost(instance) < start.cost(instance)


def test_kept_stops_keep_the_stops_beside_them() -> None:
    instance, start = bad_routes()
    stops = [start.routes[0][1], start.routes[2][0], start.routes[3][3]]
    held = hold(instance, start, (), stops)
    found = held.restore(solve(held.instance, start=held.start, iterations=3000).solution)

    assert check(instance, found) == []
    assert found.cost(instance) < start.cost(instance)
    before, after = neighbours(start), neighbours(found)
    for stop in stops:
        assert set(after[stop]) == set(before[stop])
    assert after[stops[0]] == before[stops[0]]


def neighbours(solution: Solution) -> dict[int, tuple[int, int]]:
    return {
        stop: (previous, following)
        for route in solution.routes
        for previous, stop, following in zip((0, *route[:-1]), route, (*route[1:], 0), strict=True)
    }


def test_vehicles_of_kept_routes_are_taken() -> None:
    plan = plane_plan()
    types = (VehicleType(10, "van", count=1), VehicleType(10, "truck", count=2))
    instance = replace(plan.instance, vehicles=types)
    held = hold(instance, Solution(plan.solution.routes, vehicles=(0, 1)), {0}, ())

    assert [(kind.name, kind.count) for kind in held.instance.fleet] == [("truck", 2)]
    restored = held.restore(held.start)
    assert (restored.routes, restored.vehicles) == (plan.solution.routes, (0, 1))


@given(st.data())
def test_what_was_held_is_restored(data: st.DataObject) -> None:
    instance = data.draw(instances())
    start = data.draw(solutions_of(instance))
    count = len(start.routes)
    routes = data.draw(st.sets(st.integers(0, count - 1), max_size=count - 1))
    stops = data.draw(st.sets(st.integers(1, instance.size)))
    held = hold(instance, start, routes, stops)

    assert held.restore(held.start).routes == start.routes
    assert held.start.cost(held.instance) + held.kept_cost == pytest.approx(start.cost(instance))


def test_what_is_kept_is_read_by_route_and_by_id() -> None:
    plan = plane_plan()
    named = replace(plan.instance, customer_names=("a", "b:c", "7"))

    known = KnownRoutes(named, plan.solution, (0, 1))
    assert parse_keep(["route:2", "stop:b:c", "stop:7"], known) == ({1}, {2, 3})
    assert parse_keep(["route:1,2"], known) == ({0, 1}, set())


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("2", OptionError, "neither a route nor a stop"),
        ("route:3", OptionError, "no route '3'; there are 2"),
        ("route:", OptionError, "no route ''"),
        ("stop:", OptionError, "neither"),
        ("stop:9", SolutionError, "no customer has the id '9'"),
    ],
)
def test_what_cannot_be_kept_is_refused(text: str, kind: type[Exception], message: str) -> None:
    plan = plane_plan()
    with pytest.raises(kind, match=message):
        parse_keep([text], KnownRoutes(plan.instance, plan.solution, (0, 1)))


def test_parts_of_a_plan_with_further_rules_are_not_kept_without_them() -> None:
    plain, start = bad_routes(8)
    instance = replace(plain, same_vehicle=("", *"aabb", *[""] * 4))
    for routes, stops in (({0}, set[int]()), (set[int](), {1})):
        with pytest.raises(
            UnsupportedError, match="keeping parts of a plan cannot handle customers on the same vehicle"
        ):
            hold(instance, start, routes, stops)


def test_all_routes_or_stops_of_too_many_customers_cannot_be_kept() -> None:
    plan = plane_plan()
    with pytest.raises(OptionError, match="nothing is left"):
        hold(plan.instance, plan.solution, {0, 1}, ())
    places = np.random.default_rng(1).random((2102, 2))
    many = Instance(places, np.array([0] + [1] * 2101), 3000)
    with pytest.raises(UnsupportedError, match="up to 2,000"):
        hold(many, Solution((tuple(range(1, 2102)),)), (), [1])
