"""Pictures of cost over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dynaroute.instance import Instance
from dynaroute.plotting.routes import FAINT, FIGURE_INCHES, INK, plot_solution, tidy_axes
from dynaroute.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_solution_and_trace", "plot_trace"]

LINE = "#4477aa"
PANEL_GAP, PANEL_HEIGHT = 0.15, 0.15  # parts of the height of the picture of routes


def plot_trace(trace: Sequence[tuple[float, float]], *, until: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw the cost of the best solution over time, as the steps that it takes.

    Parameters
    ----------
    trace
        (seconds, cost) of every better solution, at least one.
    until
        When the search ended, if it went on after the last improvement.
    ax
        Axes to draw on; a new figure's if None.
    """
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(figsize=(FIGURE_INCHES[0], FIGURE_INCHES[1] / 2)).subplots()
    seconds, costs = [point[0] for point in trace], [point[1] for point in trace]
    end = max(seconds[-1], seconds[-1] if until is None else until)
    ax.step([*seconds, end], [*costs, costs[-1]], where="post", color=LINE, linewidth=1.5, solid_joinstyle="round")
    ax.plot([end], [costs[-1]], "o", color=LINE, markersize=4, clip_on=False)
    ax.set_xlim(left=0.0, right=end or None)
    ax.set_xlabel("seconds", color=FAINT, fontsize=8)
    ax.set_ylabel("cost", color=FAINT, fontsize=8)
    tidy_axes(ax)
    ax.ticklabel_format(axis="y", useOffset=False, style="plain")
    ax.set_title(_describe(costs), loc="left", fontsize=9, color=INK)
    return ax


def plot_solution_and_trace(
    instance: Instance, solution: Solution, trace: Sequence[tuple[float, float]], *, until: float | None = None
) -> Axes:
    """Draw the routes and, in a panel below them, how a search came to them.

    Parameters
    ----------
    instance, solution
        As for `plot_solution`.
    trace, until
        As for `plot_trace`.

    Returns
    -------
    Axes
        Those of the routes; the figure holds both.
    """
    above = plot_solution(instance, solution)
    above.apply_aspect()  # moves the axes to where they will be drawn
    left, bottom, width, _ = above.get_position().bounds
    # on a page of its own below the map: a layout for both would shrink the map beside a long legend
    below = above.figure.add_axes((left, bottom - PANEL_GAP - PANEL_HEIGHT, width, PANEL_HEIGHT))
    plot_trace(trace, until=until, ax=below)
    return above


def _describe(costs: Sequence[float]) -> str:
    if costs[-1] >= costs[0]:
        return "Cost over time: no improvement"
    return f"Cost over time: {100 * (1 - costs[-1] / costs[0]):.2f} % saved"
