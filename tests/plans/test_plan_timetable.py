"""The timetable of routes as JSON."""

from __future__ import annotations

from dynaroute.formats import instance_from_json
from dynaroute.plans.timetable import describe_timetable
from dynaroute.problem.fleet import VehicleType, name_vehicles
from dynaroute.problem.solution import Solution


def test_stop_tells_its_arrival_waiting_and_slack() -> None:
    day = instance_from_json(
        {
            "version": 2,
            "capacity": 10,
            "speed": 1000 / 60,
            "depot": {"x": 0, "y": 0, "window": ["08:00", "18:00"]},
            "customers": [
                {"x": 10000, "y": 0, "demand": 4, "service": "5 min", "window": ["09:00", "10:00"]},
                {"x": 20000, "y": 0, "demand": 3, "window": ["08:00", "09:10"]},
                {"x": 20000, "y": 0, "demand": 1},
            ],
        }
    )
    (route,) = describe_timetable(day, Solution(((1, 2, 3),)))

    assert (route["departure"], route["end"], route["distance"]) == (8 * 3600 + 50 * 60, 9 * 3600 + 35 * 60, 40000)
    assert [stop["arrival"] for stop in route["stops"]] == [9 * 3600, 9 * 3600 + 900, 9 * 3600 + 900]
    assert [stop["slack"] for stop in route["stops"]] == [3600, -300, None]
    assert [stop["loads"] for stop in route["stops"]] == [[4], [7], [8]]
    assert (route["loads"], route["capacities"]) == ([8], [10])


def test_timetable_without_travel_times_has_lengths_and_loads() -> None:
    day = instance_from_json({"capacity": 5, "depot": {"x": 0, "y": 0}, "customers": [{"x": 3, "y": 4, "demand": 2}]})
    (route,) = describe_timetable(day, Solution(((1,),)))

    assert (route["departure"], route["distance"], route["stops"][0]["distance"]) == (None, 10, 5)


def test_timetable_shows_every_dimension_of_loads() -> None:
    day = instance_from_json(
        {
            "version": 3,
            "depot": {"x": 0, "y": 0},
            "customers": [{"x": 3, "y": 4, "demand": {"kg": 30, "pallets": 1}}],
            "vehicles": [{"name": "van", "capacity": {"kg": 100, "pallets": 2}, "count": 1, "fixed_cost": 20}],
        }
    )
    (route,) = describe_timetable(day, Solution(((1,),)))

    assert (route["loads"], route["capacities"], route["called"], route["cost"]) == ([30, 1], [100, 2], "van", 30)


def test_vehicles_of_a_type_are_numbered_from_the_second_on() -> None:
    fleet = [VehicleType(5, "Sprinter"), VehicleType(5, "Sprinter 2"), VehicleType(5)]
    kinds = [0, 1, 0, 2, 0, 2]
    names = ["Sprinter", "Sprinter 2", "Sprinter 3", "Vehicle 1", "Sprinter 4", "Vehicle 2"]
    assert name_vehicles(fleet, kinds) == names
