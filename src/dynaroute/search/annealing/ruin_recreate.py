"""Ruin and recreate: string removal, greedy insertion with blinks, and simulated annealing.

After J. Christiaens and G. Vanden Berghe, "Slack Induction by String Removals for Vehicle Routing Problems",
Transportation Science 54 (2020). Two things differ: a customer is only tried next to its near neighbours, and a
rejected change is undone step by step. So the time of an iteration does not depend on the size.

With limits, routes never break one: a customer without a feasible position is left out, and counts more the more often
that happens. It is tried at all other positions only if none next to its neighbours is feasible.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.annealing.log import LEAST_GAIN, Log
from dynaroute.search.annealing.recreate import choose_order, put_back
from dynaroute.search.annealing.ruin import Annealing, remove_strings
from dynaroute.search.annealing.tours import (
    ABSENT,
    AFTER,
    BEFORE,
    KIND,
    NO_ROUTE,
    ROUTE,
    SIZE,
    USED,
    Tours,
    change_kind,
    link_stop,
    open_slot,
    remove_stop,
    unlink_stop,
)
from dynaroute.search.core.compiled import compiled_inline, make_apart
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.random_numbers import RandomState, draw_unit
from dynaroute.search.with_limits.kinds import exchange_kinds, improve_kinds, price_unused
from dynaroute.search.with_limits.missing import is_absent, note_absent
from dynaroute.search.with_limits.rules import NOTHING
from dynaroute.search.with_limits.saving import restore_routes
from dynaroute.search.with_limits.times import refresh_times

__all__ = ["Best", "anneal", "make_best", "remember"]

_OTHER_KIND_RATE = 0.2


class Best(NamedTuple):
    """The best solution so far, and where the current one may differ from it.

    Attributes
    ----------
    after
        (N,) stop after each customer.
    costs
        (2,) cost of the current solution; and of the best, with the prices of missing customers and of vehicles.
    changed
        (M,) list of customers whose next stop may have changed since. This and the next two only without limits: then
        the time to record a new best depends only on what changed.
    is_changed
        (M,) whether a customer is in that list.
    changes
        (1,) length of that list.
    kinds
        (N,) type of the route of each customer; -1 for a missing one. Only with limits.
    """

    after: NDArray[np.int32]
    costs: NDArray[np.float64]
    changed: NDArray[np.int32] = NOTHING
    is_changed: NDArray[np.bool_] = NOTHING
    changes: NDArray[np.int64] = NOTHING
    kinds: NDArray[np.int32] = NOTHING


def make_best(tours: Tours, cost: float, problem: SearchProblem) -> Best:
    """Make tours the best and the current solution; with limits, their customers are not recorded yet."""
    nodes = len(tours.nodes)
    best = Best(tours.nodes[:, AFTER].copy(), make_apart(2, np.float64))
    best.costs[:] = cost
    if problem.limited:
        return best._replace(kinds=np.full(nodes, -1, dtype=np.int32))
    return best._replace(
        changed=np.zeros(nodes, dtype=np.int32),
        is_changed=np.zeros(nodes, dtype=np.bool_),
        changes=make_apart(1, np.int64),
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
    ends_when_all_served: bool,
    problem: SearchProblem,
    halt: NDArray[np.int8],
) -> int:
    """Run the iterations from `first` to `last`, which is excluded. Several calls give the same as one.

    Returns the first iteration that was not run: `last`, or the one at which `halt` was not 0, or, with
    `ends_when_all_served`, the one at which every customer is served.
    """
    costs, counts = best.costs, tours.counts
    for iteration in range(first_iteration, last_iteration):
        if halt[0] != 0:
            return iteration
        unused = price_unused(tours, problem)
        count, routes, change = remove_strings(tours, log, state, annealing, iteration, problem)
        if len(problem.limited) > 0:
            if count < 0:  # what is left of a route would break a limit
                _undo(tours, log, -count, 0, routes, problem)
                continue
            if len(tours.free) > 1 and draw_unit(state) < _OTHER_KIND_RATE:
                change += exchange_kinds(tours, log, routes, state, problem)
        tried, placed, forgone, discount = choose_order(tours, log, count, state, problem)
        change += forgone
        fewer_absences = _count_absences(tours, log, tried, problem)
        for index in range(placed):
            customer, used = log.order[index], counts[USED]
            change += put_back(tours, customer, log, routes, discount, state, annealing.neighbours, problem)
            if counts[USED] > used:
                discount = 1.0
            if len(problem.limited) > 0 and is_absent(tours, customer, problem):
                fewer_absences -= log.absences[customer]
                log.absences[customer] += 1
        if len(problem.rules) > 0:
            change += improve_kinds(tours, log, problem) + price_unused(tours, problem) - unused
        is_accepted = fewer_absences > 0
        if fewer_absences == 0:
            temperature = annealing.temperature * np.exp(annealing.cooling * (iteration - annealing.origin))
            is_accepted = change < -temperature * np.log(1.0 - draw_unit(state))
        if not is_accepted:
            _undo(tours, log, count, placed, routes, problem)
            continue
        costs[0] += change
        if len(problem.limited) > 0:
            note_absent(tours, log, placed, tried, problem)
        else:
            _note_changes(tours, log, count, best)
        if _price(tours, costs[0], problem) < costs[1] - LEAST_GAIN * costs[1]:
            remember(tours, best, problem)
        if ends_when_all_served and counts[ABSENT] == 0:
            return iteration + 1
    return last_iteration


@compiled_inline
def _count_absences(tours: Tours, log: Log, tried: int, problem: SearchProblem) -> int:
    """Sum up how often no position was found for each of the missing customers who are tried, plus 1."""
    absences = 0
    if len(problem.limited) > 0:
        for index in range(tried):
            absences += log.absences[tours.absent[tours.counts[ABSENT] - 1 - index]]
    return absences


@compiled_inline
def _price(tours: Tours, cost: float, problem: SearchProblem) -> float:
    """The cost with the prices of missing customers and of vehicles."""
    if len(problem.limited) > 0:
        return float(cost + tours.counts[ABSENT] * problem.absence_price + tours.counts[USED] * problem.vehicle_price)
    return cost


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
def remember(tours: Tours, best: Best, problem: SearchProblem) -> None:
    """Make the current solution the best."""
    best.costs[1] = _price(tours, best.costs[0], problem)
    if len(problem.limited) > 0:
        for customer in range(1, len(problem.demands) - 2):
            slot = tours.nodes[customer, ROUTE]
            best.after[customer] = tours.nodes[customer, AFTER]
            best.kinds[customer] = -1 if slot == NO_ROUTE else tours.slots[slot, KIND]
    else:
        for index in range(best.changes[0]):
            node = best.changed[index]
            best.after[node] = tours.nodes[node, AFTER]
            best.is_changed[node] = False
        best.changes[0] = 0


@compiled_inline
def _undo(tours: Tours, log: Log, removed: int, placed: int, routes: int, problem: SearchProblem) -> None:
    """Restore the routes before this iteration, with their recorded lengths."""
    if len(problem.rules) > 0:
        restore_routes(tours, log, problem)
        return
    nodes, slots, order, legs = tours.nodes, tours.slots, log.order, log.legs
    for index in range(placed - 1, -1, -1):
        customer = order[index]
        if len(problem.limited) == 0:
            unlink_stop(tours, customer, log.bridged[customer], problem)
        else:
            order[index] = nodes[customer, ROUTE]  # refreshed below
            if order[index] != NO_ROUTE:
                remove_stop(tours, customer, problem)
    if len(problem.limited) > 0:
        _restore_kinds(tours, log, routes, problem)
    for index in range(removed - 1, -1, -1):
        customer, slot = log.removed[index, 0], log.removed[index, 1]
        if len(problem.limited) == 0 and slots[slot, SIZE] == 0:
            open_slot(tours, slot, 0, problem)
        previous, following = log.removed[index, 2], log.removed[index, 3]
        link_stop(tours, customer, slot, previous, following, legs[index, BEFORE], legs[index, AFTER], problem)
    if len(problem.limited) > 0:
        for index in range(routes):
            tours.lengths[log.touched[index, 0]] = log.lengths[index]
            refresh_times(tours, log.touched[index, 0], problem)
        for index in range(placed):
            if order[index] != NO_ROUTE:
                refresh_times(tours, order[index], problem)


@compiled_inline
def _restore_kinds(tours: Tours, log: Log, routes: int, problem: SearchProblem) -> None:
    """Give the routes that lost customers the types of vehicle that they had, and open those that were closed."""
    for index in range(routes):
        slot, kind = log.touched[index, 0], log.touched[index, 1]
        if tours.slots[slot, SIZE] == 0:
            open_slot(tours, slot, kind, problem)
        elif tours.slots[slot, KIND] != kind:
            change_kind(tours, slot, kind, problem)
