"""Proofs of optima, judged by trying all routes of tiny instances; provers that are not installed are left out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np
import pytest
from policies import draw_instances

from dynaroute.base.errors import OptionError
from dynaroute.base.vocabulary import ProverName
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.study import exact
from dynaroute.study.exact import Proof, choose_prover, prove


def list_partitions(customers: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every way to cut an order of visits into routes."""
    if not customers:
        yield ()
    for first in range(1, len(customers) + 1):
        for rest in list_partitions(customers[first:]):
            yield (customers[:first], *rest)


def find_optimum(instance: Instance) -> float:
    return min(
        Solution(routes).cost(instance)
        for order in permutations(range(1, instance.size + 1))
        for routes in list_partitions(order)
        if all(instance.demands[list(route)].sum() <= instance.capacity for route in routes)
    )


def each_alone(instance: Instance) -> Solution:
    return Solution(tuple((customer,) for customer in range(1, instance.size + 1)))


@pytest.mark.parametrize(("prover", "package"), [("gurobi", "gurobipy"), ("cp-sat", "ortools")])
@pytest.mark.parametrize("capacity", [9, 14, 100])
def test_the_optimum_is_that_of_all_routes(prover: ProverName, package: str, capacity: int) -> None:
    pytest.importorskip(package)
    (instance,) = draw_instances(5, seed=capacity, capacity=capacity)
    proof = prove(instance, each_alone(instance), prover)
    assert proof.is_optimal
    assert proof.cost == pytest.approx(find_optimum(instance), abs=1e-9)
    assert check(instance, proof.solution) == []


def test_a_bound_below_the_cost_is_no_proof() -> None:
    assert Proof(Solution(((1,),), 2.0), 2.0, 0.1).is_optimal
    assert not Proof(Solution(((1,),), 2.0), 1.999, 0.1).is_optimal


def test_routes_are_read_from_how_often_each_leg_is_driven() -> None:
    routes = ((3, 1), (2,), (4, 6, 5))
    found = exact._read_routes(exact._count_legs(routes))
    assert {min(route, route[::-1]) for route in found} == {min(route, route[::-1]) for route in routes}


def test_customers_that_are_tied_without_the_depot_are_looked_at_together() -> None:
    weights = np.zeros((6, 6))
    for here, there in ((0, 1), (1, 2), (3, 4), (4, 5), (5, 3)):
        weights[here, there] = weights[there, here] = 1.0
    assert set(exact._find_components(weights)) == {frozenset({1, 2}), frozenset({3, 4, 5})}
    assert frozenset({3, 4, 5}) in set(exact._grow_sets(weights))


def test_a_prover_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "find_spec", lambda package: None if package == "gurobipy" else object())
    assert choose_prover() == "cp-sat"
    with pytest.raises(OptionError, match="gurobi") as told:
        choose_prover("gurobi")
    assert "exact" in (told.value.remedy or "")
    monkeypatch.setattr(exact, "find_spec", lambda package: None)
    with pytest.raises(OptionError, match="no prover"):
        choose_prover()
