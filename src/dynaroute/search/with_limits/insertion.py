"""Insert a stop where it costs least within all limits and rules."""

from __future__ import annotations

import numpy as np

from dynaroute.search.annealing.log import Log, is_overlooked
from dynaroute.search.annealing.tours import (
    AFTER,
    BEFORE,
    FIRST,
    KIND,
    LAST,
    MOST,
    NO_ROUTE,
    ROOM,
    ROUTE,
    SIZE,
    SLOT_AT,
    USED,
    Tours,
    change_kind,
    insert_stop,
    is_end,
    open_slot,
)
from dynaroute.search.core.compiled import compiled_apart, compiled_inline
from dynaroute.search.core.legs import measure_leg
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.random_numbers import RandomState, draw_below
from dynaroute.search.with_limits.evaluation import find_group, price_detour
from dynaroute.search.with_limits.reloads import find_free_visit, find_next_site, price_with_visit
from dynaroute.search.with_limits.saving import save_route
from dynaroute.search.with_limits.times import is_within_times, refresh_around

__all__ = ["choose_vehicle", "price_nearby", "put_stop_back", "put_stop_back_by_rules"]


@compiled_inline
def choose_vehicle(tours: Tours, customer: int, state: RandomState, problem: SearchProblem) -> tuple[float, int]:
    """The cost and type of a new route to a customer, a random type among equally cheap ones; -1 if there is none.

    A vehicle that must be used seems to cost less than anything else.
    """
    best_cost, best_kind, equals = np.inf, -1, 0
    if tours.counts[USED] >= tours.counts[MOST]:
        return best_cost, best_kind
    for kind in range(len(tours.free)):
        cost = problem.alone[customer, kind]
        if len(problem.optional) > 0 and tours.free[kind] > problem.kinds.counts[kind] - problem.rules.least[kind]:
            cost -= problem.absence_price  # one more of them must be used
        if tours.free[kind] <= 0 or cost > best_cost or cost == np.inf:
            continue
        equals = 1 if cost < best_cost else equals + 1
        if equals == 1 or draw_below(state, equals) == 0:
            best_cost, best_kind = cost, kind
    return best_cost, best_kind


@compiled_apart
def put_stop_back_by_rules(
    tours: Tours,
    customer: int,
    log: Log,
    routes: int,
    discount: float,
    state: RandomState,
    wanted: int,
    problem: SearchProblem,
) -> float:
    """The same as `put_stop_back`, compiled apart, since rules make it long."""
    return put_stop_back(tours, customer, log, routes, discount, state, wanted, problem)


