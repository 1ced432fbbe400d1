from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from drawn import ring, small_instance
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.quiver import Quiver
from matplotlib.text import Annotation
from strategies import Placement, instances, solutions_of

from dynaroute.base.errors import SolutionError, UnsupportedError
from dynaroute.plotting import plot_instance, plot_solution, save_figure
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.lengths import great_circle
from dynaroute.problem.solution import Solution


def customer_dots(ax: Axes) -> PathCollection:
    (dots,) = [collection for collection in ax.collections if isinstance(collection, PathCollection)]
    return dots


def drawn_legs(ax: Axes) -> list[frozenset[tuple[float, ...]]]:
    lines = [collection for collection in ax.collections if isinstance(collection, LineCollection)]
    paths = [path for collection in lines for path in collection.get_segments()]
    return [frozenset(map(tuple, path[leg : leg + 2].tolist())) for path in paths for leg in range(len(path) - 1)]


def legend_lines(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [" ".join(text.get_text().replace("\u2007", " ").split()) for text in legend.get_texts()]


def written_notes(ax: Axes, kind: str | None = None) -> list[str]:
    """What is written beside things: route numbers and summary, or stop numbers, names or the scale."""
    return [text.get_text() for text in ax.texts if isinstance(text, Annotation) and text.get_gid() == kind]


def test_given_axes_are_drawn_on_and_returned() -> None:
    ax = Figure().subplots()

    assert plot_solution(small_instance(), Solution(((1, 2), (3,))), ax) is ax
    assert plot_instance(small_instance(), ax) is ax


def test_every_leg_of_every_route_is_drawn_once() -> None:
    instance = small_instance()
    assert instance.coordinates is not None
    depot, first, second, third = map(tuple, instance.coordinates.tolist())

    ax = plot_solution(instance, Solution(((1, 2), (3,))))

    expected = [{depot, first}, {first, second}, {second, depot}, {depot, third}, {third, depot}]
    assert sorted(map(sorted, drawn_legs(ax))) == sorted(map(sorted, expected))


def test_markers_grow_with_demand() -> None:
    sizes = np.asarray(customer_dots(plot_instance(small_instance())).get_sizes())

    assert sizes[0] < sizes[1] < sizes[2]


def test_customer_that_no_route_visits_is_hollow() -> None:
    ax = plot_solution(small_instance(), Solution(((1,), (3,))))

    faces = np.asarray(customer_dots(ax).get_facecolor())
    assert faces[:, 3].tolist() == [1.0, 0.0, 1.0]


def test_customers_that_are_not_served_are_named_above_the_title_with_the_reasons() -> None:
    instance = replace(small_instance(), customer_names=("A", "$B", "C"), vehicles=(VehicleType(9, count=1),))
    ax = plot_solution(instance, Solution(((1, 2),)))
    texts = {text.get_gid(): text for text in ax.texts if text.get_gid()}

    assert texts["unserved"].get_text().startswith("1 customer is not served:\nC: the only vehicle has too little room")
    assert texts["name"].get_text() == "C"
    figure = ax.get_figure(root=True)
    assert figure is not None
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    figure.draw(renderer)
    assert texts["unserved"].get_window_extent(renderer).y0 > ax.title.get_window_extent(renderer).y1


def test_many_customers_that_are_not_served_are_counted() -> None:
    instance, _ = ring(20)
    ax = plot_solution(instance, Solution(((1,),)))
    (text,) = [text.get_text() for text in ax.texts if text.get_gid() == "unserved"]

    assert len(text.splitlines()) == 10
    assert text.splitlines()[-1] == f"and {instance.size - 9} more"


def test_plan_that_serves_all_has_no_text_above_its_title() -> None:
    instance, solution = ring(3)

    assert not [text for text in plot_solution(instance, solution).texts if text.get_gid() == "unserved"]


def test_legend_tells_load_and_length_of_each_route() -> None:
    ax = plot_solution(small_instance(), Solution(((1, 2), (3,))))

    assert legend_lines(ax) == ["Route 1 9/10 12", "Route 2 9/10 2", "Depot"]


def test_loads_are_shown_in_the_users_unit() -> None:
    instance = Instance(np.eye(2), np.array([0, 15]), 20, demand_scale=10)

    assert legend_lines(plot_solution(instance, Solution(((1,),))))[0].startswith("Route 1 1.5/2 ")


def test_legend_tells_the_capacity_of_each_routes_own_vehicle() -> None:
    vehicles = (VehicleType(10, name="van", count=1), VehicleType(9, name="bicycle"))
    instance = replace(small_instance(), vehicles=vehicles)

    ax = plot_solution(instance, Solution(((1, 2), (3,)), vehicles=(0, 1)))

    assert legend_lines(ax) == ["Route 1 9/10 12", "Route 2 9/9 2", "Depot"]


def test_title_tells_name_routes_and_length() -> None:
    ax = plot_solution(small_instance(), Solution(((1, 2), (3,))))

    assert ax.get_title(loc="left") == "small: 2 routes, length 14"


def test_legend_of_fifty_routes_fits_beside_the_axes_without_overlap() -> None:
    ax = plot_solution(*ring(50))
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()

    legend = ax.get_legend()
    assert legend is not None
    assert len(legend.get_texts()) == 51
    box = legend.get_window_extent()
    frame = ax.get_window_extent()
    assert box.x0 >= frame.x1
    assert box.y0 >= frame.y0
    boxes = [text.get_window_extent() for text in legend.get_texts()]
    assert not any(boxes[one].overlaps(boxes[other]) for one in range(51) for other in range(one))


def test_routes_are_numbered_where_they_end() -> None:
    assert written_notes(plot_solution(*ring(12))) == [str(number) for number in range(1, 13)]


def test_stops_carry_their_order_up_to_a_hundred_customers() -> None:
    assert written_notes(plot_solution(*ring(3)), "stop") == ["1", "2"] * 3
    assert written_notes(plot_solution(*ring(51)), "stop") == []


def test_names_are_written_where_they_are_asked_for_and_are_no_formulas() -> None:
    instance = replace(small_instance(), customer_names=("$x^$", "b", "c"))

    assert written_notes(plot_instance(instance), "name") == []
    assert written_notes(plot_instance(instance, names=True), "name") == ["$x^$", "b", "c"]


def test_arrows_point_the_way_that_is_driven() -> None:
    ax = plot_solution(small_instance(), Solution(((2,),)))

    (arrows,) = [part for part in ax.collections if isinstance(part, Quiver)]
    assert np.asarray(arrows.U).tolist() == [1.0, -1.0]
    assert np.asarray(arrows.V).tolist() == [0.0, 0.0]


def test_maps_in_degrees_have_a_scale_that_is_right() -> None:
    places = np.array([[53.5, 9.0], [53.5, 10.0], [53.6, 9.5]])
    ax = plot_solution(Instance(places, np.array([0, 1, 1]), 5, metric="great_circle"), Solution(((1, 2),)))

    assert written_notes(ax, "scale") == ["10 km"]
    (bar,) = [places for line in ax.lines if len(places := np.asarray(line.get_xdata())) == 2]
    left, right = bar.tolist()
    assert great_circle(np.array([53.55, left]), np.array([53.55, right])) == pytest.approx(10_000, rel=1e-3)
    assert written_notes(plot_solution(*ring(3)), "scale") == []


def test_more_than_sixty_routes_get_a_summary_instead_of_a_legend() -> None:
    ax = plot_solution(*ring(61))

    assert ax.get_legend() is None
    texts = written_notes(ax)
    assert texts[texts.index("routes") + 1] == "61"
    assert texts[texts.index("largest load") + 1] == "10"


def test_sixty_routes_have_sixty_colours_and_neighbours_contrast() -> None:
    ax = plot_solution(*ring(60))
    legend = ax.get_legend()
    assert legend is not None

    colours = [to_rgb(line.get_color()) for line in legend.get_lines()[:60]]

    assert len(set(colours)) == 60
    steps = [math.dist(colours[number], colours[number - 1]) for number in range(60)]
    assert min(steps[1:]) > 0.3


def test_route_to_an_unknown_customer_is_refused() -> None:
    with pytest.raises(SolutionError, match="no customer 4"):
        plot_solution(small_instance(), Solution(((1, 4),)))


def test_instance_without_coordinates_is_refused() -> None:
    instance = Instance(None, np.array([0, 1]), 1, distances=np.array([[0.0, 2.0], [2.0, 0.0]]))

    with pytest.raises(UnsupportedError, match="no coordinates"):
        plot_instance(instance)


def test_degrees_are_drawn_as_a_map() -> None:
    places = np.array([[60.0, 10.0], [61.0, 12.0], [59.0, 11.0]])
    ax = plot_solution(
        Instance(places, np.array([0, 1, 1]), 2, metric="great_circle"),
        Solution(((1, 2),)),
    )

    assert np.asarray(customer_dots(ax).get_offsets()).tolist() == [[12.0, 61.0], [11.0, 59.0]]
    assert ax.get_aspect() == pytest.approx(2.0)  # at 60 degrees a degree of longitude is half as long
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("longitude", "latitude")
    assert legend_lines(ax)[0].endswith("km")


def test_places_on_both_sides_of_the_date_line_stay_together() -> None:
    places = np.array([[-17.0, 179.5], [-17.1, -179.5]])

    left, right = plot_instance(Instance(places, np.array([0, 1]), 1, metric="great_circle")).get_xlim()

    assert right - left < 3


def test_no_routes_leave_all_customers_hollow() -> None:
    ax = plot_solution(small_instance(), Solution(()))

    assert legend_lines(ax) == ["Depot"]
    assert not np.asarray(customer_dots(ax).get_facecolor()).reshape(-1, 4)[:, 3].any()


@pytest.mark.parametrize("unit", [1e-150, 1e-9, 1e9, 1e150])
def test_coordinates_of_any_magnitude_are_drawn(tmp_path: Path, unit: float) -> None:
    coordinates = small_instance().coordinates
    assert coordinates is not None
    instance = Instance(coordinates * (unit / 4), np.array([0, 2, 7, 9]), 10)

    save_figure(plot_solution(instance, Solution(((1, 2), (3,)))), tmp_path / "a.png")

    assert (tmp_path / "a.png").exists()


@settings(max_examples=20)
@given(st.data())
def test_any_feasible_solution_is_drawn_with_all_customers_in_view(data: st.DataObject) -> None:
    placements: st.SearchStrategy[Placement] = st.sampled_from(("plane", "globe", "matrix and plane"))
    instance = data.draw(instances(placements=placements))

    ax = plot_solution(instance, data.draw(solutions_of(instance)))

    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    offsets = np.asarray(customer_dots(ax).get_offsets())
    assert len(offsets) == instance.size
    assert (offsets[:, 0] > left).all()
    assert (offsets[:, 0] < right).all()
    assert (offsets[:, 1] > bottom).all()
    assert (offsets[:, 1] < top).all()


@pytest.mark.parametrize("name", ["a$b_$c", "東京", "\\frac{"])
def test_names_are_drawn_as_they_are(tmp_path: Path, name: str) -> None:
    ax = plot_instance(small_instance(name))

    save_figure(ax, tmp_path / "picture.svg")

    assert ax.get_title(loc="left").startswith(name)
