from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from kernel_devices import draw_instance, gather
from strategies import instances

from dynaroute.problem.instance import Instance
from dynaroute.search.gpu.kernel_problem import NEAR, KernelProblem, list_groups


@given(instances(placements=st.sampled_from(("plane", "globe", "matrix and plane"))))
def test_lengths_are_those_of_the_instance_but_for_the_last_digits(instance: Instance) -> None:
    problem = KernelProblem.prepare(*gather([instance]))

    exact = instance.distance_matrix
    assert problem.lengths.amax() <= 2**25
    assert problem.lengths[0].double() / problem.scale[0] == pytest.approx(exact, abs=exact.max() * 2**-24)


def test_whole_numbers_stay_exact() -> None:
    coordinates = np.random.default_rng(0).integers(0, 10_000, (30, 2)).astype(float)
    instance = Instance(coordinates, np.array([0, *[1] * 29]), 5, rounding="nearest")

    problem = KernelProblem.prepare(*gather([instance]))

    assert np.array_equal(problem.lengths[0].numpy() / float(problem.scale[0]), instance.distance_matrix)


def test_near_customers_are_listed_nearest_first() -> None:
    instance = draw_instance(150)

    problem = KernelProblem.prepare(*gather([instance]))

    for node in (0, 1, 77, 150):
        listed = problem.near[0, node].tolist()
        away = [instance.distance_matrix[node, customer] for customer in listed]
        assert len(set(listed)) == NEAR
        assert 0 not in listed and node not in listed
        assert away == sorted(away)
        others = np.delete(instance.distance_matrix[node], [0, node])
        assert away[-1] == pytest.approx(np.sort(others)[NEAR - 1])


def test_groups_depend_on_the_own_size_alone() -> None:
    sizes = [1, 32, 33, 64, 100, 127, 128, 158, 159, 1000]

    groups = list_groups(sizes)

    assert sorted(row for rows in groups for row in rows) == list(range(len(sizes)))
    for rows in groups:
        assert list_groups([sizes[row] for row in rows]) == [list(range(len(rows)))]
    assert [sizes[row] for row in groups[0]] == [1000]


def test_known_solutions_of_one_instance_stand_in_a_row() -> None:
    batch, routes = gather([draw_instance(20), draw_instance(25)])
    twice = routes[torch.tensor([0, 0, 1, 1])]

    problem = KernelProblem.prepare(batch, twice)

    assert problem.starts == 2
    assert problem.route_counts.tolist() == (routes.route.amax(1) + 1).tolist()
