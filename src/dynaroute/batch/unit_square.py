"""Positions as the policy sees them: in the unit square."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynaroute.instance import Instance

__all__ = ["locate", "locate_in_unit_square"]

_SMALLEST_SPREAD = 0.1  # of the unit square: places closer together look all alike to a policy


def locate(instance: Instance) -> NDArray[np.float64]:
    """(n + 1, 2) positions in the unit square, as the policy sees them."""
    assert instance.coordinates is not None
    if instance.metric == "euclidean":
        located = locate_in_unit_square(instance.coordinates[None])  # (1, n + 1, 2)
    else:
        located = _scale_to_unit_square(_flatten_globe(instance.coordinates)[None])
    return located.reshape(-1, 2)


def _flatten_globe(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Positions in a plane from latitudes and longitudes, with the depot at the origin."""
    latitude, longitude = degrees.T
    east = (longitude - longitude[0] + 180.0) % 360.0 - 180.0  # the short way round, also across the date line
    return np.stack([east * np.cos(np.radians(latitude.mean())), latitude - latitude[0]], axis=1)


def locate_in_unit_square(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale (B, M, 2) positions, but for those spread in the unit square already: the policy was trained on such."""
    inside = ((positions >= 0) & (positions <= 1)).all(axis=(1, 2), keepdims=True)  # (B, 1, 1)
    spread = np.ptp(positions, axis=1, keepdims=True).max(axis=2, keepdims=True) >= _SMALLEST_SPREAD  # (B, 1, 1)
    return np.where(inside & spread, positions, _scale_to_unit_square(positions))


def _scale_to_unit_square(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move and scale (B, M, 2) positions, by one factor for both axes."""
    low, high = positions.min(axis=1, keepdims=True), positions.max(axis=1, keepdims=True)  # (B, 1, 2)
    extent = (high - low).max(axis=2, keepdims=True)  # (B, 1, 1)
    scaled: NDArray[np.float64] = (positions - low) / np.where(extent > 0, extent, 1.0)
    return scaled
