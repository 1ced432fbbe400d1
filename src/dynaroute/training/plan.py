"""What to train, on what, how, and for how long: all of it in one object that is saved with the run."""

from __future__ import annotations

import json
import math
import tomllib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_args

from dynaroute.errors import FileError, FormatError, ModelError, OptionError, Where, in_file
from dynaroute.files import read_bytes
from dynaroute.limits import LARGEST_SETTINGS
from dynaroute.model.config import KindName
from dynaroute.training.names import BaselineName, OptimiserName, PolicyName
from dynaroute.training.run_files import replace_file

__all__ = [
    "BaselineName",
    "PolicyName",
    "Schedule",
    "Stage",
    "TrainingPlan",
    "format_plan",
    "parse_plan",
    "read_plan",
    "refuse_other_plan",
    "write_plan",
]

_KINDS: dict[PolicyName, KindName] = {"amd": "AM-D", "am": "AM"}
_CHOICES = {
    "policy": get_args(PolicyName),
    "baseline": get_args(BaselineName),
    "optimiser": get_args(OptimiserName),
}


@dataclass(frozen=True)
class Stage:
    """A part of a run: instances of one size.

    Attributes
    ----------
    size
        Customers.
    capacities
        Of vehicles; each instance gets one of them at random. Validation uses the first.
    instances, samples
        Instances of an update (of each process), and solutions sampled of each.
    rate
        Peak learning rate.
    share
        Part of the budget, relative to the other stages'.
    entropy
        What a unit of entropy is worth, in the units of the advantages (deviations of the samples' lengths with a
        shared baseline). Above 0 it keeps a policy from being too sure of itself to try anything new.
    """

    size: int
    capacities: tuple[int, ...]
    instances: int
    samples: int
    rate: float
    share: float = 1.0
    entropy: float = 0.0

    def __post_init__(self) -> None:
        for field in ("size", "instances", "samples"):
            _require_count(field, getattr(self, field))
        for field in ("rate", "share"):
            _require_amount(field, getattr(self, field))
        if type(self.entropy) not in (int, float) or not 0 <= self.entropy < math.inf:
            raise _fault("entropy", f"entropy is {self.entropy!r}.", "Give a number from 0.")
        if self.entropy > 0 and self.samples < 2:
            raise _fault("samples", "entropy is measured on samples of an instance.", "Give 2 or more, or entropy 0.")
        if not self.capacities:
            raise _fault("capacities", "there is no capacity.", "Give at least one.")
        for capacity in self.capacities:
            if type(capacity) is not int or capacity < 9:
                raise _fault("capacities", f"a capacity is {capacity!r}.", "Demands go up to 9: give 9 or more.")


@dataclass(frozen=True)
class Schedule:
    """A short rise, a plateau, and a fall to nothing, fitted to any budget.

    Attributes
    ----------
    peak
        The plateau's learning rate.
    rise, fall
        Parts of the budget spent rising and falling.
    """

    peak: float
    rise: float = 0.01
    fall: float = 0.6

    def __post_init__(self) -> None:
        if not self.peak > 0:
            raise OptionError(f"the rate is {self.peak}.", where=Where(field="rate"), remedy="Give a number above 0.")
        if not (0 <= self.rise <= 1 and 0 <= self.fall <= 1 and self.rise + self.fall <= 1):
            raise OptionError("rise and fall are not parts of 1.", where=Where(field="rise"), remedy="Give fractions.")

    def rate(self, spent: float) -> float:
        """The learning rate when this fraction of the budget is spent.

        Parameters
        ----------
        spent
            From 0 to 1; beyond 1 the rate stays at its last value.
        """
        if spent < self.rise:
            return self.peak * (0.01 + 0.99 * spent / self.rise)
        left = max(0.0, 1.0 - spent)
        if left >= self.fall:
            return self.peak
        return self.peak * max(0.001, 0.5 - 0.5 * math.cos(math.pi * left / self.fall))


