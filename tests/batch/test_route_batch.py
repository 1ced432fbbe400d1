from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from policies import draw_batch
from strategies import instances, solutions_of

from dynaroute.base.errors import SolutionError
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.problem.instance import Instance
from dynaroute.problem.lengths import Rounding
from dynaroute.problem.solution import Solution, check, recompute_cost

LOCATED = instances(placements=st.sampled_from(("plane", "globe", "matrix and plane", "matrix and globe")))


@given(st.lists(LOCATED, min_size=1, max_size=4), st.data())
def test_lengths_are_those_of_the_independent_judge(several: list[Instance], data: st.DataObject) -> None:
    solutions = [data.draw(solutions_of(instance)) for instance in several]
    batch = InstanceBatch.from_instances(several)
    lengths = RouteBatch.from_solutions(solutions, batch).lengths(batch).tolist()
    for instance, solution, length in zip(several, solutions, lengths, strict=True):
        assert length == pytest.approx(recompute_cost(instance, solution), rel=1e-12, abs=1e-9)


def test_legs_are_rounded_one_by_one_and_each_instance_by_its_own_rule() -> None:
    roundings: tuple[Rounding, ...] = ("none", "nearest", "up")
    corner = np.array([[0, 0], [1, 1], [0, 1]])
    batch = InstanceBatch.from_instances(
        [Instance(corner, np.array([0, 1, 1]), 2, rounding=rounding) for rounding in roundings]
    )
    routes = RouteBatch.from_solutions([Solution(((1, 2),))] * 3, batch)
    assert routes.lengths(batch).tolist() == [2**0.5 + 2, 3, 4]


def test_one_way_distances_count_in_the_direction_of_travel() -> None:
    batch = draw_batch(4, 2)  # instances of 4 and 2 customers
    generator = np.random.default_rng(1)
    distances = generator.random((2, 5, 5)) * (1 - np.eye(5))
    one_way = replace(batch, distances=torch.from_numpy(distances))
    solutions = [Solution(((3, 1), (4, 2))), Solution(((2,), (1,)))]
    paths = [(0, 3, 1, 0, 4, 2, 0), (0, 2, 0, 1, 0)]
    expected = [
        sum(float(table[start, end]) for start, end in itertools.pairwise(path))
        for table, path in zip(distances, paths, strict=True)
    ]
    assert RouteBatch.from_solutions(solutions, one_way).lengths(one_way).tolist() == pytest.approx(expected)


def test_halves_are_rounded_up() -> None:
    instance = Instance(np.array([[0, 0], [2.5, 0]]), np.array([0, 1]), 1, rounding="nearest")
    batch = InstanceBatch.from_instances([instance])
    assert RouteBatch.from_solutions([Solution(((1,),))], batch).lengths(batch).tolist() == [6]


@given(st.lists(LOCATED, min_size=1, max_size=4), st.data())
def test_solutions_come_back_from_tensors_with_their_cost(several: list[Instance], data: st.DataObject) -> None:
    solutions = [data.draw(solutions_of(instance)) for instance in several]
    batch = InstanceBatch.from_instances(several)
    returned = RouteBatch.from_solutions(solutions, batch).to_solutions(batch)
    for instance, solution, back in zip(several, solutions, returned, strict=True):
        assert back.routes == solution.routes
        assert back.stated_cost is not None
        assert check(instance, back) == []


def test_visits_are_listed_route_by_route_and_padded_with_the_depot() -> None:
    batch = draw_batch(4, 2)
    routes = RouteBatch.from_solutions([Solution(((3, 1), (4, 2))), Solution(((2,), (1,)))], batch)
    assert routes.visits().tolist() == [[3, 1, 4, 2], [2, 1, 0, 0]]


@pytest.mark.parametrize(
    "routes",
    [
        ((1, 2),),
        ((1, 2, 3), (2,)),
        ((1, 2, 3, 3),),
        ((1, 2, 4),),
        ((1, 2, 99),),
        ((1, 2, -1),),
        ((0, 1, 2, 3),),
        (),
    ],
)
def test_a_solution_that_does_not_visit_each_customer_once_is_refused(routes: tuple[tuple[int, ...], ...]) -> None:
    batch = draw_batch(5, 3)
    with pytest.raises(SolutionError, match="solution 2 does not visit every customer exactly once"):
        RouteBatch.from_solutions([Solution(((1, 2, 3, 4, 5),)), Solution(routes)], batch)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_there_is_one_solution_for_each_instance(count: int) -> None:
    with pytest.raises(SolutionError, match=f"{count} solutions for 2 instances"):
        RouteBatch.from_solutions([Solution(((1, 2, 3),))] * count, draw_batch(3, 3))
