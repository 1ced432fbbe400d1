"""Making a training plan from the options of ``dynaroute train``, and the policy it starts with."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynaroute.errors import OptionError, Where
from dynaroute.training.names import PolicyName, RecipeName

if TYPE_CHECKING:
    import torch

    from dynaroute.model import Policy
    from dynaroute.training.own_instances import InstanceFiles
    from dynaroute.training.plan import TrainingPlan

__all__ = [
    "Source",
    "change_plan",
    "find_tracker",
    "find_validation",
    "make_policy",
    "parse_numbers",
    "read_config",
    "refuse_options",
]

_SHARED_VALIDATION, _RELATIVE_VALIDATION = 500, 50  # instances that a CPU can validate on in reasonable time
_CPU_INSTANCES = 64


@dataclass(frozen=True)
class Source:
    """The options that say what to train on; None: not given.

    Attributes
    ----------
    size, sizes
        Numbers of customers or ranges of them, one stage each.
    recipe
        The recipe for all other settings.
    distribution
        A name, or the path of a file.
    data
        A folder or a set file.
    """

    size: int | None
    sizes: str | None
    recipe: RecipeName | None
    distribution: str | None
    data: Path | None

    def make_plan(self, init: str | None, on_cpu: bool, policy: PolicyName | None = None) -> TrainingPlan:
        """Make the recipe's plan, for its own kind of policy if none is given."""
        from dynaroute.training.recipes import suit_policy

        plan = self._make_plan(self.recipe or "fast", init)
        plan = plan if policy is None else suit_policy(plan, policy)
        if plan.recipe != "fast" or not on_cpu:
            return plan
        # on a CPU, validating on ten thousand instances would take longer than the updates in between
        count = _RELATIVE_VALIDATION if any(stage.lengths_differ for stage in plan.stages) else _SHARED_VALIDATION
        stages = tuple(replace(stage, instances=min(_CPU_INSTANCES, stage.instances)) for stage in plan.stages)
        return replace(plan, stages=stages, validation_count=count)

    def _make_plan(self, recipe: RecipeName, init: str | None) -> TrainingPlan:
        from dynaroute.training.recipes import make_data_plan, make_distribution_plan, make_plan

        if self.data is not None:
            given = {"size": self.size, "sizes": self.sizes, "distribution": self.distribution}
            refuse_options(given, "data", "The files determine the instances: leave it out.")
            return make_data_plan(recipe, _find_files(self.data, None), init)
        ranges = self._find_ranges()
        if self.distribution in (None, "paper") and ranges and all(low == high for low, high in ranges):
            return make_plan(recipe, [low for low, _ in ranges], init=init)
        from dynaroute.training.distribution import find_distribution

        distribution = find_distribution(self.distribution or "paper")
        resized = [distribution.resize(low, high) for low, high in ranges]
        return make_distribution_plan(recipe, resized or [distribution], init)

    def _find_ranges(self) -> list[tuple[int, int]]:
        both, neither = None not in (self.size, self.sizes), (self.size, self.sizes) == (None, None)
        if both or (neither and self.distribution is None):
            remedy = "Give one of --size, --sizes, --distribution, --data and --config."
            raise OptionError("the training instances are not clear.", where=Where(field="size"), remedy=remedy)
        if self.size is not None:
            return [(self.size, self.size)]
        return [] if self.sizes is None else [_parse_range(part) for part in self.sizes.split(",")]


def _parse_range(text: str) -> tuple[int, int]:
    low, dash, high = text.partition("-")
    limits = parse_numbers("sizes", f"{low},{high}" if dash else f"{low},{low}", "20,50,100, or ranges: 20-100,100-300")
    return limits[0], limits[1]


def parse_numbers(option: str, text: str, example: str = "20,50,100") -> tuple[int, ...]:
    """Read whole numbers from a comma-separated list."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise OptionError(
            f"{text!r} is not a list of whole numbers.", where=Where(field=option), remedy=f"Write them as {example}."
        ) from None


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
            raise OptionError(
                "best known costs belong to the instances of --validation.",
                where=Where(field="best"),
                remedy="Add --validation.",
            )
        return None
    return _find_files(validation, best)


def _find_files(path: Path, best: Path | None) -> InstanceFiles:
    """Describe files as they are now, after checking them."""
    from dynaroute.formats.collection import find_best_costs
    from dynaroute.training.own_instances import InstanceFiles

    files = InstanceFiles.at(path, best if best is not None else find_best_costs(path))
    files.read_best(files.read())
    return files


def read_config(path: Path) -> TrainingPlan:
    """Read the plan that --config names, with the libraries that this needs."""
    from dynaroute.training.plan import read_plan

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
        raise OptionError(message, where=Where(field="track"), remedy="Write module:function.") from error
    finally:
        sys.path.pop(0)
    if not callable(found):
        raise OptionError(f"{name!r} is not a function.", where=Where(field="track"), remedy="Write module:function.")
    return found  # type: ignore[no-any-return]


def refuse_options(given: dict[str, Any], beside: str, remedy: str) -> None:
    """Raise if one of the given options (None: not given) cannot be combined with the option `beside`."""
    for name, value in given.items():
        if value is not None:
            message = f"--{name.replace('_', '-')} cannot be combined with --{beside}."
            raise OptionError(message, where=Where(field=name), remedy=remedy)


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
    generator = torch.Generator().manual_seed(plan.seed)
    if model is None:
        configs = {"amd": PolicyConfig(), "am": PolicyConfig.am(), "rl": PointerConfig()}
        config = replace(configs[plan.policy], **settings)
        return KINDS[config.kind].policy(config, generator=generator)
    policy = Policy.from_pretrained(model)
    if policy.kind != plan.kind:
        raise OptionError(
            f"{model} is not of kind {plan.policy}.",
            where=Where(field="init"),
            remedy=f"Give --policy {policy.kind.replace('-', '').lower()}, or another model.",
        )
    if plan.layers not in (None, policy.config.layers):
        from dynaroute.training.deepen import deepen

        assert plan.layers is not None
        policy = deepen(policy, plan.layers, generator)
    return _change_settings(policy, settings, generator)


def _change_settings(policy: Policy, settings: dict[str, Any], generator: torch.Generator) -> Policy:
    """Change a policy's settings; new parameters have no effect at first."""
    wanted = replace(policy.config, **settings)
    if wanted == policy.config:
        return policy
    changed = type(policy)(wanted, generator=generator, card=policy.card)
    changed.load_state_dict({**changed.state_dict(), **policy.state_dict()})
    known = policy.state_dict()
    for name, parameter in changed.named_parameters():
        if name not in known:
            parameter.data.zero_()
    return changed.eval()
