"""AM learns from routes that kernels build by the statistics of the batch."""

from __future__ import annotations

import copy

import pytest
import torch
from policies import SMALL_AM, draw_batch, make_policy

from dynaroute.construct import log_probabilities
from dynaroute.construct.choose import MostLikely, Sample, make_stream_keys
from dynaroute.construct.eager import construct_eagerly
from dynaroute.construct.fused import is_supported
from dynaroute.model import PolicyConfig
from dynaroute.training.step.reinforce import sample_solutions
from dynaroute.training.step.statistics import StillPolicy


def test_routes_and_probabilities_are_those_of_the_policy_in_training() -> None:
    policy, batch = make_policy(SMALL_AM).double().train(), draw_batch(5, 9, 9, 12)
    still = StillPolicy(policy).take(batch)
    chooser = Sample(make_stream_keys(3, batch.keys, torch.zeros(len(batch), dtype=torch.int64)))
    learning = copy.deepcopy(policy)  # whose own statistics move
    routes = construct_eagerly(learning, batch, chooser)
    assert torch.equal(construct_eagerly(still, batch, chooser).route, routes.route)
    torch.testing.assert_close(log_probabilities(still, batch, routes), log_probabilities(learning, batch, routes))


def test_the_policy_stays_as_it_is_and_shares_its_parameters() -> None:
    policy, batch = make_policy(SMALL_AM).train(), draw_batch(5, 9)
    before = {name: tensor.clone() for name, tensor in policy.state_dict().items()}
    still = StillPolicy(policy).take(batch)
    assert all(mine is theirs for mine, theirs in zip(still.parameters(), policy.parameters(), strict=True))
    assert all(torch.equal(tensor, before[name]) for name, tensor in policy.state_dict().items())
    assert policy.training and not still.training


def test_kernels_know_such_a_policy() -> None:
    policy = make_policy(PolicyConfig.am()).train()
    assert not is_supported(policy, MostLikely())
    assert is_supported(StillPolicy(policy).take(draw_batch(5)), MostLikely())


def test_samples_are_built_by_it_where_kernels_run(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, copies = make_policy(SMALL_AM).train(), draw_batch(5, 9).repeat_each(2)
    plain = sample_solutions(copy.deepcopy(policy), copies, 2, seed=1)
    monkeypatch.setattr("dynaroute.training.step.reinforce.kernels_run_on", lambda device: True)
    before = policy.encoder.layers[0].after_attention.running_mean.clone()  # type: ignore[union-attr, operator]
    held = sample_solutions(policy, copies, 2, seed=1)
    assert torch.equal(held.route, plain.route)
    assert torch.equal(policy.encoder.layers[0].after_attention.running_mean, before)  # type: ignore[union-attr, arg-type]


def test_every_batch_has_its_own_statistics_and_the_parameters_of_its_time() -> None:
    policy = make_policy(SMALL_AM).double().train()
    still = StillPolicy(policy)
    still.take(draw_batch(3, 8))
    with torch.no_grad():
        policy.encoder.embed_customer.weight.mul_(2.0)
    batch = draw_batch(5, 9, 9)
    routes = construct_eagerly(copy.deepcopy(policy), batch, MostLikely())
    assert torch.equal(construct_eagerly(still.take(batch), batch, MostLikely()).route, routes.route)
