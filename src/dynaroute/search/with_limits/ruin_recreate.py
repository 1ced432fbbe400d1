"""Ruin and recreate for fleets: string removal, greedy insertion with blinks, simulated annealing.

After J. Christiaens and G. Vanden Berghe, "Slack Induction by String Removals for Vehicle Routing Problems",
Transportation Science 54 (2020). Plans never break a limit: a customer without a feasible position is left out, and
counts more the more often that happens. Unlike in the paper, a customer is tried next to its neighbours first, and at
all other positions only if none of these is feasible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.annealing.ruin_recreate import LEAST_GAIN, Annealing
from dynaroute.search.core.compiled import compiled_inline
from dynaroute.search.core.random_numbers import RandomState, draw_unit
from dynaroute.search.with_limits.evaluation import is_frozen
from dynaroute.search.with_limits.missing import draw_left_out, is_absent, is_left_out, price_left_out
from dynaroute.search.with_limits.problem import FleetProblem
from dynaroute.search.with_limits.recreate import draw_absent, put_back, sort_order
from dynaroute.search.with_limits.ruin import exchange_kinds, improve_kinds, take_strings_out
from dynaroute.search.with_limits.saving import begin_saving, restore_routes
from dynaroute.search.with_limits.state import (
    ABSENT,
    AFTER,
    FIRST,
    KIND,
    LAST,
    NO_ROUTE,
    ROUTE,
    SIZE,
    SLOT_AT,
    USED,
    FleetLog,
    FleetTours,
)
from dynaroute.search.with_limits.tours import (
    change_kind,
    insert_stop,
    is_within_limits,
    open_slot,
    refresh_times,
    remove_stop,
    value_route,
)

__all__ = ["FleetBest", "anneal_fleet", "make_fleet_best", "settle"]

_OTHER_KIND_RATE = 0.2
_PORTION = 100  # customers inserted between two looks at the clock: at most a tenth of a second
_MOST_LEFT_OUT, _MOST_IF_OPENING = 10, 60  # customers who may be left out that an iteration tries to insert
_OPENING_DISCOUNT = 0.3  # of the first route that may be opened for a whole neighbourhood of them
_NEW_ROUTE_RATE = 0.1  # share of iterations that may open a route that does not pay for its first customer

Integers = NDArray[np.int32]
Lengths = NDArray[np.float64]


class FleetBest(NamedTuple):
    """The best plan so far, and the cost of the present one.

    Attributes
    ----------
    after, kinds
        (N,) stop after each customer, and type of its route; -1 for a missing customer.
    costs
        (3,) length of the present plan, and length and price of the best.
    """

    after: Integers
    kinds: Integers
    costs: Lengths


def make_fleet_best(size: int) -> FleetBest:
    """Allocate memory for a plan of n customers."""
    return FleetBest(np.zeros(size + 3, dtype=np.int32), np.full(size + 3, -1, dtype=np.int32), np.zeros(3))


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
    """Run the iterations from `first_iteration` to `last_iteration` - 1; several calls give the same as one.

    The temperature of `annealing` is that of the iteration `origin`.

    Returns the first iteration that was not run: `last_iteration`, or an earlier one if `halt` was set, or, with
    `is_served_enough`, if every customer is served.
    """
    costs, counts, order, absences = best.costs, tours.counts, log.order, log.absences
    for iteration in range(first_iteration, last_iteration):
        if halt[0] != 0:
            return iteration
        count, routes, change = take_strings_out(tours, log, state, annealing, iteration, problem)
        if count < 0:  # the ruined route would break a limit
            _undo(tours, log, -count, 0, routes, problem)
            continue
        if len(tours.free) > 1 and draw_unit(state) < _OTHER_KIND_RATE:
            change += exchange_kinds(tours, log, routes, state, problem)
        tried, placed = draw_absent(tours, log, count, state, problem)
        if len(problem.optional) > 0:
            is_opening = draw_unit(state) < _NEW_ROUTE_RATE
            more = draw_left_out(tours, log, placed, _MOST_IF_OPENING if is_opening else _MOST_LEFT_OUT, state, problem)
            for index in range(placed, placed + more):
                change -= problem.rules.prizes[order[index]]
            placed += more
            sort_order(log, placed, state, problem)
            discount = _OPENING_DISCOUNT * draw_unit(state) if is_opening else 1.0
        else:
            sort_order(log, placed, state, problem)
            discount = draw_unit(state) if draw_unit(state) < _NEW_ROUTE_RATE else 1.0
        absence_before, absence_after = 0, 0
        for index in range(tried):
            absence_before += absences[tours.absent[counts[ABSENT] - 1 - index]]
        for index in range(placed):
            customer = order[index]
            used = counts[USED]
            change += put_back(tours, customer, log, routes, discount, state, annealing.neighbours, problem)
            if counts[USED] > used:
                discount = 1.0
            if is_absent(tours, customer, problem):
                absence_after += absences[customer]
                absences[customer] += 1
        if len(problem.rules) > 0:
            change += improve_kinds(tours, log, problem)
        is_accepted = absence_after < absence_before
        if absence_after == absence_before:
            temperature = annealing.temperature * np.exp(annealing.cooling * (iteration - origin))
            is_accepted = change < -temperature * np.log(1.0 - draw_unit(state))
        if not is_accepted:
            _undo(tours, log, count, placed, routes, problem)
            continue
        costs[0] += change
        _note_absent(tours, log, placed, tried, problem)
        if _price(tours, costs[0], problem) < costs[2] * (1.0 - LEAST_GAIN):
            _remember(tours, best, problem)
        if is_served_enough and counts[ABSENT] == 0:
            return iteration + 1
    return last_iteration


def settle(
    tours: FleetTours,
    best: FleetBest,
    log: FleetLog,
    state: RandomState,
    neighbours: int,
    problem: FleetProblem,
    is_time_up: Callable[[], bool] | None = None,
) -> None:
    """Remove routes that break a limit, insert customers where there is room, and save the result as the best plan.

    Customers who have not had their turn when the time is up stay out.
    """
    count = _take_broken_routes_out(tours, log, state, problem)
    missing = int(tours.counts[ABSENT])
    wishes = problem
    if problem.optional:  # a route rarely pays for its first customer: begin by serving everybody
        wishes = problem._replace(rules=problem.rules._replace(prizes=np.full_like(problem.rules.prizes, np.inf)))
    for first in range(0, count, _PORTION):
        _put_some_back(tours, log, state, neighbours, first, min(first + _PORTION, count), wishes)
        if is_time_up is not None and is_time_up():
            break
    _save(tours, best, log, count, missing, problem)


@compiled_inline
def _take_broken_routes_out(tours: FleetTours, log: FleetLog, state: RandomState, problem: FleetProblem) -> int:
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
                absent[counts[ABSENT]] = customer
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
    tours: FleetTours, log: FleetLog, state: RandomState, neighbours: int, first: int, last: int, problem: FleetProblem
) -> None:
    """Insert the missing customers from `first` to `last` - 1 of the order, where there is room."""
    begin_saving(log)
    for index in range(first, last):
        put_back(tours, log.order[index], log, 0, 1.0, state, neighbours, problem)


@compiled_inline
def _save(tours: FleetTours, best: FleetBest, log: FleetLog, count: int, missing: int, problem: FleetProblem) -> None:
    """Save a new plan as the best, after `count` customers were tried, `missing` of whom must be served."""
    slots, counts = tours.slots, tours.counts
    _note_absent(tours, log, count, missing, problem)
    best.costs[0] = 0.0
    for place in range(counts[USED]):
        best.costs[0] += value_route(tours, slots[place, SLOT_AT], problem)
    best.costs[0] += price_left_out(tours, problem)
    _remember(tours, best, problem)


@compiled_inline
def _price(tours: FleetTours, length: float, problem: FleetProblem) -> float:
    counts = tours.counts
    return float(length + counts[ABSENT] * problem.absence_price + counts[USED] * problem.vehicle_price)


@compiled_inline
def _remember(tours: FleetTours, best: FleetBest, problem: FleetProblem) -> None:
    """Save the present plan as the best."""
    best.costs[1] = best.costs[0]
    best.costs[2] = _price(tours, best.costs[0], problem)
    for customer in range(1, len(problem.demands) - 2):
        slot = tours.nodes[customer, ROUTE]
        best.after[customer] = tours.nodes[customer, AFTER]
        best.kinds[customer] = -1 if slot == NO_ROUTE else tours.slots[slot, KIND]


@compiled_inline
def _note_absent(tours: FleetTours, log: FleetLog, count: int, tried: int, problem: FleetProblem) -> None:
    """Update the list of missing customers: those that were not tried, and those without a feasible position."""
    counts = tours.counts
    counts[ABSENT] -= tried
    for index in range(count):
        customer = log.order[index]
        if is_absent(tours, customer, problem):
            tours.absent[counts[ABSENT]] = customer
            counts[ABSENT] += 1


@compiled_inline
def _undo(tours: FleetTours, log: FleetLog, removed: int, placed: int, routes: int, problem: FleetProblem) -> None:
    """Restore the plan before an iteration, and recompute the times of its routes."""
    if len(problem.rules) > 0:
        restore_routes(tours, log, problem)
        return
    nodes, slots, touched = tours.nodes, tours.slots, log.touched
    for index in range(placed - 1, -1, -1):
        customer = log.order[index]
        slot = nodes[customer, ROUTE]
        if slot != NO_ROUTE:
            remove_stop(tours, customer, problem)
            log.order[index] = slot  # refreshed below
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
