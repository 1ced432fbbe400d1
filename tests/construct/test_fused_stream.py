from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from agreement import assert_routes_agree, score_greedily
from test_fused import assert_same_up_to_ties, assert_valid, make_batch, make_instance, make_policy, make_streams

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct import fused_stream
from dynaroute.construct.choose import Chooser, MostLikely, Sample, StartAt
from dynaroute.construct.eager import construct_eagerly
from dynaroute.construct.fused import construct_fused, is_supported
from dynaroute.construct.fused_choice import read_choice
from dynaroute.model import Policy, PolicyConfig
from dynaroute.problem.instance import Instance


@pytest.fixture(scope="module")
def policy() -> Policy:
    policy = make_policy(PolicyConfig(layers=1))
    with torch.no_grad():
        policy.decoder.context_query.weight[:, : policy.config.dimension].mul_(8)  # have the graph's mean matter
    return policy


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have instances of 40 customers streamed in three blocks, as large ones are."""
    launch = replace(fused_stream._WIDE, block=16, warps=4)
    monkeypatch.setattr(fused_stream, "_WIDE", launch)
    monkeypatch.setattr(fused_stream, "_NARROW", launch)


def stream(
    policy: Policy, batch: InstanceBatch, chooser: Chooser, precision: torch.dtype = torch.float32
) -> RouteBatch:
    choice = read_choice(chooser)
    assert choice is not None
    return fused_stream.construct_streamed(policy, batch, choice, precision)


def assert_streams_like_the_plain_engine(
    policy: Policy, instances: tuple[Instance, ...], chooser: MostLikely | Sample | None = None
) -> None:
    batch, chooser = make_batch(*instances), chooser or MostLikely()
    routes = stream(policy, batch, chooser)
    score = chooser.scores if isinstance(chooser, Sample) else score_greedily
    assert_routes_agree(policy, batch, construct_eagerly(policy, batch, chooser), routes, score)
    assert_valid(batch, instances, routes)


def test_greedy_routes_of_small_and_large_instances_are_the_plain_engines(policy: Policy) -> None:
    instances = (make_instance(5), make_instance(140, capacity=250))
    batch = make_batch(*instances)
    assert is_supported(policy, MostLikely())
    assert_valid(batch, instances, assert_same_up_to_ties(policy, batch, MostLikely()))


def test_sampled_routes_of_a_large_instance_are_the_plain_engines(policy: Policy) -> None:
    instances = (make_instance(130, capacity=400),)
    batch = make_batch(*instances)
    assert_valid(batch, instances, assert_same_up_to_ties(policy, batch, Sample(make_streams(batch), 1.3)))


def test_a_large_instance_starts_where_it_is_told(policy: Policy) -> None:
    instances = (make_instance(140, capacity=400),)
    batch = make_batch(*instances)
    chooser = StartAt(torch.tensor([131], device=batch.device), MostLikely())
    routes = construct_fused(policy, batch, chooser, precision=torch.float32)
    assert routes.visits()[:, 0].tolist() == [131]
    assert_routes_agree(policy, batch, construct_eagerly(policy, batch, chooser), routes)
    assert_valid(batch, instances, routes)


def test_small_instances_of_a_batch_padded_for_a_large_one_are_built(policy: Policy) -> None:
    batch = make_batch(make_instance(7), make_instance(300))[torch.tensor([0])]
    assert_valid(batch, (make_instance(7),), assert_same_up_to_ties(policy, batch, MostLikely()))


@pytest.mark.usefixtures("small_blocks")
class TestBlocks:
    def test_instances_finish_one_after_the_other(self, policy: Policy) -> None:
        assert_streams_like_the_plain_engine(policy, tuple(make_instance(size) for size in (1, 33, 2, 15)))

    def test_several_layers_are_encoded(self) -> None:
        assert_streams_like_the_plain_engine(make_policy(PolicyConfig(layers=3)), (make_instance(6, capacity=100),))

    def test_vehicles_are_filled_exactly(self, policy: Policy) -> None:
        instances = (
            make_instance(8, capacity=10, demands=[10, 5, 5, 3, 7, 10, 1, 9]),
            make_instance(4, capacity=7, demands=[7] * 4),
            make_instance(18, capacity=30, demands=[5] * 18),
            make_instance(3, capacity=2**31 - 1, demands=[2**31 - 1, 1, 2**31 - 2]),
        )
        assert_streams_like_the_plain_engine(policy, instances)

    def test_customers_without_demand_are_visited(self, policy: Policy) -> None:
        instances = (make_instance(20, demands=[0] * 20), make_instance(5, capacity=4, demands=[4, 0, 4, 0, 4]))
        assert_streams_like_the_plain_engine(policy, instances)

    def test_ties_go_to_the_lower_number(self, policy: Policy) -> None:
        policy = copy.deepcopy(policy)
        torch.nn.init.zeros_(policy.decoder.logit_key.weight)  # exact ties
        instance = replace(make_instance(36, demands=[1] * 36), coordinates=np.full((37, 2), 0.5))
        batch = make_batch(instance)
        solution = stream(policy, batch, MostLikely()).to_solutions(batch)[0]
        assert [stop for route in solution.routes for stop in route] == list(range(1, 37))

    def test_sampled_routes_are_the_plain_engines(self, policy: Policy) -> None:
        instances = tuple(make_instance(size) for size in (9, 20))
        assert_streams_like_the_plain_engine(policy, instances, Sample(make_streams(make_batch(*instances))))

    def test_samples_start_where_they_are_told(self, policy: Policy) -> None:
        batch = make_batch(make_instance(17), make_instance(4))
        chooser = StartAt(torch.tensor([17, 3], device=batch.device), Sample(make_streams(batch)))
        routes, expected = stream(policy, batch, chooser), construct_eagerly(policy, batch, chooser)
        assert torch.equal(routes.route, expected.route)
        assert torch.equal(routes.position, expected.position)

    @pytest.mark.parametrize(
        "config",
        [
            PolicyConfig.am(),
            PolicyConfig(layers=1, scaled=True, shrinking_mean=False),
            PolicyConfig(layers=1, dynamic=False, logit_query=False),
            PolicyConfig(layers=1, distance_bias=True, edge_scores=True),
        ],
        ids=["published AM", "scaled, constant mean", "static", "general"],
    )
    def test_other_policies_are_built_too(self, config: PolicyConfig) -> None:
        assert_streams_like_the_plain_engine(make_policy(config), (make_instance(17), make_instance(4)))

    def test_half_precision_gives_solutions_of_like_length(self, policy: Policy) -> None:
        instances = (make_instance(20), make_instance(6))
        batch = make_batch(*instances)
        # not bfloat16, which the interpreter does not know
        routes = stream(policy, batch, MostLikely(), torch.float16)
        assert_valid(batch, instances, routes)
        expected = construct_eagerly(policy, batch, MostLikely()).lengths(batch).sum()
        assert abs(routes.lengths(batch).sum() - expected) < 0.1 * expected
