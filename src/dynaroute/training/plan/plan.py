"""Training plans and their stages: what to train, on which instances, how, and for how long. Saved with the run."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args

from dynaroute.base.errors import FormatError, ModelError, OptionError, in_file
from dynaroute.base.vocabulary import BaselineName, OptimiserName, PolicyName, PolicyRule
from dynaroute.draw.distribution import (
    Distribution,
    as_tuple,
    find_distribution,
    load_toml,
    parse_distribution,
    parse_toml,
    require_amount,
    require_count,
    require_known,
    show_distribution,
    show_table,
)
from dynaroute.draw.ruled import find_variants, list_rules
from dynaroute.training.files import replace_file
from dynaroute.training.plan.own_instances import InstanceFiles

__all__ = [
    "LearningRate",
    "Stage",
    "TrainingPlan",
    "format_plan",
    "parse_plan",
    "read_plan",
    "refuse_other_plan",
    "write_plan",
]


@dataclass(frozen=True)
class Stage:
    """A part of a run: instances of one size, of a distribution, or from files.

    Attributes
    ----------
    size
        Number of customers; the largest if sizes vary.
    capacities
        Capacities; each instance gets one of them at random, validation uses the first. None if instances come from a
        distribution or from files.
    instances, samples
        Instances per update and process, and solutions sampled per instance.
    replayed
        Solutions per instance that the policy learns from: those whose lengths differ most from their mean. None: all
        samples. A few of many are nearly as instructive as all of them, and gradients take most of the time.
    rate
        Peak learning rate.
    share
        Share of the budget, relative to the other stages.
    entropy
        Weight of the entropy bonus, in units of the advantages (with a shared baseline, standard deviations of the
        samples' lengths). Above 0 it keeps the policy exploring. If sizes vary, it is the weight for the largest
        instances, and smaller ones have a larger weight (`dynaroute.training.step.update_input`).
    size_weight
        How much more large instances count: an instance of n customers counts (n / 100) ^ size_weight times
        (`dynaroute.training.step.update_input`).
    variants
        Names of variants, one of which gives each instance its rules beyond capacity (`dynaroute.draw.ruled`).
    distribution
        Distribution of instances; None for the paper's at this size.
    data
        Files with instances to train on instead of random ones.
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
    replayed: int | None = None
    size_weight: float = 0.0
    variants: tuple[str, ...] = ()

    @property
    def replayed_samples(self) -> int:
        """Solutions per instance that the policy learns from."""
        return self.samples if self.replayed is None else self.replayed

    @property
    def lengths_differ(self) -> bool:
        """Whether instances vary in size or kind, so that only relative lengths are comparable."""
        return self.distribution is not None or self.data is not None or bool(self.variants)

    @property
    def title(self) -> str:
        """Short name of the training instances."""
        return self._plain_title + (f", variants {' '.join(self.variants)}" if self.variants else "")

    @property
    def _plain_title(self) -> str:
        if self.distribution is not None:
            return f"{self.distribution.name or 'mixed'}, n={self.distribution.smallest} to {self.size}"
        return f"n={self.size}" if self.data is None else f"own instances, up to n={self.size}"

    @property
    def settings(self) -> str:
        """How it is trained on, in short."""
        chosen = "" if self.replayed is None else f" of which {self.replayed} replayed"
        weighed = f", size weight {self.size_weight:g}" if self.size_weight else ""
        return f"{self.instances} x {self.samples}{chosen}, rate {self.rate:g}, entropy {self.entropy:g}{weighed}"

    def describe(self) -> str:
        """Describe the training instances."""
        if self.distribution is None:
            return self.title
        return self.distribution.describe() + (f", variants {' '.join(self.variants)}" if self.variants else "")

    def __post_init__(self) -> None:
        for field in ("size", "instances", "samples"):
            require_count(field, getattr(self, field))
        for field in ("rate", "share"):
            require_amount(field, getattr(self, field))
        for field in ("entropy", "size_weight"):
            value = getattr(self, field)
            if type(value) not in (int, float) or not 0 <= value < math.inf:
                raise OptionError.about(field, f"{field} is {value!r}.", "Give a number of 0 or more.")
        if self.replayed is not None:
            require_count("replayed", self.replayed)
            if self.replayed > self.samples:
                message = f"{self.replayed} of {self.samples} samples cannot be replayed."
                raise OptionError.about("replayed", message, f"Give at most {self.samples}.")
        if self.entropy > 0 and self.replayed_samples < 2:
            field = "samples" if self.replayed is None else "replayed"
            message = "entropy needs several samples per instance."
            raise OptionError.about(field, message, "Give 2 or more, or entropy 0.")
        find_variants(self.variants)
        if self.variants and self.data is not None:
            message = "rules cannot be added to your own instances."
            raise OptionError.about("variants", message, "Leave out the variants, or the data.")
        if self.distribution is not None or self.data is not None:
            self._require_one_source()
            return
        if not self.capacities:
            raise OptionError.about("capacities", "there is no capacity.", "Give at least one.")
        for capacity in self.capacities:
            if type(capacity) is not int or capacity < 9:
                raise OptionError.about(
                    "capacities", f"a capacity is {capacity!r}.", "Demands go up to 9: give 9 or more."
                )

    def _require_one_source(self) -> None:
        if self.distribution is not None and self.data is not None:
            raise OptionError.about("data", "a stage has both a distribution and data.", "Leave one of them out.")
        if self.capacities:
            message = "the distribution or the instances already determine the capacities."
            raise OptionError.about("capacities", message, "Leave them out here.")
        if self.distribution is not None and self.size != self.distribution.largest:
            message = f"the size is {self.size}, but the distribution's largest is {self.distribution.largest}."
            raise OptionError.about("size", message, "Leave it out.")


_EXAMPLE = "a run's plan.toml"
_KINDS: dict[PolicyName, str] = {"amd": "AM-D", "am": "AM", "rl": "RL"}
_BUDGETS = ("minutes", "updates", "epochs")
_CHOICES = {
    "policy": get_args(PolicyName),
    "baseline": get_args(BaselineName),
    "optimiser": get_args(OptimiserName),
}


@dataclass(frozen=True)
class LearningRate:
    """A learning rate that rises briefly, stays, and falls to 0, scaled to any budget.

    Attributes
    ----------
    peak
        Learning rate of the plateau.
    rise, fall
        Shares of the budget for rising and falling.
    """

    peak: float
    rise: float = 0.01
    fall: float = 0.6

    def __post_init__(self) -> None:
        if not self.peak > 0:
            raise OptionError.about("rate", f"the rate is {self.peak}.", "Give a number above 0.")
        if not (0 <= self.rise <= 1 and 0 <= self.fall <= 1 and self.rise + self.fall <= 1):
            raise OptionError.about("rise", "rise and fall are not fractions of 1.", "Give fractions.")

    def at(self, spent: float) -> float:
        """Return the learning rate when this fraction of the budget is spent.

        Parameters
        ----------
        spent
            0 to 1; beyond 1 the rate keeps its last value.
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
        Name of the recipe, for the model card.
    policy
        "amd": the dynamic attention model; "am": the attention model; "rl": the pointer network of Nazari et al.
    baseline
        What a sample's length is compared with: "shared", the mean of the instance's samples; "greedy", the current
        policy's greedy solution; or "rollout", that of a frozen policy, replaced when beaten.
    optimiser
        "adam" or "muon".
    stages
        The stages, in order.
    minutes, updates, epochs
        The budget; give exactly one. Minutes include compiling and validation.
    updates_per_epoch
        Updates after which the rollout baseline is tested.
    rise, fall
        Shares of each stage in which the learning rate rises and falls.
    largest_norm
        Gradients are clipped to this norm.
    validations, validation_count
        How many times the greedy length is measured, and on how many instances. A rollout baseline is tested on as
        many.
    checkpoint_seconds
        Seconds between checkpoints: the most that a killed run loses.
    seed
        Seed of parameters and instances; samples have random streams keyed by update and instance.
    init
        Model to start from; random parameters if None.
    validation
        Files with validation instances; None to validate on instances like those of the stage.
    layers
        Encoder layers. None: 3 as in the paper, or as many as the model to start from has.
    distance_bias, edge_scores
        Settings of the policy: see `dynaroute.model.PolicyConfig`.
    forced_starts
        Whether the k-th sample of an instance starts with its k-th customer (POMO).
    averaged
        Share of the budget, at its end, whose parameters are averaged; the mean is the model if it validates best.
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
    distance_bias: bool = False
    edge_scores: bool = False
    forced_starts: bool = False
    averaged: float = 0.0

    @property
    def rules(self) -> tuple[PolicyRule, ...]:
        """The rules beyond capacity that the policy must know."""
        return tuple(sorted({rule for stage in self.stages for rule in list_rules(stage.variants)}))

    @property
    def kind(self) -> str:
        """The kind of policy."""
        return _KINDS[self.policy]

    def __post_init__(self) -> None:
        if not self.stages:
            raise OptionError.about("stages", "there is nothing to train on.", "Give at least one size.")
        for field, choices in _CHOICES.items():
            if getattr(self, field) not in choices:
                raise OptionError.about(field, f"{field} is {getattr(self, field)!r}.", f"Use {', '.join(choices)}.")
        if sum(value is not None for value in (self.minutes, self.updates, self.epochs)) != 1:
            raise OptionError.about(
                "minutes", "the budget is not clear.", "Give exactly one of minutes, updates and epochs."
            )
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
            raise OptionError.about(
                "rise", f"rise {self.rise} and fall {self.fall} are not fractions of 1.", "Give fractions."
            )
        if type(self.averaged) not in (int, float) or not 0 <= self.averaged <= 1:
            raise OptionError.about("averaged", f"averaged is {self.averaged!r}.", "Give a fraction of 1.")
        if type(self.seed) is not int or not 0 <= self.seed < 2**63:
            raise OptionError.about("seed", f"the seed is {self.seed!r}.", "Give a whole number from 0 to 2^63 - 1.")
        for field in ("distance_bias", "edge_scores", "forced_starts"):
            if type(getattr(self, field)) is not bool:
                raise OptionError.about(field, f"{field} is {getattr(self, field)!r}.", "Use true or false.")
        if not isinstance(self.recipe, str):
            raise OptionError.about("recipe", f"the recipe is {self.recipe!r}.", "Give a name.")
        if not isinstance(self.init, str | None):
            raise OptionError.about("init", f"the model to start from is {self.init!r}.", "Give a name or a folder.")
        if self.baseline == "shared" and any(stage.samples < 2 for stage in self.stages):
            raise OptionError.about(
                "samples", "a shared baseline needs several samples per instance.", "Give 2 samples or more."
            )
        if self.baseline == "rollout" and self.validation_count < 2:
            raise OptionError.about(
                "validation_count", "a rollout baseline is tested on this many instances.", "Give 2 or more."
            )

    @property
    def all_updates(self) -> int | None:
        """The budget in updates; None if it is in minutes."""
        return self.epochs * self.updates_per_epoch if self.epochs is not None else self.updates

    def extend(self, budget: str, more: float) -> TrainingPlan:
        """Return the plan with a larger budget, which extends the last stage.

        Parameters
        ----------
        budget
            "minutes", "updates" or "epochs", as in the plan.
        more
            Amount to add.
        """
        before = getattr(self, budget)
        if before is None:
            own = next(each for each in _BUDGETS if getattr(self, each) is not None)
            raise OptionError.about(budget, f"the budget of the run is in {own}.", f"Give more {own}.")
        require_amount(budget, more)
        shares = [stage.share * before / sum(each.share for each in self.stages) for stage in self.stages]
        shares[-1] += more
        stages = tuple(replace(stage, share=share) for stage, share in zip(self.stages, shares, strict=True))
        return replace(self, stages=stages, **{budget: before + more})

    def find_stage(self, spent: float) -> tuple[int, float]:
        """Return the stage when this share of the budget is spent, and the share of that stage that is spent.

        Parameters
        ----------
        spent
            0 to 1.
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
    """Write a plan as TOML."""
    replace_file(path, format_plan(plan).encode())


def format_plan(plan: TrainingPlan) -> str:
    """Format a plan as TOML."""
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
        A file as written by `write_plan`; settings with a default may be left out. A stage's distribution may be a name
        or the path of a file.
    """
    with in_file(path):
        return _build_plan(load_toml(path, "plan", _EXAMPLE))


def parse_plan(text: str) -> TrainingPlan:
    """Read a plan from TOML text."""
    return _build_plan(parse_toml(text, _EXAMPLE))


def _build_plan(document: dict[str, Any]) -> TrainingPlan:
    stages = document.pop("stages", [])
    if not isinstance(stages, list) or not all(isinstance(stage, dict) for stage in stages):
        raise OptionError.about("stages", "stages are not tables.", "Write [[stages]] before each stage.")
    if document.pop("growing_attention", False) is not False:
        raise OptionError.about("growing_attention", "growing attention is no longer supported.", "Leave it out.")
    require_known(document, TrainingPlan, ("stages",))
    try:
        parsed = tuple(_parse_stage(stage) for stage in stages)
        if "validation" in document:
            document["validation"] = _parse_files(document["validation"], "validation")
        return TrainingPlan(stages=parsed, **document)
    except TypeError as error:  # a required field is missing, or a number is a string
        raise FormatError(f"the plan is invalid: {error}.", remedy=f"Start from {_EXAMPLE}.") from error


def refuse_other_plan(plan: TrainingPlan, begun: str, *, extends: bool = False) -> None:
    """Raise if a run would be resumed with another plan than it began with.

    Parameters
    ----------
    plan
        The current plan.toml.
    begun
        The plan at the start of the run, as TOML.
    extends
        Whether the budget and its shares may differ.

    Raises
    ------
    ModelError
        If a setting differs; the error names the first.
    """
    now, then = (_list_settings(each) for each in (plan, parse_plan(begun)))
    for name in {**then, **now}:
        may_differ = extends and (name in _BUDGETS or name.endswith("].share"))
        if now.get(name) != then.get(name) and not may_differ:
            raise ModelError.about(
                name,
                f"the plan was changed: {name} is {now.get(name)!r}, but was {then.get(name)!r} when the run began.",
                "Change it back. To train with another plan, start another run: the option config with the "
                "changed file, the option init with this run's folder, and the option out with a new folder.",
            )


def _list_settings(plan: TrainingPlan) -> dict[str, Any]:
    settings = asdict(plan)
    stages = settings.pop("stages")
    return settings | {
        f"stages[{index}].{name}": value for index, stage in enumerate(stages) for name, value in stage.items()
    }


def _parse_stage(table: dict[str, Any]) -> Stage:
    require_known(table, Stage)
    values = {name: as_tuple(value) for name, value in table.items()}
    if "distribution" in table:
        given = table["distribution"]
        distribution = find_distribution(given) if isinstance(given, str) else parse_distribution(given)
        values = {"size": distribution.largest, **values, "distribution": distribution}
    if "data" in table:
        values["data"] = _parse_files(table["data"], "data")
    return Stage(**{"capacities": (), **values})


def _parse_files(table: object, field: str) -> InstanceFiles:
    if not isinstance(table, dict):
        raise OptionError.about(field, f"{field} is not a table.", "Write path and digest, as in a run's plan.toml.")
    require_known(table, InstanceFiles)
    return InstanceFiles(**table)


def _list_values(settings: Stage | TrainingPlan, *besides: str) -> dict[str, Any]:
    return {name: value for name, value in asdict(settings).items() if name not in besides}
