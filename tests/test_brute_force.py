"""The helper that searches are measured against is right itself."""

from __future__ import annotations

import math

import numpy as np
from brute_force import find_best_plan
from fleet_strategies import Plan, plans
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import check


@settings(max_examples=30)
@given(plans(sizes=st.integers(1, 4)))
def test_its_plan_is_right_and_no_longer_than_another(plan: Plan) -> None:
    best = find_best_plan(plan.instance)
    assert best is not None and best.stated_cost is not None
    assert check(plan.instance, best) == []
    assert best.stated_cost <= plan.solution.cost(plan.instance) + 1e-9


def test_fewest_vehicles_may_cost_more() -> None:
    instance = Instance(
        np.array([[0.0, 0.0], [-5.0, 5.0], [5.0, 5.0]]), np.array([0, 1, 1]), 2, distances=_far_from_each_other()
    )
    near, few = find_best_plan(instance), find_best_plan(instance, "vehicles")
    assert near is not None and few is not None
    assert (len(near.routes), len(few.routes)) == (2, 1)
    assert near.stated_cost == 4 and few.stated_cost == 12


def test_nothing_is_found_where_nothing_is() -> None:
    instance = Instance(
        np.array([[0.0, 0.0], [9.0, 0.0]]), np.array([0, 1]), 2, vehicles=(VehicleType(2, max_distance=10),)
    )
    assert find_best_plan(instance) is None


def _far_from_each_other() -> np.ndarray:
    matrix = np.full((3, 3), math.nan)
    matrix[:] = [[0, 1, 1], [1, 0, 10], [1, 10, 0]]
    return matrix
