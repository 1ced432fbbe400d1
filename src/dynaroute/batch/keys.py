"""Names of instances, made from what they hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["hash_contents"]


def hash_contents(
    coordinates: NDArray[np.float64], demands: NDArray[np.int32], capacity: NDArray[np.int32], sizes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """(B,) 63-bit hashes of what instances hold; zero padding does not change them, but a customer of zeros does."""
    words = np.concatenate([coordinates, demands[..., None].astype(np.float64)], axis=2) + 0.0  # no negative zero
    bits = words.view(np.uint64)  # (B, M, 3)
    nodes = bits.shape[1]
    # odd multipliers that differ for every place, so that the order of nodes counts
    places = _mix(np.arange(nodes * 3, dtype=np.uint64).reshape(nodes, 3)) | np.uint64(1)
    total = (_mix(bits) * places * (bits != 0)).sum(axis=(1, 2), dtype=np.uint64)
    total += capacity.astype(np.uint64) + _mix(sizes.astype(np.uint64))
    return (_mix(total) >> np.uint64(1)).astype(np.int64)


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread every bit over all 64 (the finaliser of SplitMix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
