"""Taking strings of customers out of neighbouring routes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynaroute.improve.compiled import compiled_in_place
from dynaroute.improve.random_numbers import RandomState, draw_below, draw_unit
from dynaroute.improve.tours import AFTER, BEFORE, NO_ROUTE, ROUTE, SIZE, remove_customer

__all__ = ["ruin"]

_SPLIT_RATE = 0.5
_LONGER_GAP_RATE = 0.01

Integers = NDArray[np.int32]
Longs = NDArray[np.int64]
Lengths = NDArray[np.float64]


@compiled_in_place
def ruin(
    nodes: Integers,
    legs: Lengths,
    slots: Longs,
    used: Longs,
    removed: Integers,
    ruined: Longs,
    state: RandomState,
    mean_removed: float,
    longest_string: float,
    iteration: int,
    distances: Lengths,
    demands: Longs,
    neighbours: Integers,
) -> tuple[int, float]:
    """Take a string of customers out of each of a few routes around a random customer; how many, and their saving."""
    size = len(demands) - 1
    longest = min(longest_string, size / used[0])
    most_strings = 4.0 * mean_removed / (1.0 + longest) - 1.0
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
        count, gain = _remove_string(
            nodes, legs, slots, used, removed, count, gain, customer, length, state, distances, demands
        )
        strings -= 1
        if strings <= 0:
            break
    return count, gain


@compiled_in_place
def _remove_string(
    nodes: Integers,
    legs: Lengths,
    slots: Longs,
    used: Longs,
    removed: Integers,
    count: int,
    gain: float,
    customer: int,
    length: int,
    state: RandomState,
    distances: Lengths,
    demands: Longs,
) -> tuple[int, float]:
    """Take out a string around a customer; half of the time it keeps a gap of customers that stay."""
    slot = nodes[customer, ROUTE]
    size = slots[slot, SIZE]
    length = min(length, size)
    gap = 0
    if length > 1 and length < size and draw_unit(state) < _SPLIT_RATE:
        gap = 1
        while length + gap < size and draw_unit(state) < _LONGER_GAP_RATE:
            gap += 1
    span = length + gap
    behind, ahead = 0, 0  # how many customers there are on either side, as far as the string could reach
    start, end = customer, customer
    while behind < span - 1 and nodes[start, BEFORE] != 0:
        start = nodes[start, BEFORE]
        behind += 1
    while ahead < span - 1 and nodes[end, AFTER] != 0:
        end = nodes[end, AFTER]
        ahead += 1
    for _ in range(draw_below(state, ahead + behind - span + 2)):
        start = nodes[start, AFTER]
    before_gap = 1 + draw_below(state, length - 1) if gap > 0 else length
    for index in range(span):
        following = nodes[start, AFTER]
        if index < before_gap or index >= before_gap + gap:
            previous = nodes[start, BEFORE]
            removed[count, 0] = start
            removed[count, 1] = slot
            removed[count, 2] = previous
            count += 1
            gain += legs[start, BEFORE] + legs[start, AFTER] - distances[previous, following]
            remove_customer(nodes, legs, slots, used, start, distances, demands)
        start = following
    return count, gain
