from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from policies import SMALL_AM, SMALL_AMD, draw_instances, make_policy

from dynaroute.base.errors import ModelError, OptionError, SolutionError
from dynaroute.model import ModelCard
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search.savings import build_by_savings
from dynaroute.solving.result import GIVEN
from dynaroute.solving.solve import Result, solve
from dynaroute.weights import shipped_models

WITHOUT_COORDINATES = Instance(
    None, np.array([0, 1, 1, 1]), 2, distances=np.array([[0, 2, 3, 4], [2, 0, 1, 5], [3, 1, 0, 2], [4, 5, 2, 0]])
)
ON_THE_GLOBE = Instance(
    np.array([[52.5, 13.4], [52.6, 13.3], [52.4, 13.5], [52.5, 13.6]]), np.array([0, 1, 1, 1]), 2, metric="great_circle"
)

SOME_ROUTES = Solution(((1, 2), (3,)))


@pytest.fixture(autouse=True)
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty place for shipped models."""
    monkeypatch.setattr("dynaroute.weights._FOLDER", tmp_path)
    shipped_models.cache_clear()
    yield tmp_path
    shipped_models.cache_clear()


def put(shelf: Path, name: str, size: int) -> None:
    make_policy(card=ModelCard(name=name, size=size)).save_pretrained(shelf / name)
    shipped_models.cache_clear()


def assert_right(result: Result) -> None:
    assert check(result.instance, result.solution) == []
    assert result.cost == result.solution.cost(result.instance)
    assert result.seconds >= 0


# The automatic choice


def test_without_shipped_models_savings_builds_the_routes_and_says_so() -> None:
    (instance,) = draw_instances(12)
    result = solve(instance)
    assert_right(result)
    assert (result.method, result.model) == ("savings", None)
    assert result.solution == build_by_savings(instance)
    assert "No trained model ships" in result.messages[0]


def test_savings_that_is_better_than_the_policy_is_returned_and_said_to_be(shelf: Path) -> None:
    put(shelf, "amd-20", 20)
    (instance,) = draw_instances(15)
    result = solve(instance)
    assert_right(result)
    assert (result.method, result.model) == ("savings", None)
    assert result.cost < solve(instance, model="amd-20").cost
    assert "savings was better than amd-20 (greedy)" in result.messages[0]


def test_a_policy_that_is_better_than_savings_is_returned_and_said_to_be(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(shelf, "amd-20", 20)
    (instance,) = draw_instances(15)
    monkeypatch.setattr("dynaroute.solving.building.build_by_savings", lambda problem, _: Solution(one_by_one(problem)))
    result = solve(instance, decode="sample", samples=20)
    assert_right(result)
    assert (result.method, result.model) == ("sample 20", "amd-20")
    assert result.cost < Solution(one_by_one(instance)).cost(instance)
    assert "amd-20 (sample 20) was better than savings" in result.messages[0]


def one_by_one(instance: Instance) -> tuple[tuple[int, ...], ...]:
    return tuple((customer,) for customer in range(1, instance.size + 1))


def test_the_shipped_model_of_the_nearest_size_is_tried(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(shelf, "amd-10", 10)
    put(shelf, "amd-30", 30)
    monkeypatch.setattr("dynaroute.solving.building.build_by_savings", lambda problem, _: Solution(one_by_one(problem)))
    results = solve(draw_instances(28, 5, 40, 12), decode="sample", samples=8)
    assert [result.model for result in results] == ["amd-30", "amd-10", "amd-30", "amd-10"]
    assert [result.instance.size for result in results] == [28, 5, 40, 12]


# A chosen model


@pytest.mark.parametrize("config", [SMALL_AMD, SMALL_AM], ids=["AM-D", "AM"])
@pytest.mark.parametrize(
    ("settings", "method"),
    [
        ({}, "greedy"),
        ({"augment": True}, "greedy x8"),
        ({"decode": "sample", "samples": 4, "temperature": 0.5}, "sample 4"),
        ({"decode": "multistart", "samples": 3, "augment": True}, "multistart 3 x8"),
    ],
)
def test_a_policy_solves_in_the_way_that_is_asked_for(settings: Any, method: str, config: Any) -> None:
    for result in solve(draw_instances(4, 15, 9), model=make_policy(config), **settings):
        assert_right(result)
        assert result.method == method
        assert result.messages == ()


def test_a_model_is_given_by_its_folder(tmp_path: Path) -> None:
    make_policy().save_pretrained(tmp_path / "mine")
    for folder in (tmp_path / "mine", str(tmp_path / "mine")):
        result = solve(draw_instances(6)[0], model=folder)
        assert_right(result)
        assert result.model == str(folder)


def test_savings_can_be_asked_for() -> None:
    result = solve(draw_instances(12)[0], model="savings")
    assert result.method == "savings"
    assert result.messages == ()


def test_latitudes_and_longitudes_are_solved_by_a_policy_in_metres() -> None:
    result = solve(ON_THE_GLOBE, model=make_policy())
    assert_right(result)
    assert result.method == "greedy"
    assert result.cost > 10_000


@pytest.mark.parametrize("model", ["auto", "policy"])
def test_without_coordinates_savings_builds_the_routes_and_says_so(model: str, shelf: Path) -> None:
    put(shelf, "amd-20", 20)
    result = solve(WITHOUT_COORDINATES, model=make_policy() if model == "policy" else model)
    assert_right(result)
    assert result.method == "savings"
    assert "need coordinates" in result.messages[0]


def test_a_matrix_beside_coordinates_is_what_is_paid() -> None:
    (instance,) = draw_instances(5)
    doubled = replace(instance, distances=2 * instance.distance_matrix)
    policy = make_policy()
    assert solve(doubled, model=policy).cost == pytest.approx(2 * solve(instance, model=policy).cost)


def test_a_policy_that_was_being_trained_solves_as_it_will_when_it_is_not() -> None:
    several = draw_instances(6, 9)
    expected = [result.solution for result in solve(several, model=make_policy(SMALL_AM))]
    policy = make_policy(SMALL_AM).train()
    statistics = policy.state_dict()["encoder.layers.0.after_attention.running_mean"].clone()
    assert [result.solution for result in solve(several, model=policy)] == expected
    assert torch.equal(policy.state_dict()["encoder.layers.0.after_attention.running_mean"], statistics)


# Improving


@pytest.mark.parametrize(("improve", "words"), [("2opt", "2opt"), ("local", "local search")])
def test_what_a_policy_built_is_improved(improve: Any, words: str) -> None:
    several, policy = draw_instances(4, 25, 12), make_policy()
    before = solve(several, model=policy)

    after = solve(several, model=policy, improve=improve)

    for built, improved in zip(before, after, strict=True):
        assert_right(improved)
        assert improved.method == f"greedy + {words}"
        assert improved.model == "unnamed"
        assert improved.messages[-1].startswith(f"{words}: ")
        assert [cost for _, cost in improved.trace] == [built.cost, improved.cost]
    assert all(improved.cost <= built.cost for built, improved in zip(before, after, strict=True))
    assert after[1].cost < before[1].cost


@pytest.mark.parametrize("improve", ["2opt", "local"])
def test_known_routes_are_improved(improve: Any) -> None:
    several = [*draw_instances(12, 30), WITHOUT_COORDINATES]
    starts = [Solution((tuple(range(1, instance.size + 1)),)) for instance in several]
    roomy = [replace(instance, capacity=1000) for instance in several]
    finished: list[int] = []

    results = solve(roomy, start=starts, improve=improve, progress=finished.append)

    assert sum(finished) == 3
    for result, start in zip(results, starts, strict=True):
        assert_right(result)
        assert result.method.startswith("start + ")
        assert result.cost <= start.cost(result.instance)
    assert results[1].cost < starts[1].cost(roomy[1])


def test_policy_and_savings_are_both_improved_and_the_better_one_is_returned(shelf: Path) -> None:
    put(shelf, "amd-20", 20)
    (instance,) = draw_instances(25)
    improved = [solve(instance, model=model, improve="local") for model in ("amd-20", "savings")]

    result = solve(instance, improve="local")

    assert_right(result)
    assert result.cost == min(each.cost for each in improved)
    assert result.method.endswith(" + local search")
    assert result.messages[0].startswith(f"{result.model_and_method} was better than ")
    assert result.messages[1:] == (result.improvement,)


def test_improving_is_the_same_with_any_number_of_threads() -> None:
    several = draw_instances(25, 30, 12, 9)
    one, three = (solve(several, model="savings", improve="local", threads=threads) for threads in (1, 3))

    assert [result.solution for result in one] == [result.solution for result in three]


# Known routes


def test_known_routes_are_taken_one_for_each_instance() -> None:
    instances = draw_instances(5, 7)
    starts = [build_by_savings(instance) for instance in instances]

    for several, given in ((instances, starts), (instances[:1], starts[0])):
        results = solve(several, start=given, improve="local")
        assert [result.start for result in results] == [GIVEN] * len(several)
        assert [result.first_cost for result in results] == [
            start.cost(instance) for instance, start in zip(instances, starts[: len(several)], strict=False)
        ]


@pytest.mark.parametrize("start", [SOME_ROUTES, [SOME_ROUTES], [SOME_ROUTES] * 3, []])
def test_known_routes_of_another_number_than_the_instances_are_refused(start: Any) -> None:
    with pytest.raises(OptionError, match="for 2 instances"):
        solve(draw_instances(3, 3), start=start, improve="local")


@pytest.mark.parametrize("start", ["a.sol", 3, [None, None]])
def test_known_routes_that_are_no_solution_are_refused(start: Any) -> None:
    with pytest.raises(OptionError, match="expected a Solution"):
        solve(draw_instances(3, 3), start=start, improve="local")


def test_wrong_routes_are_refused_in_the_words_of_the_check() -> None:
    with pytest.raises(SolutionError, match=r"Customer 4 is not visited\. \(and 1 more\)") as caught:
        solve(draw_instances(5), start=SOME_ROUTES, improve="local")

    assert caught.value.where.field == "start"
    assert caught.value.where.customer == 4


def test_wrong_routes_of_many_are_refused_with_the_number_of_the_instance() -> None:
    instances = draw_instances(3, 5)

    with pytest.raises(SolutionError, match="for instance 2 are wrong"):
        solve(instances, start=[build_by_savings(instances[0]), SOME_ROUTES], improve="local")


def test_stated_cost_of_known_routes_does_not_matter() -> None:
    (instance,) = draw_instances(3)
    start = Solution(((1, 2), (3,)), stated_cost=12345.0)

    assert solve(instance, start=start, improve="local").first_cost == start.cost(instance)


# Many


def test_results_come_in_the_order_of_their_instances(shelf: Path) -> None:
    put(shelf, "amd-10", 10)
    put(shelf, "amd-30", 30)
    several = [*draw_instances(30, 3), WITHOUT_COORDINATES, *draw_instances(12, 28, seed=1), ON_THE_GLOBE]
    results = solve(several)
    assert [result.instance for result in results] == several
    for result in results:
        assert_right(result)


def test_one_instance_gives_one_result_and_a_list_a_list() -> None:
    (instance,) = draw_instances(5)
    assert isinstance(solve(instance), Result)
    assert len(solve([instance])) == 1
    assert solve([]) == []
    assert solve([], improve="local") == []


def test_any_iterable_of_instances_will_do() -> None:
    results = solve(instance for instance in draw_instances(5, 7))  # type: ignore[call-overload]
    assert [result.instance.size for result in results] == [5, 7]


@pytest.mark.parametrize("settings", [{}, {"model": "savings"}, {"model": "amd-10", "augment": True}])
def test_progress_counts_every_instance_once(settings: Any, shelf: Path) -> None:
    put(shelf, "amd-10", 10)
    finished: list[int] = []
    solve([*draw_instances(5, 12, 8), WITHOUT_COORDINATES], progress=finished.append, **settings)
    assert sum(finished) == 4


def test_the_same_seed_gives_the_same_routes_and_another_seed_others() -> None:
    (instance,) = draw_instances(25)
    policy = make_policy()
    first, same, other = (
        solve(instance, model=policy, decode="sample", samples=1, seed=seed).solution for seed in (5, 5, 6)
    )
    assert first == same
    assert first.routes != other.routes


def test_a_seed_may_be_a_whole_number_of_numpy() -> None:
    (instance,) = draw_instances(25)
    plain, numpys = (
        solve(instance, model=make_policy(), decode="sample", samples=1, seed=seed).solution
        for seed in (5, cast(int, np.int64(5)))
    )
    assert plain == numpys


# What makes no sense


@pytest.mark.parametrize(
    ("field", "settings"),
    [
        ("decode", {"decode": "widest"}),
        ("samples", {"decode": "sample", "samples": 0}),
        ("samples", {"decode": "sample", "samples": 2.5}),
        ("samples", {"decode": "multistart", "samples": -3}),
        ("samples", {"samples": 8}),
        ("temperature", {"temperature": 2.0}),
        ("temperature", {"decode": "sample", "temperature": 0}),
        ("temperature", {"decode": "sample", "temperature": float("nan")}),
        ("temperature", {"decode": "sample", "temperature": 1e-42}),
        ("seed", {"seed": -1}),
        ("seed", {"seed": 2**64}),
        ("seed", {"seed": "lucky"}),
        ("device", {"device": "toaster"}),
        ("device", {"device": "meta"}),
        ("device", {"device": "privateuseone"}),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(field: str, settings: Any) -> None:
    with pytest.raises(OptionError) as caught:
        solve(draw_instances(4), **{"model": make_policy(), **settings})
    assert caught.value.where.field == field
    assert caught.value.remedy


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(OptionError, match="cannot be used here"):
        solve(draw_instances(4), model=make_policy(), device="cuda")


def test_a_model_that_is_not_there_is_refused() -> None:
    with pytest.raises(ModelError, match="there is no model 'amd-7'"):
        solve(draw_instances(4), model="amd-7")


@pytest.mark.parametrize("thing", ["X-n101-k25.vrp", 3, None, [3], [None]])
def test_what_is_no_instance_is_refused(thing: Any) -> None:
    with pytest.raises(OptionError, match="expected an Instance"):
        solve(thing)


def test_a_policy_that_is_building_is_given_up_when_cancelled() -> None:
    asked = iter(range(100))
    instance = draw_instances(12)[0]
    result = solve(instance, model=make_policy(), decode="sample", samples=4, is_cancelled=lambda: next(asked) > 5)
    assert result.is_interrupted
    assert result.method == "savings"
    assert "Cancelled" in result.messages[0]
    assert not check(instance, result.solution)
    assert next(asked) < 20  # of more than 12 steps a sample, few were taken


def test_iterations_may_be_a_whole_number_of_numpy() -> None:
    instance = draw_instances(8)[0]
    result = solve(instance, model="savings", iterations=cast("int", np.int32(50)))
    assert type(result.iterations) is int
    assert result.cost == solve(instance, model="savings", iterations=50).cost


@pytest.mark.parametrize("model", ["savings", "policy"])
def test_a_time_limit_beyond_all_clocks_is_as_good_as_none(model: str) -> None:
    instance = draw_instances(6)[0]
    chosen = make_policy() if model == "policy" else model
    result = solve(instance, model=chosen, time_limit=1e12, iterations=50)
    assert not check(instance, result.solution)


_FLEET = (VehicleType(9, "van"), VehicleType(5, "car", max_stops=3))


@pytest.mark.parametrize("looks", [0, 2, 9])
@pytest.mark.parametrize(
    ("vehicles", "settings"),
    [
        (None, {"model": "savings"}),
        (None, {}),
        (None, {"model": "savings", "improve": "2opt"}),
        (None, {"model": "savings", "improve": "local"}),
        (None, {"iterations": 10**9}),
        (_FLEET, {}),
        (_FLEET, {"iterations": 10**9}),
        (_FLEET, {"iterations": 10**9, "objective": "vehicles"}),
    ],
)
def test_every_path_ends_with_feasible_routes_when_it_is_cancelled(
    looks: int, vehicles: tuple[VehicleType, ...] | None, settings: dict[str, Any]
) -> None:
    instance = replace(draw_instances(60)[0], vehicles=vehicles, capacity=20)
    asked = count()
    result = solve(instance, **settings, is_cancelled=lambda: next(asked) >= looks)
    assert result.is_interrupted or (looks > 0 and "iterations" not in settings)  # it may be done by then
    assert not check(instance, result.solution)
