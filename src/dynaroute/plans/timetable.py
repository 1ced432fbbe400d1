"""The timetable of routes as JSON: what `check --timetable` prints, and what the web page shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from dynaroute.base.decimals import plain_number
from dynaroute.problem.driving import list_loads
from dynaroute.problem.fleet import VehicleType, name_vehicles
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.problem.timetable import RouteSchedule, list_breaks, price_routes, schedule_route


def describe_timetable(instance: Instance, solution: Solution) -> list[dict[str, Any]]:
    """Describe each route: its vehicle, times, lengths, cost and loads, stop by stop.

    Parameters
    ----------
    instance
        The problem. If travel times are unknown, all times are None.
    solution
        Routes over its customers.

    Returns
    -------
    list[dict[str, Any]]
        One per route. Times are in seconds; `slack` is how much later service may begin within its window, below 0
        for a late stop, and None without an end of the window; `loads` is the largest load in each dimension.
    """
    kinds = solution.vehicle_types(instance)
    names = name_vehicles(instance.fleet, kinds)
    costs = price_routes(instance, solution.routes, kinds)
    return [
        {
            "vehicle": instance.fleet[kind].name or kind,
            "called": name,
            "type": kind,
            "cost": plain_number(cost),
            **_describe_route(instance, route, kind),
        }
        for route, kind, name, cost in zip(solution.routes, kinds, names, costs, strict=True)
    ]


def _describe_route(instance: Instance, route: Sequence[int], kind: int) -> dict[str, Any]:
    vehicle = instance.fleet[kind]
    times = schedule_route(instance, route, kind) if instance.knows_times else None
    loads = _list_loads(instance, route, vehicle)
    peak = [max(amounts) for amounts in zip(*loads, strict=True)]
    distances = _list_distances(instance, route, kind)
    return {
        "departure": None if times is None else plain_number(times.departure),
        "end": None if times is None else plain_number(times.end),
        "duration": None if times is None else plain_number(times.duration),
        "driving": None if times is None else plain_number(times.driving),
        "distance": plain_number(distances[-1]),
        "load": _show(instance, peak[:1])[0],
        "loads": _show(instance, peak),
        "capacities": _show(instance, vehicle.capacities),
        "stops": [
            {
                "customer": node,
                **_describe_stop(instance, node, times, index),
                "distance": plain_number(distances[index]),
                "loads": _show(instance, loads[index + 1]),
            }
            for index, node in enumerate(route)
        ],
        **({"breaks": list_breaks(times)} if times is not None and times.breaks else {}),
    }


def _describe_stop(instance: Instance, node: int, times: RouteSchedule | None, index: int) -> dict[str, Any]:
    windows = instance.windows_of(node)
    shown = [
        [plain_number(opens), plain_number(closes) if math.isfinite(closes) else None] for opens, closes in windows
    ]
    if times is None:
        return {"arrival": None, "waiting": None, "start": None, "leave": None, "windows": shown, "slack": None}
    stop = times.stops[index]
    closing = next((closes for opens, closes in windows if opens <= stop.start <= closes), None)
    if closing is None:
        closing = windows[-1][1] if windows else math.inf
    return {
        "arrival": plain_number(stop.arrival),
        "waiting": plain_number(stop.waiting),
        "start": plain_number(stop.start),
        "leave": plain_number(stop.leave),
        "windows": shown,
        "slack": plain_number(closing - stop.start) if math.isfinite(closing) else None,
    }


def _list_loads(instance: Instance, route: Sequence[int], vehicle: VehicleType) -> list[tuple[int, ...]]:
    """List the load at departure and after each stop: on board, or delivered so far if there is nothing but demands."""
    if instance.rules:
        return [tuple(amounts) for amounts in list_loads(instance, route, vehicle).tolist()]
    return [(amount,) for amount in accumulate(instance.demands[list(route)].tolist(), initial=0)]


def _list_distances(instance: Instance, route: Sequence[int], kind: int) -> list[float]:
    end = instance.end_nodes[kind]
    nodes = [instance.start_nodes[kind], *route, *([] if end < 0 else [end])]
    return list(accumulate(instance.leg_lengths(nodes[:-1], nodes[1:], instance.fleet[kind].profile).tolist()))


def _show(instance: Instance, amounts: Sequence[int]) -> list[float | int]:
    return [plain_number(instance.shown_demand(amount)) for amount in amounts]
