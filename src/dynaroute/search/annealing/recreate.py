"""Insert customers one by one where they cost least, sometimes skipping a position."""

from __future__ import annotations

import numpy as np

from dynaroute.search.annealing.log import Log, is_overlooked
from dynaroute.search.annealing.tours import (
    AFTER,
    BEFORE,
    NO_ROUTE,
    ROOM,
    ROUTE,
    SLOT_AT,
    USED,
    Tours,
    link_stop,
    open_slot,
)
from dynaroute.search.core.compiled import as_index, compiled_apart, compiled_inline
from dynaroute.search.core.legs import measure_leg
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.random_numbers import RandomState, draw_below, draw_unit
from dynaroute.search.with_limits.insertion import price_nearby, put_stop_back, put_stop_back_by_rules
from dynaroute.search.with_limits.missing import draw_absent, draw_left_out, find_order, is_missing
from dynaroute.search.with_limits.pairs import put_pair_back
from dynaroute.search.with_limits.rules import PICKUP

__all__ = ["choose_order", "put_back", "sort_order"]

_ORDERS = 11  # sum of the weights of the insertion orders: 4, 4, 2, 1
_ORDERS_BY_WINDOWS = 6  # with limits there are three more: 2, 2, 2
_ORDERS_BY_PRIZES = 6  # if customers may be left out there are two more: 4, 2
# customers who may be left out that an iteration tries to insert: up to 10, or now and then a whole neighbourhood
_MOST_LEFT_OUT, _MOST_IN_ALL = 10, 60
_OPENING_DISCOUNT = 0.3  # of the first route that may be opened for a whole neighbourhood of them
_ANY_ALTERNATIVE_RATE = 0.1
_NEW_ROUTE_RATE = 0.1  # share of iterations that may open a route that does not pay for its first customer


@compiled_inline
def choose_order(
    tours: Tours, log: Log, count: int, state: RandomState, problem: SearchProblem
) -> tuple[int, int, float, float]:
    """Choose who is inserted besides the removed customers, and in which order.

    Returns the number of missing customers among them, that of all, the change of the cost as if those were served
    who may be left out, and the share of its price for which a route can be opened.
    """
    tried, placed, change, discount = 0, 0, 0.0, 1.0
    for index in range(count):  # of shipments only the pickups, of locked legs the first
        if len(problem.rules) == 0 or problem.rules.roles[log.removed[index, 0]] <= PICKUP:
            log.order[placed] = find_order(log.removed[index, 0], problem)
            placed += 1
    if len(problem.limited) > 0:
        tried = draw_absent(tours, log, placed, state)
        placed += tried
    is_opening = False
    if len(problem.optional) > 0:
        is_opening = draw_unit(state) < _NEW_ROUTE_RATE
        more = 0
        if problem.rules.has_prizes:
            few = draw_below(state, _MOST_LEFT_OUT + 1)
            most = _MOST_IN_ALL if is_opening or few == 0 else few
            more = draw_left_out(tours, log, placed, most, state, problem)
        for index in range(placed, placed + more):
            change -= problem.rules.prizes[log.order[index]]
        placed += more
    sort_order(log, placed, state, problem)
    if len(problem.optional) > 0:
        discount = _OPENING_DISCOUNT * draw_unit(state) if is_opening else 1.0
    elif len(problem.limited) > 0:
        discount = draw_unit(state) if draw_unit(state) < _NEW_ROUTE_RATE else 1.0
    return tried, placed, change, discount


@compiled_inline
def sort_order(log: Log, count: int, state: RandomState, problem: SearchProblem) -> None:
    """Choose the insertion order: random; largest demand, farthest, nearest, narrow, early or late window first.

    If customers may be left out, often the one first who pays most for the room that he takes, or most of all.
    """
    order, keys, orders = log.order, log.keys, _ORDERS
    if len(problem.limited) > 0:
        orders = _ORDERS + _ORDERS_BY_WINDOWS
        for last in range(count - 1, 0, -1):
            place = draw_below(state, last + 1)
            order[last], order[place] = order[place], order[last]
    else:
        for last in range(count):
            place = draw_below(state, last + 1)
            order[last], order[place] = order[place], order[last]
    if len(problem.optional) > 0 and problem.rules.has_prizes:
        orders += _ORDERS_BY_PRIZES
    kind = draw_below(state, orders)
    if kind < 4:
        return
    for index in range(count):
        customer = order[index]
        if kind < 8:
            key = -float(problem.demands[customer])
        elif kind < 10:
            key = -measure_leg(problem.distances, 0, customer)
        elif len(problem.limited) == 0 or kind < 11:
            key = measure_leg(problem.distances, 0, customer)
        elif kind < 13:
            key = problem.latest[customer] - problem.earliest[customer]
        elif kind < 15:
            key = problem.earliest[customer]
        elif len(problem.optional) == 0 or kind < 17:
            key = -problem.latest[customer]
        elif kind < 21:
            key = -problem.rules.prizes[customer] / max(1, problem.demands[customer])
        else:
            key = -problem.rules.prizes[customer]
        place = index
        while place > 0 and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            order[place] = order[place - 1]
            place -= 1
        keys[place] = key
        order[place] = customer


