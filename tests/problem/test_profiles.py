"""Where the speed depends on the hour, a leg goes on at the speed of the next hour, and nobody overtakes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.judging.legs import arrive_after, leave_for
from dynaroute.problem.profiles import Profile, Speeds
from dynaroute.problem.solution import Solution, check, make_timetable

HOUR = 3600.0
RUSH = (1.0,) * 7 + (0.5,) * 2 + (1.0,) * 15  # from 7 to 9
by_hour = st.lists(st.sampled_from((0.25, 0.5, 1.0, 1.5, 3.0)), min_size=24, max_size=24).map(tuple)
times = st.floats(0, 200_000)
legs = st.floats(0, 100_000)


@pytest.mark.parametrize(
    ("departure", "seconds", "arrival"),
    [
        (6 * HOUR, HOUR, 7 * HOUR),
        (6.5 * HOUR, HOUR, 8 * HOUR),
        (7 * HOUR, HOUR, 9 * HOUR),
        (8.5 * HOUR, HOUR, 9.75 * HOUR),
        (30 * HOUR, 2 * HOUR, 33 * HOUR),  # the next day
        (6.5 * HOUR, 30 * HOUR, 38.5 * HOUR),
    ],
)
def test_a_leg_goes_on_at_the_speed_of_the_next_hour(departure: float, seconds: float, arrival: float) -> None:
    assert Speeds(RUSH).arrive(departure, seconds) == pytest.approx(arrival)
    assert arrive_after(departure, seconds, RUSH) == pytest.approx(arrival)


@given(by_hour, times, legs)
def test_both_ways_to_compute_it_agree_and_lead_back(speeds: tuple[float, ...], departure: float, leg: float) -> None:
    arrival = arrive_after(departure, leg, speeds)
    assert Speeds(speeds).arrive(departure, leg) == pytest.approx(arrival, abs=1e-6)
    assert leave_for(arrival, leg, speeds) == pytest.approx(departure, abs=1e-6)
    assert Speeds(speeds).arrive(arrival, -leg) == pytest.approx(departure, abs=1e-6)


@given(by_hour, times, legs, st.floats(0, 10_000))
def test_who_departs_earlier_never_arrives_later(
    speeds: tuple[float, ...], departure: float, leg: float, later: float
) -> None:
    assert arrive_after(departure, leg, speeds) <= arrive_after(departure + later, leg, speeds) + 1e-6


def test_plans_depart_late_and_take_as_long_as_the_hours_let_them() -> None:
    instance = Instance(
        np.array([[0.0, 0.0], [HOUR, 0.0]]),
        np.array([0, 1]),
        1,
        speed=1.0,
        windows=np.array([[0, 20 * HOUR], [8 * HOUR, 8 * HOUR]]),
        vehicles=(VehicleType(1, profile="town", max_driving=3 * HOUR),),
        profiles=(Profile("town", speed_by_hour=RUSH),),
    )
    (times_of_route,) = make_timetable(instance, Solution(((1,),)))
    assert (times_of_route.departure, times_of_route.end) == (6.5 * HOUR, 9.5 * HOUR)
    assert times_of_route.driving == times_of_route.duration == 3 * HOUR
    assert check(instance, Solution(((1,),))) == []
