"""How a policy sees an instance: positions in the unit square, and a hash of its content."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynaroute.problem.instance import Instance

_SMALLEST_SPREAD = 0.1  # of the unit square; closer places look alike to a policy


def locate(instance: Instance) -> NDArray[np.float64]:
    """(n + 1, 2) positions in the unit square, as the policy sees them."""
    assert instance.coordinates is not None
    located = locate_all([instance], instance.coordinates[None], np.array([instance.size]))  # (1, n + 1, 2)
    return located.reshape(-1, 2)


def locate_all(
    instances: Sequence[Instance], coordinates: NDArray[np.float64], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(B, M, 2) positions in the unit square, as the policy sees them; zero at padding.

    Parameters
    ----------
    instances
        B instances with coordinates.
    coordinates, sizes
        (B, M, 2) their padded coordinates, and (B,) numbers of customers.
    """
    located = np.zeros_like(coordinates)
    is_plane = np.array([instance.metric == "euclidean" for instance in instances])
    for size in np.unique(sizes).tolist():  # together, because many small arrays take long
        rows = np.flatnonzero(is_plane & (sizes == size))
        located[rows, : size + 1] = locate_in_unit_square(coordinates[rows, : size + 1])
    for row in np.flatnonzero(~is_plane).tolist():
        nodes = sizes[row] + 1
        located[row, :nodes] = scale_to_unit_square(_flatten_globe(coordinates[row, :nodes])[None])[0]
    return located


def _flatten_globe(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Project latitudes and longitudes to a plane, with the depot at the origin."""
    latitude, longitude = degrees.T
    east = (longitude - longitude[0] + 180.0) % 360.0 - 180.0  # the short way round, also across the date line
    return np.stack([east * np.cos(np.radians(latitude.mean())), latitude - latitude[0]], axis=1)


def locate_in_unit_square(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale (B, M, 2) positions into the unit square, unless they already fill it, as in training."""
    inside = ((positions >= 0) & (positions <= 1)).all(axis=(1, 2), keepdims=True)  # (B, 1, 1)
    spread = np.ptp(positions, axis=1, keepdims=True).max(axis=2, keepdims=True) >= _SMALLEST_SPREAD  # (B, 1, 1)
    return np.where(inside & spread, positions, scale_to_unit_square(positions))


def scale_to_unit_square(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move and scale (B, M, 2) positions, with one factor for both axes."""
    low, high = positions.min(axis=1, keepdims=True), positions.max(axis=1, keepdims=True)  # (B, 1, 2)
    extent = (high - low).max(axis=2, keepdims=True)  # (B, 1, 1)
    scaled: NDArray[np.float64] = (positions - low) / np.where(extent > 0, extent, 1.0)
    return scaled


def hash_contents(
    coordinates: NDArray[np.float64], demands: NDArray[np.int32], capacity: NDArray[np.int32], sizes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Hash the content of instances: (B,) of 63 bits. Padding does not matter, but a customer of zeros does."""
    words = np.concatenate([coordinates, demands[..., None].astype(np.float64)], axis=2) + 0.0  # no negative zero
    bits = words.view(np.uint64)  # (B, M, 3)
    nodes = bits.shape[1]
    # a different odd multiplier for every position, so that the order of nodes matters
    places = _mix(np.arange(nodes * 3, dtype=np.uint64).reshape(nodes, 3)) | np.uint64(1)
    total = (_mix(bits) * places * (bits != 0)).sum(axis=(1, 2), dtype=np.uint64)
    total += capacity.astype(np.uint64) + _mix(sizes.astype(np.uint64))
    return (_mix(total) >> np.uint64(1)).astype(np.int64)


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix all 64 bits (the finaliser of SplitMix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
