from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from agreement import assert_routes_agree, score_greedily
from policies import list_configurations, name_configuration
from torch import Tensor, nn

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct.choose import Follow, MostLikely, Sample, StartAt, make_stream_keys
from dynaroute.construct.eager import construct_eagerly
from dynaroute.construct.fused import _share_out, construct_fused, is_supported
from dynaroute.kernels import kernels_run_on
from dynaroute.model import Policy, PolicyConfig
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import check

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def make_instance(size: int, *, capacity: int = 40, demands: list[int] | None = None) -> Instance:
    random = np.random.default_rng(size)
    return Instance(
        coordinates=random.random((size + 1, 2)),
        demands=np.array([0, *(demands or random.integers(1, 10, size))]),
        capacity=capacity,
    )


def make_policy(config: PolicyConfig) -> Policy:
    generator = torch.Generator().manual_seed(1)  # one that fills its vehicles: few routes
    policy = Policy(config, generator=generator).eval()
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(1.5)  # choices further from ties than a fresh policy's
        policy.decoder.context_query.weight[:, : config.dimension].mul_(8)  # have the graph's mean matter
        if policy.decoder.distance_weight is not None:
            policy.decoder.distance_weight.uniform_(-1.0, 0.5, generator=generator)
        for module in policy.modules():
            if isinstance(module, nn.BatchNorm1d):
                assert module.running_mean is not None
                assert module.running_var is not None
                module.running_mean.uniform_(-0.5, 0.5, generator=generator)
                module.running_var.uniform_(1.0, 2.0, generator=generator)
                module.bias.uniform_(-0.5, 0.5, generator=generator)
    return policy.to(DEVICE)


def make_batch(*instances: Instance) -> InstanceBatch:
    return InstanceBatch.from_instances(instances).to(DEVICE)


def make_streams(batch: InstanceBatch, seed: int = 7) -> Tensor:
    return make_stream_keys(seed, batch.keys, torch.arange(len(batch), device=batch.device))


def assert_valid(batch: InstanceBatch, instances: tuple[Instance, ...], routes: RouteBatch) -> None:
    for instance, solution in zip(instances, routes.to_solutions(batch), strict=True):
        assert not check(instance, solution)


def assert_same_up_to_ties(policy: Policy, batch: InstanceBatch, chooser: MostLikely | Sample) -> RouteBatch:
    expected = construct_eagerly(policy, batch, chooser)
    routes = construct_fused(policy, batch, chooser, precision=torch.float32)
    score = chooser.scores if isinstance(chooser, Sample) else score_greedily
    assert_routes_agree(policy, batch, expected, routes, score)
    return routes


@pytest.fixture(scope="module")
def policy() -> Policy:
    return make_policy(PolicyConfig(layers=1))


@pytest.fixture(scope="module")
def mixed() -> tuple[Instance, ...]:
    return tuple(make_instance(size) for size in (1, 2, 17, 50))


@pytest.fixture(scope="module")
def small() -> tuple[Instance, ...]:
    return tuple(make_instance(size) for size in (9, 4, 12))


def test_greedy_routes_of_mixed_sizes_are_the_plain_engines(policy: Policy, mixed: tuple[Instance, ...]) -> None:
    batch = make_batch(*mixed)
    assert_valid(batch, mixed, assert_same_up_to_ties(policy, batch, MostLikely()))


def test_several_layers_are_encoded(small: tuple[Instance, ...]) -> None:
    assert_same_up_to_ties(make_policy(PolicyConfig(layers=3)), make_batch(*small), MostLikely())


def test_more_trajectories_than_slots_take_their_turns(policy: Policy) -> None:
    instances = tuple(make_instance(3 + index % 4) for index in range(21))
    batch = make_batch(*instances)
    assert_valid(batch, instances, assert_same_up_to_ties(policy, batch, MostLikely()))


def test_programs_share_the_work_not_the_trajectories() -> None:
    many_routes, one_route = make_instance(40, capacity=9, demands=[9] * 40), make_instance(6, demands=[1] * 6)
    batch = make_batch(*[many_routes] * 4, *[one_route] * 40)
    bounds = _share_out(batch, 4, encodes_anew=True)
    assert bounds.tolist() == [0, 1, 2, 3, 44]
    assert _share_out(batch, 4, encodes_anew=False).tolist()[:2] == [0, 2]
    assert _share_out(make_batch(*[one_route] * 9), 3, encodes_anew=True).tolist() == [0, 3, 6, 9]


def test_a_full_tile_is_used_to_its_last_row(policy: Policy) -> None:
    instances = (make_instance(127), make_instance(1))
    batch = make_batch(*instances)
    assert_valid(batch, instances, assert_same_up_to_ties(policy, batch, MostLikely()))


def test_vehicles_are_filled_exactly(policy: Policy) -> None:
    instances = (
        make_instance(8, capacity=10, demands=[10, 5, 5, 3, 7, 10, 1, 9]),
        make_instance(5, capacity=7, demands=[7] * 5),
        make_instance(6, capacity=30, demands=[5] * 6),
    )
    batch = make_batch(*instances)
    assert_valid(batch, instances, assert_same_up_to_ties(policy, batch, MostLikely()))


