"""Timetables as Gantt charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dynaroute.base.display import show_text
from dynaroute.plotting.routes import plot_solution
from dynaroute.plotting.style import FAINT, FIGURE_INCHES, INK, RED, colour_routes, tidy_axes
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, make_timetable
from dynaroute.problem.timetable import RouteSchedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LATE = RED
ROW_INCHES = 0.28
LONGEST_NAME = 16  # characters of a vehicle's name
PANEL_GAP, PANEL_WIDTH = 0.04, 0.9  # relative to the width of the routes' figure


def plot_timetable(instance: Instance, solution: Solution, ax: Axes | None = None) -> Axes:
    """Plot one row per route: driving thin, service thick, waiting hatched, late services red.

    Parameters
    ----------
    instance
        An instance with durations or a speed.
    solution
        Routes over its customers.
    ax
        Axes to draw on; None makes a new figure.

    Raises
    ------
    InstanceError
        If travel times are unknown.
    """
    timetable = make_timetable(instance, solution)
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(figsize=(FIGURE_INCHES[0], max(2.0, ROW_INCHES * len(timetable) + 1))).subplots()
    for row, (times, colour) in enumerate(zip(timetable, colour_routes(instance, solution), strict=True)):
        _draw_route(ax, instance, row, times, colour)
    ax.set_yticks(range(len(timetable)), [_call(instance, row, times) for row, times in enumerate(timetable)])
    ax.set_ylim(len(timetable) - 0.4, -0.6)
    tidy_axes(ax)
    _label_times(ax, instance)
    waiting = sum(times.waiting for times in timetable)
    words = f"{instance.shown_duration(waiting)} of waiting" if waiting > 1 else "no waiting"
    ax.set_title(f"Timetable: {words}", loc="left", fontsize=9, color=INK)
    return ax


def plot_solution_and_timetable(instance: Instance, solution: Solution, *, names: bool = False) -> Axes:
    """Plot the routes with their timetable next to them.

    Parameters
    ----------
    instance, solution
        As for `plot_solution` and `plot_timetable`.
    names
        As for `plot_solution`.

    Returns
    -------
    Axes
        The axes of the routes; their figure holds both.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    routes = plot_solution(instance, solution, names=names)
    routes.apply_aspect()  # moves the axes to where they will be drawn
    _, bottom, width, height = routes.get_position().bounds
    figure = routes.get_figure(root=True)
    assert figure is not None  # axes are made by a figure
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    extent = routes.get_tightbbox(renderer)  # with the legend
    right = width if extent is None else extent.transformed(figure.transFigure.inverted()).x1
    needed = min(height, (ROW_INCHES * len(solution.routes) + 0.2) / FIGURE_INCHES[1])
    place = (right, bottom + height - needed, PANEL_WIDTH, needed)
    beside = plot_timetable(instance, solution, ax=figure.add_axes(place))
    extent = beside.get_tightbbox(renderer)  # with the names of the vehicles, which are left of the axes
    left = right if extent is None else extent.transformed(figure.transFigure.inverted()).x0
    beside.set_position((right + PANEL_GAP + right - left, *place[1:]))
    return routes


def _draw_route(ax: Axes, instance: Instance, row: int, times: RouteSchedule, colour: str) -> None:
    ax.plot([times.departure, times.end], [row, row], color=colour, linewidth=1.2, solid_capstyle="butt", zorder=1)
    for stop in times.stops:
        latest = max((closes for _, closes in instance.windows_of(stop.customer)), default=np.inf)
        is_late = stop.start > latest + 1e-6
        if stop.waiting > 0:
            ax.barh(
                row,
                stop.waiting,
                left=stop.arrival,
                height=0.4,
                facecolor="white",
                edgecolor=FAINT,
                hatch="////",
                linewidth=0.4,
            )
        served = LATE if is_late else colour
        ax.barh(
            row, stop.leave - stop.start, left=stop.start, height=0.62, color=served, edgecolor="white", linewidth=0.5
        )
        ax.plot(
            [stop.start], [row], "|", color=served, markersize=7, zorder=3
        )  # so that services without duration are visible too


def _label_times(ax: Axes, instance: Instance) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

    if instance.shown_time(3600) != "01:00":  # time is distance
        ax.xaxis.set_major_locator(MaxNLocator(6))
        ax.set_xlabel("time", color=FAINT, fontsize=8)
        return
    low, high = ax.get_xlim()
    step = next((step for step in (300, 900, 1800, 3600, 7200, 14400) if (high - low) / step <= 8), 43200)
    ax.xaxis.set_major_locator(MultipleLocator(step))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: instance.shown_time(seconds)))


def _call(instance: Instance, row: int, times: RouteSchedule) -> str:
    name = show_text(instance.fleet[times.vehicle].name, LONGEST_NAME)
    return f"{row + 1} {name}".rstrip().replace("$", r"\$")
