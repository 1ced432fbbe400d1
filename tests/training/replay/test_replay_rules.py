from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from policies import SMALL_AMD, draw_batch, make_policy
from rule_problems import ALL_RULES, WITH_DEPOTS, draw_ruled, list_subsets

from dynaroute.base.errors import SolutionError, UnsupportedError
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct import Augmented, Greedy, construct, log_probabilities
from dynaroute.construct.choose import Sample, make_stream_keys
from dynaroute.construct.eager import construct_eagerly
from dynaroute.model import Policy, PolicyConfig
from dynaroute.problem.solution import check
from dynaroute.training.replay import replay_log_probabilities
from dynaroute.training.replay.layout import ReplaySize, RouteStarts

RULED = replace(SMALL_AMD, rules=ALL_RULES, distance_bias=True, edge_scores=True)
SUBSETS = [rules for rules in list_subsets() if rules]
EVERYTHING = frozenset({"windows", "distance", "duration", "pickups", "depots"})


def draw(rules: frozenset[str], count: int = 3) -> InstanceBatch:
    random = np.random.default_rng([*SUBSETS, *WITH_DEPOTS, EVERYTHING].index(rules))
    kinds = ("plane", "square", "table")
    instances = [draw_ruled(random, rules, 9 + index, kinds[index % 3]) for index in range(count)]
    return InstanceBatch.from_instances(instances, ALL_RULES)


def sample(policy: Policy, batch: InstanceBatch, temperature: float = 1.0) -> RouteBatch:
    number = torch.arange(len(batch)) % 2
    return construct_eagerly(policy, batch, Sample(make_stream_keys(1, batch.keys, number), temperature))


@pytest.mark.parametrize("rules", [*SUBSETS, *WITH_DEPOTS], ids=lambda rules: " ".join(sorted(rules)))
def test_replay_equals_the_sequential_log_probabilities_for_every_subset_of_rules(rules: frozenset[str]) -> None:
    policy, batch = make_policy(RULED).double(), draw(rules).repeat_each(2)
    routes = sample(policy, batch)
    expected = log_probabilities(policy, batch, routes)
    found = replay_log_probabilities(policy, batch, routes, samples=2)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)


def test_gradients_of_all_parameters_equal_those_of_the_sequential_path() -> None:
    policy = make_policy(RULED).double()
    batch = draw(EVERYTHING)
    routes = sample(policy, batch)
    expected, found = (
        torch.autograd.grad(log_p.sum(), list(policy.parameters()))
        for log_p in (log_probabilities(policy, batch, routes), replay_log_probabilities(policy, batch, routes))
    )
    for (name, _), one, other in zip(policy.named_parameters(), expected, found, strict=True):
        torch.testing.assert_close(other, one, rtol=0, atol=1e-9, msg=name)
        assert one.any(), name


@pytest.mark.parametrize("rules", [*SUBSETS, *WITH_DEPOTS], ids=lambda rules: " ".join(sorted(rules)))
def test_all_routes_in_all_orientations_pass_check(rules: frozenset[str]) -> None:
    random = np.random.default_rng(7)
    instances = [draw_ruled(random, rules, 10, kind) for kind in ("plane", "square", "table")]
    batch = InstanceBatch.from_instances(instances, ALL_RULES)
    routes = construct(make_policy(RULED), batch, Augmented(Greedy()))
    for instance, solution in zip(instances, routes.to_solutions(batch), strict=True):
        assert check(instance, solution) == []


def test_routes_start_at_all_depots_and_are_the_same_after_reading_them_again() -> None:
    batch = draw(EVERYTHING)
    routes = sample(make_policy(RULED), batch)
    assert routes.depot is not None
    assert set(routes.depot.flatten().tolist()) == {0, *range(10, 14)}
    again = RouteBatch.from_solutions(routes.to_solutions(batch), batch)
    for one, other in zip(again.list_tensors(), routes.list_tensors(), strict=True):
        assert torch.equal(one, other)
    without_types = [replace(each, vehicles=None) for each in routes.to_solutions(batch)]
    with pytest.raises(SolutionError, match="solution 1 does not say where its routes start"):
        RouteBatch.from_solutions(without_types, batch)


