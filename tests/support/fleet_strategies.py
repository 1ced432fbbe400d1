"""Hypothesis strategies for problems with fleets, windows and times, with plans that obey them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from dynaroute.base.vocabulary import RouteEnd
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.problem.timetable import RouteSchedule, measure_route, schedule_route

_ENDS: SearchStrategy[RouteEnd] = st.sampled_from(("depot", "open"))
_SIZES = st.integers(1, 8)
_SLACK = st.sampled_from((0.0, 0.5, 40.0))  # between what a plan needs and what is allowed: none, little, much


@dataclass(frozen=True)
class Plan:
    """A problem, and a plan of it without a fault that names the type of every route."""

    instance: Instance
    solution: Solution


@st.composite
def fleet_instances(draw: DrawFn, *, sizes: SearchStrategy[int] = _SIZES) -> Instance:
    """Any problem with any combination of the parts; nothing says that it can be solved."""
    size = draw(sizes)
    seed = draw(st.integers(0, 2**32 - 1))
    generator = np.random.default_rng(seed)
    parts = draw(st.sets(st.sampled_from(("windows", "service", "durations", "roads", "types"))))
    given: dict[str, Any] = {"speed": draw(st.sampled_from((1.0, 0.5, 3.0)))}
    if "windows" in parts:
        earliest = generator.uniform(0, 60, size + 1) * generator.integers(0, 2, size + 1)
        latest = np.where(generator.random(size + 1) < 0.3, np.inf, earliest + generator.uniform(0, 80, size + 1))
        earliest[0], latest[0] = draw(st.sampled_from(((0.0, np.inf), (5.0, 150.0))))
        given["windows"] = np.stack([earliest, latest], axis=1)
    if "service" in parts:
        given["service"] = np.r_[0.0, generator.uniform(0, 5, size)]
    if "durations" in parts:
        given["durations"] = generator.uniform(0, 20, (size + 1, size + 1))
    if "roads" in parts:
        given["distances"] = generator.uniform(1, 20, (size + 1, size + 1))
    demands = np.r_[0, generator.integers(0, 9, size)]
    capacity = max(10, int(demands.sum()) // 2)
    if "types" in parts:
        given["vehicles"] = tuple(
            draw(_limited_vehicles(capacity + 3 * index, name)) for index, name in enumerate(draw(_TYPE_NAMES))
        )
    return Instance(generator.integers(0, 30, (size + 1, 2)).astype(float), demands, capacity, **given)


@st.composite
def plans(draw: DrawFn, *, sizes: SearchStrategy[int] = _SIZES) -> Plan:
    """A problem made around a plan: each limit that is drawn is just met, or met with some slack."""
    size = draw(sizes)
    bare = draw(fleet_instances(sizes=st.just(size)))
    routes: list[list[int]] = [[]]
    begins = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    for customer, begins_route in zip(draw(st.permutations(range(1, size + 1))), begins, strict=True):
        if routes[-1] and begins_route:
            routes.append([])
        routes[-1].append(customer)
    ends = draw(st.lists(_ENDS, min_size=1, max_size=2, unique=True))
    kinds = [draw(st.integers(0, len(ends) - 1)) for _ in routes]
    parts: dict[str, Any] = {"windows": None}
    wide = tuple(VehicleType(10**6, f"type {index}", end=end) for index, end in enumerate(ends))
    timed = replace(bare, vehicles=wide, **parts)
    if draw(st.booleans()):
        timed = replace(timed, windows=_windows_around(draw, timed, routes, kinds))
    limited = tuple(draw(_vehicles_around(timed, routes, kinds, index)) for index in range(len(ends)))
    solution = Solution(tuple(map(tuple, routes)), vehicles=tuple(kinds))
    return Plan(replace(timed, vehicles=limited), solution)


_TYPE_NAMES: SearchStrategy[list[str]] = st.lists(
    st.sampled_from(("van", "lorry", "bicycle")), min_size=1, max_size=3, unique=True
)


@st.composite
def _limited_vehicles(draw: DrawFn, capacity: int, name: str) -> VehicleType:
    return VehicleType(
        capacity,
        name,
        count=draw(st.none() | st.integers(1, 4)),
        max_duration=draw(st.none() | st.floats(20, 200)),
        max_distance=draw(st.none() | st.floats(20, 200)),
        shift=draw(st.none() | st.just((3.0, 160.0))),
        max_stops=draw(st.none() | st.integers(1, 4)),
        end=draw(_ENDS),
    )


def _windows_around(draw: DrawFn, instance: Instance, routes: list[list[int]], kinds: list[int]) -> np.ndarray:
    """Windows that the routes meet, some of them with waiting."""
    windows = np.tile([0.0, math.inf], (instance.size + 1, 1))
    latest = 0.0
    for route, kind in zip(routes, kinds, strict=True):
        for place, customer in enumerate(route):
            arrival = schedule_route(replace(instance, windows=windows), route, kind).stops[place].arrival
            opens = max(0.0, arrival + draw(st.sampled_from((-30.0, -1.0, 0.0, 3.0, 25.0))))
            windows[customer] = opens, max(arrival, opens) + draw(_SLACK)
        latest = max(latest, schedule_route(replace(instance, windows=windows), route, kind).end)
    windows[0] = 0.0, latest + draw(_SLACK)
    return windows


@st.composite
def _vehicles_around(
    draw: DrawFn, instance: Instance, routes: list[list[int]], kinds: list[int], index: int
) -> VehicleType:
    """This type of vehicles, with limits that its routes meet."""
    assert instance.vehicles is not None
    vehicle = instance.vehicles[index]
    driven = [route for route, kind in zip(routes, kinds, strict=True) if kind == index]
    if not driven:
        return vehicle
    times: list[RouteSchedule] = [schedule_route(instance, route, index) for route in driven]
    loads = [int(instance.demands[route].sum()) for route in driven]
    duration = max(time.duration for time in times) + draw(_SLACK)
    distance = max(measure_route(instance, route, vehicle) for route in driven) + draw(_SLACK)
    return replace(
        vehicle,
        capacity=max(1, int(instance.demands.max()), *loads) + draw(st.integers(0, 2)),
        count=draw(st.none() | st.just(len(driven) + draw(st.integers(0, 1)))),
        max_duration=duration if draw(st.booleans()) and duration > 0 else None,
        max_distance=distance if draw(st.booleans()) and distance > 0 else None,
        shift=(0.0, max(time.end for time in times) + draw(_SLACK)) if draw(st.booleans()) else None,
        max_stops=draw(st.none() | st.just(max(map(len, driven)) + draw(st.integers(0, 1)))),
    )
