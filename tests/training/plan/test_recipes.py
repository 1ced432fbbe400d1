from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from policies import draw_instances

from dynaroute.base.errors import OptionError
from dynaroute.base.vocabulary import PolicyName, PolicyRule
from dynaroute.draw.distribution import BUILT_IN
from dynaroute.formats import write
from dynaroute.training.plan.own_instances import InstanceFiles
from dynaroute.training.plan.plan import format_plan, parse_plan
from dynaroute.training.plan.recipes import (
    make_data_plan,
    make_distribution_plan,
    make_plan,
    make_rules_plan,
    suit_policy,
)


@pytest.mark.parametrize(("size", "instances", "rate"), [(20, 128, 1e-4), (50, 128, 1e-4), (100, 108, 5e-5)])
def test_the_paper_recipe_has_the_papers_settings(size: int, instances: int, rate: float) -> None:
    plan = make_plan("paper", [size])
    stage = plan.stages[0]
    assert (plan.policy, plan.baseline, plan.optimiser) == ("amd", "greedy", "adam")
    assert (stage.instances, stage.samples, stage.rate) == (instances, 1, rate)
    assert (plan.epochs, plan.updates_per_epoch) == (30, 10_000)
    assert (plan.rise, plan.fall) == (0.0, 0.0)  # a constant rate


def test_the_am_recipe_has_a_rollout_baseline() -> None:
    plan = make_plan("am", [20])
    assert (plan.policy, plan.baseline) == ("am", "rollout")


def test_a_curriculum_gives_larger_sizes_more_of_the_budget() -> None:
    plan = make_plan("fast", [20, 50, 100])
    assert [stage.size for stage in plan.stages] == [20, 50, 100]
    assert [stage.capacities for stage in plan.stages] == [(30,), (40,), (50,)]
    assert plan.stages[0].share < plan.stages[1].share < plan.stages[2].share


def test_random_parameters_are_trained_at_a_higher_rate_than_trained_ones() -> None:
    new, grown = make_plan("fast", [20, 50]).stages
    assert new.rate > grown.rate


@pytest.mark.parametrize("policy", ["amd", "am", "rl"])
def test_a_finished_model_is_trained_at_a_rate_that_does_not_spoil_it(policy: PolicyName) -> None:
    grown = suit_policy(make_plan("fast", [20, 50]), policy).stages[1]
    plan = suit_policy(make_plan("fast", [20, 50], init="a model"), policy)
    assert [stage.rate for stage in plan.stages] == [1e-4, 1e-4]
    assert grown.rate > 5e-4


def test_entropy_is_worth_less_where_there_is_more_of_it() -> None:
    small, medium, large = make_plan("fast", [20, 50, 100]).stages
    assert small.entropy > medium.entropy > large.entropy > 0
    assert all(stage.entropy == 0 for recipe in ("paper", "am") for stage in make_plan(recipe, [20, 100]).stages)


def test_updates_of_large_instances_fit_in_memory() -> None:
    stages = make_plan("fast", [20, 50, 100, 200, 500, 1000]).stages
    assert [stage.instances for stage in stages] == [1024, 512, 256, 187, 30, 7]


def test_capacities_can_be_mixed() -> None:
    assert make_plan("fast", [20], [25, 35]).stages[0].capacities == (25, 35)


def test_an_unknown_recipe_is_refused() -> None:
    with pytest.raises(OptionError, match="recipe"):
        make_plan("unheard-of", [20])  # type: ignore[arg-type]


def test_a_distribution_is_trained_on_whole_and_validated_on_fewer() -> None:
    small, large = BUILT_IN["x"].resize(20, 120), BUILT_IN["mixed"]
    plan = make_distribution_plan("fast", [small, large], init="amd-100")
    assert [stage.distribution for stage in plan.stages] == [small, large]
    assert [stage.size for stage in plan.stages] == [120, 500]
    assert plan.stages[0].instances == 256
    assert plan.stages[0].share == 70
    assert plan.validation_count == 1000
    assert all(stage.lengths_differ for stage in plan.stages)


def test_files_are_trained_on_up_to_their_largest_instance(tmp_path: Path) -> None:
    write(draw_instances(4, 7), tmp_path / "set.json")
    plan = make_data_plan("fast", InstanceFiles.at(tmp_path / "set.json"))
    assert plan.stages[0].size == 7
    assert plan.stages[0].data == InstanceFiles.at(tmp_path / "set.json")


def test_a_pointer_network_learns_by_many_short_steps_of_adam() -> None:
    usual = make_plan("fast", [20, 50])
    plan = suit_policy(usual, "rl")
    assert (plan.policy, plan.optimiser) == ("rl", "adam")
    assert [stage.instances for stage in plan.stages] == [256, 256]
    assert [stage.entropy for stage in plan.stages] == [0.0, 0.0]
    assert plan.stages[0].rate > plan.stages[1].rate


def test_other_policies_and_recipes_keep_their_settings() -> None:
    assert suit_policy(make_plan("fast", [20]), "am").stages == make_plan("fast", [20]).stages
    assert suit_policy(make_plan("am", [20]), "rl").stages == make_plan("am", [20]).stages


def test_the_recipe_of_rules_widens_from_the_generalist_and_knows_all_of_them() -> None:
    plan = make_rules_plan()
    assert plan.init == "amd"
    assert [stage.size for stage in plan.stages] == [50, 100, 200, 500]
    assert all(stage.variants == ("all",) for stage in plan.stages)
    assert set(plan.rules) == set(get_args(PolicyRule))
    assert parse_plan(format_plan(plan)) == plan
