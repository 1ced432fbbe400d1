from __future__ import annotations

import pytest
import torch
from policies import SMALL_AM, SMALL_AMD, draw_batch, make_policy

from dynaroute.base.vocabulary import BaselineName
from dynaroute.construct import Greedy, construct
from dynaroute.training.ranks import Ranks
from dynaroute.training.step.baselines import (
    GreedyBaseline,
    RolloutBaseline,
    SharedBaseline,
    SharedByKindBaseline,
    doubt_improvement,
    evaluating,
    make_baseline,
    subtract_relatively,
)
from dynaroute.training.step.instances import RuledTask, TrainingTask

TASK = TrainingTask(6, (20,))


def test_shared_compares_an_instance_with_its_own_samples() -> None:
    lengths = torch.tensor([1.0, 3.0, 10.0, 10.0])
    advantages = SharedBaseline(Ranks()).advantages(draw_batch(5, 5), lengths)
    assert advantages[0] < 0 < advantages[1]
    assert advantages[2:].tolist() == [0.0, 0.0]
    torch.testing.assert_close(advantages[0], -advantages[1])
    torch.testing.assert_close(advantages.std(), torch.tensor(1.0))


def test_shared_gives_no_advantage_where_all_are_alike() -> None:
    assert SharedBaseline(Ranks()).advantages(draw_batch(5), torch.full((4,), 2.0)).tolist() == [0.0] * 4


def test_greedy_compares_with_the_greedy_solution_of_the_policy_as_it_is() -> None:
    policy, batch = make_policy(SMALL_AMD), draw_batch(6, 6)
    greedy = construct(policy, batch, Greedy()).lengths(batch)
    advantages = GreedyBaseline(policy).advantages(batch, torch.tensor([9.0, 8.0]))
    torch.testing.assert_close(advantages, torch.tensor([9.0, 8.0]) - greedy)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(-0.5)
    changed = construct(policy, batch, Greedy()).lengths(batch)
    assert not torch.equal(changed, greedy)
    torch.testing.assert_close(
        GreedyBaseline(policy).advantages(batch, torch.tensor([9.0, 8.0])), torch.tensor([9.0, 8.0]) - changed
    )


def make_rollout(seed: int = 3) -> RolloutBaseline:
    return RolloutBaseline(make_policy(SMALL_AMD, seed), TASK, count=64, seed=5, ranks=Ranks())


def test_rollout_compares_with_a_moving_average_in_the_first_epoch() -> None:
    baseline, batch = make_rollout(), draw_batch(6, 6)
    assert baseline.advantages(batch, torch.tensor([4.0, 6.0])).tolist() == [-1.0, 1.0]
    second = baseline.advantages(batch, torch.tensor([9.0, 11.0]))  # the average is 0.8 x 5 + 0.2 x 10
    assert second.tolist() == pytest.approx([3.0, 5.0])


def test_rollout_then_compares_with_a_frozen_policy() -> None:
    policy, batch = make_policy(SMALL_AMD), draw_batch(6, 6)
    baseline = RolloutBaseline(policy, TASK, count=64, seed=5, ranks=Ranks())
    greedy = construct(policy, batch, Greedy()).lengths(batch)
    baseline.end_epoch(policy)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(-0.5)
    torch.testing.assert_close(baseline.advantages(batch, torch.tensor([9.0, 8.0])), torch.tensor([9.0, 8.0]) - greedy)


def test_rollout_is_replaced_by_a_better_policy_only() -> None:
    seeds = sorted(range(1, 6), key=lambda seed: -_mean_length(seed))
    worse, better = seeds[0], seeds[-1]
    assert _mean_length(better) < 0.95 * _mean_length(worse)
    baseline = make_rollout(worse)
    assert "replaced" in baseline.end_epoch(make_policy(SMALL_AMD, better))
    assert "kept" in baseline.end_epoch(make_policy(SMALL_AMD, worse))
    assert baseline.replacements == 1


def _mean_length(seed: int) -> float:
    batch = TASK.draw(64, torch.Generator().manual_seed(9), first_key=0)
    return float(construct(make_policy(SMALL_AMD, seed), batch, Greedy()).lengths(batch).mean())


