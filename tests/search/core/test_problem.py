"""Instances as arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import instances, solutions_of

from dynaroute.base.stopping import OutOfTimeError
from dynaroute.problem.instance import Instance
from dynaroute.search.core.problem import SearchProblem


@given(instances())
def test_legs_are_priced_as_the_instance_prices_them(instance: Instance) -> None:
    problem = SearchProblem.from_instance(instance)
    np.testing.assert_array_equal(problem.distances, instance.distance_matrix)
    np.testing.assert_array_equal(problem.demands, instance.demands)
    assert problem.capacity == instance.capacity


@given(instances(sizes=st.integers(1, 25)), st.integers(1, 30))
def test_neighbours_are_the_nearest_customers_nearest_first(instance: Instance, wanted: int) -> None:
    neighbours = SearchProblem.from_instance(instance, neighbours=wanted).neighbours
    for node in range(instance.size + 1):
        others = [customer for customer in range(1, instance.size + 1) if customer != node]
        nearest = sorted(others, key=lambda customer: (instance.distance_matrix[node, customer], customer))
        assert neighbours[node].tolist() == nearest[: min(wanted, instance.size - 1)]


@given(st.data())
def test_routes_cost_what_their_solution_says(data: st.DataObject) -> None:
    instance = data.draw(instances())
    solution = data.draw(solutions_of(instance))
    assert SearchProblem.from_instance(instance).cost(solution.routes) == solution.cost(instance)


def test_of_large_instances_it_keeps_where_nodes_lie() -> None:
    points = np.random.default_rng(4).random((41, 2))
    instance = Instance(points, np.r_[0, np.ones(40, dtype=np.int64)], capacity=9)
    measured = SearchProblem.from_instance(instance, 10)
    placed = SearchProblem.from_instance(instance, 10, largest_matrix=39)
    assert (measured.has_matrix, placed.has_matrix) == (True, False)
    assert placed.neighbours.tolist() == measured.neighbours.tolist()
    assert placed.longest_leg >= measured.longest_leg
    assert placed.cost(((1, 2), (3,))) == measured.cost(((1, 2), (3,)))


def test_a_matrix_that_is_given_is_kept_whatever_the_size() -> None:
    instance = Instance(None, np.array([0, 1, 1]), capacity=2, distances=np.ones((3, 3)))
    assert SearchProblem.from_instance(instance, largest_matrix=0).has_matrix


def test_it_gives_up_when_the_time_is_up() -> None:
    instance = Instance(np.zeros((3, 2)), np.array([0, 1, 1]), capacity=2)
    with pytest.raises(OutOfTimeError):
        SearchProblem.from_instance(instance, is_time_up=lambda: True)
