"""Recreate a plan for a fleet: insert customers one by one at the cheapest position within all limits."""

from __future__ import annotations

import numpy as np

from dynaroute.search.annealing.ruin_recreate import draw_blinks
from dynaroute.search.core.compiled import compiled_inline
from dynaroute.search.core.random_numbers import RandomState, draw_below
from dynaroute.search.with_limits.insertion import choose_vehicle, put_back_by_rules
from dynaroute.search.with_limits.pairs import put_pair_back
from dynaroute.search.with_limits.problem import FleetProblem
from dynaroute.search.with_limits.rules import PICKUP
from dynaroute.search.with_limits.state import (
    ABSENT,
    AFTER,
    BEFORE,
    FIRST,
    KIND,
    LAST,
    NO_ROUTE,
    ROOM,
    ROUTE,
    SIZE,
    SLOT_AT,
    USED,
    FleetLog,
    FleetTours,
)
from dynaroute.search.with_limits.tours import (
    insert_stop,
    is_within_times,
    open_slot,
    refresh_around,
)

__all__ = ["draw_absent", "put_back", "sort_order"]

_ORDERS = 17  # sum of the weights of the insertion orders: 4, 4, 2, 1, and 2, 2, 2 for those by windows
_MOST_ABSENT = 20  # missing customers that an iteration tries to insert


@compiled_inline
def draw_absent(
    tours: FleetTours, log: FleetLog, count: int, state: RandomState, problem: FleetProblem
) -> tuple[int, int]:
    """Choose some missing customers to insert as well, and move them to the end of the list of missing ones.

    Returns their number, and that of all customers to insert: of shipments only the pickups.
    """
    absent, total = tours.absent, tours.counts[ABSENT]
    tried = int(min(total, _MOST_ABSENT))
    for index in range(tried):
        place, last = draw_below(state, total - index), total - 1 - index
        absent[place], absent[last] = absent[last], absent[place]
    all_tried = 0
    for index in range(count):
        if len(problem.rules) > 0 and problem.rules.roles[log.removed[index, 0]] > PICKUP:
            continue
        log.order[all_tried] = log.removed[index, 0]
        all_tried += 1
    for index in range(tried):
        log.order[all_tried + index] = absent[total - 1 - index]
    return tried, all_tried + tried


@compiled_inline
def sort_order(log: FleetLog, count: int, state: RandomState, problem: FleetProblem) -> None:
    """Choose the insertion order: random; largest demand, farthest, nearest, narrow, early or late window first."""
    order, keys = log.order, log.keys
    for last in range(count - 1, 0, -1):
        place = draw_below(state, last + 1)
        order[last], order[place] = order[place], order[last]
    kind = draw_below(state, _ORDERS)
    if kind < 4:
        return
    for index in range(count):
        customer = order[index]
        if kind < 8:
            key = -float(problem.demands[customer])
        elif kind < 10:
            key = -problem.distances[0, customer]
        elif kind < 11:
            key = problem.distances[0, customer]
        elif kind < 13:
            key = problem.latest[customer] - problem.earliest[customer]
        elif kind < 15:
            key = problem.earliest[customer]
        else:
            key = -problem.latest[customer]
        place = index
        while place > 0 and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            order[place] = order[place - 1]
            place -= 1
        keys[place] = key
        order[place] = customer


