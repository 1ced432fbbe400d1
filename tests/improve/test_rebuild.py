"""Rebuilding groups of routes by a policy."""

from __future__ import annotations

import numpy as np
from policies import make_policy

from dynaroute.construct import Greedy, Sampling
from dynaroute.distributions import draw_paper_set
from dynaroute.improve.pacing import Pace
from dynaroute.improve.problem import SearchProblem
from dynaroute.improve.rebuild import PolicyRebuilding
from dynaroute.instance import Instance
from dynaroute.solution import Solution, check

_INSTANCE = draw_paper_set(30, 1, np.random.default_rng(7)).instances()[0]
_ALONE = [[customer] for customer in range(1, 31)]
_PACE = Pace(0.0, 0.0)


def _make_rebuilding(instance: Instance = _INSTANCE, seed: int = 1) -> PolicyRebuilding:
    return PolicyRebuilding(
        instance, SearchProblem.from_instance(instance), _ALONE, make_policy(), seed, strategy=Sampling(4)
    )


def test_what_it_builds_is_feasible_and_better_than_a_route_for_each() -> None:
    rebuilding = _make_rebuilding()
    before = rebuilding.best_cost
    rebuilding.run(3, _PACE)
    assert not check(_INSTANCE, Solution(rebuilding.best_routes, rebuilding.best_cost))
    assert rebuilding.best_cost < before


def test_it_never_gets_worse() -> None:
    rebuilding = _make_rebuilding()
    costs = [rebuilding.best_cost]
    for _ in range(5):
        rebuilding.run(1, _PACE)
        costs.append(rebuilding.best_cost)
    assert costs == sorted(costs, reverse=True)


def test_a_matrix_prices_the_groups() -> None:
    apart = np.where(np.eye(31, dtype=bool), 0.0, 1.0)
    apart[1:, 1:] *= 100  # to drive from customer to customer is dear, whatever the places say
    instance = Instance(_INSTANCE.coordinates, _INSTANCE.demands, _INSTANCE.capacity, distances=apart)
    rebuilding = _make_rebuilding(instance)
    rebuilding.run(2, _PACE)
    assert rebuilding.best_cost == 60.0


def test_a_seed_determines_the_result() -> None:
    one, other = _make_rebuilding(), _make_rebuilding()
    one.run(3, _PACE)
    other.run(3, _PACE)
    assert one.best_routes == other.best_routes


def test_a_halted_one_does_no_more() -> None:
    rebuilding = _make_rebuilding()
    rebuilding.halt()
    rebuilding.run(3, _PACE)
    assert len(rebuilding.best_routes) == 30


def test_by_default_it_builds_in_all_eight_orientations() -> None:
    problem = SearchProblem.from_instance(_INSTANCE)
    policy = make_policy()
    once = PolicyRebuilding(_INSTANCE, problem, _ALONE, policy, 1, strategy=Greedy(), customers_together=30)
    eight = PolicyRebuilding(_INSTANCE, problem, _ALONE, policy, 1, customers_together=30)
    once.run(1, _PACE)
    eight.run(1, _PACE)
    assert eight.best_cost <= once.best_cost
