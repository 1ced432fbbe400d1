"""Ruin and recreate for fleets: strings of customers out, greedy insertion in time with blinks, simulated annealing.

After J. Christiaens and G. Vanden Berghe, "Slack Induction by String Removals for Vehicle Routing Problems",
Transportation Science 54 (2020). Plans never break a limit: a customer for whom there is no place is absent, and counts
the more the more often that happens. What differs: a customer is tried beside its near neighbours first, and all other
places only if those have none for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.improve.compiled import compiled_inline
from dynaroute.improve.fleet_problem import FleetProblem
from dynaroute.improve.fleet_tours import (
    ABSENT,
    AFTER,
    BEFORE,
    FIRST,
    KIND,
    MOST,
    NO_ROUTE,
    ROOM,
    ROUTE,
    SIZE,
    SLOT_AT,
    USED,
    FleetTours,
    change_kind,
    insert_stop,
    is_within_limits,
    is_within_times,
    open_slot,
    refresh_around,
    refresh_times,
    remove_stop,
)
from dynaroute.improve.random_numbers import RandomState, draw_below, draw_unit
from dynaroute.improve.ruin_recreate import BLINK_RATE, LEAST_GAIN, LONGER_GAP_RATE, SPLIT_RATE, Annealing

__all__ = ["FleetBest", "FleetLog", "anneal_fleet", "make_fleet_best", "make_fleet_log", "settle"]

_ORDERS = 17  # weights of the orders of insertion: 4, 4, 2, 1, and of those by windows 2, 2, 2
_MOST_ABSENT = 20  # customers of those that are in no route that an iteration tries to place
_OTHER_KIND_RATE = 0.2

Integers = NDArray[np.int32]
Longs = NDArray[np.int64]
Lengths = NDArray[np.float64]


class FleetBest(NamedTuple):
    """The best plan so far, and what the present one costs.

    Attributes
    ----------
    after, kinds
        (N,) stop after each customer, and kind of its route; -1 for who is on none.
    costs
        (3,) length of the present plan, and length and price of the best.
    """

    after: Integers
    kinds: Integers
    costs: Lengths


class FleetLog(NamedTuple):
    """What one iteration did, so that it can be undone.

    Attributes
    ----------
    removed
        (n, 3) who was taken out, in this order: customer, slot of its route, and the stop before it.
    order
        (n,) who is to be put in, in the order in which that is done.
    keys
        (n,) what that order is sorted by.
    ruined
        (n,) last iteration that took customers out of each route.
    touched
        (n, 2) slots of routes that customers were taken out of, and the kinds that they were of.
    absences
        (n + 1,) how often there was no place for each customer; all are 1 at first.
    blinks
        (1,) how many more positions are judged until one is overlooked.
    """

    removed: Integers
    order: Integers
    keys: Lengths
    ruined: Longs
    touched: Longs
    absences: Longs
    blinks: Longs


def make_fleet_best(size: int) -> FleetBest:
    """Room to remember a plan for n customers in."""
    return FleetBest(np.zeros(size + 3, dtype=np.int32), np.full(size + 3, -1, dtype=np.int32), np.zeros(3))


def make_fleet_log(size: int) -> FleetLog:
    """An empty log for n customers."""
    return FleetLog(
        removed=np.zeros((size, 3), dtype=np.int32),
        order=np.zeros(size, dtype=np.int32),
        keys=np.zeros(size),
        ruined=np.full(size, -1, dtype=np.int64),
        touched=np.zeros((size, 2), dtype=np.int64),
        absences=np.ones(size + 1, dtype=np.int64),
        blinks=np.zeros(1, dtype=np.int64),
    )


@compiled_inline
def anneal_fleet(
    tours: FleetTours,
    best: FleetBest,
    log: FleetLog,
    state: RandomState,
    annealing: Annealing,
    origin: int,
    first_iteration: int,
    last_iteration: int,
    is_served_enough: bool,
    problem: FleetProblem,
    halt: NDArray[np.int8],
) -> int:
    """Run the iterations from the first up to but without the last. In several calls it is the same as in one.

    The temperature of `annealing` is that of the iteration `origin`.

    Returns the iteration that was not run any more: the last, the one before which `halt` was not 0, or, where that is
    enough, the one after everybody was served.
    """
    costs, counts, order, absences = best.costs, tours.counts, log.order, log.absences
    for iteration in range(first_iteration, last_iteration):
        if halt[0] != 0:
            return iteration
        count, routes, change = _ruin(tours, log, state, annealing, iteration, problem)
        if count < 0:  # without some of its customers, a route would break a limit
            _undo(tours, log, -count, 0, routes, problem)
            continue
        if len(tours.free) > 1 and draw_unit(state) < _OTHER_KIND_RATE:
            change += _exchange_kinds(tours, log, routes, state, problem)
        tried = _draw_absent(tours, log, count, state)
        _sort(log, count + tried, state, problem)
        absence_before, absence_after, failed = 0, 0, 0
        for index in range(tried):
            absence_before += absences[tours.absent[counts[ABSENT] - 1 - index]]
        for index in range(count + tried):
            customer = order[index]
            change += _recreate(tours, customer, log.blinks, state, annealing.neighbours, problem)
            if tours.nodes[customer, ROUTE] == NO_ROUTE:
                failed += 1
                absence_after += absences[customer]
                absences[customer] += 1
        is_accepted = absence_after < absence_before
        if absence_after == absence_before:
            temperature = annealing.temperature * np.exp(annealing.cooling * (iteration - origin))
            is_accepted = change < -temperature * np.log(1.0 - draw_unit(state))
        if not is_accepted:
            _undo(tours, log, count, count + tried, routes, problem)
            continue
        costs[0] += change
        _note_absent(tours, log, count + tried, tried)
        if _price(tours, costs[0], problem) < costs[2] * (1.0 - LEAST_GAIN):
            _remember(tours, best, problem)
        if is_served_enough and counts[ABSENT] == 0:
            return iteration + 1
    return last_iteration


@compiled_inline
def settle(
    tours: FleetTours, best: FleetBest, log: FleetLog, state: RandomState, neighbours: int, problem: FleetProblem
) -> None:
    """Give up routes that break a limit, place everybody for whom there is room, and remember that as the best plan."""
    slots, counts, absent = tours.slots, tours.counts, tours.absent
    for place in range(counts[USED] - 1, -1, -1):
        slot = slots[place, SLOT_AT]
        if is_within_limits(tours, slot, problem):
            continue
        for _ in range(slots[slot, SIZE]):
            absent[counts[ABSENT]] = slots[slot, FIRST]
            counts[ABSENT] += 1
            remove_stop(tours, slots[slot, FIRST], problem)
    count = counts[ABSENT]
    for index in range(count):
        log.order[index] = absent[index]
    _sort(log, count, state, problem)
    for index in range(count):
        _recreate(tours, log.order[index], log.blinks, state, neighbours, problem)
    _note_absent(tours, log, count, count)
    best.costs[0] = 0.0
    for place in range(counts[USED]):
        best.costs[0] += tours.lengths[slots[place, SLOT_AT]]
    _remember(tours, best, problem)


@compiled_inline
def _price(tours: FleetTours, length: float, problem: FleetProblem) -> float:
    counts = tours.counts
    return float(length + counts[ABSENT] * problem.absence_price + counts[USED] * problem.vehicle_price)


@compiled_inline
def _remember(tours: FleetTours, best: FleetBest, problem: FleetProblem) -> None:
    """Make the present plan the best."""
    best.costs[1] = best.costs[0]
    best.costs[2] = _price(tours, best.costs[0], problem)
    for customer in range(1, len(problem.demands) - 2):
        slot = tours.nodes[customer, ROUTE]
        best.after[customer] = tours.nodes[customer, AFTER]
        best.kinds[customer] = -1 if slot == NO_ROUTE else tours.slots[slot, KIND]


@compiled_inline
def _note_absent(tours: FleetTours, log: FleetLog, count: int, tried: int) -> None:
    """Write down who is in no route now: those who were not tried, and those for whom there was no place."""
    counts = tours.counts
    counts[ABSENT] -= tried
    for index in range(count):
        customer = log.order[index]
        if tours.nodes[customer, ROUTE] == NO_ROUTE:
            tours.absent[counts[ABSENT]] = customer
            counts[ABSENT] += 1


@compiled_inline
def _undo(tours: FleetTours, log: FleetLog, removed: int, placed: int, routes: int, problem: FleetProblem) -> None:
    """Go back to the plan before an iteration; all times of its routes are worked out anew."""
    nodes, slots, touched = tours.nodes, tours.slots, log.touched
    for index in range(placed - 1, -1, -1):
        customer = log.order[index]
        slot = nodes[customer, ROUTE]
        if slot != NO_ROUTE:
            remove_stop(tours, customer, problem)
            log.order[index] = slot  # to refresh it below
        else:
            log.order[index] = -1
    for index in range(routes):
        slot, kind = touched[index, 0], touched[index, 1]
        if slots[slot, SIZE] == 0:
            open_slot(tours, slot, kind, problem)
        elif slots[slot, KIND] != kind:
            change_kind(tours, slot, kind, problem)
    for index in range(removed - 1, -1, -1):
        insert_stop(tours, log.removed[index, 0], log.removed[index, 1], log.removed[index, 2], problem)
    for index in range(routes):
        refresh_times(tours, touched[index, 0], problem)
    for index in range(placed):
        slot = log.order[index]
        if slot >= 0 and slots[slot, SIZE] > 0:
            refresh_times(tours, slot, problem)


# Taking strings of customers out of neighbouring routes


@compiled_inline
def _ruin(
    tours: FleetTours, log: FleetLog, state: RandomState, annealing: Annealing, iteration: int, problem: FleetProblem
) -> tuple[int, int, float]:
    """Take a string of customers out of each of a few routes around a random customer.

    Returns how many customers, of how many routes, and the change of the length; less than 0 customers if that may not
    be: where a way around is shorter than the leg, a route may take longer without a customer.
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
    removed: Integers,
    count: int,
    customer: int,
    length: int,
    state: RandomState,
    problem: FleetProblem,
) -> int:
    """Take out a string around a customer; half of the time it keeps a gap of customers that stay."""
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
    behind, ahead = 0, 0  # how many customers there are on either side, as far as the string could reach
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
def _exchange_kinds(tours: FleetTours, log: FleetLog, routes: int, state: RandomState, problem: FleetProblem) -> float:
    """Let another kind of vehicle drive one of the routes that became shorter; the change of the length."""
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
    """Change the kind of a route if it is within the limits of the other; the change of the length."""
    old = tours.slots[slot, KIND]
    change = change_kind(tours, slot, kind, problem)
    refresh_times(tours, slot, problem)
    if is_within_limits(tours, slot, problem):
        return change
    change_kind(tours, slot, old, problem)
    refresh_times(tours, slot, problem)
    return 0.0