def test_customers_without_demand_are_visited(policy: Policy) -> None:
    instances = (make_instance(7, demands=[0] * 7), make_instance(5, capacity=4, demands=[4, 0, 4, 0, 4]))
    batch = make_batch(*instances)
    assert_valid(batch, instances, assert_same_up_to_ties(policy, batch, MostLikely()))


def test_ties_go_to_the_lower_number(policy: Policy) -> None:
    policy = copy.deepcopy(policy)
    nn.init.zeros_(policy.decoder.logit_key.weight)  # exact ties: equal inputs may be rounded differently by their row
    instance = replace(make_instance(6, demands=[1] * 6), coordinates=np.full((7, 2), 0.5))
    routes = construct_fused(policy, make_batch(instance), MostLikely(), precision=torch.float32)
    solution = routes.to_solutions(make_batch(instance))[0]
    assert [stop for route in solution.routes for stop in route] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("temperature", [1.0, 1.7])
def test_sampled_routes_of_a_seed_are_the_plain_engines(
    policy: Policy, small: tuple[Instance, ...], temperature: float
) -> None:
    batch = make_batch(*small, make_instance(25))
    routes = assert_same_up_to_ties(policy, batch, Sample(make_streams(batch), temperature))
    other = construct_fused(policy, batch, Sample(make_streams(batch, seed=8), temperature), precision=torch.float32)
    assert not torch.equal(routes.route, other.route)


def test_samples_that_share_their_states_are_the_plain_engines(policy: Policy) -> None:
    # sure choices, so that samples part late; more samples than slots, and two instances beside each other
    batch = make_batch(make_instance(13), make_instance(22)).repeat_each(11)
    chooser = Sample(make_streams(batch), 0.004)
    routes = assert_same_up_to_ties(policy, batch, chooser)
    different = {tuple(visits) for visits in routes.visits()[11:].tolist()}
    assert 1 < len(different) < 11


def test_starts_that_share_their_first_state_are_the_plain_engines(policy: Policy) -> None:
    batch = make_batch(make_instance(9)).repeat_each(9)
    chooser = StartAt(torch.arange(1, 10, device=batch.device), MostLikely())
    expected = construct_eagerly(policy, batch, chooser)
    routes = construct_fused(policy, batch, chooser, precision=torch.float32)
    assert torch.equal(routes.route, expected.route)
    assert torch.equal(routes.position, expected.position)


@pytest.mark.parametrize("sampled", [False, True])
def test_the_first_customer_is_forced(policy: Policy, small: tuple[Instance, ...], sampled: bool) -> None:
    batch = make_batch(*small)
    starts = torch.tensor([9, 2, 5], device=batch.device)
    chooser = StartAt(starts, Sample(make_streams(batch)) if sampled else MostLikely())
    expected = construct_eagerly(policy, batch, chooser)
    routes = construct_fused(policy, batch, chooser, precision=torch.float32)
    assert routes.visits()[:, 0].tolist() == starts.tolist()
    assert torch.equal(routes.route, expected.route)
    assert torch.equal(routes.position, expected.position)


@pytest.mark.parametrize("config", list_configurations(128, 8, 512), ids=name_configuration)
def test_every_configuration_is_built_as_by_the_plain_engine(config: PolicyConfig) -> None:
    batch = make_batch(make_instance(5, capacity=15), make_instance(2))
    routes = assert_same_up_to_ties(make_policy(config), batch, MostLikely())
    assert int(routes.route.max()) > 0  # a state after the first was encoded, too


def test_the_published_am_is_built_as_by_the_plain_engine(small: tuple[Instance, ...]) -> None:
    assert_same_up_to_ties(make_policy(PolicyConfig.am()), make_batch(*small), MostLikely())


def test_half_precision_gives_solutions_of_like_length(policy: Policy) -> None:
    instances = tuple(make_instance(size) for size in (20, 21, 22))
    batch = make_batch(*instances)
    # not bfloat16, which the interpreter does not know
    routes = construct_fused(policy, batch, MostLikely(), precision=torch.float16)
    assert_valid(batch, instances, routes)
    expected = construct_eagerly(policy, batch, MostLikely()).lengths(batch).sum()
    assert abs(routes.lengths(batch).sum() - expected) < 0.1 * expected


def test_what_the_kernels_cannot_do_is_refused(policy: Policy, small: tuple[Instance, ...]) -> None:
    batch = make_batch(*small)
    follow = Follow(construct_eagerly(policy, batch, MostLikely()))
    assert is_supported(policy, MostLikely())
    assert not is_supported(policy, follow)
    assert not is_supported(policy, StartAt(batch.sizes, follow))
    assert not is_supported(make_policy(PolicyConfig(dimension=64)), MostLikely())
    assert not is_supported(make_policy(PolicyConfig.am()).train(), MostLikely())
    assert not is_supported(make_policy(PolicyConfig(layers=1)).double(), MostLikely())


def test_kernels_run_where_they_are_faster_than_the_plain_engine() -> None:
    assert kernels_run_on(torch.device(DEVICE)) == (DEVICE == "cuda")
