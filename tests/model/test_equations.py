"""The policy against the literal transcription of the paper, and against its own claims about masking."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from policies import SMALL_AMD, make_policy
from torch import Tensor
from transcription import Head, Layer, Matrix, Problem, Vector, Weights
from transcription import log_probabilities as transcribed_log_probabilities

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct import log_probabilities
from dynaroute.construct.choose import Follow
from dynaroute.construct.eager import decide
from dynaroute.model import Policy, PolicyConfig
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check

PAPER = PolicyConfig()
MEDIUM = PolicyConfig(dimension=32, heads=4, layers=3, feed_forward=64)


def hand_over(policy: Policy) -> Weights:
    """The policy's parameters as the paper names them."""
    config = policy.config
    matrix, vector = _readers(policy.state_dict())

    def split(rows: Matrix) -> list[Matrix]:
        width = config.head_dimension
        return [rows[head * width : (head + 1) * width] for head in range(config.heads)]

    def heads(query: Matrix, key: Matrix, value: Matrix, output: Matrix) -> list[Head]:
        columns = [list(column) for column in zip(*output, strict=True)]
        outputs = [[list(row) for row in zip(*part, strict=True)] for part in split(columns)]
        return [Head(*parts) for parts in zip(split(query), split(key), split(value), outputs, strict=True)]

    def layer(number: int) -> Layer:
        name = f"encoder.layers.{number}"
        stacked, third = matrix(f"{name}.query_key_value.weight"), config.dimension
        return Layer(
            heads(
                stacked[:third],
                stacked[third : 2 * third],
                stacked[2 * third :],
                matrix(f"{name}.output.weight"),
            ),
            matrix(f"{name}.feed_forward_in.weight"),
            vector(f"{name}.feed_forward_in.bias"),
            matrix(f"{name}.feed_forward_out.weight"),
            vector(f"{name}.feed_forward_out.bias"),
        )

    return Weights(
        customer=matrix("encoder.embed_customer.weight"),
        customer_bias=vector("encoder.embed_customer.bias"),
        depot=matrix("encoder.embed_depot.weight"),
        depot_bias=vector("encoder.embed_depot.bias"),
        layers=[layer(number) for number in range(config.layers)],
        context_heads=heads(
            *(matrix(f"decoder.{name}.weight") for name in ("context_query", "key", "value", "output"))
        ),
        final_query=matrix("decoder.logit_query.weight"),
        final_key=matrix("decoder.logit_key.weight"),
        clip=config.clip,
    )


def _readers(state: dict[str, Tensor]) -> tuple[Callable[[str], Matrix], Callable[[str], Vector]]:
    def matrix(name: str) -> Matrix:
        rows: Matrix = state[name].tolist()
        return rows

    def vector(name: str) -> Vector:
        values: Vector = state[name].tolist()
        return values

    return matrix, vector


def draw_problem(size: int, generator: np.random.Generator) -> Problem:
    positions: list[tuple[float, float]] = [tuple(place) for place in generator.random((size + 1, 2)).tolist()]
    capacity = int(generator.integers(10, 40))
    return Problem(positions, [0, *generator.integers(0, 10, size).tolist()], capacity)


def draw_solution(problem: Problem, generator: np.random.Generator) -> list[int]:
    """Customers in a random order, cut where the vehicle is full and now and then before."""
    nodes: list[int] = []
    load = 0
    for customer in (generator.permutation(len(problem.demands) - 1) + 1).tolist():
        demand = problem.demands[customer]
        if nodes and (load + demand > problem.capacity or generator.random() < 0.15):
            nodes.append(0)
            load = 0
        nodes.append(customer)
        load += demand
    return [*nodes, 0]


def make_batch(problems: list[Problem]) -> tuple[list[Instance], InstanceBatch]:
    instances = [
        Instance(np.array(problem.positions), np.array(problem.demands), problem.capacity) for problem in problems
    ]
    return instances, InstanceBatch.from_instances(instances)


def make_routes(nodes: list[int]) -> Solution:
    routes: list[list[int]] = [[]]
    for node in nodes:
        if node == 0:
            routes.append([])
        else:
            routes[-1].append(node)
    return Solution(tuple(map(tuple, routes)))


