"""Times of routes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fleet_problems import LINE, make_line
from fleet_strategies import fleet_instances
from hypothesis import given
from hypothesis import strategies as st

from dynaroute.base.errors import InstanceError
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, make_timetable
from dynaroute.problem.timetable import schedule_route


def test_a_vehicle_leaves_as_late_as_does_no_harm() -> None:
    instance = make_line(windows=[[0, math.inf], [50, 60], [0, 62], [0, math.inf]])
    (times,) = make_timetable(instance, Solution(((1, 2, 3),)))
    assert times.departure == 40
    assert [stop.start for stop in times.stops] == [50, 60, 70]
    assert times.waiting == 0 and times.end == 100 and times.duration == 60


def test_a_later_window_that_closes_soon_keeps_the_departure_early() -> None:
    instance = make_line(windows=[[0, math.inf], [0, 12], [50, 60], [0, math.inf]])
    (times,) = make_timetable(instance, Solution(((1, 2, 3),)))
    assert times.departure == 2
    assert times.stops[1].waiting == 28


def test_who_is_late_is_served_on_arrival() -> None:
    instance = make_line(windows=[[0, math.inf], [0, math.inf], [0, 5], [0, math.inf]])
    (times,) = make_timetable(instance, Solution(((2, 3),)))
    assert times.stops[0].start == times.stops[0].arrival == 20


def test_an_open_route_ends_when_its_last_service_ends() -> None:
    instance = make_line(vehicles=(VehicleType(3, end="open"),), service=[0, 1, 1, 7])
    (times,) = make_timetable(instance, Solution(((1, 2, 3),)))
    assert (times.end, times.distance) == (39, 30)


def test_a_shift_begins_the_route() -> None:
    instance = make_line(vehicles=(VehicleType(3, shift=(100, 300)),))
    assert make_timetable(instance, Solution(((1,),)))[0].departure == 100


def test_the_stops_tell_what_was_driven_and_delivered_so_far() -> None:
    (times,) = make_timetable(make_line(), Solution(((1, 2, 3),)))
    assert [(stop.distance, stop.load) for stop in times.stops] == [(10, 1), (20, 2), (30, 3)]
    assert (times.distance, times.load) == (60, 3)


def test_without_a_speed_there_is_no_timetable() -> None:
    with pytest.raises(InstanceError, match="speed"):
        make_timetable(Instance(LINE, np.array([0, 1, 1, 1]), 3), Solution(((1,),)))


@given(fleet_instances(), st.data())
def test_no_departure_that_makes_nobody_later_has_a_shorter_route(instance: Instance, data: st.DataObject) -> None:
    route = data.draw(st.permutations(range(1, instance.size + 1)))
    times = schedule_route(instance, route, 0)
    at_once = _drive(instance, route, 0.0 if instance.windows is None else float(instance.windows[0, 0]))
    latest = [math.inf] * instance.size if instance.windows is None else instance.windows[route, 1].tolist()
    for delay in np.linspace(0, 200, 80):
        starts = _drive(instance, route, times.departure + delay)
        if all(s <= max(late, first) + 1e-9 for s, late, first in zip(starts, latest, at_once, strict=True)):
            assert starts[-1] - (times.departure + delay) >= times.stops[-1].start - times.departure - 1e-6


def _drive(instance: Instance, route: list[int], departure: float) -> list[float]:
    starts, clock = [], departure
    for start, end in zip([0, *route], route, strict=False):
        clock += float(instance.leg_durations(start, end))
        clock = max(clock, 0.0 if instance.windows is None else float(instance.windows[end, 0]))
        starts.append(clock)
        clock += 0.0 if instance.service is None else float(instance.service[end])
    return starts
