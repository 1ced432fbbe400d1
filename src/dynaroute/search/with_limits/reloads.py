"""Visits where vehicles load again: when they are added to a route, and when they are given up."""

from __future__ import annotations

import numpy as np

from dynaroute.search.annealing.tours import (
    AFTER,
    BEFORE,
    FIRST,
    KIND,
    NO_ROUTE,
    ROUTE,
    SIZE,
    Tours,
    insert_stop,
    is_stop,
    remove_stop,
)
from dynaroute.search.core.compiled import compiled_apart, compiled_inline
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.with_limits.driving import drive_path, write_path
from dynaroute.search.with_limits.evaluation import enter, is_route_allowed, is_tied, meets_other, price_route
from dynaroute.search.with_limits.rules import DELIVERY, PICKUP, RELOAD
from dynaroute.search.with_limits.times import refresh_times

__all__ = ["drop_visits", "find_free_visit", "find_next_site", "price_with_visit"]


@compiled_inline
def find_free_visit(tours: Tours, place: int, problem: SearchProblem) -> int:
    """The next visit from a place of the list of visits on that is on no route; or -1."""
    sites, customers = problem.rules.sites, problem.rules.customers
    for visit in range(place, len(sites)):
        if tours.nodes[customers + 1 + visit, ROUTE] == NO_ROUTE:
            return customers + 1 + visit
    return -1


@compiled_inline
def find_next_site(tours: Tours, visit: int, problem: SearchProblem) -> int:
    """The first free visit at the next other place than that of a visit; -1 if there is none."""
    sites, customers = problem.rules.sites, problem.rules.customers
    place = visit - customers - 1
    site = sites[place]
    while place < len(sites) and sites[place] == site:
        place += 1
    return find_free_visit(tours, place, problem)


@compiled_apart
def price_with_visit(
    tours: Tours,
    customer: int,
    visit: int,
    is_before: bool,
    previous: int,
    following: int,
    most: float,
    problem: SearchProblem,
) -> float:
    """What a customer costs between two stops with a visit to load again before or after; infinite if forbidden."""
    rules, slot = problem.rules, tours.nodes[previous if is_stop(previous, problem) else following, ROUTE]
    kind = tours.slots[slot, KIND]
    if is_tied(following, problem) or not rules.allowed[customer, kind] or not rules.allowed[visit, kind]:
        return np.inf
    if rules.apart[customer] > 0 and meets_other(tours, customer, slot, problem):
        return np.inf
    first, second = (visit, customer) if is_before else (customer, visit)
    profile = rules.profiles[kind]
    extra = rules.distances[profile, previous, first] + rules.distances[profile, first, second]
    extra += rules.distances[profile, second, following] - rules.distances[profile, previous, following]
    length = tours.lengths[slot] + extra
    if rules.per_distance[kind] * extra >= most or length > problem.kinds.distances[kind]:
        return np.inf
    if tours.slots[slot, SIZE] + 2 > problem.kinds.stops[kind]:
        return np.inf
    if rules.driving[kind] < np.inf:
        return np.inf  # rare together: such a route does not load again
    leaving = tours.ready[previous] if is_stop(previous, problem) else problem.kinds.starts[kind]
    limit = tours.due[following] if is_stop(following, problem) else problem.kinds.ends[kind]
    start = enter(leaving + rules.durations[profile, previous, first], first, problem)
    start = enter(start + rules.durations[profile, first, second], second, problem)
    if start + rules.durations[profile, second, following] > limit:
        return np.inf  # even if all goods were there
    stops = write_path(tours, slot, first, previous, second, first, problem)
    if not _are_loads_right(tours, stops, kind, problem):
        return np.inf
    span, late = drive_path(tours, stops, kind, problem)
    if span > problem.kinds.durations[kind] or span == np.inf:
        return np.inf
    return price_route(kind, length, span, problem) + late - float(tours.prices[slot])


@compiled_inline
def _are_loads_right(tours: Tours, count: int, kind: int, problem: SearchProblem) -> bool:
    """Whether the written path has not too many trips, and loads fit on all of them."""
    rules, trips, shipments = problem.rules, 1, 0
    for place in range(count):
        role = rules.roles[tours.path[place]]
        trips += role == RELOAD
        shipments += int(role == PICKUP) - int(role == DELIVERY)
        if role == RELOAD and shipments > 0:
            return False  # they are delivered on the same trip
    if trips > rules.trips[kind]:
        return False
    for dimension in range(rules.rooms.shape[1]):
        first, aboard = 0, rules.initial[kind, dimension]
        while first <= count:
            last = first
            while last < count and rules.roles[tours.path[last]] != RELOAD:
                if rules.partners[tours.path[last]] == 0:
                    aboard += rules.delivered[tours.path[last], dimension]
                last += 1
            if aboard > rules.rooms[kind, dimension]:
                return False
            for place in range(first, last):
                stop = tours.path[place]
                aboard += rules.collected[stop, dimension] - rules.delivered[stop, dimension]
                if aboard > rules.rooms[kind, dimension]:
                    return False
            first, aboard = last + 1, 0
    return True


@compiled_apart
def drop_visits(tours: Tours, slot: int, problem: SearchProblem) -> None:
    """Give up the visits of a route that it does not need any more."""
    rules, stop = problem.rules, tours.slots[slot, FIRST]
    if tours.slots[slot, SIZE] == 0:
        return
    while is_stop(stop, problem):
        previous, following = tours.nodes[stop, BEFORE], tours.nodes[stop, AFTER]
        if rules.roles[stop] == RELOAD:
            is_last = tours.slots[slot, SIZE] == 1
            before = tours.prices[slot]
            remove_stop(tours, stop, problem)
            if is_last:
                return
            refresh_times(tours, slot, problem)
            is_needed = not is_route_allowed(tours, slot, problem) or tours.prices[slot] > before
            if is_needed:
                insert_stop(tours, stop, slot, previous, problem)
                refresh_times(tours, slot, problem)
        stop = following
