"""The best plan of a small problem, by trying everything: what a search has to equal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import permutations

from dynaroute.base.vocabulary import Objective
from dynaroute.problem.instance import Instance
from dynaroute.problem.judge import judge_route, measure_legs
from dynaroute.problem.solution import Solution

MOST_CUSTOMERS = 6

_Plan = tuple[tuple[tuple[int, ...], int], ...]  # routes, and the type of each


def find_best_plan(instance: Instance, objective: Objective = "distance") -> Solution | None:
    """A plan of least length, or of fewest routes and then of least length; None if no plan serves everybody."""
    assert instance.size <= MOST_CUSTOMERS, "too many customers to try everything"
    customers = tuple(range(1, instance.size + 1))
    cheapest = {
        (served, kind): route
        for served in _subsets(customers)
        for kind in range(len(instance.fleet))
        if (route := _cheapest_order(instance, served, kind)) is not None
    }

    @cache
    def plan(left: tuple[int, ...], counts: tuple[int, ...]) -> tuple[tuple[float, float], _Plan] | None:
        if not left:
            return (0.0, 0.0), ()
        best = None
        for (served, kind), (length, route) in cheapest.items():
            if left[0] not in served or not set(served) <= set(left) or counts[kind] == 0:
                continue
            rest = plan(
                tuple(customer for customer in left if customer not in served),
                (*counts[:kind], counts[kind] - 1, *counts[kind + 1 :]),
            )
            if rest is None:
                continue
            routes = 1 if objective == "vehicles" else 0
            price = (rest[0][0] + routes, rest[0][1] + length)
            if best is None or price < best[0]:
                best = price, ((route, kind), *rest[1])
        return best

    found = plan(customers, tuple(instance.size if kind.count is None else kind.count for kind in instance.fleet))
    if found is None:
        return None
    (_, cost), routes = found
    return Solution(tuple(route for route, _ in routes), cost, tuple(kind for _, kind in routes))


def _subsets(customers: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for mask in range(1, 1 << len(customers)):
        yield tuple(customer for place, customer in enumerate(customers) if mask >> place & 1)


def _cheapest_order(instance: Instance, served: tuple[int, ...], kind: int) -> tuple[float, tuple[int, ...]] | None:
    vehicle = instance.fleet[kind]
    priced = sorted((math.fsum(measure_legs(instance, order, vehicle)), order) for order in permutations(served))
    return next(((cost, order) for cost, order in priced if not [*judge_route(instance, 1, order, vehicle)]), None)