@compiled_inline
def put_back(
    tours: FleetTours,
    customer: int,
    log: FleetLog,
    routes: int,
    discount: float,
    state: RandomState,
    wanted: int,
    problem: FleetProblem,
) -> float:
    """Insert a customer at the cheapest position, randomly skipping some; returns its cost, 0 if there is none.

    It is tried next to customers that are near in place and time, and at the end of the routes that lost customers:
    a customer far from all others has no near ones. A new route is priced below its cost, so that other customers can
    join it.
    """
    if len(problem.paired) > 0 and problem.rules.partners[customer] > 0:
        return put_pair_back(tours, customer, log, routes, discount, state, wanted, problem)
    if len(problem.driven) > 0 and problem.rules.followers[customer] > 0:
        return put_pair_back(tours, customer, log, routes, discount, state, wanted, problem)
    if len(problem.rules) > 0:
        return put_back_by_rules(tours, customer, log, routes, discount, state, wanted, problem)
    nodes, slots, legs, distances = tours.nodes, tours.slots, tours.legs, problem.distances
    demand = problem.demands[customer]
    alone, kind = choose_vehicle(tours, customer, state, problem)
    best_cost = discount * alone
    best_slot, best_previous = -1, 0
    for near in range(min(wanted, problem.before.shape[1])):
        previous = problem.before[customer, near]
        if previous < 0:
            break
        slot = nodes[previous, ROUTE]
        if slot == NO_ROUTE or slots[slot, ROOM] < demand:
            continue
        following = nodes[previous, AFTER]
        cost = distances[previous, customer] + distances[customer, following] - legs[previous]
        if cost < best_cost and _is_accepted(tours, customer, slot, previous, following, cost, log, state, problem):
            best_cost, best_slot, best_previous = cost, slot, previous
    for near in range(min(wanted, problem.after.shape[1])):
        following = problem.after[customer, near]
        if following < 0:
            break
        slot = nodes[following, ROUTE]
        if slot == NO_ROUTE or slots[slot, ROOM] < demand:
            continue
        previous = nodes[following, BEFORE]
        if problem.is_before[previous, customer]:
            continue  # already tried
        leg = distances[0, following] if previous == 0 else legs[previous]
        cost = distances[previous, customer] + distances[customer, following] - leg
        if cost < best_cost and _is_accepted(tours, customer, slot, previous, following, cost, log, state, problem):
            best_cost, best_slot, best_previous = cost, slot, previous
    for index in range(routes):
        slot = log.touched[index, 0]
        previous = slots[slot, LAST]
        if slots[slot, SIZE] == 0 or slots[slot, ROOM] < demand or problem.is_before[previous, customer]:
            continue
        following = nodes[previous, AFTER]
        cost = distances[previous, customer] + distances[customer, following] - legs[previous]
        if cost < best_cost and _is_accepted(tours, customer, slot, previous, following, cost, log, state, problem):
            best_cost, best_slot, best_previous = cost, slot, previous
    if best_slot < 0 and kind < 0:
        best_cost, best_slot, best_previous = _find_cheapest_position(tours, customer, problem)
        if best_slot < 0:
            return 0.0
    if best_slot < 0:
        best_slot = slots[tours.counts[USED], SLOT_AT]
        open_slot(tours, best_slot, kind, problem)
        best_cost = alone
    insert_stop(tours, customer, best_slot, best_previous, problem)
    refresh_around(tours, customer, problem)
    return float(best_cost)


@compiled_inline
def _is_accepted(
    tours: FleetTours,
    customer: int,
    slot: int,
    previous: int,
    following: int,
    cost: float,
    log: FleetLog,
    state: RandomState,
    problem: FleetProblem,
) -> bool:
    """Whether a position is not skipped at random, and keeps the route within all limits other than the capacity."""
    log.blinks[0] -= 1
    if log.blinks[0] < 0:
        log.blinks[0] = draw_blinks(state)
        return False
    kind = tours.slots[slot, KIND]
    if tours.slots[slot, SIZE] >= problem.kinds.stops[kind]:
        return False
    if tours.lengths[slot] + cost > problem.kinds.distances[kind]:
        return False
    return is_within_times(tours, customer, slot, previous, following, problem)


@compiled_inline
def _find_cheapest_position(tours: FleetTours, customer: int, problem: FleetProblem) -> tuple[float, int, int]:
    """Find the cheapest of all positions: cost, slot, and the stop before it; the slot is -1 if there is none."""
    slots, distances = tours.slots, problem.distances
    demand, size = problem.demands[customer], len(problem.demands) - 3
    best_cost, best_slot, best_previous = np.inf, -1, 0
    for place in range(tours.counts[USED]):
        slot = slots[place, SLOT_AT]
        if slots[slot, ROOM] < demand or slots[slot, SIZE] >= problem.kinds.stops[slots[slot, KIND]]:
            continue
        previous, following = 0, slots[slot, FIRST]
        while True:
            cost = distances[previous, customer] + distances[customer, following] - distances[previous, following]
            if (
                cost < best_cost
                and tours.lengths[slot] + cost <= problem.kinds.distances[slots[slot, KIND]]
                and is_within_times(tours, customer, slot, previous, following, problem)
            ):
                best_cost, best_slot, best_previous = cost, slot, previous
            if following > size:
                break
            previous, following = following, tours.nodes[following, AFTER]
    return best_cost, best_slot, best_previous
