from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from policies import SMALL_AMD, make_policy

from dynaroute.base.vocabulary import BaselineName
from dynaroute.construct import Greedy, construct, log_probabilities
from dynaroute.draw.distribution import Distribution, Part
from dynaroute.model import Policy
from dynaroute.training.ranks import Ranks
from dynaroute.training.step.baselines import make_baseline
from dynaroute.training.step.instances import DistributionTask, InstanceSource, TrainingTask
from dynaroute.training.step.reinforce import Learner, PolicyUpdate, Replay, sample_solutions, train_step

TASK = TrainingTask(6, (20,))
RATE = 1e-3


class PlainDescent:
    """θ <- θ - rate x gradient, so that a step shows the gradient."""

    def __init__(self, policy: Policy) -> None:
        self.descent = torch.optim.SGD(policy.parameters(), lr=RATE)

    def zero_grad(self) -> None:
        self.descent.zero_grad()

    def step(self) -> None:
        self.descent.step()

    def state(self) -> dict[str, object]:
        return {}

    def restore(self, state: dict[str, object]) -> None:
        pass


def make_learner(
    policy: Policy,
    baseline: BaselineName,
    instances: int,
    samples: int,
    norm: float = 1e9,
    entropy: float = 0.0,
    replayed: int | None = None,
    size_weight: float = 0.0,
    task: InstanceSource = TASK,
) -> Learner:
    ranks, descent = Ranks(), PlainDescent(policy)
    return Learner(
        policy=policy,
        update=PolicyUpdate(Replay(policy, policy.dtype), descent, ranks, norm, entropy, size_weight),
        baseline=make_baseline(baseline, policy, task, 16, 1, ranks),
        task=task,
        instances=instances,
        samples=samples,
        replayed=replayed or samples,
        generator=torch.Generator().manual_seed(5),
        ranks=ranks,
    )


def by_hand(
    policy: Policy, baseline: BaselineName, instances: int, samples: int, entropy: float = 0.0
) -> tuple[torch.Tensor, ...]:
    """Eq 27, from lengths and sequential log-probabilities."""
    batch = TASK.draw(instances, torch.Generator().manual_seed(5), first_key=0)
    copies = batch.repeat_each(samples)
    routes = sample_solutions(policy, copies, samples, seed=0)
    lengths = routes.lengths(copies)
    if baseline == "greedy":
        advantages = lengths - construct(policy, batch, Greedy()).lengths(batch).repeat_interleave(samples)
    elif baseline == "rollout":  # in its first epoch: the average of what was seen, which is this batch
        advantages = lengths - lengths.mean()
    else:
        grouped = lengths.view(instances, samples)
        advantages = (grouped - grouped.mean(1, keepdim=True)).flatten()
        advantages = advantages / advantages.std()
    assert advantages.abs().max() > 0
    log_p = log_probabilities(policy, copies, routes)
    likelihood = log_p.detach().view(instances, samples)
    advantages = advantages + entropy * (likelihood - likelihood.mean(1, keepdim=True)).flatten()
    loss = sum(advantages[i].double() * log_p[i] for i in range(len(copies)))
    assert isinstance(loss, torch.Tensor)
    return torch.autograd.grad(loss / len(copies), list(policy.parameters()))


@pytest.mark.parametrize(
    ("baseline", "instances", "samples"), [("greedy", 8, 1), ("rollout", 8, 1), ("shared", 4, 3), ("greedy", 4, 2)]
)
def test_a_step_moves_against_the_gradient_computed_by_hand(
    baseline: BaselineName, instances: int, samples: int
) -> None:
    policy = make_policy(SMALL_AMD).double()
    before = [parameter.detach().clone() for parameter in policy.parameters()]
    expected = by_hand(policy, baseline, instances, samples)
    train_step(make_learner(policy, baseline, instances, samples), step=0)
    for old, new, gradient in zip(before, policy.parameters(), expected, strict=True):
        torch.testing.assert_close(new.detach(), old - RATE * gradient, rtol=0, atol=1e-9)


def test_after_its_first_epoch_a_rollout_baseline_compares_with_the_frozen_policy() -> None:
    policy = make_policy(SMALL_AMD).double()
    learner = make_learner(policy, "rollout", 8, 1)
    learner.baseline.end_epoch(policy)  # kept as it was: the same policy, frozen, which is greedy now
    before = [parameter.detach().clone() for parameter in policy.parameters()]
    expected = by_hand(policy, "greedy", 8, 1)
    train_step(learner, step=0)
    for old, new, gradient in zip(before, policy.parameters(), expected, strict=True):
        torch.testing.assert_close(new.detach(), old - RATE * gradient, rtol=0, atol=1e-9)


def test_entropy_makes_likely_solutions_count_as_longer() -> None:
    policy = make_policy(SMALL_AMD).double()
    before = [parameter.detach().clone() for parameter in policy.parameters()]
    expected = by_hand(policy, "shared", 4, 3, entropy=0.3)
    train_step(make_learner(policy, "shared", 4, 3, entropy=0.3), step=0)
    for old, new, gradient in zip(before, policy.parameters(), expected, strict=True):
        torch.testing.assert_close(new.detach(), old - RATE * gradient, rtol=0, atol=1e-9)


class Sampled(NamedTuple):
    """The samples of the first step: sizes and differences from the mean by instance, log p of each sample."""

    sizes: torch.Tensor
    differences: torch.Tensor
    log_p: torch.Tensor