def tables_of_model(policy: Policy, batch: InstanceBatch, routes: RouteBatch) -> list[list[list[float]]]:
    """For each instance, step and node: the model's log-probability."""
    tables: list[list[list[float]]] = [[] for _ in range(len(batch))]
    with torch.no_grad():
        for decision in decide(policy, batch, Follow(routes)):
            log_p = decision.logits.log_softmax(1)
            for row in decision.is_driving.nonzero().squeeze(1).tolist():
                trajectory = int(decision.info.trajectory[row])
                step = [-math.inf] * (int(batch.sizes[trajectory]) + 1)
                for slot, node in enumerate(decision.info.nodes[row].tolist()):
                    if node > 0 or slot == 0:
                        step[node] = float(log_p[row, slot])
                tables[trajectory].append(step)
    return tables


@pytest.mark.parametrize(
    ("config", "sizes", "gain"),
    [
        pytest.param(PAPER, (1, 5), 1.0, id="paper's size, n = 1 and 5"),
        pytest.param(PAPER, (12,), 1.0, id="paper's size, n = 12"),
        pytest.param(MEDIUM, (1, 5, 20, 50), 1.5, id="medium, mixed sizes in one batch"),
        pytest.param(SMALL_AMD, (1, 5, 20, 50, 50, 20, 5), 2.0, id="small, mixed sizes in one batch"),
    ],
)
def test_every_step_has_the_probabilities_of_the_papers_equations(
    config: PolicyConfig, sizes: tuple[int, ...], gain: float
) -> None:
    generator = np.random.default_rng(sum(sizes))
    policy = make_policy(config, seed=1, gain=gain).double()
    problems = [draw_problem(size, generator) for size in sizes]
    solutions = [draw_solution(problem, generator) for problem in problems]
    instances, batch = make_batch(problems)
    routes = RouteBatch.from_solutions([make_routes(nodes) for nodes in solutions], batch)
    for instance, nodes in zip(instances, solutions, strict=True):
        assert check(instance, make_routes(nodes)) == []

    weights = hand_over(policy)
    tables = tables_of_model(policy, batch, routes)
    totals = log_probabilities(policy, batch, routes).tolist()

    for problem, nodes, table, total in zip(problems, solutions, tables, totals, strict=True):
        expected = transcribed_log_probabilities(weights, problem, nodes)
        assert len(table) == len(nodes)
        for step, row in enumerate(expected):
            assert table[step] == pytest.approx(row, rel=0, abs=1e-9)
        whole = math.fsum(row[node] for row, node in zip(expected, nodes, strict=True))  # eq 1
        assert total == pytest.approx(whole, rel=0, abs=1e-9)
        spreads = [max(row) - min(value for value in row if value > -math.inf) for row in expected]
        assert len(nodes) < 5 or max(spreads) > 0.1  # nodes that are all as likely would prove little


@pytest.mark.parametrize("change", ["graph mean", "last node", "capacity", "visited"])
def test_the_transcription_sees_each_part_of_the_state(change: str) -> None:
    """The judge itself: what the decoder reads changes the transcription's answer."""
    generator = np.random.default_rng(3)
    weights = hand_over(make_policy(seed=1).double())
    problem = draw_problem(6, generator)
    roomy = Problem(problem.positions, [0] * 7, 100)
    other = {
        "graph mean": (roomy, [1, 2, 3, 4]),
        "last node": (roomy, [2, 1, 3, 4]),
        "capacity": (Problem(roomy.positions, [0, 50, 0, 0, 0, 0, 0], 100), [1, 2, 3]),
        "visited": (roomy, [1, 0, 2, 3]),
    }
    plain = transcribed_log_probabilities(weights, roomy, [1, 2, 3])[2]
    changed = transcribed_log_probabilities(weights, *other[change])[-1]
    assert changed != pytest.approx(plain, abs=1e-6)


def test_log_probabilities_can_be_differentiated() -> None:
    generator = np.random.default_rng(5)
    policy = make_policy(seed=2).double()
    problem = draw_problem(5, generator)
    _, batch = make_batch([problem])
    routes = RouteBatch.from_solutions([make_routes(draw_solution(problem, generator))], batch)
    parameter = policy.encoder.embed_customer.weight
    (gradient,) = torch.autograd.grad(log_probabilities(policy, batch, routes).sum(), [parameter])
    step = 1e-6
    with torch.no_grad():
        parameter[3, 1] += step
        above = log_probabilities(policy, batch, routes).sum()
        parameter[3, 1] -= 2 * step
        below = log_probabilities(policy, batch, routes).sum()
    assert float(gradient[3, 1]) == pytest.approx(float(above - below) / (2 * step), rel=1e-5)
