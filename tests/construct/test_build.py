"""construct(): whatever the strategy and the batch, the solutions are right, and the same."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from agreement import assert_routes_agree
from hypothesis import given, settings
from hypothesis import strategies as st
from policies import SMALL_AM, SMALL_AMD, draw_batch, draw_instances, make_policy
from strategies import instances

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct import SGBS, Augmented, Beam, Greedy, MultiStart, Sampling, Strategy, construct
from dynaroute.model import Policy, PolicyConfig
from dynaroute.problem.instance import LARGEST_INTEGER, Instance
from dynaroute.problem.solution import check

PLAIN: list[Strategy] = [Greedy(), Sampling(3), Sampling(2, 0.1), Sampling(2, 20.0), MultiStart(3), Beam(3), SGBS(2, 2)]
STRATEGIES: list[Strategy] = [*PLAIN, *map(Augmented, PLAIN)]

fewer_examples = settings(max_examples=settings().max_examples // 2)  # of a test for each kind of policy
few_examples = settings(max_examples=settings().max_examples // 4)  # and for each strategy
with_both_kinds = pytest.mark.parametrize("config", [SMALL_AMD, SMALL_AM], ids=["AM-D", "AM"])
with_all_strategies = pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)

LOCATED = instances(
    sizes=st.one_of(st.integers(1, 4), st.integers(1, 30)),
    placements=st.sampled_from(("plane", "globe", "matrix and plane", "matrix and globe")),
    named=st.just(False),
)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def build(policy: Policy, batch: InstanceBatch, strategy: Strategy, seed: int = 0) -> RouteBatch:
    return construct(policy, batch, strategy, seeded(seed))


def assert_right(given_instances: list[Instance], policy: Policy, strategy: Strategy, seed: int = 0) -> None:
    batch = InstanceBatch.from_instances(given_instances)
    solutions = build(policy, batch, strategy, seed).to_solutions(batch)
    for instance, solution in zip(given_instances, solutions, strict=True):
        assert check(instance, solution) == []


# Every solution is right


@few_examples
@with_both_kinds
@with_all_strategies
@given(several=st.lists(LOCATED, min_size=1, max_size=4), seed=st.integers(0, 2**32))
def test_every_solution_is_right(strategy: Strategy, config: PolicyConfig, several: list[Instance], seed: int) -> None:
    assert_right(several, make_policy(config, seed=seed), strategy, seed)


def in_one_place(size: int) -> Instance:
    return Instance(np.full((size + 1, 2), 0.3), np.array([0, *[4] * size]), 10)


def on_a_line(demands: list[int], capacity: int) -> Instance:
    positions = np.stack([np.arange(len(demands) + 1.0), np.zeros(len(demands) + 1)], axis=1)
    return Instance(positions, np.array([0, *demands]), capacity)


ODD = {
    "one customer": on_a_line([3], 5),
    "one customer as large as the vehicle": on_a_line([5], 5),
    "every customer as large as the vehicle": on_a_line([5] * 7, 5),
    "one of several as large as the vehicle": on_a_line([1, 9, 1, 1, 2], 9),
    "vehicles that fill up exactly": on_a_line([10] * 9, 30),
    "nobody wants anything": on_a_line([0] * 6, 1),
    "nothing wanted beside a full vehicle": on_a_line([7, 0, 7, 0, 0], 7),
    "the largest possible vehicle": on_a_line([LARGEST_INTEGER, 1, LARGEST_INTEGER - 1, 0], LARGEST_INTEGER),
    "all in one place": in_one_place(8),
    "one in one place": in_one_place(1),
}


@with_both_kinds
@with_all_strategies
def test_odd_instances_are_solved_alone_and_together(strategy: Strategy, config: PolicyConfig) -> None:
    policy = make_policy(config)
    assert_right(list(ODD.values()), policy, strategy)
    for instance in ODD.values():
        assert_right([instance], policy, strategy)


@pytest.mark.parametrize("gain", [0.0, 1e20])
@with_both_kinds
def test_weights_of_any_size_build_right_routes(config: PolicyConfig, gain: float) -> None:
    for strategy in STRATEGIES:
        assert_right(draw_instances(5, 12), make_policy(config, gain=gain), strategy)


@with_both_kinds
def test_two_thousand_customers_are_routed(config: PolicyConfig) -> None:
    assert_right(draw_instances(2000, capacity=200), make_policy(config), Greedy())


def test_no_instances_give_no_routes() -> None:
    assert len(build(make_policy(), draw_batch(5)[:0], Greedy())) == 0


# The batch does not matter


@fewer_examples
@with_both_kinds
@given(several=st.lists(LOCATED, min_size=2, max_size=5), seed=st.integers(0, 2**32))
def test_greedy_routes_of_a_batch_are_those_of_its_instances(
    config: PolicyConfig, several: list[Instance], seed: int
) -> None:
    policy = make_policy(config, seed=seed)
    batch = InstanceBatch.from_instances(several)
    alone = [build(policy, InstanceBatch.from_instances([instance]), Greedy()) for instance in several]
    assert_routes_agree(policy, batch, build(policy, batch, Greedy()), pad_together(alone, batch))


@with_both_kinds
@with_all_strategies
def test_routes_of_a_mixed_batch_are_those_of_its_instances(strategy: Strategy, config: PolicyConfig) -> None:
    policy = make_policy(config).double()  # in which no two random choices are as good as equal
    several = [*draw_instances(13, 2, 30, 1, 13, 8), *draw_instances(11, 25, seed=1, capacity=9)]
    batch = InstanceBatch.from_instances(several)
    alone = [build(policy, InstanceBatch.from_instances([instance]), strategy) for instance in several]
    assert_equal(build(policy, batch, strategy), pad_together(alone, batch))


@with_all_strategies
def test_the_order_of_the_batch_does_not_matter(strategy: Strategy) -> None:
    policy, batch = make_policy().double(), draw_batch(9, 17, 4, 12)
    order = torch.tensor([2, 0, 3, 1])
    assert_equal(build(policy, batch[order], strategy), build(policy, batch, strategy)[order])


@pytest.mark.parametrize("budget", [1, 2_000, 20_000])
@with_all_strategies
def test_chunks_do_not_change_the_routes(strategy: Strategy, budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    policy, batch = make_policy().double(), draw_batch(9, 17, 4, 12, 9)
    whole = build(policy, batch, strategy)
    monkeypatch.setattr("dynaroute.construct.build._SCORES_AT_ONCE", {"cpu": budget})
    assert_equal(build(policy, batch, strategy), whole)


def test_single_precision_finds_nearly_all_routes_of_double_precision() -> None:
    policy, batch = make_policy(), draw_batch(*[20] * 50)
    single = build(policy, batch, Greedy())
    assert assert_routes_agree(policy, batch, single, build(policy.double(), batch, Greedy())) >= 35


# Seeds and attempts


@with_all_strategies
def test_the_same_seed_gives_the_same_routes(strategy: Strategy) -> None:
    policy, batch = make_policy(), draw_batch(15, 10)
    assert_equal(build(policy, batch, strategy, 7), build(policy, batch, strategy, 7))


def test_other_seeds_give_other_routes() -> None:
    policy, batch = make_policy(), draw_batch(15)
    found = {tuple(build(policy, batch, Sampling(1), seed).visits()[0].tolist()) for seed in range(10)}
    assert len(found) == 10


def test_a_generator_is_used_up_so_that_the_next_call_differs() -> None:
    policy, batch, generator = make_policy(), draw_batch(15), seeded()
    first, second = (construct(policy, batch, Sampling(1), generator).visits() for _ in range(2))
    assert not torch.equal(first, second)


def test_equal_instances_in_one_batch_get_equal_samples() -> None:
    routes = build(make_policy(), draw_batch(15).repeat_each(2), Sampling(1))
    assert torch.equal(routes.route[0], routes.route[1])


@pytest.mark.parametrize("config", [SMALL_AMD, SMALL_AM])
@pytest.mark.parametrize("strategy", PLAIN, ids=repr)
def test_orientations_are_never_worse_than_the_plain_strategy(strategy: Strategy, config: PolicyConfig) -> None:
    policy, batch = make_policy(config).double(), draw_batch(*[12, 20] * 6)
    plain = build(policy, batch, strategy).lengths(batch)
    augmented = build(policy, batch, Augmented(strategy)).lengths(batch)
    assert bool((augmented <= plain + 1e-12).all())
    assert bool((augmented < plain - 1e-6).any())


@pytest.mark.parametrize("kind", [Sampling, MultiStart])
def test_one_attempt_more_is_never_worse(kind: type[Sampling] | type[MultiStart]) -> None:
    policy, batch = make_policy().double(), draw_batch(*[20] * 8)
    lengths = [build(policy, batch, kind(count)).lengths(batch) for count in range(1, 8)]
    for fewer, more in pairwise(lengths):
        assert bool((more <= fewer + 1e-12).all())
    assert bool((lengths[-1] < lengths[0] - 1e-6).any())


def test_the_best_of_several_samples_is_one_of_them() -> None:
    policy, batch = make_policy().double(), draw_batch(14)
    best = float(build(policy, batch, Sampling(5)).lengths(batch))
    single = [float(build(policy, batch, Sampling(count)).lengths(batch)) for count in range(1, 6)]
    assert best == min(single)


# Around it


def test_progress_counts_every_instance_once() -> None:
    finished: list[int] = []
    construct(make_policy(), draw_batch(3, 9, 4, 9), Sampling(2), progress=finished.append)
    assert sum(finished) == 4


def test_progress_is_told_chunk_by_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynaroute.construct.build._SCORES_AT_ONCE", {"cpu": 1})
    finished: list[int] = []
    construct(make_policy(), draw_batch(3, 9, 4), Greedy(), progress=finished.append)
    assert finished == [1, 1, 1]


def test_the_batch_and_the_policy_are_left_as_they_were() -> None:
    policy, batch = make_policy(SMALL_AM), draw_batch(6, 9)
    tensors, parameters = batch.locations.clone(), {name: value.clone() for name, value in policy.state_dict().items()}
    build(policy, batch, Augmented(Sampling(2)))
    assert torch.equal(batch.locations, tensors)
    for name, value in policy.state_dict().items():
        assert torch.equal(value, parameters[name])


def pad_together(alone: list[RouteBatch], batch: InstanceBatch) -> RouteBatch:
    """Solutions of single instances as those of one batch."""
    together = RouteBatch.unvisited(batch)
    for index, routes in enumerate(alone):
        nodes = routes.route.shape[1]
        together.route[index, :nodes] = routes.route[0]
        together.position[index, :nodes] = routes.position[0]
    return together


def assert_equal(one: RouteBatch, other: RouteBatch) -> None:
    assert torch.equal(one.route, other.route)
    assert torch.equal(one.position, other.position)