@dataclass(frozen=True)
class TrainingPlan:
    """A whole run.

    Attributes
    ----------
    recipe
        Where the settings come from, for the card.
    policy
        amd: the dynamic attention model; am: the attention model.
    baseline
        What a sample's length is compared with: the mean of its siblings (shared), the current policy's greedy
        solution (greedy), or that of a frozen policy that is replaced when beaten (rollout).
    optimiser
        adam, or muon.
    stages
        What is trained on, in this order.
    minutes, updates, epochs
        The budget: exactly one of them is given. Minutes include compiling and validation.
    updates_per_epoch
        After an epoch the rollout baseline is put to the test.
    rise, fall
        Parts of each stage in which the learning rate rises and falls.
    largest_norm
        Gradients are clipped to this norm.
    validations, validation_count
        How many times the greedy length is measured on the way, and on how many instances; a rollout baseline is
        tested on as many.
    checkpoint_seconds
        A run that is killed loses this much at the most.
    seed
        Of parameters and instances; samples have random streams named by update and instance.
    init
        Model to start from; random parameters if None.
    """

    stages: tuple[Stage, ...]
    recipe: str = "fast"
    policy: PolicyName = "amd"
    baseline: BaselineName = "shared"
    optimiser: OptimiserName = "adam"
    minutes: float | None = None
    updates: int | None = None
    epochs: int | None = None
    updates_per_epoch: int = 1000
    rise: float = 0.02
    fall: float = 0.8
    largest_norm: float = 1.0
    validations: int = 10
    validation_count: int = 10_000
    checkpoint_seconds: float = 60.0
    seed: int = 1
    init: str | None = None

    @property
    def kind(self) -> KindName:
        """The kind of policy that is trained."""
        return _KINDS[self.policy]

    def __post_init__(self) -> None:
        if not self.stages:
            raise _fault("stages", "there is nothing to train on.", "Give at least one size.")
        for field, choices in _CHOICES.items():
            if getattr(self, field) not in choices:
                raise _fault(field, f"{field} is {getattr(self, field)!r}.", f"Use {', '.join(choices)}.")
        if sum(value is not None for value in (self.minutes, self.updates, self.epochs)) != 1:
            raise _fault("minutes", "the budget is not clear.", "Give one of minutes, updates and epochs.")
        for field in ("updates", "epochs"):
            if getattr(self, field) is not None:
                _require_count(field, getattr(self, field))
        if self.minutes is not None:
            _require_amount("minutes", self.minutes)
        for field in ("updates_per_epoch", "validations", "validation_count"):
            _require_count(field, getattr(self, field))
        for field in ("largest_norm", "checkpoint_seconds"):
            _require_amount(field, getattr(self, field))
        if not (0 <= self.rise <= 1 and 0 <= self.fall <= 1 and self.rise + self.fall <= 1):
            raise _fault("rise", f"rise {self.rise} and fall {self.fall} are no parts of 1.", "Give fractions.")
        if type(self.seed) is not int or not 0 <= self.seed < 2**63:
            raise _fault("seed", f"the seed is {self.seed!r}.", "Give a whole number from 0 to 2^63 - 1.")
        if not isinstance(self.recipe, str):
            raise _fault("recipe", f"the recipe is {self.recipe!r}.", "Give a name.")
        if not isinstance(self.init, str | None):
            raise _fault("init", f"the model to start from is {self.init!r}.", "Give a name or a folder.")
        if self.baseline == "shared" and any(stage.samples < 2 for stage in self.stages):
            raise _fault("samples", "a shared baseline compares samples of an instance.", "Give 2 samples or more.")
        if self.baseline == "rollout" and self.validation_count < 2:
            raise _fault("validation_count", "a rollout baseline is tested on these instances.", "Give 2 or more.")

    @property
    def all_updates(self) -> int | None:
        """The budget in updates, if it is not one of time."""
        return self.epochs * self.updates_per_epoch if self.epochs is not None else self.updates

    def find_stage(self, spent: float) -> tuple[int, float]:
        """Which stage it is when this part of the budget is spent, and what part of that stage is spent.

        Parameters
        ----------
        spent
            From 0 to 1.
        """
        whole = sum(stage.share for stage in self.stages)
        begin = 0.0
        for index, stage in enumerate(self.stages):
            part = stage.share / whole
            if spent < begin + part or index == len(self.stages) - 1:
                return index, min(1.0, (spent - begin) / part)
            begin += part
        raise AssertionError("a plan has stages")


