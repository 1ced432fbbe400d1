from __future__ import annotations

import math
from typing import Any

import pytest
from policies import draw_instances, make_policy

from dynaroute.errors import OptionError, SolutionError
from dynaroute.savings import build_by_savings
from dynaroute.solution import Solution
from dynaroute.solving.options import USUAL_TIME_LIMIT, SolveOptions

ROUTES = Solution(((1, 2), (3,)))


@pytest.mark.parametrize(
    ("field", "settings"),
    [
        ("improve", {"improve": "magic"}),
        ("improve", {"improve": ["2opt"]}),
        ("time_limit", {"time_limit": -1}),
        ("time_limit", {"time_limit": 0}),
        ("time_limit", {"time_limit": math.nan}),
        ("time_limit", {"time_limit": math.inf}),
        ("time_limit", {"time_limit": "2"}),
        ("time_limit", {"time_limit": True}),
        ("iterations", {"iterations": 0}),
        ("iterations", {"iterations": 2.5}),
        ("target", {"target": math.nan}),
        ("target", {"target": math.inf}),
        ("target", {"target": "low"}),
        ("threads", {"threads": 0}),
        ("threads", {"threads": 1.5}),
        ("decode", {"decode": "beam"}),
        ("seed", {"seed": -1}),
    ],
)
def test_value_that_makes_no_sense_is_refused_by_name(field: str, settings: Any) -> None:
    with pytest.raises(OptionError) as caught:
        SolveOptions(**settings)

    assert caught.value.where.field == field
    assert caught.value.remedy


@pytest.mark.parametrize("improve", ["none", "2opt", "local"])
@pytest.mark.parametrize(("field", "value"), [("time_limit", 2.0), ("iterations", 5), ("target", 10.0)])
def test_what_only_a_search_obeys_is_refused_without_one(improve: Any, field: str, value: Any) -> None:
    with pytest.raises(OptionError, match="only a search") as caught:
        SolveOptions(improve=improve, **{field: value})

    assert caught.value.where.field == field


@pytest.mark.parametrize("settings", [{}, {"improve": "none"}])
def test_known_routes_that_nothing_improves_are_refused(settings: Any) -> None:
    with pytest.raises(OptionError, match="to be improved"):
        SolveOptions(start=ROUTES, **settings)


def test_known_routes_and_a_model_to_build_others_are_refused() -> None:
    for model in ("savings", "amd-100", make_policy()):
        with pytest.raises(OptionError, match="no model builds any"):
            SolveOptions(start=ROUTES, improve="local", model=model)


@pytest.mark.parametrize(
    ("settings", "way"),
    [
        ({}, "none"),
        ({"improve": "local"}, "local"),
        ({"time_limit": 2}, "search"),
        ({"iterations": 5}, "search"),
        ({"target": 10.0}, "search"),
        ({"improve": "search"}, "search"),
    ],
)
def test_a_limit_asks_for_a_search(settings: Any, way: str) -> None:
    assert SolveOptions(**settings).way == way


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        ({"improve": "search"}, USUAL_TIME_LIMIT),
        ({"target": 10.0}, USUAL_TIME_LIMIT),
        ({"iterations": 5}, None),
        ({"time_limit": 2}, 2),
        ({"time_limit": 2, "iterations": 5}, 2),
    ],
)
def test_a_search_has_an_end(settings: Any, seconds: float | None) -> None:
    assert SolveOptions(**settings).search_seconds == seconds


@pytest.mark.parametrize(
    ("settings", "method"),
    [
        ({}, "greedy"),
        ({"improve": "2opt", "augment": True}, "greedy x8 + 2opt"),
        ({"improve": "local", "decode": "sample"}, "sample 16 + local search"),
        ({"time_limit": 0.5}, "greedy + search 0.5 s"),
        ({"iterations": 500}, "greedy + search 500 iterations"),
    ],
)
def test_method_is_told_in_words(settings: Any, method: str) -> None:
    assert SolveOptions(**settings).method == method


def test_known_routes_are_taken_one_for_each_instance() -> None:
    instances = draw_instances(5, 7)
    starts = [build_by_savings(instance) for instance in instances]

    assert SolveOptions(start=starts, improve="local").starts_for(instances) == starts
    assert SolveOptions(start=starts[0], improve="local").starts_for(instances[:1]) == starts[:1]
    assert SolveOptions().starts_for(instances) is None


@pytest.mark.parametrize("start", [ROUTES, [ROUTES], [ROUTES] * 3, []])
def test_known_routes_of_another_number_than_the_instances_are_refused(start: Any) -> None:
    with pytest.raises(OptionError, match="that of instances 2"):
        SolveOptions(start=start, improve="local").starts_for(draw_instances(3, 3))


@pytest.mark.parametrize("start", ["a.sol", 3, [None, None]])
def test_known_routes_that_are_no_solution_are_refused(start: Any) -> None:
    with pytest.raises(OptionError, match="is no solution"):
        SolveOptions(start=start, improve="local").starts_for(draw_instances(3, 3))


def test_wrong_routes_are_refused_in_the_words_of_the_check() -> None:
    with pytest.raises(SolutionError, match=r"Customer 4 is not visited\. \(and 1 more\)") as caught:
        SolveOptions(start=ROUTES, improve="local").starts_for(draw_instances(5))

    assert caught.value.where.field == "start"
    assert caught.value.where.customer == 4


def test_wrong_routes_of_many_are_refused_with_the_number_of_the_instance() -> None:
    instances = draw_instances(3, 5)

    with pytest.raises(SolutionError, match="for instance 2 are wrong"):
        SolveOptions(start=[build_by_savings(instances[0]), ROUTES], improve="local").starts_for(instances)


def test_stated_cost_of_known_routes_does_not_matter() -> None:
    (instance,) = draw_instances(3)
    start = Solution(((1, 2), (3,)), stated_cost=12345.0)

    assert SolveOptions(start=start, improve="local").starts_for([instance]) == [start]
