"""Metrics every few seconds, a hook for trackers, and runs that are extended."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from policies import SMALL_AMD, make_policy

from dynaroute.base.errors import DynarouteError
from dynaroute.construct import log_probabilities
from dynaroute.training.files import Journal, draw_learning_curve, read_metrics
from dynaroute.training.plan.plan import TrainingPlan, format_plan, parse_plan, refuse_other_plan
from dynaroute.training.plan.recipes import make_plan
from dynaroute.training.run.trainer import Trainer
from dynaroute.training.step.reinforce import PolicyUpdate, reinforce_loss, sample_solutions
from dynaroute.training.step.update_input import UpdateInput

WATCHED = {"sample_length", "loss", "entropy", "gradient_norm", "rate", "trajectories_per_second"}


def plan_of(updates: int = 3) -> TrainingPlan:
    plan = make_plan("fast", [6], capacities=[20])
    stages = tuple(replace(stage, instances=4, samples=2) for stage in plan.stages)
    return replace(plan, stages=stages, minutes=None, updates=updates, validations=2, validation_count=4)


@pytest.fixture
def every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynaroute.training.run.trainer._WATCH_SECONDS", 0.0)


@pytest.mark.usefixtures("every_step")
def test_a_run_writes_down_how_its_steps_do(tmp_path: Path) -> None:
    tracked: list[dict[str, Any]] = []
    Trainer(make_policy(SMALL_AMD), plan_of(), tmp_path, track=tracked.append).run()
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert tracked == lines
    watched = [line for line in lines if "validation" not in line]
    assert [line["step"] for line in watched] == [1, 2, 3]
    assert all(set(line) > WATCHED for line in watched)
    assert all(line["entropy"] > 0 and line["gradient_norm"] > 0 for line in watched)
    assert {line["step"] for line in read_metrics(tmp_path)} == {0, 3}  # validations alone, as ever


@pytest.mark.usefixtures("every_step")
def test_tensorboard_shows_them(tmp_path: Path) -> None:
    reading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    Trainer(make_policy(SMALL_AMD), plan_of(), tmp_path).run()
    shown = reading.EventAccumulator(str(tmp_path / "tensorboard"))
    shown.Reload()
    assert [event.step for event in shown.Scalars("entropy")] == [1, 2, 3]


def test_loss_and_entropy_are_means_over_the_solutions_whatever_the_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = make_policy(SMALL_AMD)
    trainer = Trainer(policy, plan_of(), tmp_path)
    batch = trainer.learner.task.draw(4, trainer.generator, first_key=0).repeat_each(2)
    routes = sample_solutions(policy, batch, 2, seed=0)
    advantages = torch.linspace(-1, 1, len(batch))
    log_probability = log_probabilities(policy, batch, routes).detach()
    loss = reinforce_loss(log_probability, advantages, 2, trainer.stage.entropy) / len(batch)
    expected = torch.stack([loss, -log_probability.mean()]).double()
    for parts in (1, 2):
        monkeypatch.setattr(PolicyUpdate, "count_parts", lambda *_, parts=parts: parts)
        trainer.update(UpdateInput(batch, routes, advantages, 2))  # with a rate of 0: the policy stays
        torch.testing.assert_close(trainer.update.means, expected, rtol=1e-4, atol=1e-5)


def test_a_killed_run_forgets_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 0)
    for step in (1, 2, 3):
        journal.add({"step": step, "minutes": 0.1, "size": 20, "loss": 1.0})
    journal.add({"step": 3, "minutes": 0.1, "size": 20, "validation": 7.0})
    journal.close()
    Journal(tmp_path, 1, 3).close()
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [(line["step"], "validation" in line) for line in lines] == [(1, False), (2, False), (3, False)]


class TestExtending:
    def test_a_finished_run_goes_on_for_as_long_as_is_added(self, tmp_path: Path) -> None:
        plan = plan_of()
        Trainer(make_policy(SMALL_AMD), plan, tmp_path).run()
        longer = plan.extend("updates", 4)
        trainer = Trainer(make_policy(SMALL_AMD), longer, tmp_path)
        trainer.restore(extends=True)
        assert trainer.run().step == 7
        assert [line["step"] for line in read_metrics(tmp_path)] == [0, 3, 5, 7]
        Trainer(make_policy(SMALL_AMD), longer, tmp_path).restore()  # the checkpoint knows the new plan

    def test_the_last_stage_alone_becomes_longer(self) -> None:
        plan = replace(make_plan("fast", [20, 50]), minutes=14.0)
        begun, _ = plan.find_stage(1.9 / 14)
        longer = plan.extend("minutes", 6.0)
        assert begun == 0
        assert [longer.find_stage(spent / 20)[0] for spent in (3.9, 4.1, 19)] == [0, 1, 1]
        assert longer.minutes == 20
        assert [round(stage.share, 9) for stage in longer.stages] == [4.0, 16.0]

    def test_another_kind_of_budget_is_refused(self) -> None:
        with pytest.raises(DynarouteError, match="updates"):
            plan_of().extend("minutes", 3.0)

    def test_only_the_budget_may_differ(self) -> None:
        begun = format_plan(plan_of())
        refuse_other_plan(plan_of().extend("updates", 2), begun, extends=True)
        with pytest.raises(DynarouteError, match="seed"):
            refuse_other_plan(replace(plan_of(), seed=7), begun, extends=True)
        with pytest.raises(DynarouteError, match="updates"):
            refuse_other_plan(plan_of().extend("updates", 2), begun)

    def test_an_extended_plan_is_written_and_read(self) -> None:
        longer = plan_of().extend("updates", 2)
        assert parse_plan(format_plan(longer)) == longer


@pytest.mark.parametrize("lengths", [(18.0, 7.1, 6.3), (6.31, 6.30, 6.29)])
def test_the_curve_has_a_few_plain_numbers_on_its_axis(lengths: tuple[float, ...]) -> None:
    metrics = [{"step": step, "minutes": step, "size": 20, "validation": length} for step, length in enumerate(lengths)]
    axes = draw_learning_curve(metrics, {})
    axes.figure.canvas.draw()
    low, high = axes.get_ylim()
    shown = [text.get_text() for text in axes.get_yticklabels() if low <= text.get_position()[1] <= high]
    assert 3 <= len(shown) <= 12
    assert all(0 < float(text) < 30 for text in shown)
    assert len(axes.yaxis.get_minorticklocs()) == 0
