"""The best plan for a handful of customers, by trying every order.

Where a way around is shorter than the leg, as on real roads, a customer may fit into a route with another one only: who
puts them in one by one does not find that. With a few customers, there is no need to.
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
    """The plan of the least price; it leaves customers out if it has to.

    Parameters
    ----------
    problem
        Of `MOST_CUSTOMERS` customers at most.
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
    """The shortest route of each kind to each choice of customers, where there is one: its length, and itself."""
    best: dict[tuple[_Served, int], tuple[float, tuple[int, ...]]] = {}
    for kind in range(len(problem.kinds.counts)):
        for length, stops in _list_orders(problem, kind):
            served = frozenset(stops)
            if length < best.get((served, kind), (math.inf,))[0]:
                best[served, kind] = length, (kind, *stops)
    return best


def _list_orders(problem: FleetProblem, kind: int) -> Iterator[tuple[float, tuple[int, ...]]]:
    """All orders in which a vehicle can serve some customers, and how long the route is then."""
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
