"""What to train, on what, how, and for how long: all of it in one object that is saved with the run."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args

from dynaroute.errors import FormatError, ModelError, Where, in_file
from dynaroute.training.distribution import Distribution, find_distribution, parse_distribution, show_distribution
from dynaroute.training.names import BaselineName, OptimiserName, PolicyName
from dynaroute.training.own_instances import InstanceFiles
from dynaroute.training.run_files import replace_file
from dynaroute.training.toml_tables import (
    load_toml,
    parse_toml,
    refuse_setting,
    require_amount,
    require_count,
    require_known,
    show_table,
    tupled,
)

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

_EXAMPLE = "a run's plan.toml"
_KINDS: dict[PolicyName, str] = {"amd": "AM-D", "am": "AM", "rl": "RL"}
_BUDGETS = ("minutes", "updates", "epochs")
_CHOICES = {
    "policy": get_args(PolicyName),
    "baseline": get_args(BaselineName),
    "optimiser": get_args(OptimiserName),
}


@dataclass(frozen=True)
class Stage:
    """A part of a run: instances of one size, of a distribution, or of somebody's own.

    Attributes
    ----------
    size
        Customers; those of the largest instances, where sizes differ.
    capacities
        Of vehicles; each instance gets one of them at random. Validation uses the first. None where instances come
        from a distribution or from files, which say themselves what a vehicle holds.
    instances, samples
        Instances of an update (of each process), and solutions sampled of each.
    rate
        Peak learning rate.
    share
        Part of the budget, relative to the other stages'.
    entropy
        What a unit of entropy is worth, in the units of the advantages (deviations of the samples' lengths with a
        shared baseline). Above 0 it keeps a policy from being too sure of itself to try anything new.
    distribution
        What instances look like; None: the paper's, of this size.
    data
        Files with instances to train on, instead of random ones.
    """

    size: int
    capacities: tuple[int, ...]
    instances: int
    samples: int
    rate: float
    share: float = 1.0
    entropy: float = 0.0
    distribution: Distribution | None = None
    data: InstanceFiles | None = None

    @property
    def lengths_differ(self) -> bool:
        """Whether instances are not all of one size and kind, so that only relative lengths can be compared."""
        return self.distribution is not None or self.data is not None

    @property
    def title(self) -> str:
        """What it is trained on, as briefly as can be."""
        if self.distribution is not None:
            return f"{self.distribution.name or 'mixed'}, n={self.distribution.smallest} to {self.size}"
        return f"n={self.size}" if self.data is None else f"own instances, up to n={self.size}"

    def describe(self) -> str:
        """What it is trained on, in a few words."""
        return self.title if self.distribution is None else self.distribution.describe()

    def __post_init__(self) -> None:
        for field in ("size", "instances", "samples"):
            require_count(field, getattr(self, field))
        for field in ("rate", "share"):
            require_amount(field, getattr(self, field))
        if type(self.entropy) not in (int, float) or not 0 <= self.entropy < math.inf:
            raise refuse_setting("entropy", f"entropy is {self.entropy!r}.", "Give a number from 0.")
        if self.entropy > 0 and self.samples < 2:
            raise refuse_setting(
                "samples", "entropy is measured on samples of an instance.", "Give 2 or more, or entropy 0."
            )
        if self.lengths_differ:
            self._require_one_source()
            return
        if not self.capacities:
            raise refuse_setting("capacities", "there is no capacity.", "Give at least one.")
        for capacity in self.capacities:
            if type(capacity) is not int or capacity < 9:
                raise refuse_setting(
                    "capacities", f"a capacity is {capacity!r}.", "Demands go up to 9: give 9 or more."
                )

    def _require_one_source(self) -> None:
        if self.distribution is not None and self.data is not None:
            raise refuse_setting("data", "a stage has a distribution and data.", "Leave one of them out.")
        if self.capacities:
            message = "the capacities are those of the distribution, or of the instances."
            raise refuse_setting("capacities", message, "Leave them out here.")
        if self.distribution is not None and self.size != self.distribution.largest:
            message = f"the size is {self.size}, and the largest of the distribution {self.distribution.largest}."
            raise refuse_setting("size", message, "Leave it out.")


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
            raise refuse_setting("rate", f"the rate is {self.peak}.", "Give a number above 0.")
        if not (0 <= self.rise <= 1 and 0 <= self.fall <= 1 and self.rise + self.fall <= 1):
            raise refuse_setting("rise", "rise and fall are not parts of 1.", "Give fractions.")

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
        amd: the dynamic attention model; am: the attention model; rl: the pointer network of Nazari et al.
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
    validation
        Files with instances to validate on; None: on instances like those of the stage.
    layers
        Of the encoder; the paper's 3, or as many as the model to start from has, if None.
    growing_attention, distance_bias
        Settings of the policy: see `dynaroute.model.PolicyConfig`.
    forced_starts
        Whether the k-th sample of an instance begins with its k-th customer (POMO).
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
    validation: InstanceFiles | None = None
    layers: int | None = None
    growing_attention: bool = False
    distance_bias: bool = False
    forced_starts: bool = False

    @property
    def kind(self) -> str:
        """The kind of policy that is trained."""
        return _KINDS[self.policy]

    def __post_init__(self) -> None:
        if not self.stages:
            raise refuse_setting("stages", "there is nothing to train on.", "Give at least one size.")
        for field, choices in _CHOICES.items():
            if getattr(self, field) not in choices:
                raise refuse_setting(field, f"{field} is {getattr(self, field)!r}.", f"Use {', '.join(choices)}.")
        if sum(value is not None for value in (self.minutes, self.updates, self.epochs)) != 1:
            raise refuse_setting("minutes", "the budget is not clear.", "Give one of minutes, updates and epochs.")
        for field in ("updates", "epochs", "layers"):
            if getattr(self, field) is not None:
                require_count(field, getattr(self, field))
        if self.minutes is not None:
            require_amount("minutes", self.minutes)
        for field in ("updates_per_epoch", "validations", "validation_count"):
            require_count(field, getattr(self, field))
        for field in ("largest_norm", "checkpoint_seconds"):
            require_amount(field, getattr(self, field))
        if not (0 <= self.rise <= 1 and 0 <= self.fall <= 1 and self.rise + self.fall <= 1):
            raise refuse_setting("rise", f"rise {self.rise} and fall {self.fall} are no parts of 1.", "Give fractions.")
        if type(self.seed) is not int or not 0 <= self.seed < 2**63:
            raise refuse_setting("seed", f"the seed is {self.seed!r}.", "Give a whole number from 0 to 2^63 - 1.")
        for field in ("growing_attention", "distance_bias", "forced_starts"):
            if type(getattr(self, field)) is not bool:
                raise refuse_setting(field, f"{field} is {getattr(self, field)!r}.", "Use true or false.")
        if not isinstance(self.recipe, str):
            raise refuse_setting("recipe", f"the recipe is {self.recipe!r}.", "Give a name.")
        if not isinstance(self.init, str | None):
            raise refuse_setting("init", f"the model to start from is {self.init!r}.", "Give a name or a folder.")
        if self.baseline == "shared" and any(stage.samples < 2 for stage in self.stages):
            raise refuse_setting(
                "samples", "a shared baseline compares samples of an instance.", "Give 2 samples or more."
            )
        if self.baseline == "rollout" and self.validation_count < 2:
            raise refuse_setting(
                "validation_count", "a rollout baseline is tested on these instances.", "Give 2 or more."
            )

    @property
    def all_updates(self) -> int | None:
        """The budget in updates, if it is not one of time."""
        return self.epochs * self.updates_per_epoch if self.epochs is not None else self.updates

    def extend(self, budget: str, more: float) -> TrainingPlan:
        """The plan with a larger budget: the last stage goes on for longer.

        Parameters
        ----------
        budget
            minutes, updates or epochs, whichever the plan's is.
        more
            What is added to it.
        """
        before = getattr(self, budget)
        if before is None:
            own = next(each for each in _BUDGETS if getattr(self, each) is not None)
            raise refuse_setting(budget, f"the budget of the run is one of {own}.", f"Give more {own}.")
        require_amount(budget, more)
        shares = [stage.share * before / sum(each.share for each in self.stages) for stage in self.stages]
        shares[-1] += more
        stages = tuple(replace(stage, share=share) for stage, share in zip(self.stages, shares, strict=True))
        return replace(self, stages=stages, **{budget: before + more})

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
    lines = show_table(_list_values(plan, "stages", "validation"))
    if plan.validation is not None:
        lines += ["", "[validation]", *show_table(asdict(plan.validation))]
    for stage in plan.stages:
        lines += ["", "[[stages]]", *show_table(_list_values(stage, "distribution", "data"))]
        if stage.distribution is not None:
            lines += show_distribution(stage.distribution, "stages.distribution")
        if stage.data is not None:
            lines += ["", "[stages.data]", *show_table(asdict(stage.data))]
    return "\n".join(lines) + "\n"


def read_plan(path: Path) -> TrainingPlan:
    """Read a plan from TOML.

    Parameters
    ----------
    path
        A file as `write_plan` writes it; what has a default may be left out. A stage's distribution may be a name, or
        the path of a file.
    """
    with in_file(path):
        return _build_plan(load_toml(path, "plan", _EXAMPLE))


def parse_plan(text: str) -> TrainingPlan:
    """Read a plan from TOML text."""
    return _build_plan(parse_toml(text, _EXAMPLE))


def _build_plan(document: dict[str, Any]) -> TrainingPlan:
    stages = document.pop("stages", [])
    if not isinstance(stages, list) or not all(isinstance(stage, dict) for stage in stages):
        raise refuse_setting("stages", "stages are no tables.", "Write [[stages]] before each.")
    require_known(document, TrainingPlan, ("stages",))
    try:
        parsed = tuple(_parse_stage(stage) for stage in stages)
        if "validation" in document:
            document["validation"] = _parse_files(document["validation"], "validation")
        return TrainingPlan(stages=parsed, **document)
    except TypeError as error:  # a field that has no default is missing, or a text stands for a number
        raise FormatError(f"the plan cannot be: {error}.", remedy=f"Start from {_EXAMPLE}.") from error


def refuse_other_plan(plan: TrainingPlan, begun: str, *, extends: bool = False) -> None:
    """Refuse to go on with a run by another plan than it was begun with.

    Parameters
    ----------
    plan
        What plan.toml says now.
    begun
        What it said at first.
    extends
        Whether the budget, and the shares of it, may be others.

    Raises
    ------
    ModelError
        If a setting differs; it names the first one.
    """
    now, then = (_list_settings(each) for each in (plan, parse_plan(begun)))
    for name in {**then, **now}:
        may_differ = extends and (name in _BUDGETS or name.endswith("].share"))
        if now.get(name) != then.get(name) and not may_differ:
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


def _parse_stage(table: dict[str, Any]) -> Stage:
    require_known(table, Stage)
    values = {name: tupled(value) for name, value in table.items()}
    if "distribution" in table:
        given = table["distribution"]
        distribution = find_distribution(given) if isinstance(given, str) else parse_distribution(given)
        values = {"size": distribution.largest, **values, "distribution": distribution}
    if "data" in table:
        values["data"] = _parse_files(table["data"], "data")
    return Stage(**{"capacities": (), **values})


def _parse_files(table: object, field: str) -> InstanceFiles:
    if not isinstance(table, dict):
        raise refuse_setting(field, f"{field} is no table.", "Write path and digest, as in a run's plan.toml.")
    require_known(table, InstanceFiles)
    return InstanceFiles(**table)


def _list_values(settings: Stage | TrainingPlan, *besides: str) -> dict[str, Any]:
    return {name: value for name, value in asdict(settings).items() if name not in besides}
