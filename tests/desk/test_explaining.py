"""What leaving a customer out saves, and its best place on other routes, compared with trying everything."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as some
from rich_problems import RULE_MAKERS, draw_problem, draw_routes

from dynaroute.base.errors import OptionError
from dynaroute.desk.explaining import explain_all, explain_customer
from dynaroute.plans import Plan
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.judging.route import judge_route
from dynaroute.problem.solution import Solution, check

# the price of balance is that of a whole plan, not of a route, and so is a least number of vehicles
RULES = sorted(set(RULE_MAKERS) - {"prizes", "priorities", "one_of", "balance", "min_vehicles"})


def make_plan(routes: Sequence[Sequence[int]] = ((1, 2), (3,)), **fields: object) -> Plan:
    """Customers at 1, 2 and 10 on a line from the depot, and two vans."""
    places = np.array([[0.0, 0], [1, 0], [2, 0], [10, 0]])
    vans = (VehicleType(4, name="van", count=2),)
    given = {"demands": np.array([0, 1, 1, 2]), "vehicles": vans, "speed": 1.0, **fields}
    instance = Instance(places, capacity=4, customer_names=("near", "next", "far"), **given)  # type: ignore[arg-type]
    return Plan(instance, Solution(tuple(map(tuple, routes)), vehicles=(0,) * len(routes)))


def test_leaving_the_farthest_stop_out_saves_the_way_there_and_back() -> None:
    explained = explain_customer(make_plan(), "next")

    assert (explained.vehicle, explained.stop) == ("van", 2)
    assert (explained.saved.length, explained.saved.seconds) == (2.0, 2.0)


def test_a_stop_on_the_way_of_another_route_saves_by_moving_there() -> None:
    (other,) = explain_customer(make_plan(), "next").places

    assert (other.vehicle, other.stop, other.reason) == ("van 2", 1, "")
    assert other.extra is not None
    assert other.extra.length == -2.0


def test_a_full_route_is_refused_in_numbers() -> None:
    (other,) = explain_customer(make_plan(((1, 2), (3,)), demands=np.array([0, 1, 1, 4])), "next").places

    assert other.extra is None
    assert other.reason == "carries 5, 1 more than the capacity 4 of van"


def test_a_window_that_is_missed_is_refused_in_minutes() -> None:
    windows = np.array([[0, math.inf], [0, math.inf], [0, 120], [0, 60]])
    (other,) = explain_customer(make_plan(windows=windows, speed=1 / 60), "far").places

    assert other.extra is None
    assert "9 min after its window ends" in other.reason or "after its window ends" in other.reason


def test_an_unknown_customer_is_named() -> None:
    with pytest.raises(OptionError, match="'K1'"):
        explain_customer(make_plan(), "K1")


@settings(max_examples=60)
@given(some.integers(0, 10**6), some.sets(some.sampled_from(RULES), max_size=3))
def test_explanations_agree_with_trying_every_place(seed: int, rules: set[str]) -> None:
    random = np.random.default_rng(seed)
    instance = draw_problem(random, rules)
    solution = keep_right_routes(instance, draw_routes(random, instance))
    assume(count_faults(instance, solution.routes, solution.vehicles or ()) == 0)
    plan = Plan(instance, solution)
    for customer, compact in zip(range(1, instance.size + 1), explain_all(plan), strict=True):
        explained = explain_customer(plan, instance.customer_name(customer))
        best = min(list_costs(instance, solution, customer), default=None)
        found = None if explained.best is None or explained.best.extra is None else explained.best.extra.cost
        assert found == (None if best is None else pytest.approx(best, abs=1e-6))
        assert compact.saved == explained.saved
        quick = None if compact.best is None or compact.best.extra is None else compact.best.extra.cost
        assert quick == (None if found is None else pytest.approx(found, abs=1e-6))


def list_costs(instance: Instance, solution: Solution, customer: int) -> Iterator[float]:
    """What the plan would gain by each place on other routes that makes nothing worse, by trying all."""
    moving = [customer]
    if instance.partners is not None and instance.partners[customer]:
        partner = int(instance.partners[customer])
        assert instance.is_pickup is not None
        moving = [customer, partner] if instance.is_pickup[customer] else [partner, customer]
    kinds, routes = solution.vehicle_types(instance), [list(route) for route in solution.routes]
    rest = [[node for node in route if node not in moving] for route in routes]
    own = [number for number, route in enumerate(routes) if set(route) & set(moving)]
    cost = solution.cost(instance)
    for number in range(len(routes) + 1):
        new = number == len(routes)
        for kind in range(len(instance.fleet)) if new else [kinds[number]]:
            count = instance.fleet[kind].count
            if number in own or (new and count is not None and kinds.count(kind) >= count):
                continue
            base = [] if new else rest[number]
            for longer in list_insertions(base, moving):
                after = [*rest[:number], longer, *rest[number + 1 :]]
                after_kinds = [*kinds, kind] if new else list(kinds)
                if count_faults(instance, after, after_kinds) == 0:
                    moved = Solution(tuple(map(tuple, after)), vehicles=tuple(after_kinds))
                    yield moved.cost(instance) - cost


def list_insertions(route: list[int], moving: list[int]) -> Iterator[list[int]]:
    for first in range(len(route) + 1):
        longer = [*route[:first], moving[0], *route[first:]]
        if len(moving) == 1:
            yield longer
        for second in range(first + 1, len(longer) + 1) if len(moving) == 2 else ():
            yield [*longer[:second], moving[1], *longer[second:]]


def keep_right_routes(instance: Instance, solution: Solution) -> Solution:
    pairs = zip(solution.routes, solution.vehicles or (), strict=True)
    right = [(route, kind) for route, kind in pairs if not any(judge_route(instance, 1, route, instance.fleet[kind]))]
    return Solution(tuple(route for route, _ in right), vehicles=tuple(kind for _, kind in right))


def count_faults(instance: Instance, routes: Sequence[Sequence[int]], kinds: Sequence[int]) -> int:
    solution = Solution(tuple(map(tuple, routes)), vehicles=tuple(kinds))
    return sum(found.kind != "missing" for found in check(instance, solution))
