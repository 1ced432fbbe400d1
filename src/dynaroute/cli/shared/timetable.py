"""Printing timetables, and describing them in JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dynaroute.base.decimals import plain_number
from dynaroute.cli.shared.output import print_line, print_table, show_length
from dynaroute.problem.fleet import TOLERANCE

if TYPE_CHECKING:
    from dynaroute.problem.instance import Instance
    from dynaroute.problem.timetable import RouteSchedule, Stop

__all__ = ["describe_times", "print_timetable"]


def describe_times(instance: Instance, times: RouteSchedule) -> dict[str, Any]:
    """Return the times of a route in seconds, under the keys of ``check --timetable --json``."""
    return {
        "vehicle": instance.fleet[times.vehicle].name or times.vehicle,
        "departure": plain_number(times.departure),
        "end": plain_number(times.end),
        "distance": plain_number(times.distance),
        "load": plain_number(instance.shown_demand(times.load)),
        "stops": [
            {
                "customer": stop.customer,
                "arrival": plain_number(stop.arrival),
                "waiting": plain_number(stop.waiting),
                "start": plain_number(stop.start),
                "leave": plain_number(stop.leave),
            }
            for stop in times.stops
        ],
    }


def print_timetable(instance: Instance, timetable: Sequence[RouteSchedule]) -> None:
    """Print each route with one line per stop."""
    for number, times in enumerate(timetable, start=1):
        kind = instance.fleet[times.vehicle]
        ends = "ends" if kind.end == "open" else "back"
        print_line(
            f"Route {number}{f', {kind.name}' if kind.name else ''}: departs {instance.shown_time(times.departure)}, "
            f"{ends} {instance.shown_time(times.end)}, {instance.shown_duration(times.duration)}, "
            f"length {show_length(times.distance, instance.unit)}"
        )
        headings = ("Arrival", "Waiting", "Leave", "Window", "Distance", "Load", "Stop")
        print_table(headings, [_row_of(instance, stop) for stop in times.stops])


def _row_of(instance: Instance, stop: Stop) -> tuple[str, ...]:
    return (
        instance.shown_time(stop.arrival),
        instance.shown_duration(stop.waiting) if stop.waiting > TOLERANCE else "",
        instance.shown_time(stop.leave),
        _show_window(instance, stop.customer),
        show_length(stop.distance, instance.unit),
        str(instance.shown_demand(stop.load)),
        instance.customer_name(stop.customer),
    )


def _show_window(instance: Instance, customer: int) -> str:
    if instance.windows is None:
        return ""
    earliest, latest = instance.windows[customer].tolist()
    if earliest == 0 and latest == float("inf"):
        return ""
    return f"{instance.shown_time(earliest)}-{'' if latest == float('inf') else instance.shown_time(latest)}"
