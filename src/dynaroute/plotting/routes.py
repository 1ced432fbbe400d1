"""Plots of instances and routes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from dynaroute.base.display import count_of, show_text
from dynaroute.plotting.style import (
    FAINT,
    FIGURE_INCHES,
    INK,
    RED,
    DrawnPlane,
    colour_routes,
    project,
    round_down,
    show_scale,
    tidy_axes,
)
from dynaroute.problem.instance import Instance
from dynaroute.problem.lengths import EARTH_RADIUS_METRES
from dynaroute.problem.solution import Solution
from dynaroute.problem.unserved import count_unserved, explain_unserved

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LARGEST_LEGEND = 60  # routes; a summary is clearer than a longer list
LEGEND_ROWS = 30
MOST_NUMBERED = 100  # customers; more numbers would hide the map
LONGEST_LABEL = 24  # characters of a customer's name
MOST_UNSERVED = 8  # customers above the map; the others are counted
LONGEST_LINE = 105  # characters above the map
LEAST_ARROW = 0.05  # of the plot's width; shorter legs have no arrow
LONGEST_TITLE = 80  # characters of a name
FIGURE_SPACE = "\u2007"  # as wide as a digit, so that numbers in a legend line up


def plot_instance(instance: Instance, ax: Axes | None = None, *, names: bool = False) -> Axes:
    """Plot the depot and the customers, sized by demand.

    Parameters
    ----------
    instance
        An instance with coordinates.
    ax
        Axes to draw on; None makes a new figure.
    names
        Whether to label customers with their names or numbers.

    Raises
    ------
    UnsupportedError
        If the instance has no coordinates.
    """
    plane = project(instance)
    axes = _prepare(plane, ax)
    _draw_customers(axes, plane, instance, ["#4477aa"] * instance.size)
    _draw_depot(axes, plane, instance)
    _draw_scale(axes, plane, instance)
    if names:
        _draw_names(axes, plane, instance, range(1, instance.size + 1))
    capacity = instance.shown_demand(instance.capacity)
    _title(axes, instance, f"{count_of(instance.size, 'customer')}, capacity {capacity}")
    return axes


def plot_solution(instance: Instance, solution: Solution, ax: Axes | None = None, *, names: bool = False) -> Axes:
    """Plot the routes in different colours, with a legend of loads and lengths.

    The first and last leg of each route are thin, so that the depot stays visible. Arrows on long legs show the
    direction. With up to 100 customers, each shows its stop number. Customers on no route are hollow and red, and named
    above the map with the reasons. With more than 60 routes the legend is a summary.

    Parameters
    ----------
    instance
        An instance with coordinates.
    solution
        Routes over its customers. They may be infeasible.
    ax
        Axes to draw on; None makes a new figure.
    names
        Whether to label customers with their names or numbers.

    Raises
    ------
    UnsupportedError
        If the instance has no coordinates.
    SolutionError
        If a route visits an unknown customer.
    """
    plane = project(instance)
    lengths = solution.route_costs(instance)
    loads = solution.loads(instance)
    colours = colour_routes(instance, solution)
    axes = _prepare(plane, ax)

    customer_colours = ["none"] * instance.size
    for route, colour in zip(solution.routes, colours, strict=True):
        for customer in route:
            if 0 < customer <= instance.size:
                customer_colours[customer - 1] = colour
    ends = [(instance.start_nodes[kind], instance.end_nodes[kind]) for kind in solution.vehicle_types(instance)]
    _draw_routes(axes, plane, solution, colours, ends)
    _draw_customers(axes, plane, instance, customer_colours)
    _draw_depot(axes, plane, instance)
    _draw_scale(axes, plane, instance)
    _draw_arrows(axes, plane, solution, colours, ends)
    _draw_unserved(axes, plane, instance, solution, names=names)
    if instance.size <= MOST_NUMBERED:
        _draw_order(axes, plane, instance, solution)
    if names:
        _draw_names(axes, plane, instance, range(1, instance.size + 1))
    if len(solution.routes) <= LARGEST_LEGEND:
        _draw_numbers(axes, plane, solution, colours)
        _draw_legend(axes, instance, solution, colours, lengths)
    else:
        _draw_summary(axes, instance, loads, lengths)
    total = _show_lengths(instance, [math.fsum(lengths)], digits=5)[0]
    _title(axes, instance, f"{count_of(len(solution.routes), 'route')}, length {total}")
    return axes


def _prepare(plane: DrawnPlane, ax: Axes | None) -> Axes:
    """Set up axes around the points, with equal scales and a small margin."""
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(figsize=FIGURE_INCHES).subplots()
    low, high = plane.points.min(axis=0), plane.points.max(axis=0)
    stretch = np.array([1.0, plane.aspect])
    middle, half = (low + high) / 2, (high - low) / 2 * stretch
    widest = half.max() or max(1.0, float(np.abs(middle).max()) * 1e-6)  # all in one place
    half = np.maximum(half, 0.35 * widest) + 0.06 * widest  # customers in a line still get a reasonable height
    (left, bottom), (right, top) = middle - half / stretch, middle + half / stretch
    ax.set(xlim=(left, right), ylim=(bottom, top), aspect=plane.aspect)
    ax.set_xlabel(plane.labels[0], color=FAINT, fontsize=8)
    ax.set_ylabel(plane.labels[1], color=FAINT, fontsize=8)
    tidy_axes(ax)
    return ax


def _draw_customers(ax: Axes, plane: DrawnPlane, instance: Instance, colours: list[str]) -> None:
    demands = instance.demands[1:].reshape(instance.size, -1)[:, 0]
    largest = max(int(demands.max()), 1)
    room = float(np.clip(6000 / instance.size, 8, 110))  # square points for the largest customer
    sizes = room * (0.25 + 0.75 * demands / largest)
    edges = [RED if colour == "none" else "white" for colour in colours]
    widths = [1.5 if colour == "none" else 0.5 for colour in colours]
    points = plane.points[1 : instance.size + 1]
    ax.scatter(points[:, 0], points[:, 1], s=sizes, c=colours, edgecolors=edges, linewidths=widths, zorder=3)


def _draw_depot(ax: Axes, plane: DrawnPlane, instance: Instance) -> None:
    further = plane.points[instance.size + 1 :]
    ax.plot(further[:, 0], further[:, 1], "s", color=INK, markersize=7, markeredgecolor="white", zorder=5)
    x, y = plane.points[0]
    ax.plot([x], [y], "s", color=INK, markersize=10, markeredgecolor="white", markeredgewidth=1.5, zorder=5)


def _draw_routes(
    ax: Axes, plane: DrawnPlane, solution: Solution, colours: list[str], ends: list[tuple[int, int]]
) -> None:
    from matplotlib.collections import LineCollection

    stops = [plane.points[list(route)] for route in solution.routes]
    legs = [
        [(plane.points[start], route[0]), *([] if end < 0 else [(route[-1], plane.points[end])])]
        for route, (start, end) in zip(stops, ends, strict=True)
    ]
    depot_legs = [np.array(leg) for places in legs for leg in places]
    width = float(np.clip(28 / math.sqrt(max(len(plane.points), 1)), 1.0, 2.2))
    colours_of_legs = [colour for colour, places in zip(colours, legs, strict=True) for _ in places]
    ax.add_collection(LineCollection(depot_legs, colors=colours_of_legs, linewidths=0.5 * width, alpha=0.45, zorder=1))
    ax.add_collection(
        LineCollection(stops, colors=colours, linewidths=width, capstyle="round", joinstyle="round", zorder=2)
    )


def _draw_numbers(ax: Axes, plane: DrawnPlane, solution: Solution, colours: list[str]) -> None:
    """Write each route's number next to its farthest customer, because colours are hard to tell apart."""
    from matplotlib.patheffects import withStroke

    depot, stretch = plane.points[0], np.array([1.0, plane.aspect])
    for number, (route, colour) in enumerate(zip(solution.routes, colours, strict=True), start=1):
        away = (plane.points[list(route)] - depot) * stretch
        distances = np.hypot(away[:, 0], away[:, 1])
        farthest = int(distances.argmax())
        direction = away[farthest] / (distances[farthest] or 1.0)
        ax.annotate(
            str(number),
            tuple(plane.points[route[farthest]]),
            xytext=tuple(11 * direction),
            textcoords="offset points",
            fontsize=7,
            fontweight="bold",
            color=colour,
            ha="center",
            va="center",
            path_effects=[withStroke(linewidth=2, foreground="white")],
            zorder=4,
        )


