"""The search of problems with windows, limits and several kinds of vehicles."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from brute_force import find_best_plan
from fleet_problems import make_delivery_day, make_kind
from fleet_strategies import Plan, fleet_instances, plans
from hypothesis import given, settings
from hypothesis import strategies as st

import dynaroute
from dynaroute.base.stopping import Stopping
from dynaroute.base.vocabulary import Objective
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.problem.timetable import measure_route
from dynaroute.search.search import Improvement
from dynaroute.search.with_limits.search import search_with_limits

_DAY = make_delivery_day()
_OBJECTIVES: st.SearchStrategy[Objective] = st.sampled_from(("distance", "vehicles"))


def list_broken_limits(instance: Instance, solution: Solution) -> list[str]:
    """What is wrong beside customers that are left out."""
    return [violation.message for violation in check(instance, solution) if violation.kind != "missing"]


def serves_all(instance: Instance, solution: Solution) -> bool:
    return sum(map(len, solution.routes)) == instance.size


# What comes back


@settings(max_examples=60, deadline=None)
@given(fleet_instances(sizes=st.integers(1, 14)), _OBJECTIVES, st.sampled_from((0, 1, 300, 3000)))
def test_any_combination_of_parts_gives_a_plan_within_all_limits(
    instance: Instance, objective: Objective, iterations: int
) -> None:
    outcome = search_with_limits(instance, None, Stopping(iterations=iterations), objective=objective)
    assert not list_broken_limits(instance, outcome.solution)
    assert outcome.iterations == iterations
    assert outcome.solution.stated_cost == outcome.cost == outcome.solution.cost(instance)


@settings(max_examples=40, deadline=None)
@given(plans(sizes=st.integers(1, 12)), st.sampled_from((1, 300)))
def test_a_start_is_never_made_worse_and_its_limits_are_kept(plan: Plan, iterations: int) -> None:
    outcome = search_with_limits(plan.instance, plan.solution, Stopping(iterations=iterations))
    assert not check(plan.instance, outcome.solution)
    assert outcome.cost <= plan.solution.cost(plan.instance)


@settings(max_examples=25, deadline=None)
@given(
    st.one_of(fleet_instances(sizes=st.integers(1, 5)), plans(sizes=st.integers(1, 5)).map(lambda plan: plan.instance)),
    _OBJECTIVES,
)
def test_a_handful_of_customers_is_served_as_well_as_it_can_be(instance: Instance, objective: Objective) -> None:
    outcome = search_with_limits(instance, None, Stopping(iterations=50), objective=objective)
    best = find_best_plan(instance, objective)
    if best is None:
        assert not serves_all(instance, outcome.solution)
        return
    assert not check(instance, outcome.solution)
    assert outcome.cost == pytest.approx(best.cost(instance))
    if objective == "vehicles":
        assert len(outcome.solution.routes) == len(best.routes)


@pytest.mark.parametrize("seed", range(3))
def test_a_few_more_customers_are_served_as_well_as_by_trying_everything(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynaroute.search.with_limits.search.MOST_CUSTOMERS", 0)  # by searching alone
    instance = make_delivery_day(size=6, seed=seed)
    best = find_best_plan(instance)
    assert best is not None
    assert search_with_limits(instance, None, Stopping(iterations=2000)).cost == pytest.approx(best.cost(instance))


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("is_limited", [False, True])
@pytest.mark.parametrize("has_windows", [False, True])
def test_every_kind_of_problem_is_solved(is_open: bool, is_limited: bool, has_windows: bool) -> None:
    instance = make_kind(is_open, is_limited, has_windows, size=20)
    outcome = search_with_limits(instance, None, Stopping(iterations=2000))
    assert not check(instance, outcome.solution)


# What is made less


def test_it_improves_on_insertion() -> None:
    first = search_with_limits(_DAY, None, Stopping(iterations=0))
    assert search_with_limits(_DAY, None, Stopping(iterations=5000)).cost < 0.95 * first.cost


def test_fewer_vehicles_come_first_if_so_wished() -> None:
    day = make_delivery_day(seed=1)
    shortest = search_with_limits(day, None, Stopping(iterations=8000))
    fewest = search_with_limits(day, None, Stopping(iterations=8000), objective="vehicles")
    assert not check(day, fewest.solution)
    assert len(fewest.solution.routes) < len(shortest.solution.routes)
    assert fewest.cost > shortest.cost


def test_open_routes_do_not_pay_the_way_back() -> None:
    instance = make_kind(is_open=True, is_limited=False, has_windows=False, size=15)
    outcome = search_with_limits(instance, None, Stopping(iterations=500))
    lengths = [measure_route(instance, route, instance.fleet[0]) for route in outcome.solution.routes]
    assert outcome.cost == pytest.approx(sum(lengths))


def test_one_way_streets_are_driven_the_right_way() -> None:
    around = np.full((6, 6), 10.0)
    for node in range(6):
        around[node, (node + 1) % 6] = 1.0
    instance = Instance(None, np.array([0, 1, 1, 1, 1, 1]), 5, distances=around)
    outcome = search_with_limits(instance, None, Stopping(iterations=200))
    assert outcome.solution.routes == ((1, 2, 3, 4, 5),)
    assert outcome.solution.vehicles is None  # there are no types to name


def test_the_larger_vehicle_goes_where_it_is_needed() -> None:
    line = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [-1.0, 0.0]])
    types = VehicleType(2, "small", count=1), VehicleType(10, "large", count=1)
    instance = Instance(line, np.array([0, 6, 4, 2]), 10, vehicles=types)
    outcome = search_with_limits(instance, None, Stopping(iterations=200))
    assert not check(instance, outcome.solution)
    assert dict(zip(outcome.solution.routes, outcome.solution.vehicles or (), strict=True)).get((3,)) == 0


@pytest.mark.parametrize("limit", [{"max_stops": 5}, {"max_distance": 130.0}, {"shift": (0.0, 250.0)}, {"count": 3}])
def test_limits_that_bind_are_kept(limit: dict[str, Any]) -> None:
    instance = make_delivery_day(**limit)
    instance = replace(instance, vehicles=instance.fleet[:1])
    outcome = search_with_limits(instance, None, Stopping(iterations=6000))
    assert not list_broken_limits(instance, outcome.solution)
    assert outcome.solution.routes
    free = search_with_limits(replace(_DAY, vehicles=_DAY.fleet[:1]), None, Stopping(iterations=6000))
    assert check(instance, replace(free.solution, stated_cost=None)), "without the limit, the plan would break it"


def test_who_cannot_be_served_is_left_out_and_the_others_are_not() -> None:
    instance = make_delivery_day(count=2)
    instance = replace(instance, vehicles=instance.fleet[:1])
    outcome = search_with_limits(instance, None, Stopping(iterations=3000))
    assert not list_broken_limits(instance, outcome.solution)
    served = sum(map(len, outcome.solution.routes))
    assert 8 < served < instance.size
    assert not outcome.trace  # no plan that serves everybody was found


# When it ends, and whom it tells


@pytest.mark.parametrize("threads", [1, 2])
def test_a_seed_and_a_number_of_iterations_determine_the_plan(threads: int) -> None:
    outcomes = [search_with_limits(_DAY, None, Stopping(iterations=5000), seed=4, threads=threads) for _ in range(2)]
    assert outcomes[0].solution == outcomes[1].solution


def test_other_seeds_find_other_plans_on_the_way() -> None:
    few = [search_with_limits(_DAY, None, Stopping(iterations=20), seed=seed).solution for seed in range(4)]
    assert len(set(few)) > 1


def test_a_time_limit_holds() -> None:
    began = time.perf_counter()
    outcome = search_with_limits(_DAY, None, Stopping.after(0.3))
    assert time.perf_counter() - began < 1.0
    assert not check(_DAY, outcome.solution)


def test_without_time_every_customer_has_a_vehicle_of_its_own() -> None:
    outcome = search_with_limits(_DAY, None, Stopping(deadline=time.perf_counter() - 1))
    assert not list_broken_limits(_DAY, outcome.solution)
    assert outcome.solution.routes


def test_a_target_ends_it_early() -> None:
    target = search_with_limits(_DAY, None, Stopping(iterations=500)).cost
    outcome = search_with_limits(_DAY, None, Stopping(iterations=10**9, target=target))
    assert outcome.cost <= target
    assert outcome.iterations < 10**9


def test_improvements_are_told_as_they_are_found() -> None:
    told: list[Improvement] = []
    outcome = search_with_limits(_DAY, None, Stopping(iterations=5000), on_improvement=told.append)
    assert [(each.seconds, each.cost) for each in told] == list(outcome.trace)
    assert all(not check(_DAY, each.solution) for each in told)
    assert told[-1].cost == outcome.cost


def test_cancelling_ends_it_with_the_best_so_far() -> None:
    told: list[Improvement] = []
    outcome = search_with_limits(_DAY, None, Stopping(is_cancelled=lambda: bool(told)), on_improvement=told.append)
    assert not check(_DAY, outcome.solution)


@pytest.mark.parametrize("looks", [0, 3, 40])
def test_cancelled_at_any_moment_it_has_a_plan_within_all_limits(looks: int) -> None:
    answers = iter([False] * looks + [True] * 10**6)
    outcome = search_with_limits(_DAY, None, Stopping(is_cancelled=lambda: next(answers)))
    assert not list_broken_limits(_DAY, outcome.solution)


# Vehicles that are alike


def make_alike_day() -> Instance:
    """The vans of the day as types of one or two vehicles."""
    van, bicycle = _DAY.fleet
    vans = [replace(van, name=f"van {number}", count=1 + number % 2) for number in range(20)]
    return replace(_DAY, vehicles=(*vans[:7], bicycle, *vans[7:]))


@pytest.mark.parametrize("iterations", [0, 1, 500])
def test_each_of_the_users_types_drives_no_more_routes_than_it_has_vehicles(iterations: int) -> None:
    day = make_alike_day()
    outcome = search_with_limits(day, None, Stopping(iterations=iterations))
    assert not check(day, outcome.solution)
    assert outcome.solution.vehicles is not None and {0, 1} <= set(outcome.solution.vehicles)


def test_types_that_are_alike_are_searched_as_one() -> None:
    van, bicycle = _DAY.fleet
    merged = replace(_DAY, vehicles=(replace(van, count=sum(1 + number % 2 for number in range(20))), bicycle))
    assert search_with_limits(make_alike_day(), None, Stopping(iterations=500)).cost == pytest.approx(
        search_with_limits(merged, None, Stopping(iterations=500)).cost
    )


def test_a_vehicle_of_a_known_plan_keeps_its_route() -> None:
    day = make_alike_day()
    found = search_with_limits(day, None, Stopping(iterations=500)).solution
    assert found.vehicles is not None
    free = iter(sorted(set(range(21)) - {7} - set(found.vehicles), reverse=True))  # a vehicle of every type is free
    others = tuple(kind if kind == 7 else next(free) for kind in found.vehicles)
    start = replace(found, vehicles=others)
    again = search_with_limits(day, start, Stopping(iterations=0)).solution
    assert dict(zip(again.routes, again.vehicles or (), strict=True)) == dict(zip(start.routes, others, strict=True))


# solve()


def test_solve_searches_plain_problems_and_fleets_side_by_side() -> None:
    plain = Instance(_DAY.coordinates, _DAY.demands, 40)
    fleet, alone = dynaroute.solve([_DAY, plain], iterations=300)
    assert fleet.method == "insertion + search 300 iterations"
    assert alone.method == "savings + search 300 iterations"
    assert not check(_DAY, fleet.solution)
    assert fleet.solution == dynaroute.solve(_DAY, iterations=300).solution


def test_solve_takes_a_known_plan_with_its_vehicles() -> None:
    start = search_with_limits(_DAY, None, Stopping(iterations=100)).solution
    result = dynaroute.solve(_DAY, start=start, iterations=100)
    assert result.cost <= start.cost(_DAY)
    assert result.method.startswith("start + search")


def test_solve_can_have_fewer_vehicles_first_without_any_fleet() -> None:
    corners = np.array([[0.0, 0.0], [-9.0, 1.0], [9.0, 1.0], [-9.0, -1.0], [9.0, -1.0], [0.5, 0.0]])
    instance = Instance(corners, np.array([0, 2, 2, 2, 2, 1]), 3 * 3)
    assert len(dynaroute.solve(instance, objective="vehicles", iterations=200).solution.routes) == 1


def test_a_longer_plan_with_fewer_vehicles_is_told_as_such() -> None:
    line = np.array([[0.0, 0.0], [-9.0, 0.0], [9.0, 0.0]])
    instance = Instance(line, np.array([0, 1, 1]), 2, vehicles=(VehicleType(2, end="open"),))
    result = dynaroute.solve(instance, objective="vehicles", start=Solution(((1,), (2,))), iterations=10)
    assert (result.first_cost, result.cost) == (18.0, 27.0)
    assert "18 -> 27, with fewer vehicles" in result.improvement
