"""The paper's equations 1 to 23, one after the other, in plain Python loops.

Written from the paper, with features d_i / D and D_t / D, to judge the fast implementation: nothing is
vectorised, folded, packed or dropped, and visited nodes are masked as eq 23 says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Vector = list[float]
Matrix = list[Vector]


@dataclass(frozen=True)
class Head:
    """W^Q_m, W^K_m, W^V_m and W^O_m of one head."""

    query: Matrix
    key: Matrix
    value: Matrix
    output: Matrix


@dataclass(frozen=True)
class Layer:
    """One attention layer of the encoder: its heads, and W^F_0, b^F_0, W^F_1, b^F_1."""

    heads: list[Head]
    feed_forward_0: Matrix
    bias_0: Vector
    feed_forward_1: Matrix
    bias_1: Vector


@dataclass(frozen=True)
class Weights:
    """All parameters θ."""

    customer: Matrix  # W
    customer_bias: Vector  # b
    depot: Matrix  # W_0
    depot_bias: Vector  # b_0
    layers: list[Layer]
    context_heads: list[Head]
    final_query: Matrix  # W^Q of eq 18
    final_key: Matrix  # W^K of eq 18
    clip: float  # C


@dataclass(frozen=True)
class Problem:
    """X: positions s_i, demands d_i with d_0 = 0, and the capacity D."""

    positions: list[tuple[float, float]]
    demands: list[int]
    capacity: int


def log_probabilities(weights: Weights, problem: Problem, solution: Sequence[int]) -> list[list[float]]:
    """log p(π_t = x_j | X, π_1:t-1) of eq 1 for every step t of the solution and every node j.

    The solution lists the nodes visited, with 0 for each return to the depot; the vehicle is at the depot at t = 1.
    """
    table: list[list[float]] = []
    embeddings: Matrix = []
    remaining = problem.capacity
    for t in range(len(solution)):
        visited = set(solution[:t])
        previous = solution[t - 1] if t > 0 else 0
        if previous == 0:  # eq 22
            embeddings = encode(weights, problem, visited)
        row = decode(weights, problem, embeddings, visited, previous, remaining)
        table.append(row)
        remaining = problem.capacity if solution[t] == 0 else remaining - problem.demands[solution[t]]  # eq 21
    return table


def encode(weights: Weights, problem: Problem, visited: set[int]) -> Matrix:
    """Eqs 2 to 11, with eq 23 in place of eq 4."""
    h = []
    for i in range(len(problem.demands)):
        x = [*problem.positions[i], problem.demands[i] / problem.capacity]
        if i == 0:
            h.append(add(multiply(weights.depot, x), weights.depot_bias))  # eq 2
        else:
            h.append(add(multiply(weights.customer, x), weights.customer_bias))  # eq 2
    for layer in weights.layers:
        attended = attend_to_each_other(layer.heads, h, visited)
        h_hat = [squash(add(h[i], attended[i])) for i in range(len(h))]  # eq 8
        h = []
        for vector in h_hat:
            inner = add(multiply(layer.feed_forward_0, vector), layer.bias_0)
            fed_forward = add(multiply(layer.feed_forward_1, [max(0.0, z) for z in inner]), layer.bias_1)  # eq 9
            h.append(squash(add(vector, fed_forward)))  # eq 10
    return h


def attend_to_each_other(heads: list[Head], h: Matrix, visited: set[int]) -> Matrix:
    """MHA of eq 7."""
    nodes = range(len(h))
    attended = [[0.0] * len(h[0]) for _ in nodes]
    for head in heads:
        q = [multiply(head.query, h[i]) for i in nodes]  # eq 3
        k = [multiply(head.key, h[i]) for i in nodes]  # eq 3
        v = [multiply(head.value, h[i]) for i in nodes]  # eq 3
        for i in nodes:
            u = [dot(q[i], k[j]) if j not in visited or j == 0 else -math.inf for j in nodes]  # eq 23
            a = softmax(u)  # eq 5
            mixed = mix(a, v)  # eq 6
            attended[i] = add(attended[i], multiply(head.output, mixed))  # eq 7
    return attended


def decode(
    weights: Weights, problem: Problem, h: Matrix, visited: set[int], previous: int, remaining: int
) -> list[float]:
    """Eqs 12 to 20: the logarithm of p for every node."""
    nodes = range(len(h))
    unvisited = [h[j] for j in nodes if j not in visited or j == 0]
    graph = [sum(column) / len(unvisited) for column in zip(*unvisited, strict=True)]
    context = [*graph, *h[previous], remaining / problem.capacity]  # eq 12

    allowed = [problem.demands[j] <= remaining and j not in visited for j in nodes]
    allowed[0] = previous != 0
    if not any(allowed):  # all is delivered, and the vehicle is at home
        allowed[0] = True

    h_c = [0.0] * len(h[0])
    for head in weights.context_heads:
        q = multiply(head.query, context)  # eq 13
        k = [multiply(head.key, h[j]) for j in nodes]  # eq 13
        v = [multiply(head.value, h[j]) for j in nodes]  # eq 13
        u = [dot(q, k[j]) if allowed[j] else -math.inf for j in nodes]  # eq 14
        a = softmax(u)  # eq 15
        mixed = mix(a, v)  # eq 16
        h_c = add(h_c, multiply(head.output, mixed))  # eq 17

    q = multiply(weights.final_query, h_c)  # eq 18
    u = []
    for j in nodes:
        k_j = multiply(weights.final_key, h[j])  # eq 18
        u.append(weights.clip * math.tanh(dot(q, k_j)) if allowed[j] else -math.inf)  # eq 19
    return [math.log(p) if p > 0 else -math.inf for p in softmax(u)]  # eq 20


def dot(left: Vector, right: Vector) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def multiply(matrix: Matrix, vector: Vector) -> Vector:
    return [dot(row, vector) for row in matrix]


def add(left: Vector, right: Vector) -> Vector:
    return [a + b for a, b in zip(left, right, strict=True)]


def squash(vector: Vector) -> Vector:
    return [math.tanh(a) for a in vector]


def mix(shares: Vector, vectors: Matrix) -> Vector:
    return [dot(shares, list(column)) for column in zip(*vectors, strict=True)]


def softmax(scores: Vector) -> Vector:
    highest = max(scores)  # the quotient is the same, and no exponential overflows
    exponentials = [math.exp(score - highest) for score in scores]
    total = sum(exponentials)
    return [exponential / total for exponential in exponentials]
