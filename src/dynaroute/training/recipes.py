"""Settings that belong together: the paper's, AM's, and ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from dynaroute.distributions import usual_capacity
from dynaroute.errors import OptionError, Where
from dynaroute.training.plan import Stage, TrainingPlan

__all__ = ["RecipeName", "make_plan"]

RecipeName = Literal["fast", "paper", "am"]


def make_plan(recipe: RecipeName, sizes: Sequence[int], capacities: Sequence[int] = ()) -> TrainingPlan:
    """The plan of a recipe, with the budget that it comes with.

    Parameters
    ----------
    recipe
        fast: what gives the best model per minute on one GPU. paper: Algorithm 1 with the paper's settings; it does
        not state gradient clipping, which is to norm 1. am: Kool et al. (2019).
    sizes
        Customers; several are trained on one after the other, larger ones longer.
    capacities
        Of vehicles, at random; the usual one for each size if empty.
    """
    if recipe not in get_args(RecipeName):
        raise OptionError(
            f"there is no recipe {recipe!r}.",
            where=Where(field="recipe"),
            remedy=f"Use {', '.join(get_args(RecipeName))}.",
        )
    chosen = [tuple(capacities) or (usual_capacity(size),) for size in sizes]
    if recipe == "fast":
        stages = [_make_fast_stage(size, capacity) for size, capacity in zip(sizes, chosen, strict=True)]
        return TrainingPlan(tuple(stages), recipe, minutes=0.4 * sum(sizes))
    if recipe == "am":
        stages = [Stage(size, capacity, 512, 1, 1e-4) for size, capacity in zip(sizes, chosen, strict=True)]
        return TrainingPlan(
            tuple(stages),
            recipe,
            policy="am",
            baseline="rollout",
            epochs=100,
            updates_per_epoch=2500,
            rise=0.0,
            fall=0.0,
            validations=100,
        )
    stages = [_make_paper_stage(size, capacity) for size, capacity in zip(sizes, chosen, strict=True)]
    return TrainingPlan(
        tuple(stages),
        recipe,
        baseline="greedy",
        epochs=30,
        updates_per_epoch=10_000,
        rise=0.0,
        fall=0.0,
        validations=30,
    )


def _make_fast_stage(size: int, capacities: tuple[int, ...]) -> Stage:
    """Instances enough for a low-noise gradient, few enough for many updates a minute; see docs/training-log.md."""
    if size <= 30:
        return Stage(size, capacities, instances=128, samples=16, rate=1e-3, share=size)
    instances = 128 if size <= 70 else 64
    return Stage(size, capacities, instances=instances, samples=8, rate=4e-4, share=size)


def _make_paper_stage(size: int, capacities: tuple[int, ...]) -> Stage:
    if size < 100:
        return Stage(size, capacities, instances=128, samples=1, rate=1e-4)
    return Stage(size, capacities, instances=108, samples=1, rate=5e-5)
