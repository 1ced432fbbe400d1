"""The options of ``dynaroute train``, each declared once, and the plan and the policy that they make."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dynaroute.base.errors import OptionError
from dynaroute.base.vocabulary import BaselineName, OptimiserName, PolicyName, RecipeName

if TYPE_CHECKING:
    import torch

    from dynaroute.model import Policy
    from dynaroute.training.plan.own_instances import InstanceFiles
    from dynaroute.training.plan.plan import TrainingPlan

BUDGET, STEP = "Budget (give one)", "Each update"
INSTANCES, POLICY, VALIDATION = "Instances", "Policy", "Validation"

_SHARED_VALIDATION, _RELATIVE_VALIDATION = 500, 50  # instances that a CPU can validate on in reasonable time
# Few instances with many samples, of which the two that differ most are learned from: on a CPU building is cheap beside
# learning, so that a minute holds more updates.
_CPU_INSTANCES, _CPU_SAMPLES, _CPU_REPLAYED = 32, 16, 2


def _option(
    panel: str | None, metavar: str | None, help: str | None = None, *flags: str, default: object = None, **more: Any
) -> Any:
    """Declare an option as a field; without flags, its name is the field's."""
    option = typer.Option(*flags, metavar=metavar, help=help, rich_help_panel=panel, **more)
    return field(default=default, metadata={"option": option})


@dataclass(frozen=True)
class Source:
    """What to train on."""

    size: int | None = _option(INSTANCES, "N", "Customers.", min=1)
    sizes: str | None = _option(INSTANCES, "N,N-M,...", "A curriculum: sizes or ranges of sizes, one after the other.")
    recipe: RecipeName | None = _option(
        None,
        None,
        "fast: our own (the default). paper: Algorithm 1 with the paper's settings, plus gradient clipping to norm 1. "
        "am: Kool et al. rules: amd learns all rules beyond capacity, in stages of its own.",
    )
    distribution: str | None = _option(
        INSTANCES,
        "NAME|FILE.toml",
        "paper: uniform (the default). x: the X set's kinds. mixed: both, many sizes. Or a file.",
    )
    data: Path | None = _option(
        INSTANCES, "FOLDER|SET", "Your own instances, which are rotated, mirrored and given shuffled demands."
    )
    variants: str | None = _option(
        INSTANCES,
        "all|NAME,NAME,...",
        "Give each instance the rules of one of these variants, such as vrptw, ovrp and vrpb; all: every rule drawn "
        "for itself.",
    )

    def make_plan(self, init: str | None, on_cpu: bool, policy: PolicyName | None = None) -> TrainingPlan:
        """Make the recipe's plan, for its own kind of policy if none is given."""
        from dynaroute.training.plan.recipes import suit_policy

        plan = self._make_plan(self.recipe or "fast", init)
        if self.variants is not None:
            names = tuple(self.variants.split(","))
            plan = replace(plan, stages=tuple(replace(stage, variants=names) for stage in plan.stages))
        plan = plan if policy is None else suit_policy(plan, policy)
        if plan.recipe not in ("fast", "rules") or not on_cpu:
            return plan
        # on a CPU, validating on ten thousand instances would take longer than the updates in between
        count = _RELATIVE_VALIDATION if any(stage.lengths_differ for stage in plan.stages) else _SHARED_VALIDATION
        stages = tuple(
            replace(
                stage,
                instances=min(_CPU_INSTANCES, stage.instances),
                samples=_CPU_SAMPLES,
                replayed=_CPU_REPLAYED,
            )
            for stage in plan.stages
        )
        return replace(plan, stages=stages, validation_count=count)

    def _make_plan(self, recipe: RecipeName, init: str | None) -> TrainingPlan:
        from dynaroute.training.plan.recipes import (
            make_data_plan,
            make_distribution_plan,
            make_plan,
            make_rules_plan,
        )

        if self.data is not None:
            given = {"size": self.size, "sizes": self.sizes, "distribution": self.distribution}
            given["variants"] = self.variants
            refuse_options(given, "data", "The files determine the instances: leave it out.")
            return make_data_plan(recipe, find_files(self.data, None), init)
        if recipe == "rules" and (self.size, self.sizes, self.distribution, self.variants) == (None,) * 4:
            return make_rules_plan(init)
        ranges = self._find_ranges()
        if self.distribution in (None, "paper") and ranges and all(low == high for low, high in ranges):
            return make_plan(recipe, [low for low, _ in ranges], init=init)
        from dynaroute.draw.distribution import find_distribution

        distribution = find_distribution(self.distribution or "paper")
        resized = [distribution.resize(low, high) for low, high in ranges]
        return make_distribution_plan(recipe, resized or [distribution], init)

    def _find_ranges(self) -> list[tuple[int, int]]:
        both, neither = None not in (self.size, self.sizes), (self.size, self.sizes) == (None, None)
        if both or (neither and self.distribution is None):
            remedy = "Give one of --size, --sizes, --distribution, --data and --config."
            raise OptionError.about("size", "the training instances are not clear.", remedy)
        if self.size is not None:
            return [(self.size, self.size)]
        return [] if self.sizes is None else [_parse_range(part) for part in self.sizes.split(",")]


