"""Problems with fleets, for tests of the search."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance


def make_delivery_day(size: int = 25, seed: int = 0, **vehicle: Any) -> Instance:
    """Windows, service and a fleet of two types, with more vehicles than are needed."""
    generator = np.random.default_rng(seed)
    points = generator.uniform(0, 60, (size + 1, 2))
    opens = np.hypot(*(points - points[0]).T) + generator.uniform(0, 200, size + 1)  # nobody is out of reach
    windows = np.stack([opens, opens + generator.uniform(40, 120, size + 1)], axis=1)
    windows[0] = 0.0, 500.0
    limits = {"max_duration": 400.0, "count": size} | vehicle
    return Instance(
        points,
        np.r_[0, generator.integers(1, 9, size)],
        40,
        vehicles=(VehicleType(40, "van", **limits), VehicleType(15, "bicycle", max_distance=150.0)),
        service=np.r_[0.0, np.full(size, 6.0)],
        windows=windows,
        speed=1.0,
    )


def make_kind(is_open: bool, is_limited: bool, has_windows: bool, size: int = 50, seed: int = 0) -> Instance:
    """One of the eight kinds that neural solvers are compared on: the unit square, capacity 40, demands 1 to 9.

    After Zhou et al., "MVMoE" (2024): routes of length 3 at most; windows within [0, 4.6], service of 0.15 to 0.2, at a
    speed of 1. Everybody can be served by a vehicle of his own.
    """
    generator = np.random.default_rng(seed)
    points = generator.uniform(size=(size + 1, 2))
    vehicle = VehicleType(40, max_distance=3.0 if is_limited else None, end="open" if is_open else "depot")
    given: dict[str, Any] = {}
    if has_windows:
        away = np.hypot(*(points - points[0]).T)
        service, width = generator.uniform(0.15, 0.18, size + 1), generator.uniform(0.18, 0.2, size + 1)
        least = away
        most = 4.6 - service - width - away
        opens = least + (most - least) * generator.uniform(size=size + 1)
        windows = np.stack([opens, opens + width], axis=1)
        windows[0], service[0] = (0.0, 4.6), 0.0
        given = {"windows": windows, "service": service, "speed": 1.0}
    return Instance(points, np.r_[0, generator.integers(1, 10, size)], 40, vehicles=(vehicle,), **given)


LINE = np.array([[0.0, 0.0], [10.0, 0.0], [20.0, 0.0], [30.0, 0.0]])


def make_line(**parts: object) -> Instance:
    """Customers 10, 20 and 30 away, a unit of distance a second."""
    given: dict[str, object] = {"demands": [0, 1, 1, 1], "capacity": 3, "speed": 1.0, **parts}
    return Instance(LINE, **given)  # type: ignore[arg-type]
