"""Streets for cars from an extract of OpenStreetMap (.osm.pbf): read once, contracted, and kept for the next time."""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import FormatError, UnsupportedError, Where, in_file, warn_of_input
from dynaroute.base.files import refuse_unreadable, write_bytes
from dynaroute.problem.lengths import great_circle

_VERSION = 1  # of the kept file
_KMH = {  # usual speeds by class of road, where no lower limit is given
    "motorway": 110,
    "motorway_link": 60,
    "trunk": 90,
    "trunk_link": 50,
    "primary": 65,
    "primary_link": 45,
    "secondary": 55,
    "secondary_link": 40,
    "tertiary": 45,
    "tertiary_link": 35,
    "unclassified": 40,
    "residential": 30,
    "road": 30,
    "service": 15,
    "living_street": 10,
}
_CLOSED = ("no", "private", "agricultural", "forestry")
_ACCESS = ("motorcar", "motor_vehicle", "vehicle", "access")  # the first that is given counts
_LIMIT = re.compile(r"([0-9]+)(?:\s*(mph))?")
_MILE = 1.609344
_SMALLEST_PART = 0.002  # of all junctions


@dataclass(frozen=True)
class Streets:
    """Streets between junctions.

    Attributes
    ----------
    starts, ends
        Junctions of each street, numbered from 0.
    first
        The points of street e are `points[first[e]:first[e + 1]]`, from its start to its end.
    points
        Latitudes and longitudes.
    speeds
        Metres per second of each street.
    is_open
        (streets, 2) whether cars may drive it from start to end, and back.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    first: NDArray[np.int64]
    points: NDArray[np.float64]
    speeds: NDArray[np.float64]
    is_open: NDArray[np.bool_]


def load_streets(path: Path) -> Streets:
    """Read the streets of an extract, or what was kept of it when it was read before.

    Raises
    ------
    UnsupportedError
        If pyosmium is not installed.
    FormatError
        If it is no extract, or has no streets for cars.
    """
    with in_file(path):
        refuse_unreadable(path)
        kept = _find_kept(path)
        with suppress(OSError, ValueError, KeyError), np.load(kept) as arrays:
            return Streets(**{field.name: arrays[field.name] for field in fields(Streets)})
        streets = _read_extract(path)
        content = io.BytesIO()
        np.savez(content, **vars(streets))
        try:
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(kept, content.getvalue())
        except OSError:
            warn_of_input(str(path), f"the streets could not be kept in {kept.parent}; they are read each time.")
        return streets


def _find_kept(path: Path) -> Path:
    """Where the streets of this state of the file are kept."""
    state = path.stat()
    key = f"{_VERSION} {path.resolve()} {state.st_size} {state.st_mtime_ns}"
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dynaroute"
    return folder / f"streets-{hashlib.sha256(key.encode()).hexdigest()[:24]}.npz"


@dataclass(frozen=True)
class _Road:
    """A way of the map: its nodes with their places, its speed, and in which directions it is open."""

    nodes: list[int]
    places: list[tuple[float, float]]
    speed: float
    is_open: tuple[bool, bool]


def _read_extract(path: Path) -> Streets:
    roads = _read_roads(path)
    if not roads:
        raise FormatError(
            "the extract has no streets for cars.",
            where=Where(field="--roads"),
            remedy="Take an extract of the region of the stops, with all its ways and nodes.",
        )
    uses = Counter(node for road in roads for node in road.nodes)
    uses.update(node for road in roads for node in (road.nodes[0], road.nodes[-1]))  # ends are junctions
    numbers: dict[int, int] = {}
    starts: list[int] = []
    ends: list[int] = []
    first, points, speeds, is_open = [0], list[tuple[float, float]](), list[float](), list[tuple[bool, bool]]()
    for road in roads:
        begin = 0
        for index in range(1, len(road.nodes)):
            if uses[road.nodes[index]] < 2:
                continue
            for node, into in ((road.nodes[begin], starts), (road.nodes[index], ends)):
                into.append(numbers.setdefault(node, len(numbers)))
            points += road.places[begin : index + 1]
            first.append(len(points))
            speeds.append(road.speed)
            is_open.append(road.is_open)
            begin = index
    lengths = [slice(begin, end) for begin, end in pairwise(first)]
    kept = _find_connected(np.array(starts), np.array(ends), np.array(is_open))
    return Streets(
        np.array(starts)[kept],
        np.array(ends)[kept],
        np.cumsum([0, *(lengths[street].stop - lengths[street].start for street in kept)]),
        np.concatenate([np.array(points[lengths[street]]) for street in kept]),
        np.array(speeds)[kept],
        np.array(is_open)[kept],
    )


def _find_connected(
    starts: NDArray[np.int64], ends: NDArray[np.int64], is_open: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Find the streets in parts of the map that are not tiny: cars cannot leave those, or not get there."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = int(max(starts.max(), ends.max())) + 1
    forth, back = is_open.T
    origins, goals = np.concatenate([starts[forth], ends[back]]), np.concatenate([ends[forth], starts[back]])
    links = coo_array((np.ones(len(origins)), (origins, goals)), shape=(count, count)).tocsr()
    _, part = connected_components(links, directed=True, connection="strong")
    is_large = np.bincount(part) >= _SMALLEST_PART * count
    return np.flatnonzero(is_large[part[starts]] | is_large[part[ends]])


def _read_roads(path: Path) -> list[_Road]:
    try:
        import osmium
    except ImportError as error:
        raise UnsupportedError(
            "extracts of maps need pyosmium and scipy, which are not installed.",
            where=Where(field="--roads"),
            remedy="Install them: pip install 'dynaroute[roads]'.",
        ) from error
    try:
        ways: Any = osmium.FileProcessor(str(path)).with_locations().with_filter(osmium.filter.KeyFilter("highway"))
        return [road for way in ways if way.is_way() and (road := _read_road(way)) is not None]
    except RuntimeError as error:
        raise FormatError(
            f"this is no extract of OpenStreetMap ({' '.join(str(error).split())[:100]}).",
            where=Where(field="--roads"),
            remedy="Give a file .osm.pbf, say from download.geofabrik.de.",
        ) from error


def _read_road(way: Any) -> _Road | None:
    """Read a way; None if cars may not drive it."""
    tags = way.tags
    kind = tags.get("highway")
    access = next((tags.get(key) for key in _ACCESS if tags.get(key)), "yes")
    if kind not in _KMH or access in _CLOSED or tags.get("area") == "yes":
        return None
    nodes = [(node.ref, (node.lat, node.lon)) for node in way.nodes if node.location.valid()]
    if len(nodes) < 2:
        return None
    limit = _LIMIT.match(tags.get("maxspeed", ""))
    kmh = float(_KMH[kind])
    if limit is not None and int(limit[1]) > 0:
        kmh = min(kmh, int(limit[1]) * (_MILE if limit[2] else 1.0))
    return _Road([ref for ref, _ in nodes], [place for _, place in nodes], kmh / 3.6, _read_direction(tags, kind))


def _read_direction(tags: Any, kind: str) -> tuple[bool, bool]:
    """Read in which directions a way is open."""
    told = tags.get("oneway", "")
    if told in ("-1", "reverse"):
        return False, True
    is_one_way = tags.get("junction") in ("roundabout", "circular") or kind in ("motorway", "motorway_link")
    return True, told not in ("yes", "1", "true") and (told == "no" or not is_one_way)


def measure_streets(streets: Streets) -> NDArray[np.float64]:
    """Metres from the start of its street to each point."""
    steps = np.concatenate([[0.0], great_circle(streets.points[:-1], streets.points[1:])])
    steps[streets.first[:-1]] = 0.0
    along = np.cumsum(steps)
    return np.asarray(along - np.repeat(along[streets.first[:-1]], np.diff(streets.first)))