# Putting them back


@compiled_inline
def _draw_absent(tours: FleetTours, log: FleetLog, count: int, state: RandomState) -> int:
    """Choose some of those who are in no route, to be put in too; they come last in the list of them."""
    absent, total = tours.absent, tours.counts[ABSENT]
    tried = int(min(total, _MOST_ABSENT))
    for index in range(tried):
        place, last = draw_below(state, total - index), total - 1 - index
        absent[place], absent[last] = absent[last], absent[place]
    for index in range(count):
        log.order[index] = log.removed[index, 0]
    for index in range(tried):
        log.order[count + index] = absent[total - 1 - index]
    return tried


@compiled_inline
def _sort(log: FleetLog, count: int, state: RandomState, problem: FleetProblem) -> None:
    """Choose in which order to put customers in: random, most demand, far, near, narrow, early or late window first."""
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
def _recreate(
    tours: FleetTours, customer: int, blinks: Longs, state: RandomState, wanted: int, problem: FleetProblem
) -> float:
    """Put a customer where it costs least, now and then overlooking a position; what it cost, 0 without a place."""
    nodes, slots, legs, distances = tours.nodes, tours.slots, tours.legs, problem.distances
    demand = problem.demands[customer]
    best_cost, kind = _choose_vehicle(tours, customer, state, problem)
    best_slot, best_previous = -1, 0
    until_blink = blinks[0]
    for near in range(min(wanted, problem.before.shape[1])):
        previous = problem.before[customer, near]
        if previous < 0:
            break
        slot = nodes[previous, ROUTE]
        if slot == NO_ROUTE or slots[slot, ROOM] < demand:
            continue
        following = nodes[previous, AFTER]
        cost = distances[previous, customer] + distances[customer, following] - legs[previous]
        if cost >= best_cost:
            continue
        until_blink -= 1
        if until_blink < 0:
            until_blink = _draw_blinks(state)
            continue
        if _fits(tours, customer, slot, previous, following, cost, problem):
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
            continue  # judged already
        leg = distances[0, following] if previous == 0 else legs[previous]
        cost = distances[previous, customer] + distances[customer, following] - leg
        if cost >= best_cost:
            continue
        until_blink -= 1
        if until_blink < 0:
            until_blink = _draw_blinks(state)
            continue
        if _fits(tours, customer, slot, previous, following, cost, problem):
            best_cost, best_slot, best_previous = cost, slot, previous
    blinks[0] = until_blink
    if best_slot < 0 and kind < 0:
        best_cost, best_slot, best_previous = _look_everywhere(tours, customer, problem)
        if best_slot < 0:
            return 0.0
    if best_slot < 0:
        best_slot = slots[tours.counts[USED], SLOT_AT]
        open_slot(tours, best_slot, kind, problem)
    insert_stop(tours, customer, best_slot, best_previous, problem)
    refresh_around(tours, customer, problem)
    return float(best_cost)


