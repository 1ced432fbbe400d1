from __future__ import annotations

from collections import Counter
from itertools import permutations, product

import pytest
import torch
from agreement import assert_routes_agree
from hypothesis import given, settings
from hypothesis import strategies as st
from policies import SMALL_AM, SMALL_AMD, draw_batch, draw_instances, make_policy
from strategies import instances
from torch import Tensor

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct import log_probabilities
from dynaroute.construct.choose import Follow, MostLikely, Sample, make_stream_keys
from dynaroute.construct.eager import construct_eagerly, decide
from dynaroute.model import PolicyConfig
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check

fewer_examples = settings(max_examples=settings().max_examples // 2)  # of a test for each kind of policy
with_both_kinds = pytest.mark.parametrize("config", [SMALL_AMD, SMALL_AM], ids=["AM-D", "AM"])


def all_solutions(instance: Instance) -> list[Solution]:
    """Every order of the customers, cut in every way that vehicles can hold."""
    found = []
    for order in permutations(range(1, instance.size + 1)):
        for cuts in product((False, True), repeat=instance.size - 1):
            routes = [[order[0]]]
            for customer, is_cut in zip(order[1:], cuts, strict=True):
                if is_cut:
                    routes.append([])
                routes[-1].append(customer)
            solution = Solution(tuple(map(tuple, routes)))
            if not check(instance, solution):
                found.append(solution)
    return found


def sample_each(batch: InstanceBatch, seed: int, samples: Tensor, temperature: float = 1.0) -> Sample:
    return Sample(make_stream_keys(seed, batch.keys, samples), temperature)


def chi_square(counts: Tensor, probabilities: Tensor) -> float:
    expected = probabilities * counts.sum()
    return float(((counts - expected) ** 2 / expected).sum())


def limit(classes: int) -> float:
    """About five standard deviations above the mean of chi-square."""
    freedom = classes - 1
    return float(freedom + 5 * (2 * freedom) ** 0.5)


@with_both_kinds
@pytest.mark.parametrize("capacity", [9, 12, 30])
def test_the_probabilities_of_all_solutions_sum_to_one(capacity: int, config: PolicyConfig) -> None:
    (instance,) = draw_instances(3, capacity=capacity)
    solutions = all_solutions(instance)
    assert len(solutions) == 24 or capacity < 30
    batch = InstanceBatch.from_instances([instance] * len(solutions))
    log_p = log_probabilities(make_policy(config).double(), batch, RouteBatch.from_solutions(solutions, batch))
    assert float(log_p.detach().exp().sum()) == pytest.approx(1, abs=1e-12)


@with_both_kinds
def test_solutions_are_sampled_as_often_as_they_are_likely(config: PolicyConfig) -> None:
    (instance,) = draw_instances(3, capacity=15)
    solutions = all_solutions(instance)
    several = InstanceBatch.from_instances([instance] * len(solutions))
    policy = make_policy(config, gain=0.6).double()
    probabilities = log_probabilities(policy, several, RouteBatch.from_solutions(solutions, several)).detach().exp()
    assert float(probabilities.min()) > 1e-3

    count = 20_000
    batch = InstanceBatch.from_instances([instance]).repeat_each(count)
    routes = construct_eagerly(policy, batch, sample_each(batch, 1, torch.arange(count)))
    seen = Counter(solution.routes for solution in routes.to_solutions(batch))
    assert set(seen) <= {solution.routes for solution in solutions}
    counts = torch.tensor([float(seen[solution.routes]) for solution in solutions])
    assert chi_square(counts, probabilities) < limit(len(solutions))


@pytest.mark.parametrize("temperature", [0.3, 1.0, 3.0])
def test_the_first_customer_is_drawn_from_the_tempered_softmax(temperature: float) -> None:
    policy, batch = make_policy(gain=1.2), draw_batch(8).repeat_each(20_000)
    chooser = sample_each(batch, 2, torch.arange(20_000), temperature)
    with torch.no_grad():
        first = next(decide(policy, batch, chooser))
    counts = torch.bincount(first.chosen, minlength=9)[1:].double()
    probabilities = (first.logits[0].double() / temperature).softmax(0)[1:]
    likely = probabilities > 1e-3
    assert int(likely.sum()) > 2
    assert chi_square(counts[likely], probabilities[likely] / probabilities[likely].sum()) < limit(int(likely.sum()))


@fewer_examples
@with_both_kinds
@given(
    several=st.lists(
        instances(sizes=st.integers(1, 30), placements=st.just("plane"), named=st.just(False)), min_size=2, max_size=4
    ),
    seed=st.integers(0, 2**62),
    temperature=st.floats(0.2, 5.0),
)
def test_samples_of_a_batch_are_those_of_its_instances(
    config: PolicyConfig, several: list[Instance], seed: int, temperature: float
) -> None:
    policy = make_policy(config)
    batch = InstanceBatch.from_instances(several)
    chooser = sample_each(batch, seed, torch.arange(len(batch)), temperature)
    together = construct_eagerly(policy, batch, chooser)
    alone = RouteBatch.unvisited(batch)
    for index, instance in enumerate(several):
        single = InstanceBatch.from_instances([instance])
        routes = construct_eagerly(policy, single, sample_each(single, seed, torch.tensor([index]), temperature))
        alone.route[index, : single.nodes], alone.position[index, : single.nodes] = routes.route[0], routes.position[0]
    assert_routes_agree(policy, batch, together, alone, chooser.scores)


@with_both_kinds
def test_greedy_routes_are_followed_to_the_same_choices(config: PolicyConfig) -> None:
    policy, batch = make_policy(config), draw_batch(10, 25, 3)
    routes = construct_eagerly(policy, batch, MostLikely())
    with torch.no_grad():
        for decision in decide(policy, batch, Follow(routes)):
            best = decision.logits.max(1).values
            chosen = decision.logits.gather(1, decision.chosen[:, None]).squeeze(1)
            assert torch.equal(chosen[decision.is_driving], best[decision.is_driving])


@with_both_kinds
def test_a_following_drive_visits_every_node_in_order(config: PolicyConfig) -> None:
    several = draw_instances(10, 25, 3)
    batch = InstanceBatch.from_instances(several)
    policy = make_policy(config)
    solutions = construct_eagerly(policy, batch, sample_each(batch, 1, torch.arange(3))).to_solutions(batch)
    visited: list[list[int]] = [[], [], []]
    with torch.no_grad():
        for decision in decide(policy, batch, Follow(RouteBatch.from_solutions(solutions, batch))):
            nodes = decision.info.nodes.gather(1, decision.chosen[:, None]).squeeze(1)
            for row in decision.is_driving.nonzero().squeeze(1).tolist():
                assert int(decision.info.step[row]) == len(visited[int(decision.info.trajectory[row])])
                visited[int(decision.info.trajectory[row])].append(int(nodes[row]))
    for solution, nodes_visited in zip(solutions, visited, strict=True):
        assert nodes_visited == [node for route in solution.routes for node in (*route, 0)]


def test_a_solution_that_no_vehicle_can_drive_has_no_probability() -> None:
    (instance,) = draw_instances(6, capacity=9)
    batch = InstanceBatch.from_instances([instance])
    overloaded = RouteBatch.from_solutions([Solution((tuple(range(1, 7)),))], batch)
    assert float(log_probabilities(make_policy(), batch, overloaded).detach()) == -torch.inf


def test_the_static_policy_is_encoded_once_and_the_dynamic_one_at_every_return(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = draw_batch(15)
    for config, is_static in ((SMALL_AM, True), (SMALL_AMD, False)):
        policy = make_policy(config)
        calls: list[int] = []
        policy.encoder.register_forward_hook(lambda *_, calls=calls: calls.append(1))
        routes = construct_eagerly(policy, batch, MostLikely())
        assert len(calls) == (1 if is_static else int(routes.route.max()) + 1)
        assert int(routes.route.max()) > 1


@with_both_kinds
def test_samples_are_those_of_instances_alone_though_what_they_share_is_encoded_once(config: PolicyConfig) -> None:
    policy = make_policy(config).double()
    copies = draw_batch(6, 9).repeat_each(5)
    samples = torch.arange(10) % 5
    encoded: list[int] = []
    policy.encoder.register_forward_hook(lambda _module, inputs, _output: encoded.append(len(inputs[0])))
    together = construct_eagerly(policy, copies, sample_each(copies, 1, samples, temperature=0.5))
    assert encoded[0] == 7 + 10  # at first two instances are there, not ten
    for row in range(10):
        alone = copies[row : row + 1]
        routes = construct_eagerly(policy, alone, sample_each(alone, 1, samples[row : row + 1], temperature=0.5))
        assert torch.equal(routes.route[0], together.route[row])
        assert torch.equal(routes.position[0], together.position[row])


def test_instances_with_small_names_are_told_apart() -> None:
    policy = make_policy()
    batch = draw_batch(5, 5, 5, 5)
    expected = construct_eagerly(policy, batch, MostLikely())
    batch.keys.copy_(torch.tensor([1, 2, 3, 4]))  # numbers of customers, too
    routes = construct_eagerly(policy, batch.repeat_each(2), MostLikely())
    assert torch.equal(routes.route[::2], expected.route)
    assert torch.equal(routes.position[1::2], expected.position)