def test_a_plain_problem_is_the_same_alone_and_among_others() -> None:
    policy = make_policy(RULED).double()
    random = np.random.default_rng(1)
    plain, other = (draw_ruled(random, frozenset(rules), 9) for rules in ((), ("windows", "pickups", "distance")))
    alone, both = (InstanceBatch.from_instances(each, ALL_RULES) for each in ([plain], [plain, other]))
    routes = sample(policy, both)
    expected = log_probabilities(policy, alone, routes[:1])
    torch.testing.assert_close(log_probabilities(policy, both, routes)[:1], expected, rtol=0, atol=1e-12)


def test_a_policy_without_rules_refuses_them_by_name() -> None:
    batch = draw(frozenset({"open"}))
    policy = make_policy(SMALL_AMD)
    with pytest.raises(UnsupportedError, match="the instances have open routes, which this policy does not know"):
        construct(policy, batch, Greedy())
    with pytest.raises(UnsupportedError, match="the instances have open routes"):
        replay_log_probabilities(policy, batch, RouteBatch.alone(batch))


def test_a_policy_with_rules_solves_plain_problems() -> None:
    policy, batch = make_policy(RULED).double(), draw_batch(6, 9)
    routes = sample(policy, batch)
    expected = log_probabilities(policy, batch, routes)
    torch.testing.assert_close(replay_log_probabilities(policy, batch, routes), expected, rtol=0, atol=1e-10)


KERNEL_RULED = PolicyConfig(dimension=32, heads=2, layers=1, feed_forward=32, rules=ALL_RULES)


@pytest.mark.parametrize(
    ("rules", "size", "is_general"),
    [
        ({"windows", "duration", "pickups"}, 9, False),
        ({"open", "distance", "backhauls", "windows"}, 18, True),
        ({"depots", "windows", "distance", "pickups"}, 12, True),
        ({"open", "pickups"}, 130, True),  # more nodes than a tile holds
    ],
    ids=lambda value: " ".join(sorted(value)) if isinstance(value, set) else str(value),
)
def test_kernels_replay_rules_as_plain_operations_do(
    rules: set[str], size: int, is_general: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = make_policy(replace(KERNEL_RULED, distance_bias=is_general, edge_scores=is_general))
    instance = draw_ruled(np.random.default_rng(size), frozenset(rules), size, "square")
    batch = InstanceBatch.from_instances([instance], ALL_RULES).repeat_each(2 if size < 100 else 1)
    batch = replace(batch, capacity=batch.capacity * (1 if size < 100 else 12))  # few routes
    routes, samples = sample(policy, batch, 0.3), len(batch)
    monkeypatch.setenv("DYNAROUTE_INTERPRET", "1")
    needed = ReplaySize.of(RouteStarts.of_routes(routes, batch.sizes, samples, batch.rules))
    room = replace(needed, routes=needed.routes + 2, route_tokens=needed.route_tokens + 3, pairs=needed.pairs + 5)
    found = replay_log_probabilities(policy, batch, routes, samples, room, precision=torch.float32)
    monkeypatch.delenv("DYNAROUTE_INTERPRET")
    expected = replay_log_probabilities(policy, batch, routes, samples, precision=torch.float32)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=2e-4)
    parameters = dict(policy.named_parameters())
    weights = torch.linspace(-1, 2, len(batch))
    of_kernels, plain = (
        torch.autograd.grad((log_p * weights).sum(), list(parameters.values())) for log_p in (found, expected)
    )
    for name, one, other in zip(parameters, of_kernels, plain, strict=True):
        assert float((one - other).norm()) <= 1e-3 * float(other.norm()), name