@dataclass(frozen=True)
class PolicyOptions:
    """Which policy to train, and what it begins with: settings of the plan, by their names."""

    init: str | None = _option(
        POLICY, "NAME|FOLDER", "A model to start from; the default --rate is then low, so that it does not get worse."
    )
    policy: PolicyName | None = _option(
        POLICY, None, "amd: dynamic; am: static; rl: a pointer network. Default: the recipe's."
    )
    layers: int | None = _option(POLICY, "N", "Encoder layers; default: 3.", min=1)
    distance_bias: bool = _option(POLICY, None, "Show distances to the decoder.", "--distance-bias", default=False)
    edge_scores: bool = _option(
        POLICY, None, "Compare nodes with the last one and the load directly.", "--edge-scores", default=False
    )


@dataclass(frozen=True)
class BudgetOptions:
    """How long to train, in one of these units: settings of the plan, by their names."""

    minutes: float | None = _option(BUDGET, "M", "Minutes, including compiling and validation.")
    updates: int | None = _option(BUDGET, "U")
    epochs: int | None = _option(BUDGET, "E")


@dataclass(frozen=True)
class StepOptions:
    """How each update is made: settings of every stage, by their names."""

    instances: int | None = _option(STEP, "B", "Instances per process.")
    samples: int | None = _option(STEP, "K", "Samples per instance.")
    replayed: int | None = _option(
        STEP, "M", "Learn from the M samples of an instance whose lengths differ most; default: all."
    )
    rate: float | None = _option(
        STEP,
        "ETA",
        "Peak learning rate. Default of the recipe fast: 1e-3 (rl: 2e-3), or 1e-4 with --init; a model that is to "
        "learn something new needs more, such as 7e-4.",
    )
    entropy: float | None = _option(
        STEP, "W", "Weight of the entropy bonus for the largest instances, in standard deviations of lengths; 0: none."
    )
    size_weight: float | None = _option(
        STEP, "E", "If sizes vary, an instance of n customers counts (n / 100) ^ E times; default: 0, all alike."
    )


@dataclass(frozen=True)
class LearningOptions:
    """What updates compare with, and what they are measured on: settings of the plan, by their names."""

    baseline: BaselineName | None = _option(STEP, None)
    optimiser: OptimiserName | None = _option(STEP, None)
    validation_count: int | None = _option(
        VALIDATION, "N", "Instances per validation; default: 10000, or 1000 for a distribution."
    )


def find_given(*groups: object) -> dict[str, Any]:
    """Return the options that were given, by name."""
    values = {name: value for group in groups for name, value in vars(group).items()}
    return {name: value for name, value in values.items() if value is not None and value is not False}


def _parse_range(text: str) -> tuple[int, int]:
    low, dash, high = text.partition("-")
    limits = parse_numbers("sizes", f"{low},{high}" if dash else f"{low},{low}", "20,50,100, or ranges: 20-100,100-300")
    return limits[0], limits[1]


