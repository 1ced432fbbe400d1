from __future__ import annotations

import torch
from policies import SMALL_AM, make_policy

from dynaroute.training.step.optimiser import ParameterMean


def test_the_mean_counts_every_tenth_update() -> None:
    policy = make_policy()
    mean = ParameterMean(policy)
    weight = policy.decoder.key.weight
    for step in range(31):
        with torch.no_grad():
            weight.fill_(float(step))
        mean.add(step)
    assert mean.count == 4
    assert torch.allclose(mean.mean["decoder.key.weight"], torch.full_like(weight, 15.0))  # of 0, 10, 20 and 30


def test_a_policy_has_the_mean_for_a_while() -> None:
    policy = make_policy(SMALL_AM)
    mean = ParameterMean(policy)
    mean.add(0)
    weight = policy.decoder.key.weight
    before = weight.detach().clone()
    with torch.no_grad():
        weight += 1.0
    with mean.taken():
        assert torch.equal(policy.decoder.key.weight, before)
    assert torch.equal(weight, before + 1.0)
    assert policy.decoder.key.weight is weight  # the same tensor, which recorded steps know


def test_nothing_is_left_after_clearing() -> None:
    mean = ParameterMean(make_policy())
    mean.add(0)
    mean.clear()
    assert mean.state() == {"count": 0, "mean": {}}
