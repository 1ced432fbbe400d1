"""Remove strings of customers from neighbouring routes."""

from __future__ import annotations

from typing import NamedTuple

from dynaroute.search.annealing.log import Log
from dynaroute.search.annealing.tours import (
    ABSENT,
    AFTER,
    BEFORE,
    KIND,
    NO_ROUTE,
    ROUTE,
    SERVED,
    SIZE,
    USED,
    Tours,
    is_end,
    is_stop,
    join,
    remove_stop,
    unload_stop,
)
from dynaroute.search.core.compiled import as_index, compiled_inline
from dynaroute.search.core.legs import measure_leg
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.random_numbers import RandomState, draw_below, draw_unit
from dynaroute.search.with_limits.evaluation import is_frozen
from dynaroute.search.with_limits.kinds import take_cheaper_kind
from dynaroute.search.with_limits.reloads import drop_visits
from dynaroute.search.with_limits.rules import RELOAD
from dynaroute.search.with_limits.saving import begin_saving, save_route
from dynaroute.search.with_limits.times import is_within_limits, refresh_times, value_route

__all__ = ["Annealing", "remove_strings"]

_SPLIT_RATE = 0.5
_LONGER_GAP_RATE = 0.01
_SEED_ABSENT_RATE = 0.5  # share of iterations around a missing customer, if there is one


class Annealing(NamedTuple):
    """Temperatures, and how much each iteration removes.

    Attributes
    ----------
    temperature
        Temperature at the iteration `origin`.
    cooling
        Iteration i has temperature * exp(cooling * (i - origin)), which depends only on the iteration.
    mean_removed
        Mean number of customers removed per iteration.
    longest_string
        Most customers removed from one route at a time.
    neighbours
        Number of near customers next to which a customer is tried.
    origin
        An iteration.
    """

    temperature: float
    cooling: float
    mean_removed: float
    longest_string: float
    neighbours: int
    origin: int = 0


@compiled_inline
def remove_strings(
    tours: Tours, log: Log, state: RandomState, annealing: Annealing, iteration: int, problem: SearchProblem
) -> tuple[int, int, float]:
    """Remove a string of customers from each of a few routes around a random customer.

    Returns the number of customers, the number of routes, and the change of the cost. The number of customers is
    negative if the rest breaks a limit: with distances that are not geometric, removing a stop can make a route longer.
    """
    nodes, slots, ruined, neighbours = tours.nodes, tours.slots, log.ruined, problem.neighbours
    longest = min(annealing.longest_string, _count_served(tours, problem) / max(tours.counts[USED], 1))
    most_strings = 4.0 * annealing.mean_removed / (1.0 + longest) - 1.0
    strings = int(draw_unit(state) * most_strings + 1.0)
    seed = _draw_seed(tours, state, problem)
    if len(problem.rules) > 0:
        begin_saving(log)
        log.now[4] = seed
    count, routes, change = 0, 0, 0.0
    for near in range(-1, neighbours.shape[1]):
        customer = seed if near < 0 else neighbours[seed, near]
        slot = nodes[customer, ROUTE]
        if slot == NO_ROUTE or ruined[slot] == iteration:
            continue
        ruined[slot] = iteration
        length = int(draw_unit(state) * min(float(slots[slot, SIZE]), longest) + 1.0)
        if len(problem.limited) > 0:
            log.touched[routes, 0], log.touched[routes, 1] = slot, slots[slot, KIND]
            log.lengths[routes] = tours.lengths[slot]
        before = 0.0
        if len(problem.rules) > 0:
            save_route(tours, log, slot)
            before = value_route(tours, slot, problem)
        count, change = _remove_string(tours, log, count, change, customer, length, state, problem)
        routes += 1
        if len(problem.limited) > 0:
            refresh_times(tours, slot, problem)
        if len(problem.reloading) > 0:
            drop_visits(tours, slot, problem)
        if len(problem.rules) > 0:
            change += value_route(tours, slot, problem) - before
        if len(problem.limited) > 0 and slots[slot, SIZE] > 0:
            if not is_within_limits(tours, slot, problem):
                return -count, routes, change
            if len(problem.rules) > 0:
                change += take_cheaper_kind(tours, slot, problem)
        strings -= 1
        if strings <= 0:
            break
    return count, routes, change


@compiled_inline
def _count_served(tours: Tours, problem: SearchProblem) -> int:
    """Count the stops on routes."""
    if len(problem.rules) > 0:
        return int(tours.counts[SERVED])
    if len(problem.limited) > 0:
        return int(len(problem.demands) - 3 - tours.counts[ABSENT])
    return len(problem.demands) - 1


@compiled_inline
def _draw_seed(tours: Tours, state: RandomState, problem: SearchProblem) -> int:
    """Draw the customer around whom routes are ruined: of the missing ones often."""
    size = len(problem.demands) - 1
    if len(problem.limited) > 0:
        size = len(problem.demands) - 3
    if len(problem.reloading) > 0:
        size = problem.rules.customers
    seed = draw_below(state, size) + 1
    if len(problem.limited) > 0 and tours.counts[ABSENT] > 0 and draw_unit(state) < _SEED_ABSENT_RATE:
        seed = tours.absent[draw_below(state, tours.counts[ABSENT])]
    return seed


