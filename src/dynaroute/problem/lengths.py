"""How long a leg is: metrics and rounding rules."""

from __future__ import annotations

from typing import get_args

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.vocabulary import Metric, Rounding

__all__ = [
    "EARTH_RADIUS_METRES",
    "GLOBE_REMEDY",
    "LARGEST_DEGREES",
    "LONGEST_LENGTH",
    "ROUNDING_CODES",
    "SHORTEST_SPREAD",
    "Metric",
    "Rounding",
    "great_circle",
    "round_lengths",
    "straight_line",
]

# codes in tensors and compiled code: none is 0, nearest 1, up 2
ROUNDING_CODES: dict[Rounding, int] = dict(zip(get_args(Rounding), range(3), strict=True))

EARTH_RADIUS_METRES = 6_371_008.8  # mean radius of the WGS 84 ellipsoid
LONGEST_LENGTH = 1e150  # squares of larger numbers overflow
# Squares of lengths below 2e-162 are 0. If positions lie farther apart than this, the lengths that vanish do not
# matter.
SHORTEST_SPREAD = 1e-150
LARGEST_DEGREES = {"lat": 90.0, "lon": 180.0}
GLOBE_REMEDY = "Latitude is -90 to 90, longitude -180 to 180, in degrees."


def straight_line(start: NDArray[np.float64], end: NDArray[np.float64]) -> NDArray[np.float64]:
    """Measure straight lines between (..., 2) points."""
    difference = start - end
    return np.sqrt(difference[..., 0] ** 2 + difference[..., 1] ** 2)


def great_circle(start: NDArray[np.float64], end: NDArray[np.float64]) -> NDArray[np.float64]:
    """Measure metres between points in degrees, by the haversine formula.

    The arc's haversine is exact for close points, that of its supplement for opposite ones. The result is rounded to
    the micrometre, so that the last bit does not decide a rounding rule.
    """
    (latitude_1, longitude_1), (latitude_2, longitude_2) = (
        np.moveaxis(np.radians(points), -1, 0) for points in (start, end)
    )
    parallels = np.cos(latitude_1) * np.cos(latitude_2)
    half_turn = (longitude_2 - longitude_1) / 2
    near = np.sin((latitude_2 - latitude_1) / 2) ** 2 + parallels * np.sin(half_turn) ** 2
    opposite = np.sin((latitude_2 + latitude_1) / 2) ** 2 + parallels * np.cos(half_turn) ** 2
    return np.asarray(np.round(2 * EARTH_RADIUS_METRES * np.arctan2(np.sqrt(near), np.sqrt(opposite)), 6))


def round_lengths(lengths: NDArray[np.float64], rounding: Rounding) -> NDArray[np.float64]:
    """Apply a rounding rule; halves go up, as in CVRPLIB."""
    if rounding == "nearest":
        return np.floor(lengths + 0.5)
    if rounding == "up":
        return np.ceil(lengths)
    return lengths