def _draw_arrows(
    ax: Axes, plane: DrawnPlane, solution: Solution, colours: list[str], ends: list[tuple[int, int]]
) -> None:
    """Draw arrows on long legs."""
    shortest = LEAST_ARROW * float(np.ptp(ax.get_xlim()))
    stretch = np.array([1.0, plane.aspect])
    starts, directions, paints = [], [], []
    for route, colour, (start, end) in zip(solution.routes, colours, ends, strict=True):
        places = plane.points[[start, *route, *([] if end < 0 else [end])]]
        legs = np.diff(places, axis=0)
        lengths = np.hypot(*(legs * stretch).T)
        for place, leg, length in zip(places[:-1], legs, lengths, strict=True):
            if length >= shortest:
                starts.append(place + 0.5 * leg)
                directions.append(leg * stretch / length)
                paints.append(colour)
    if not starts:
        return
    at, towards = np.array(starts), np.array(directions)
    # heads without shafts, in display units: the same size at every scale of the map
    ax.quiver(
        at[:, 0],
        at[:, 1],
        towards[:, 0],
        towards[:, 1],
        color=paints,
        angles="uv",
        pivot="mid",
        units="inches",
        scale_units="inches",
        scale=12,
        width=0.014,
        headwidth=5,
        headlength=6,
        headaxislength=5.5,
        minlength=0,
        zorder=2.5,
    )