@compiled_inline
def put_back(
    tours: Tours,
    customer: int,
    log: Log,
    routes: int,
    discount: float,
    state: RandomState,
    wanted: int,
    problem: SearchProblem,
) -> float:
    """Insert a customer at the cheapest position, randomly skipping some; returns its cost, 0 if there is none."""
    if len(problem.limited) == 0:
        return _put_beside_neighbour(tours, customer, log, state, wanted, problem)
    if len(problem.optional) > 0 and problem.rules.alternatives[customer] != customer:
        return _put_alternative_back(tours, customer, log, routes, discount, state, wanted, problem)
    return _put_order_back(tours, customer, log, routes, discount, state, wanted, problem)


@compiled_apart
def _put_alternative_back(
    tours: Tours,
    customer: int,
    log: Log,
    routes: int,
    discount: float,
    state: RandomState,
    wanted: int,
    problem: SearchProblem,
) -> float:
    """Insert the alternative that seems cheapest, now and then any; the next one if there is no position for it."""
    rules = problem.rules
    chosen, least, other, is_any = customer, np.inf, customer, draw_unit(state) < _ANY_ALTERNATIVE_RATE
    while True:
        price = draw_unit(state)
        if not is_any:
            price = price_nearby(tours, other, log, routes, discount, state, wanted, problem)
            if rules.partners[other] > 0:
                price += price_nearby(tours, rules.partners[other], log, routes, discount, state, wanted, problem)
        if price < least or (price == least and draw_below(state, 2) == 0):
            chosen, least = other, price
        other = rules.alternatives[other]
        if other == customer:
            break
    other = chosen
    while True:
        cost = _put_order_back(tours, other, log, routes, discount, state, wanted, problem)
        other = rules.alternatives[other]
        if other == chosen or rules.prizes[other] < np.inf or not is_missing(tours, customer, problem):
            return cost


@compiled_inline
def _put_order_back(
    tours: Tours,
    customer: int,
    log: Log,
    routes: int,
    discount: float,
    state: RandomState,
    wanted: int,
    problem: SearchProblem,
) -> float:
    """Insert a customer, a shipment or all who follow a customer directly where there are limits."""
    if len(problem.paired) > 0 and problem.rules.partners[customer] > 0:
        return put_pair_back(tours, customer, log, routes, discount, state, wanted, problem)
    if len(problem.driven) > 0 and problem.rules.followers[customer] > 0:
        return put_pair_back(tours, customer, log, routes, discount, state, wanted, problem)
    if len(problem.rules) > 0:
        return put_stop_back_by_rules(tours, customer, log, routes, discount, state, wanted, problem)
    return put_stop_back(tours, customer, log, routes, discount, state, wanted, problem)


@compiled_inline
def _put_beside_neighbour(
    tours: Tours, customer: int, log: Log, state: RandomState, wanted: int, problem: SearchProblem
) -> float:
    """Insert a customer without limits beside a near neighbour, or on a route of its own.

    Conditions are joined by & where branches are unpredictable: mispredictions took most of the time.
    """
    nodes, legs, distances = tours.nodes, tours.legs, problem.distances
    to_depot = measure_leg(distances, customer, 0)
    best_cost, best_near, best_side = 2.0 * to_depot, 0, AFTER
    for place in range(_list_open(tours, customer, log, wanted, problem)):
        neighbour = as_index(log.open_beside[as_index(place)])
        to_near = measure_leg(distances, customer, neighbour)
        least = to_near + min(to_near, to_depot)  # the other end is farther away, or the depot
        if least - max(legs[neighbour, AFTER], legs[neighbour, BEFORE]) >= best_cost:
            continue
        for side in (AFTER, BEFORE):
            other = nodes[neighbour, side]
            to_other = measure_leg(distances, customer, other)
            cost = to_near + to_other - legs[neighbour, side]
            # a leg is judged only from its nearer end, so that a skipped leg is not seen from the other
            is_cheaper = (cost < best_cost) & ((to_other >= to_near) | (other == 0))
            if is_cheaper and not is_overlooked(log, state):
                best_cost, best_near, best_side = cost, neighbour, side
    _link_beside(tours, customer, best_near, best_side, log, problem)
    return float(best_cost)


@compiled_inline
def _list_open(tours: Tours, customer: int, log: Log, wanted: int, problem: SearchProblem) -> int:
    """List up to `wanted` nearest neighbours of a customer whose routes have room for it; returns their number."""
    nodes, slots, neighbours, open_beside = tours.nodes, tours.slots, problem.neighbours, log.open_beside
    demand = problem.demands[customer]
    listed = 0
    for near in range(neighbours.shape[1]):
        neighbour = neighbours[as_index(customer), as_index(near)]
        slot = nodes[as_index(neighbour), ROUTE]
        open_beside[as_index(listed)] = neighbour
        listed += (slot != NO_ROUTE) & (slots[slot, ROOM] >= demand)
        if listed == wanted:
            break
    return listed


@compiled_inline
def _link_beside(tours: Tours, customer: int, neighbour: int, side: int, log: Log, problem: SearchProblem) -> None:
    """Insert a customer before or after another; next to the depot means on its own route."""
    distances = problem.distances
    if neighbour == 0:
        slot, other, bridged = tours.slots[tours.counts[USED], SLOT_AT], 0, 0.0
        open_slot(tours, slot, 0, problem)
    else:
        slot, other, bridged = tours.nodes[neighbour, ROUTE], tours.nodes[neighbour, side], tours.legs[neighbour, side]
    log.bridged[customer] = bridged
    previous, following = (neighbour, other) if side == AFTER else (other, neighbour)
    arrival, departure = measure_leg(distances, previous, customer), measure_leg(distances, customer, following)
    link_stop(tours, customer, slot, previous, following, arrival, departure, problem)
