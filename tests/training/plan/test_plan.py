from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dynaroute.base.errors import FormatError, OptionError
from dynaroute.draw.distribution import BUILT_IN
from dynaroute.training.plan.own_instances import InstanceFiles
from dynaroute.training.plan.plan import (
    LearningRate,
    Stage,
    TrainingPlan,
    format_plan,
    parse_plan,
    read_plan,
    write_plan,
)

STAGE = Stage(size=20, capacities=(30,), instances=8, samples=4, rate=1e-3)
PLAN = TrainingPlan((STAGE, replace(STAGE, size=50, share=3.0)), updates=100, seed=7, init="amd-20")


@pytest.mark.parametrize("init", ["amd-20", 'a "run" of 🚚\\1', None])
def test_a_written_plan_reads_back_equal(tmp_path: Path, init: str | None) -> None:
    plan = replace(PLAN, init=init)
    write_plan(plan, tmp_path / "plan.toml")
    assert read_plan(tmp_path / "plan.toml") == plan


def test_stages_take_their_shares_of_the_budget() -> None:
    assert PLAN.find_stage(0.0) == (0, 0.0)
    assert PLAN.find_stage(0.2)[0] == 0
    assert PLAN.find_stage(0.2)[1] == pytest.approx(0.8)
    assert PLAN.find_stage(0.25) == (1, 0.0)
    assert PLAN.find_stage(1.0) == (1, 1.0)


def test_epochs_are_updates() -> None:
    assert replace(PLAN, updates=None, epochs=3, updates_per_epoch=50).all_updates == 150
    assert replace(PLAN, updates=None, minutes=1.0).all_updates is None


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"stages": ()}, "stages"),
        ({"minutes": 1.0}, "minutes"),
        ({"updates": None}, "minutes"),
        ({"updates": 0}, "updates"),
        ({"baseline": "none"}, "baseline"),
        ({"optimiser": "sgd"}, "optimiser"),
        ({"policy": "pomo"}, "policy"),
        ({"rise": 0.5, "fall": 0.6}, "rise"),
        ({"seed": -1}, "seed"),
        ({"validations": 0}, "validations"),
        ({"stages": (replace(STAGE, samples=1),)}, "samples"),
        ({"recipe": 5}, "recipe"),
        ({"init": 5}, "init"),
        ({"layers": 0}, "layers"),
        ({"distance_bias": 1}, "distance_bias"),
        ({"edge_scores": 1}, "edge_scores"),
        ({"averaged": 1.5}, "averaged"),
        ({"baseline": "rollout", "validation_count": 1}, "validation_count"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_by_field(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(OptionError) as caught:
        replace(PLAN, **changes)
    assert caught.value.where.field == field


@pytest.mark.parametrize("value", ["true", "1", '"false"'])
def test_growing_attention_is_refused_by_name(value: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(f"growing_attention = {value}\n" + format_plan(PLAN))
    with pytest.raises(OptionError, match="growing attention is no longer supported") as caught:
        read_plan(path)
    assert (caught.value.where.file, caught.value.where.field) == (str(path), "growing_attention")


def test_a_plan_that_was_written_with_growing_attention_off_is_read() -> None:
    assert parse_plan("growing_attention = false\n" + format_plan(PLAN)) == PLAN


def test_an_unknown_setting_is_named_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text("learning_rate = 1\n[[stages]]\nsize = 20\n")
    with pytest.raises(OptionError, match="learning_rate") as caught:
        read_plan(path)
    assert caught.value.where.file == str(path)


@pytest.mark.parametrize(
    "text", ["recipe = ", "updates = 5\n[[stages]]\nsize = 20\n"], ids=["cut off", "a field missing"]
)
def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    with pytest.raises(FormatError):
        read_plan(path)


def test_the_rate_rises_stays_and_falls() -> None:
    rate = LearningRate(1.0, rise=0.1, fall=0.5)
    assert rate.at(0.0) < rate.at(0.05) < rate.at(0.1)
    assert rate.at(0.1) == rate.at(0.5) == 1.0
    assert 1.0 > rate.at(0.6) > rate.at(0.9) > rate.at(1.0) > 0


def test_a_rise_and_a_fall_that_exceed_the_whole_are_refused() -> None:
    with pytest.raises(OptionError):
        LearningRate(1.0, rise=0.6, fall=0.6)


def test_a_plan_holds_distributions_and_files_whole(tmp_path: Path) -> None:
    of_kinds = replace(STAGE, size=500, capacities=(), distribution=BUILT_IN["mixed"])
    of_files = replace(STAGE, capacities=(), data=InstanceFiles("somewhere", "abc"))
    plan = replace(
        PLAN,
        stages=(STAGE, of_kinds, of_files),
        layers=6,
        distance_bias=True,
        validation=InstanceFiles("elsewhere", "def", "best.csv"),
    )
    write_plan(plan, tmp_path / "plan.toml")
    assert read_plan(tmp_path / "plan.toml") == plan


def test_a_stage_may_name_its_distribution(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text('updates = 5\n[[stages]]\ndistribution = "x"\ninstances = 4\nsamples = 2\nrate = 1e-3\n')
    stage = read_plan(path).stages[0]
    assert stage.distribution == BUILT_IN["x"]
    assert stage.size == BUILT_IN["x"].largest


def test_files_that_are_no_table_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text('updates = 5\nvalidation = "X"\n')
    with pytest.raises(OptionError, match="not a table"):
        read_plan(path)
