"""Pictures of when routes drive."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from drawn import ring, small_instance
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from dynaroute.base.errors import InstanceError
from dynaroute.plotting import plot_solution, plot_solution_and_timetable, plot_timetable, save_figure
from dynaroute.plotting.timetable import LATE
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution

ROUTES = Solution(((1, 2), (3,)))


def timed(latest: float = 1000.0) -> Instance:
    windows = np.array([[0, 5000], [100, latest], [200, 900], [0, 900.0]])
    return replace(small_instance(), windows=windows, service=np.array([0, 20, 20, 20.0]), speed=2.0)


def test_each_route_has_a_row_and_each_service_a_bar() -> None:
    ax = plot_timetable(timed(), ROUTES)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "2"]
    assert len(ax.patches) == 3


def test_waiting_is_hatched() -> None:
    windows = np.array([[0, 5000], [100, 110], [200, 900], [0, 900.0]])
    ax = plot_timetable(replace(timed(), windows=windows), ROUTES)
    assert [bool(patch.get_hatch()) for patch in ax.patches].count(True) == 1


def test_a_late_service_is_red() -> None:
    windows = np.array([[0, 5000], [0, 1], [0, 900], [0, 900.0]])
    ax = plot_timetable(replace(timed(), windows=windows), ROUTES)
    assert LATE in {to_hex(patch.get_facecolor()) for patch in ax.patches}


def test_names_of_vehicles_are_text_not_formulas() -> None:
    instance = replace(timed(), vehicles=(VehicleType(10, "$\\alpha$"),))
    ax = plot_timetable(instance, ROUTES)
    assert ax.get_yticklabels()[0].get_text() == "1 \\$\\alpha\\$"


def test_without_times_there_is_no_timetable() -> None:
    with pytest.raises(InstanceError, match="speed"):
        plot_timetable(small_instance(), ROUTES)


@pytest.mark.parametrize("routes", [2, 25, 70])
def test_the_timetable_stands_beside_the_map_and_its_legend(routes: int, tmp_path: Path) -> None:
    instance, solution = ring(routes)
    ax = plot_solution_and_timetable(replace(instance, speed=1.0), solution)
    above, beside = ax.figure.axes
    assert beside.get_position().x0 > above.get_position().x1
    legend = above.get_legend()
    if legend is not None:
        extent = legend.get_window_extent().transformed(ax.figure.transFigure.inverted())
        assert beside.get_position().x0 > extent.x1
    save_figure(ax, tmp_path / "plan.png")


@pytest.mark.parametrize("name", ["v", "Mercedes Sprinter 516"])
def test_the_names_of_vehicles_stand_clear_of_the_legend(name: str) -> None:
    instance, solution = ring(12)
    vehicles = (VehicleType(instance.capacity, name),)
    ax = plot_solution_and_timetable(replace(instance, speed=1.0, vehicles=vehicles), solution)
    figure = ax.get_figure(root=True)
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    above, beside = ax.figure.axes

    legend = above.get_legend()
    assert legend is not None
    extent = beside.get_tightbbox(renderer)
    assert extent is not None and extent.x0 > legend.get_window_extent(renderer).x1


def test_an_open_route_is_not_drawn_back_to_the_depot() -> None:
    instance = small_instance()
    legs = [
        len(plot_solution(problem, ROUTES).collections[0].get_paths())
        for problem in (instance, replace(instance, vehicles=(VehicleType(10, end="open"),)))
    ]
    assert legs == [4, 2]
