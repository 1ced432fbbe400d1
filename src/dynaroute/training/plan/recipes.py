"""Recipes: sets of training settings from the paper, from AM, from POMO, and our own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, get_args

from dynaroute.base.errors import OptionError
from dynaroute.base.vocabulary import PolicyName, RecipeName
from dynaroute.draw import usual_capacity
from dynaroute.draw.distribution import Distribution, find_distribution
from dynaroute.draw.ruled import ALL_VARIANTS
from dynaroute.training.plan.own_instances import InstanceFiles
from dynaroute.training.plan.plan import Stage, TrainingPlan
from dynaroute.training.step.update_input import usual_entropy
from dynaroute.weights import GENERALIST

__all__ = [
    "RATES",
    "Rates",
    "RecipeName",
    "make_data_plan",
    "make_distribution_plan",
    "make_plan",
    "make_rules_plan",
    "suit_policy",
]

_SHARES = (0.35, 0.35, 0.2, 0.1)  # of the stages that teach all rules
_RATES = (7e-4, 5e-4, 3e-4, 2e-4)
_RELATIVE_VALIDATION_COUNT = 1000  # savings has to solve them first, for comparison


class Rates(NamedTuple):
    """Peak learning rates of our own recipe, for random parameters and for trained ones.

    Attributes
    ----------
    random
        From random parameters.
    grown
        From those of the stage before, which still have much to learn.
    finished
        From a model: longer steps make it worse, and a short run does not make up for it (docs/training-log.md).
    """

    random: float
    grown: float
    finished: float

    def choose(self, stages: int, init: str | None) -> list[float]:
        """Choose the rate of each stage."""
        if init is not None:
            return [self.finished] * stages
        return [self.random, *[self.grown] * (stages - 1)]


_OF_MUON, _OF_ADAM = Rates(1e-3, 7e-4, 1e-4), Rates(2e-3, 1e-3, 1e-4)
RATES: dict[PolicyName, Rates] = {"amd": _OF_MUON, "am": _OF_MUON, "rl": _OF_ADAM}


def make_plan(
    recipe: RecipeName, sizes: Sequence[int], capacities: Sequence[int] = (), init: str | None = None
) -> TrainingPlan:
    """Make the plan of a recipe, with its default budget.

    Parameters
    ----------
    recipe
        "fast": the best model per minute on one GPU. "paper": Algorithm 1 with the paper's settings, plus gradient
        clipping to norm 1, which the paper does not state. "am": Kool et al. (2019). "pomo": one solution from each
        customer, compared with their mean (Kwon et al. 2020).
    sizes
        Numbers of customers, trained one after the other, larger ones longer.
    capacities
        Capacities, chosen at random; the usual one for each size if empty.
    init
        Model to start from; random parameters if None.
    """
    settled = [_Instances(size, tuple(capacities) or (usual_capacity(size),), size, size**2) for size in sizes]
    return _make_plan_of(recipe, settled, init)


def make_distribution_plan(
    recipe: RecipeName, distributions: Sequence[Distribution], init: str | None = None
) -> TrainingPlan:
    """Make the plan of a recipe for mixtures of instances.

    Parameters
    ----------
    recipe
        As for `make_plan`.
    distributions
        Distributions, trained one after the other.
    init
        Model to start from; random parameters if None.
    """
    settled = [
        _Instances(each.largest, (), each.mean_size, each.mean_square_size, distribution=each) for each in distributions
    ]
    return replace(_make_plan_of(recipe, settled, init), validation_count=_RELATIVE_VALIDATION_COUNT)


def make_rules_plan(init: str | None = None) -> TrainingPlan:
    """Make the plan that teaches the generalist all rules, without forgetting what it knows.

    It begins with the sizes of RouteFinder's sets, where a minute holds the most updates. Then come all sizes to 500,
    with the X set's clusters, depots and demands, so that it does not only know one generator (`dynaroute.draw.ruled`
    draws several kinds of windows). New weights begin at 0 and have much to learn, so the rate is that of a grown
    policy.

    Parameters
    ----------
    init
        Model to start from; the shipped generalist if None.
    """
    kinds = [find_distribution("paper").resize(50, 50), find_distribution("paper").resize(100, 100)]
    kinds += [find_distribution("mixed").resize(20, largest) for largest in (200, 500)]
    plan = make_distribution_plan("fast", kinds, init or GENERALIST)
    stages = tuple(
        replace(stage, share=share, rate=rate, variants=(ALL_VARIANTS,))
        for stage, share, rate in zip(plan.stages, _SHARES, _RATES, strict=True)
    )
    return replace(plan, recipe="rules", stages=stages)


def make_data_plan(recipe: RecipeName, data: InstanceFiles, init: str | None = None) -> TrainingPlan:
    """Make the plan of a recipe for the user's own instances.

    Parameters
    ----------
    recipe
        As for `make_plan`.
    data
        Their files.
    init
        Model to start from; random parameters if None.
    """
    sizes = [instance.size for instance in data.read().instances]
    mean, square = sum(sizes) / len(sizes), sum(size**2 for size in sizes) / len(sizes)
    return _make_plan_of(recipe, [_Instances(max(sizes), (), mean, square, data=data)], init)


def suit_policy(plan: TrainingPlan, policy: PolicyName) -> TrainingPlan:
    """Return the plan for a kind of policy, with the settings that it needs in our own recipe.

    A pointer network learns by many short steps of Adam; Muon and an entropy bonus keep it where it is
    (docs/training-log.md).

    Parameters
    ----------
    plan
        The plan of a recipe.
    policy
        The kind of policy.
    """
    if plan.recipe != "fast" or policy != "rl":
        return replace(plan, policy=policy)
    stages = tuple(
        replace(stage, instances=min(256, max(1, stage.instances // 2)), rate=rate, entropy=0.0)
        for stage, rate in zip(plan.stages, RATES[policy].choose(len(plan.stages), plan.init), strict=True)
    )
    return replace(plan, policy=policy, optimiser="adam", stages=stages)


class _Instances(NamedTuple):
    """The training instances of a stage: arguments of `Stage`, and what its settings depend on."""

    size: int
    capacities: tuple[int, ...]
    mean_size: float
    mean_square_size: float
    distribution: Distribution | None = None
    data: InstanceFiles | None = None

    def make_stage(self, instances: int, samples: int, rate: float, share: float = 1.0, entropy: float = 0.0) -> Stage:
        """Make a stage with these instances."""
        return Stage(self.size, self.capacities, instances, samples, rate, share, entropy, self.distribution, self.data)


def _make_plan_of(recipe: RecipeName, settled: Sequence[_Instances], init: str | None) -> TrainingPlan:
    if recipe not in get_args(RecipeName):
        raise OptionError.about("recipe", f"there is no recipe {recipe!r}.", f"Use {', '.join(get_args(RecipeName))}.")
    if recipe == "fast":
        stages = map(_make_fast_stage, settled, RATES["amd"].choose(len(settled), init))
        minutes = 0.4 * sum(each.size for each in settled)
        return TrainingPlan(tuple(stages), recipe, optimiser="muon", minutes=minutes, fall=0.9, init=init, averaged=0.2)
    if recipe == "rules":
        raise OptionError.about("recipe", "the recipe rules has sizes of its own.", "Leave out --size and the like.")
    if recipe == "am":
        return TrainingPlan(
            tuple(each.make_stage(instances=512, samples=1, rate=1e-4) for each in settled),
            recipe,
            policy="am",
            baseline="rollout",
            epochs=100,
            updates_per_epoch=2500,
            rise=0.0,
            fall=0.0,
            validations=100,
            init=init,
        )
    if recipe == "pomo":
        return TrainingPlan(
            tuple(each.make_stage(instances=64, samples=each.size, rate=1e-4) for each in settled),
            recipe,
            epochs=2000,
            updates_per_epoch=1563,  # 100,000 instances
            rise=0.0,
            fall=0.0,
            validations=100,
            init=init,
            forced_starts=True,
        )
    return TrainingPlan(
        tuple(_make_paper_stage(each) for each in settled),
        recipe,
        baseline="greedy",
        epochs=30,
        updates_per_epoch=10_000,
        rise=0.0,
        fall=0.0,
        validations=30,
        init=init,
    )


def _make_fast_stage(settled: _Instances, rate: float) -> Stage:
    """Choose enough instances for a low-noise gradient, but few enough for many updates per minute and 20 GB."""
    size, typical = settled.mean_size, math.sqrt(settled.mean_square_size)
    instances = 1024 if typical <= 30 else 512 if typical <= 70 else 256
    if settled.size > 127:  # about three million tokens per step
        instances = min(256, max(2, int(7_500_000 / typical**2)))
    return settled.make_stage(instances, samples=8, rate=rate, share=size, entropy=usual_entropy(settled.size))


def _make_paper_stage(settled: _Instances) -> Stage:
    if settled.size < 100:
        return settled.make_stage(instances=128, samples=1, rate=1e-4)
    return settled.make_stage(instances=108, samples=1, rate=5e-5)
