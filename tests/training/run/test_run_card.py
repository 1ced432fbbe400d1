from __future__ import annotations

from dynaroute.draw.distribution import BUILT_IN
from dynaroute.model import ModelCard
from dynaroute.training.plan.plan import Stage, TrainingPlan
from dynaroute.training.run.state import RunState, describe_model

SMALL = Stage(size=20, capacities=(30,), instances=8, samples=4, rate=1e-3)
MIXED = Stage(size=500, capacities=(), instances=2, samples=4, rate=1e-3, distribution=BUILT_IN["x"])
PLAN = TrainingPlan((SMALL, MIXED), minutes=3)


def test_a_card_tells_of_the_stages_so_far() -> None:
    card = describe_model(ModelCard(), PLAN, RunState(stage=0))
    assert (card.size, card.smallest_size, card.capacity, card.distribution) == (20, None, 30, "")
    assert card.recipe == "fast recipe (shared baseline, adam), n=20: 8 x 4, rate 0.001, entropy 0"


def test_a_later_stage_replaces_what_the_model_was_trained_on_and_follows_in_the_recipe() -> None:
    card = describe_model(ModelCard(), PLAN, RunState(stage=1), ", the mean")
    assert (card.size, card.smallest_size, card.capacity) == (500, BUILT_IN["x"].smallest, None)
    assert card.distribution == BUILT_IN["x"].describe()
    assert "n=20: 8 x 4" in card.recipe
    assert card.recipe.endswith("2 x 4, rate 0.001, entropy 0, the mean")


def test_what_was_spent_on_the_model_before_counts_too() -> None:
    before = ModelCard(recipe="by hand", trajectories=100, minutes=1.5, greedy_lengths={"20": 6.3})
    card = describe_model(before, PLAN, RunState(trajectories=20, seconds=90.0))
    assert (card.trajectories, card.minutes, card.greedy_lengths) == (120, 3.0, {})
    assert card.recipe.startswith("by hand; then fast recipe")


def test_nothing_spent_is_left_out() -> None:
    card = describe_model(ModelCard(), PLAN, RunState())
    assert (card.trajectories, card.minutes) == (None, None)
