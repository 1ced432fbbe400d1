"""Search problems with a rule beside the same ones without it whose answer is known to be equal.

python reductions.py: as a process of its own with NUMBA_DISABLE_JIT=1, so that nothing is compiled. Prints a line of
JSON for each reduction: its name, and the costs of both.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dynaroute.base.stopping import Stopping
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.profiles import Profile
from dynaroute.problem.solution import check
from dynaroute.search.with_limits.search import search_with_limits

_ITERATIONS = 200


def make_day(**fields: Any) -> Instance:
    """Four customers with a window each, and two types of vehicles with prices."""
    usual: dict[str, Any] = {
        "coordinates": np.array([[0.0, 0.0], [9.0, 2.0], [-4.0, 7.0], [3.0, -8.0], [-6.0, -1.0]]),
        "demands": np.array([0, 2, 3, 2, 4]),
        "capacity": 7,
        "speed": 1.0,
        "service": np.array([0.0, 2, 2, 2, 2]),
        "windows": np.array([[0, 90], [5, 20], [10, 30], [0, 60], [40, 50]], dtype=float),
        "vehicles": (VehicleType(7, "a", fixed_cost=5.0), VehicleType(5, "b", time_cost=0.25)),
    }
    return Instance(**usual | fields)


def two_windows() -> tuple[Instance, Instance]:
    """A second window of two customers: as a window, and as an alternative at the same place."""
    day = make_day()
    assert day.coordinates is not None and day.windows is not None and day.service is not None
    windows = np.repeat(day.windows[:, None], 2, axis=1)
    later = {1: (45.0, 55.0), 4: (65.0, 80.0)}
    for customer, window in later.items():
        windows[customer, 1] = window
    twice = [0, 1, 2, 3, 4, *later]
    alternatives = replace(
        day,
        coordinates=day.coordinates[twice],
        demands=day.demands[twice],
        service=day.service[twice],
        windows=np.vstack([day.windows, list(later.values())]),
        one_of=("", "1", "", "", "4", "1", "4"),
    )
    return replace(day, windows=windows), alternatives


def no_least_number() -> tuple[Instance, Instance]:
    """The number of vehicles that is best anyway, as the least."""
    day = make_day()
    best = search_with_limits(day, None, Stopping(iterations=_ITERATIONS), seed=1).solution.vehicles or ()
    fleet = tuple(replace(kind, min_vehicles=best.count(index)) for index, kind in enumerate(day.fleet))
    return day, replace(day, vehicles=fleet)


def crowded() -> tuple[Instance, Instance]:
    """A price of compact routes that is too low to change anything, paid by the routes that are best without it."""
    day = make_day()
    compact = replace(day, compactness=1e-6)
    return day, compact


def always_alike() -> tuple[Instance, Instance]:
    """Half the speed at all hours: of the usual one by a factor for each hour, and as a factor of the vehicles."""
    profile = Profile("slow", speed_by_hour=(0.5,) * 24)
    day = make_day(windows=None)
    fleet = [replace(kind, time_cost=1.0, max_duration=100.0) for kind in day.fleet]
    by_hour = tuple(replace(kind, profile="slow") for kind in fleet)
    by_factor = tuple(replace(kind, speed_factor=0.5) for kind in fleet)
    return replace(day, vehicles=by_factor), replace(day, vehicles=by_hour, profiles=(profile,))


REDUCTIONS: dict[str, Callable[[], tuple[Instance, Instance]]] = {
    "two windows are two alternatives": two_windows,
    "as many vehicles as are best": no_least_number,
    "compact routes that cost nearly nothing": crowded,
    "the same speed at all hours": always_alike,
}


def find_cost(instance: Instance) -> float:
    """The cost of the best plan found."""
    solution = search_with_limits(instance, None, Stopping(iterations=_ITERATIONS), seed=1).solution
    assert check(instance, solution) == []
    return solution.cost(instance)


if __name__ == "__main__":
    for name, make in REDUCTIONS.items():
        print(json.dumps([name, *map(find_cost, make())]))
