"""What plans cost, leg by leg, and what a route to each customer alone costs."""

from __future__ import annotations

import math

import numpy as np

from dynaroute.search.annealing.routes import make_tours
from dynaroute.search.annealing.tours import ABSENT, USED, Tours, insert_stop, open_slot, remove_stop
from dynaroute.search.core.compiled import compiled_inline
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.with_limits.kinds import price_unused
from dynaroute.search.with_limits.missing import price_left_out
from dynaroute.search.with_limits.pairs import insert_followers, remove_followers
from dynaroute.search.with_limits.problem import TypedRoutes, list_served_alone, price_routes
from dynaroute.search.with_limits.times import is_within_limits, refresh_times

__all__ = ["add_prices_alone", "price_driving", "price_plan"]


def price_plan(problem: SearchProblem, routes: TypedRoutes) -> float:
    """What routes cost, with the prices of missing customers and of vehicles."""
    if not problem.rules:
        return price_routes(problem, routes)
    tours = make_tours(problem, routes)
    used, absent = tours.counts[USED], tours.counts[ABSENT]
    price = math.fsum(tours.prices[:used].tolist()) + price_left_out(tours, problem) + price_unused(tours, problem)
    return price + float(absent * problem.absence_price + used * problem.vehicle_price)


def price_driving(problem: SearchProblem, routes: TypedRoutes) -> float:
    """What driving costs: the length, or its price and that of the time, without what vehicles cost in any case."""
    if not problem.rules:
        return problem.cost(routes)
    tours, rules = make_tours(problem, routes), problem.rules
    kinds = [kind for kind, *_ in routes]
    lengths, seconds = tours.lengths[: len(routes)], tours.driving[: len(routes)]
    return float((rules.per_distance[kinds] * lengths + rules.per_second[kinds] * seconds).sum())


@compiled_inline
def price_one_alone(tours: Tours, customer: int, kind: int, problem: SearchProblem) -> float:
    """What a route of this type to one customer, or to a pickup and its delivery, costs; or infinity."""
    partner, apart = problem.rules.partners[customer], problem.rules.apart
    if partner > 0 and apart[customer] > 0 and apart[customer] == apart[partner]:
        return np.inf
    open_slot(tours, 0, kind, problem)
    insert_stop(tours, customer, 0, 0, problem)
    if partner > 0:
        insert_stop(tours, partner, 0, customer, problem)
    insert_followers(tours, customer, 0, problem)
    refresh_times(tours, 0, problem)
    price = tours.prices[0] if is_within_limits(tours, 0, problem) else np.inf
    if partner > 0:
        remove_stop(tours, partner, problem)
    remove_followers(tours, customer, problem)
    remove_stop(tours, customer, problem)
    return float(price)


def add_prices_alone(problem: SearchProblem) -> SearchProblem:
    """Fill in what a route to each customer costs, which is known without driving it only if there are no rules."""
    if not problem.rules:
        return problem
    tours = make_tours(problem, ())
    for customer in list_served_alone(problem):
        for kind in range(len(tours.free)):
            problem.alone[customer, kind] = price_one_alone(tours, customer, kind, problem)
    return problem
