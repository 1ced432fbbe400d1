"""Random instances: the paper's distribution, the published test sets, and the X set's distribution.

Every function draws whole arrays at once and takes its random state as an argument.
"""

from dynaroute.base.vocabulary import CustomerPositions, DemandKind, DepotPosition
from dynaroute.draw.arrays import InstanceArrays
from dynaroute.draw.paper import (
    PUBLISHED_SETS,
    PublishedSet,
    draw_paper_set,
    draw_published_set,
    published_set,
    usual_capacity,
)
from dynaroute.draw.x_set import (
    CLUSTER_DECAY,
    CLUSTER_SEEDS,
    DEMAND_RANGES,
    GRID,
    LARGE_DEMANDS,
    RICH_QUADRANTS,
    ROUTE_LENGTHS,
    XSettings,
    draw_x_set,
)

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
