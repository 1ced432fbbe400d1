"""The descent: moves of every customer beside its neighbours, then SWAP*, until none of them gains."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynaroute.improve.compiled import compiled_in_place
from dynaroute.improve.moves import NO_MOVE, apply_move, find_move_after_depot, find_move_beside
from dynaroute.improve.moves_fleet import Fleet, Task, find_empty_route, first_stop, refresh_route
from dynaroute.improve.swap_star import swap_best_pair

__all__ = ["descend"]

_TOUCHING = 3  # SWAP* is tried on two routes if a customer of one is among so many nearest of one of the other


@compiled_in_place
def descend(
    order: NDArray[np.int32],
    count: int,
    fleet: Fleet,
    task: Task,
    penalty: float,
    halt: NDArray[np.int8],
) -> int:
    """Improve a fleet until no move gains; its length and priced excess never grow.

    Parameters
    ----------
    order
        The customers, in the order in which their moves are tried.
    count
        Number of routes in use, at least one of them empty.
    fleet
        The routes, changed in place.
    task
        The problem.
    penalty
        Price of one unit of load above the capacity; infinite where there must be none.
    halt
        One number; whoever sets it to something else than 0 ends the descent within microseconds.

    Returns
    -------
    int
        Number of routes in use.
    """
    stops, routes = fleet.stops, fleet.routes
    moves, loop, is_improving = 0, 0, True
    while is_improving:
        moves_before = moves
        for u in order:
            if halt[0] != 0:
                return count
            tested = stops[u].tested
            stops[u].tested = moves
            moves = _move_beside_neighbours(u, tested, loop == 0, moves, fleet, task, penalty)
            if loop == 1 or (loop > 1 and routes[stops[u].route].changed > tested):
                empty = find_empty_route(count, fleet, task)
                count = max(count, empty + 1)
                moves = _move_to_empty_route(u, empty, moves, fleet, task, penalty)
        for route in range(count):
            if halt[0] != 0:
                return count
            moves = _swap_with_touching_routes(
                route,
                count,
                loop,
                moves,
                fleet,
                task,
                penalty,
            )
        is_improving = moves > moves_before or loop == 0  # empty routes are not tried in the first loop
        loop += 1
    return count


@compiled_in_place
def _move_beside_neighbours(
    u: int,
    tested: int,
    is_first: bool,
    moves: int,
    fleet: Fleet,
    task: Task,
    penalty: float,
) -> int:
    """Make every move of customer u beside its neighbours that gains; pairs of unchanged routes are passed over."""
    stops, routes = fleet.stops, fleet.routes
    for rank in range(task.neighbours.shape[1]):
        v = task.neighbours[u, rank]
        if not is_first and max(routes[stops[u].route].changed, routes[stops[v].route].changed) <= tested:
            continue
        target = v
        move = find_move_beside(u, v, fleet, task, penalty)
        if move == NO_MOVE and stops[stops[v].before].node == 0:
            target = stops[v].before
            move = find_move_after_depot(u, target, fleet, task, penalty)
        if move != NO_MOVE:
            moves += 1
            _make_move(move, u, target, moves, fleet, task)
    return moves


@compiled_in_place
def _move_to_empty_route(
    u: int,
    empty: int,
    moves: int,
    fleet: Fleet,
    task: Task,
    penalty: float,
) -> int:
    target = first_stop(empty, len(task.demands) - 1)
    move = find_move_after_depot(u, target, fleet, task, penalty)
    if move == NO_MOVE:
        return moves
    _make_move(move, u, target, moves + 1, fleet, task)
    return moves + 1


@compiled_in_place
def _make_move(move: int, u: int, target: int, moves: int, fleet: Fleet, task: Task) -> None:
    route_u, route_v = fleet.stops[u].route, fleet.stops[target].route
    apply_move(move, u, target, fleet.stops, len(task.demands) - 1)
    refresh_route(route_u, moves, fleet, task)
    if route_u != route_v:
        refresh_route(route_v, moves, fleet, task)


@compiled_in_place
def _swap_with_touching_routes(
    route: int,
    count: int,
    loop: int,
    moves: int,
    fleet: Fleet,
    task: Task,
    penalty: float,
) -> int:
    """Try SWAP* on one route with each later one that a near neighbour of its customers is on."""
    stops, routes, neighbours = fleet.stops, fleet.routes, task.neighbours
    swapped = routes[route].swapped
    routes[route].swapped = moves
    mark = loop * len(routes) + route
    start = first_stop(route, len(task.demands) - 1)
    near = min(_TOUCHING, neighbours.shape[1])
    stop = stops[start].after
    while stop != start + 1:
        for rank in range(near):
            routes[stops[neighbours[stop, rank]].route].mark = mark
        stop = stops[stop].after
    for other in range(route + 1, count):
        if routes[other].mark != mark or routes[other].size == 0 or routes[route].size == 0:
            continue
        if loop > 0 and max(routes[route].changed, routes[other].changed) <= swapped:
            continue
        if swap_best_pair(route, other, moves, fleet, task, penalty):
            moves += 1
            refresh_route(route, moves, fleet, task)
            refresh_route(other, moves, fleet, task)
    return moves
