from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from policies import SMALL_AM, SMALL_AMD, draw_batch, list_configurations, make_policy, name_configuration

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct import log_probabilities
from dynaroute.construct.choose import Sample, make_stream_keys
from dynaroute.construct.eager import construct_eagerly
from dynaroute.model import PointerConfig, PointerNetwork, Policy, PolicyConfig
from dynaroute.training.replay.layout import ReplaySize, RouteStarts, WholeSize
from dynaroute.training.replay.replay import replay_log_probabilities
from dynaroute.training.step.instances import TrainingTask

# 16 a head, as the kernels' products need, and long enough that every tile of 16, 32 and 64 occurs
KERNEL_AMD = PolicyConfig(dimension=32, heads=2, layers=2, feed_forward=32)
GENERAL_AMD = replace(KERNEL_AMD, distance_bias=True, edge_scores=True)


def sample(policy: Policy, batch: InstanceBatch, seed: int = 1) -> RouteBatch:
    streams = make_stream_keys(seed, batch.keys, torch.zeros(len(batch), dtype=torch.int64))
    return construct_eagerly(policy, batch, Sample(streams))


def gradients(policy: Policy, log_p: torch.Tensor) -> tuple[torch.Tensor, ...]:
    weights = torch.linspace(-1, 2, len(log_p), dtype=log_p.dtype)
    return torch.autograd.grad((log_p * weights).sum(), list(policy.parameters()))


def sample_some_alike(policy: Policy, batch: InstanceBatch, samples: int) -> tuple[InstanceBatch, RouteBatch]:
    """Some samples of each instance at a low temperature, so that states and routes repeat themselves."""
    copies = batch.repeat_each(samples)
    number = torch.arange(len(copies)) % samples
    routes = construct_eagerly(policy, copies, Sample(make_stream_keys(1, copies.keys, number), temperature=0.3))
    needed = ReplaySize.of(RouteStarts.of_routes(routes, copies.sizes, samples))
    assert needed.states < needed.routes < needed.occurrences
    return copies, routes


def with_room(routes: RouteBatch, batch: InstanceBatch, samples: int) -> ReplaySize:
    """More than they need, and different by how much for each array."""
    size = ReplaySize.of(RouteStarts.of_routes(routes, batch.sizes, samples))
    return ReplaySize(
        size.occurrences + 2,
        size.routes + 3,
        size.route_tokens + 7,
        size.states + 4,
        size.state_tokens + 5,
        size.longest_route,
    )


GENERAL_AM = replace(SMALL_AM, distance_bias=True, edge_scores=True)


@pytest.mark.parametrize(
    "config", [SMALL_AMD, SMALL_AM, GENERAL_AMD, GENERAL_AM], ids=["AM-D", "AM", "general AM-D", "general AM"]
)
@pytest.mark.parametrize("precision", [None, torch.float64])
def test_replay_equals_the_sequential_log_probabilities_in_float64(
    config: PolicyConfig, precision: torch.dtype | None
) -> None:
    policy = make_policy(config).double()
    batch = draw_batch(1, 2, 17, 30)
    routes = sample(policy, batch)
    expected = log_probabilities(policy, batch, routes)
    found = replay_log_probabilities(policy, batch, routes, precision=precision)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "config", [SMALL_AMD, SMALL_AM, GENERAL_AMD, GENERAL_AM], ids=["AM-D", "AM", "general AM-D", "general AM"]
)
@pytest.mark.parametrize("precision", [None, torch.float64])
def test_gradients_equal_those_of_the_sequential_path(config: PolicyConfig, precision: torch.dtype | None) -> None:
    policy = make_policy(config).double()
    batch = draw_batch(1, 5, 24)
    routes = sample(policy, batch)
    expected = gradients(policy, log_probabilities(policy, batch, routes))
    found = gradients(policy, replay_log_probabilities(policy, batch, routes, precision=precision))
    for one, other in zip(found, expected, strict=True):
        assert (one - other).norm() <= 1e-9 * other.norm() + 1e-12