@compiled_inline
def _choose_vehicle(tours: FleetTours, customer: int, state: RandomState, problem: FleetProblem) -> tuple[float, int]:
    """What a new route to a customer costs, and of which kind it is; of equally cheap ones any. No kind is -1."""
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
def _fits(
    tours: FleetTours,
    customer: int,
    slot: int,
    previous: int,
    following: int,
    cost: float,
    problem: FleetProblem,
) -> bool:
    """Whether a route with room for a customer stays within all limits with it between these stops."""
    kind = tours.slots[slot, KIND]
    if tours.slots[slot, SIZE] >= problem.kinds.stops[kind]:
        return False
    if tours.lengths[slot] + cost > problem.kinds.distances[kind]:
        return False
    return is_within_times(tours, customer, slot, previous, following, problem)


@compiled_inline
def _look_everywhere(tours: FleetTours, customer: int, problem: FleetProblem) -> tuple[float, int, int]:
    """The cheapest of all positions: its cost, the slot, and the stop before it; no slot is -1."""
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
            if cost < best_cost and _fits(tours, customer, slot, previous, following, cost, problem):
                best_cost, best_slot, best_previous = cost, slot, previous
            if following > size:
                break
            previous, following = following, tours.nodes[following, AFTER]
    return best_cost, best_slot, best_previous


@compiled_inline
def _draw_blinks(state: RandomState) -> int:
    """How many positions to judge until the next is overlooked: one draw instead of one for each."""
    return int(np.log(1.0 - draw_unit(state)) / np.log(1.0 - BLINK_RATE))
