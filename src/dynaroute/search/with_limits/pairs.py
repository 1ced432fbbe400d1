"""Insert stops that go together into one route, where they cost least: a pickup and its delivery, or locked legs."""

from __future__ import annotations

import numpy as np

from dynaroute.search.annealing.log import Log, is_overlooked
from dynaroute.search.annealing.tours import (
    AFTER,
    EARLY,
    FIRST,
    KIND,
    LATE,
    NO_ROUTE,
    ROUTE,
    SIZE,
    SLOT_AT,
    SPAN,
    USED,
    Tours,
    insert_stop,
    is_stop,
    open_slot,
    remove_stop,
)
from dynaroute.search.core.compiled import compiled_apart, compiled_inline
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.random_numbers import RandomState
from dynaroute.search.with_limits.driving import drive_path, write_path
from dynaroute.search.with_limits.evaluation import (
    append_span,
    enter,
    find_group,
    is_route_allowed,
    is_tied,
    meets_other,
    price_route,
)
from dynaroute.search.with_limits.insertion import choose_vehicle
from dynaroute.search.with_limits.rules import RELOAD
from dynaroute.search.with_limits.saving import save_route
from dynaroute.search.with_limits.times import refresh_times

__all__ = ["insert_followers", "put_pair_back", "remove_followers"]


@compiled_inline
def insert_followers(tours: Tours, customer: int, slot: int, problem: SearchProblem) -> None:
    """Insert all who follow a customer directly in all plans."""
    if len(problem.driven) > 0:
        before, stop = customer, problem.rules.followers[customer]
        while stop > 0:
            insert_stop(tours, stop, slot, before, problem)
            before, stop = stop, problem.rules.followers[stop]


@compiled_inline
def remove_followers(tours: Tours, customer: int, problem: SearchProblem) -> None:
    """Remove all who follow a customer directly in all plans."""
    if len(problem.driven) > 0:
        stop = problem.rules.followers[customer]
        while stop > 0:
            remove_stop(tours, stop, problem)
            stop = problem.rules.followers[stop]


@compiled_apart
def put_pair_back(
    tours: Tours,
    pickup: int,
    log: Log,
    routes: int,
    discount: float,
    state: RandomState,
    wanted: int,
    problem: SearchProblem,
) -> float:
    """Insert a pair, or a customer and all who follow it directly, where they cost least, as `put_back` does.

    Every pickup position of the routes around both stops is tried; from there the route is driven on, with the goods
    on board, to each delivery position.
    """
    nodes, slots, rules = tours.nodes, tours.slots, problem.rules
    delivery = rules.partners[pickup]
    if len(problem.driven) > 0 and rules.followers[pickup] > 0:
        delivery = rules.followers[pickup]
        while rules.followers[delivery] > 0:
            delivery = rules.followers[delivery]
    alone, kind = choose_vehicle(tours, pickup, state, problem)
    best_cost, best_slot, best_previous, best_before = discount * alone, -1, 0, pickup
    is_left_out = False
    if len(problem.optional) > 0:
        is_left_out = rules.prizes[pickup] <= best_cost and rules.prizes[pickup] < np.inf
        best_cost = min(best_cost, rules.prizes[pickup])
    group = find_group(tours, pickup, problem)
    if group < 0:
        group = find_group(tours, delivery, problem)
    if group >= 0:
        best_cost, kind = best_cost if is_left_out else np.inf, -1
    log.now[3] += 1
    near = min(wanted, problem.neighbours.shape[1])
    for place in range(2 * near + routes):
        if place < near:
            slot = nodes[problem.neighbours[pickup, place], ROUTE]
        elif place < 2 * near:
            slot = nodes[problem.neighbours[delivery, place - near], ROUTE]
        else:
            slot = log.touched[place - 2 * near, 0]
            slot = slot if slots[slot, SIZE] > 0 else NO_ROUTE
        if group >= 0 and slot != group:
            continue
        if slot == NO_ROUTE or log.stamps[slot, 1] == log.now[3]:
            continue
        log.stamps[slot, 1] = log.now[3]
        cost, previous, before = _find_positions(tours, pickup, slot, best_cost, log, state, problem)
        if cost < best_cost:
            best_cost, best_slot, best_previous, best_before = cost, slot, previous, before
            is_left_out = False
    if is_left_out:
        return float(best_cost)
    if best_slot < 0 and kind < 0:
        for place in range(tours.counts[USED]):
            slot = slots[place, SLOT_AT]
            if group >= 0 and slot != group:
                continue
            cost, previous, before = _find_positions(tours, pickup, slot, best_cost, log, state, problem)
            if cost < best_cost:
                best_cost, best_slot, best_previous, best_before = cost, slot, previous, before
        if best_slot < 0:
            return 0.0
    if best_slot < 0:
        best_slot = slots[tours.counts[USED], SLOT_AT]
        save_route(tours, log, best_slot)
        open_slot(tours, best_slot, kind, problem)
        best_cost, best_previous, best_before = problem.alone[pickup, kind], 0, pickup
    save_route(tours, log, best_slot)
    insert_stop(tours, pickup, best_slot, best_previous, problem)
    if rules.partners[pickup] > 0:
        insert_stop(tours, delivery, best_slot, best_before, problem)
    insert_followers(tours, pickup, best_slot, problem)
    refresh_times(tours, best_slot, problem)
    return float(best_cost)


