"""Give routes another type of vehicle."""

from __future__ import annotations

from dynaroute.search.annealing.log import LEAST_GAIN, Log
from dynaroute.search.annealing.tours import FIRST, KIND, LAST, PLACE, SIZE, USED, Tours, change_kind
from dynaroute.search.core.compiled import compiled_apart, compiled_inline
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.random_numbers import RandomState, draw_below
from dynaroute.search.with_limits.evaluation import find_cheapest_kind, is_needed, price_route
from dynaroute.search.with_limits.times import is_within_limits, refresh_times, value_route

__all__ = ["exchange_kinds", "improve_kinds", "price_unused", "take_cheaper_kind"]


@compiled_inline
def price_unused(tours: Tours, problem: SearchProblem) -> float:
    """The price of vehicles that must be used, but are not: each counts as much as a missing customer."""
    unused = 0
    if len(problem.optional) > 0:
        for kind in range(len(tours.free)):
            used = problem.kinds.counts[kind] - tours.free[kind]
            unused += max(0, problem.rules.least[kind] - used)
    return float(unused * problem.absence_price)


@compiled_inline
def take_cheaper_kind(tours: Tours, slot: int, problem: SearchProblem) -> float:
    """Give a route the cheapest free type of its class that has room; returns the change of its price."""
    before, span = tours.prices[slot], tours.spans[slot]
    kind, _ = find_cheapest_kind(tours, slot, 0, 0, tours.lengths[slot], span, problem)
    if kind < 0 or kind == tours.slots[slot, KIND]:
        return 0.0
    change_kind(tours, slot, kind, problem)
    refresh_times(tours, slot, problem)
    return float(tours.prices[slot] - before)


@compiled_apart
def improve_kinds(tours: Tours, log: Log, problem: SearchProblem) -> float:
    """Give each changed route a type that seems cheaper, if the rules allow it; returns the change of the price."""
    rules, slots, change = problem.rules, tours.slots, 0.0
    for place in range(log.now[1]):
        slot = log.saved[place, 0]
        if slots[slot, PLACE] >= tours.counts[USED] or slots[slot, SIZE] == 0:
            continue
        for kind in range(len(tours.free)):
            own = slots[slot, KIND]
            if kind == own or tours.free[kind] <= 0 or is_needed(tours, own, problem):
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
    return change


@compiled_inline
def exchange_kinds(tours: Tours, log: Log, routes: int, state: RandomState, problem: SearchProblem) -> float:
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
def try_kind(tours: Tours, slot: int, kind: int, problem: SearchProblem) -> float:
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
