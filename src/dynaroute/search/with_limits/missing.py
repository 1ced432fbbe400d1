"""Customers who are on no route: those who must be served, and those who may be left out for a price."""

from __future__ import annotations

import numpy as np

from dynaroute.search.annealing.log import Log
from dynaroute.search.annealing.tours import ABSENT, NO_ROUTE, ROUTE, Tours
from dynaroute.search.core.compiled import compiled_inline
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.random_numbers import RandomState, draw_below, draw_unit
from dynaroute.search.with_limits.rules import PICKUP

__all__ = [
    "draw_absent",
    "draw_left_out",
    "find_order",
    "is_absent",
    "is_left_out",
    "is_missing",
    "note_absent",
    "price_left_out",
]

_TRY_RATE = 0.5
_MOST_ABSENT = 20  # missing customers that an iteration tries to insert


@compiled_inline
def find_order(stop: int, problem: SearchProblem) -> int:
    """The stop by whose number an order is known: of several alternatives the first."""
    if len(problem.optional) > 0:
        return int(problem.rules.orders[stop])
    return stop


@compiled_inline
def is_missing(tours: Tours, customer: int, problem: SearchProblem) -> bool:
    """Whether neither a customer nor another alternative of the same order is on a route."""
    if tours.nodes[customer, ROUTE] != NO_ROUTE:
        return False
    if len(problem.optional) > 0:
        other = problem.rules.alternatives[customer]
        while other != customer:
            if tours.nodes[other, ROUTE] != NO_ROUTE:
                return False
            other = problem.rules.alternatives[other]
    return True


@compiled_inline
def is_absent(tours: Tours, customer: int, problem: SearchProblem) -> bool:
    """Whether an order is missing that must be served."""
    if len(problem.rules) > 0:
        rules = problem.rules
        is_needed = rules.roles[customer] <= PICKUP and rules.prizes[customer] == np.inf
        return bool(is_needed and is_missing(tours, customer, problem))
    return is_missing(tours, customer, problem)


@compiled_inline
def is_left_out(tours: Tours, customer: int, problem: SearchProblem) -> bool:
    """Whether an order, known by its only or first stop or by the pickup of a shipment, is missing by choice."""
    rules = problem.rules
    may_be = rules.roles[customer] <= PICKUP and rules.prizes[customer] < np.inf and rules.orders[customer] == customer
    return bool(may_be and is_missing(tours, customer, problem))


@compiled_inline
def price_left_out(tours: Tours, problem: SearchProblem) -> float:
    """The prizes of all who are left out."""
    price = 0.0
    if len(problem.optional) > 0:
        for customer in range(1, len(problem.demands) - 2):
            if is_left_out(tours, customer, problem):
                price += problem.rules.prizes[customer]
    return price


@compiled_inline
def draw_absent(tours: Tours, log: Log, placed: int, state: RandomState) -> int:
    """Add some missing customers to the `placed` ones to insert, and move them to the end of the list of missing ones.

    Returns their number.
    """
    absent, total = tours.absent, tours.counts[ABSENT]
    tried = int(min(total, _MOST_ABSENT))
    for index in range(tried):
        place, last = draw_below(state, total - index), total - 1 - index
        absent[place], absent[last] = absent[last], absent[place]
        log.order[placed + index] = absent[last]
    return tried


@compiled_inline
def draw_left_out(tours: Tours, log: Log, placed: int, most: int, state: RandomState, problem: SearchProblem) -> int:
    """Add some of those who are left out around the seed to the `placed` customers to insert; returns their number."""
    seed, neighbours, added = log.now[4], problem.neighbours, 0
    log.now[3] += 1
    for index in range(placed):
        log.stamps[log.order[index] - 1, 1] = log.now[3]
    for near in range(-1, neighbours.shape[1]):
        customer = find_order(seed if near < 0 else neighbours[seed, near], problem)
        is_new = log.stamps[customer - 1, 1] != log.now[3] and is_left_out(tours, customer, problem)
        if is_new and draw_unit(state) < _TRY_RATE:
            log.order[placed + added] = customer
            added += 1
            if added == most:
                break
    return added


@compiled_inline
def note_absent(tours: Tours, log: Log, count: int, tried: int, problem: SearchProblem) -> None:
    """Update the list of missing customers: those that were not tried, and those without a feasible position."""
    counts = tours.counts
    counts[ABSENT] -= tried
    for index in range(count):
        customer = log.order[index]
        if is_absent(tours, customer, problem):
            tours.absent[counts[ABSENT]] = customer
            counts[ABSENT] += 1