@compiled_inline
def _find_positions(
    tours: Tours, pickup: int, slot: int, most: float, log: Log, state: RandomState, problem: SearchProblem
) -> tuple[float, int, int]:
    """The cheapest positions on a route: the cost, and the stops before the pickup and the delivery."""
    if len(problem.driven) > 0 and problem.rules.followers[pickup] > 0:
        return _find_place_of_chain(tours, pickup, slot, most, log, state, problem)
    if len(problem.paired) > 0:
        return _find_places_of_pair(tours, pickup, slot, most, log, state, problem)
    return most, 0, 0


@compiled_inline
def _find_places_of_pair(
    tours: Tours, pickup: int, slot: int, most: float, log: Log, state: RandomState, problem: SearchProblem
) -> tuple[float, int, int]:
    """The cheapest positions of a pair on a route: its cost, and the stops before the pickup and the delivery."""
    nodes, slots, rules, kind = tours.nodes, tours.slots, problem.rules, tours.slots[slot, KIND]
    delivery, profile, start_node = rules.partners[pickup], rules.profiles[kind], rules.start_nodes[kind]
    distances, durations = rules.distances, rules.durations
    best_cost, best_previous, best_before = most, 0, 0
    if not rules.allowed[pickup, kind] or not rules.allowed[delivery, kind]:
        return best_cost, best_previous, best_before
    if rules.apart[pickup] > 0 and rules.apart[pickup] == rules.apart[delivery]:
        return best_cost, best_previous, best_before
    if rules.apart[pickup] > 0 and meets_other(tours, pickup, slot, problem):
        return best_cost, best_previous, best_before
    if rules.apart[delivery] > 0 and meets_other(tours, delivery, slot, problem):
        return best_cost, best_previous, best_before
    if slots[slot, SIZE] + 2 > problem.kinds.stops[kind]:
        return best_cost, best_previous, best_before
    rate, last_pickup = rules.per_distance[kind], problem.latest[pickup]
    previous, following = start_node, slots[slot, FIRST]
    while True:
        is_first = not is_stop(previous, problem)
        leaving = problem.kinds.starts[kind] if is_first else tours.ready[previous]
        if leaving > last_pickup:
            break
        time = enter(leaving + durations[profile, previous, pickup], pickup, problem)
        here, length = pickup, distances[profile, previous, pickup] - distances[profile, previous, following]
        onward = following  # the stop after the next delivery position
        is_open = time < np.inf and not is_tied(following, problem)
        if is_open and _has_room_for_pair(tours, slot, previous, pickup, kind, problem):
            span, early, late = 0.0, problem.kinds.starts[kind], np.inf
            if problem.has_durations:
                if not is_first:
                    span, early = tours.ahead[previous, SPAN], tours.ahead[previous, EARLY]
                    late = tours.ahead[previous, LATE]
                span, early, late = append_span(
                    span,
                    early,
                    late,
                    durations[profile, previous, pickup],
                    0.0,
                    problem.earliest[pickup],
                    problem.latest[pickup],
                )
            while True:
                leg = 0.0 if here == pickup else distances[profile, here, onward]
                extra = length + distances[profile, here, delivery] + distances[profile, delivery, onward] - leg
                if rate * extra < best_cost and not is_tied(onward, problem):
                    cost = _price_delivery(
                        tours, slot, previous, here, delivery, onward, time, extra, span, early, late, problem
                    )
                    if cost < best_cost and not is_overlooked(log, state):
                        best_cost, best_previous, best_before = cost, previous, here
                if not is_stop(onward, problem) or rules.roles[onward] == RELOAD:
                    break  # it is delivered on the same trip
                if here == pickup:
                    length += distances[profile, pickup, onward]
                    if rate * length >= best_cost:
                        break  # a detour to the delivery does not make it shorter
                between = durations[profile, here, onward]
                time = enter(time + between, onward, problem)
                if time > tours.due[onward] or time > problem.latest[delivery]:
                    break
                if not _has_room_for_pair(tours, slot, onward, pickup, kind, problem):
                    break
                if problem.has_durations:
                    span, early, late = append_span(
                        span, early, late, between, 0.0, problem.earliest[onward], problem.latest[onward]
                    )
                here, onward = onward, nodes[onward, AFTER]
        if not is_stop(following, problem):
            break
        previous, following = following, nodes[following, AFTER]
    return best_cost, best_previous, best_before


@compiled_inline
def _find_place_of_chain(
    tours: Tours, head: int, slot: int, most: float, log: Log, state: RandomState, problem: SearchProblem
) -> tuple[float, int, int]:
    """The cheapest position of a customer and all who follow it directly: its cost, and the stop before it."""
    best_cost, best_previous = most, 0
    previous, following = problem.rules.start_nodes[tours.slots[slot, KIND]], tours.slots[slot, FIRST]
    while True:
        cost = _price_chain(tours, head, slot, previous, following, best_cost, problem)
        if cost < best_cost and not is_overlooked(log, state):
            best_cost, best_previous = cost, previous
        if not is_stop(following, problem):
            return best_cost, best_previous, head
        previous, following = following, tours.nodes[following, AFTER]


