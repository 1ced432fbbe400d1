"""Where the nodes of an instance are on a map, and the map's scale."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import UnsupportedError
from dynaroute.problem.instance import Instance


class DrawnPlane(NamedTuple):
    """Positions as drawn, and the ratio of a unit of y to a unit of x."""

    points: NDArray[np.float64]
    aspect: float
    labels: tuple[str, str]


def project(instance: Instance) -> DrawnPlane:
    """Project positions onto a map.

    Raises
    ------
    UnsupportedError
        If the instance has no coordinates.
    """
    if instance.coordinates is None:
        raise UnsupportedError.about(
            "coordinates",
            "the instance has distances but no coordinates, so there is nothing to draw.",
            "Add coordinates (in a .vrp file: NODE_COORD_SECTION or DISPLAY_DATA_SECTION).",
        )
    if instance.metric == "euclidean":
        return DrawnPlane(instance.coordinates, 1.0, ("x", "y"))
    latitudes, longitudes = instance.coordinates[:, 0], instance.coordinates[:, 1]
    if np.ptp(longitudes) > 180:  # keep places on both sides of the date line together
        longitudes = longitudes % 360
    middle = math.radians(float(latitudes.min() + latitudes.max()) / 2)
    aspect = 1 / max(math.cos(middle), 0.05)  # near the poles every flat map is distorted
    return DrawnPlane(np.column_stack([longitudes, latitudes]), aspect, ("longitude", "latitude"))


def round_down(length: float) -> float:
    """Return the largest 1, 2 or 5 times a power of ten that is not larger."""
    power = 10.0 ** math.floor(math.log10(length))
    return max(step * power for step in (1, 2, 5) if step * power <= length * (1 + 1e-9))


def show_scale(metres: float) -> str:
    """Write a length in metres or kilometres."""
    return f"{metres / 1000:g} km" if metres >= 1000 else f"{metres:g} m"
