"""Plots of instances, routes, timetables, and the progress of a search.

Every plotting function takes ``ax=None`` and returns the axes it drew on. Without axes it makes a new figure outside of
pyplot, so that nothing stays open and no screen is needed:

    >>> ax = plot_solution(instance, solution)
    >>> save_figure(ax, "routes.svg")

Begin with `routes`. It may import `base` and `problem`.
"""

from dynaroute.plotting.pictures import PICTURE_SUFFIXES, check_picture_path, format_figure, save_figure
from dynaroute.plotting.routes import plot_instance, plot_solution
from dynaroute.plotting.timetable import plot_solution_and_timetable, plot_timetable
from dynaroute.plotting.trace import plot_solution_and_trace, plot_trace

__all__ = [
    "PICTURE_SUFFIXES",
    "check_picture_path",
    "format_figure",
    "plot_instance",
    "plot_solution",
    "plot_solution_and_timetable",
    "plot_solution_and_trace",
    "plot_timetable",
    "plot_trace",
    "save_figure",
]
