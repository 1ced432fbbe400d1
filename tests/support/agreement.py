"""What it means that two ways to build routes agree: the same nodes, or two that were as good as equal."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.construct.choose import Follow, StepInfo
from dynaroute.construct.eager import decide
from dynaroute.model import Policy
from dynaroute.problem.solution import Solution

TIE = 1e-5  # of the largest score, or of 1: single precision rounds in proportion

Score = Callable[[Tensor, StepInfo], Tensor]


def score_greedily(logits: Tensor, info: StepInfo) -> Tensor:
    """What greedy decoding maximises; for sampling give `Sample.scores`."""
    return logits


def assert_routes_agree(
    policy: Policy, batch: InstanceBatch, one: RouteBatch, other: RouteBatch, score: Score = score_greedily
) -> int:
    """Hold two sets of solutions against each other; returns how many instances are equal.

    Where an instance differs, its first solution is replayed to the first step at which they part: there, the two
    chosen nodes must be within a hair of the best score, of which rounding may have preferred either.
    """
    equal = 0
    for index in range(len(batch)):
        alone = torch.tensor([index])
        first, second = (sequence_of(routes[alone].to_solutions(batch[alone])[0]) for routes in (one, other))
        if first == second:
            equal += 1
            continue
        parting = next(step for step, (left, right) in enumerate(zip(first, second, strict=False)) if left != right)
        scores = _scores_at(policy, batch, one, index, parting, score)
        best = max(scores.values())
        hair = TIE * max(1.0, *(abs(score) for score in scores.values() if math.isfinite(score)))
        for node in (first[parting], second[parting]):
            assert scores[node] > best - hair, f"instance {index}, step {parting}: {first} or {second}"
    return equal


def sequence_of(solution: Solution) -> list[int]:
    """Nodes in the order of their visits, 0 for each return."""
    return [node for route in solution.routes for node in (*route, 0)]


def _scores_at(
    policy: Policy, batch: InstanceBatch, routes: RouteBatch, index: int, step: int, score: Score
) -> dict[int, float]:
    with torch.no_grad():
        for decision in decide(policy, batch, Follow(routes)):
            rows = ((decision.info.trajectory == index) & (decision.info.step == step) & decision.is_driving).nonzero()
            if not len(rows):
                continue
            row = int(rows[0])
            values = score(decision.logits, decision.info)[row].tolist()
            nodes = decision.info.nodes[row].tolist()
            return {node: values[slot] for slot, node in enumerate(nodes) if node > 0 or slot == 0}
    raise AssertionError(f"the solution has no step {step}")
