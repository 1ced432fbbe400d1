from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from policies import SMALL_AMD, draw_batch, make_policy

from dynaroute.base.errors import OptionError
from dynaroute.cli.training.options import find_validation
from dynaroute.cli.training.options import make_policy as make_first_policy
from dynaroute.construct import Greedy, construct, log_probabilities
from dynaroute.model import Policy, PolicyConfig
from dynaroute.training.plan.plan import Stage, TrainingPlan

PLAN = TrainingPlan((Stage(4, (20,), 4, 2, 1e-3),), updates=1)


def test_best_known_costs_without_instances_are_refused() -> None:
    with pytest.raises(OptionError, match="--validation"):
        find_validation(None, Path("best.csv"))


def test_layers_are_those_of_the_plan() -> None:
    assert make_first_policy(PLAN, None).config == PolicyConfig()
    deeper = TrainingPlan(PLAN.stages, updates=1, layers=6)
    assert make_first_policy(deeper, None).config == PolicyConfig(layers=6)


def test_a_model_to_start_from_keeps_its_settings_and_parameters(tmp_path: Path) -> None:
    policy = make_policy(SMALL_AMD)
    policy.save_pretrained(tmp_path)
    first = make_first_policy(PLAN, str(tmp_path))
    assert first.config == SMALL_AMD
    assert all(torch.equal(value, policy.state_dict()[name]) for name, value in first.state_dict().items())


def test_a_model_to_start_from_is_given_more_layers_but_not_fewer(tmp_path: Path) -> None:
    make_policy(replace(SMALL_AMD, layers=2)).save_pretrained(tmp_path)
    assert make_first_policy(TrainingPlan(PLAN.stages, updates=1, layers=3), str(tmp_path)).config.layers == 3
    with pytest.raises(OptionError, match="2 layers"):
        make_first_policy(TrainingPlan(PLAN.stages, updates=1, layers=1), str(tmp_path))


def test_distances_change_nothing_in_a_trained_model_at_first(tmp_path: Path) -> None:
    make_policy(SMALL_AMD).save_pretrained(tmp_path)
    plan = TrainingPlan(PLAN.stages, updates=1, distance_bias=True)
    weight = make_first_policy(plan, str(tmp_path)).decoder.distance_weight
    assert weight is not None
    assert not weight.any()


def test_edge_scores_change_nothing_in_a_trained_model_at_first(tmp_path: Path) -> None:
    before = make_policy(SMALL_AMD)
    before.save_pretrained(tmp_path)
    edge = make_first_policy(TrainingPlan(PLAN.stages, updates=1, edge_scores=True), str(tmp_path)).decoder.edge
    assert edge is not None
    assert not edge.weight.any()


@pytest.mark.parametrize("is_general", [False, True], ids=["paper's", "general"])
def test_rules_change_nothing_in_a_trained_model_on_plain_problems_at_first(tmp_path: Path, is_general: bool) -> None:
    config = replace(SMALL_AMD, distance_bias=is_general, edge_scores=is_general)
    make_policy(config).save_pretrained(tmp_path)
    plan = TrainingPlan((replace(PLAN.stages[0], variants=("all",)),), updates=1)
    before, after = Policy.from_pretrained(tmp_path), make_first_policy(plan, str(tmp_path))
    assert after.config.rules == plan.rules and len(plan.rules) == 8
    batch = draw_batch(5, 9, 14)
    routes = construct(before, batch, Greedy())
    assert torch.equal(construct(after, batch, Greedy()).route, routes.route)
    expected, found = (log_probabilities(each.double(), batch, routes) for each in (before, after))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


def test_a_model_keeps_the_rules_that_it_knows(tmp_path: Path) -> None:
    make_policy(replace(SMALL_AMD, rules=("open",))).save_pretrained(tmp_path)
    plan = TrainingPlan((replace(PLAN.stages[0], variants=("vrptw",)),), updates=1)
    assert make_first_policy(plan, str(tmp_path)).config.rules == ("open", "windows")
    assert make_first_policy(PLAN, str(tmp_path)).config.rules == ("open",)
