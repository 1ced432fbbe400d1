"""A small map of a route, as shapes for SVG and PDF."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dynaroute.plans.plan import Plan, PlannedRoute
from dynaroute.plotting.style import DrawnPlane, colour_routes, project, round_down, show_scale
from dynaroute.problem.lengths import EARTH_RADIUS_METRES

Point = tuple[float, float]

_MARGIN = 14.0
_MOST_NUMBERS = 60  # per map; more would hide it


@dataclass(frozen=True)
class SketchedRoute:
    """One route on the map.

    Attributes
    ----------
    colour
        As #rrggbb.
    line
        From the depot through all stops and back.
    arrows
        Middle and direction of each leg that is long enough: (x, y, dx, dy), where the direction has length 1.
    labels
        Positions of the stops' numbers.
    """

    colour: str
    line: tuple[Point, ...]
    arrows: tuple[tuple[float, float, float, float], ...]
    labels: tuple[tuple[Point, str], ...]


@dataclass(frozen=True)
class ScaleBar:
    """A scale bar: its width on the map, and the length it shows."""

    width: float
    text: str


@dataclass(frozen=True)
class PlanSketch:
    """A map, in points from the upper left corner.

    Attributes
    ----------
    width, height
        Size of the map.
    depot
        Position of the depot.
    others
        Customers that other routes visit.
    unserved
        Customers that no route visits.
    routes
        The drawn routes.
    scale
        The scale bar, if lengths are known.
    """

    width: float
    height: float
    depot: Point
    others: tuple[Point, ...]
    unserved: tuple[Point, ...]
    routes: tuple[SketchedRoute, ...]
    scale: ScaleBar | None


def sketch_plan(plan: Plan, routes: tuple[int, ...] | None = None, width: float = 360.0) -> PlanSketch | None:
    """Draw some routes of a plan, in the same colours as in a map of all routes.

    Parameters
    ----------
    plan
        The plan.
    routes
        Numbers of the routes, from 1; all if None. A map of some routes only shows their surroundings.
    width
        Width of the map.

    Returns
    -------
    PlanSketch | None
        None if the instance has no coordinates.
    """
    instance = plan.instance
    if instance.coordinates is None or not plan.routes:
        return None
    plane = project(instance)
    colours = colour_routes(instance, plan.solution)
    drawn = range(1, len(plan.routes) + 1) if routes is None else routes
    stretched = plane.points * np.array([1.0, plane.aspect])
    visited = {0, *(node for number in drawn for node in plan.solution.routes[number - 1])}
    lines = [_project_way(plan, plan.routes[number - 1], plane) for number in drawn]
    shown = stretched if routes is None else stretched[sorted(visited)]
    everything, scale, height = _fit(np.concatenate([stretched, *lines]), np.concatenate([shown, *lines]), width)
    places, *ways = np.split(everything, np.cumsum([len(stretched), *map(len, lines)])[:-1])
    inside = {node for node in range(len(places)) if _is_inside(places[node], width, height)}
    unserved = {left_out.stop.customer for left_out in plan.unserved}
    numbered = len(visited) - 1 <= _MOST_NUMBERS
    return PlanSketch(
        width=width,
        height=height,
        depot=_point(places[0]),
        others=tuple(_point(places[node]) for node in sorted(inside - visited - unserved)),
        unserved=tuple(_point(places[node]) for node in sorted(inside & unserved)),
        routes=tuple(
            _sketch_route(places, way, plan.routes[number - 1], colours[number - 1], numbered)
            for number, way in zip(drawn, ways, strict=True)
        ),
        scale=_make_scale(scale * plane.aspect, width) if plan.has_degrees else None,
    )


def _fit(
    points: NDArray[np.float64], shown: NDArray[np.float64], width: float
) -> tuple[NDArray[np.float64], float, float]:
    """Fit places into the map; returns their positions, points per unit, and the height of the map."""
    low, high = shown.min(axis=0), shown.max(axis=0)
    span = high - low
    room = width - 2 * _MARGIN
    widest = float(span.max()) or 1.0
    scale = room / float(span[0] or widest)
    height = float(np.clip(span[1] * scale, 0.4 * room, 0.8 * room))
    scale = min(scale, height / float(span[1])) if span[1] else scale
    middle = (low + high) / 2
    flipped = (points - middle) * np.array([scale, -scale])
    return flipped + np.array([width / 2, height / 2 + _MARGIN]), scale, height + 2 * _MARGIN


def _project_way(plan: Plan, route: PlannedRoute, plane: DrawnPlane) -> NDArray[np.float64]:
    """Project the roads of a route like the nodes; nothing where they are not known."""
    if not plan.ways:
        return np.empty((0, 2))
    way = np.array(plan.follow(route))[:, ::-1]
    if plane.points[:, 0].max() > 180:  # as `project` does for places on both sides of the date line
        way[:, 0] %= 360
    return np.asarray(way * np.array([1.0, plane.aspect]))


def _sketch_route(
    places: NDArray[np.float64], way: NDArray[np.float64], route: PlannedRoute, colour: str, numbered: bool
) -> SketchedRoute:
    line = [_point(place) for place in (way if len(way) else places[[stop.customer for stop in route.places]])]
    arrows = []
    for (x, y), (next_x, next_y) in pairwise(line):
        length = math.hypot(next_x - x, next_y - y)
        if length >= 26:
            arrows.append(((x + next_x) / 2, (y + next_y) / 2, (next_x - x) / length, (next_y - y) / length))
    labels = [(_point(places[stop.customer]), str(stop.number)) for stop in route.stops] if numbered else []
    return SketchedRoute(colour, tuple(line), tuple(arrows), tuple(labels))


def _make_scale(points_per_degree: float, width: float) -> ScaleBar:
    """Make a scale bar of 1, 2 or 5 times a power of ten metres, about a quarter of the map wide."""
    points_per_metre = points_per_degree / (math.radians(1) * EARTH_RADIUS_METRES)
    length = round_down(0.25 * width / points_per_metre)
    return ScaleBar(length * points_per_metre, show_scale(length))


def _is_inside(place: NDArray[np.float64], width: float, height: float) -> bool:
    return bool(4 <= place[0] <= width - 4 and 4 <= place[1] <= height - 4)


def _point(place: NDArray[np.float64]) -> Point:
    return round(float(place[0]), 1), round(float(place[1]), 1)