def sample_first_step(policy: Policy, samples: int, task: InstanceSource = TASK) -> Sampled:
    """Do by hand what the first step does with four instances."""
    batch = task.draw(4, torch.Generator().manual_seed(5), first_key=0)
    copies = batch.repeat_each(samples)
    routes = sample_solutions(policy, copies, samples, seed=0)
    lengths = routes.lengths(copies).view(4, samples)
    return Sampled(batch.sizes, lengths - lengths.mean(1, keepdim=True), log_probabilities(policy, copies, routes))


def test_with_a_size_weight_large_instances_count_more() -> None:
    task = DistributionTask(Distribution((Part(sizes=(5, 12)),)))
    policy = make_policy(SMALL_AMD).double()
    before = [parameter.detach().clone() for parameter in policy.parameters()]
    sizes, differences, log_p = sample_first_step(policy, 3, task)
    likelihood = log_p.detach().view(4, 3)
    excess = likelihood - likelihood.mean(1, keepdim=True)
    bonus = 0.01 * 12 / sizes[:, None]  # of each instance's own size, as without weights
    weighed = (differences / differences.std() + bonus * excess) * (sizes[:, None] / 100) ** 0.5
    assert int(sizes.min()) < int(sizes.max())
    expected = torch.autograd.grad((weighed.flatten() * log_p).mean(), list(policy.parameters()))
    train_step(make_learner(policy, "shared", 4, 3, entropy=0.01, size_weight=0.5, task=task), step=0)
    for old, new, gradient in zip(before, policy.parameters(), expected, strict=True):
        torch.testing.assert_close(new.detach(), old - RATE * gradient, rtol=0, atol=1e-9)


def test_a_policy_learns_from_the_samples_whose_lengths_differ_most() -> None:
    policy = make_policy(SMALL_AMD).double()
    before = [parameter.detach().clone() for parameter in policy.parameters()]
    _, differences, log_p = sample_first_step(policy, 6)
    advantages = (differences / differences.std()).flatten()
    kept = [
        6 * instance + sample
        for instance in range(4)
        for sample in sorted(range(6), key=lambda sample: -abs(float(differences[instance, sample])))[:2]
    ]
    loss = sum((advantages[index] * log_p[index] for index in kept), torch.zeros(()).double()) / 8
    expected = torch.autograd.grad(loss, list(policy.parameters()))
    train_step(make_learner(policy, "shared", 4, 6, replayed=2), step=0)
    for old, new, gradient in zip(before, policy.parameters(), expected, strict=True):
        torch.testing.assert_close(new.detach(), old - RATE * gradient, rtol=0, atol=1e-9)


def test_a_step_in_parts_moves_as_a_whole_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = []
    for budget in (2.0**40, 1.0):  # bytes; the smallest part is one instance
        monkeypatch.setattr("dynaroute.training.replay.layout._find_budget", lambda device, budget=budget: budget)
        policy = make_policy(SMALL_AMD).double()
        train_step(make_learner(policy, "shared", instances=6, samples=4, entropy=0.1), step=0)
        moved.append(policy.state_dict())
    for name, whole in moved[0].items():
        torch.testing.assert_close(moved[1][name], whole, rtol=1e-10, atol=1e-12)


def test_gradients_are_clipped_to_the_largest_norm() -> None:
    policy = make_policy(SMALL_AMD).double()
    before = torch.cat([parameter.detach().flatten() for parameter in policy.parameters()])
    report = train_step(make_learner(policy, "shared", 4, 3, norm=0.01), step=0)
    after = torch.cat([parameter.detach().flatten() for parameter in policy.parameters()])
    assert report.gradient_norm > 0.01
    assert float((after - before).norm()) == pytest.approx(0.01 * RATE, rel=1e-3)


def test_gradients_that_are_not_finite_move_nothing() -> None:
    policy = make_policy(SMALL_AMD)
    learner = make_learner(policy, "shared", 2, 4)
    before = [parameter.detach().clone() for parameter in policy.parameters()]
    first = next(policy.parameters())
    hook = first.register_hook(lambda gradient: gradient * float("inf"))  # type: ignore[no-untyped-call]
    assert not train_step(learner, 0).gradient_norm.isfinite()
    assert all(torch.equal(now, then) for now, then in zip(policy.parameters(), before, strict=True))
    hook.remove()
    assert train_step(learner, 1).gradient_norm.isfinite()
    assert not all(torch.equal(now, then) for now, then in zip(policy.parameters(), before, strict=True))


def test_steps_draw_other_instances_and_samples() -> None:
    learner = make_learner(make_policy(SMALL_AMD), "shared", 4, 3)
    assert train_step(learner, 0).length != train_step(learner, 1).length


def test_instances_follow_the_generator_and_the_papers_distribution() -> None:
    task = TrainingTask(20, (30,))
    batch = task.draw(500, torch.Generator().manual_seed(1), first_key=7)
    again = task.draw(500, torch.Generator().manual_seed(1), first_key=7)
    assert torch.equal(batch.locations, again.locations)
    assert batch.keys[0] == 7
    assert batch.demands[:, 0].max() == 0
    assert set(batch.demands[:, 1:].flatten().tolist()) == set(range(1, 10))
    assert 0 <= batch.locations.min() < batch.locations.max() <= 1
    assert set(batch.capacity.tolist()) == {30}


def test_capacities_are_mixed() -> None:
    batch = TrainingTask(5, (20, 30)).draw(200, torch.Generator().manual_seed(1), first_key=0)
    assert 50 < int((batch.capacity == 20).sum()) < 150
    assert set(batch.capacity.tolist()) == {20, 30}
