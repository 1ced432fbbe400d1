"""Making a training plan from the options of ``dynaroute train``, and the policy it starts with."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynaroute.base.errors import OptionError, Where
from dynaroute.cli.training.options import find_files

if TYPE_CHECKING:
    import torch

    from dynaroute.model import Policy
    from dynaroute.training.plan.own_instances import InstanceFiles
    from dynaroute.training.plan.plan import TrainingPlan

__all__ = [
    "change_plan",
    "find_tracker",
    "find_validation",
    "make_policy",
    "read_config",
]


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
        from dynaroute.training.run.deepen import deepen

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
