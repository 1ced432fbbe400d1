"""Ruin and recreate: string removal, greedy insertion with blinks, and simulated annealing.

After J. Christiaens and G. Vanden Berghe, "Slack Induction by String Removals for Vehicle Routing Problems",
Transportation Science 54 (2020). Two things differ: a customer is only tried next to its near neighbours, and a
rejected change is undone step by step. So the time of an iteration does not depend on the size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.core.compiled import as_index, compiled_inline, make_apart
from dynaroute.search.core.legs import measure_leg
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.random_numbers import RandomState, draw_below, draw_unit
from dynaroute.search.core.tours import (
    AFTER,
    BEFORE,
    LOAD,
    NO_ROUTE,
    ROUTE,
    SIZE,
    SLOT_AT,
    Tours,
    join,
    link_customer,
    load_customer,
    unload_customer,
)

__all__ = [
    "LEAST_GAIN",
    "LONGER_GAP_RATE",
    "SPLIT_RATE",
    "Annealing",
    "Best",
    "Log",
    "anneal",
    "draw_blinks",
    "make_best",
    "make_log",
]

SPLIT_RATE = 0.5
LONGER_GAP_RATE = 0.01
_BLINK_RATE = 0.01
LEAST_GAIN = 1e-11  # relative to the cost; smaller gains are rounding
_ORDERS = 11  # weights 4, 4, 2 and 1 of the orders of insertion

Integers = NDArray[np.int32]
Longs = NDArray[np.int64]
Lengths = NDArray[np.float64]


class Annealing(NamedTuple):
    """Temperatures, and how much each iteration removes.

    Attributes
    ----------
    temperature
        Temperature at iteration 0.
    cooling
        Iteration i has temperature * exp(cooling * i), which depends only on the iteration.
    mean_removed
        Mean number of customers removed per iteration.
    longest_string
        Most customers removed from one route at a time.
    neighbours
        Number of near customers, in routes with room, next to which a customer is tried.
    """

    temperature: float
    cooling: float
    mean_removed: float
    longest_string: float
    neighbours: int


class Best(NamedTuple):
    """The best solution so far, and where the current one may differ from it.

    The time to record a new best depends only on what changed since the last.

    Attributes
    ----------
    after
        (M,) stop after each customer.
    changed
        (M,) list of customers whose next stop may have changed since.
    is_changed
        (M,) whether a customer is in that list.
    changes
        (1,) length of that list.
    costs
        (2,) costs of the current solution and of the best.
    """

    after: Integers
    changed: Integers
    is_changed: NDArray[np.bool_]
    changes: Longs
    costs: Lengths


class Log(NamedTuple):
    """What one iteration did, so that it can be undone.

    Attributes
    ----------
    removed
        (n, 4) removed customers in order: customer, slot of its route, and the stops before and after it.
    legs
        (n, 2) the lengths of the legs to those two stops.
    order
        (n,) the same customers in order of insertion.
    bridged
        (n,) lengths of the legs they are inserted into.
    keys
        (n,) sort keys of that order.
    open_beside
        (M,) near customers of one of them, in routes with room.
    ruined
        (n,) last iteration that removed customers from each route.
    blinks
        (1,) number of positions until one is skipped.
    """

    removed: Integers
    legs: Lengths
    order: Integers
    bridged: Lengths
    keys: Lengths
    open_beside: Integers
    ruined: Longs
    blinks: Longs


def make_best(tours: Tours, cost: float) -> Best:
    """Make tours the best and the current solution."""
    nodes = len(tours.nodes)
    costs = make_apart(2, np.float64)
    costs[:] = cost
    return Best(
        after=tours.nodes[:, AFTER].copy(),
        changed=np.zeros(nodes, dtype=np.int32),
        is_changed=np.zeros(nodes, dtype=np.bool_),
        changes=make_apart(1, np.int64),
        costs=costs,
    )


def make_log(size: int) -> Log:
    """Make an empty log for n customers."""
    return Log(
        removed=np.zeros((size, 4), dtype=np.int32),
        legs=np.zeros((size, 2)),
        order=np.zeros(size, dtype=np.int32),
        bridged=np.zeros(size),
        keys=np.zeros(size),
        open_beside=np.zeros(size + 1, dtype=np.int32),
        ruined=np.full(size, -1, dtype=np.int64),
        blinks=make_apart(1, np.int64),
    )


@compiled_inline
def anneal(
    tours: Tours,
    best: Best,
    log: Log,
    state: RandomState,
    annealing: Annealing,
    first_iteration: int,
    last_iteration: int,
    problem: SearchProblem,
    halt: NDArray[np.int8],
) -> int:
    """Run the iterations from `first` to `last`, which is excluded. Several calls give the same as one.

    Returns the first iteration that was not run: `last`, or the one at which `halt` was not 0.
    """
    costs = best.costs
    for iteration in range(first_iteration, last_iteration):
        if halt[0] != 0:
            return iteration
        count, gain = _ruin(tours, log, state, annealing, iteration, problem)
        _sort_removed(log, count, state, problem)
        change = -gain
        for index in range(count):
            change += _recreate(tours, index, log, state, annealing.neighbours, problem)
        temperature = annealing.temperature * np.exp(annealing.cooling * iteration)
        if change >= -temperature * np.log(1.0 - draw_unit(state)):
            _undo(tours, log, count, problem)
            continue
        costs[0] += change
        _note_changes(tours, log, count, best)
        if costs[0] < costs[1] - LEAST_GAIN * costs[1]:
            costs[1] = costs[0]
            _remember(tours, best)
    return last_iteration


@compiled_inline
def _note_changes(tours: Tours, log: Log, count: int, best: Best) -> None:
    """Record the customers whose next stop an iteration may have changed: inserted ones and those before them."""
    for index in range(count):
        customer = log.removed[index, 0]
        _note_change(customer, best)
        _note_change(log.removed[index, 2], best)
        _note_change(tours.nodes[customer, BEFORE], best)


@compiled_inline
def _note_change(node: int, best: Best) -> None:
    if not best.is_changed[node]:
        best.is_changed[node] = True
        best.changed[best.changes[0]] = node
        best.changes[0] += 1


@compiled_inline
def _remember(tours: Tours, best: Best) -> None:
    """Make the current solution the best."""
    for index in range(best.changes[0]):
        node = best.changed[index]
        best.after[node] = tours.nodes[node, AFTER]
        best.is_changed[node] = False
    best.changes[0] = 0


@compiled_inline
def _undo(tours: Tours, log: Log, count: int, problem: SearchProblem) -> None:
    """Restore the routes before this iteration, with their recorded lengths."""
    nodes, removed, legs = tours.nodes, log.removed, log.legs
    for index in range(count - 1, -1, -1):
        customer = log.order[index]
        join(tours, nodes[customer, ROUTE], nodes[customer, BEFORE], nodes[customer, AFTER], log.bridged[index])
        unload_customer(tours, customer, problem)
    for index in range(count - 1, -1, -1):
        customer, slot = removed[index, 0], removed[index, 1]
        link_customer(
            tours, customer, slot, removed[index, 2], removed[index, 3], legs[index, BEFORE], legs[index, AFTER]
        )
        load_customer(tours, customer, slot, problem)


# Removing strings of customers from neighbouring routes


@compiled_inline
def _ruin(
    tours: Tours, log: Log, state: RandomState, annealing: Annealing, iteration: int, problem: SearchProblem
) -> tuple[int, float]:
    """Remove strings of customers from a few routes around a random customer; returns their number and saving."""
    nodes, slots, ruined, neighbours = tours.nodes, tours.slots, log.ruined, problem.neighbours
    size = len(problem.demands) - 1
    longest = min(annealing.longest_string, size / tours.used[0])
    most_strings = 4.0 * annealing.mean_removed / (1.0 + longest) - 1.0
    strings = int(draw_unit(state) * most_strings + 1.0)
    seed = draw_below(state, size) + 1
    count, gain = 0, 0.0
    for near in range(-1, neighbours.shape[1]):
        customer = seed if near < 0 else neighbours[seed, near]
        slot = nodes[customer, ROUTE]
        if slot == NO_ROUTE or ruined[slot] == iteration:
            continue
        ruined[slot] = iteration
        length = int(draw_unit(state) * min(float(slots[slot, SIZE]), longest) + 1.0)
        count, gain = _remove_string(tours, log, count, gain, customer, length, state, problem)
        strings -= 1
        if strings <= 0:
            break
    return count, gain


@compiled_inline
def _remove_string(
    tours: Tours,
    log: Log,
    count: int,
    gain: float,
    customer: int,
    length: int,
    state: RandomState,
    problem: SearchProblem,
) -> tuple[int, float]:
    """Remove a string around a customer; half of the time with a gap of customers that stay."""
    nodes = tours.nodes
    size = tours.slots[nodes[customer, ROUTE], SIZE]
    length = min(length, size)
    gap = 0
    if length > 1 and length < size and draw_unit(state) < SPLIT_RATE:
        gap = 1
        while length + gap < size and draw_unit(state) < LONGER_GAP_RATE:
            gap += 1
    span = length + gap
    behind, ahead = 0, 0  # number of customers on either side, within the string's reach
    start, end = customer, customer
    while behind < span - 1 and nodes[as_index(start), BEFORE] != 0:
        start = nodes[as_index(start), BEFORE]
        behind += 1
    while ahead < span - 1 and nodes[as_index(end), AFTER] != 0:
        end = nodes[as_index(end), AFTER]
        ahead += 1
    for _ in range(draw_below(state, ahead + behind - span + 2)):
        start = nodes[start, AFTER]
    before_gap = 1 + draw_below(state, length - 1) if gap > 0 else length
    after_gap, saved = _cut_out(tours, log, count, start, before_gap, problem)
    count, gain = count + before_gap, gain + saved
    if gap > 0:
        for _ in range(gap):
            after_gap = nodes[after_gap, AFTER]
        _, saved = _cut_out(tours, log, count, after_gap, length - before_gap, problem)
        count, gain = count + length - before_gap, gain + saved
    return count, gain


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
        unload_customer(tours, customer, problem)
        customer = following
    bridge = measure_leg(problem.distances, previous, customer)
    join(tours, slot, previous, customer, bridge)
    return customer, saved - bridge


# Inserting them again


@compiled_inline
def _sort_removed(log: Log, count: int, state: RandomState, problem: SearchProblem) -> None:
    """Choose the order of insertion: random, most demand first, far first, or near first."""
    removed, order, keys = log.removed, log.order, log.keys
    for index in range(count):
        place = draw_below(state, index + 1)
        order[index] = order[place]
        order[place] = removed[index, 0]
    kind = draw_below(state, _ORDERS)
    if kind < 4:
        return
    for index in range(count):
        customer = order[index]
        if kind < 8:
            key = -float(problem.demands[customer])
        elif kind < 10:
            key = -measure_leg(problem.distances, 0, customer)
        else:
            key = measure_leg(problem.distances, 0, customer)
        place = index
        while place > 0 and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            order[place] = order[place - 1]
            place -= 1
        keys[place] = key
        order[place] = customer


@compiled_inline
def _recreate(tours: Tours, index: int, log: Log, state: RandomState, wanted: int, problem: SearchProblem) -> float:
    """Insert a customer where it costs least, sometimes skipping a position; returns the cost.

    Conditions are joined by & where branches are unpredictable: mispredictions took most of the time.
    """
    nodes, legs, distances, open_beside = tours.nodes, tours.legs, problem.distances, log.open_beside
    customer = log.order[index]
    to_depot = measure_leg(distances, customer, 0)
    best_cost, best_near, best_side = 2.0 * to_depot, 0, AFTER
    for place in range(_list_open(tours, customer, open_beside, wanted, problem)):
        neighbour = as_index(open_beside[as_index(place)])
        to_near = measure_leg(distances, customer, neighbour)
        least = to_near + min(to_near, to_depot)  # the other end is farther away, or the depot
        if least - max(legs[neighbour, AFTER], legs[neighbour, BEFORE]) >= best_cost:
            continue
        for side in (AFTER, BEFORE):
            other = nodes[neighbour, side]
            to_other = measure_leg(distances, customer, other)
            cost = to_near + to_other - legs[neighbour, side]
            # a leg is judged only from its nearer end, so that a skipped leg is not seen from the other
            if (cost < best_cost) & ((to_other >= to_near) | (other == 0)):
                log.blinks[0] -= 1
                if log.blinks[0] < 0:
                    log.blinks[0] = draw_blinks(state)
                else:
                    best_cost, best_near, best_side = cost, neighbour, side
    _put_beside(tours, index, best_near, best_side, log, problem)
    return float(best_cost)


@compiled_inline
def _list_open(tours: Tours, customer: int, open_beside: Integers, wanted: int, problem: SearchProblem) -> int:
    """List up to `wanted` nearest neighbours of a customer whose routes have room for it; returns their number."""
    nodes, slots, neighbours = tours.nodes, tours.slots, problem.neighbours
    room = problem.capacity - problem.demands[customer]
    listed = 0
    for near in range(neighbours.shape[1]):
        neighbour = neighbours[as_index(customer), as_index(near)]
        slot = nodes[as_index(neighbour), ROUTE]
        open_beside[as_index(listed)] = neighbour
        listed += (slot != NO_ROUTE) & (slots[slot, LOAD] <= room)
        if listed == wanted:
            break
    return listed


@compiled_inline
def _put_beside(tours: Tours, index: int, neighbour: int, side: int, log: Log, problem: SearchProblem) -> None:
    """Insert a customer before or after another; next to the depot means on its own route."""
    customer, distances = log.order[index], problem.distances
    slot, other, bridged = tours.slots[tours.used[0], SLOT_AT], 0, 0.0
    if neighbour != 0:
        slot, other, bridged = tours.nodes[neighbour, ROUTE], tours.nodes[neighbour, side], tours.legs[neighbour, side]
    log.bridged[index] = bridged
    previous, following = (neighbour, other) if side == AFTER else (other, neighbour)
    arrival, departure = measure_leg(distances, previous, customer), measure_leg(distances, customer, following)
    link_customer(tours, customer, slot, previous, following, arrival, departure)
    load_customer(tours, customer, slot, problem)


@compiled_inline
def draw_blinks(state: RandomState) -> int:
    """Draw the number of positions until the next is skipped: one draw instead of one per position."""
    return int(np.log(1.0 - draw_unit(state)) / np.log(1.0 - _BLINK_RATE))