@compiled_inline
def put_stop_back(
    tours: Tours,
    customer: int,
    log: Log,
    routes: int,
    discount: float,
    state: RandomState,
    wanted: int,
    problem: SearchProblem,
) -> float:
    """Insert a customer at the cheapest position, randomly skipping some; returns its cost, 0 if there is none.

    It is tried next to customers that are near in place and time, and at the end of the routes that lost customers:
    a customer far from all others has no near ones. A new route is priced below its cost, so that other customers can
    join it. With rules, a route may take a larger vehicle for the stop; and a stop that may be left out is left out if
    that costs least. Then its prize is the cost.
    """
    nodes, slots = tours.nodes, tours.slots
    alone, kind = choose_vehicle(tours, customer, state, problem)
    best_cost, best_slot, best_previous, best_kind = discount * alone, -1, 0, kind
    is_left_out = False
    if len(problem.optional) > 0:
        is_left_out = problem.rules.prizes[customer] <= best_cost and problem.rules.prizes[customer] < np.inf
        best_cost = min(best_cost, problem.rules.prizes[customer])
    group = -1
    if len(problem.rules) > 0:
        group = find_group(tours, customer, problem)
    if group >= 0:
        best_cost, kind, best_kind = best_cost if is_left_out else np.inf, -1, -1
    for place in range(_list_beside(tours, customer, log, routes, wanted, problem)):
        neighbour, side = log.open_beside[place], log.sides[place]
        slot, other = nodes[neighbour, ROUTE], nodes[neighbour, side]
        if group >= 0 and slot != group:
            continue
        previous, following = (neighbour, other) if side == AFTER else (other, neighbour)
        leg = tours.legs[neighbour, side]
        cost, own_kind = _price_position(tours, customer, slot, previous, following, leg, best_cost, problem)
        is_cheapest = cost < best_cost and not is_overlooked(log, state)
        if is_cheapest and _is_allowed(tours, customer, slot, previous, following, cost, problem):
            best_cost, best_slot, best_previous, best_kind = cost, slot, previous, own_kind
            is_left_out = False
    best_visit, is_visit_first = -1, True
    if len(problem.reloading) > 0:
        before, after = min(wanted, problem.before.shape[1]), min(wanted, problem.after.shape[1])
        visit = find_free_visit(tours, 0, problem)
        while visit >= 0:
            for near in range(2 * (before + after)):
                is_first, index = near % 2 == 0, near // 2
                if index < before:
                    previous = problem.before[customer, index]
                    following = nodes[previous, AFTER]
                else:
                    following = problem.after[customer, index - before]
                    previous = nodes[following, BEFORE]
                own = previous if index < before else following
                if own <= 0 or nodes[own, ROUTE] == NO_ROUTE or (group >= 0 and nodes[own, ROUTE] != group):
                    continue
                cost = price_with_visit(tours, customer, visit, is_first, previous, following, best_cost, problem)
                if cost < best_cost and not is_overlooked(log, state):
                    best_cost, best_slot, best_previous, best_kind = (
                        cost,
                        nodes[own, ROUTE],
                        previous,
                        slots[nodes[own, ROUTE], KIND],
                    )
                    best_visit, is_visit_first, is_left_out = visit, is_first, False
            visit = find_next_site(tours, visit, problem)
    if is_left_out:
        return float(best_cost)
    if best_slot < 0 and kind < 0:
        best_cost, best_slot, best_previous, best_kind = _find_cheapest_position(tours, customer, group, problem)
        if best_slot < 0:
            return 0.0
    if best_slot < 0:
        best_slot, best_cost = slots[tours.counts[USED], SLOT_AT], problem.alone[customer, kind]
        if len(problem.rules) > 0:
            save_route(tours, log, best_slot)
        open_slot(tours, best_slot, kind, problem)
    if len(problem.rules) > 0:
        save_route(tours, log, best_slot)
        if slots[best_slot, KIND] != best_kind:
            change_kind(tours, best_slot, best_kind, problem)
    if len(problem.reloading) > 0 and best_visit >= 0 and is_visit_first:
        insert_stop(tours, best_visit, best_slot, best_previous, problem)
        best_previous = best_visit
    insert_stop(tours, customer, best_slot, best_previous, problem)
    if len(problem.reloading) > 0 and best_visit >= 0 and not is_visit_first:
        insert_stop(tours, best_visit, best_slot, customer, problem)
    refresh_around(tours, customer, problem)
    return float(best_cost)


@compiled_apart
def price_nearby(
    tours: Tours,
    customer: int,
    log: Log,
    routes: int,
    discount: float,
    state: RandomState,
    wanted: int,
    problem: SearchProblem,
) -> float:
    """What a stop costs at the cheapest position near it, or on a route of its own, to choose between alternatives."""
    best, _ = choose_vehicle(tours, customer, state, problem)
    best *= discount
    group = find_group(tours, customer, problem)
    best = best if group < 0 else np.inf
    for place in range(_list_beside(tours, customer, log, routes, wanted, problem)):
        neighbour, side = log.open_beside[place], log.sides[place]
        slot, other = tours.nodes[neighbour, ROUTE], tours.nodes[neighbour, side]
        if group < 0 or slot == group:
            previous, following = (neighbour, other) if side == AFTER else (other, neighbour)
            cost, _ = price_detour(tours, customer, slot, previous, following, best, problem)
            best = min(best, cost)
    return float(best)


