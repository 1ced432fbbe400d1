from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from policies import SMALL_AM, SMALL_AMD, draw_instances

from dynaroute.base.errors import FileError, ModelError, TrainingError
from dynaroute.base.vocabulary import BaselineName
from dynaroute.batch import InstanceBatch
from dynaroute.construct import Greedy, construct
from dynaroute.draw.distribution import Distribution, Part
from dynaroute.formats import write
from dynaroute.model import ModelCard, Policy, PolicyConfig
from dynaroute.training.files import read_metrics
from dynaroute.training.plan.own_instances import InstanceFiles
from dynaroute.training.plan.plan import Stage, TrainingPlan, read_plan, write_plan
from dynaroute.training.run.trainer import LAST, Trainer
from dynaroute.training.run.validation import VALIDATION_SEED, measure_greedy_length

STAGE = Stage(size=6, capacities=(20,), instances=16, samples=4, rate=3e-3)
PLAN = TrainingPlan((STAGE,), updates=60, validations=3, validation_count=200)


def make_policy(config: PolicyConfig = SMALL_AMD) -> Policy:
    return Policy(config, generator=torch.Generator().manual_seed(1))


def weights(policy: Policy) -> torch.Tensor:
    return torch.cat([tensor.flatten().double() for tensor in policy.state_dict().values()])


def test_training_shortens_routes_and_keeps_the_best_policy(tmp_path: Path) -> None:
    policy = make_policy()
    before = measure_greedy_length(policy, 6, VALIDATION_SEED, 200)
    events: list[dict[str, Any] | str] = []
    outcome = Trainer(policy, PLAN, tmp_path, on_event=events.append).run()
    assert outcome.best_length is not None
    assert outcome.best_length < 0.9 * before
    assert (outcome.step, outcome.is_interrupted) == (60, False)
    written = read_metrics(tmp_path)
    assert written == events
    assert outcome.best_length == min(line["validation"] for line in written)
    kept = Policy.from_pretrained(tmp_path)
    assert measure_greedy_length(kept, 6, VALIDATION_SEED, 200) == pytest.approx(outcome.best_length, abs=1e-6)


class TestMean:
    PLAN = replace(PLAN, updates=100, averaged=0.3)

    def test_the_mean_of_the_last_parameters_is_the_model_if_it_is_best(self, tmp_path: Path) -> None:
        events: list[Any] = []
        policy = make_policy()
        outcome = Trainer(policy, self.PLAN, tmp_path, on_event=events.append).run()
        *validated, of_mean = events
        lengths = [line["validation"] for line in validated]
        assert outcome.best_length == min(*lengths, of_mean["validation_of_mean"])
        kept = Policy.from_pretrained(tmp_path)
        assert measure_greedy_length(kept, 6, VALIDATION_SEED, 200) == pytest.approx(outcome.best_length, abs=1e-6)
        is_mean = of_mean["validation_of_mean"] < min(lengths)
        assert ("mean of the last 30%" in kept.card.recipe) == is_mean
        assert torch.equal(weights(policy), weights(_read_last(tmp_path)))  # the run itself goes on from its own

    def test_a_run_killed_while_it_averages_goes_on_with_the_same_mean(self, tmp_path: Path) -> None:
        plan = replace(self.PLAN, updates=60, averaged=1.0, validation_count=20, checkpoint_seconds=1e-9)
        whole, broken = tmp_path / "whole", tmp_path / "broken"
        whole.mkdir()
        broken.mkdir()
        lines: list[Any] = []
        Trainer(make_policy(), plan, whole, on_event=lines.append).run()
        interrupted = Trainer(make_policy(), plan, broken, is_interrupted=lambda: interrupted.state.step == 37)
        interrupted.run()
        resumed = Trainer(make_policy(), plan, broken, on_event=lines.append)
        resumed.restore()
        resumed.run()
        of_means = [line["validation_of_mean"] for line in lines if "validation_of_mean" in line]
        assert len(of_means) == 2
        assert of_means[0] == of_means[1]

    def test_a_finished_run_is_not_measured_again(self, tmp_path: Path) -> None:
        Trainer(make_policy(), self.PLAN, tmp_path).run()
        events: list[Any] = []
        again = Trainer(make_policy(), self.PLAN, tmp_path, on_event=events.append)
        again.restore()
        again.run()
        assert not events


