"""How a policy that encodes anew builds routes: what it has driven, and how it sees what is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynaroute.plotting.style import INK, DrawnPlane, colour_routes, project
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS = 4  # before the finished routes
PANEL_INCHES = 3.1
MAP = "viridis"


def plot_growing(
    instance: Instance,
    solution: Solution,
    changes: Sequence[NDArray[np.float64]],
    better: Solution,
    titles: tuple[str, str],
) -> Axes:
    """Plot routes while they grow, and what a search made of them.

    Parameters
    ----------
    instance
        An instance with coordinates.
    solution
        The policy's routes, in the order in which they were built.
    changes
        Before each of the routes, (n,) how far each customer's encoding has moved; nan for customers that were served.
    better
        The routes after a search.
    titles
        Titles of the last two panels, the finished routes and those after the search.

    Returns
    -------
    Axes
        The first panel; its figure holds all.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3 * PANEL_INCHES, 2.25 * PANEL_INCHES), layout="constrained")
    axes: list[Axes] = figure.subplots(2, 3).ravel().tolist()
    plane, most = project(instance), max(float(np.nanmax(change)) for change in changes)
    shown = np.linspace(0, len(changes) - 1, PANELS + 1).round().astype(int)[:PANELS].tolist()
    colours = colour_routes(instance, solution)
    for panel, driven in zip(axes[:PANELS], shown, strict=True):
        _draw_routes(panel, plane, solution.routes[:driven], colours[:driven])
        x, y = plane.points[1:].T
        points = panel.scatter(x, y, c=changes[driven], s=26, cmap=MAP, vmin=0, vmax=most, zorder=3)
        left = int(np.isfinite(changes[driven]).sum())
        title = f"{driven} routes driven: encode the {left} left" if driven else f"Encode all {left} customers"
        _frame(panel, plane, title)
    bar = figure.colorbar(points, ax=axes[2], shrink=0.9, pad=0.02)
    bar.set_label("how far its encoding has moved since the first", fontsize=8, color=INK)
    bar.ax.tick_params(labelsize=8)
    for panel, found, title in zip(axes[PANELS:], (solution, better), titles, strict=True):
        _draw_finished(panel, instance, found, title)
    figure.suptitle(
        "The dynamic attention model: encode, drive a route, encode what is left", x=0.01, ha="left", color=INK
    )
    return axes[0]


def plot_side_by_side(instance: Instance, solutions: Sequence[Solution], titles: Sequence[str]) -> Axes:
    """Plot several solutions of one instance, each with its title.

    Parameters
    ----------
    instance
        An instance with coordinates.
    solutions, titles
        What to plot, and what is written above each.

    Returns
    -------
    Axes
        The first panel; its figure holds all.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(len(solutions) * PANEL_INCHES, 1.1 * PANEL_INCHES), layout="constrained")
    axes: list[Axes] = figure.subplots(1, len(solutions), squeeze=False).ravel().tolist()
    for panel, solution, title in zip(axes, solutions, titles, strict=True):
        _draw_finished(panel, instance, solution, title)
    return axes[0]


def _draw_finished(ax: Axes, instance: Instance, solution: Solution, title: str) -> None:
    plane, colours = project(instance), colour_routes(instance, solution)
    _draw_routes(ax, plane, solution.routes, colours)
    for route, colour in zip(solution.routes, colours, strict=True):
        ax.scatter(plane.points[list(route), 0], plane.points[list(route), 1], color=colour, s=12, zorder=3)
    _frame(ax, plane, title)


def _frame(ax: Axes, plane: DrawnPlane, title: str) -> None:
    ax.set(xticks=[], yticks=[], aspect=plane.aspect)
    ax.set_title(title, loc="left", fontsize=9, color=INK)
    ax.spines[:].set_color("#c9ccd1")
    ax.plot(*plane.points[0], "s", color=INK, markersize=7, markeredgecolor="white", zorder=5)


def _draw_routes(ax: Axes, plane: DrawnPlane, routes: Sequence[Sequence[int]], colours: Sequence[str]) -> None:
    for route, colour in zip(routes, colours, strict=True):
        stops = plane.points[list(route)]
        ax.plot(*stops.T, color=colour, linewidth=1.6, zorder=2)
        for place in stops[[0, -1]]:
            ax.plot(*np.array([plane.points[0], place]).T, color=colour, linewidth=0.7, alpha=0.5, zorder=1)
