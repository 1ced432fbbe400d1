"""Lengths and times of legs, windows and services, one by one, for `check`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.lengths import EARTH_RADIUS_METRES

_Route = Sequence[int]


def measure_legs(instance: Instance, route: _Route, vehicle: VehicleType) -> list[float]:
    """Measure the legs of a route one by one."""
    nodes = list_nodes(instance, route, vehicle)
    return [measure_leg(instance, start, end, vehicle.profile) for start, end in pairwise(nodes)]


def measure_leg(instance: Instance, start: int, end: int, name: str = "") -> float:
    """Measure one leg, as driven in the profile with this name, if any."""
    for profile in instance.profiles:
        if profile.name == name and profile.distances is not None:
            return float(profile.distances[start, end])
    if instance.distances is not None:
        return float(instance.distances[start, end])
    assert instance.coordinates is not None
    (first_1, second_1), (first_2, second_2) = instance.coordinates[start].tolist(), instance.coordinates[end].tolist()
    if instance.metric == "great_circle":
        length = _globe_metres(first_1, second_1, first_2, second_2)
    else:
        # square root of the sum of squares, as CVRPLIB defines it; hypot may differ in the last digit
        width, height = first_1 - first_2, second_1 - second_2
        length = math.sqrt(width * width + height * height)
    if instance.rounding == "nearest":
        return float(math.floor(length + 0.5))
    if instance.rounding == "up":
        return float(math.ceil(length))
    return length


def list_nodes(instance: Instance, route: _Route, vehicle: VehicleType) -> tuple[int, ...]:
    """List the nodes of a route from its start to its end."""
    start = instance.node_of(vehicle.start)
    return (start, *route) if vehicle.end == "open" else (start, *route, instance.node_of(vehicle.end))


def seconds_of_leg(instance: Instance, start: int, end: int, vehicle: VehicleType) -> float:
    """Seconds that a vehicle drives from one node to another."""
    for profile in instance.profiles:
        if profile.name == vehicle.profile and profile.durations is not None:
            return float(profile.durations[start, end]) / vehicle.speed_factor
    if instance.durations is not None:
        return float(instance.durations[start, end]) / vehicle.speed_factor
    instance.require_times()
    assert instance.speed is not None
    return measure_leg(instance, start, end, vehicle.profile) / instance.speed / vehicle.speed_factor


def find_hours(instance: Instance, vehicle: VehicleType) -> tuple[float, ...]:
    """Find how many times faster a vehicle drives in each hour of the day; nothing if always alike."""
    return next((each.speed_by_hour for each in instance.profiles if each.name == vehicle.profile), ())


def arrive_after(clock: float, seconds: float, hours: Sequence[float]) -> float:
    """Drive on from a time, hour by hour, for so many seconds at the usual speed."""
    if not hours or math.isinf(clock):
        return clock + seconds
    hour = math.floor(clock / 3600)
    while (ahead := ((hour + 1) * 3600 - clock) * hours[hour % 24]) < seconds:
        clock, seconds, hour = (hour + 1) * 3600.0, seconds - ahead, hour + 1
    return clock + seconds / hours[hour % 24]


def leave_for(clock: float, seconds: float, hours: Sequence[float]) -> float:
    """Find when to leave to arrive at a time, hour by hour backwards."""
    if not hours or math.isinf(clock):
        return clock - seconds
    hour = math.ceil(clock / 3600) - 1
    while (behind := (clock - hour * 3600) * hours[hour % 24]) < seconds:
        clock, seconds, hour = hour * 3600.0, seconds - behind, hour - 1
    return clock - seconds / hours[hour % 24]


def seconds_of_stop(instance: Instance, node: int, vehicle: VehicleType) -> float:
    """Seconds that serving a customer takes, or loading again."""
    if 1 <= node <= instance.size:
        return 0.0 if instance.service is None else float(instance.service[node]) * vehicle.service_factor
    return vehicle.loading + (0.0 if node == 0 else instance.places[node - instance.size - 1].loading)


def list_windows(instance: Instance, node: int) -> list[tuple[float, float]]:
    """List the windows of a node, in order."""
    if node > instance.size:
        return [instance.places[node - instance.size - 1].bounds]
    if instance.windows is None:
        return [(0.0, math.inf)]
    buffer = instance.buffer if node > 0 else 0.0
    return [(earliest, latest - buffer) for earliest, latest in instance.windows[node].reshape(-1, 2).tolist()]


def _globe_metres(latitude_1: float, longitude_1: float, latitude_2: float, longitude_2: float) -> float:
    """Measure great-circle metres by Vincenty's formula for a sphere, deliberately not the solver's formula.

    Rounded to the micrometre like the instance's lengths: the formulas differ by nanometres.
    """
    phi_1, phi_2 = math.radians(latitude_1), math.radians(latitude_2)
    turn = math.radians(longitude_2 - longitude_1)
    across = math.cos(phi_2) * math.sin(turn)
    ahead = math.cos(phi_1) * math.sin(phi_2) - math.sin(phi_1) * math.cos(phi_2) * math.cos(turn)
    level = math.sin(phi_1) * math.sin(phi_2) + math.cos(phi_1) * math.cos(phi_2) * math.cos(turn)
    return round(EARTH_RADIUS_METRES * math.atan2(math.hypot(across, ahead), level), 6)
