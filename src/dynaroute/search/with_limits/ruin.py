"""Ruin a plan for a fleet: remove strings of customers from neighbouring routes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.annealing.ruin_recreate import LONGER_GAP_RATE, SPLIT_RATE, Annealing
from dynaroute.search.core.compiled import compiled_inline
from dynaroute.search.core.random_numbers import RandomState, draw_below, draw_unit
from dynaroute.search.with_limits.log import FleetLog
from dynaroute.search.with_limits.problem import FleetProblem
from dynaroute.search.with_limits.tours import (
    ABSENT,
    AFTER,
    BEFORE,
    KIND,
    NO_ROUTE,
    ROUTE,
    SIZE,
    USED,
    FleetTours,
    change_kind,
    is_within_limits,
    refresh_times,
    remove_stop,
)

__all__ = ["exchange_kinds", "take_strings_out"]


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
    longest = min(annealing.longest_string, served / max(tours.counts[USED], 1))
    most_strings = 4.0 * annealing.mean_removed / (1.0 + longest) - 1.0
    strings = int(draw_unit(state) * most_strings + 1.0)
    seed = draw_below(state, size) + 1
    if tours.counts[ABSENT] > 0 and draw_unit(state) < 0.5:
        seed = tours.absent[draw_below(state, tours.counts[ABSENT])]
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
        before = tours.lengths[slot]
        count = _remove_string(tours, log.removed, count, customer, length, state, problem)
        change += tours.lengths[slot] - before
        if slots[slot, SIZE] > 0:
            refresh_times(tours, slot, problem)
            if not is_within_limits(tours, slot, problem):
                return -count, routes, change
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
    while behind < span - 1 and nodes[start, BEFORE] != 0:
        start = nodes[start, BEFORE]
        behind += 1
    while ahead < span - 1 and nodes[end, AFTER] <= last_customer:
        end = nodes[end, AFTER]
        ahead += 1
    for _ in range(draw_below(state, ahead + behind - span + 2)):
        start = nodes[start, AFTER]
    before_gap = 1 + draw_below(state, length - 1) if gap > 0 else length
    for index in range(span):
        following = nodes[start, AFTER]
        if index < before_gap or index >= before_gap + gap:
            removed[count, 0], removed[count, 1], removed[count, 2] = start, slot, nodes[start, BEFORE]
            count += 1
            remove_stop(tours, start, problem)
        start = following
    return count


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
        return _try_kind(tours, slot, kind, problem)
    for index in range(routes):
        other = log.touched[index, 0]
        if slots[other, SIZE] == 0 or slots[other, KIND] != kind:
            continue
        change = _try_kind(tours, slot, kind, problem)
        if slots[slot, KIND] == old:
            return 0.0
        change += _try_kind(tours, other, old, problem)
        if slots[other, KIND] != old:
            change += change_kind(tours, slot, old, problem)
            refresh_times(tours, slot, problem)
        return change
    return 0.0


@compiled_inline
def _try_kind(tours: FleetTours, slot: int, kind: int, problem: FleetProblem) -> float:
    """Change the type of a route if that type's limits allow it; returns the change of the length."""
    old = tours.slots[slot, KIND]
    change = change_kind(tours, slot, kind, problem)
    refresh_times(tours, slot, problem)
    if is_within_limits(tours, slot, problem):
        return change
    change_kind(tours, slot, old, problem)
    refresh_times(tours, slot, problem)
    return 0.0
