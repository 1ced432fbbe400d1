"""Insert a stop where it costs least, if there are more rules than windows and limits."""

from __future__ import annotations

import numpy as np

from dynaroute.search.annealing.ruin_recreate import draw_blinks
from dynaroute.search.core.compiled import compiled_apart, compiled_inline
from dynaroute.search.core.random_numbers import RandomState, draw_below
from dynaroute.search.with_limits.evaluation import find_group, is_stop, price_detour
from dynaroute.search.with_limits.problem import FleetProblem
from dynaroute.search.with_limits.reloads import find_free_visit, find_next_site, price_with_visit
from dynaroute.search.with_limits.saving import save_route
from dynaroute.search.with_limits.state import (
    AFTER,
    BEFORE,
    FIRST,
    KIND,
    LAST,
    MOST,
    NO_ROUTE,
    ROUTE,
    SIZE,
    SLOT_AT,
    USED,
    FleetLog,
    FleetTours,
)
from dynaroute.search.with_limits.tours import change_kind, insert_stop, open_slot, refresh_times

__all__ = ["choose_vehicle", "is_overlooked", "put_back_by_rules"]


@compiled_inline
def choose_vehicle(tours: FleetTours, customer: int, state: RandomState, problem: FleetProblem) -> tuple[float, int]:
    """The cost and type of a new route to a customer, a random type among equally cheap ones; -1 if there is none."""
    best_cost, best_kind, equals = np.inf, -1, 0
    if tours.counts[USED] >= tours.counts[MOST]:
        return best_cost, best_kind
    for kind in range(len(tours.free)):
        cost = problem.alone[customer, kind]
        if tours.free[kind] <= 0 or cost > best_cost or cost == np.inf:
            continue
        equals = 1 if cost < best_cost else equals + 1
        if equals == 1 or draw_below(state, equals) == 0:
            best_cost, best_kind = cost, kind
    return best_cost, best_kind


@compiled_inline
def is_overlooked(log: FleetLog, state: RandomState) -> bool:
    """Whether a position is skipped at random."""
    log.blinks[0] -= 1
    if log.blinks[0] < 0:
        log.blinks[0] = draw_blinks(state)
        return True
    return False


@compiled_apart
def put_back_by_rules(
    tours: FleetTours,
    customer: int,
    log: FleetLog,
    routes: int,
    discount: float,
    state: RandomState,
    wanted: int,
    problem: FleetProblem,
) -> float:
    """The same as `put_back` for problems with rules; a route may take a larger vehicle for the stop.

    A stop that may be left out is left out if that costs least. Then its prize is the cost.
    """
    nodes, slots = tours.nodes, tours.slots
    alone, kind = choose_vehicle(tours, customer, state, problem)
    best_cost, best_slot, best_previous, best_kind = discount * alone, -1, 0, kind
    is_left_out = False
    if len(problem.optional) > 0:
        is_left_out = problem.rules.prizes[customer] <= best_cost and problem.rules.prizes[customer] < np.inf
        best_cost = min(best_cost, problem.rules.prizes[customer])
    group = find_group(tours, customer, problem)
    if group >= 0:
        best_cost, kind, best_kind = best_cost if is_left_out else np.inf, -1, -1
    before, after = min(wanted, problem.before.shape[1]), min(wanted, problem.after.shape[1])
    for near in range(before + after + routes):
        if near < before:
            previous = problem.before[customer, near]
            slot = nodes[previous, ROUTE] if previous >= 0 else NO_ROUTE
            following = nodes[previous, AFTER]
        elif near < before + after:
            following = problem.after[customer, near - before]
            slot = nodes[following, ROUTE] if following >= 0 else NO_ROUTE
            previous = nodes[following, BEFORE]
        else:
            slot = log.touched[near - before - after, 0]
            previous = slots[slot, LAST]
            following = nodes[previous, AFTER]
            if slots[slot, SIZE] == 0:
                continue
        if group >= 0 and slot != group:
            continue
        if slot == NO_ROUTE or (near >= before and problem.is_before[previous, customer]):
            continue
        cost, own_kind = price_detour(tours, customer, slot, previous, following, best_cost, problem)
        if cost < best_cost and not is_overlooked(log, state):
            best_cost, best_slot, best_previous, best_kind = cost, slot, previous, own_kind
            is_left_out = False
    best_visit, is_visit_first = -1, True
    if len(problem.reloading) > 0:
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
            visit = find_free_visit(tours, 0, problem)
            while visit >= 0:
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
        best_slot = slots[tours.counts[USED], SLOT_AT]
        save_route(tours, log, best_slot)
        open_slot(tours, best_slot, kind, problem)
        best_cost = alone
    save_route(tours, log, best_slot)
    if slots[best_slot, KIND] != best_kind:
        change_kind(tours, best_slot, best_kind, problem)
    if best_visit >= 0 and is_visit_first:
        insert_stop(tours, best_visit, best_slot, best_previous, problem)
        best_previous = best_visit
    insert_stop(tours, customer, best_slot, best_previous, problem)
    if best_visit >= 0 and not is_visit_first:
        insert_stop(tours, best_visit, best_slot, customer, problem)
    refresh_times(tours, best_slot, problem)
    return float(best_cost)


@compiled_inline
def _find_cheapest_position(
    tours: FleetTours, customer: int, group: int, problem: FleetProblem
) -> tuple[float, int, int, int]:
    """Find the cheapest of all positions: cost, slot (-1 if there is none), the stop before it, and the type."""
    slots = tours.slots
    best_cost, best_slot, best_previous, best_kind = np.inf, -1, 0, -1
    for place in range(tours.counts[USED]):
        slot = slots[place, SLOT_AT]
        if group >= 0 and slot != group:
            continue
        previous, following = problem.rules.start_nodes[slots[slot, KIND]], slots[slot, FIRST]
        while True:
            cost, kind = price_detour(tours, customer, slot, previous, following, best_cost, problem)
            if cost < best_cost:
                best_cost, best_slot, best_previous, best_kind = cost, slot, previous, kind
            if not is_stop(following, problem):
                break
            previous, following = following, tours.nodes[following, AFTER]
    return best_cost, best_slot, best_previous, best_kind
