"""Kernels build the same routes as plain operations where there are rules beyond capacity."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from agreement import assert_routes_agree, score_greedily
from policies import make_policy
from rule_problems import ALL_RULES, draw_ruled

from dynaroute.batch import InstanceBatch
from dynaroute.construct import fused
from dynaroute.construct.choose import MostLikely, Sample, StartAt, make_stream_keys
from dynaroute.construct.eager import construct_eagerly
from dynaroute.construct.fused import PackedWeights, construct_fused
from dynaroute.construct.fused_stream import _StreamedEncoder
from dynaroute.model import Policy, PolicyConfig
from dynaroute.problem.solution import check


@pytest.fixture(scope="module")
def policy() -> Policy:
    return make_policy(PolicyConfig(layers=1, rules=ALL_RULES, distance_bias=True, edge_scores=True), gain=1.2)


@pytest.mark.parametrize(
    "rules",
    [
        {"windows", "duration", "pickups"},
        {"open", "distance", "backhauls", "windows"},
        {"depots", "distance", "windows", "pickups"},
    ],
    ids=lambda rules: " ".join(sorted(rules)),
)
def test_sampled_routes_are_the_same_as_those_of_plain_operations(policy: Policy, rules: set[str]) -> None:
    random = np.random.default_rng(len(rules))
    instances = [draw_ruled(random, frozenset(rules), size, "square") for size in (6, 8)]
    batch = InstanceBatch.from_instances(instances, ALL_RULES).repeat_each(2)
    chooser = Sample(make_stream_keys(1, batch.keys, torch.arange(4) % 2))
    expected = construct_eagerly(policy, batch, chooser)
    routes = construct_fused(policy, batch, chooser, precision=torch.float32)
    assert_routes_agree(policy, batch, expected, routes, chooser.scores)
    for number, solution in enumerate(routes.to_solutions(batch)):
        assert check(instances[number // 2], solution) == []


def test_one_depot_and_several_are_built_together(policy: Policy) -> None:
    random = np.random.default_rng(6)
    instances = [
        draw_ruled(random, frozenset(rules), size, "square")
        for rules, size in ((["depots"], 6), (["windows"], 5), (["depots", "open"], 7))
    ]
    batch = InstanceBatch.from_instances(instances, ALL_RULES)
    chooser = StartAt(torch.tensor([1, 2, 3]), MostLikely())
    expected = construct_eagerly(policy, batch, chooser)
    routes = construct_fused(policy, batch, chooser, precision=torch.float32)
    assert_routes_agree(policy, batch, expected, routes, score_greedily)
    assert routes.position[[0, 1, 2], [1, 2, 3]].tolist() == [0, 0, 0]
    assert expected.depot is not None
    assert routes.depot is not None
    assert torch.equal(routes.depot, expected.depot)


def test_plain_instances_among_others_and_alone_have_the_same_routes(policy: Policy) -> None:
    random = np.random.default_rng(1)
    plain, other = (draw_ruled(random, frozenset(rules), 7, "square") for rules in ((), ("windows", "pickups")))
    alone, both = (InstanceBatch.from_instances(each, ALL_RULES) for each in ([plain], [plain, other]))
    found, expected = (construct_fused(policy, batch, MostLikely(), precision=torch.float32) for batch in (both, alone))
    assert torch.equal(found.route[:1], expected.route)
    plainly = construct_eagerly(policy, alone, MostLikely())
    assert_routes_agree(policy, alone, plainly, expected, score_greedily)


@pytest.mark.parametrize("is_sampled", [False, True])
def test_instances_too_large_for_a_tile_are_built_too(
    policy: Policy, is_sampled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fused, "_LARGEST_TILE", 6)  # so that few steps are enough
    random = np.random.default_rng(2)
    instances = [
        draw_ruled(random, frozenset(rules), size, "square")
        for rules, size in ((["windows", "duration", "pickups"], 5), (["open", "distance", "backhauls", "windows"], 7))
    ]
    batch = InstanceBatch.from_instances(instances, ALL_RULES)
    sample = Sample(make_stream_keys(1, batch.keys, torch.arange(2)))
    chooser = sample if is_sampled else StartAt(torch.tensor([3, 6]), MostLikely())
    expected = construct_eagerly(policy, batch, chooser)
    routes = construct_fused(policy, batch, chooser, precision=torch.float32)
    assert_routes_agree(policy, batch, expected, routes, sample.scores if is_sampled else score_greedily)
    for instance, solution in zip(instances, routes.to_solutions(batch), strict=True):
        assert check(instance, solution) == []


def test_kernels_for_plain_instances_leave_out_what_rules_need(policy: Policy) -> None:
    plain = make_policy(replace(policy.config, rules=()))
    known = policy.state_dict()
    plain.load_state_dict({name: known[name][..., : tensor.shape[-1]] for name, tensor in plain.state_dict().items()})
    streamed, expected = (_StreamedEncoder(each, torch.float32) for each in (policy, plain))
    for one, other in zip(streamed.tables, expected.tables, strict=True):
        assert torch.equal(one, other)
    for whole, other in zip(
        PackedWeights.pack(policy, torch.float32), PackedWeights.pack(plain, torch.float32), strict=True
    ):
        assert torch.equal(whole, other)
