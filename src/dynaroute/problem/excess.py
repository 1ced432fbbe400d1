"""How many seconds a route is late or too long."""

from __future__ import annotations

import math

from dynaroute.problem.fleet import TOLERANCE
from dynaroute.problem.instance import Instance
from dynaroute.problem.timetable import RouteSchedule, latest_end, schedule_route


def lateness_of(instance: Instance, times: RouteSchedule) -> list[float]:
    """Seconds of each stop after the end of its last window; 0 if it is in time."""
    late = []
    for stop in times.stops:
        windows = instance.windows_of(stop.customer)
        late.append(max(0.0, stop.start - windows[-1][1]) if windows else 0.0)
    return [seconds if seconds > TOLERANCE else 0.0 for seconds in late]


def measure_excess(instance: Instance, stops: tuple[int, ...], kind: int) -> float:
    """Seconds that a route is late or too long, altogether; 0 if times are not limited.

    Parameters
    ----------
    instance
        The problem.
    stops
        The route.
    kind
        Index of its type of vehicle.
    """
    if not instance.has_times:
        return 0.0
    vehicle, times = instance.fleet[kind], schedule_route(instance, stops, kind)
    late = zip(times.stops, lateness_of(instance, times), strict=True)
    hard = [seconds for stop, seconds in late if not _may_be_late(instance, stop.customer)]
    longest = math.inf if vehicle.max_duration is None else vehicle.max_duration
    if vehicle.overtime is not None:
        longest = min(longest, vehicle.overtime.after + vehicle.overtime.at_most)
    over = max(0.0, times.end - latest_end(instance, vehicle)), max(0.0, times.duration - longest)
    return math.fsum([*hard, *over])


def _may_be_late(instance: Instance, node: int) -> bool:
    costs = instance.late_costs
    return costs is not None and node <= instance.size and math.isfinite(costs[node])
