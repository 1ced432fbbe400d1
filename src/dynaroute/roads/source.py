"""Distances and times of an instance from roads, or from straight lines times a factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import OptionError, warn_of_input
from dynaroute.problem.instance import Instance
from dynaroute.problem.judging.legs import list_nodes
from dynaroute.problem.solution import Solution
from dynaroute.roads.matrix import Line, RoadMatrix

Ways = dict[tuple[int, int], Line]  # from node to node

_LEAST_DETOUR, _LARGEST_DETOUR = 1.0, 5.0


class RoadSource(Protocol):
    """What knows roads: a server, or an extract of a map."""

    def measure(self, places: NDArray[np.float64], names: Sequence[str] = ()) -> RoadMatrix:
        """Measure all legs between places, given as latitudes and longitudes, and as names for messages."""

    def trace(self, places: NDArray[np.float64]) -> list[Line]:
        """Find the way of each leg of a route through places."""


def use_roads(instance: Instance, roads: RoadSource) -> Instance:
    """Return the instance with the distances and times of roads.

    Parameters
    ----------
    instance
        A problem with latitudes and longitudes, and without a matrix of distances.
    roads
        The server or the extract.

    Raises
    ------
    DynarouteError
        If positions are not in degrees, or a leg has no way; the error names the stops.
    """
    places = _require_degrees(instance, "distances on roads")
    names = [instance.called(node) for node in range(instance.node_count)]
    matrix = roads.measure(places, names)
    for note in matrix.notes:
        warn_of_input("", note)
    distances, durations = matrix.sort(names, range(len(names)), places)
    own = durations if instance.durations is None else instance.durations
    return replace(instance, distances=distances, durations=own, matrix_unit="m")


def use_detour(instance: Instance, factor: float) -> Instance:
    """Return the instance with straight-line distances times a factor, as a matrix.

    Parameters
    ----------
    instance
        A problem with positions, and without a matrix of distances.
    factor
        1 to 5; 1.3 is usual for roads.
    """
    if not _LEAST_DETOUR <= factor <= _LARGEST_DETOUR:
        raise OptionError.about("--detour", f"{factor:g} is not a factor from 1 to 5.", "1.3 is usual for roads.")
    if instance.distances is not None:
        raise OptionError.about("--detour", "the file has a matrix of distances.", "Leave the option out.")
    decimals = 1 if instance.unit == "m" else 6
    longer = np.round(instance.distance_matrix * factor, decimals)
    return replace(instance, distances=longer, rounding="none", matrix_unit=instance.unit)


def find_ways(instance: Instance, solution: Solution, roads: RoadSource) -> Ways:
    """Find the way of every leg of the routes."""
    places, ways = _require_degrees(instance, "ways", may_have_matrix=True), Ways()
    for route, kind in zip(solution.routes, solution.vehicle_types(instance), strict=True):
        nodes = list_nodes(instance, route, instance.fleet[kind])
        ways |= dict(zip(pairwise(nodes), roads.trace(places[list(nodes)]), strict=True))
    return ways


def _require_degrees(instance: Instance, what: str, *, may_have_matrix: bool = False) -> NDArray[np.float64]:
    if instance.coordinates is None or instance.metric != "great_circle":
        message = f"{what} need stops with latitude and longitude."
        raise OptionError.about(None, message, "Give lat and lon in degrees; for x and y, --detour 1.3.")
    if instance.distances is not None and not may_have_matrix:
        raise OptionError.about(None, "the file has a matrix of distances already.", "Leave the option for roads out.")
    return instance.coordinates