def _draw_order(ax: Axes, plane: DrawnPlane, instance: Instance, solution: Solution) -> None:
    """Write each customer's stop number on it."""
    from matplotlib.patheffects import withStroke

    for route in solution.routes:
        for number, customer in enumerate(route, start=1):
            if not 0 < customer <= instance.size:
                continue
            ax.annotate(
                str(number),
                tuple(plane.points[customer]),
                fontsize=5.5,
                color=INK,
                ha="center",
                va="center",
                path_effects=[withStroke(linewidth=1.6, foreground="white")],
                zorder=6,
                gid="stop",
            )


def _draw_unserved(ax: Axes, plane: DrawnPlane, instance: Instance, solution: Solution, *, names: bool) -> None:
    """Write above the map who is not served and why, and the names of the first few on the map."""
    number = len(solution.unserved(instance))
    if number == 0:
        return
    told = explain_unserved(instance, solution, MOST_UNSERVED)
    lines = [f"{count_unserved(number)}:"]
    for found in told:
        name = show_text(instance.customer_name(found.customer), LONGEST_LABEL)
        lines += wrap(f"{name}: {found.reason}", LONGEST_LINE, subsequent_indent="    ")
    if number > len(told):
        lines.append(f"and {number - len(told):,} more")
    ax.annotate(
        "\n".join(lines),
        (0.0, 1.0),
        xycoords="axes fraction",
        xytext=(0, 32),  # above the title
        textcoords="offset points",
        fontsize=8,
        color=RED,
        va="bottom",
        parse_math=False,
        gid="unserved",
    )
    if not names:
        _draw_names(ax, plane, instance, [found.customer for found in told])


def _draw_names(ax: Axes, plane: DrawnPlane, instance: Instance, customers: Iterable[int]) -> None:
    """Write each customer's name next to it."""
    from matplotlib.patheffects import withStroke

    for customer in customers:
        ax.annotate(
            show_text(instance.customer_name(customer), LONGEST_LABEL),
            tuple(plane.points[customer]),
            xytext=(5, 5),
            textcoords="offset points",
            fontsize=6,
            color=INK,
            path_effects=[withStroke(linewidth=1.6, foreground="white")],
            parse_math=False,
            zorder=6,
            gid="name",
        )