def write_plan(plan: TrainingPlan, path: Path) -> None:
    """Write a plan as TOML.

    Parameters
    ----------
    plan
        The plan.
    path
        Where to.
    """
    replace_file(path, format_plan(plan).encode())


def format_plan(plan: TrainingPlan) -> str:
    """A plan as TOML."""
    values = {name: value for name, value in asdict(plan).items() if value is not None and name != "stages"}
    lines = [f"{name} = {_show(value)}" for name, value in values.items()]
    for stage in plan.stages:
        lines += ["", "[[stages]]", *(f"{name} = {_show(value)}" for name, value in asdict(stage).items())]
    return "\n".join(lines) + "\n"


def read_plan(path: Path) -> TrainingPlan:
    """Read a plan from TOML.

    Parameters
    ----------
    path
        A file as `write_plan` writes it; what has a default may be left out.
    """
    with in_file(path):
        try:
            text = read_bytes(path, LARGEST_SETTINGS).decode()
        except UnicodeDecodeError as error:
            raise FileError("cannot read the plan.", remedy="Is it text?") from error
        return parse_plan(text)


def parse_plan(text: str) -> TrainingPlan:
    """Read a plan from TOML text."""
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FormatError(f"this is not TOML: {error}.", remedy="Mend it, or start from a run's plan.toml.") from error
    stages = document.pop("stages", [])
    if not isinstance(stages, list) or not all(isinstance(stage, dict) for stage in stages):
        raise _fault("stages", "stages are no tables.", "Write [[stages]] before each.")
    _require_known(document, TrainingPlan, "stages")
    for stage in stages:
        _require_known(stage, Stage)
    try:
        parsed = tuple(Stage(**{**stage, "capacities": tuple(stage.get("capacities", ()))}) for stage in stages)
        return TrainingPlan(stages=parsed, **document)
    except TypeError as error:  # a field that has no default is missing, or a text stands for a number
        raise FormatError(f"the plan cannot be: {error}.", remedy="Start from a run's plan.toml.") from error


def refuse_other_plan(plan: TrainingPlan, begun: str) -> None:
    """Refuse to go on with a run by another plan than it was begun with.

    Parameters
    ----------
    plan
        What plan.toml says now.
    begun
        What it said at first.

    Raises
    ------
    ModelError
        If a setting differs; it names the first one.
    """
    now, then = (_list_settings(each) for each in (plan, parse_plan(begun)))
    for name in {**then, **now}:
        if now.get(name) != then.get(name):
            raise ModelError(
                f"the plan was changed: {name} is {now.get(name)!r}, and was {then.get(name)!r} when the run began.",
                where=Where(field=name),
                remedy="Change it back. To train by another plan, begin another run: the option config with the "
                "changed file, the option init with this run's folder, the option out with a new one.",
            )


def _list_settings(plan: TrainingPlan) -> dict[str, Any]:
    settings = asdict(plan)
    stages = settings.pop("stages")
    return settings | {
        f"stages[{index}].{name}": value for index, stage in enumerate(stages) for name, value in stage.items()
    }


def _require_known(table: dict[str, Any], kind: type[Stage] | type[TrainingPlan], besides: str = "") -> None:
    known = {field.name for field in fields(kind)} - {besides}
    for name in table:
        if name not in known:
            raise _fault(name, "there is no such setting.", f"Known are {', '.join(sorted(known))}.")


def _show(value: object) -> str:
    # TOML writes these as JSON does, but for its pairs of surrogates
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


def _require_count(field: str, value: object) -> None:
    if type(value) is not int or value < 1:
        raise _fault(field, f"{field} is {value!r}.", "Give a whole number from 1.")


def _require_amount(field: str, value: object) -> None:
    if type(value) not in (int, float) or not 0 < value < float("inf"):  # type: ignore[operator]
        raise _fault(field, f"{field} is {value!r}.", "Give a number above 0.")


def _fault(field: str, message: str, remedy: str) -> OptionError:
    return OptionError(message, where=Where(field=field), remedy=remedy)
