"""Leg lengths for compiled code: looked up in a matrix, or computed from positions.

A matrix of a few thousand nodes no longer fits into CPU caches, and one of 30,000 nodes takes 7 GB. Compiled code calls
`measure_leg`, and is compiled once for each kind of distances.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from dynaroute.problem.instance import Instance
from dynaroute.problem.lengths import EARTH_RADIUS_METRES, ROUNDING_CODES
from dynaroute.search.core.compiled import INLINE_OPTIONS, as_index, compiled

_DIAMETER = 2 * EARTH_RADIUS_METRES


class Plane(NamedTuple):
    """Nodes in the plane: (M, 2) points, and the code of the rounding rule."""

    points: NDArray[np.float64]
    rounding: int


class Globe(NamedTuple):
    """Nodes on the globe: (M, 3) points on the sphere whose diameter is 1, and the code of the rounding rule."""

    points: NDArray[np.float64]
    rounding: int


Distances = NDArray[np.float64] | Plane | Globe


def place_nodes(instance: Instance) -> Plane | Globe:
    """Return the positions of an instance's nodes, for an instance without a matrix."""
    assert instance.distances is None
    assert instance.coordinates is not None
    rounding = ROUNDING_CODES[instance.rounding]
    if instance.metric == "euclidean":
        return Plane(instance.coordinates.copy(), rounding)  # compiled code distinguishes read-only arrays
    latitudes, longitudes = np.radians(instance.coordinates).T
    on_equator = np.cos(latitudes) / 2
    points = np.stack([on_equator * np.cos(longitudes), on_equator * np.sin(longitudes), np.sin(latitudes) / 2], axis=1)
    return Globe(np.ascontiguousarray(points), rounding)


def place_around_depot(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Place nodes around the depot, up to a reflection, from distances only, so that a matrix is enough.

    The first axis points to the node farthest from the depot. A node's distance from that axis follows from its
    distances to both; its side, from its distance to the node farthest off the axis.
    """
    outward = distances[0]
    far = int(outward.argmax())
    if outward[far] == 0:
        return np.zeros((len(distances), 2))
    along = (outward**2 + outward[far] ** 2 - distances[far] ** 2) / (2 * outward[far])
    aside = np.sqrt(np.maximum(outward**2 - along**2, 0.0))
    guide = int(aside.argmax())
    same_side, other_side = (np.hypot(along - along[guide], aside - side) for side in (aside[guide], -aside[guide]))
    is_across = np.abs(other_side - distances[guide]) < np.abs(same_side - distances[guide])
    return np.stack([along, np.where(is_across, -aside, aside)], axis=1)


def measure_leg(distances: Distances, one: int, other: int) -> float:
    """Measure the leg between two nodes; compiled code uses what `_choose_leg` returns."""
    if isinstance(distances, np.ndarray):
        return float(distances[one, other])
    measure = _leg_of_plane if isinstance(distances, Plane) else _leg_of_globe
    return float(measure(distances, one, other))


@overload(measure_leg, jit_options=INLINE_OPTIONS, strict=False)
def _choose_leg(distances: Any, one: Any, other: Any) -> Any:
    """Choose the code of `measure_leg` for a kind of distances."""
    if isinstance(distances, types.Array):
        return lambda distances, one, other: distances[as_index(one), as_index(other)]
    return _leg_of_plane if distances.instance_class is Plane else _leg_of_globe


def _leg_of_plane(distances: Any, one: int, other: int) -> float:
    """Measure a leg exactly like `Instance.leg_lengths`."""
    points, rounding = distances.points, distances.rounding
    one, other = as_index(one), as_index(other)
    width, height = points[one, 0] - points[other, 0], points[one, 1] - points[other, 1]
    length = np.sqrt(width * width + height * height)
    if rounding == 1:
        return np.floor(length + 0.5)  # type: ignore[no-any-return]
    if rounding == 2:
        return np.ceil(length)  # type: ignore[no-any-return]
    return length  # type: ignore[no-any-return]


def _leg_of_globe(distances: Any, one: int, other: int) -> float:
    """Measure from the chord: equal to `Instance.leg_lengths` to the micrometre, except near antipodes."""
    points, rounding = distances.points, distances.rounding
    x, y, z = points[one, 0] - points[other, 0], points[one, 1] - points[other, 1], points[one, 2] - points[other, 2]
    length = _DIAMETER * np.arcsin(min(1.0, np.sqrt(x * x + y * y + z * z)))
    if rounding == 1:
        return np.floor(length + 0.5)  # type: ignore[no-any-return]
    if rounding == 2:
        return np.ceil(length)  # type: ignore[no-any-return]
    return length  # type: ignore[no-any-return]


@compiled
def measure_legs(distances: Distances, ones: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float64]:
    """Measure legs between pairs of nodes."""
    lengths = np.empty(len(ones))
    for pair in range(len(ones)):
        lengths[pair] = measure_leg(distances, ones[pair], others[pair])
    return lengths
