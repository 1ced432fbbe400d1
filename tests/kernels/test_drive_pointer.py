from __future__ import annotations

import pytest
import torch
from policies import draw_batch

from dynaroute.batch import InstanceBatch
from dynaroute.construct.choose import Chooser, MostLikely, Sample, StartAt, make_stream_keys
from dynaroute.construct.eager import construct_eagerly
from dynaroute.construct.fused import construct_fused, is_supported
from dynaroute.model import PointerConfig, PointerNetwork


def make_pointer(dimension: int = 16) -> PointerNetwork:
    policy = PointerNetwork(PointerConfig(dimension=dimension), generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(3.0)  # so that choices are clear
    return policy


def sample(batch: InstanceBatch, temperature: float = 1.0) -> Sample:
    return Sample(make_stream_keys(1, batch.keys, torch.arange(len(batch)) % 2), temperature)


def choose(name: str, batch: InstanceBatch) -> Chooser:
    if name == "greedy":
        return MostLikely()
    if name == "forced":
        return StartAt(1 + torch.arange(len(batch)) % batch.sizes, sample(batch))
    return sample(batch, 0.7)


@pytest.mark.parametrize("name", ["greedy", "sampled", "forced"])
def test_one_launch_builds_the_routes_of_the_plain_engine(name: str) -> None:
    policy, batch = make_pointer(), draw_batch(3, 6, 1).repeat_each(2)
    chooser = choose(name, batch)
    assert is_supported(policy, chooser)
    expected, found = construct_eagerly(policy, batch, chooser), construct_fused(policy, batch, chooser)
    assert torch.equal(found.route, expected.route)
    assert torch.equal(found.position, expected.position)


def test_a_program_without_all_its_vehicles_disturbs_no_other() -> None:
    policy, batch = make_pointer(), draw_batch(2).repeat_each(17)
    expected, found = construct_eagerly(policy, batch, sample(batch)), construct_fused(policy, batch, sample(batch))
    assert torch.equal(found.route, expected.route)


def test_a_policy_that_is_not_finite_ends_all_the_same() -> None:
    policy, batch = make_pointer(), draw_batch(2)
    with torch.no_grad():
        policy.pointer_score.weight.fill_(torch.nan)
    assert bool((construct_fused(policy, batch, MostLikely()).route < 0).all())


def test_a_route_for_each_customer_is_not_too_many() -> None:
    policy, batch = make_pointer(), draw_batch(5, capacity=9)
    batch.demands[:, 1:] = 9
    assert construct_fused(policy, batch, MostLikely()).route[0, 1:].sort().values.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("dimension", [8, 48, 256])
def test_other_widths_are_built_plainly(dimension: int) -> None:
    assert not is_supported(make_pointer(dimension), MostLikely())
