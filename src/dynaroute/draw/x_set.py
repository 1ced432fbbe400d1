"""Instances like those of the X set (Uchoa et al. 2017)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import OptionError
from dynaroute.base.vocabulary import CustomerPositions, DemandKind, DepotPosition
from dynaroute.draw.paper import LARGEST_PAPER_DEMAND, InstanceArrays, refuse_below_one, refuse_large_set

__all__ = [
    "CLUSTER_DECAY",
    "CLUSTER_SEEDS",
    "DEMAND_RANGES",
    "GRID",
    "LARGE_DEMANDS",
    "RICH_QUADRANTS",
    "ROUTE_LENGTHS",
    "XSettings",
    "draw_x_set",
]

LARGEST_X_SIZE = 100_000  # a tenth of the grid's cells, since no two customers share a cell

GRID = 1000  # the X set's coordinates are whole numbers from 0 to this
CLUSTER_DECAY = 40.0
CLUSTER_SEEDS = (3, 8)
ROUTE_LENGTHS = (3.0, 6.0, 25.0)  # r is triangular: least, most likely, most
_SMALL_PARTS = (0.70, 0.95)  # of the customers, with many small demands
LARGE_DEMANDS = (50, 100)  # of the others
RICH_QUADRANTS = 50  # added to demands in two of the four quadrants
DEMAND_RANGES: dict[DemandKind, tuple[int, int]] = {
    "unitary": (1, 1),
    "1-9": (1, LARGEST_PAPER_DEMAND),
    "1-10": (1, 10),
    "5-10": (5, 10),
    "1-100": (1, 100),
    "50-100": (50, 100),
    "quadrant": (1, 50),  # in the poor ones
    "many-small": (1, 10),  # the small ones
}

_Cells = NDArray[np.int64]  # grid points as x * (GRID + 1) + y, so that sets of them are sets of numbers


@dataclass(frozen=True)
class XSettings:
    """Settings for instances like those of the X set (Uchoa et al. 2017, section 4).

    Parameters
    ----------
    size
        Number of customers.
    customers
        Uniform over the grid; clustered around seeds, which are customers themselves; or mixed, half of each.
    depot
        In the centre (500, 500), in the corner (0, 0), or at random.
    demands
        A range of whole numbers; "quadrant": 51-100 in the lower left and upper right quadrants, 1-50 in the others;
        "many-small": 70 % to 95 % of the customers from 1-10, the others from 50-100. The X set uses all of them except
        1-9, which is the paper's.
    route_length
        r, the average number of customers per route: the capacity is ceil(r * total demand / n), but at least the
        largest demand. None draws r for each instance from a triangular distribution (3, 6, 25).
    cluster_seeds
        Number of cluster seeds. None draws 3 to 8 for each instance.

    Raises
    ------
    OptionError
        If a setting is invalid.
    """

    size: int
    customers: CustomerPositions = "uniform"
    depot: DepotPosition = "centre"
    demands: DemandKind = "unitary"
    route_length: float | None = None
    cluster_seeds: int | None = None

    def __post_init__(self) -> None:
        refuse_below_one(self.size, "size")
        if self.size > LARGEST_X_SIZE:
            raise OptionError.about(
                "size", f"{self.size} customers are too many for the grid.", f"Use {LARGEST_X_SIZE} or fewer."
            )
        for field, kinds in (("customers", CustomerPositions), ("depot", DepotPosition), ("demands", DemandKind)):
            value, known = getattr(self, field), get_args(kinds)
            if value not in known:
                raise OptionError.about(field, f"{value!r} is unknown.", f"Use one of {', '.join(known)}.")
        if self.route_length is not None and not 1 <= self.route_length <= LARGEST_X_SIZE:
            message = f"a route cannot hold {self.route_length} customers."
            raise OptionError.about("route_length", message, f"Use 1 to {LARGEST_X_SIZE}.")
        if self.cluster_seeds is not None:
            refuse_below_one(self.cluster_seeds, "cluster_seeds")


def draw_x_set(settings: XSettings, count: int, generator: np.random.Generator) -> InstanceArrays:
    """Draw instances like those of the X set: integer coordinates 0 to 1000, legs rounded to the nearest integer.

    No two nodes share a place. To train a policy, divide by 1000 and drop the rounding.

    Parameters
    ----------
    settings
        What the instances look like.
    count
        Number of problems.
    generator
        Source of randomness; the same state gives the same problems.
    """
    refuse_large_set(settings.size, count)
    depot = np.empty((count, 2), dtype=np.int64)
    locations = np.empty((count, settings.size, 2), dtype=np.int64)
    demands = np.empty((count, settings.size), dtype=np.int64)
    capacity = np.empty(count, dtype=np.int64)
    for row in range(count):
        depot[row] = _draw_depot(settings.depot, generator)
        locations[row] = _draw_customers(settings, depot[row], generator)
        demands[row] = _draw_demands(settings.demands, locations[row], generator)
        capacity[row] = _fit_capacity(settings.route_length, demands[row], generator)
    return InstanceArrays(depot.astype(np.float64), locations.astype(np.float64), demands, capacity, "nearest")


def _draw_depot(position: DepotPosition, generator: np.random.Generator) -> NDArray[np.int64]:
    if position == "centre":
        return np.array([GRID // 2, GRID // 2])
    if position == "corner":
        return np.array([0, 0])
    return generator.integers(0, GRID, 2, endpoint=True)


def _draw_customers(settings: XSettings, depot: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    def anywhere(wanted: int) -> _Cells:
        return generator.integers(0, (GRID + 1) ** 2, wanted)

    def near_seeds(wanted: int) -> _Cells:
        return _propose_near(seeds, wanted, generator)

    scattered = {"uniform": settings.size, "clustered": 0, "mixed": settings.size // 2}[settings.customers]
    seed_count = (
        settings.cluster_seeds
        if settings.cluster_seeds is not None
        else int(generator.integers(*CLUSTER_SEEDS, endpoint=True))
    )
    seed_count = min(seed_count, settings.size - scattered)

    cells = _cells_of(depot[None, :])
    cells = _add_distinct(cells, scattered + seed_count, anywhere)
    seeds = _points_of(cells[len(cells) - seed_count :])
    cells = _add_distinct(cells, settings.size - scattered - seed_count, near_seeds)
    return _points_of(cells[1:])


def _add_distinct(cells: _Cells, wanted: int, propose: Callable[[int], _Cells]) -> _Cells:
    """Add cells until the wanted number is reached; `propose` offers at most as many as it is asked for."""
    target = len(cells) + wanted
    while len(cells) < target:
        candidates = np.concatenate([cells, propose(target - len(cells))])
        first_seen = np.unique(candidates, return_index=True)[1]
        cells = candidates[np.sort(first_seen)]
    return cells


def _propose_near(seeds: NDArray[np.int64], wanted: int, generator: np.random.Generator) -> _Cells:
    """Draw cells with probability proportional to the sum over seeds of exp(-distance / 40).

    Each seed contributes the same density, whose radius is Gamma(2, 40) distributed. So pick a seed, step away from it,
    and reject what falls off the grid. The rest has the wanted density, up to rounding to integers.
    """
    centres = seeds[generator.integers(0, len(seeds), wanted)]
    radius = generator.gamma(2.0, CLUSTER_DECAY, wanted)
    angle = generator.uniform(0.0, 2 * math.pi, wanted)
    steps = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    points = np.rint(centres + steps).astype(np.int64)
    return _cells_of(points[((points >= 0) & (points <= GRID)).all(axis=1)])


def _cells_of(points: NDArray[np.int64]) -> _Cells:
    return points[:, 0] * (GRID + 1) + points[:, 1]


def _points_of(cells: _Cells) -> NDArray[np.int64]:
    return np.stack(np.divmod(cells, GRID + 1), axis=1)


def _draw_demands(kind: DemandKind, locations: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    size = len(locations)
    if kind == "many-small":
        is_small = generator.random(size) < generator.uniform(*_SMALL_PARTS)
        limits = (DEMAND_RANGES[kind], LARGE_DEMANDS)
        small, large = (generator.integers(*each, size, endpoint=True) for each in limits)
        return np.where(is_small, small, large)
    drawn = generator.integers(*DEMAND_RANGES[kind], size, endpoint=True)
    if kind != "quadrant":
        return drawn
    right, upper = (locations >= GRID / 2).T
    return drawn + np.where(right == upper, RICH_QUADRANTS, 0)


def _fit_capacity(route_length: float | None, demands: NDArray[np.int64], generator: np.random.Generator) -> int:
    length = generator.triangular(*ROUTE_LENGTHS) if route_length is None else route_length
    fitted = math.ceil(length * int(demands.sum()) / len(demands))
    return max(fitted, int(demands.max()))
