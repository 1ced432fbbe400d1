"""Warn of places that are probably wrong: far from all others, or with latitude and longitude swapped.

land.bin says which places on the globe are land, without the far south. It has a bit for each half degree of latitude
(from the north) and longitude (from the west), which is set if any square kilometre in there is land. The bits are
compressed with zlib and come from GLOBE, NOAA's elevations, which are in the public domain.
"""

from __future__ import annotations

import zlib
from collections.abc import Set
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import warn_of_each, warn_of_input
from dynaroute.base.vocabulary import Language
from dynaroute.problem.instance import Instance
from dynaroute.problem.lengths import great_circle

_FAR = 1_000_000.0  # metres: no van drives there and back
_TIMES = 10  # times the median distance
_FEWEST_PLACES = 4
_WIDEST_TOUR = 3.0  # degrees
_EUROPE = ((34.0, 72.0), (-25.0, 45.0))  # latitudes and longitudes
_CELLS = 2  # of land.bin, per degree
_FAR_SOUTH = -60.0  # degrees; Antarctica begins there


def warn_of_odd_places(instance: Instance, languages: Set[Language], source: str) -> None:
    """Warn of stops that are thousands of kilometres away, or whose latitude and longitude look swapped.

    Parameters
    ----------
    instance
        The problem; only places on the globe are checked.
    languages
        Languages of the headings. German, French or Spanish headings suggest stops in Europe, not off Somalia.
    source
        The file's path.
    """
    if instance.coordinates is None:
        return
    places = instance.coordinates
    if instance.metric != "great_circle":
        if _look_like_degrees(places):
            warn_of_input(source, "x and y look like degrees, but were read as a plane (--columns x=lon,y=lat).")
        return
    centre = np.median(places, axis=0)
    distances = great_circle(places, np.broadcast_to(centre, places.shape))
    usual = max(float(np.median(distances)), 1000.0)
    far = np.flatnonzero((distances > _FAR) & (distances > _TIMES * usual))
    warn_of_each(
        source, [str(node) for node in far], lambda text: _describe_far_place(int(text), instance, centre, distances)
    )
    if not len(far) and _look_exchanged(places, languages):
        latitude, longitude = centre
        warn_of_input(
            source,
            f"the stops are near latitude {latitude:.1f}, longitude {longitude:.1f}: are latitude and longitude "
            "swapped?",
        )


def _look_exchanged(places: NDArray[np.float64], languages: Set[Language]) -> bool:
    """Whether the places only make sense when swapped: in Europe, or on land instead of in the sea."""
    exchanged = places[:, ::-1]
    if languages & {"de", "fr", "es"} and not _in_europe(places).any() and _in_europe(exchanged).all():
        return True
    return bool(are_on_land(places).mean() <= 0.5 and are_on_land(exchanged).all())


def _describe_far_place(
    node: int, instance: Instance, centre: NDArray[np.float64], distances: NDArray[np.float64]
) -> str:
    assert instance.coordinates is not None
    place = instance.coordinates[node]
    told = f"{instance.called(node)} is {distances[node] / 1000:,.0f} km away from the others"
    if not place.any():
        return f"{told}: its latitude and longitude are 0; are they missing?"
    if float(great_circle(place[::-1], centre)) < max(distances[node] / 20, 100_000.0):
        return f"{told}: are its latitude and longitude swapped?"
    return f"{told}: is this the right place?"


def _look_like_degrees(places: NDArray[np.float64]) -> bool:
    """Whether x and y could be degrees: many decimals, close to each other, far from 0."""
    if len(places) < _FEWEST_PLACES or (np.abs(places) > [180.0, 90.0]).any():
        return False
    spread = np.ptp(places, axis=0)
    is_near = bool((spread < _WIDEST_TOUR).all() and (spread > 0).all())
    return is_near and bool((np.abs(places).min(axis=0) > spread).all() and (places * 1000 % 1 > 0).any(axis=1).all())


def _in_europe(places: NDArray[np.float64]) -> NDArray[np.bool_]:
    (south, north), (west, east) = _EUROPE
    latitudes, longitudes = places.T
    is_inside = (latitudes >= south) & (latitudes <= north) & (longitudes >= west) & (longitudes <= east)
    return np.asarray(is_inside)


def are_on_land(places: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether there is land within half a degree of each place, so that a customer can be there.

    Parameters
    ----------
    places
        (n, 2) latitudes and longitudes; a latitude beyond the poles is not on land.
    """
    is_possible = np.abs(places) <= (90.0, 180.0)
    latitudes, longitudes = np.where(is_possible, places, 0.0).T
    land = _load_land()
    rows = np.minimum(((90.0 - latitudes) * _CELLS).astype(int), len(land) - 1)
    columns = ((longitudes + 180.0) * _CELLS).astype(int) % land.shape[1]
    return np.asarray(land[rows, columns] & is_possible.all(axis=1) & (latitudes > _FAR_SOUTH))


@cache
def _load_land() -> NDArray[np.bool_]:
    packed = np.frombuffer(zlib.decompress(Path(__file__).with_name("land.bin").read_bytes()), dtype=np.uint8)
    return np.unpackbits(packed).astype(bool).reshape(180 * _CELLS, 360 * _CELLS)
