"""Ruin a plan for a fleet: remove strings of customers from neighbouring routes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.annealing.ruin_recreate import LEAST_GAIN, LONGER_GAP_RATE, SPLIT_RATE, Annealing
from dynaroute.search.core.compiled import compiled_apart, compiled_inline
from dynaroute.search.core.random_numbers import RandomState, draw_below, draw_unit
from dynaroute.search.with_limits.evaluation import find_cheapest_kind, has_room, is_frozen, is_stop, price_route
from dynaroute.search.with_limits.problem import FleetProblem
from dynaroute.search.with_limits.reloads import drop_visits
from dynaroute.search.with_limits.saving import begin_saving, save_route
from dynaroute.search.with_limits.state import (
    ABSENT,
    AFTER,
    BEFORE,
    FIRST,
    KIND,
    LAST,
    NO_ROUTE,
    PLACE,
    ROUTE,
    SERVED,
    SIZE,
    USED,
    FleetLog,
    FleetTours,
)
from dynaroute.search.with_limits.tours import (
    change_kind,
    is_within_limits,
    refresh_times,
    remove_stop,
    value_route,
)

__all__ = ["exchange_kinds", "improve_kinds", "take_strings_out"]


@compiled_inline
def take_strings_out(
    tours: FleetTours, log: FleetLog, state: RandomState, annealing: Annealing, iteration: int, problem: FleetProblem
) -> tuple[int, int, float]:
    """Remove a string of customers from each of a few routes around a random customer.

    Returns the number of customers, the number of routes, and the change of the length. The number of customers is
    negative if the rest breaks a limit: with distances that are not geometric, removing a stop can make a route longer.
    """
    nodes, slots, ruined, neighbours = tours.nodes, tours.slots, log.ruined, problem.neighbours
    size = len(problem.demands) - 3
    served = size - tours.counts[ABSENT]
    if len(problem.rules) > 0:
        served = tours.counts[SERVED]
        begin_saving(log)
    longest = min(annealing.longest_string, served / max(tours.counts[USED], 1))
    most_strings = 4.0 * annealing.mean_removed / (1.0 + longest) - 1.0
    strings = int(draw_unit(state) * most_strings + 1.0)
    if len(problem.reloading) > 0:
        size = problem.rules.customers
    seed = draw_below(state, size) + 1
    if tours.counts[ABSENT] > 0 and draw_unit(state) < 0.5:
        seed = tours.absent[draw_below(state, tours.counts[ABSENT])]
    if len(problem.rules) > 0:
        log.now[4] = seed
    count, routes, change = 0, 0, 0.0
    for near in range(-1, neighbours.shape[1]):
        customer = seed if near < 0 else neighbours[seed, near]
        slot = nodes[customer, ROUTE]
        if slot == NO_ROUTE or ruined[slot] == iteration:
            continue
        ruined[slot] = iteration
        log.touched[routes, 0], log.touched[routes, 1] = slot, slots[slot, KIND]
        routes += 1
        length = int(draw_unit(state) * min(float(slots[slot, SIZE]), longest) + 1.0)
        if len(problem.rules) > 0:
            save_route(tours, log, slot)
        before = value_route(tours, slot, problem)
        count = _remove_string(tours, log.removed, count, customer, length, state, problem)
        refresh_times(tours, slot, problem)
        if len(problem.reloading) > 0:
            drop_visits(tours, slot, problem)
        change += value_route(tours, slot, problem) - before
        if slots[slot, SIZE] > 0:
            if not is_within_limits(tours, slot, problem):
                return -count, routes, change
            if len(problem.rules) > 0:
                change += take_cheaper_kind(tours, slot, problem)
        strings -= 1
        if strings <= 0:
            break
    return count, routes, change


@compiled_inline
def _remove_string(
    tours: FleetTours,
    removed: NDArray[np.int32],
    count: int,
    customer: int,
    length: int,
    state: RandomState,
    problem: FleetProblem,
) -> int:
    """Remove a string around a customer; half of the strings leave a gap of customers in the middle."""
    nodes = tours.nodes
    slot, last_customer = nodes[customer, ROUTE], len(problem.demands) - 3
    size = tours.slots[slot, SIZE]
    length = min(length, size)
    gap = 0
    if length > 1 and length < size and draw_unit(state) < SPLIT_RATE:
        gap = 1
        while length + gap < size and draw_unit(state) < LONGER_GAP_RATE:
            gap += 1
    span = length + gap
    behind, ahead = 0, 0  # customers on either side, as far as the string can reach
    start, end = customer, customer
    while behind < span - 1 and is_stop(nodes[start, BEFORE], problem):
        start = nodes[start, BEFORE]
        behind += 1
    while ahead < span - 1 and nodes[end, AFTER] <= last_customer:
        end = nodes[end, AFTER]
        ahead += 1
    for _ in range(draw_below(state, ahead + behind - span + 2)):
        start = nodes[start, AFTER]
    before_gap = 1 + draw_below(state, length - 1) if gap > 0 else length
    first = count
    if len(problem.paired) > 0:
        return _remove_pairs(tours, removed, count, start, before_gap, gap, span, problem)
    for index in range(span):
        following = nodes[start, AFTER]
        is_taken = index < before_gap or index >= before_gap + gap
        if is_taken and not _stays(start, problem):
            removed[count, 0], removed[count, 1], removed[count, 2] = start, slot, nodes[start, BEFORE]
            count += 1
            remove_stop(tours, start, problem)
        start = following
    if len(problem.rules) > 0:
        count = _remove_groups(tours, removed, first, count, problem)
    return count


@compiled_inline
def _stays(stop: int, problem: FleetProblem) -> bool:
    """Whether a stop is not removed with others: a visit to load again, or one of a beginning."""
    if len(problem.reloading) > 0:
        return bool(stop > problem.rules.customers or is_frozen(stop, problem))
    return is_frozen(stop, problem)


@compiled_inline
def _remove_pairs(
    tours: FleetTours,
    removed: NDArray[np.int32],
    count: int,
    start: int,
    before_gap: int,
    gap: int,
    span: int,
    problem: FleetProblem,
) -> int:
    """Remove a string, and with each stop its partner."""
    nodes, partners, first = tours.nodes, problem.rules.partners, count
    for index in range(span):
        if (index < before_gap or index >= before_gap + gap) and not _stays(start, problem):
            removed[count, 0] = start
            count += 1
        start = nodes[start, AFTER]
    last = count
    for index in range(first, last):
        stop = removed[index, 0]
        remove_stop(tours, stop, problem)
        partner = partners[stop]
        is_listed = partner <= 0
        for other in range(first, last):
            is_listed |= removed[other, 0] == partner
        if not is_listed:
            removed[count, 0] = partner
            count += 1
            remove_stop(tours, partner, problem)
    return _remove_groups(tours, removed, first, count, problem)


@compiled_inline
def _remove_groups(tours: FleetTours, removed: NDArray[np.int32], first: int, count: int, problem: FleetProblem) -> int:
    """Remove all others of the groups of removed stops, so that the group can move to another vehicle."""
    rules, index = problem.rules, first
    while index < count:
        stop = removed[index, 0]
        other = rules.next_of_group[stop]
        while other != stop:
            if tours.nodes[other, ROUTE] != NO_ROUTE and not is_frozen(other, problem):
                removed[count, 0] = other
                count += 1
                remove_stop(tours, other, problem)
                partner = rules.partners[other]
                if partner > 0 and tours.nodes[partner, ROUTE] != NO_ROUTE:
                    removed[count, 0] = partner
                    count += 1
                    remove_stop(tours, partner, problem)
            other = rules.next_of_group[other]
        index += 1
    return count


@compiled_inline
def take_cheaper_kind(tours: FleetTours, slot: int, problem: FleetProblem) -> float:
    """Give a route the cheapest free type of its class that has room; returns the change of its price."""
    before, span = tours.prices[slot], tours.spans[slot]
    kind, _ = find_cheapest_kind(tours, slot, 0, 0, tours.lengths[slot], span, problem)
    if kind < 0 or kind == tours.slots[slot, KIND]:
        return 0.0
    change_kind(tours, slot, kind, problem)
    refresh_times(tours, slot, problem)
    return float(tours.prices[slot] - before)


@compiled_apart
def improve_kinds(tours: FleetTours, log: FleetLog, problem: FleetProblem) -> float:
    """Give each changed route a type that seems cheaper, if the rules allow it; returns the change of the price."""
    rules, slots, change = problem.rules, tours.slots, 0.0
    for place in range(log.now[1]):
        slot = log.saved[place, 0]
        if slots[slot, PLACE] >= tours.counts[USED] or slots[slot, SIZE] == 0:
            continue
        for kind in range(len(tours.free)):
            own = slots[slot, KIND]
            if kind == own or tours.free[kind] <= 0:
                continue
            ends, own_ends = problem.kinds.end_nodes[kind], problem.kinds.end_nodes[own]
            profile, first, last = rules.profiles[own], slots[slot, FIRST], slots[slot, LAST]
            length = tours.lengths[slot] + rules.distances[profile, rules.start_nodes[kind], first]
            length += rules.distances[profile, last, ends] - rules.distances[profile, last, own_ends]
            length -= rules.distances[profile, rules.start_nodes[own], first]
            price = price_route(kind, length, tours.spans[slot], problem) + tours.late[slot]
            if price < tours.prices[slot] * (1.0 - LEAST_GAIN):
                before = tours.prices[slot]
                gain = try_kind(tours, slot, kind, problem)
                if gain > 0.0:  # it only seemed cheaper
                    change_kind(tours, slot, own, problem)
                    refresh_times(tours, slot, problem)
                change += tours.prices[slot] - before
    if len(tours.free) > 1:
        change += _swap_kinds(tours, log, problem)
    return change


@compiled_inline
def _swap_kinds(tours: FleetTours, log: FleetLog, problem: FleetProblem) -> float:
    """Let changed routes exchange their types if these differ only in capacity and prices, where that is cheaper."""
    classes, slots, change = problem.rules.classes, tours.slots, 0.0
    for place in range(log.now[1]):
        slot = log.saved[place, 0]
        if slots[slot, PLACE] >= tours.counts[USED] or slots[slot, SIZE] == 0:
            continue
        for other_place in range(place):
            other = log.saved[other_place, 0]
            if slots[other, PLACE] >= tours.counts[USED] or slots[other, SIZE] == 0:
                continue
            kind, other_kind = slots[slot, KIND], slots[other, KIND]
            if kind == other_kind or classes[kind] != classes[other_kind]:
                continue
            before = tours.prices[slot] + tours.prices[other]
            after = price_route(other_kind, tours.lengths[slot], tours.spans[slot], problem) + tours.late[slot]
            after += price_route(kind, tours.lengths[other], tours.spans[other], problem) + tours.late[other]
            if after >= before * (1.0 - LEAST_GAIN):
                continue
            if not has_room(tours, slot, 0, 0, other_kind, problem) or not has_room(tours, other, 0, 0, kind, problem):
                continue
            change_kind(tours, slot, other_kind, problem)
            change_kind(tours, other, kind, problem)
            refresh_times(tours, slot, problem)
            refresh_times(tours, other, problem)
            change += tours.prices[slot] + tours.prices[other] - before
    return change


@compiled_inline
def exchange_kinds(tours: FleetTours, log: FleetLog, routes: int, state: RandomState, problem: FleetProblem) -> float:
    """Give another type of vehicle to one of the ruined routes; returns the change of the length."""
    slots = tours.slots
    slot = log.touched[draw_below(state, routes), 0] if routes > 0 else -1
    if slot < 0 or slots[slot, SIZE] == 0:
        return 0.0
    old, kind = slots[slot, KIND], draw_below(state, len(tours.free))
    if kind == old:
        return 0.0
    if tours.free[kind] > 0:
        return try_kind(tours, slot, kind, problem)
    for index in range(routes):
        other = log.touched[index, 0]
        if slots[other, SIZE] == 0 or slots[other, KIND] != kind:
            continue
        change = try_kind(tours, slot, kind, problem)
        if slots[slot, KIND] == old:
            return 0.0
        change += try_kind(tours, other, old, problem)
        if slots[other, KIND] != old:
            before = value_route(tours, slot, problem)
            change_kind(tours, slot, old, problem)
            refresh_times(tours, slot, problem)
            change += value_route(tours, slot, problem) - before
        return change
    return 0.0


@compiled_inline
def try_kind(tours: FleetTours, slot: int, kind: int, problem: FleetProblem) -> float:
    """Change the type of a route if that type's limits allow it; returns the change of the length."""
    old, before = tours.slots[slot, KIND], value_route(tours, slot, problem)
    change_kind(tours, slot, kind, problem)
    refresh_times(tours, slot, problem)
    change = value_route(tours, slot, problem) - before
    if is_within_limits(tours, slot, problem):
        return change
    change_kind(tours, slot, old, problem)
    refresh_times(tours, slot, problem)
    return 0.0
