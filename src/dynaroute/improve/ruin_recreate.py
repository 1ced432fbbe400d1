"""Ruin and recreate by slack induction: adjacent strings out, greedy insertion with blinks, simulated annealing.

After J. Christiaens and G. Vanden Berghe, "Slack Induction by String Removals for Vehicle Routing Problems",
Transportation Science 54 (2020). What differs: a customer is tried beside its near neighbours only, and a rejected
change is undone step by step, so that an iteration takes the same time whatever the size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.improve.compiled import compiled_in_place
from dynaroute.improve.random_numbers import RandomState, draw_unit
from dynaroute.improve.recreate import recreate, sort_removed
from dynaroute.improve.ruin import ruin
from dynaroute.improve.tours import AFTER, FIRST, SLOT_AT, Tours, insert_customer, remove_customer

__all__ = ["Annealing", "Best", "Log", "anneal", "make_best", "make_log"]


Integers = NDArray[np.int32]
Longs = NDArray[np.int64]
Lengths = NDArray[np.float64]


class Annealing(NamedTuple):
    """How hot it is, and how much is taken out.

    Attributes
    ----------
    temperature
        At iteration 0.
    cooling
        Iteration i has temperature * exp(cooling * i): a function of the iteration alone.
    mean_removed
        How many customers are taken out, on average.
    longest_string
        The most customers taken out of one route at a time.
    neighbours
        How many near customers, in routes with room, a customer is tried beside.
    """

    temperature: float
    cooling: float
    mean_removed: float
    longest_string: float
    neighbours: int


class Best(NamedTuple):
    """The best solution so far.

    Attributes
    ----------
    after
        (M,) stop after each customer.
    starts
        (n,) first customer of each route, as many as there are.
    routes
        (1,) how many.
    costs
        (2,) cost of the present solution, and of the best.
    """

    after: Integers
    starts: Integers
    routes: Longs
    costs: Lengths


class Log(NamedTuple):
    """What one iteration did, so that it can be undone.

    Attributes
    ----------
    removed
        (n, 3) who was taken out, in this order: customer, slot of its route, and the stop before it.
    order
        (n,) the same customers in the order in which they are put back.
    keys
        (n,) what that order is sorted by.
    ruined
        (n,) last iteration that took customers out of each route.
    blinks
        (1,) how many more positions are judged until one is overlooked.
    """

    removed: Integers
    order: Integers
    keys: Lengths
    ruined: Longs
    blinks: Longs


def make_best(tours: Tours, cost: float) -> Best:
    """Remember tours as the best and the present solution."""
    size = len(tours.slots)
    after, starts = np.zeros(size + 1, dtype=np.int32), np.zeros(size, dtype=np.int32)
    best = Best(after, starts, np.zeros(1, dtype=np.int64), np.full(2, cost))
    _remember(tours.nodes, tours.slots, tours.used, best.after, best.starts, best.routes)
    return best


def make_log(size: int) -> Log:
    """An empty log for n customers."""
    return Log(
        removed=np.zeros((size, 3), dtype=np.int32),
        order=np.zeros(size, dtype=np.int32),
        keys=np.zeros(size),
        ruined=np.full(size, -1, dtype=np.int64),
        blinks=np.zeros(1, dtype=np.int64),
    )


@compiled_in_place
def anneal(
    tours: Tours,
    best: Best,
    log: Log,
    state: RandomState,
    annealing: Annealing,
    first_iteration: int,
    last_iteration: int,
    distances: Lengths,
    demands: Longs,
    capacity: int,
    neighbours: Integers,
) -> None:
    """Run some iterations. Running them in several calls gives the same as in one.

    Parameters
    ----------
    tours
        The present solution; it is changed.
    best
        The best one; it is changed where a better one is found.
    log
        Room to work.
    state
        Random numbers.
    annealing
        Temperatures and extent.
    first_iteration, last_iteration
        Which iterations: from the first, up to but without the last.
    distances, demands, capacity, neighbours
        The problem.
    """
    nodes, legs, slots, used = tours
    after, starts, routes, costs = best
    removed, order, keys, ruined, blinks = log
    smallest_gain = 1e-11 * costs[1]  # what is less is only the rounding of sums
    for iteration in range(first_iteration, last_iteration):
        count, gain = ruin(
            nodes,
            legs,
            slots,
            used,
            removed,
            ruined,
            state,
            annealing.mean_removed,
            annealing.longest_string,
            iteration,
            distances,
            demands,
            neighbours,
        )
        sort_removed(removed, order, keys, count, state, distances, demands)
        change = -gain
        for index in range(count):
            change += recreate(
                nodes,
                legs,
                slots,
                used,
                order[index],
                blinks,
                state,
                annealing.neighbours,
                distances,
                demands,
                capacity,
                neighbours,
            )
        temperature = annealing.temperature * np.exp(annealing.cooling * iteration)
        if change >= -temperature * np.log(1.0 - draw_unit(state)):
            _undo(nodes, legs, slots, used, removed, order, count, distances, demands)
            continue
        costs[0] += change
        if costs[0] < costs[1] - smallest_gain:
            costs[1] = costs[0]
            _remember(nodes, slots, used, after, starts, routes)


@compiled_in_place
def _remember(nodes: Integers, slots: Longs, used: Longs, after: Integers, starts: Integers, routes: Longs) -> None:
    for node in range(len(after)):
        after[node] = nodes[node, AFTER]
    routes[0] = used[0]
    for place in range(used[0]):
        starts[place] = slots[slots[place, SLOT_AT], FIRST]


@compiled_in_place
def _undo(
    nodes: Integers,
    legs: Lengths,
    slots: Longs,
    used: Longs,
    removed: Integers,
    order: Integers,
    count: int,
    distances: Lengths,
    demands: Longs,
) -> None:
    for index in range(count - 1, -1, -1):
        remove_customer(nodes, legs, slots, used, order[index], distances, demands)
    for index in range(count - 1, -1, -1):
        insert_customer(
            nodes, legs, slots, used, removed[index, 0], removed[index, 1], removed[index, 2], distances, demands
        )
