"""Which places on the globe are land, without the far south.

land.bin has a bit for each half degree of latitude (from the north) and longitude (from the west). It is set if any
square kilometre in there is land. The bits are compressed with zlib and come from GLOBE, NOAA's elevations, which are
in the public domain.
"""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_CELLS = 2  # per degree
_FAR_SOUTH = -60.0  # degrees; Antarctica begins there


def are_on_land(places: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether there is land within half a degree of each place, so that a customer can be there.

    Parameters
    ----------
    places
        (n, 2) latitudes and longitudes; a latitude beyond the poles is not on land.
    """
    is_possible = np.abs(places) <= (90.0, 180.0)
    latitudes, longitudes = np.where(is_possible, places, 0.0).T
    land = _load()
    rows = np.minimum(((90.0 - latitudes) * _CELLS).astype(int), len(land) - 1)
    columns = ((longitudes + 180.0) * _CELLS).astype(int) % land.shape[1]
    return np.asarray(land[rows, columns] & is_possible.all(axis=1) & (latitudes > _FAR_SOUTH))


@cache
def _load() -> NDArray[np.bool_]:
    packed = np.frombuffer(zlib.decompress(Path(__file__).with_name("land.bin").read_bytes()), dtype=np.uint8)
    return np.unpackbits(packed).astype(bool).reshape(180 * _CELLS, 360 * _CELLS)