def parse_numbers(option: str, text: str, example: str = "20,50,100") -> tuple[int, ...]:
    """Read whole numbers from a comma-separated list."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise OptionError.about(
            option, f"{text!r} is not a list of whole numbers.", f"Write them as {example}."
        ) from None


def find_files(path: Path, best: Path | None) -> InstanceFiles:
    """Describe files as they are now, after checking them."""
    from dynaroute.formats.collection import find_best_costs
    from dynaroute.training.plan.own_instances import InstanceFiles

    files = InstanceFiles.at(path, best if best is not None else find_best_costs(path))
    files.read_best(files.read())
    return files


def refuse_options(given: dict[str, Any], beside: str, remedy: str) -> None:
    """Raise if one of the given options (None: not given) cannot be combined with the option `beside`."""
    for name, value in given.items():
        if value is not None:
            message = f"--{name.replace('_', '-')} cannot be combined with --{beside}."
            raise OptionError.about(name, message, remedy)


def find_validation(validation: Path | None, best: Path | None) -> InstanceFiles | None:
    """Return the validation files, if any are given.

    Parameters
    ----------
    validation
        A folder or a set file.
    best
        A table of best known costs; None for the one in the folder.
    """
    if validation is None:
        if best is not None:
            raise OptionError.about(
                "best", "best known costs belong to the instances of --validation.", "Add --validation."
            )
        return None
    return find_files(validation, best)


def read_config(path: Path) -> TrainingPlan:
    """Read the plan that --config names, with the libraries that this needs."""
    from dynaroute.training.plan.plan import read_plan

    return read_plan(path)


def change_plan(
    plan: TrainingPlan, overrides: dict[str, Any], budget: dict[str, Any], steps: dict[str, Any]
) -> TrainingPlan:
    """Override the settings of a recipe or file by those of the command line.

    Parameters
    ----------
    plan
        The plan of the recipe or file.
    overrides, budget, steps
        Settings of the plan, its budget, and every stage; None: not given.
    """
    changes = {name: value for name, value in overrides.items() if value is not None}
    if any(value is not None for value in budget.values()):
        changes |= budget
    in_stages = {name: value for name, value in steps.items() if value is not None}
    if in_stages.get("samples") == 1:
        in_stages.setdefault("entropy", 0.0)  # entropy needs several samples
    if "samples" in in_stages:
        in_stages.setdefault("replayed", None)  # whoever chooses the samples learns from all of them
    if in_stages:
        changes["stages"] = tuple(replace(stage, **in_stages) for stage in plan.stages)
    return replace(plan, **changes)


def find_tracker(name: str | None) -> Callable[[dict[str, Any]], None]:
    """Find the function to call with every line of metrics.

    Parameters
    ----------
    name
        A module and a function in it, separated by a colon; None for a function that does nothing.
    """
    if name is None:
        return lambda line: None
    module, _, function = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))  # the user's own file is most likely here
    try:
        found = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        message = f"{name!r} was not found ({error})."
        raise OptionError.about("track", message, "Write module:function.") from error
    finally:
        sys.path.pop(0)
    if not callable(found):
        raise OptionError.about("track", f"{name!r} is not a function.", "Write module:function.")
    return found  # type: ignore[no-any-return]


def make_policy(plan: TrainingPlan, model: str | None) -> Policy:
    """Make the policy to start from; for a resumed run, a policy whose parameters are then replaced.

    Parameters
    ----------
    plan
        The plan of the run.
    model
        A shipped model or a folder; None for random parameters.
    """
    import torch

    from dynaroute.model import PointerConfig, Policy, PolicyConfig
    from dynaroute.model.policy import KINDS

    # only settings that differ from the defaults, because not every kind of policy has all of them
    switches = {name: True for name in ("distance_bias", "edge_scores") if getattr(plan, name)}
    settings: dict[str, Any] = switches if plan.layers is None else {**switches, "layers": plan.layers}
    if plan.rules:
        settings["rules"] = plan.rules
    generator = torch.Generator().manual_seed(plan.seed)
    if model is None:
        makes = {"amd": PolicyConfig, "am": PolicyConfig.am, "rl": PointerConfig}
        config = replace(makes[plan.policy](), **settings)
        return KINDS[config.kind].policy(config, generator=generator)
    policy = Policy.from_pretrained(model)
    if policy.kind != plan.kind:
        raise OptionError.about(
            "init",
            f"{model} is not of kind {plan.policy}.",
            f"Give --policy {policy.kind.replace('-', '').lower()}, or another model.",
        )
    if plan.layers not in (None, policy.config.layers):
        from dynaroute.training.run.deepen import deepen

        assert plan.layers is not None
        policy = deepen(policy, plan.layers, generator)
    return _change_settings(policy, settings, generator)


def _change_settings(policy: Policy, settings: dict[str, Any], generator: torch.Generator) -> Policy:
    """Change a policy's settings; new parameters, and new columns of old ones, have no effect at first."""
    rules = {*policy.config.rules, *settings.get("rules", ())}
    wanted = replace(policy.config, **{**settings, **({"rules": tuple(rules)} if rules else {})})
    if wanted == policy.config:
        return policy
    changed = type(policy)(wanted, generator=generator, card=policy.card)
    known = policy.state_dict()
    for name, tensor in changed.state_dict().items():  # which has no gradients
        tensor.zero_()
        if name in known:
            tensor[tuple(slice(length) for length in known[name].shape)] = known[name]
    return changed.eval()
