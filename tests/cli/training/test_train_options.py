from __future__ import annotations

from pathlib import Path
from typing import Any, get_type_hints

import pytest

from dynaroute.base.errors import OptionError
from dynaroute.cli.training.options import (
    BudgetOptions,
    LearningOptions,
    PolicyOptions,
    Source,
    StepOptions,
    find_given,
)
from dynaroute.draw.distribution import BUILT_IN
from dynaroute.training.plan.plan import Stage, TrainingPlan
from dynaroute.training.plan.recipes import make_plan, suit_policy


@pytest.mark.parametrize(
    ("group", "settings"),
    [
        (PolicyOptions, TrainingPlan),
        (BudgetOptions, TrainingPlan),
        (LearningOptions, TrainingPlan),
        (StepOptions, Stage),
    ],
)
def test_options_are_settings_of_the_plan_by_name_and_type(group: Any, settings: Any) -> None:
    known = get_type_hints(settings)

    for name, kind in get_type_hints(group).items():
        assert kind in (known[name], known[name] | None)


def test_options_that_were_not_given_are_left_out() -> None:
    assert find_given(PolicyOptions(layers=2), StepOptions(entropy=0.0)) == {"layers": 2, "entropy": 0.0}
    assert find_given(*(kind() for kind in (PolicyOptions, BudgetOptions, StepOptions, LearningOptions))) == {}


def source(
    size: int | None = None, sizes: str | None = None, distribution: str | None = None, data: Path | None = None
) -> Source:
    return Source(size, sizes, None, distribution, data)


def test_a_size_alone_is_the_paper_s_distribution_as_ever() -> None:
    assert source(20).make_plan(None, on_cpu=False) == make_plan("fast", [20])
    assert source(20).make_plan(None, on_cpu=False, policy="rl") == suit_policy(make_plan("fast", [20]), "rl")
    assert source(sizes="20,50", distribution="paper").make_plan(None, on_cpu=False) == make_plan("fast", [20, 50])


def test_a_distribution_has_sizes_of_its_own() -> None:
    plan = source(distribution="mixed").make_plan(None, on_cpu=False)
    assert [stage.distribution for stage in plan.stages] == [BUILT_IN["mixed"]]


def test_ranges_of_sizes_are_a_curriculum_of_a_distribution() -> None:
    plan = source(sizes="20-60,80", distribution="x").make_plan(None, on_cpu=False)
    assert [stage.distribution for stage in plan.stages] == [BUILT_IN["x"].resize(20, 60), BUILT_IN["x"].resize(80, 80)]
    paper = source(sizes="20-60").make_plan(None, on_cpu=False).stages[0].distribution
    assert paper == BUILT_IN["paper"].resize(20, 60)


def test_a_cpu_has_less_to_validate_on() -> None:
    plan = source(distribution="mixed").make_plan(None, on_cpu=True)
    assert plan.validation_count == 50
    assert plan.stages[0].instances <= 64


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (source(), "size"),
        (source(20, "20,50"), "size"),
        (source(sizes="20-"), "sizes"),
        (source(sizes="60-20", distribution="x"), "sizes"),
        (source(20, data=Path("x")), "size"),
        (source(distribution="unknown"), "distribution"),
    ],
)
def test_what_is_not_clear_is_refused_by_field(given: Source, field: str) -> None:
    with pytest.raises(OptionError) as caught:
        given.make_plan(None, on_cpu=True)
    assert caught.value.where.field == field
