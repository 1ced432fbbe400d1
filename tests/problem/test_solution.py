from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import instances, solutions_of

from dynaroute.base.errors import SolutionError
from dynaroute.problem.instance import Instance
from dynaroute.problem.judging.route import Violation
from dynaroute.problem.solution import Solution, check, recompute_cost

TOWN = Instance(np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0], [0.0, -1.0]]), np.array([0, 2, 3, 4]), 5)


def kinds(violations: list[Violation]) -> list[str]:
    return [violation.kind for violation in violations]


# Solution


def test_routes_become_tuples_of_plain_integers() -> None:
    solution = Solution([np.array([1, 2]), [np.int8(3)]])  # type: ignore[arg-type]
    assert solution.routes == ((1, 2), (3,))
    assert {type(customer) for route in solution.routes for customer in route} == {int}


def test_empty_routes_are_dropped() -> None:
    assert Solution(((), (1,), ())).routes == ((1,),)


@pytest.mark.parametrize("stop", ["1", 1.0, None, True, np.True_, 1j, [1], np.array([1]), math.nan])
def test_a_stop_that_is_no_whole_number_is_refused(stop: object) -> None:
    with pytest.raises(SolutionError, match="route 2 holds"):
        Solution(((1,), (2, stop)))  # type: ignore[arg-type]


@pytest.mark.parametrize("routes", [None, 7, [1, 2], [None], np.array(7), np.array([1, 2])])
def test_routes_that_are_no_lists_are_refused(routes: Any) -> None:
    with pytest.raises(SolutionError, match="not a list"):
        Solution(routes)


@pytest.mark.parametrize("cost", [math.nan, math.inf, -math.inf, 10**400, "12", True, 1j, [12.0], np.array([12.0])])
def test_a_stated_cost_that_is_no_finite_number_is_refused(cost: Any) -> None:
    with pytest.raises(SolutionError) as caught:
        Solution(((1,),), cost)
    assert caught.value.where.field == "cost"


@pytest.mark.parametrize("cost", [12, np.float64(12), np.float32(12), np.int64(12)])
def test_a_stated_cost_becomes_a_plain_float(cost: Any) -> None:
    stated = Solution(((1,),), cost).stated_cost
    assert stated == 12.0
    assert type(stated) is float


def test_a_solution_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Solution(((1,),)).routes = ()  # type: ignore[misc]


def test_the_cost_is_the_length_of_all_legs() -> None:
    assert Solution(((1,), (2, 3))).cost(TOWN) == 5 + 5 + 1 + 2 + 1


def test_no_routes_cost_nothing() -> None:
    assert Solution(()).cost(TOWN) == 0


def test_route_costs_and_loads_are_listed_by_route() -> None:
    solution = Solution(((1,), (2, 3)))
    assert solution.route_costs(TOWN) == [10.0, 4.0]
    assert solution.loads(TOWN) == [2, 7]


@pytest.mark.parametrize("customer", [-1, 4, 10**30])
@pytest.mark.parametrize("measure", [Solution.cost, Solution.loads, Solution.route_costs])
def test_an_unknown_customer_cannot_be_measured(measure: Any, customer: int) -> None:
    with pytest.raises(SolutionError) as caught:
        measure(Solution(((1, customer),)), TOWN)
    assert caught.value.where.customer == customer


@given(st.data())
def test_the_fast_cost_is_the_plain_one(data: st.DataObject) -> None:
    instance = data.draw(instances())
    solution = data.draw(solutions_of(instance))
    assert solution.cost(instance) == pytest.approx(recompute_cost(instance, solution), rel=1e-12, abs=1e-4)


# check


@given(st.data())
def test_any_feasible_solution_passes_with_its_cost(data: st.DataObject) -> None:
    instance = data.draw(instances())
    solution = data.draw(solutions_of(instance))
    assert check(instance, solution) == []
    assert check(instance, Solution(solution.routes, solution.cost(instance))) == []


def test_a_missing_customer_is_found() -> None:
    assert check(TOWN, Solution(((1, 2),))) == [Violation("missing", "Customer 3 is not visited.", None, 3)]


def test_a_missing_customer_is_called_by_its_name() -> None:
    (violation,) = check(replace(TOWN, customer_names=("A", "B", "C")), Solution(((1, 2),)))
    assert violation.message == "Customer 3 (C) is not visited."


def test_a_customer_repeated_in_its_route_is_found() -> None:
    (violation,) = check(TOWN, Solution(((1, 1), (2,), (3,))))
    assert (violation.kind, violation.route, violation.customer) == ("repeated", 1, 1)


def test_a_repeated_customer_is_called_by_its_name() -> None:
    (violation,) = check(replace(TOWN, customer_names=("A", "B", "C")), Solution(((1, 1), (2,), (3,))))
    assert "visits customer 1 (A)," in violation.message


