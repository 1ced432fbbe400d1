"""Distances, times and ways between stops from an extract of OpenStreetMap, without a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import FormatError, Where
from dynaroute.roads.matrix import Line, RoadMatrix
from dynaroute.roads.streets import Streets, load_streets, measure_streets

_FARTHEST = 500.0  # metres from a stop to its street
_SOURCES = 32  # searched at once
_METRES_PER_DEGREE = 111_195.0
_LEAST_SECONDS = 1e-6  # a leg of no time would be none


@dataclass(frozen=True)
class RoadExtract:
    """An extract of a map.

    Parameters
    ----------
    path
        The file, .osm.pbf.
    """

    path: Path

    @cached_property
    def _streets(self) -> Streets:
        return load_streets(self.path)

    @cached_property
    def _along(self) -> NDArray[np.float64]:
        return measure_streets(self._streets)

    def measure(self, places: NDArray[np.float64], names: Sequence[str] = ()) -> RoadMatrix:
        """Measure all legs on the quickest ways.

        Raises
        ------
        FormatError
            If a place is far from every street; `names` tells what the places are called.
        """
        network = self._connect(places, names)
        count = len(places)
        distances, durations = np.full((count, count), np.nan), np.full((count, count), np.nan)
        for begin in range(0, count, _SOURCES):
            sources = range(begin, min(begin + _SOURCES, count))
            seconds, before = network.search(list(sources))
            for row, source in enumerate(sources):
                metres = network.add_metres(before[row])
                durations[source] = np.where(np.isinf(seconds[row][-count:]), np.nan, seconds[row][-count:])
                distances[source] = np.where(np.isnan(durations[source]), np.nan, metres[-count:])
        return RoadMatrix(np.round(distances, 1), np.round(durations, 1))

    def trace(self, places: NDArray[np.float64]) -> list[Line]:
        """Find the quickest way of each leg of a route through places."""
        network = self._connect(places)
        first, lines = network.junctions, []
        for start, end in pairwise(range(len(places))):
            _, (before,) = network.search([start])
            nodes = [first + end]
            while nodes[-1] != first + start:
                nodes.append(int(before[nodes[-1]]))
            arcs = [network.find_arc(*pair) for pair in pairwise(nodes[::-1])]
            lines.append([place for arc in arcs for place in self._draw(arc)])
        return lines

    def _connect(self, places: NDArray[np.float64], names: Sequence[str] = ()) -> _Network:
        """Make a network of all junctions and these places, each on its nearest street."""
        called = names or [f"place {number}" for number in range(1, len(places) + 1)]
        streets, spots = self._streets, [self._snap(*pair) for pair in zip(places, called, strict=True)]
        junctions = int(max(streets.starts.max(), streets.ends.max())) + 1
        lengths = self._along[streets.first[1:] - 1]
        arcs = [
            (streets.starts, streets.ends, np.arange(len(lengths)), np.zeros_like(lengths), lengths),
            (streets.ends, streets.starts, np.arange(len(lengths)), lengths, np.zeros_like(lengths)),
        ]
        rows = [np.column_stack(columns)[streets.is_open[:, way]] for way, columns in enumerate(arcs)]
        on_street: dict[int, list[tuple[float, int]]] = {}
        for number, (street, metres) in enumerate(spots):
            on_street.setdefault(street, []).append((metres, junctions + number))
        for street, found in on_street.items():
            chain = [(0.0, int(streets.starts[street])), *sorted(found), (lengths[street], int(streets.ends[street]))]
            for (at, node), (then, following) in pairwise(chain):
                if streets.is_open[street, 0]:
                    rows.append(np.array([[node, following, street, at, then]]))
                if streets.is_open[street, 1]:
                    rows.append(np.array([[following, node, street, then, at]]))
        return _Network(np.concatenate(rows), streets.speeds, junctions, junctions + len(places))

    def _snap(self, place: NDArray[np.float64], name: str) -> tuple[int, float]:
        """Find the nearest street, and the metres from its start to the point nearest to a place."""
        points, street_of = self._streets.points, self._street_of
        scale = _METRES_PER_DEGREE * np.array([1.0, np.cos(np.radians(place[0]))])
        flat = (points - place) * scale
        begins, steps = flat[:-1], np.diff(flat, axis=0)
        squares = np.maximum((steps**2).sum(axis=1), 1e-12)
        share = np.clip(-(begins * steps).sum(axis=1) / squares, 0.0, 1.0)
        gaps = np.hypot(*(begins + share[:, None] * steps).T)
        gaps[street_of[:-1] != street_of[1:]] = np.inf
        best = int(np.argmin(gaps))
        if gaps[best] > _FARTHEST:
            raise FormatError(
                f"{name} is {gaps[best] / 1000:,.1f} km away from the nearest street of the extract.",
                where=Where(file=str(self.path), field="--roads"),
                remedy="Check its position, or take an extract that covers it.",
            )
        along = self._along
        return int(street_of[best]), float(along[best] + share[best] * (along[best + 1] - along[best]))

    @cached_property
    def _street_of(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self._streets.starts)), np.diff(self._streets.first))

    def _draw(self, arc: NDArray[np.float64]) -> Line:
        """List the points of a part of a street, in the direction of the drive."""
        street, begin, end = int(arc[2]), arc[3], arc[4]
        part = slice(self._streets.first[street], self._streets.first[street + 1])
        along, points = self._along[part], self._streets.points[part]
        low, high = min(begin, end), max(begin, end)
        inner = along[(along > low) & (along < high)]
        marks = np.concatenate([[low], inner, [high]])
        drawn = np.column_stack([np.interp(marks, along, points[:, axis]) for axis in (0, 1)])
        line = [(float(lat), float(lon)) for lat, lon in drawn]
        return line if begin <= end else line[::-1]


class _Network:
    """Arcs between junctions and places: from, to, street, and metres along it at both ends."""

    def __init__(self, arcs: NDArray[np.float64], speeds: NDArray[np.float64], junctions: int, nodes: int) -> None:
        from scipy.sparse import csr_array

        self.junctions, self._nodes = junctions, nodes
        metres = np.abs(arcs[:, 4] - arcs[:, 3])
        seconds = np.maximum(metres / speeds[arcs[:, 2].astype(np.int64)], _LEAST_SECONDS)
        keys = arcs[:, 0].astype(np.int64) * nodes + arcs[:, 1].astype(np.int64)
        order = np.lexsort((seconds, keys))
        self._keys, quickest = np.unique(keys[order], return_index=True)  # of parallel streets, the quickest
        chosen = order[quickest]
        self._arcs, self._metres = arcs[chosen], metres[chosen]
        ends = (arcs[chosen, 0].astype(np.int64), arcs[chosen, 1].astype(np.int64))
        self._graph = csr_array((seconds[chosen], ends), shape=(nodes, nodes))

    def search(self, places: list[int]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Find the seconds from each of these places to every node, and the node before each."""
        from scipy.sparse.csgraph import dijkstra

        indices = [self.junctions + place for place in places]
        seconds, before = dijkstra(self._graph, indices=indices, return_predecessors=True)
        return seconds, before.astype(np.int64)

    def find_arc(self, start: int, end: int) -> NDArray[np.float64]:
        """The arc between two neighbours."""
        arc: NDArray[np.float64] = self._arcs[np.searchsorted(self._keys, start * self._nodes + end)]
        return arc

    def add_metres(self, before: NDArray[np.int64]) -> NDArray[np.float64]:
        """Metres from the source of a search to every node, by its tree: paths double in each step."""
        nodes = np.arange(self._nodes)
        is_reached = before >= 0
        pointer = np.where(is_reached, before, nodes)
        metres = np.zeros(self._nodes)
        arcs = np.searchsorted(self._keys, pointer[is_reached] * self._nodes + nodes[is_reached])
        metres[is_reached] = self._metres[arcs]
        while not np.array_equal(pointer, pointer[pointer]):
            metres += metres[pointer]
            pointer = pointer[pointer]
        return metres
