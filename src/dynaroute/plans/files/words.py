"""Short descriptions of routes and stops."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynaroute.base.display import count_of, show_length
from dynaroute.plans.files.languages import say
from dynaroute.plans.plan import Plan, PlannedRoute, PlannedStop, UnservedStop
from dynaroute.problem.unserved import count_unserved


def list_warnings(plan: Plan, most: int | None = None) -> list[str]:
    """List what a reader must know before using a plan: customers that are not served, and faults of the routes.

    Parameters
    ----------
    plan
        The plan.
    most
        How many customers and faults to name; all if None. The others are counted.
    """
    unserved = [f"{left_out.stop.label}: {left_out.reason}" for left_out in plan.unserved]
    head = [f"{count_unserved(len(unserved))}:"] if unserved else []
    return [*head, *_shorten(unserved, most), *_shorten(plan.faults, most)]


def _shorten(lines: Sequence[str], most: int | None) -> list[str]:
    return [*lines[:most], *([] if most is None or len(lines) <= most else [f"and {len(lines) - most:,} more"])]


def describe_plan(plan: Plan) -> str:
    """The numbers of routes and customers, and the total length."""
    customers = sum(stop.is_customer for route in plan.routes for stop in route.stops)
    length = show_length(plan.solution.length(plan.instance), plan.instance.unit)
    money = [f"cost {show_length(plan.cost)}"] if plan.instance.is_priced else []
    return ", ".join([count_of(len(plan.routes), "route"), count_of(customers, "customer"), length, *money])


def describe_route(plan: Plan, route: PlannedRoute) -> str:
    """The number of stops, the load, the length and the hours of a route."""
    length = show_length(route.length, plan.instance.unit)
    hours = describe_hours(plan, route)
    stops = say(plan, "{} stop" if len(route.stops) == 1 else "{} stops", f"{len(route.stops):,}")
    facts = [stops, say(plan, "load {}", describe_load(plan, route)), length, *([hours] if hours else [])]
    return ", ".join([*facts, *describe_breaks(plan, route)])


def describe_breaks(plan: Plan, route: PlannedRoute) -> list[str]:
    """When each break of a route is taken."""
    times = [(show_minute(plan, start), show_minute(plan, end)) for start, end, _ in route.breaks]
    return [say(plan, "break {} to {}", *pair) for pair in times]


def describe_load(plan: Plan, route: PlannedRoute) -> str:
    """The load and the capacity of the vehicle."""
    return say(plan, "{} of {}", route.load, route.capacity)


def describe_hours(plan: Plan, route: PlannedRoute) -> str:
    """When a route starts and ends; empty if times are unknown."""
    last = route.places[-1]
    end = last.arrival if route.end is not None else last.leave
    start = route.start.leave
    return "" if start is None else say(plan, "{} to {}", show_minute(plan, start), show_minute(plan, end))


def show_time(plan: Plan, seconds: float | None) -> str:
    """Write a time as a clock time; empty if there is none."""
    return "" if seconds is None else plan.instance.shown_time(seconds)


def show_minute(plan: Plan, seconds: float | None) -> str:
    """Write a time as a clock time in minutes."""
    shown = show_time(plan, seconds)
    return shown if seconds is None or ":" not in shown else show_time(plan, 60.0 * round(seconds / 60))


def describe_window(plan: Plan, stop: PlannedStop) -> str:
    """The time window of a stop; empty if service may start at any time."""
    return ", ".join(_show_window(plan, *window) for window in plan.instance.windows_of(stop.customer))


def _show_window(plan: Plan, earliest: float, latest: float) -> str:
    opening, closing = show_time(plan, earliest), show_time(plan, latest)
    if latest == math.inf:
        return say(plan, "from {}", opening)
    return f"{opening}-{closing}" if earliest > 0 else say(plan, "until {}", closing)


def describe_stop(plan: Plan, stop: PlannedStop) -> str:
    """The demand, distance, times and details of a stop; only times and details of a depot."""
    facts = [f"demand {stop.delivered}", show_length(stop.distance, plan.instance.unit)] if stop.is_customer else []
    facts += [f"pickup {stop.pickup}"] if stop.pickup else []
    if stop.is_customer and stop.arrival is not None:
        facts.append(f"at {show_time(plan, stop.arrival)}")
    return "; ".join([*facts, *_list_wishes(plan, stop)])


def describe_unserved(plan: Plan, left_out: UnservedStop) -> str:
    """The reason why a customer is not served, its demand and its details."""
    stop = left_out.stop
    return "; ".join([f"not served: {left_out.reason}", f"demand {stop.delivered}", *_list_wishes(plan, stop)])


def _list_wishes(plan: Plan, stop: PlannedStop) -> list[str]:
    """The time window and the details of a stop; only the details of a depot."""
    window = describe_window(plan, stop) if stop.is_customer else ""
    details = [f"{column}: {text}" for column, text in stop.details.items()]
    return [*([f"window {window}"] if window else []), *details]
