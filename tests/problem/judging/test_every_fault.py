"""Every single fault of a right plan is found: changed routes, and limits a second or a unit below what a plan needs.

The figures that limits are set below come from the timetable, which is not the judge's code.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from rich_problems import RULE_MAKERS, draw_problem, draw_routes

from dynaroute.base.errors import InstanceError
from dynaroute.problem.driving import split_trips
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check, make_timetable
from dynaroute.problem.statements import Statements
from dynaroute.problem.working_day import Break, Overtime

Fault = tuple[str, Instance, Solution, str]  # a description, what is judged, and the kind that must be found
_SECOND = 1.0
_RARE = ("reload", "shipments", "locked", "beginning", "a window", "skills", "")  # one of them each time


def list_faults(instance: Instance, plan: Solution) -> Iterator[Fault]:
    """All faults that a plan without any can get by one change."""
    yield from _change_routes(instance, plan)
    yield from _state_wrongly(instance, plan)
    yield from _tighten_vehicles(instance, plan)
    yield from _tighten_customers(instance, plan)


def _change_routes(instance: Instance, plan: Solution) -> Iterator[Fault]:
    must = np.ones(instance.size + 1, dtype=bool) if instance.optional is None else ~instance.optional
    kinds = plan.vehicle_types(instance)
    for number, route in enumerate(plan.routes):
        for place, node in enumerate(route):
            rest = (*route[:place], *route[place + 1 :])
            if not 1 <= node <= instance.size:
                yield from _leave_out_reload(instance, plan, number, rest)
                continue
            if must[node] and not (instance.one_of and instance.one_of[node]):
                yield "a customer is dropped", instance, _with_route(plan, number, rest), "missing"
            yield "a customer is visited twice", instance, _with_route(plan, number, (*route, node)), "repeated"
            partner = 0 if instance.partners is None else int(instance.partners[node])
            if partner in route and instance.is_pickup is not None and instance.is_pickup[node]:
                swapped = tuple({node: partner, partner: node}.get(stop, stop) for stop in route)
                yield "a pair is reversed", instance, _with_route(plan, number, swapped), "pair"
                apart = replace(
                    _with_route(plan, number, rest),
                    routes=(*_with_route(plan, number, rest).routes, (node,)),
                    vehicles=None,
                )
                yield "a pair is split", instance, apart, "pair"
            for follower in (second for first, second in instance.locked if first == node):
                gap = tuple(chain.from_iterable((stop,) if stop != follower else () for stop in route))
                yield "a locked leg is broken", instance, _with_route(plan, number, (follower, *gap)), "frozen"
        if instance.fleet[kinds[number]].beginning and len(route) > 1:
            yield "a beginning is changed", instance, _with_route(plan, number, (*route[1:], route[0])), "frozen"
        yield "a stranger is visited", instance, _with_route(plan, number, (*route, instance.node_count)), "unknown"
        if "reload" in instance.rules and not instance.fleet[kinds[number]].reload and len(route) > 1:
            yield (
                "a reload that is not allowed",
                instance,
                _with_route(plan, number, (route[0], 0, *route[1:])),
                "reload",
            )


def _leave_out_reload(instance: Instance, plan: Solution, number: int, rest: tuple[int, ...]) -> Iterator[Fault]:
    """Leave a reload out that a vehicle with just enough room needs."""
    if instance.demands.ndim == 2 or not instance.rules.isdisjoint({"pickups", "shipments", "initial_load"}):
        return
    before, after = (
        max(int(instance.demands[trip].sum()) for trip in split_trips(instance, route))
        for route in (plan.routes[number], rest)
    )
    if after > before > 0:
        try:
            just_enough = _with_vehicle(instance, plan.vehicle_types(instance)[number], capacity=before)
            smaller = replace(instance, vehicles=just_enough)
        except InstanceError:  # too small for another customer
            return
        yield "a reload is missing", smaller, _with_route(plan, number, rest), "overload"


def _with_route(plan: Solution, number: int, route: tuple[int, ...]) -> Solution:
    return replace(plan, routes=(*plan.routes[:number], route, *plan.routes[number + 1 :]))


def _state_wrongly(instance: Instance, plan: Solution) -> Iterator[Fault]:
    cost = plan.cost(instance)
    yield "a false cost", instance, replace(plan, stated_cost=1.01 * cost + 1), "cost"
    length = plan.length(instance) + 1
    yield "a false length", instance, replace(plan, statements=Statements(length=length)), "cost"
    if instance.is_priced:
        yield "false money", instance, replace(plan, statements=Statements(money=cost - 1)), "cost"
    names = tuple(tuple("nobody" for _ in route) for route in plan.routes)
    yield "false ids", instance, replace(plan, statements=Statements(ids=names)), "ids"
    served = plan.routes[0][0]
    if served:
        yield "who is served", instance, replace(plan, statements=Statements(unserved=(served,))), "unserved"


def _tighten_vehicles(instance: Instance, plan: Solution) -> Iterator[Fault]:
    """Give one vehicle a limit just below what it needs, or one vehicle less than are used."""
    kinds = plan.vehicle_types(instance)
    for route, index, times in zip(plan.routes, kinds, make_timetable(instance, plan), strict=True):
        vehicle = instance.fleet[index]
        stops = sum(1 <= node <= instance.size for node in route)
        limits: list[tuple[str, dict[str, object], str]] = []
        if stops > 1:
            limits.append(("too many stops", {"max_stops": stops - 1}, "too_many_stops"))
        if times.distance > 1:
            limits.append(("too far", {"max_distance": times.distance - 0.001}, "too_far"))
        if times.duration > _SECOND and vehicle.overtime is None and not vehicle.breaks:  # which may be elsewhere then
            limits.append(("too long", {"max_duration": times.duration - _SECOND}, "too_long"))
            limits.append(("too much overtime", {"overtime": Overtime(times.duration - _SECOND, 0.5)}, "too_long"))
        if times.driving > _SECOND:
            limits.append(("too much driving", {"max_driving": times.driving - _SECOND}, "driving"))
        if times.end > _SECOND and vehicle.shift is None and not vehicle.breaks:
            limits.append(("after its shift", {"shift": (0, times.end - _SECOND)}, "late"))
        if (trips := len(split_trips(instance, route))) > 1:
            limits.append(("too many trips", {"max_trips": trips - 1}, "reload"))
        if vehicle.count is None:
            limits.append(("too few vehicles", {"min_vehicles": kinds.count(index) + 1}, "fleet"))
        if kinds.count(index) > 1:
            limits.append(("too many vehicles", {"count": kinds.count(index) - 1}, "fleet"))
        if instance.skills and any(instance.skills[node] for node in route if 0 < node <= instance.size):
            limits.append(("a skill is missing", {"skills": frozenset()}, "skill"))
        has_windows = instance.windows is not None and instance.windows.ndim == 2
        if has_windows and not vehicle.breaks and times.departure == 0 and times.end > 4:
            endless = Break(10 * times.end, (0, times.end - 2))
            limits.append(("no time for a break", {"breaks": (endless,), "shift": (0, times.end)}, "break"))
        if instance.demands.ndim == 1 and times.load > 1:
            limits.append(("too much on board", {"capacity": times.load - 1}, "overload"))
        for what, limit, kind in limits:
            try:
                tighter = replace(instance, vehicles=_with_vehicle(instance, index, **limit))
            except InstanceError:  # no vehicle could hold a customer any more, or a beginning needs its vehicle
                continue
            yield what, tighter, plan, kind


def _with_vehicle(instance: Instance, index: int, **limit: object) -> tuple[VehicleType, ...]:
    fleet = list(instance.fleet)
    fleet[index] = replace(fleet[index], **limit)  # type: ignore[arg-type]
    return tuple(fleet)


def _release_late(
    instance: Instance, route: tuple[int, ...], plan: Solution, index: int, end: float
) -> Iterator[Fault]:
    """Release the goods of a route when its vehicle should be back."""
    if instance.release is None and not instance.fleet[index].breaks and end > _SECOND:
        release = np.zeros(instance.size + 1)
        release[[node for node in route if 1 <= node <= instance.size]] = end
        vehicles = _with_vehicle(instance, index, shift=(0, end))
        yield "released too late", replace(instance, release=release, vehicles=vehicles), plan, "release"


def _tighten_customers(instance: Instance, plan: Solution) -> Iterator[Fault]:
    """Close a window before the service begins, end a ride earlier, or forbid the vehicle, or the company."""
    kinds, empty = plan.vehicle_types(instance), [frozenset[str]()] * (instance.size + 1)
    for route, index, times in zip(plan.routes, kinds, make_timetable(instance, plan), strict=True):
        customers = [stop for stop in times.stops if 1 <= stop.customer <= instance.size]
        yield from _release_late(instance, route, plan, index, times.end)
        for stop in customers:
            is_soft = instance.late_costs is not None and math.isfinite(instance.late_costs[stop.customer])
            if instance.windows is None and stop.start > _SECOND and not is_soft and not instance.buffer:
                windows = np.tile([0.0, math.inf], (instance.size + 1, 1))
                # the judge departs as early as it can: the first arrival without windows is the least one
                windows[stop.customer, 1] = stop.start - times.departure - _SECOND
                if windows[stop.customer, 1] >= 0 and _departs_at_once(instance, route, index):
                    yield "late by a second", replace(instance, windows=windows), plan, "late"
            forbidden = list(empty)
            forbidden[stop.customer] = frozenset({instance.fleet[index].name})
            yield "a forbidden vehicle", replace(instance, vehicles_forbidden=tuple(forbidden)), plan, "skill"
        if len(customers) > 1:
            labels = [""] * (instance.size + 1)
            labels[customers[0].customer] = labels[customers[-1].customer] = "new"
            yield "not together", replace(instance, not_together=tuple(labels), same_vehicle=None), plan, "group"
        single = [
            stop.customer for stop in customers if instance.partners is None or not instance.partners[stop.customer]
        ]
        if len(single) > 1:
            chosen = tuple("new" if node in (single[0], single[-1]) else "" for node in range(instance.size + 1))
            yield "alternatives", replace(instance, one_of=chosen), plan, "group"
    if instance.partners is not None and instance.is_pickup is not None:
        yield from _shorten_rides(instance, plan)
    firsts = [next((node for node in route if 1 <= node <= instance.size), 0) for route in plan.routes]
    if len(plan.routes) > 1 and all(firsts[:2]):
        labels = ["same" if node in firsts[:2] else "" for node in range(instance.size + 1)]
        yield "on two vehicles", replace(instance, same_vehicle=tuple(labels), not_together=None), plan, "group"


def _departs_at_once(instance: Instance, route: tuple[int, ...], index: int) -> bool:
    vehicle = instance.fleet[index]
    return not (vehicle.breaks or vehicle.reload or vehicle.shift or instance.release is not None or instance.places)


def _shorten_rides(instance: Instance, plan: Solution) -> Iterator[Fault]:
    for times in make_timetable(instance, plan):
        stops = {stop.customer: stop for stop in times.stops}
        for node in stops:
            if not (1 <= node <= instance.size and instance.is_pickup is not None and instance.is_pickup[node]):
                continue
            assert instance.partners is not None
            ride = stops[int(instance.partners[node])].start - stops[node].leave
            if ride > _SECOND:
                rides = np.full(instance.size + 1, math.inf)
                rides[node] = ride - _SECOND
                yield "a ride that is too long", replace(instance, max_ride=rides), plan, "ride"


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_every_fault_of_a_right_plan_is_found_by_its_kind(first: int) -> None:
    found: set[str] = set()
    for seed in range(first, first + 100):
        random = np.random.default_rng(seed)
        rules = set(random.choice(sorted(RULE_MAKERS), int(random.integers(0, 4)), replace=False).tolist())
        rules |= {_RARE[seed % len(_RARE)]} - {""}
        instance = draw_problem(random, rules)
        plans = (draw_routes(random, instance) for _ in range(20))
        plan = next((each for each in plans if {fault.kind for fault in check(instance, each)} <= {"missing"}), None)
        if plan is None or not plan.routes:
            continue
        before = {(fault.kind, fault.customer) for fault in check(instance, plan)}
        for what, problem, solution, kind in list_faults(instance, plan):
            faults = check(problem, solution)
            new = {fault.kind for fault in faults if (fault.kind, fault.customer) not in before}
            assert kind in new, (seed, rules, what, plan.routes, solution.routes, faults)
            found.add(what)
    assert len(found) >= 30