@compiled_inline
def _list_beside(tours: Tours, customer: int, log: Log, routes: int, wanted: int, problem: SearchProblem) -> int:
    """List stops beside which a customer may go, and on which side of them; returns their number.

    Conditions are joined by & because branches would be unpredictable.
    """
    nodes, slots, beside, sides = tours.nodes, tours.slots, log.open_beside, log.sides
    listed = 0
    for near in range(min(wanted, problem.before.shape[1])):
        previous = problem.before[customer, near]
        if previous < 0:
            break
        slot = nodes[previous, ROUTE]
        beside[listed], sides[listed] = previous, AFTER
        listed += (slot != NO_ROUTE) & _has_room(tours, customer, slot, problem)
    for near in range(min(wanted, problem.after.shape[1])):
        following = problem.after[customer, near]
        if following < 0:
            break
        slot = nodes[following, ROUTE]
        beside[listed], sides[listed] = following, BEFORE
        is_new = not problem.is_before[nodes[following, BEFORE], customer]
        listed += (slot != NO_ROUTE) & is_new & _has_room(tours, customer, slot, problem)
    for index in range(routes):
        slot = log.touched[index, 0]
        beside[listed], sides[listed] = slots[slot, LAST], AFTER
        is_new = slots[slot, SIZE] > 0 and not problem.is_before[slots[slot, LAST], customer]
        listed += is_new & _has_room(tours, customer, slot, problem)
    return listed


@compiled_inline
def _has_room(tours: Tours, customer: int, slot: int, problem: SearchProblem) -> bool:
    """Whether a route has room for a further stop, which depends on its position if there are rules."""
    return bool(len(problem.rules) > 0 or tours.slots[slot, ROOM] >= problem.demands[customer])


@compiled_inline
def _price_position(
    tours: Tours,
    customer: int,
    slot: int,
    previous: int,
    following: int,
    leg: float,
    most: float,
    problem: SearchProblem,
) -> tuple[float, int]:
    """What a stop between two others, now joined by a leg, costs; and which type of vehicle then drives.

    With rules the price is infinite if one forbids it, or if it is clearly not below `most`.
    """
    if len(problem.rules) > 0:
        return price_detour(tours, customer, slot, previous, following, most, problem)
    distances = problem.distances
    detour = measure_leg(distances, previous, customer) + measure_leg(distances, customer, following)
    return detour - leg, tours.slots[slot, KIND]


@compiled_inline
def _is_allowed(
    tours: Tours, customer: int, slot: int, previous: int, following: int, cost: float, problem: SearchProblem
) -> bool:
    """Whether a position with room keeps the route within all other limits; with rules, its price says so already."""
    if len(problem.rules) > 0:
        return True
    kind = tours.slots[slot, KIND]
    if tours.slots[slot, SIZE] >= problem.kinds.stops[kind]:
        return False
    if tours.lengths[slot] + cost > problem.kinds.distances[kind]:
        return False
    return is_within_times(tours, customer, slot, previous, following, problem)


@compiled_inline
def _find_cheapest_position(
    tours: Tours, customer: int, group: int, problem: SearchProblem
) -> tuple[float, int, int, int]:
    """Find the cheapest of all positions: cost, slot (-1 if there is none), the stop before it, and the type."""
    slots = tours.slots
    best_cost, best_slot, best_previous, best_kind = np.inf, -1, 0, -1
    for place in range(tours.counts[USED]):
        slot = slots[place, SLOT_AT]
        if (group >= 0 and slot != group) or not _has_room(tours, customer, slot, problem):
            continue
        previous, following = 0, slots[slot, FIRST]
        if len(problem.rules) > 0:
            previous = problem.rules.start_nodes[slots[slot, KIND]]
        while True:
            leg = measure_leg(problem.distances, previous, following)
            cost, kind = _price_position(tours, customer, slot, previous, following, leg, best_cost, problem)
            is_cheapest = cost < best_cost
            if is_cheapest and _is_allowed(tours, customer, slot, previous, following, cost, problem):
                best_cost, best_slot, best_previous, best_kind = cost, slot, previous, kind
            if is_end(following, problem):
                break
            previous, following = following, tours.nodes[following, AFTER]
    return best_cost, best_slot, best_previous, best_kind
