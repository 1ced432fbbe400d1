"""SWAP* (Vidal 2022): two customers swap routes, each to its best place on the other route.

The best insertion of a customer is always one of the three best into the unchanged route, or the place of its partner.
So trying all pairs of two routes costs little more than computing the insertions.
"""

from __future__ import annotations

import numpy as np

from dynaroute.search.core.compiled import compiled_inline
from dynaroute.search.core.legs import measure_leg
from dynaroute.search.core.routes import RouteTable, Task, first_stop, price_two_loads
from dynaroute.search.local.moves import put_after


@compiled_inline
def swap_best_pair(route_u: int, route_v: int, moves: int, table: RouteTable, task: Task, penalty: float) -> bool:
    """Make the best swap of two customers of two routes, or the best move of one, if it gains.

    Parameters
    ----------
    route_u, route_v
        Two routes.
    moves
        Number of moves made so far.
    table, task
        The routes and the problem.
    penalty
        Price of one unit of load above the capacity.

    Returns
    -------
    bool
        Whether a move was made; then both routes must be refreshed.
    """
    stops, insertions, demands, capacity = table.stops, table.insertions, task.demands, task.capacity
    into_u, into_v = route_u % len(insertions), route_v % len(insertions)
    start_u, start_v = first_stop(route_u, len(demands) - 1), first_stop(route_v, len(demands) - 1)
    load_u, load_v = table.routes[route_u].load, table.routes[route_v].load
    paid = price_two_loads(load_u, load_v, capacity, penalty)
    _list_insertions(start_u, route_v, moves, table, task)
    _list_insertions(start_v, route_u, moves, table, task)

    best, best_u, best_v, best_place_u, best_place_v = -task.tolerance, 0, 0, 0, 0
    u = stops[start_u].after
    while u != start_u + 1:
        saving = stops[u].removal
        change = saving + insertions[into_v, u].first
        if change - paid < best:
            change += price_two_loads(load_u - demands[u], load_v + demands[u], capacity, penalty) - paid
            if change < best:
                best, best_u, best_v, best_place_u = change, u, 0, insertions[into_v, u].after_first
        v = stops[start_v].after
        while v != start_v + 1:
            change = saving + stops[v].removal
            if change - paid < best:
                moved = demands[v] - demands[u]
                change += price_two_loads(load_u + moved, load_v - moved, capacity, penalty) - paid
                if change < best:  # insertions cost something if the triangle inequality holds
                    cost_u, place_u = _insert_in_absence(u, v, into_v, table, task)
                    if change + cost_u < best:
                        cost_v, place_v = _insert_in_absence(v, u, into_u, table, task)
                        change += cost_u + cost_v
                        if change < best:
                            best, best_u, best_v, best_place_u, best_place_v = change, u, v, place_u, place_v
            v = stops[v].after
        u = stops[u].after
    v = stops[start_v].after
    while v != start_v + 1:
        change = stops[v].removal + insertions[into_u, v].first
        if change - paid < best:
            change += price_two_loads(load_u + demands[v], load_v - demands[v], capacity, penalty) - paid
            if change < best:
                best, best_u, best_v, best_place_v = change, 0, v, insertions[into_u, v].after_first
        v = stops[v].after

    if best_u != 0:
        put_after(best_u, best_place_u, stops)
    if best_v != 0:
        put_after(best_v, best_place_v, stops)
    return best_u != 0 or best_v != 0


@compiled_inline
def _list_insertions(start: int, route: int, moves: int, table: RouteTable, task: Task) -> None:
    """For each customer of one route, find the gain of removing it and its three cheapest places on another route."""
    stops, insertions, distances = table.stops, table.insertions, task.distances
    row, changed = route % len(insertions), table.routes[route].changed
    customer = stops[start].after
    while customer != start + 1:
        before, after = stops[customer].before, stops[customer].after
        gone = stops[customer].arrival + stops[after].arrival
        stops[customer].removal = measure_leg(distances, stops[before].node, stops[after].node) - gone
        insertion = insertions[row, customer]
        if insertion.route != route or insertion.tested < changed:
            insertion.route = route
            insertion.tested = moves
            _find_cheapest_insertions(customer, first_stop(route, len(task.demands) - 1), row, table, task)
        customer = after


@compiled_inline
def _find_cheapest_insertions(customer: int, start: int, row: int, table: RouteTable, task: Task) -> None:
    stops, distances = table.stops, task.distances
    first, second, third = np.inf, np.inf, np.inf
    after_first, after_second, after_third = 0, 0, 0
    stop, leg = start, measure_leg(distances, customer, 0)
    while stop != start + 1:
        following = stops[stop].after
        next_leg = measure_leg(distances, customer, stops[following].node)
        cost = leg + next_leg - stops[following].arrival
        if cost < first:
            third, after_third = second, after_second
            second, after_second = first, after_first
            first, after_first = cost, stop
        elif cost < second:
            third, after_third = second, after_second
            second, after_second = cost, stop
        elif cost < third:
            third, after_third = cost, stop
        stop, leg = following, next_leg
    insertion = table.insertions[row, customer]
    insertion.first = first
    insertion.second = second
    insertion.third = third
    insertion.after_first = after_first
    insertion.after_second = after_second
    insertion.after_third = after_third


@compiled_inline
def _insert_in_absence(u: int, v: int, row: int, table: RouteTable, task: Task) -> tuple[float, int]:
    """Find the cheapest insertion of u into the route of v without v: its price, and the stop before it."""
    stops, insertions, distances = table.stops, table.insertions, task.distances
    at_v = stops[v]
    before, at_after = at_v.before, stops[at_v.after]
    bridge = at_v.removal + at_v.arrival + at_after.arrival  # the leg that closes the gap
    cost = measure_leg(distances, u, stops[before].node) + measure_leg(distances, u, at_after.node) - bridge
    place = before
    insertion = insertions[row, u]
    listed, listed_place = insertion.first, insertion.after_first
    if not _is_there(listed_place, v, before):
        listed, listed_place = insertion.second, insertion.after_second
    if not _is_there(listed_place, v, before):
        listed, listed_place = insertion.third, insertion.after_third
    if listed < cost and _is_there(listed_place, v, before):
        return listed, listed_place
    return cost, place


@compiled_inline
def _is_there(place: int, v: int, before: int) -> bool:
    """Whether an insertion after this stop uses no leg to or from v."""
    return place != v and place != before
