from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from policies import make_policy

from dynaroute.training.plan.plan import Stage, TrainingPlan
from dynaroute.training.run import trainer as trainer_module
from dynaroute.training.run.state import Budget
from dynaroute.training.run.trainer import Trainer
from dynaroute.training.run.validation import PublishedValidation
from dynaroute.training.step.reinforce import train_step

STAGE = Stage(size=6, capacities=(20,), instances=4, samples=2, rate=1e-3)
PLAN = TrainingPlan((STAGE,), minutes=1.0, validations=3, validation_count=4)


def test_updates_are_spent_by_updates_and_minutes_by_seconds() -> None:
    assert Budget(replace(PLAN, minutes=None, updates=8)).find_spent(2, 1000.0) == 0.25
    assert Budget(PLAN).find_spent(1000, 15.0) == 0.25


def test_minutes_include_the_validations_at_the_end() -> None:
    budget = Budget(PLAN)
    budget.note_validation(15.0)
    assert budget.find_spent(0, 30.0) == 0.75
    of_mean = Budget(replace(PLAN, averaged=0.2))
    of_mean.note_validation(15.0)
    assert of_mean.find_spent(0, 30.0) == 1.0


def test_what_is_left_is_never_negative() -> None:
    assert Budget(PLAN).find_rest(45.0) == 15.0
    assert Budget(PLAN).find_rest(75.0) == 0.0
    assert Budget(replace(PLAN, minutes=None, updates=8)).find_rest(45.0) == 0.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that stands still, except that an update takes one second and a validation five; the first compiles."""
    clock = SimpleNamespace(now=100.0, updates=0, validations=0)
    measure = PublishedValidation.measure

    def take_step(*given: Any) -> Any:
        clock.now, clock.updates = clock.now + 1.0, clock.updates + 1
        return train_step(*given)

    def take_measure(*given: Any) -> float:
        clock.now += 5.0 if clock.validations else 20.0
        clock.validations += 1
        return measure(*given)

    monkeypatch.setattr(trainer_module, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    monkeypatch.setattr(trainer_module, "train_step", take_step)
    monkeypatch.setattr(PublishedValidation, "measure", take_measure)
    return clock


@pytest.mark.parametrize("averaged", [0.0, 0.5])
def test_a_run_ends_in_time_with_its_last_validations(averaged: float, clock: SimpleNamespace, tmp_path: Path) -> None:
    events: list[Any] = []

    Trainer(make_policy(), replace(PLAN, averaged=averaged), tmp_path, on_event=events.append).run()

    assert clock.now - 100.0 in (60.0, 61.0)  # the last update may end later
    assert ("validation_of_mean" in events[-1]) == (averaged > 0)
    assert events[-1]["minutes"] == pytest.approx(1.0, abs=0.02)


def test_a_first_validation_that_compiles_does_not_end_a_short_run(clock: SimpleNamespace, tmp_path: Path) -> None:
    Trainer(make_policy(), replace(PLAN, minutes=0.5), tmp_path).run()
    assert clock.updates > 0


def test_a_finished_run_stays_finished(clock: SimpleNamespace, tmp_path: Path) -> None:
    Trainer(make_policy(), PLAN, tmp_path).run()
    before = clock.updates
    again = Trainer(make_policy(), PLAN, tmp_path)
    again.restore()
    again.run()
    assert clock.updates == before