@compiled_apart
def _price_chain(
    tours: Tours, head: int, slot: int, previous: int, following: int, most: float, problem: SearchProblem
) -> float:
    """What a chain costs between two stops; infinite if a rule forbids it, or if it is clearly not below `most`.

    Chains are few and take any rule along, so they are inserted to see whether the route is allowed.
    """
    rules, kind = problem.rules, tours.slots[slot, KIND]
    profile, here, stop = rules.profiles[kind], previous, head
    extra = -rules.distances[profile, previous, following]
    if is_tied(following, problem):
        return np.inf
    while stop > 0:
        if not rules.allowed[stop, kind] or (rules.apart[stop] > 0 and meets_other(tours, stop, slot, problem)):
            return np.inf
        extra += rules.distances[profile, here, stop]
        here, stop = stop, rules.followers[stop]
    extra += rules.distances[profile, here, following]
    if rules.per_distance[kind] * extra >= most:
        return np.inf
    before = tours.prices[slot]
    insert_stop(tours, head, slot, previous, problem)
    insert_followers(tours, head, slot, problem)
    refresh_times(tours, slot, problem)
    cost = tours.prices[slot] - before if is_route_allowed(tours, slot, problem) else np.inf
    remove_followers(tours, head, problem)
    remove_stop(tours, head, problem)
    refresh_times(tours, slot, problem)
    return float(cost)


@compiled_inline
def _price_delivery(
    tours: Tours,
    slot: int,
    previous: int,
    here: int,
    delivery: int,
    onward: int,
    time: float,
    extra: float,
    span: float,
    early: float,
    late: float,
    problem: SearchProblem,
) -> float:
    """What a pair costs if it is delivered between two stops, where service begins at this time; or infinity."""
    rules, kinds, kind = problem.rules, problem.kinds, tours.slots[slot, KIND]
    profile, durations = rules.profiles[kind], rules.durations
    length = tours.lengths[slot] + extra
    if length > kinds.distances[kind]:
        return np.inf
    arrival = enter(time + durations[profile, here, delivery], delivery, problem)
    limit = tours.due[onward] if is_stop(onward, problem) else kinds.ends[kind]
    if arrival == np.inf or arrival + durations[profile, delivery, onward] > limit:
        return np.inf
    if rules.driving[kind] < np.inf:
        added = _measure_driving(tours, slot, previous, here, delivery, onward, problem)
        if tours.driving[slot] + added > rules.driving[kind]:
            return np.inf
    lateness = 0.0
    if len(problem.driven) > 0:
        stops = write_path(tours, slot, rules.partners[delivery], previous, delivery, here, problem)
        span, lateness = drive_path(tours, stops, kind, problem)
    elif problem.has_durations:
        span, early, late = append_span(
            span,
            early,
            late,
            durations[profile, here, delivery],
            0.0,
            problem.earliest[delivery],
            problem.latest[delivery],
        )
        span_after, early_after, late_after = 0.0, -np.inf, kinds.ends[kind]
        if is_stop(onward, problem):
            span_after, early_after = tours.behind[onward, SPAN], tours.behind[onward, EARLY]
            late_after = tours.behind[onward, LATE]
        between = durations[profile, delivery, onward]
        span, early, late = append_span(span, early, late, between, span_after, early_after, late_after)
    if span > kinds.durations[kind] or span == np.inf:
        return np.inf
    return price_route(kind, length, span, problem) + lateness - float(tours.prices[slot])


@compiled_apart
def _measure_driving(
    tours: Tours, slot: int, previous: int, here: int, delivery: int, onward: int, problem: SearchProblem
) -> float:
    """How many more seconds are driven with a pickup after a stop, and its delivery after another or the pickup."""
    rules, pickup = problem.rules, problem.rules.partners[delivery]
    seconds, service, profile = rules.durations, rules.service, rules.profiles[tours.slots[slot, KIND]]
    following = tours.nodes[previous, AFTER] if is_stop(previous, problem) else tours.slots[slot, FIRST]
    added = seconds[profile, previous, pickup] - seconds[profile, previous, following]
    added += seconds[profile, here, delivery] + seconds[profile, delivery, onward]
    if here != pickup:
        added += seconds[profile, pickup, following] - seconds[profile, here, onward]
    return float(added - service[profile, delivery] - service[profile, pickup])


@compiled_inline
def _has_room_for_pair(tours: Tours, slot: int, previous: int, pickup: int, kind: int, problem: SearchProblem) -> bool:
    """Whether the goods of a pickup fit on the leg after a stop."""
    rules = problem.rules
    for dimension in range(rules.rooms.shape[1]):
        load = tours.peaks[previous, dimension, 2] if is_stop(previous, problem) else tours.tops[slot, dimension, 0]
        if load + rules.collected[pickup, dimension] > rules.rooms[kind, dimension]:
            return False
    return True
