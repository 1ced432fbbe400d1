"""Find the best plan for a few customers by trying every order.

On real roads a detour can be shorter than the direct leg. Then a customer may only fit into a route together with
another one, which a search that inserts one at a time cannot find.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

from dynaroute.improve.fleet_problem import FleetProblem, FleetRoutes
from dynaroute.improve.fleet_tours import append_span

__all__ = ["MOST_CUSTOMERS", "find_best_of_all"]

MOST_CUSTOMERS = 6

_Served = frozenset[int]


def find_best_of_all(problem: FleetProblem) -> FleetRoutes:
    """Find the cheapest plan; it leaves customers out only if it has to.

    Parameters
    ----------
    problem
        At most `MOST_CUSTOMERS` customers.
    """
    routes = _list_best_routes(problem)

    @cache
    def plan(left: _Served, counts: tuple[int, ...]) -> tuple[float, FleetRoutes]:
        if not left:
            return 0.0, ()
        first = min(left)
        price, best = plan(left - {first}, counts)
        price += problem.absence_price
        for (served, kind), (length, route) in routes.items():
            if first not in served or not served <= left or counts[kind] == 0:
                continue
            rest, others = plan(left - served, (*counts[:kind], counts[kind] - 1, *counts[kind + 1 :]))
            if length + problem.vehicle_price + rest < price:
                price, best = length + problem.vehicle_price + rest, (route, *others)
        return price, best

    everybody = frozenset(range(1, problem.size + 1))
    return plan(everybody, tuple(problem.kinds.counts.tolist()))[1]


def _list_best_routes(problem: FleetProblem) -> dict[tuple[_Served, int], tuple[float, tuple[int, ...]]]:
    """The shortest route of each type to each set of customers, with its length, if there is one."""
    best: dict[tuple[_Served, int], tuple[float, tuple[int, ...]]] = {}
    for kind in range(len(problem.kinds.counts)):
        for length, stops in _list_orders(problem, kind):
            served = frozenset(stops)
            if length < best.get((served, kind), (math.inf,))[0]:
                best[served, kind] = length, (kind, *stops)
    return best


def _list_orders(problem: FleetProblem, kind: int) -> Iterator[tuple[float, tuple[int, ...]]]:
    """All orders in which a vehicle can serve any of the customers, with the length of the route."""
    kinds, durations, distances = problem.kinds, problem.durations.tolist(), problem.distances.tolist()
    windows = list(zip(problem.earliest.tolist(), problem.latest.tolist(), strict=True))
    start, end, end_node = float(kinds.starts[kind]), float(kinds.ends[kind]), int(kinds.end_nodes[kind])
    nobody: tuple[int, ...] = ()
    begun = [(nobody, 0.0, 0, (0.0, start, math.inf))]
    while begun:
        stops, length, load, span = begun.pop()
        last = stops[-1] if stops else 0
        if stops:
            whole = length + distances[last][end_node]
            duration = append_span(*span, durations[last][end_node], 0.0, -math.inf, end)[0]
            is_in_time = span[0] + span[1] + durations[last][end_node] <= end
            if is_in_time and whole <= kinds.distances[kind] and duration <= kinds.durations[kind]:
                yield whole, stops
        if len(stops) == kinds.stops[kind]:
            continue
        for customer in range(1, problem.size + 1):
            more, (opens, closes) = load + int(problem.demands[customer]), windows[customer]
            between = durations[last][customer]
            is_late = span[0] + span[1] + between > closes
            if customer not in stops and more <= kinds.capacities[kind] and not is_late:
                way = length + distances[last][customer]
                begun.append(((*stops, customer), way, more, append_span(*span, between, 0.0, opens, closes)))
