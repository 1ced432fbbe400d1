"""Timetables and prices of routes with any rules agree with those of the independent checker."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from rich_problems import RULE_MAKERS, draw_problem, draw_routes

from dynaroute.problem.driving import time_route
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.judge import price_all
from dynaroute.problem.judging.drive import drive_route
from dynaroute.problem.solution import Solution, check
from dynaroute.problem.timetable import schedule_route
from dynaroute.problem.working_day import Break

LINE = np.array([[0.0, 0], [10, 0], [20, 0], [30, 0]])


@pytest.mark.parametrize("seed", range(100))
def test_times_and_prices_agree_with_the_checker_under_any_rules(seed: int) -> None:
    random = np.random.default_rng(seed)
    rules = set(random.choice(sorted(RULE_MAKERS), int(random.integers(1, 7)), replace=False).tolist())
    instance = draw_problem(random, rules)
    plan = draw_routes(random, instance)
    for route, kind in zip(plan.routes, plan.vehicles or (), strict=True):
        judged, times = drive_route(instance, route, instance.fleet[kind]), time_route(instance, route, kind)
        assert times.end == pytest.approx(judged.end)
        assert times.departure == pytest.approx(judged.departure)
        assert times.driving == pytest.approx(judged.driving)
        assert times.late_cost == pytest.approx(judged.late_cost)
    vehicles = [instance.fleet[kind] for kind in plan.vehicles or ()]
    assert plan.cost(instance) == pytest.approx(price_all(instance, plan.routes, vehicles))
    check(instance, plan)  # whatever is wrong is said without an error


def line(windows: Any = None, **vehicle: Any) -> Instance:
    """Three customers on a line, 10 seconds from one to the next."""
    vehicles = (VehicleType(9, **vehicle),)
    return Instance(LINE, np.array([0, 1, 1, 1]), 9, vehicles=vehicles, speed=1.0, windows=windows)


def test_a_break_is_taken_while_the_vehicle_stands_and_counts_as_work() -> None:
    times = schedule_route(line(breaks=(Break(5, (12, 25)),), shift=(0, 70)), (1, 2, 3), 0)
    (start, end, after), *others = times.breaks
    assert not others
    assert (start, end) == (20, 25)
    assert after in (1, 2)
    assert times.duration == 65


def test_a_break_falls_into_waiting() -> None:
    windows = [[0, math.inf], [10, 10], [40, 50], [0, math.inf]]
    instance = line(windows, breaks=(Break(5, (12, 25)),), shift=(0, 100))
    times = schedule_route(instance, (1, 2, 3), 0)
    assert (times.departure, times.end) == (0, 80)
    assert sum(stop.waiting for stop in times.stops) + sum(stop.rest for stop in times.stops) <= 20


@pytest.mark.parametrize("window", [(70, 80), (60, 60)])
def test_a_route_that_is_over_before_a_break_needs_none(window: tuple[float, float]) -> None:
    assert schedule_route(line(breaks=(Break(5, window),)), (1, 2, 3), 0).breaks == ()


def test_breaks_after_driving_are_as_few_as_needed() -> None:
    times = schedule_route(line(breaks=(Break(5, after_driving=30),)), (1, 2, 3), 0)
    assert len(times.breaks) == 1
    assert times.duration == 65


def test_a_leg_longer_than_driving_without_a_break_is_a_violation() -> None:
    instance = line(breaks=(Break(5, after_driving=29),))
    assert [found.kind for found in check(instance, Solution(((1, 2, 3),)))] == ["break"]
