"""Random instances: those of the paper and of the X set, the published test sets, and RouteFinder's (`variants`).

Every function draws whole arrays at once and takes its random state as an argument. Begin with `paper`, or with
`drawing` for training. It may import `base`, `problem`, `formats` and `batch`.
"""

from dynaroute.base.vocabulary import CustomerPositions, DemandKind, DepotPosition
from dynaroute.draw.distribution import (
    CLUSTER_DECAY,
    CLUSTER_SEEDS,
    DEMAND_RANGES,
    GRID,
    LARGE_DEMANDS,
    RICH_QUADRANTS,
    ROUTE_LENGTHS,
)
from dynaroute.draw.paper import (
    PUBLISHED_SETS,
    InstanceArrays,
    PublishedSet,
    draw_paper_set,
    draw_published_set,
    published_set,
    usual_capacity,
)
from dynaroute.draw.x_set import XSettings, draw_x_set

__all__ = [
    "CLUSTER_DECAY",
    "CLUSTER_SEEDS",
    "DEMAND_RANGES",
    "GRID",
    "LARGE_DEMANDS",
    "PUBLISHED_SETS",
    "RICH_QUADRANTS",
    "ROUTE_LENGTHS",
    "CustomerPositions",
    "DemandKind",
    "DepotPosition",
    "InstanceArrays",
    "PublishedSet",
    "XSettings",
    "draw_paper_set",
    "draw_published_set",
    "draw_x_set",
    "published_set",
    "usual_capacity",
]
