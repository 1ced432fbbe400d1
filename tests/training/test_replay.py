from __future__ import annotations

import pytest
import torch
from policies import SMALL_AM, SMALL_AMD, draw_batch, make_policy

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct import log_probabilities
from dynaroute.construct.choose import Sample
from dynaroute.construct.eager import construct_eagerly
from dynaroute.construct.noise import make_stream_keys
from dynaroute.model import Policy, PolicyConfig
from dynaroute.training.replay import ReplayLayout, ReplaySize, replay_log_probabilities

# 16 a head, as the kernels' products need, and long enough that every tile of 16, 32 and 64 occurs
KERNEL_AMD = PolicyConfig(dimension=32, heads=2, layers=2, feed_forward=32)


def sample(policy: Policy, batch: InstanceBatch, seed: int = 1) -> RouteBatch:
    streams = make_stream_keys(seed, batch.keys, torch.zeros(len(batch), dtype=torch.int64))
    return construct_eagerly(policy, batch, Sample(streams))


def gradients(policy: Policy, log_p: torch.Tensor) -> tuple[torch.Tensor, ...]:
    weights = torch.linspace(-1, 2, len(log_p), dtype=log_p.dtype)
    return torch.autograd.grad((log_p * weights).sum(), list(policy.parameters()))


@pytest.mark.parametrize("config", [SMALL_AMD, SMALL_AM], ids=["AM-D", "AM"])
def test_replay_equals_the_sequential_log_probabilities_in_float64(config: PolicyConfig) -> None:
    policy = make_policy(config).double()
    batch = draw_batch(1, 2, 17, 30)
    routes = sample(policy, batch)
    expected = log_probabilities(policy, batch, routes)
    torch.testing.assert_close(replay_log_probabilities(policy, batch, routes), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("config", [SMALL_AMD, SMALL_AM], ids=["AM-D", "AM"])
def test_gradients_equal_those_of_the_sequential_path(config: PolicyConfig) -> None:
    policy = make_policy(config).double()
    batch = draw_batch(1, 5, 24)
    routes = sample(policy, batch)
    expected = gradients(policy, log_probabilities(policy, batch, routes))
    found = gradients(policy, replay_log_probabilities(policy, batch, routes))
    for one, other in zip(found, expected, strict=True):
        assert (one - other).norm() <= 1e-9 * other.norm() + 1e-12


def test_kernels_equal_the_sequential_path_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = make_policy(KERNEL_AMD)
    batch = draw_batch(1, 2, 17, 50, capacity=40)
    routes = sample(policy, batch)
    expected = log_probabilities(policy, batch, routes)
    expected_gradients = gradients(policy, expected)
    monkeypatch.setenv("DYNAROUTE_INTERPRET", "1")
    needed = ReplaySize.of(routes)
    roomy = ReplaySize(needed.segments + 3, needed.tokens + 7, needed.longest_route)
    found = replay_log_probabilities(policy, batch, routes, roomy)
    torch.testing.assert_close(found, expected, rtol=0, atol=2e-4)
    for one, other in zip(gradients(policy, found), expected_gradients, strict=True):
        assert (one - other).norm() <= 1e-4 * other.norm()


def test_segments_too_long_for_the_kernels_are_replayed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = make_policy(KERNEL_AMD)
    batch = draw_batch(130, capacity=60)
    routes = sample(policy, batch)
    expected = log_probabilities(policy, batch, routes)
    monkeypatch.setenv("DYNAROUTE_INTERPRET", "1")
    torch.testing.assert_close(replay_log_probabilities(policy, batch, routes), expected, rtol=0, atol=2e-4)


def test_size_counts_segments_tokens_and_the_longest_route() -> None:
    #                 depot, customers 1..5: routes (1, 2, 3) and (4, 5)
    routes = RouteBatch(torch.tensor([[-1, 0, 0, 0, 1, 1]]).int(), torch.tensor([[-1, 0, 1, 2, 0, 1]]).int())
    assert ReplaySize.of(routes) == ReplaySize(segments=2, tokens=6 + 3, longest_route=3)


def test_layout_lists_what_is_left_before_each_route_in_the_order_of_visits() -> None:
    routes = RouteBatch(torch.tensor([[-1, 1, 0, 1, 0]]).int(), torch.tensor([[-1, 1, 0, 0, 1]]).int())
    layout = ReplayLayout.of_routes(routes, torch.tensor([4]), ReplaySize(3, 10, 2))
    assert layout.token_node.tolist() == [0, 2, 4, 3, 1, 0, 3, 1, -1, -1]
    assert layout.lengths.tolist() == [5, 3, 0]
    assert layout.route_lengths.tolist() == [2, 2, 0]
