"""Moves of one or two customers, and exchanges of legs, within and between routes.

Names follow this drawing: customer u on its route, and stop v, which is a near customer or a depot.

    ... p - u - x - xx ...        ... q - v - y - yy ...
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from dynaroute.search.core.compiled import compiled_inline
from dynaroute.search.core.legs import measure_leg
from dynaroute.search.core.routes import RouteTable, Task, first_stop, price_two_loads

NO_MOVE = 0
_RELOCATE_ONE = 1  # u after v
_RELOCATE_TWO = 2  # u and x after v
_RELOCATE_TWO_REVERSED = 3  # x and u after v
_SWAP_ONE_ONE = 4  # u with v
_SWAP_TWO_ONE = 5  # u and x with v
_SWAP_TWO_TWO = 6  # u and x with v and y
_REVERSE_BETWEEN = 7  # 2-opt
_JOIN_HEADS_AND_TAILS = 8  # 2-opt*: u next to v, and x next to y
_EXCHANGE_TAILS = 9  # 2-opt*: u next to y, and v next to x


class _Balance(NamedTuple):
    """Loads and penalties of the routes of u and v; all 0 if it is one route."""

    load_u: int
    load_v: int
    paid: float
    capacity: int
    penalty: float
    tolerance: float


@compiled_inline
def _gains(change: float, moved: int, balance: _Balance) -> bool:
    """Whether a change of length pays off when `moved` units of load go from the route of v to that of u."""
    if change >= balance.paid - balance.tolerance:  # no change of load could make up for it
        return False
    load_u, load_v = balance.load_u + moved, balance.load_v - moved
    to_pay = price_two_loads(load_u, load_v, balance.capacity, balance.penalty)
    # penalties first: equal ones cancel exactly, so that no move is made for rounding
    return change + (to_pay - balance.paid) < -balance.tolerance


@compiled_inline
def find_move_beside(u: int, v: int, table: RouteTable, task: Task, penalty: float) -> int:
    """Find a gaining move of customer u next to customer v, or none."""
    stops, distances, demands = table.stops, task.distances, task.demands
    at_u, at_v = stops[u], stops[v]
    p, x, q, y = at_u.before, at_u.after, at_v.before, at_v.after
    at_x, at_y = stops[x], stops[y]
    xx, yy = at_x.after, at_y.after
    node_p, node_x, node_xx = stops[p].node, at_x.node, stops[xx].node
    node_q, node_y, node_yy = stops[q].node, at_y.node, stops[yy].node
    leg_pu, leg_ux, leg_xxx = at_u.arrival, at_x.arrival, stops[xx].arrival
    leg_qv, leg_vy, leg_yyy = at_v.arrival, at_y.arrival, stops[yy].arrival
    uv, uy, vx, xy = (
        measure_leg(distances, u, v),
        measure_leg(distances, u, node_y),
        measure_leg(distances, v, node_x),
        measure_leg(distances, node_x, node_y),
    )
    is_same = at_u.route == at_v.route
    if is_same:
        demand_u, demand_v, demand_x, demand_y = 0, 0, 0, 0
        balance = _Balance(0, 0, 0.0, task.capacity, penalty, task.tolerance)
    else:
        demand_u, demand_v, demand_x, demand_y = demands[u], demands[v], demands[node_x], demands[node_y]
        route_u, route_v = table.routes[at_u.route], table.routes[at_v.route]
        paid = price_two_loads(route_u.load, route_v.load, task.capacity, penalty)
        balance = _Balance(route_u.load, route_v.load, paid, task.capacity, penalty, task.tolerance)

    if u != y:
        if _gains(measure_leg(distances, node_p, node_x) - leg_pu - leg_ux + uv + uy - leg_vy, -demand_u, balance):
            return _RELOCATE_ONE
        if node_x != 0 and x != v:
            left = measure_leg(distances, node_p, node_xx) - leg_pu - leg_xxx - leg_vy
            if _gains(left + uv + xy, -demand_u - demand_x, balance):
                return _RELOCATE_TWO
            if _gains(left + vx + uy, -demand_u - demand_x, balance):
                return _RELOCATE_TWO_REVERSED
    pv, qu = measure_leg(distances, node_p, v), measure_leg(distances, node_q, u)
    if u != q and u != y:
        if _gains(pv + vx - leg_pu - leg_ux + qu + uy - leg_qv - leg_vy, demand_v - demand_u, balance):
            return _SWAP_ONE_ONE
        if node_x != 0 and x != q:
            change = pv + measure_leg(distances, v, node_xx) - leg_pu - leg_xxx + qu + xy - leg_qv - leg_vy
            if _gains(change, demand_v - demand_u - demand_x, balance):
                return _SWAP_TWO_ONE
            if node_y != 0 and y != p:
                change = pv + measure_leg(distances, node_y, node_xx) - leg_pu - leg_xxx
                change += qu + measure_leg(distances, node_x, node_yy) - leg_qv - leg_yyy
                if _gains(change, demand_v + demand_y - demand_u - demand_x, balance):
                    return _SWAP_TWO_TWO
    if not is_same:
        return _find_exchange_of_tails(
            uv + xy - leg_ux - leg_vy, uy + vx - leg_ux - leg_vy, at_u.load, at_v.load, balance
        )
    if x != v and y != u and uv + xy - leg_ux - leg_vy < -task.tolerance:
        return _REVERSE_BETWEEN
    return NO_MOVE


@compiled_inline
def find_move_after_depot(u: int, v: int, table: RouteTable, task: Task, penalty: float) -> int:
    """Find a gaining move of customer u to the start of a route, or none."""
    stops, distances, demands = table.stops, task.distances, task.demands
    at_u, at_v = stops[u], stops[v]
    at_x, at_y = stops[at_u.after], stops[at_v.after]
    node_p, node_x, node_xx, node_y = stops[at_u.before].node, at_x.node, stops[at_x.after].node, at_y.node
    leg_pu, leg_ux, leg_xxx, leg_vy = at_u.arrival, at_x.arrival, stops[at_x.after].arrival, at_y.arrival
    uv, uy, vx, xy = (
        measure_leg(distances, u, 0),
        measure_leg(distances, u, node_y),
        measure_leg(distances, 0, node_x),
        measure_leg(distances, node_x, node_y),
    )
    is_same = at_u.route == at_v.route
    if is_same:
        demand_u, demand_x = 0, 0
        balance = _Balance(0, 0, 0.0, task.capacity, penalty, task.tolerance)
    else:
        demand_u, demand_x = demands[u], demands[node_x]
        route_u, route_v = table.routes[at_u.route], table.routes[at_v.route]
        paid = price_two_loads(route_u.load, route_v.load, task.capacity, penalty)
        balance = _Balance(route_u.load, route_v.load, paid, task.capacity, penalty, task.tolerance)

    if at_v.after != u:
        if _gains(measure_leg(distances, node_p, node_x) - leg_pu - leg_ux + uv + uy - leg_vy, -demand_u, balance):
            return _RELOCATE_ONE
        if node_x != 0:
            left = measure_leg(distances, node_p, node_xx) - leg_pu - leg_xxx - leg_vy
            if _gains(left + uv + xy, -demand_u - demand_x, balance):
                return _RELOCATE_TWO
            if _gains(left + vx + uy, -demand_u - demand_x, balance):
                return _RELOCATE_TWO_REVERSED
    if is_same:
        return NO_MOVE
    return _find_exchange_of_tails(uv + xy - leg_ux - leg_vy, uy + vx - leg_ux - leg_vy, at_u.load, 0, balance)


@compiled_inline
def _find_exchange_of_tails(joined: float, exchanged: float, head_u: int, head_v: int, balance: _Balance) -> int:
    """Find the better of both 2-opt* moves, given changes of length and loads up to u and v."""
    tail_u, tail_v = balance.load_u - head_u, balance.load_v - head_v
    if _gains(joined, head_v - tail_u, balance):
        return _JOIN_HEADS_AND_TAILS
    if _gains(exchanged, tail_v - tail_u, balance):
        return _EXCHANGE_TAILS
    return NO_MOVE


@compiled_inline
def apply_move(move: int, u: int, v: int, stops: NDArray[Any], size: int) -> None:
    """Relink the stops for a move of u next to v; both routes must be refreshed afterwards."""
    x, y = stops[u].after, stops[v].after
    if move == _RELOCATE_ONE:
        put_after(u, v, stops)
    elif move == _RELOCATE_TWO:
        put_after(u, v, stops)
        put_after(x, u, stops)
    elif move == _RELOCATE_TWO_REVERSED:
        put_after(x, v, stops)
        put_after(u, x, stops)
    elif move == _SWAP_ONE_ONE:
        _swap(u, v, stops)
    elif move == _SWAP_TWO_ONE:
        _swap(u, v, stops)
        put_after(x, u, stops)
    elif move == _SWAP_TWO_TWO:
        _swap(u, v, stops)
        _swap(x, y, stops)
    elif move == _REVERSE_BETWEEN:
        if stops[u].position < stops[v].position:
            _reverse_between(u, v, stops)
        else:
            _reverse_between(v, u, stops)
    elif move == _JOIN_HEADS_AND_TAILS:
        _join_heads_and_tails(u, v, stops, size)
    elif move == _EXCHANGE_TAILS:
        _exchange_tails(u, v, stops, size)


@compiled_inline
def put_after(u: int, v: int, stops: NDArray[Any]) -> None:
    """Move customer u to after stop v."""
    _link(stops[u].before, stops[u].after, stops)
    after = stops[v].after
    _link(v, u, stops)
    _link(u, after, stops)


@compiled_inline
def _link(one: int, other: int, stops: NDArray[Any]) -> None:
    stops[one].after = other
    stops[other].before = one


@compiled_inline
def _swap(u: int, v: int, stops: NDArray[Any]) -> None:
    """Swap two customers that are not adjacent."""
    before_u, after_u, before_v, after_v = stops[u].before, stops[u].after, stops[v].before, stops[v].after
    _link(before_u, v, stops)
    _link(v, after_u, stops)
    _link(before_v, u, stops)
    _link(u, after_v, stops)


@compiled_inline
def _reverse_between(u: int, v: int, stops: NDArray[Any]) -> None:
    """Reverse the stops between u and the stop after v, which is later on the route."""
    first, after = stops[u].after, stops[v].after
    _reverse_links(first, v, stops)
    _link(u, v, stops)
    _link(first, after, stops)


@compiled_inline
def _reverse_links(first: int, last: int, stops: NDArray[Any]) -> None:
    """Swap the links of all stops from the first to the last."""
    stop, is_last = first, False
    while not is_last:
        is_last = stop == last
        following = stops[stop].after
        stops[stop].after = stops[stop].before
        stops[stop].before = following
        stop = following


@compiled_inline
def _join_heads_and_tails(u: int, v: int, stops: NDArray[Any], size: int) -> None:
    """Join the head of u to the reversed head of v, and the reversed tail of u to the tail of v."""
    start_u, start_v = first_stop(stops[u].route, size), first_stop(stops[v].route, size)
    end_u = start_u + 1
    x, y = stops[u].after, stops[v].after
    head_v, tail_u = stops[start_v].after, stops[end_u].before
    if v != start_v:
        _reverse_links(head_v, v, stops)
        _link(u, v, stops)
        _link(head_v, end_u, stops)
    else:
        _link(u, end_u, stops)
    if x != end_u:
        _reverse_links(x, tail_u, stops)
        _link(start_v, tail_u, stops)
        _link(x, y, stops)
    else:
        _link(start_v, y, stops)


@compiled_inline
def _exchange_tails(u: int, v: int, stops: NDArray[Any], size: int) -> None:
    """Swap the tails after u and v."""
    end_u, end_v = first_stop(stops[u].route, size) + 1, first_stop(stops[v].route, size) + 1
    x, y = stops[u].after, stops[v].after
    last_u, last_v = stops[end_u].before, stops[end_v].before
    if y != end_v:
        _link(u, y, stops)
        _link(last_v, end_u, stops)
    else:
        _link(u, end_u, stops)
    if x != end_u:
        _link(v, x, stops)
        _link(last_u, end_v, stops)
    else:
        _link(v, end_v, stops)
