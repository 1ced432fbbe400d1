"""The card of a model that a run trains."""

from __future__ import annotations

from dataclasses import replace

from dynaroute.model import ModelCard
from dynaroute.training.plan.plan import TrainingPlan
from dynaroute.training.run.state import RunState

__all__ = ["describe_model"]


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
