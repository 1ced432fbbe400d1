"""Where a run stands: its checkpoints, what they record, what it reports, and how it ended.

A checkpoint has a checksum of its contents. PyTorch's own find damage, but not an edit: who loads, changes and saves a
checkpoint writes new ones.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dynaroute.base.errors import FormatError, ModelError, in_file, warn_of_input
from dynaroute.base.files import checksum_of
from dynaroute.base.torch_files import find_tensors, load_torch_file
from dynaroute.model import ModelCard
from dynaroute.training.files import replace_file
from dynaroute.training.plan.plan import TrainingPlan

_VERSION = 2  # version 1 had no checksum
_CHECKSUM = "checksum"
CHECKPOINT_REMEDY = (
    "Copy the run's best.pt over it and resume from there, or start from the run's model with the option init."
)


def save_checkpoint(state: dict[str, Any], path: Path) -> None:
    """Write the state of a run.

    Parameters
    ----------
    state
        Tensors, numbers and strings.
    path
        The file; its folder must exist.

    Raises
    ------
    FileError
        If it cannot be written; an existing file is left untouched.
    """
    contents = io.BytesIO()
    torch.save({**state, "version": _VERSION, _CHECKSUM: _compute_checksum(state)}, contents)
    replace_file(path, contents.getbuffer())


def load_checkpoint(path: Path, device: torch.device) -> dict[str, Any]:
    """Read what `save_checkpoint` wrote. `require_unchanged` verifies its checksum.

    Parameters
    ----------
    path
        The file.
    device
        Device for the tensors; generator states stay on the CPU.

    Raises
    ------
    ModelError
        If it is missing, damaged, or from another version.
    """
    with in_file(path):
        if not path.exists():
            raise ModelError("there is no checkpoint to resume from.", remedy="Name the folder of a run.")
        try:
            state = load_torch_file(path, device)
        except FormatError as error:
            raise ModelError(f"the checkpoint is damaged: {error.message}", remedy=CHECKPOINT_REMEDY) from error
        if not isinstance(state, dict) or state.get("version") not in (1, _VERSION):
            raise ModelError(
                "the checkpoint is from another version.", remedy="Use the version of Dynaroute that wrote it."
            )
    return state


def require_finite(contents: dict[str, Any]) -> None:
    """Raise if a checkpoint holds a number that is not finite; a run would fail with it much later.

    Raises
    ------
    ModelError
        It names the part of the checkpoint.
    """
    for name, part in contents.items():
        if not all(bool(tensor.isfinite().all()) for tensor in find_tensors(part)):
            raise ModelError.about(name, f"{name} contains numbers that are not finite.", CHECKPOINT_REMEDY)


def require_unchanged(contents: dict[str, Any]) -> None:
    """Raise if a checkpoint is not as it was written, or note that nobody can tell.

    Raises
    ------
    ModelError
        If its checksum does not match.
    """
    if contents["version"] == 1:
        warn_of_input("", "the checkpoint has no checksum, because an earlier version wrote it.")
    elif contents.get(_CHECKSUM) != _compute_checksum(contents):
        message = "the checkpoint was changed after it was written: its checksum does not match its contents."
        raise ModelError(message, remedy=CHECKPOINT_REMEDY)


def _compute_checksum(contents: dict[str, Any]) -> str:
    """Compute the checksum of all contents but the version and the checksum."""
    state = {name: part for name, part in contents.items() if name not in ("version", _CHECKSUM)}
    return checksum_of(b"".join(_list_bytes(state)))


def _list_bytes(part: object) -> Iterator[bytes]:
    """Write tensors, containers and plain values as bytes that are the same on every device."""
    if isinstance(part, Tensor):
        yield f"{part.dtype} {tuple(part.shape)} ".encode()
        yield part.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    elif isinstance(part, dict):
        yield f"dict {len(part)} ".encode()
        for item in part.items():
            yield from _list_bytes(item)
    elif isinstance(part, list | tuple):
        yield f"list {len(part)} ".encode()
        for item in part:
            yield from _list_bytes(item)
    else:
        yield f"{part!r} ".encode(errors="backslashreplace")


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
    return ModelError.about(name, f"{name} is {value!r}, {fault}.", CHECKPOINT_REMEDY)


def _require_count(name: str, value: object, least: int) -> None:
    if type(value) is not int or not least <= value < 2**63:
        raise wrong_record(name, value, f"not a whole number of {least} or more")


def _require_amount(name: str, value: object, *, is_finite: bool) -> None:
    is_sound = type(value) in (int, float) and value >= 0 and (math.isfinite(value) or not is_finite)  # type: ignore[operator, arg-type]
    if not is_sound:
        raise wrong_record(name, value, "not a number of 0 or more")


@dataclass
class Budget:
    """The budget of a run, in updates or in minutes, which include the validations after the last update.

    Attributes
    ----------
    plan
        The plan of the run.
    closing
        Seconds that the validations at the end will take, as far as is known.
    """

    plan: TrainingPlan
    closing: float = 0.0

    def note_validation(self, seconds: float) -> None:
        """Learn from a validation how long those at the end will take: of the policy, and of its mean."""
        self.closing = seconds * (2 if self.plan.averaged else 1)

    def find_spent(self, step: int, seconds: float) -> float:
        """Return the share that is spent, from 0; 1 ends the run.

        Parameters
        ----------
        step, seconds
            Updates done, and seconds since the run began.
        """
        updates = self.plan.all_updates
        if updates is not None:
            return step / updates
        return (seconds + self.closing) / self._all_seconds

    def find_rest(self, seconds: float) -> float:
        """Return the seconds that are left of a budget in minutes; 0 in updates."""
        return 0.0 if self.plan.minutes is None else max(0.0, self._all_seconds - seconds)

    @property
    def _all_seconds(self) -> float:
        assert self.plan.minutes is not None
        return 60.0 * self.plan.minutes


def describe_model(before: ModelCard, plan: TrainingPlan, state: RunState, which: str = "") -> ModelCard:
    """Describe the model of a run, with what was spent on the model that the run began from.

    The name and the hardware stay as they are.

    Parameters
    ----------
    before
        Card of the model that the run began from.
    plan, state
        The run.
    which
        Which of its parameters the model has, if not the last ones; it follows the recipe.
    """
    done = plan.stages[: state.stage + 1]
    stage = done[-1]
    how = "; then ".join(f"{each.title}: {each.settings}" for each in done)
    recipe = f"{plan.recipe} recipe ({plan.baseline} baseline, {plan.optimiser}), {how}{which}"
    return replace(
        before,
        size=stage.size,
        smallest_size=None if stage.distribution is None else stage.distribution.smallest,
        distribution=stage.describe() if stage.lengths_differ else "",
        capacity=stage.capacities[0] if len(stage.capacities) == 1 else None,
        recipe=f"{before.recipe}; then {recipe}" if before.recipe else recipe,
        trajectories=(before.trajectories or 0) + state.trajectories or None,
        minutes=round((before.minutes or 0.0) + state.seconds / 60, 2) or None,
        greedy_lengths={},
    )
