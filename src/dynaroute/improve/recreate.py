"""Putting customers back where they cost least, now and then overlooking a position."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynaroute.improve.compiled import compiled_in_place
from dynaroute.improve.random_numbers import RandomState, draw_below, draw_unit
from dynaroute.improve.tours import AFTER, LOAD, NO_ROUTE, ROUTE, SLOT_AT, insert_customer

__all__ = ["recreate", "sort_removed"]

_BLINK_RATE = 0.01
_ORDERS = 11  # weights 4, 4, 2 and 1 of the orders of insertion

Integers = NDArray[np.int32]
Longs = NDArray[np.int64]
Lengths = NDArray[np.float64]


@compiled_in_place
def sort_removed(
    removed: Integers,
    order: Integers,
    keys: Lengths,
    count: int,
    state: RandomState,
    distances: Lengths,
    demands: Longs,
) -> None:
    """Choose in which order to put customers back: random, most demand first, far first, or near first."""
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
            key = -float(demands[customer])
        elif kind < 10:
            key = -distances[0, customer]
        else:
            key = distances[0, customer]
        place = index
        while place > 0 and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            order[place] = order[place - 1]
            place -= 1
        keys[place] = key
        order[place] = customer


@compiled_in_place
def recreate(
    nodes: Integers,
    legs: Lengths,
    slots: Longs,
    used: Longs,
    customer: int,
    blinks: Longs,
    state: RandomState,
    wanted: int,
    distances: Lengths,
    demands: Longs,
    capacity: int,
    neighbours: Integers,
) -> float:
    """Put a customer back where it costs least, now and then overlooking a position; what it cost."""
    room = capacity - demands[customer]
    to_depot = distances[customer, 0]
    best_cost, best_slot, best_previous = 2.0 * to_depot, slots[used[0], SLOT_AT], 0
    until_blink = blinks[0]
    for near in range(neighbours.shape[1]):
        neighbour = neighbours[customer, near]
        slot = nodes[neighbour, ROUTE]
        if slot == NO_ROUTE or slots[slot, LOAD] > room:
            continue
        wanted -= 1
        if wanted < 0:
            break
        to_near = distances[customer, neighbour]
        least = to_near + min(to_near, to_depot)  # the other end is farther, or the depot
        for side in range(2):
            leg = legs[neighbour, side]
            if least - leg >= best_cost:
                continue
            other = nodes[neighbour, side]
            to_other = distances[customer, other]
            if other != 0 and to_other < to_near:
                continue  # a leg is judged from its nearer end
            until_blink -= 1
            if until_blink < 0:
                until_blink = _draw_blinks(state)
                continue
            cost = to_near + to_other - leg
            if cost < best_cost:
                best_cost, best_slot = cost, slot
                best_previous = neighbour if side == AFTER else other
    blinks[0] = until_blink
    insert_customer(nodes, legs, slots, used, customer, best_slot, best_previous, distances, demands)
    return float(best_cost)


@compiled_in_place
def _draw_blinks(state: RandomState) -> int:
    """How many positions to judge until the next is overlooked: one draw instead of one for each."""
    return int(np.log(1.0 - draw_unit(state)) / np.log(1.0 - _BLINK_RATE))
