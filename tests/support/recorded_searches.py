"""Searches whose routes are recorded: plain problems, limits and rules, with the same seed and iterations.

python recorded_searches.py prints what is found, as JSON. With NUMBA_DISABLE_JIT=1 nothing is compiled.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from dynaroute.base.stopping import Stopping
from dynaroute.base.vocabulary import Objective
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.working_day import Break
from dynaroute.search.annealing.annealing import AnnealingSettings, RuinAndRecreate
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.searchers import Pace
from dynaroute.search.start import build_by_near_savings
from dynaroute.search.with_limits import search as searching
from dynaroute.search.with_limits.annealing import PlanSettings
from dynaroute.search.with_limits.search import search_with_limits

__all__ = ["PLAIN", "search_plain"]

Found = tuple[str, float]  # a hash of the routes, and their cost


def draw_plain(size: int, seed: int, capacity: int, **given: Any) -> Instance:
    """Customers on a grid of 1,000 by 1,000."""
    random = np.random.default_rng(seed)
    points = random.integers(0, 1000, (size + 1, 2)).astype(float)
    return Instance(points, np.r_[0, random.integers(1, 10, size)], capacity, **given)


def draw_matrix(size: int, seed: int, capacity: int) -> Instance:
    """The same with a matrix."""
    by_place = draw_plain(size, seed, capacity)
    assert by_place.coordinates is not None
    legs = by_place.coordinates[:, None] - by_place.coordinates[None]
    return Instance(None, by_place.demands, capacity, distances=np.floor(1.3 * np.hypot(legs[..., 0], legs[..., 1])))


PLAIN = {
    "small": (draw_plain(30, 0, 40, rounding="nearest"), True),
    "200 customers": (draw_plain(200, 1, 40, rounding="nearest"), True),
    "1,000 customers, not rounded": (draw_plain(1000, 2, 80), True),
    "a matrix": (draw_matrix(150, 4, 40), True),
    "coordinates": (draw_plain(400, 6, 40, rounding="nearest"), False),
}


def search_plain(name: str, iterations: int) -> Found:
    """Anneal a plain problem from savings."""
    instance, has_matrix = PLAIN[name]
    problem = SearchProblem.from_instance(instance, largest_matrix=10_000 if has_matrix else 0)
    searcher = RuinAndRecreate(problem, build_by_near_savings(problem), AnnealingSettings(), seed=1)
    searcher.run(iterations, Pace(0.0, 1 / iterations))
    return hash_routes((searcher.best_routes, searcher.present_routes)), problem.cost(searcher.best_routes)


def hash_routes(routes: object) -> str:
    """A short hash of routes."""
    return hashlib.sha256(repr(routes).encode()).hexdigest()[:16]


def draw_day(size: int, seed: int, **given: Any) -> Instance:
    """Windows and service, on a grid of 100 by 100."""
    random = np.random.default_rng(seed)
    points = random.integers(0, 100, (size + 1, 2)).astype(float)
    opens = random.integers(100, 400, size + 1).astype(float)
    windows = np.stack([opens, opens + random.integers(20, 160, size + 1)], axis=1)
    windows[0] = 0.0, 800.0
    fields: dict[str, Any] = {
        "demands": np.r_[0, random.integers(1, 9, size)],
        "windows": windows,
        "service": np.r_[0.0, np.full(size, 6.0)],
        "vehicles": (VehicleType(60, "van", count=size),),
    }
    return Instance(points, capacity=60, speed=1.0, **(fields | given))


def draw_shipments(size: int, seed: int, **given: Any) -> Instance:
    """Every odd customer sends something to the next one, before anybody's day ends."""
    demands, partners = np.zeros(size + 1, dtype=int), np.zeros(size + 1, dtype=int)
    first = np.arange(1, size, 2)
    partners[first], partners[first + 1] = first + 1, first
    demands[first + 1] = 1 + first % 7
    pickups = np.r_[demands[1:], 0]
    pickups[0] = 0
    day = draw_day(size, seed)
    assert day.coordinates is not None
    return Instance(
        day.coordinates, demands, 30, pickups=pickups, partners=partners, vehicles=(VehicleType(30, "van"),), **given
    )


_SCARCE = (VehicleType(60, "van", count=4), VehicleType(20, "bicycle", count=2, end="open"))
_LIMITED = (VehicleType(60, "van", max_duration=250.0), VehicleType(20, "bicycle", max_distance=150.0))
_COSTS = (VehicleType(60, "van", fixed_cost=40.0), VehicleType(20, "bicycle", fixed_cost=15.0, distance_cost=0.7))
_BREAKS = (VehicleType(60, "van", breaks=(Break(duration=30.0, window=(100.0, 300.0)),)),)
_RELOADS = (VehicleType(25, "van", count=6, reload=("depot",), max_trips=4, loading=5.0, fixed_cost=30.0),)


def draw_with_limits() -> dict[str, tuple[Instance, Objective, int]]:
    """Instances with limits and rules, what to minimise, and the number of iterations."""
    return {
        "windows": (draw_day(80, 0), "distance", 400),
        "few vehicles": (draw_day(50, 1, vehicles=_SCARCE), "distance", 400),
        "durations": (draw_day(50, 2, vehicles=_LIMITED), "distance", 400),
        "vehicles first": (draw_day(50, 3), "vehicles", 400),
        "costs": (draw_day(40, 4, windows=None, vehicles=_COSTS), "distance", 60),
        "shipments": (draw_shipments(30, 5), "distance", 40),
        "prizes": (draw_day(40, 6, windows=None, prizes=np.full(41, 40.0)), "distance", 60),
        "shipments and prizes": (draw_shipments(30, 7, prizes=np.full(31, 60.0)), "distance", 40),
        "breaks": (draw_day(30, 8, vehicles=_BREAKS), "distance", 40),
        "reloads": (draw_day(20, 9, windows=None, vehicles=_RELOADS), "distance", 20),
        "groups": (draw_day(30, 10, same_vehicle=("", *"aabbccddeeffgghhiijjkkllmmnnoo")), "distance", 40),
    }


def search_limited(instance: Instance, objective: Objective, iterations: int) -> Found:
    """Search from nothing."""
    outcome = search_with_limits(instance, None, Stopping(iterations=iterations), objective=objective, seed=1)
    return hash_routes((outcome.solution.routes, outcome.solution.vehicles)), outcome.cost


if __name__ == "__main__":
    searching._SLOW_COOLEST = PlanSettings().coolest  # problems with rules cool further since the records were made
    found = {name: search_plain(name, 100) for name in PLAIN}
    found |= {name: search_limited(*given) for name, given in draw_with_limits().items()}
    print(json.dumps(found, indent=4))
