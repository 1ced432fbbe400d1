"""A small delivery day for tests of the dispatcher's desk, and plans of it."""

from __future__ import annotations

from typing import Any

from dynaroute.formats import instance_from_json
from dynaroute.plans import Plan
from dynaroute.problem.solution import Solution

__all__ = ["DAY", "ROUTES", "make_day_plan", "plan_document"]

# Distances are minutes: the speed is one unit a minute. Two Sprinters and a bike start at 08:00.
DAY: dict[str, Any] = {
    "version": 2,
    "name": "day",
    "speed": 1 / 60,
    "depot": {"x": 0, "y": 0, "window": ["08:00", "18:00"]},
    "vehicles": [
        {"name": "Sprinter", "capacity": 10, "count": 2, "shift": ["08:00", "18:00"]},
        {"name": "Bike", "capacity": 3, "count": 1, "shift": ["08:00", "18:00"]},
    ],
    "customers": [
        {"id": "Bakery", "x": 0, "y": 20, "demand": 3, "service": "10 min", "window": ["08:00", "09:00"]},
        {"id": "School", "x": 0, "y": 40, "demand": 3, "service": "10 min", "window": ["08:00", "10:00"]},
        {"id": "Clinic", "x": 20, "y": 40, "demand": 2, "service": "10 min", "window": ["08:00", "12:00"]},
        {"id": "Museum", "x": 20, "y": 0, "demand": 3, "service": "10 min", "window": ["08:00", "09:00"]},
        {"id": "Market", "x": 40, "y": 0, "demand": 3, "service": "10 min", "window": ["08:00", "12:00"]},
        {"id": "Library", "x": 40, "y": -20, "demand": 2, "service": "10 min", "window": ["08:00", "17:00"]},
        {"id": "Florist", "x": -5, "y": 0, "demand": 1, "service": "5 min", "window": ["13:00", "17:00"]},
    ],
}
ROUTES = [[1, 2, 3], [4, 5, 6], [7]]


def make_day_plan(routes: list[list[int]] | None = None, **changed: Any) -> Plan:
    """The day with the Sprinters in the north and east, and the bike in the afternoon."""
    chosen = ROUTES if routes is None else routes
    kinds = (0, 0, 1)[: len(chosen)]
    return Plan(instance_from_json({**DAY, **changed}), Solution(tuple(map(tuple, chosen)), vehicles=kinds))


def plan_document(routes: list[list[int]] | None = None, **changed: Any) -> dict[str, Any]:
    """The same as JSON."""
    chosen = ROUTES if routes is None else routes
    return {"instance": {**DAY, **changed}, "routes": chosen, "vehicles": ["Sprinter", "Sprinter", "Bike"]}