def _read_last(folder: Path) -> Policy:
    """The policy of a run's last checkpoint."""
    policy = make_policy()
    policy.load_state_dict(torch.load(folder / LAST, weights_only=True)["policy"])
    return policy


@pytest.mark.parametrize("baseline", ["shared", "greedy", "rollout"])
@pytest.mark.parametrize("config", [SMALL_AMD, SMALL_AM], ids=["AM-D", "AM"])
def test_a_run_that_was_killed_goes_on_bit_for_bit(
    tmp_path: Path, baseline: BaselineName, config: PolicyConfig
) -> None:
    plan = replace(
        PLAN, updates=12, baseline=baseline, updates_per_epoch=5, validation_count=20, checkpoint_seconds=1e-9
    )
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken.mkdir()
    uninterrupted = make_policy(config)
    Trainer(uninterrupted, plan, whole).run()

    class KilledError(Exception):
        pass

    def die() -> bool:
        if killed.state.step == 7:
            raise KilledError
        return False

    killed = Trainer(make_policy(config), plan, broken, is_interrupted=die)
    with pytest.raises(KilledError):
        killed.run()
    resumed_policy = make_policy(config)
    resumed = Trainer(resumed_policy, plan, broken)
    resumed.restore()
    assert 0 < resumed.state.step <= 7
    resumed.run()
    assert torch.equal(weights(resumed_policy), weights(uninterrupted))
    assert _without_time(read_metrics(broken)) == _without_time(read_metrics(whole))


def _without_time(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in line.items() if name != "minutes"} for line in lines]


def test_an_interrupted_run_saves_where_it_is(tmp_path: Path) -> None:
    trainer = Trainer(make_policy(), PLAN, tmp_path, is_interrupted=lambda: trainer.state.step == 5)
    outcome = trainer.run()
    assert (outcome.step, outcome.is_interrupted) == (5, True)
    resumed = Trainer(make_policy(), PLAN, tmp_path)
    resumed.restore()
    assert resumed.state.step == 5


def test_a_run_stopped_before_it_was_measured_at_a_size_says_so(tmp_path: Path) -> None:
    plan = replace(PLAN, stages=(STAGE, replace(STAGE, size=8)), updates=6, validations=1)
    trainer = Trainer(make_policy(), plan, tmp_path, is_interrupted=lambda: trainer.state.step == 4)
    assert trainer.run().best_length is None
    assert Policy.from_pretrained(tmp_path).card.size == 6


def test_a_run_killed_within_a_later_stage_goes_on_bit_for_bit(tmp_path: Path) -> None:
    stages = (STAGE, replace(STAGE, size=8, capacities=(20, 25), rate=1e-3))
    plan = replace(PLAN, stages=stages, updates=8, validation_count=20, checkpoint_seconds=1e-9, optimiser="muon")
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken.mkdir()
    uninterrupted = make_policy()
    Trainer(uninterrupted, plan, whole).run()
    stopped = Trainer(make_policy(), plan, broken, is_interrupted=lambda: stopped.state.step == 6)
    stopped.run()
    resumed_policy = make_policy()
    resumed = Trainer(resumed_policy, plan, broken)
    resumed.restore()
    assert resumed.state.stage == 1
    resumed.run()
    assert torch.equal(weights(resumed_policy), weights(uninterrupted))
    assert _without_time(read_metrics(broken)) == _without_time(read_metrics(whole))


