"""The progress of a run: what its checkpoints record, what it reports, and how it ended."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from dynaroute.base.errors import ModelError, Where
from dynaroute.training.run.checkpoint import CHECKPOINT_REMEDY

__all__ = ["Outcome", "RunProgress", "RunState", "wrong_record"]


@dataclass(frozen=True)
class RunState:
    """Progress of a run: the part of a checkpoint that is not tensors.

    Attributes
    ----------
    step, trajectories
        Updates done, and solutions sampled.
    validated, validated_step
        Number of planned validations due or done, and the update of the last one.
    seconds
        Time spent, including compiling and validation.
    rate
        The last learning rate.
    best_length, best_step
        Best greedy validation length in this stage, and its update. For mixed instances it is a mean of relative
        lengths.
    stage
        Number of the plan's stage, from 0.
    """

    step: int = 0
    trajectories: int = 0
    validated: int = 0
    validated_step: int = -1
    seconds: float = 0.0
    rate: float = 0.0
    best_length: float = float("inf")
    best_step: int = 0
    stage: int = 0

    def __post_init__(self) -> None:
        for name in ("step", "trajectories", "validated", "best_step", "stage"):
            _require_count(name, getattr(self, name), 0)
        _require_count("validated_step", self.validated_step, -1)
        for name in ("seconds", "rate"):
            _require_amount(name, getattr(self, name), is_finite=True)
        _require_amount("best_length", self.best_length, is_finite=False)
        for name in ("validated_step", "best_step"):
            if getattr(self, name) > self.step:
                raise wrong_record(name, getattr(self, name), f"after the last update, {self.step}")

    @classmethod
    def from_checkpoint(cls, contents: dict[str, Any]) -> RunState:
        """Read it from a checkpoint; early ones lack rate and best step."""
        known = {field.name: contents[field.name] for field in fields(cls) if field.name in contents}
        validated = contents["validated_step"]
        return cls(**{"best_step": max(0, validated) if type(validated) is int else 0, **known})


@dataclass(frozen=True)
class RunProgress:
    """Progress report of a run, about once a second.

    Attributes
    ----------
    spent
        Share of the budget, 0 to 1.
    step, size
        Updates so far, and customers of the current instances.
    length
        Mean length of the last samples.
    rate
        Learning rate.
    trajectories_per_second
        Solutions sampled per second since the last report.
    best_length
        Best greedy validation length at this size; infinite before the first.
    seconds_left
        Estimated time until the budget is spent.
    """

    spent: float
    step: int
    size: int
    length: float
    rate: float
    trajectories_per_second: float
    best_length: float
    seconds_left: float


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Attributes
    ----------
    best_length
        Best greedy validation length at the last size; None without a validation there.
    best_step
        The update of the best length.
    step
        Updates done.
    is_interrupted
        Whether the run was stopped early.
    """

    best_length: float | None
    best_step: int
    step: int
    is_interrupted: bool


def wrong_record(name: str, value: object, fault: str) -> ModelError:
    """Make the error about a record of a checkpoint.

    Parameters
    ----------
    name, value
        The record.
    fault
        What is wrong with it, to follow a comma.
    """
    return ModelError(f"{name} is {value!r}, {fault}.", where=Where(field=name), remedy=CHECKPOINT_REMEDY)


def _require_count(name: str, value: object, least: int) -> None:
    if type(value) is not int or not least <= value < 2**63:
        raise wrong_record(name, value, f"not a whole number of {least} or more")


def _require_amount(name: str, value: object, *, is_finite: bool) -> None:
    is_sound = type(value) in (int, float) and value >= 0 and (math.isfinite(value) or not is_finite)  # type: ignore[operator, arg-type]
    if not is_sound:
        raise wrong_record(name, value, "not a number of 0 or more")
