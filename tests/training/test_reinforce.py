from __future__ import annotations

import torch
from policies import SMALL_AMD, make_policy

from dynaroute.construct import log_probabilities
from dynaroute.training.instances import TrainingTask
from dynaroute.training.reinforce import sample_solutions, shared_advantages, train_step
from dynaroute.training.update import PolicyUpdate


def test_advantages_compare_an_instance_with_its_own_samples() -> None:
    advantages = shared_advantages(torch.tensor([1.0, 3.0, 10.0, 10.0]), samples=2)
    assert advantages[0] < 0 < advantages[1]
    assert advantages[2:].tolist() == [0.0, 0.0]
    torch.testing.assert_close(advantages[0], -advantages[1])


def test_step_moves_against_the_gradient_of_advantage_times_log_probability() -> None:
    policy = make_policy(SMALL_AMD).double()
    rate = 1e-3
    update = PolicyUpdate(policy, torch.optim.SGD(policy.parameters(), lr=rate), torch.float64, largest_norm=1e9)
    task = TrainingTask(6, 20)
    before = [parameter.detach().clone() for parameter in policy.parameters()]

    batch = task.draw(4, torch.Generator().manual_seed(5), first_key=0).repeat_each(3)
    routes = sample_solutions(policy, batch, 3, seed=0)
    advantages = shared_advantages(routes.lengths(batch), 3).double()
    loss = (advantages * log_probabilities(policy, batch, routes)).mean()
    expected = torch.autograd.grad(loss, list(policy.parameters()))

    train_step(policy, update, task, 4, 3, torch.Generator().manual_seed(5), step=0)
    for old, new, gradient in zip(before, policy.parameters(), expected, strict=True):
        torch.testing.assert_close(new.detach(), old - rate * gradient, rtol=0, atol=1e-9)


def test_instances_follow_the_generator_and_the_papers_distribution() -> None:
    task = TrainingTask(20, 30)
    batch = task.draw(500, torch.Generator().manual_seed(1), first_key=7)
    again = task.draw(500, torch.Generator().manual_seed(1), first_key=7)
    assert torch.equal(batch.locations, again.locations)
    assert batch.keys[0] == 7
    assert batch.demands[:, 0].max() == 0
    assert set(batch.demands[:, 1:].flatten().tolist()) == set(range(1, 10))
    assert 0 <= batch.locations.min() < batch.locations.max() <= 1
