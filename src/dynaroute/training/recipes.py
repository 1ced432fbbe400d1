"""Settings that belong together: the paper's, AM's, and ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from dynaroute.distributions import usual_capacity
from dynaroute.errors import OptionError, Where
from dynaroute.training.names import RecipeName
from dynaroute.training.plan import Stage, TrainingPlan

__all__ = ["RecipeName", "make_plan"]


def make_plan(
    recipe: RecipeName, sizes: Sequence[int], capacities: Sequence[int] = (), init: str | None = None
) -> TrainingPlan:
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
    init
        Model to start from; random parameters if None.
    """
    if recipe not in get_args(RecipeName):
        raise OptionError(
            f"there is no recipe {recipe!r}.",
            where=Where(field="recipe"),
            remedy=f"Use {', '.join(get_args(RecipeName))}.",
        )
    chosen = [tuple(capacities) or (usual_capacity(size),) for size in sizes]
    pairs = list(zip(sizes, chosen, strict=True))
    if recipe == "fast":
        # what is random needs long steps, what is trained would forget by them
        is_random = [init is None and index == 0 for index in range(len(pairs))]
        stages = [_make_fast_stage(*pair, 1e-3 if new else 7e-4) for pair, new in zip(pairs, is_random, strict=True)]
        return TrainingPlan(tuple(stages), recipe, optimiser="muon", minutes=0.4 * sum(sizes), fall=0.9, init=init)
    if recipe == "am":
        return TrainingPlan(
            tuple(Stage(*pair, instances=512, samples=1, rate=1e-4) for pair in pairs),
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
    return TrainingPlan(
        tuple(_make_paper_stage(*pair) for pair in pairs),
        recipe,
        baseline="greedy",
        epochs=30,
        updates_per_epoch=10_000,
        rise=0.0,
        fall=0.0,
        validations=30,
        init=init,
    )


def _make_fast_stage(size: int, capacities: tuple[int, ...], rate: float) -> Stage:
    """Instances enough for a low-noise gradient, few enough for many updates a minute and for 20 GB.

    A unit of entropy is worth less where a policy has more of it: docs/training-log.md, "What entropy is worth".
    """
    # beyond 127 customers replay is not by kernels, and attention's scores are kept
    instances = 1024 if size <= 30 else 512 if size <= 70 else 256 if size <= 127 else max(2, 1_280_000 // size**2)
    return Stage(size, capacities, instances, samples=8, rate=rate, share=size, entropy=min(0.1, 3 / size))


def _make_paper_stage(size: int, capacities: tuple[int, ...]) -> Stage:
    if size < 100:
        return Stage(size, capacities, instances=128, samples=1, rate=1e-4)
    return Stage(size, capacities, instances=108, samples=1, rate=5e-5)
