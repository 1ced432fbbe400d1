"""First solutions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import instances

from dynaroute.draw import draw_paper_set
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.savings import build_by_savings
from dynaroute.search.start import build_by_filling, build_by_near_savings


@given(instances(sizes=st.integers(1, 20)))
def test_near_savings_are_feasible(instance: Instance) -> None:
    routes = build_by_near_savings(SearchProblem.from_instance(instance, neighbours=5))
    assert not check(instance, Solution(routes))


@given(instances(sizes=st.integers(1, 20)))
def test_filling_is_feasible(instance: Instance) -> None:
    assert not check(instance, build_by_filling(instance))


def test_with_few_customers_near_savings_are_the_savings() -> None:
    for instance in draw_paper_set(20, 10, np.random.default_rng(1)).instances():
        routes = build_by_near_savings(SearchProblem.from_instance(instance))
        assert Solution(routes).cost(instance) == build_by_savings(instance).cost(instance)
