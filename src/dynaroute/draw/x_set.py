"""Instances like those of the X set (Uchoa et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np

from dynaroute.base.errors import OptionError
from dynaroute.base.vocabulary import CustomerPositions, DemandKind, DepotPosition
from dynaroute.draw.distribution import CLUSTER_SEEDS, MOST_SEEDS, Part
from dynaroute.draw.paper import InstanceArrays, refuse_below_one, refuse_large_set

LARGEST_X_SIZE = 100_000  # a tenth of the grid's cells, since no two customers share a cell
_AT_ONCE = 1 << 20  # customers that are drawn together


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
        "many-small": 1-10, but 50-100 for 1.5 customers per route. The X set uses all of them except 1-9, which is the
        paper's.
    route_length
        r, the average number of customers per route: the capacity is ceil(r * total demand / n), or floor(r) for unit
        demands, but at least the largest demand. None draws r for each instance from a triangular distribution (3, 6,
        25).
    cluster_seeds
        Number of cluster seeds, up to 32. None draws 3 to 8 for each instance.

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
            if self.cluster_seeds > MOST_SEEDS:
                raise OptionError.about("cluster_seeds", f"it is {self.cluster_seeds}.", f"Use {MOST_SEEDS} or fewer.")

    @property
    def part(self) -> Part:
        """The same as a part of a distribution."""
        seeds, length = self.cluster_seeds, self.route_length
        return Part(
            sizes=(self.size, self.size),
            customers=(self.customers,),
            depots=(self.depot,),
            demands=(self.demands,),
            route_lengths="x" if length is None else (length, length),
            coordinates="grid",
            cluster_seeds=CLUSTER_SEEDS if seeds is None else (seeds, seeds),
        )


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
    import torch

    from dynaroute.draw.drawing import draw_on_grid

    source = torch.Generator().manual_seed(int(generator.integers(1 << 63)))
    rows = max(1, _AT_ONCE // settings.size)
    counts = [min(rows, count - begun) for begun in range(0, count, rows)]
    drawn = zip(*(draw_on_grid(settings.part, wanted, source) for wanted in counts), strict=True)
    points, demands, capacity = (torch.cat(part).numpy() for part in drawn)
    places = points.astype(np.float64)
    return InstanceArrays(places[:, 0], places[:, 1:], demands[:, 1:], capacity, "nearest")
