"""Instances, solutions and results in a notebook: short words, and a picture that is sound SVG."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from policies import draw_instances

from dynaroute.base.errors import SolutionError
from dynaroute.problem.instance import Instance
from dynaroute.problem.sketch import draw_sketch
from dynaroute.problem.solution import Solution
from dynaroute.solving.solve import solve


def count(page: str, tag: str) -> int:
    """How many elements of this name a page has; it must be sound XML, so that nothing can break out of it."""
    return len(list(ElementTree.fromstring(page.replace("<br>", "<br/>")).iter("{http://www.w3.org/2000/svg}" + tag)))


def test_an_instance_shows_its_places() -> None:
    (instance,) = draw_instances(7)
    page = instance._repr_html_()
    assert (count(page, "circle"), count(page, "rect"), count(page, "polyline")) == (7, 1, 0)
    assert "7 customers, capacity 20" in page
    assert len(repr(instance)) < 100


def test_a_result_shows_its_routes() -> None:
    result = solve(draw_instances(12)[0], model="savings")
    page = result._repr_html_()
    assert count(page, "polyline") == len(result.solution.routes) > 1
    assert f"cost {result.cost:.4f}" in repr(result)
    assert "savings" in repr(result)
    assert len(repr(result)) < 150


def test_a_solution_is_drawn_on_its_instance() -> None:
    (instance,) = draw_instances(5)
    solution = Solution(((1, 2), (3, 4, 5)), 12.5)
    assert repr(solution) == "Solution(2 routes, 5 customers, cost 12.5)"
    sketch = solution.sketch(instance)
    assert count(sketch._repr_html_(), "polyline") == 2
    assert "2 routes" in repr(sketch)
    with pytest.raises(SolutionError, match="no customer 6"):
        Solution(((6,),)).sketch(instance)


def test_names_cannot_break_out_of_the_page() -> None:
    named = Instance(np.eye(3, 2), np.array([0, 1, 1]), 2, name="<script>alert(1)</script>")
    assert "<script>" not in named._repr_html_()
    assert "<script>" not in solve(named, model="savings")._repr_html_()


def test_an_instance_without_places_has_words_alone() -> None:
    instance = Instance(None, np.array([0, 1]), 2, distances=np.array([[0.0, 1], [1, 0]]))
    assert "svg" not in instance._repr_html_()


def test_degrees_are_drawn_with_the_north_on_top() -> None:
    places = np.array([[50.0, 10.0], [51.0, 10.0], [50.0, 12.0]])  # latitude, longitude
    instance = Instance(places, np.array([0, 1, 1]), 2, metric="great_circle")
    svg = ElementTree.fromstring(instance.sketch().picture)
    north, east = svg.findall("{http://www.w3.org/2000/svg}circle")
    assert float(north.attrib["cy"]) < float(east.attrib["cy"])
    assert float(north.attrib["cx"]) < float(east.attrib["cx"])


def test_places_on_one_spot_and_many_places_are_drawn() -> None:
    assert count(f"<div>{draw_sketch([(1.0, 1.0)] * 4, [[1, 2, 3]])}</div>", "circle") == 3
    many = [(float(number % 100), float(number // 100)) for number in range(10_001)]
    assert len(draw_sketch(many)) < 500_000
