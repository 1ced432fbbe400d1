"""A training run: updates until the budget is spent, safe to interrupt and resume."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from dynaroute.base.errors import FileError, ModelError, TrainingError, Where, in_file
from dynaroute.model import ModelCard, Policy
from dynaroute.training.files import RESUME_REMEDY, Journal
from dynaroute.training.plan.own_instances import OwnInstancesTask
from dynaroute.training.plan.plan import LearningRate, Stage, TrainingPlan, format_plan, refuse_other_plan
from dynaroute.training.ranks import Ranks
from dynaroute.training.run.state import (
    Budget,
    Outcome,
    RunProgress,
    RunState,
    describe_model,
    load_checkpoint,
    require_finite,
    require_unchanged,
    save_checkpoint,
    wrong_record,
)
from dynaroute.training.run.validation import (
    PublishedValidation,
    Validation,
    draw_validation,
    draw_validation_with_rules,
    read_validation,
)
from dynaroute.training.step.baselines import Baseline, make_baseline, subtract, subtract_relatively
from dynaroute.training.step.instances import DistributionTask, InstanceSource, RuledTask, TrainingTask
from dynaroute.training.step.optimiser import ParameterMean, make_optimiser
from dynaroute.training.step.recording import record_if_possible
from dynaroute.training.step.reinforce import (
    Learner,
    PolicyUpdate,
    Replay,
    StepReport,
    choose_construction,
    train_step,
)

__all__ = ["BEST", "LAST", "Trainer"]

LAST, BEST = "last.pt", "best.pt"
_REPORT_SECONDS = 1.0
_WATCH_SECONDS = 5.0  # between lines of metrics, because reading them waits for the device


class Trainer:
    """Trains a policy. At any time, its folder holds the best policy so far and a checkpoint to resume from.

    Parameters
    ----------
    policy
        The initial policy, which is changed.
    plan
        The training plan.
    folder
        Folder of the run; it must exist.
    ranks
        The processes; by default only this one.
    on_progress
        Called about once a second.
    on_event
        Called with a line of metrics or a message.
    is_interrupted
        Called before each update; True saves and ends the run.
    track
        Called with every line of metrics, for your own tracker.
    task
        Your own source of instances, instead of the plan's. Validation then uses it too, compared with savings.
    baseline
        Your own baseline, instead of the plan's.
    """

    def __init__(
        self,
        policy: Policy,
        plan: TrainingPlan,
        folder: Path,
        ranks: Ranks | None = None,
        on_progress: Callable[[RunProgress], None] = lambda progress: None,
        on_event: Callable[[dict[str, Any] | str], None] = lambda event: None,
        is_interrupted: Callable[[], bool] = lambda: False,
        *,
        track: Callable[[dict[str, Any]], None] = lambda line: None,
        task: InstanceSource | None = None,
        baseline: Baseline | None = None,
    ) -> None:
        self.policy, self.plan, self.folder = policy.train(), plan, folder
        self.ranks = ranks if ranks is not None else Ranks(device=str(policy.device))
        self.on_progress, self.on_event, self.is_interrupted = on_progress, on_event, is_interrupted
        self.track, self.own_task, self.own_baseline = track, task, baseline
        self.ancestor = policy.card
        self.generator = torch.Generator(policy.device).manual_seed(plan.seed)
        self.rate = torch.zeros((), device=policy.device)  # a tensor, because recorded steps read it each time
        self.state, self.budget = RunState(), Budget(plan)
        self.mean = ParameterMean(policy)
        self.journal: Journal | None = None
        self.began = self.saved_at = self.reported_at = time.perf_counter()
        self.begun_spent, self.reported_trajectories = 0.0, 0
        self.watched_at, self.watched_trajectories = self.began, 0
        self._enter_stage(0)

    def restore(self, *, extends: bool = False) -> None:
        """Resume from the folder's last checkpoint.

        Parameters
        ----------
        extends
            Whether the plan may have a different budget from the checkpoint's.

        Raises
        ------
        ModelError
            If it is missing or damaged, or belongs to another plan.
        """
        contents = load_checkpoint(self.folder / LAST, self.policy.device)
        if isinstance(begun := contents.get("plan"), str):  # checkpoints of version 0.1 have no plan
            with in_file(self.folder / "plan.toml"):
                refuse_other_plan(self.plan, begun, extends=extends)
        try:
            with in_file(self.folder / LAST):
                self._take_over(contents)
        except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise ModelError(
                "the checkpoint does not match the plan.",
                where=Where(file=str(self.folder / LAST)),
                remedy="Restore plan.toml, or start from the run's model with the option init.",
            ) from error
        if extends:
            self._save(
                LAST
            )  # with the new plan, before plan.toml is written: a run killed in between is simply extended again

    def _take_over(self, contents: dict[str, Any]) -> None:
        state = RunState.from_checkpoint(contents)
        if state.stage >= len(self.plan.stages):
            raise wrong_record("stage", state.stage, f"not one of the {len(self.plan.stages)} of the plan")
        require_finite(contents)
        require_unchanged(contents)  # last, because what is wrong with a record says more
        self._enter_stage(state.stage)
        self.state = state
        self.rate.fill_(state.rate)
        self.policy.load_state_dict(contents["policy"])
        self.optimiser.restore(contents["optimiser"])
        self.learner.baseline.restore(contents["baseline"])
        self.generator.set_state(contents["generator"].cpu())
        if "mean" in contents:  # those of earlier versions have none
            self.mean.restore(contents["mean"])
        self.ancestor = ModelCard(**contents["ancestor"])

    def run(self) -> Outcome:
        """Train until the budget is spent, or the run is interrupted."""
        self.began = self.saved_at = self.reported_at = time.perf_counter()
        self.begun_spent, self.reported_trajectories = self._spent(), self.state.trajectories
        self.watched_at, self.watched_trajectories = self.began, self.state.trajectories
        # after an extension, a smaller share of the budget is spent
        self._note(validated=min(self.state.validated, int(self.begun_spent * self.plan.validations)))
        if self.ranks.writes:
            self.journal = Journal(self.folder, self.state.validated_step, self.state.step, self.track)
        if self.state.step == 0:
            self._save(LAST)  # at once, because the first validation takes long on a CPU
            self._validate()
        while True:
            spent, is_interrupted = self.ranks.agree([self._spent(), float(self.is_interrupted())])
            if spent >= 1.0 or is_interrupted:
                break
            self._take_step(spent)
        if not is_interrupted:
            self._validate()
            self._validate_mean()
            # it has ended, even if these validations were quicker than those before
            self._note(seconds=self.state.seconds + self.budget.find_rest(self._seconds()))
        self._save(LAST)
        if self.journal is not None:
            self.journal.close()
        state = self.state
        best_length = state.best_length if state.best_length < float("inf") else None
        return Outcome(best_length, state.best_step, state.step, bool(is_interrupted))

    def _take_step(self, spent: float) -> None:
        index, spent_of_stage = self.plan.find_stage(spent)
        if index != self.state.stage:
            self._validate()
            self._enter_stage(index)
        self.rate.fill_(self.rates.at(spent_of_stage))
        report = train_step(self.learner, self.state.step)
        trajectories = self.learner.instances * self.learner.samples * self.ranks.count
        self._note(step=self.state.step + 1, trajectories=self.state.trajectories + trajectories)
        if spent_of_stage >= 1.0 - self.plan.averaged:
            self.mean.add(self.state.step)
        else:
            self.mean.clear()  # of a run that was extended
        if self.state.step % self.plan.updates_per_epoch == 0:
            self._end_epoch()
        if int(spent * self.plan.validations) > self.state.validated:
            self._note(validated=int(spent * self.plan.validations))
            self._validate()
            self._save(LAST)
        elif time.perf_counter() - self.saved_at > self.plan.checkpoint_seconds:
            self._save(LAST)
        if time.perf_counter() - self.reported_at > _REPORT_SECONDS:
            self._report(spent, report)
        if time.perf_counter() - self.watched_at > _WATCH_SECONDS:
            self._watch(report)

    def _note(self, **changes: float) -> None:
        self.state = replace(self.state, **changes)  # type: ignore[arg-type]  # integers stay integers

    def _end_epoch(self) -> None:
        # each process normalised over its own batches, so statistics differ
        self.ranks.share(self.policy.buffers())
        if words := self.learner.baseline.end_epoch(self.policy):
            self.on_event(words)

    def _enter_stage(self, index: int) -> None:
        """Start a stage with a new optimiser."""
        plan, policy, on_gpu = self.plan, self.policy, self.policy.device.type == "cuda"
        self.stage = stage = plan.stages[index]
        self.rates = LearningRate(stage.rate, plan.rise, plan.fall)
        self.optimiser = make_optimiser(plan.optimiser, list(policy.parameters()), self.rate)
        # float16 has three more bits than bfloat16, and tanh keeps values within its range
        task = self.own_task or _make_task(stage, policy.device)
        precision, has_one_size = torch.float16 if on_gpu else torch.float32, type(task) is TrainingTask
        has_one_size = has_one_size or (type(task) is RuledTask and type(task.plain) is TrainingTask)
        replay = Replay(policy, precision, forces_starts=plan.forced_starts, has_one_size=has_one_size)
        self.update = PolicyUpdate(
            replay, self.optimiser, self.ranks, plan.largest_norm, stage.entropy, stage.size_weight
        )
        compare = subtract_relatively if stage.lengths_differ else subtract
        self.validation: Validation | None = None  # created when needed, only in the process that needs it
        self.learner = Learner(
            policy=policy,
            update=record_if_possible(self.update, stage.size + 1) if on_gpu else self.update,
            baseline=self.own_baseline
            or make_baseline(plan.baseline, policy, task, plan.validation_count, plan.seed, self.ranks, compare),
            task=task,
            instances=stage.instances,
            samples=stage.samples,
            replayed=stage.replayed_samples,
            generator=self.generator,
            ranks=self.ranks,
            forces_starts=plan.forced_starts,
            construct=choose_construction(policy, stage.samples),
        )
        self.mean.clear()
        self._note(stage=index, best_length=float("inf"))

    def _validate(self) -> None:
        """Measure the greedy length, record it, and keep the policy if it is the best so far."""
        state = self.state
        if not self.ranks.writes or state.validated_step == state.step:
            return
        self._note(validated_step=state.step)
        self._require_finite()
        if self._measure("validation") < state.best_length:
            self._save(BEST)

    def _validate_mean(self) -> None:
        """Do the same for the mean of the last parameters."""
        if self.ranks.writes and self.mean.count > 1:
            with self.mean.taken():
                self._measure("validation_of_mean", f", mean of the last {self.plan.averaged:.0%}")
            self.mean.clear()  # so that a finished run does not measure it again

    def _measure(self, name: str, which: str = "") -> float:
        """Measure the greedy length of the policy as it is, and save it as the run's model if it is the best."""
        is_first = self.validation is None  # which may compile
        if self.validation is None:
            self.validation = self._make_validation()
        begin = time.perf_counter()
        length = self.validation.measure(self.policy)
        if not is_first:
            self.budget.note_validation(time.perf_counter() - begin)
        line = {**self._begin_line(), name: length}
        assert self.journal is not None
        self.journal.add(line)
        self.on_event(line)
        if length < self.state.best_length:
            self._note(best_length=length, best_step=self.state.step)
            card = describe_model(self.ancestor, self.plan, replace(self.state, seconds=self._seconds()), which)
            hardware = torch.cuda.get_device_name() if self.policy.device.type == "cuda" else "CPU"
            self.policy.card = replace(card, name=self.folder.absolute().name, hardware=hardware)
            self._save_model()
        return length

    def _begin_line(self) -> dict[str, Any]:
        """Return what every line of metrics contains."""
        return {
            "step": self.state.step,
            "trajectories": self.state.trajectories,
            "minutes": round(self._seconds() / 60, 3),
            "size": self.stage.size,
            "rate": float(self.rate),
        }

    def _watch(self, report: StepReport) -> None:
        """Record figures of the last step, and the pace since the last record."""
        now, done = time.perf_counter(), self.state.trajectories
        pace = (done - self.watched_trajectories) / (now - self.watched_at)
        self.watched_at, self.watched_trajectories = now, done
        if self.journal is None:
            return
        loss, entropy = self.update.means.tolist()
        line = {
            **self._begin_line(),
            "sample_length": float(report.length),
            "loss": loss,
            "entropy": entropy,
            "gradient_norm": float(report.gradient_norm),
            "trajectories_per_second": round(pace, 1),
        }
        # JSON has only finite numbers; a norm is infinite if a sum overflowed half precision
        self.journal.add({name: value for name, value in line.items() if math.isfinite(value)})

    def _make_validation(self) -> Validation:
        if self.own_task is not None and self.plan.validation is None:
            return draw_validation(self.own_task, self.plan.validation_count, self.policy.device)
        return _make_validation(self.plan, self.stage, self.policy.device)

    def _save_model(self) -> None:
        try:
            self.policy.save_pretrained(self.folder)
        except FileError as error:
            error.remedy = RESUME_REMEDY  # a run cannot choose another folder
            raise

    def _save(self, name: str) -> None:
        if not self.ranks.writes:
            return
        self._require_finite()
        self.saved_at = time.perf_counter()
        contents = {
            **asdict(replace(self.state, seconds=self._seconds(), rate=float(self.rate))),
            "policy": self.policy.state_dict(),
            "optimiser": self.optimiser.state(),
            "baseline": self.learner.baseline.state(),
            "generator": self.generator.get_state(),
            "mean": self.mean.state(),
            "ancestor": asdict(self.ancestor),
            "plan": format_plan(self.plan),
        }
        save_checkpoint(contents, self.folder / name)

    def _require_finite(self) -> None:
        if all(bool(tensor.isfinite().all()) for tensor in self.policy.state_dict().values()):
            return
        raise TrainingError(
            f"the parameters are not finite after update {self.state.step}.",
            remedy="The previous checkpoint is untouched. Start another run with a rate below "
            f"{self.stage.rate:g}, from this one's model (the option init) or from scratch.",
        )

    def _report(self, spent: float, report: StepReport) -> None:
        now, done = time.perf_counter(), self.state.trajectories
        per_second = (done - self.reported_trajectories) / (now - self.reported_at)
        self.reported_at, self.reported_trajectories = now, done
        pace = (spent - self.begun_spent) / max(1e-9, now - self.began)
        self.on_progress(
            RunProgress(
                spent=spent,
                step=self.state.step,
                size=self.stage.size,
                length=float(report.length),
                rate=float(self.rate),
                trajectories_per_second=per_second,
                best_length=self.state.best_length,
                seconds_left=(1.0 - spent) / max(1e-12, pace),
            )
        )

    def _seconds(self) -> float:
        return self.state.seconds + time.perf_counter() - self.began

    def _spent(self) -> float:
        return self.budget.find_spent(self.state.step, self._seconds())


def _make_task(stage: Stage, device: torch.device) -> InstanceSource:
    plain = _make_plain_task(stage, device)
    return RuledTask(plain, stage.variants) if stage.variants else plain


def _make_plain_task(stage: Stage, device: torch.device) -> InstanceSource:
    if stage.distribution is not None:
        return DistributionTask(stage.distribution)
    if stage.data is not None:
        return OwnInstancesTask.of(stage.data.read(), device)
    return TrainingTask(stage.size, stage.capacities)


def _make_validation(plan: TrainingPlan, stage: Stage, device: torch.device) -> Validation:
    """Make the validation: from files if given, else on instances like the training ones."""
    files = plan.validation or stage.data
    if files is not None:
        return read_validation(files, device)
    if stage.variants:
        return draw_validation_with_rules(_make_task(stage, torch.device("cpu")), plan.validation_count, device)
    if stage.distribution is not None:
        return draw_validation(DistributionTask(stage.distribution), plan.validation_count, device)
    return PublishedValidation(stage.size, plan.validation_count, stage.capacities[0])
