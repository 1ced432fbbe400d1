"""Begin a plan with limits: put all customers on routes for whom there is room."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.annealing.log import Log
from dynaroute.search.annealing.recreate import put_back, sort_order
from dynaroute.search.annealing.ruin_recreate import Best, remember
from dynaroute.search.annealing.tours import ABSENT, FIRST, LAST, SIZE, SLOT_AT, USED, Tours, remove_stop
from dynaroute.search.core.compiled import compiled_inline
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.random_numbers import RandomState
from dynaroute.search.with_limits.evaluation import is_frozen
from dynaroute.search.with_limits.kinds import price_unused
from dynaroute.search.with_limits.missing import find_order, is_absent, is_left_out, note_absent, price_left_out
from dynaroute.search.with_limits.saving import begin_saving
from dynaroute.search.with_limits.times import is_within_limits, refresh_times, value_route

__all__ = ["settle"]

_PORTION = 100  # customers inserted between two looks at the clock: at most a tenth of a second


def settle(
    tours: Tours,
    best: Best,
    log: Log,
    state: RandomState,
    neighbours: int,
    problem: SearchProblem,
    is_time_up: Callable[[], bool] | None = None,
    wished: NDArray[np.bool_] | None = None,
) -> None:
    """Remove routes that break a limit, insert customers where there is room, and save the result as the best plan.

    Of those who may be left out, the `wished` ones are inserted even where they do not pay; by default all. Customers
    who have not had their turn when the time is up stay out.
    """
    count = _take_broken_routes_out(tours, log, state, problem)
    missing = int(tours.counts[ABSENT])
    wishes = problem
    if problem.optional:  # a route rarely pays for its first customer: begin by serving everybody
        prizes = np.where(True if wished is None else wished, np.inf, problem.rules.prizes)
        wishes = problem._replace(rules=problem.rules._replace(prizes=prizes))
    for first in range(0, count, _PORTION):
        _put_some_back(tours, log, state, neighbours, first, min(first + _PORTION, count), wishes)
        if is_time_up is not None and is_time_up():
            break
    _save(tours, best, log, count, missing, problem)


@compiled_inline
def _take_broken_routes_out(tours: Tours, log: Log, state: RandomState, problem: SearchProblem) -> int:
    """Remove routes that break a limit, and sort all missing customers; returns their number."""
    slots, counts, absent = tours.slots, tours.counts, tours.absent
    for place in range(counts[USED] - 1, -1, -1):
        slot = slots[place, SLOT_AT]
        if is_within_limits(tours, slot, problem):
            continue
        for _ in range(slots[slot, SIZE]):
            customer = slots[slot, FIRST]
            if is_frozen(customer, problem):
                customer = slots[slot, LAST]
            if is_frozen(customer, problem):
                break
            remove_stop(tours, customer, problem)
            if is_absent(tours, customer, problem):
                absent[counts[ABSENT]] = find_order(customer, problem)
                counts[ABSENT] += 1
        refresh_times(tours, slot, problem)
    count = counts[ABSENT]
    for index in range(count):
        log.order[index] = absent[index]
    if len(problem.optional) > 0:
        for customer in range(1, len(problem.demands) - 2):
            if is_left_out(tours, customer, problem):
                log.order[count] = customer
                count += 1
    sort_order(log, count, state, problem)
    return int(count)


@compiled_inline
def _put_some_back(
    tours: Tours, log: Log, state: RandomState, neighbours: int, first: int, last: int, problem: SearchProblem
) -> None:
    """Insert the missing customers from `first` to `last` - 1 of the order, where there is room."""
    if len(problem.rules) > 0:
        begin_saving(log)
    for index in range(first, last):
        put_back(tours, log.order[index], log, 0, 1.0, state, neighbours, problem)


@compiled_inline
def _save(tours: Tours, best: Best, log: Log, count: int, missing: int, problem: SearchProblem) -> None:
    """Save a new plan as the best, after `count` customers were tried, `missing` of whom must be served."""
    note_absent(tours, log, count, missing, problem)
    best.costs[0] = 0.0
    for place in range(tours.counts[USED]):
        best.costs[0] += value_route(tours, tours.slots[place, SLOT_AT], problem)
    best.costs[0] += price_left_out(tours, problem) + price_unused(tours, problem)
    remember(tours, best, problem)