def test_a_run_killed_before_its_last_validation_goes_on_with_its_rate(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken.mkdir()
    plan = replace(PLAN, updates=4, validation_count=20, validations=1)
    Trainer(make_policy(), plan, whole).run()
    stopped = Trainer(make_policy(), plan, broken, is_interrupted=lambda: stopped.state.step == 4)
    stopped.run()  # all updates are done, and their outcome is not measured
    resumed = Trainer(make_policy(), plan, broken)
    resumed.restore()
    resumed.run()
    assert _without_time(read_metrics(broken)) == _without_time(read_metrics(whole))


@pytest.mark.parametrize("changes", [{"optimiser": "muon"}, {"baseline": "rollout"}], ids=["optimiser", "baseline"])
def test_a_checkpoint_of_another_plan_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    plan = replace(PLAN, updates=2, validation_count=20)
    Trainer(make_policy(), plan, tmp_path).run()
    resumed = Trainer(make_policy(), replace(plan, **changes), tmp_path)
    with pytest.raises(ModelError, match="the plan was changed"):
        resumed.restore()


def test_a_model_that_cannot_be_written_is_told_with_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(policy: Policy, folder: Path) -> None:
        raise FileError("cannot write the model.", remedy="Choose a writable folder.")

    monkeypatch.setattr(Policy, "save_pretrained", fail)
    with pytest.raises(FileError, match="the option resume"):
        Trainer(make_policy(), PLAN, tmp_path).run()
    resumed = Trainer(make_policy(), PLAN, tmp_path)
    resumed.restore()  # the checkpoint came first
    assert resumed.state.step == 0


def test_a_finished_run_has_nothing_to_go_on_with(tmp_path: Path) -> None:
    plan = replace(PLAN, updates=4)
    Trainer(make_policy(), plan, tmp_path).run()
    lines = read_metrics(tmp_path)
    resumed = Trainer(make_policy(), plan, tmp_path)
    resumed.restore()
    assert resumed.run().step == 4
    assert read_metrics(tmp_path) == lines


def test_a_curriculum_trains_one_size_after_the_other(tmp_path: Path) -> None:
    plan = replace(PLAN, stages=(STAGE, replace(STAGE, size=8)), updates=6)
    Trainer(make_policy(), plan, tmp_path).run()
    assert [line["size"] for line in read_metrics(tmp_path)] == sorted(line["size"] for line in read_metrics(tmp_path))
    assert {line["size"] for line in read_metrics(tmp_path)} == {6, 8}
    assert Policy.from_pretrained(tmp_path).card.size == 8


def test_minutes_end_a_run(tmp_path: Path) -> None:
    plan = replace(PLAN, updates=None, minutes=0.02)
    assert Trainer(make_policy(), plan, tmp_path).run().step > 0


def test_parameters_that_are_not_finite_end_the_run_and_spare_the_checkpoint(tmp_path: Path) -> None:
    policy = make_policy()

    def spoil() -> bool:
        if trainer.state.step == 3:
            with torch.no_grad():
                next(policy.parameters()).fill_(torch.nan)
        return False

    plan = replace(PLAN, checkpoint_seconds=1e-9)
    trainer = Trainer(policy, plan, tmp_path, is_interrupted=spoil)
    with pytest.raises(TrainingError, match="not finite"):
        trainer.run()
    resumed = Trainer(make_policy(), plan, tmp_path)
    resumed.restore()
    assert resumed.state.step == 3
    assert bool(weights(resumed.policy).isfinite().all())


def test_the_card_adds_up_what_ancestors_took(tmp_path: Path) -> None:
    policy = make_policy()
    policy.card = ModelCard(recipe="before", trajectories=1000, minutes=2.0)
    Trainer(policy, PLAN, tmp_path).run()
    card = Policy.from_pretrained(tmp_path).card
    steps = {line["step"] for line in read_metrics(tmp_path)} - {0}  # the best is not the start
    assert card.trajectories in {1000 + step * 16 * 4 for step in steps}
    assert card.minutes is not None
    assert card.minutes >= 2.0
    assert card.recipe.startswith("before; then")
    assert card.name == tmp_path.name


MIXED = Distribution(
    (
        Part((3, 5)),
        Part((5, 8), ("clustered", "mixed"), ("corner",), ("quadrant", "many-small"), "x", coordinates="grid"),
    ),
    "small ones",
)
MIXED_STAGE = replace(STAGE, size=8, capacities=(), distribution=MIXED)


def test_a_run_on_mixed_sizes_learns_and_goes_on_bit_for_bit(tmp_path: Path) -> None:
    plan = replace(PLAN, stages=(MIXED_STAGE,), updates=20, validation_count=40)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken.mkdir()
    uninterrupted = make_policy()
    outcome = Trainer(uninterrupted, plan, whole).run()
    lines = read_metrics(whole)
    assert outcome.best_length == min(line["validation"] for line in lines)
    assert outcome.best_length < 0.95 * lines[0]["validation"]
    stopped = Trainer(make_policy(), plan, broken, is_interrupted=lambda: stopped.state.step == 7)
    stopped.run()
    write_plan(plan, broken / "plan.toml")
    resumed_policy = make_policy()
    resumed = Trainer(resumed_policy, read_plan(broken / "plan.toml"), broken)
    resumed.restore()
    resumed.run()
    assert torch.equal(weights(resumed_policy), weights(uninterrupted))
    assert _without_time(read_metrics(broken)) == _without_time(lines)


def test_the_card_says_sizes_and_distribution(tmp_path: Path) -> None:
    Trainer(make_policy(), replace(PLAN, stages=(MIXED_STAGE,), updates=1, validation_count=5), tmp_path).run()
    card = Policy.from_pretrained(tmp_path).card
    assert (card.smallest_size, card.size, card.capacity) == (3, 8, None)
    assert card.distribution.startswith("small ones: 50 % n=3 to 5")
    assert "3 to 8 customers, small ones" in (tmp_path / "README.md").read_text()


def test_own_instances_are_trained_and_validated_on(tmp_path: Path) -> None:
    write(draw_instances(5, 8), tmp_path / "own.json")
    stage = replace(STAGE, size=8, capacities=(), data=InstanceFiles.at(tmp_path / "own.json"))
    plan = replace(PLAN, stages=(stage,), updates=30)
    policy = make_policy()
    Trainer(policy, plan, tmp_path).run()
    lines = read_metrics(tmp_path)
    assert lines[-1]["validation"] < lines[0]["validation"]
    write(draw_instances(5, 9), tmp_path / "own.json")
    with pytest.raises(TrainingError, match="have changed"):
        Trainer(policy, plan, tmp_path)


def test_a_run_is_validated_on_files(tmp_path: Path) -> None:
    instances = draw_instances(5, 8)
    write(instances, tmp_path / "others.json")
    table = tmp_path / "best.csv"
    table.write_text("name,best_known_cost\n,2.5\n,4\n")
    files = InstanceFiles.at(tmp_path / "others.json", table)
    policy = make_policy()
    batch = InstanceBatch.from_instances(instances)
    lengths = construct(policy.eval(), batch, Greedy()).lengths(batch)
    Trainer(policy, replace(PLAN, updates=1, validation=files), tmp_path).run()
    expected = float(lengths[0] / 2.5 + lengths[1] / 4) / 2
    assert read_metrics(tmp_path)[0]["validation"] == pytest.approx(expected)


def test_a_policy_learns_windows(tmp_path: Path) -> None:
    stage = replace(STAGE, variants=("vrptw", "ovrptw"))
    plan = TrainingPlan((stage,), updates=40, validations=2, validation_count=100)
    policy = make_policy(replace(SMALL_AMD, rules=plan.rules))
    outcome = Trainer(policy, plan, tmp_path).run()
    first, *_ = [line["validation"] for line in read_metrics(tmp_path) if "validation" in line]
    assert outcome.best_length is not None and outcome.best_length < 0.97 * first
    assert read_plan_of(tmp_path, plan) == plan


def read_plan_of(folder: Path, plan: TrainingPlan) -> TrainingPlan:
    write_plan(plan, folder / "plan.toml")
    return read_plan(folder / "plan.toml")
