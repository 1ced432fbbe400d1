"""Beam search, simulation-guided beam search, and building on from partial solutions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from policies import SMALL_AM, SMALL_AMD, draw_batch, draw_instances, make_policy
from rule_problems import ALL_RULES, draw_ruled, list_subsets

from dynaroute.base.errors import SolutionError
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct import SGBS, Beam, Greedy, Strategy, construct, log_probabilities, resume
from dynaroute.construct.choose import Departures
from dynaroute.construct.eager import Stretch
from dynaroute.model import PolicyConfig
from dynaroute.problem.solution import Solution, check

with_both_kinds = pytest.mark.parametrize("config", [SMALL_AMD, SMALL_AM], ids=["AM-D", "AM"])


@with_both_kinds
def test_a_beam_of_one_is_greedy(config: PolicyConfig) -> None:
    policy, batch = make_policy(config), draw_batch(5, 12, 9)
    assert torch.equal(construct(policy, batch, Beam(1)).route, construct(policy, batch, Greedy()).route)


@with_both_kinds
def test_a_beam_wide_enough_for_everything_finds_the_best(config: PolicyConfig) -> None:
    (instance,) = draw_instances(4, capacity=12)
    batch = InstanceBatch.from_instances([instance])
    found = construct(make_policy(config), batch, Beam(2000))
    widest = construct(make_policy(config, seed=8), batch, Beam(2000))  # every solution, in whatever order
    assert found.lengths(batch).item() == pytest.approx(widest.lengths(batch).item())


def test_the_beam_follows_log_p_over_several_routes() -> None:
    policy = make_policy().double()
    (instance,) = draw_instances(3, capacity=9)
    batch = InstanceBatch.from_instances([instance])
    beam = construct(policy, batch, Beam(1))
    step_by_step = log_probabilities(policy, batch, beam)
    assert step_by_step.item() <= 0
    assert check(instance, beam.to_solutions(batch)[0]) == []


@with_both_kinds
def test_simulations_are_never_worse_than_greedy(config: PolicyConfig) -> None:
    policy, batch = make_policy(config), draw_batch(5, 14, 20, 11)
    greedy = construct(policy, batch, Greedy()).lengths(batch)
    found = construct(policy, batch, SGBS(2, 3), torch.Generator().manual_seed(1)).lengths(batch)
    assert bool((found <= greedy + 1e-9).all())
    assert bool((found < greedy - 1e-9).any())


@pytest.mark.parametrize("strategy", [Beam(3), SGBS(2, 2)], ids=str)
def test_solutions_keep_all_rules(strategy: Strategy) -> None:
    random = np.random.default_rng(4)
    policy = make_policy(PolicyConfig(dimension=16, heads=2, layers=1, feed_forward=32, rules=ALL_RULES))
    instances = [draw_ruled(random, rules, 7, "square") for rules in list_subsets()]
    batch = InstanceBatch.from_instances(instances, ALL_RULES)
    for instance, solution in zip(instances, construct(policy, batch, strategy).to_solutions(batch), strict=True):
        assert check(instance, solution) == []


@with_both_kinds
def test_the_greedy_solution_is_resumed_from_any_of_its_routes(config: PolicyConfig) -> None:
    policy, batch = make_policy(config), draw_batch(9, 16, capacity=12)
    whole = construct(policy, batch, Greedy())
    for fixed in range(int(whole.route.max()) + 2):
        is_known = whole.route < fixed
        known = RouteBatch(*(torch.where(is_known, part, -1) for part in (whole.route, whole.position)))
        resumed = resume(policy, batch, known, torch.tensor([True, True]))
        assert torch.equal(resumed.route, whole.route)
        assert torch.equal(resumed.position, whole.position)


@with_both_kinds
def test_a_vehicle_on_its_way_goes_on(config: PolicyConfig) -> None:
    policy, batch = make_policy(config), draw_batch(9, capacity=40)
    whole = construct(policy, batch, Greedy())
    is_known = (whole.route == 0) & (whole.position < 2)
    known = RouteBatch(*(torch.where(is_known, part, -1) for part in (whole.route, whole.position)))
    resumed = resume(policy, batch, known, torch.tensor([False]))
    assert torch.equal(resumed.route, whole.route)
    assert torch.equal(resumed.position, whole.position)


def test_a_known_route_that_overloads_its_vehicle_is_refused() -> None:
    batch = draw_batch(9, capacity=12)
    known = RouteBatch.from_solutions([Solution((tuple(range(1, 10)),))], batch)
    with pytest.raises(SolutionError) as caught:
        resume(make_policy(), batch, known, torch.tensor([False]))
    assert caught.value.remedy


def test_several_continuations_of_one_state_are_those_of_the_state() -> None:
    random = np.random.default_rng(3)
    policy = make_policy(PolicyConfig(dimension=16, heads=2, layers=1, feed_forward=32, rules=ALL_RULES))
    instances = [draw_ruled(random, frozenset({"windows", "pickups"}), size, "square") for size in (6, 4)]
    batch = InstanceBatch.from_instances(instances, ALL_RULES)
    drive = Stretch(policy, policy.begin, batch, policy.fold(), torch.arange(2), Departures.of(batch))
    rows = torch.tensor([1, 0, 0])
    copies = drive.take(rows)
    for _ in range(3):
        logits = drive.look()[1]
        torch.testing.assert_close(copies.look()[1], logits[rows])
        chosen = logits.argmax(1)
        copies.move(chosen[rows], torch.ones(3, dtype=torch.bool))
        drive.move(chosen, torch.ones(2, dtype=torch.bool))