def test_a_customer_repeated_in_another_route_is_found() -> None:
    (violation,) = check(TOWN, Solution(((1,), (2,), (1,), (3,))))
    assert (violation.kind, violation.route, violation.customer) == ("repeated", 3, 1)


@pytest.mark.parametrize("customer", [4, -1, 0, 10**30])
def test_an_unknown_customer_is_found(customer: int) -> None:
    (violation,) = check(TOWN, Solution(((1, customer), (2,), (3,))))
    assert (violation.kind, violation.route, violation.customer) == ("unknown", 1, customer)


def test_the_depot_within_a_route_is_explained() -> None:
    (violation,) = check(TOWN, Solution(((1, 0), (2,), (3,))))
    assert "depot is left out" in violation.message


def test_an_overload_names_route_and_amount() -> None:
    (violation,) = check(TOWN, Solution(((1,), (2, 3))))
    assert (violation.kind, violation.route) == ("overload", 2)
    assert "carries 7, 2 more than the capacity 5" in violation.message


def test_an_overload_is_told_in_the_users_unit() -> None:
    instance = Instance(TOWN.coordinates, TOWN.demands, 5, demand_scale=10)
    (violation,) = check(instance, Solution(((1,), (2, 3))))
    assert "carries 0.7, 0.2 more than the capacity 0.5" in violation.message


def test_an_exactly_full_vehicle_is_fine() -> None:
    assert check(TOWN, Solution(((1, 2), (3,)))) == []


def test_all_violations_are_listed() -> None:
    assert kinds(check(TOWN, Solution(((2, 2), (7,)), 1.0))) == [
        "repeated",
        "overload",
        "unknown",
        "missing",
        "missing",
    ]


def test_no_routes_miss_every_customer() -> None:
    assert kinds(check(TOWN, Solution(()))) == ["missing"] * 3


# The stated cost

ROUTES = ((1, 2), (3,))
COST = 5 + math.sqrt(18) + 1 + 2  # 12.2426...


@pytest.mark.parametrize("stated", [None, COST, 12.24264, 12.243, 12.24, COST + 1e-9])
def test_a_cost_is_right_as_far_as_its_digits_go(stated: float | None) -> None:
    assert check(TOWN, Solution(ROUTES, stated)) == []


@pytest.mark.parametrize("stated", [0.0, -COST, 12, 12.3, 12.25, 12.2427, COST + 1e-6, COST * 2, 1e300])
def test_a_wrong_cost_is_found(stated: float) -> None:
    assert kinds(check(TOWN, Solution(ROUTES, stated))) == ["cost"]


def test_a_short_cost_is_right_only_to_a_thousandth() -> None:
    far = Instance(np.array([[0.0, 0.0], [500.2, 0.0]]), np.array([0, 1]), 1)
    assert check(far, Solution(((1,),), 1000)) == []
    assert kinds(check(far, Solution(((1,),), 1001.5))) == ["cost"]


@pytest.mark.parametrize("rounding", ["nearest", "up"])
def test_whole_costs_are_compared_exactly(rounding: Any) -> None:
    instance = Instance(np.array([[0, 0], [1e6, 1.5]]), np.array([0, 1]), 1, rounding=rounding)
    cost = recompute_cost(instance, Solution(((1,),)))
    assert check(instance, Solution(((1,),), cost)) == []
    assert kinds(check(instance, Solution(((1,),), cost + 1))) == ["cost"]
    assert kinds(check(instance, Solution(((1,),), cost + 1e-6))) == ["cost"]


def test_a_matrix_of_whole_numbers_is_compared_exactly() -> None:
    instance = Instance(None, np.array([0, 1]), 1, distances=np.array([[0.0, 10.0**6], [10.0**6, 0.0]]))
    assert kinds(check(instance, Solution(((1,),), 2e6 + 0.1))) == ["cost"]


def test_a_matrix_of_decimals_is_compared_as_far_as_the_digits_go() -> None:
    instance = Instance(None, np.array([0, 1]), 1, distances=np.array([[0.0, 617.1234], [617.1234, 0.0]]))
    assert check(instance, Solution(((1,),), 1234.25)) == []


def test_the_cost_is_not_judged_where_a_customer_is_unknown() -> None:
    assert kinds(check(TOWN, Solution(((1, 2), (3,), (9,)), 1.0))) == ["unknown"]


@given(instances())
def test_one_customer_per_route_costs_twice_the_way(instance: Instance) -> None:
    customers = np.arange(1, instance.size + 1)
    solution = Solution(tuple((customer,) for customer in customers.tolist()))
    twice = 2 * math.fsum(instance.leg_lengths(0, customers))
    assert recompute_cost(instance, solution) == pytest.approx(twice, rel=1e-12, abs=1e-4)
