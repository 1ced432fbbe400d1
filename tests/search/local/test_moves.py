from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject
from move_fleets import PENALTIES, Routes, make_everything, price, read_routes, starts_of
from strategies import instances

from dynaroute.draw import draw_paper_set
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.search.core.routes import refresh_route
from dynaroute.search.local.moves import NO_MOVE, apply_move, find_move_after_depot, find_move_beside


def neighbours_by_moves(routes: Routes, u: int, v: int) -> Iterator[Routes]:
    """All that the nine moves of u beside v make of routes, written plainly with lists; v = 0: at the first's head."""
    home = next(number for number, route in enumerate(routes) if u in route)
    target = next((number for number, route in enumerate(routes) if v in route), 0)
    route, other = routes[home], routes[target]
    place = route.index(u)
    after = other.index(v) + 1 if v else 0
    heads = {1: (u,), 2: route[place : place + 2]}
    for length, head in heads.items():
        if len(head) < length or v in head or (home == target and after == place):
            continue
        rest = tuple(stop for stop in other if stop not in head)
        behind = rest.index(v) + 1 if v else 0
        for chain in {head, head[::-1]}:
            changed = {home: tuple(stop for stop in route if stop not in head)}
            changed[target] = (*rest[:behind], *chain, *rest[behind:])
            yield replace_routes(routes, changed)
        for partner in (other[after - 1 : after], other[after - 1 : after + 1]) if v else ():
            if len(partner) <= length and not set(partner) & set(head) and not touch(route, head, partner):
                yield replace_routes(routes, exchange(routes, head, partner))
    if home == target:
        low, high = sorted((place + 1, after))
        yield replace_routes(routes, {home: (*route[:low], *route[low:high][::-1], *route[high:])})
        return
    head_u, tail_u, head_v, tail_v = route[: place + 1], route[place + 1 :], other[:after], other[after:]
    yield replace_routes(routes, {home: head_u + head_v[::-1], target: tail_u[::-1] + tail_v})
    yield replace_routes(routes, {home: head_u + tail_v, target: head_v + tail_u})


def touch(route: tuple[int, ...], head: tuple[int, ...], partner: tuple[int, ...]) -> bool:
    """Whether two parts lie side by side on one route, so that an exchange of them is a relocation."""
    if partner[0] not in route:
        return False
    first, second = sorted((head, partner), key=lambda part: route.index(part[0]))
    return route.index(first[-1]) + 1 == route.index(second[0])


def exchange(routes: Routes, head: tuple[int, ...], partner: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
    changed = {}
    for number, route in enumerate(routes):
        stops: list[int] = []
        for stop in route:
            if stop == head[0]:
                stops += partner
            elif stop == partner[0]:
                stops += head
            elif stop not in (*head, *partner):
                stops.append(stop)
        changed[number] = tuple(stops)
    return changed


def replace_routes(routes: Routes, changed: dict[int, tuple[int, ...]]) -> Routes:
    return tuple(changed.get(number, route) for number, route in enumerate(routes))


@given(st.data(), PENALTIES)
def test_a_move_beside_a_customer_is_found_whenever_one_gains(data: DataObject, penalty: float) -> None:
    instance = data.draw(instances(sizes=st.integers(2, 9)))
    start = data.draw(starts_of(instance, penalty))
    table, task, _ = make_everything(instance, start)
    before = price(instance, start.routes, penalty)
    for u in range(1, instance.size + 1):
        for v in range(1, instance.size + 1):
            if u == v:
                continue
            best = min(price(instance, routes, penalty) for routes in neighbours_by_moves(start.routes, u, v))
            is_found = find_move_beside(u, v, table, task, penalty) != NO_MOVE
            if abs(best - before + task.tolerance) > 1e-9 * max(1.0, before):  # else it is too close to say
                assert is_found == (best < before - task.tolerance)


@given(st.data(), PENALTIES)
def test_a_move_to_the_head_of_a_route_is_found_whenever_one_gains(data: DataObject, penalty: float) -> None:
    instance = data.draw(instances(sizes=st.integers(1, 9)))
    start = data.draw(starts_of(instance, penalty))
    table, task, used = make_everything(instance, start)
    before = price(instance, start.routes, penalty)
    for u in range(1, instance.size + 1):
        depots = [
            (number, (route, *start.routes[:number], *start.routes[number + 1 :]))
            for number, route in enumerate(start.routes)
        ]
        for number, routes in [*depots, (used - 1, ((), *start.routes))]:
            depot = instance.size + 1 + 2 * number
            if u in routes[0]:
                continue  # within a route, the moves to its head are fewer
            best = min(price(instance, changed, penalty) for changed in neighbours_by_moves(routes, u, 0))
            is_found = find_move_after_depot(u, depot, table, task, penalty) != NO_MOVE
            if abs(best - before + task.tolerance) > 1e-9 * max(1.0, before):
                assert is_found == (best < before - task.tolerance)


@given(st.data(), PENALTIES)
def test_a_move_that_is_made_gains_and_loses_nobody(data: DataObject, penalty: float) -> None:
    instance = data.draw(instances(sizes=st.integers(1, 12)))
    table, task, used = make_everything(instance, data.draw(starts_of(instance, penalty)))
    size = instance.size
    customers = st.integers(1, size)
    for u, v in data.draw(st.lists(st.tuples(customers, st.integers(1, size + 2 * used)), max_size=30)):
        is_customer = v <= size
        target = v if is_customer else size + 1 + 2 * ((v - size - 1) // 2)
        if u == v or u not in range(1, size + 1):
            continue
        find = find_move_beside if is_customer else find_move_after_depot
        move = find(u, target, table, task, penalty)
        if move == NO_MOVE:
            continue
        before = price(instance, read_routes(table, used, size), penalty)
        touched = {int(table.stops[stop]["route"]) for stop in (u, target)}
        apply_move(move, u, target, table.stops, size)
        for route in touched:
            refresh_route(route, 1, table, task)
        after = read_routes(table, used, size)
        assert sorted(stop for route in after for stop in route) == list(range(1, size + 1))
        assert price(instance, after, penalty) < before
        assert table.routes["length"][:used].sum() == pytest.approx(Solution(after).cost(instance))


def test_all_nine_moves_are_made_on_ordinary_instances() -> None:
    made: set[int] = set()
    for instance in draw_paper_set(30, 5, np.random.default_rng(3)).instances():
        made |= moves_of(instance)
    assert made == set(range(1, 10))


def moves_of(instance: Instance) -> set[int]:
    start = Solution(tuple((*range(first, min(first + 5, instance.size + 1)),) for first in range(1, 31, 5)))
    table, task, _ = make_everything(instance, start)
    made = set()
    for u in range(1, instance.size + 1):
        for v in range(1, instance.size + 1):
            if u != v and (move := find_move_beside(u, v, table, task, 0.1)) != NO_MOVE:
                made.add(move)
                touched = {int(table.stops[stop]["route"]) for stop in (u, v)}
                apply_move(move, u, v, table.stops, instance.size)
                for route in touched:
                    refresh_route(route, 1, table, task)
    return made