@compiled_inline
def _remove_string(
    tours: Tours,
    log: Log,
    count: int,
    change: float,
    customer: int,
    length: int,
    state: RandomState,
    problem: SearchProblem,
) -> tuple[int, float]:
    """Remove a string around a customer; half of the time with a gap of customers that stay.

    Returns the number of all customers removed so far, and the change of the length, which is not measured with rules.
    """
    nodes = tours.nodes
    size = tours.slots[nodes[customer, ROUTE], SIZE]
    length = min(length, size)
    gap = 0
    if length > 1 and length < size and draw_unit(state) < _SPLIT_RATE:
        gap = 1
        while length + gap < size and draw_unit(state) < _LONGER_GAP_RATE:
            gap += 1
    span = length + gap
    behind, ahead = 0, 0  # number of customers on either side, within the string's reach
    start, end = customer, customer
    while behind < span - 1 and is_stop(nodes[as_index(start), BEFORE], problem):
        start = nodes[as_index(start), BEFORE]
        behind += 1
    while ahead < span - 1 and not is_end(nodes[as_index(end), AFTER], problem):
        end = nodes[as_index(end), AFTER]
        ahead += 1
    for _ in range(draw_below(state, ahead + behind - span + 2)):
        start = nodes[start, AFTER]
    before_gap = 1 + draw_below(state, length - 1) if gap > 0 else length
    if len(problem.rules) > 0:
        return _remove_with_others(tours, log, count, start, before_gap, gap, span, problem), change
    after_gap, saved = _cut_out(tours, log, count, start, before_gap, problem)
    count, change = count + before_gap, change - saved
    if gap > 0:
        for _ in range(gap):
            after_gap = nodes[after_gap, AFTER]
        _, saved = _cut_out(tours, log, count, after_gap, length - before_gap, problem)
        count, change = count + length - before_gap, change - saved
    return count, change


@compiled_inline
def _cut_out(tours: Tours, log: Log, count: int, start: int, length: int, problem: SearchProblem) -> tuple[int, float]:
    """Remove consecutive customers; returns the stop after them and the saving."""
    nodes, legs, removed = tours.nodes, tours.legs, log.removed
    slot, previous = nodes[start, ROUTE], nodes[start, BEFORE]
    saved = legs[start, BEFORE]
    customer = as_index(start)
    for index in range(count, count + length):
        following = as_index(nodes[customer, AFTER])
        removed[index, 0] = customer
        removed[index, 1] = slot
        removed[index, 2] = nodes[customer, BEFORE]
        removed[index, 3] = following
        log.legs[index, BEFORE] = legs[customer, BEFORE]
        log.legs[index, AFTER] = legs[customer, AFTER]
        saved += legs[customer, AFTER]
        unload_stop(tours, customer, problem)
        customer = following
    bridge = measure_leg(problem.distances, previous, customer)
    join(tours, slot, previous, customer, bridge, problem)
    if len(problem.limited) > 0:
        tours.lengths[slot] += bridge - saved
    return customer, saved - bridge


@compiled_inline
def _remove_with_others(
    tours: Tours, log: Log, count: int, start: int, before_gap: int, gap: int, span: int, problem: SearchProblem
) -> int:
    """Remove a string; and with each stop its partner and all others of its group, which can then change vehicles.

    Visits to load again and stops of beginnings stay.
    """
    rules, removed, first = problem.rules, log.removed, count
    for index in range(span):
        is_taken = index < before_gap or index >= before_gap + gap
        if is_taken and rules.roles[start] != RELOAD and not is_frozen(start, problem):
            removed[count, 0] = start
            count += 1
        start = tours.nodes[start, AFTER]
    in_string = count
    for index in range(first, in_string):
        remove_stop(tours, removed[index, 0], problem)
    for index in range(first, in_string):
        count = _remove_also(tours, log, count, rules.partners[removed[index, 0]], problem)
    index = first
    while index < count:
        other = rules.next_of_group[removed[index, 0]]
        while other != removed[index, 0]:
            before, count = count, _remove_also(tours, log, count, other, problem)
            if count > before:
                count = _remove_also(tours, log, count, rules.partners[other], problem)
            other = rules.next_of_group[other]
        index += 1
    return count


@compiled_inline
def _remove_also(tours: Tours, log: Log, count: int, stop: int, problem: SearchProblem) -> int:
    """Remove another stop, if there is one that can move; returns the number of all removed ones."""
    if stop <= 0 or tours.nodes[stop, ROUTE] == NO_ROUTE or is_frozen(stop, problem):
        return count
    log.removed[count, 0] = stop
    remove_stop(tours, stop, problem)
    return count + 1
