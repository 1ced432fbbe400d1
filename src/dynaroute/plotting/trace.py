"""Plots of cost over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dynaroute.plotting.routes import plot_solution
from dynaroute.plotting.style import FAINT, FIGURE_INCHES, INK, tidy_axes
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE = "#4477aa"
PANEL_GAP, PANEL_HEIGHT = 0.15, 0.15  # relative to the height of the routes' plot


def plot_trace(
    trace: Sequence[tuple[float, float]],
    *,
    until: float | None = None,
    unit: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the cost of the best solution over time, as steps.

    Parameters
    ----------
    trace
        (seconds, cost) of every improvement, at least one.
    until
        When the search ended, if after the last improvement.
    unit
        Unit of the costs if known: "m" for metres, which are shown as kilometres.
    ax
        Axes to draw on; None makes a new figure.
    """
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(figsize=(FIGURE_INCHES[0], FIGURE_INCHES[1] / 2)).subplots()
    divisor, label = (1000, "cost, km") if unit == "m" else (1, "cost")
    seconds, costs = [point[0] for point in trace], [point[1] / divisor for point in trace]
    end = max(seconds[-1], seconds[-1] if until is None else until)
    ax.step([*seconds, end], [*costs, costs[-1]], where="post", color=LINE, linewidth=1.5, solid_joinstyle="round")
    ax.plot([end], [costs[-1]], "o", color=LINE, markersize=4, clip_on=False)
    ax.set_xlim(left=0.0, right=end or None)
    ax.set_xlabel("seconds", color=FAINT, fontsize=8)
    ax.set_ylabel(label, color=FAINT, fontsize=8)
    tidy_axes(ax)
    ax.ticklabel_format(axis="y", useOffset=False, style="plain")
    ax.set_title(_describe(costs), loc="left", fontsize=9, color=INK)
    return ax


def plot_solution_and_trace(
    instance: Instance, solution: Solution, trace: Sequence[tuple[float, float]], *, until: float | None = None
) -> Axes:
    """Plot the routes, with the search's cost over time below them.

    Parameters
    ----------
    instance, solution
        As for `plot_solution`.
    trace, until
        As for `plot_trace`.

    Returns
    -------
    Axes
        The axes of the routes; their figure holds both.
    """
    above = plot_solution(instance, solution)
    above.apply_aspect()  # moves the axes to where they will be drawn
    left, bottom, width, _ = above.get_position().bounds
    # placed below the map by hand: an automatic layout would shrink the map next to a long legend
    below = above.figure.add_axes((left, bottom - PANEL_GAP - PANEL_HEIGHT, width, PANEL_HEIGHT))
    plot_trace(trace, until=until, unit=instance.unit, ax=below)
    return above


def _describe(costs: Sequence[float]) -> str:
    if costs[-1] >= costs[0]:
        return "Cost over time: no improvement"
    return f"Cost over time: {100 * (1 - costs[-1] / costs[0]):.2f} % saved"
