from __future__ import annotations

import pytest

from dynaroute.errors import OptionError
from dynaroute.training.recipes import make_plan


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
    assert make_plan("fast", [20], init="amd-20").stages[0].rate == grown.rate


def test_entropy_is_worth_less_where_there_is_more_of_it() -> None:
    small, medium, large = make_plan("fast", [20, 50, 100]).stages
    assert small.entropy > medium.entropy > large.entropy > 0
    assert all(stage.entropy == 0 for recipe in ("paper", "am") for stage in make_plan(recipe, [20, 100]).stages)


def test_updates_of_large_instances_fit_in_memory() -> None:
    stages = make_plan("fast", [20, 50, 100, 200, 500, 1000]).stages
    assert [stage.instances for stage in stages] == [1024, 512, 256, 32, 5, 2]


def test_capacities_can_be_mixed() -> None:
    assert make_plan("fast", [20], [25, 35]).stages[0].capacities == (25, 35)


def test_an_unknown_recipe_is_refused() -> None:
    with pytest.raises(OptionError, match="recipe"):
        make_plan("pomo", [20])  # type: ignore[arg-type]