def _draw_scale(ax: Axes, plane: DrawnPlane, instance: Instance) -> None:
    """Draw a scale bar in the lower left corner, if places are in degrees."""
    if instance.metric != "great_circle":
        return
    left, right = ax.get_xlim()
    bottom, top = ax.get_ylim()
    metres_per_degree = math.radians(1) * EARTH_RADIUS_METRES / plane.aspect
    length = round_down(0.25 * (right - left) * metres_per_degree)
    x, y = left + 0.02 * (right - left), bottom + 0.02 * (top - bottom)
    ax.plot([x, x + length / metres_per_degree], [y, y], color=INK, linewidth=2, solid_capstyle="butt", zorder=6)
    ax.annotate(
        show_scale(length), (x, y), xytext=(0, 4), textcoords="offset points", fontsize=7, color=INK, gid="scale"
    )


def _draw_legend(ax: Axes, instance: Instance, solution: Solution, colours: list[str], lengths: list[float]) -> None:
    from matplotlib.lines import Line2D

    loads = solution.loads(instance)
    capacities = [instance.fleet[kind].capacities[0] for kind in solution.vehicle_types(instance)]
    shown = instance.shown_demand
    columns = (
        _pad([f"Route {number}" for number in range(1, len(loads) + 1)]),
        _pad([f"{shown(load)}/{shown(capacity)}" for load, capacity in zip(loads, capacities, strict=True)]),
        _pad(_show_lengths(instance, lengths)),
    )
    handles = [
        Line2D([], [], color=colour, linewidth=2.5, marker="o", markersize=5, label="   ".join(cells))
        for colour, *cells in zip(colours, *columns, strict=True)
    ]
    handles.append(Line2D([], [], color=INK, marker="s", markersize=7, linestyle="none", label="Depot"))
    ax.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.02, 1.0),
        borderaxespad=0.0,
        ncols=-(-len(handles) // LEGEND_ROWS),
        fontsize=8,
        frameon=False,
        labelcolor=INK,
        handlelength=1.6,
    )


def _draw_summary(ax: Axes, instance: Instance, loads: list[int], lengths: list[float]) -> None:
    shortest, mean, longest = _show_lengths(instance, [min(lengths), math.fsum(lengths) / len(lengths), max(lengths)])
    rows = [
        ("routes", f"{len(loads)}"),
        ("capacity", f"{instance.shown_demand(instance.capacity)}"),
        ("least load", f"{instance.shown_demand(min(loads))}"),
        ("mean load", f"{sum(loads) / len(loads) / instance.demand_scale:.1f}"),
        ("largest load", f"{instance.shown_demand(max(loads))}"),
        ("shortest route", shortest),
        ("mean route", mean),
        ("longest route", longest),
    ]
    for row, (name, value) in enumerate(rows):
        for text, shift, side, colour in ((name, 16, "left", FAINT), (value, 140, "right", INK)):
            ax.annotate(
                text,
                (1.0, 1.0),
                xycoords="axes fraction",
                xytext=(shift, -13 * row),
                textcoords="offset points",
                fontsize=8,
                color=colour,
                ha=side,
                va="top",
            )


def _title(ax: Axes, instance: Instance, facts: str) -> None:
    text = f"{show_text(instance.name, LONGEST_TITLE)}: {facts}" if instance.name else facts[:1].upper() + facts[1:]
    ax.set_title(text, loc="left", fontsize=11, color=INK, pad=12, parse_math=False)


def _pad(cells: list[str]) -> list[str]:
    width = max(map(len, cells), default=0)
    return [FIGURE_SPACE * (width - len(cell)) + cell for cell in cells]


def _show_lengths(instance: Instance, lengths: Sequence[float], digits: int = 3) -> list[str]:
    """Format lengths consistently: integers as they are, others to a common number of digits."""
    if instance.metric == "great_circle" and instance.distances is None:
        return [f"{length / 1000:.1f} km" for length in lengths]
    if all(length == round(length) for length in lengths):
        return [f"{length:.0f}" for length in lengths]
    decimals = max(0, digits - 1 - math.floor(math.log10(max(lengths))))
    return [f"{length:.{decimals}f}" if decimals <= 6 else f"{length:.{digits}g}" for length in lengths]
