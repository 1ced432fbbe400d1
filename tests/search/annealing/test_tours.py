"""Routes as linked lists."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import instances, solutions_of

from dynaroute.search.annealing.routes import make_tours, read_routes
from dynaroute.search.annealing.tours import (
    AFTER,
    BEFORE,
    FIRST,
    NO_ROUTE,
    ROOM,
    ROUTE,
    SIZE,
    SLOT_AT,
    USED,
    Tours,
    insert_stop,
    open_slot,
    remove_stop,
)
from dynaroute.search.core.problem import SearchProblem


def _read(tours: Tours) -> set[tuple[int, ...]]:
    """The routes, while some customers may be in none."""
    routes = set()
    for slot in tours.slots[: tours.counts[USED], SLOT_AT]:
        route, customer = [], int(tours.slots[slot, FIRST])
        while customer != 0:
            route.append(customer)
            customer = int(tours.nodes[customer, AFTER])
        routes.add(tuple(route))
    return routes


@given(st.data())
def test_routes_are_read_from_what_follows_each_customer(data: st.DataObject) -> None:
    instance = data.draw(instances())
    solution = data.draw(solutions_of(instance))
    tours = make_tours(SearchProblem.from_instance(instance), solution.routes)
    assert read_routes(tours.nodes[:, AFTER]) == tuple(sorted(solution.routes))


@given(st.data())
def test_routes_are_read_as_they_were_given(data: st.DataObject) -> None:
    instance = data.draw(instances())
    solution = data.draw(solutions_of(instance))
    assert _read(make_tours(SearchProblem.from_instance(instance), solution.routes)) == set(solution.routes)


@given(st.data())
def test_removing_customers_and_putting_them_back_restores_everything(data: st.DataObject) -> None:
    problem = SearchProblem.from_instance(instance := data.draw(instances()))
    solution = data.draw(solutions_of(instance))
    tours = make_tours(problem, solution.routes)
    removed = data.draw(st.lists(st.integers(1, instance.size), unique=True))
    places = []
    for customer in removed:
        places.append((customer, int(tours.nodes[customer, ROUTE]), int(tours.nodes[customer, BEFORE])))
        remove_stop(tours, customer, problem)
        assert tours.nodes[customer, ROUTE] == NO_ROUTE
    remaining = {tuple(c for c in route if c not in removed) for route in solution.routes} - {()}
    assert _read(tours) == remaining
    for customer, slot, previous in reversed(places):
        if tours.slots[slot, SIZE] == 0:
            open_slot(tours, slot, 0, problem)
        insert_stop(tours, customer, slot, previous, problem)
    assert _read(tours) == set(solution.routes)


@given(st.data())
def test_loads_sizes_and_legs_are_kept(data: st.DataObject) -> None:
    problem = SearchProblem.from_instance(instance := data.draw(instances()))
    tours = make_tours(problem, data.draw(solutions_of(instance)).routes)
    customer = data.draw(st.integers(1, instance.size))
    remove_stop(tours, customer, problem)
    for route in _read(tours):
        slot = tours.nodes[route[0], ROUTE]
        assert tours.slots[slot, ROOM] == instance.capacity - instance.demands[list(route)].sum()
        assert tours.slots[slot, SIZE] == len(route)
        stops = np.array([0, *route, 0])
        np.testing.assert_array_equal(tours.legs[list(route), BEFORE], instance.leg_lengths(stops[:-2], stops[1:-1]))
        np.testing.assert_array_equal(tours.legs[list(route), AFTER], instance.leg_lengths(stops[1:-1], stops[2:]))
