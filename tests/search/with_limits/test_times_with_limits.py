"""Routes of a fleet as linked lists, and the times between which service may start."""

from __future__ import annotations

import numpy as np
import pytest
from fleet_strategies import Plan, plans
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaroute.problem.assigning import can_drive
from dynaroute.search.annealing.routes import make_tours, read_routes
from dynaroute.search.annealing.tours import (
    AFTER,
    BEFORE,
    FIRST,
    KIND,
    ROUTE,
    SIZE,
    SLOT_AT,
    USED,
    Tours,
    change_kind,
    insert_stop,
    remove_stop,
)
from dynaroute.search.with_limits.problem import TypedRoutes, read_problem
from dynaroute.search.with_limits.times import is_within_limits, is_within_times, refresh_around


def write_routes(plan: Plan) -> TypedRoutes:
    kinds = plan.solution.vehicle_types(plan.instance)
    return tuple((kind, *route) for kind, route in zip(kinds, plan.solution.routes, strict=True))


def read_tours(tours: Tours) -> TypedRoutes:
    kinds = np.where(tours.nodes[:, ROUTE] < 0, -1, tours.slots[tours.nodes[:, ROUTE], KIND]).astype(np.int32)
    kinds[0] = kinds[-1] = kinds[-2] = -1
    return read_routes(tours.nodes[:, AFTER].copy(), kinds)


@settings(max_examples=40, deadline=None)
@given(plans())
def test_tours_drive_what_they_are_given(plan: Plan) -> None:
    problem, routes = read_problem(plan.instance), write_routes(plan)
    tours = make_tours(problem, routes)
    assert sorted(read_tours(tours)) == sorted(routes)
    slots = tours.slots[: tours.counts[USED], SLOT_AT]
    assert tours.lengths[slots].sum() == pytest.approx(plan.solution.cost(plan.instance))
    assert all(is_within_limits(tours, slot, problem) for slot in slots)


@settings(max_examples=60, deadline=None)
@given(plans(sizes=st.integers(2, 8)), st.data())
def test_a_place_is_within_the_limits_of_time_if_the_whole_route_is(plan: Plan, data: st.DataObject) -> None:
    problem, routes = read_problem(plan.instance), write_routes(plan)
    tours = make_tours(problem, routes)
    customer = data.draw(st.integers(1, problem.size))
    remove_stop(tours, customer, problem)
    rest = tuple(route for route in read_tours(tours) if route[1:])
    tours = make_tours(problem, rest)
    for slot, (kind, *stops) in enumerate(rest):
        if not can_drive(plan.instance, stops, kind):
            continue  # where a way around is shorter than the leg, a route may not do without somebody
        for place in range(len(stops) + 1):
            longer = [*stops[:place], customer, *stops[place:]]
            previous = stops[place - 1] if place > 0 else 0
            following = stops[place] if place < len(stops) else int(problem.kinds.end_nodes[kind])
            fits = is_within_times(tours, customer, slot, previous, following, problem)
            other = make_tours(problem, ((kind, *longer),))
            other.lengths[0] = 0.0  # times alone are judged here
            other.slots[0, 2] = 0
            is_short = len(longer) <= problem.kinds.stops[kind]
            assert fits == (is_within_limits(other, 0, problem) or (not is_short and fits))


@settings(max_examples=40, deadline=None)
@given(plans(sizes=st.integers(2, 8)), st.data())
def test_what_is_refreshed_around_a_customer_is_what_is_worked_out_anew(plan: Plan, data: st.DataObject) -> None:
    problem, routes = read_problem(plan.instance), write_routes(plan)
    customer = data.draw(st.integers(1, problem.size))
    without = tuple(
        tuple(stop for place, stop in enumerate(route) if place == 0 or stop != customer) for route in routes
    )
    without = tuple(route for route in without if len(route) > 1)
    if not without:
        return
    tours = make_tours(problem, without)
    slot = data.draw(st.integers(0, len(without) - 1))
    previous = data.draw(st.sampled_from((0, *without[slot][1:])))
    insert_stop(tours, customer, slot, previous, problem)
    refresh_around(tours, customer, problem)
    anew = make_tours(problem, read_tours(tours))
    served = [stop for _, *stops in read_tours(tours) for stop in stops]
    assert np.array_equal(tours.ready[served], anew.ready[served])
    assert np.array_equal(tours.due[served], anew.due[served])


@settings(max_examples=40, deadline=None)
@given(plans(), st.data())
def test_another_kind_of_vehicle_pays_its_own_way_back(plan: Plan, data: st.DataObject) -> None:
    problem, routes = read_problem(plan.instance), write_routes(plan)
    tours = make_tours(problem, routes)
    slot = data.draw(st.integers(0, len(routes) - 1))
    kind = data.draw(st.integers(0, len(problem.kinds.counts) - 1))
    change = change_kind(tours, slot, kind, problem)
    changed = tuple((kind, *route[1:]) if place == slot else route for place, route in enumerate(routes))
    assert change == pytest.approx(problem.cost(changed) - problem.cost(routes), abs=1e-9)
    assert sorted(read_tours(tours)) == sorted(changed)


def test_who_is_taken_out_leaves_a_vehicle_free() -> None:
    from fleet_problems import make_delivery_day

    problem = read_problem(make_delivery_day(size=3))
    tours = make_tours(problem, ((1, 2), (0, 1, 3)))
    before = tours.free.copy()
    remove_stop(tours, 2, problem)
    assert tours.counts[USED] == 1
    assert (tours.free - before).tolist() == [0, 1]
    assert tours.slots[tours.slots[0, SLOT_AT], SIZE] == 2
    assert tours.nodes[3, BEFORE] == 1
    assert tours.slots[tours.slots[0, SLOT_AT], FIRST] == 1
