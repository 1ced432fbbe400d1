"""One function answers which start, which search and which machine code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from policies import SMALL_AMD, draw_instances, make_policy

from dynaroute import weights
from dynaroute.base.errors import UnsupportedError
from dynaroute.model import Policy
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.solving.choose import Approach, choose, choose_together
from dynaroute.solving.options import SolveOptions

(PLAIN,) = draw_instances(30)
LIMITED = replace(PLAIN, vehicles=(VehicleType(PLAIN.capacity, max_stops=6),))
FAR = replace(PLAIN, vehicles=(VehicleType(PLAIN.capacity, max_distance=9.0),))
MATRIX = Instance(None, PLAIN.demands, PLAIN.capacity, distances=PLAIN.distance_matrix)


def choose_one(instance: Instance, *, is_started: bool = False, **settings: Any) -> Approach:
    (approach,) = choose([instance], SolveOptions(**settings), is_started=is_started)
    return approach


@pytest.mark.parametrize(
    ("instance", "settings", "start"),
    [
        (PLAIN, {}, "policy"),
        (PLAIN, {"model": "savings"}, "savings"),
        (PLAIN, {"iterations": 5}, "savings"),
        (PLAIN, {"iterations": 5, "model": "amd"}, "policy"),
        (PLAIN, {"iterations": 5, "model": "amd", "objective": "vehicles"}, "insertion"),
        (LIMITED, {}, "insertion"),
        (LIMITED, {"iterations": 5, "model": "amd"}, "insertion"),
        (MATRIX, {}, "savings"),
        (MATRIX, {"iterations": 5, "model": "amd"}, "savings"),
    ],
)
def test_start_follows_from_the_instance_and_the_options(instance: Instance, settings: Any, start: str) -> None:
    assert choose_one(instance, **settings).start == start


def test_known_routes_are_the_start_of_anything() -> None:
    assert [choose_one(each, is_started=True, improve="search").start for each in (PLAIN, LIMITED, MATRIX)] == [
        "given"
    ] * 3


def test_savings_compete_only_with_a_policy_that_nobody_asked_for() -> None:
    assert choose_one(PLAIN).is_compared
    assert not choose_one(PLAIN, model="amd").is_compared


@pytest.mark.parametrize(
    ("instance", "settings", "words"),
    [
        (PLAIN, {"model": "amd"}, ""),
        (LIMITED, {}, ""),
        (LIMITED, {"model": "amd"}, "so insertion built the routes."),
        (LIMITED, {"model": "amd", "iterations": 5}, "so the search starts from insertion."),
        (MATRIX, {}, "so savings built the routes."),
        (MATRIX, {"iterations": 5}, ""),
        (MATRIX, {"model": "amd", "iterations": 5}, "so the search starts from savings."),
    ],
)
def test_another_start_than_asked_for_has_its_reason(instance: Instance, settings: Any, words: str) -> None:
    message = choose_one(instance, **settings).message
    assert message.endswith(words)
    assert bool(message) == bool(words)


@pytest.mark.parametrize(
    ("instance", "settings", "code"),
    [
        (PLAIN, {}, set()),
        (PLAIN, {"improve": "local"}, {"local"}),
        (PLAIN, {"iterations": 5}, {"search"}),
        (PLAIN, {"iterations": 5, "threads": 2}, {"search", "teams"}),
        (PLAIN, {"iterations": 5, "objective": "vehicles"}, {"search", "limits"}),
        (LIMITED, {"iterations": 5}, {"search", "limits"}),
    ],
)
def test_only_the_machine_code_that_is_needed_is_loaded(instance: Instance, settings: Any, code: set[str]) -> None:
    assert choose_one(instance, **settings).machine_code == code


def test_an_improver_that_does_not_know_limits_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="only handles capacities"):
        choose([PLAIN, LIMITED], SolveOptions(improve="2opt"))


def test_a_gpu_starts_from_the_policy_unless_told_otherwise() -> None:
    def starts(instance: Instance, *, is_started: bool = False, **settings: Any) -> list[str]:
        options = SolveOptions(total_time=1, **settings)
        return [each.start for each in choose_together([instance], options, is_started=is_started)]

    assert starts(PLAIN) == ["policy"]
    assert starts(PLAIN, model="savings") == ["savings"]
    assert starts(MATRIX) == ["savings"]
    assert starts(PLAIN, is_started=True) == ["given"]


(LARGE,) = draw_instances(300)


@pytest.mark.parametrize(
    "settings",
    [
        {"time_limit": 10},
        {"time_limit": 10, "threads": 2},
        {"time_limit": 60},
        {"total_time": 10},
        {"iterations": 1000},
    ],
)
def test_a_default_search_of_cores_starts_from_savings(settings: Any) -> None:
    assert choose_one(LARGE, device="cpu", **settings).start == "savings"


class TestPolicyWithRules:
    @pytest.fixture
    def knowing(self, tmp_path: Path) -> str:
        make_policy(replace(SMALL_AMD, rules=("distance",))).save_pretrained(tmp_path)
        return str(tmp_path)

    def test_a_policy_that_was_asked_for_builds_routes_with_the_rules_it_knows(self, knowing: str) -> None:
        assert choose_one(FAR, model=knowing) == Approach("policy", knowing)
        assert choose_one(FAR, model=Policy.from_pretrained(knowing)).start == "policy"

    @pytest.mark.parametrize("instance", [LIMITED, replace(FAR, vehicles=(VehicleType(FAR.capacity, end="open"),))])
    def test_rules_that_it_does_not_know_are_those_of_insertion(self, instance: Instance, knowing: str) -> None:
        approach = choose_one(instance, model=knowing)
        assert (approach.start, approach.model) == ("insertion", None)
        assert approach.message

    def test_a_search_starts_from_a_policy_that_was_asked_for_unless_vehicles_count_first(self, knowing: str) -> None:
        assert choose_one(FAR, model=knowing, iterations=5).start == "policy"
        assert choose_one(FAR, model=knowing, iterations=5, objective="vehicles").start == "insertion"
        assert choose_one(FAR, iterations=5).start == "insertion"

    def test_insertion_competes_with_the_generalist_as_nobody_asked_for_it(
        self, knowing: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert choose_one(FAR).start == "insertion"  # as long as no model that ships knows rules
        monkeypatch.setattr(weights, "read_rules", lambda model: frozenset({"distance"}))
        assert choose_one(FAR) == Approach("policy", "amd", is_compared=True)