def test_rollout_goes_on_from_its_state() -> None:
    baseline, batch = make_rollout(3), draw_batch(6, 6)
    baseline.advantages(batch, torch.tensor([4.0, 6.0]))
    baseline.end_epoch(make_policy(SMALL_AMD, 4))
    other = make_rollout(5)
    other.restore(baseline.state())
    lengths = torch.tensor([9.0, 8.0])
    assert torch.equal(other.advantages(batch, lengths), baseline.advantages(batch, lengths))


def test_doubt_is_small_where_all_are_better_and_large_where_none_is() -> None:
    noise = torch.randn(1000, generator=torch.Generator().manual_seed(1)).double()
    assert doubt_improvement(noise - 0.5) < 1e-6
    assert doubt_improvement(noise + 0.5) > 1 - 1e-6
    assert doubt_improvement(noise - noise.mean()) == pytest.approx(0.5)
    assert doubt_improvement(torch.full((5,), -1.0)) == 0.0
    assert doubt_improvement(torch.zeros(5)) == 1.0


def test_each_name_has_its_baseline() -> None:
    policy = make_policy(SMALL_AMD)
    kinds = [type(make_baseline(name, policy, TASK, 8, 1, Ranks())) for name in ("shared", "greedy", "rollout")]
    assert kinds == [SharedBaseline, GreedyBaseline, RolloutBaseline]


def test_evaluating_leaves_the_mode_as_it_was() -> None:
    policy = make_policy(SMALL_AM).train()
    with evaluating(policy):
        assert not policy.training
    assert policy.training


def test_relative_advantages_do_not_grow_with_the_lengths() -> None:
    lengths = torch.tensor([1.0, 3.0, 100.0, 300.0])
    advantages = SharedBaseline(Ranks(), subtract_relatively).advantages(draw_batch(5, 8), lengths)
    torch.testing.assert_close(advantages[:2], advantages[2:])
    torch.testing.assert_close(advantages.square().sum() / 3, torch.tensor(1.0))
    policy, batch = make_policy(SMALL_AMD), draw_batch(6, 6)
    greedy = construct(policy, batch, Greedy()).lengths(batch)
    relative = GreedyBaseline(policy, subtract_relatively).advantages(batch, 1.5 * greedy)
    torch.testing.assert_close(relative, torch.full_like(relative, 0.5))


@pytest.mark.parametrize("name", ["shared", "greedy", "rollout"])
def test_every_baseline_compares_as_it_is_told(name: BaselineName) -> None:
    baseline = make_baseline(name, make_policy(SMALL_AMD), TASK, 8, 1, Ranks(), subtract_relatively)
    lengths = torch.tensor([4.0, 6.0, 5.0, 5.0])
    plain = make_baseline(name, make_policy(SMALL_AMD), TASK, 8, 1, Ranks()).advantages(draw_batch(6, 8), lengths)
    assert not torch.allclose(baseline.advantages(draw_batch(6, 8), lengths), plain) or name == "shared"


def test_kinds_of_instances_are_compared_in_units_of_their_own_spread() -> None:
    task = RuledTask(TASK, ("cvrp", "ovrp"))
    batch = task.draw(8, torch.Generator().manual_seed(1), 0)
    assert batch.rules is not None
    is_open = batch.rules.is_open[:, None]
    lengths = torch.where(is_open, 100.0, 1.0) * torch.tensor([0.9, 1.1, 1.0, 1.0])  # (8, 4)
    baseline = make_baseline("shared", make_policy(), task, 10, 0, Ranks())
    advantages = baseline.advantages(batch, lengths.flatten()).view(8, 4)
    assert is_open.any() and not is_open.all()
    torch.testing.assert_close(advantages, advantages[:1].expand(8, -1))
    assert isinstance(baseline, SharedByKindBaseline) and baseline.squares is not None
    torch.testing.assert_close(baseline.squares[[0, 1]], torch.tensor([0.02, 200]).double() / 3, rtol=1e-4, atol=0)


def test_spreads_are_remembered_and_restored() -> None:
    task = RuledTask(TASK, ("ovrp",))
    batch = task.draw(1, torch.Generator().manual_seed(1), 0)
    baseline = SharedByKindBaseline(Ranks())
    baseline.advantages(batch, torch.tensor([1.0, 3.0]))
    restored = SharedByKindBaseline(Ranks())
    restored.restore(baseline.state())
    expected = 1 / (0.95 * 2 + 0.05 * 32) ** 0.5
    for each in (baseline, restored):
        assert each.advantages(batch, torch.tensor([0.0, 8.0])).tolist() == pytest.approx([-4 * expected, 4 * expected])