def test_gradients_in_float32_do_not_depend_on_how_the_kink_of_relu_is_rounded() -> None:
    # with these seeds the two paths in float32 alone differ by 2e-3
    policy = Policy(generator=torch.Generator().manual_seed(1))
    copies = TrainingTask(50, (36,)).draw(8, torch.Generator().manual_seed(50), 0).repeat_each(8)
    routes = construct_eagerly(policy, copies, Sample(make_stream_keys(5, copies.keys, torch.arange(64) % 8)))
    expected = gradients(policy, log_probabilities(policy, copies, routes))
    found = gradients(policy, replay_log_probabilities(policy, copies, routes, 8))
    for one, other in zip(found, expected, strict=True):
        assert (one - other).norm() <= 2e-5 * other.norm()


@pytest.mark.parametrize("config", [KERNEL_AMD, GENERAL_AMD], ids=["paper", "general"])
def test_kernels_equal_the_sequential_path_in_float32(config: PolicyConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = make_policy(config)
    batch = draw_batch(1, 2, 17, 50, capacity=40)
    routes = sample(policy, batch)
    expected = log_probabilities(policy, batch, routes)
    expected_gradients = gradients(policy, expected)
    monkeypatch.setenv("DYNAROUTE_INTERPRET", "1")
    found = replay_log_probabilities(
        policy, batch, routes, size=with_room(routes, batch, samples=1), precision=torch.float32
    )
    torch.testing.assert_close(found, expected, rtol=0, atol=2e-4)
    for one, other in zip(gradients(policy, found), expected_gradients, strict=True):
        assert (one - other).norm() <= 1e-4 * other.norm()


@pytest.mark.parametrize(
    "config",
    [KERNEL_AMD, GENERAL_AMD, replace(GENERAL_AMD, shrinking_mean=False)],
    ids=["paper", "general", "constant mean"],
)
def test_long_segments_are_replayed_by_kernels_that_stream_them(
    config: PolicyConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = make_policy(config)
    batch = draw_batch(150, 20, 1, capacity=120)  # routes of more steps than the smallest tile holds
    routes = sample(policy, batch)
    assert int(routes.position.max()) >= 16
    expected = log_probabilities(policy, batch, routes)
    expected_gradients = gradients(policy, expected)
    monkeypatch.setenv("DYNAROUTE_INTERPRET", "1")
    found = replay_log_probabilities(
        policy, batch, routes, size=with_room(routes, batch, samples=1), precision=torch.float32
    )
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-3)
    for one, other in zip(gradients(policy, found), expected_gradients, strict=True):
        assert (one - other).norm() <= 1e-3 * other.norm()


def test_routes_too_long_for_the_kernels_are_replayed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = make_policy(KERNEL_AMD)
    batch = draw_batch(130, capacity=60)
    routes = sample(policy, batch)
    expected = log_probabilities(policy, batch, routes)
    monkeypatch.setenv("DYNAROUTE_INTERPRET", "1")
    monkeypatch.setattr("dynaroute.training.replay.replay.LONGEST_ROUTE", 3)
    found = replay_log_probabilities(policy, batch, routes, precision=torch.float32)
    torch.testing.assert_close(found, expected, rtol=0, atol=2e-4)


@pytest.mark.parametrize("config", [SMALL_AMD, SMALL_AM], ids=["AM-D", "AM"])
def test_what_samples_have_in_common_changes_neither_probabilities_nor_gradients(config: PolicyConfig) -> None:
    policy = make_policy(config).double()
    copies, routes = sample_some_alike(policy, draw_batch(2, 9, 6), samples=5)
    apart = replay_log_probabilities(policy, copies, routes, precision=torch.float64)
    together = replay_log_probabilities(policy, copies, routes, samples=5, precision=torch.float64)
    torch.testing.assert_close(together, apart, rtol=0, atol=1e-11)
    for one, other in zip(gradients(policy, together), gradients(policy, apart), strict=True):
        assert (one - other).norm() <= 1e-11 * other.norm() + 1e-12


def test_kernels_share_what_samples_have_in_common(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = make_policy(KERNEL_AMD)
    copies, routes = sample_some_alike(policy, draw_batch(3, 7, 18, capacity=40), samples=4)
    expected = log_probabilities(policy, copies, routes)
    expected_gradients = gradients(policy, expected)
    monkeypatch.setenv("DYNAROUTE_INTERPRET", "1")
    found = replay_log_probabilities(policy, copies, routes, 4, with_room(routes, copies, samples=4), torch.float32)
    torch.testing.assert_close(found, expected, rtol=0, atol=2e-4)
    for one, other in zip(gradients(policy, found), expected_gradients, strict=True):
        assert (one - other).norm() <= 1e-4 * other.norm()


@pytest.mark.parametrize("config", list_configurations(16, 2, 32), ids=name_configuration)
def test_replay_equals_the_sequential_path_in_every_configuration(config: PolicyConfig) -> None:
    policy = make_policy(config, gain=1.0)  # far from where float32 itself is off by as much
    copies, routes = sample_some_alike(policy, draw_batch(2, 9, 6), samples=5)
    expected = log_probabilities(policy, copies, routes)
    found = replay_log_probabilities(policy, copies, routes, 5, precision=torch.float32)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)
    policy = policy.double()
    exact = replay_log_probabilities(policy, copies, routes, 5, precision=torch.float64)
    expected_gradients = gradients(policy, log_probabilities(policy, copies, routes))
    for one, other in zip(gradients(policy, exact), expected_gradients, strict=True):
        assert (one - other).norm() <= 1e-9 * other.norm() + 1e-12


@pytest.mark.parametrize("config", list_configurations(32, 2, 32)[:16], ids=name_configuration)
def test_kernels_equal_the_sequential_path_in_every_configuration_of_amd(
    config: PolicyConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = make_policy(config)
    batch = draw_batch(2, 5)
    routes = sample(policy, batch)
    expected = log_probabilities(policy, batch, routes)
    expected_gradients = gradients(policy, expected)
    monkeypatch.setenv("DYNAROUTE_INTERPRET", "1")
    found = replay_log_probabilities(policy, batch, routes, precision=torch.float32)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)
    for one, other in zip(gradients(policy, found), expected_gradients, strict=True):
        assert (one - other).norm() <= 1e-4 * other.norm() + 1e-6


@pytest.mark.parametrize("columns", [8, 24])
def test_heads_that_the_kernels_cannot_hold_are_replayed_all_the_same(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = make_policy(PolicyConfig(dimension=2 * columns, heads=2, layers=1, feed_forward=32))
    batch = draw_batch(4, 9)
    routes = sample(policy, batch)
    expected = log_probabilities(policy, batch, routes)
    monkeypatch.setenv("DYNAROUTE_INTERPRET", "1")
    found = replay_log_probabilities(policy, batch, routes, precision=torch.float32)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)


def test_visited_nodes_leave_the_mean_only_if_it_shrinks() -> None:
    config, batch = replace(SMALL_AMD, shrinking_mean=False), draw_batch(9)
    policy, shrinking = make_policy(config), make_policy(SMALL_AMD)
    routes = sample(policy, batch)
    found = replay_log_probabilities(policy, batch, routes)
    assert (found - replay_log_probabilities(shrinking, batch, routes)).abs() > 1e-2


@pytest.mark.parametrize("kind", ["AM", "RL"])
def test_room_for_more_steps_changes_neither_probabilities_nor_gradients(kind: str) -> None:
    policy = make_policy(SMALL_AM) if kind == "AM" else PointerNetwork(PointerConfig(dimension=8))
    batch = draw_batch(9, 9).repeat_each(3)
    routes = sample(policy.double().train(), batch)
    exact = replay_log_probabilities(policy, batch, routes, 3)
    roomy = replay_log_probabilities(policy, batch, routes, 3, WholeSize(24), has_one_size=True)
    torch.testing.assert_close(roomy, exact)
    for one, other in zip(gradients(policy, roomy), gradients(policy, exact), strict=True):
        torch.testing.assert_close(one, other)
