from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from drawn import ring, small_instance
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dynaroute.plotting import plot_solution_and_trace, plot_trace, save_figure
from dynaroute.problem.solution import Solution

TRACE = [(0.5, 200.0), (1.0, 160.0), (4.0, 150.0)]


def drawn_steps(ax: Axes) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in np.asarray(ax.lines[0].get_xydata())]


def test_every_improvement_is_drawn_and_the_last_until_the_end() -> None:
    ax = plot_trace(TRACE, until=10.0)

    assert drawn_steps(ax) == [*TRACE, (10.0, 150.0)]
    assert ax.get_xlim() == (0.0, 10.0)


def test_without_an_end_the_last_improvement_is_the_end() -> None:
    assert plot_trace(TRACE).get_xlim() == (0.0, 4.0)


def test_metres_are_shown_as_kilometres() -> None:
    ax = plot_trace([(0.0, 42_530.0), (1.0, 40_000.0)], unit="m")

    assert ax.get_ylabel() == "cost, km"
    assert np.asarray(ax.lines[0].get_ydata()).tolist() == [42.53, 40.0, 40.0]


def test_title_tells_what_was_saved() -> None:
    assert plot_trace(TRACE).get_title(loc="left") == "Cost over time: 25.00 % saved"
    assert plot_trace(TRACE[:1]).get_title(loc="left") == "Cost over time: no improvement"


def test_given_axes_are_drawn_on_and_returned() -> None:
    ax = Figure().subplots()

    assert plot_trace(TRACE, ax=ax) is ax


@pytest.mark.parametrize("trace", [[(0.0, 0.0)], [(0.0, 1e-9)], [(1e-9, 1e12), (2e-9, 1e12 - 1)]])
def test_searches_of_no_length_and_costs_of_any_magnitude_are_drawn(
    tmp_path: Path, trace: list[tuple[float, float]]
) -> None:
    save_figure(plot_trace(trace), tmp_path / "a.png")

    assert (tmp_path / "a.png").exists()


def test_trace_is_drawn_below_the_routes_as_wide_as_they_are() -> None:
    above = plot_solution_and_trace(small_instance(), Solution(((1, 2), (3,))), TRACE, until=5.0)

    figure = above.get_figure(root=True)
    assert figure is not None
    _, below = figure.axes
    assert below.get_position().y1 < above.get_position().y0
    assert below.get_position().x0 == pytest.approx(above.get_position().x0)
    assert below.get_position().x1 == pytest.approx(above.get_position().x1)
    assert drawn_steps(below)[-1] == (5.0, 150.0)


def test_picture_holds_both_panels_and_the_legend(tmp_path: Path) -> None:
    above = plot_solution_and_trace(*ring(40), TRACE)
    figure = above.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    legend = above.get_legend()
    assert legend is not None

    box = figure.get_tightbbox().transformed(figure.dpi_scale_trans)

    for part in (above, figure.axes[1], legend):
        extent = part.get_window_extent()
        assert box.x0 <= extent.x0 <= extent.x1 <= box.x1
        assert box.y0 <= extent.y0 <= extent.y1 <= box.y1
