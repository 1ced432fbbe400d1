"""Proofs of optimality for small instances, by branch and cut."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import combinations, pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import DynarouteError, OptionError
from dynaroute.base.vocabulary import ProverName
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check

__all__ = ["Proof", "choose_prover", "prove"]

_PACKAGES: dict[ProverName, str] = {"gurobi": "gurobipy", "cp-sat": "ortools"}
_UNITS = 10_000_000  # integer length that CP-SAT gets for an instance's longest leg
_VIOLATION = 1e-4  # least violation at which a cut is added to a fractional solution
_SAME = 1e-6  # relative difference between cost and bound that counts as rounding


@dataclass(frozen=True)
class Proof:
    """The best routes found for an instance, and a lower bound on any solution.

    Attributes
    ----------
    solution
        The routes, with their cost stated.
    bound
        No solution is shorter than this, up to the prover's rounding.
    seconds
        Time of the proof.
    """

    solution: Solution
    bound: float
    seconds: float

    @property
    def cost(self) -> float:
        """Cost of the solution."""
        assert self.solution.stated_cost is not None
        return self.solution.stated_cost

    @property
    def is_optimal(self) -> bool:
        """Whether the bound equals the cost."""
        return self.cost <= self.bound + _SAME * max(1.0, self.cost)


def choose_prover(name: ProverName | None = None) -> ProverName:
    """Return the named prover, or the first that is installed.

    Parameters
    ----------
    name
        "gurobi" (its bundled licence allows 2,000 variables, about 60 customers) or "cp-sat"; None: either.

    Raises
    ------
    OptionError
        If it is unknown or not installed.
    """
    for each, package in _PACKAGES.items():
        if name in (None, each) and find_spec(package) is not None:
            return each
    raise OptionError.about(
        "prover",
        "no prover is installed." if name is None else f"the prover {name} is not installed.",
        "pip install '.[exact]' in Dynaroute's folder (gurobi), or '.[bench]' (cp-sat).",
    )


def prove(
    instance: Instance, start: Solution, prover: ProverName | None = None, time_limit: float | None = None
) -> Proof:
    """Search until the routes are proven to be the shortest.

    Parameters
    ----------
    instance
        A small one: tens of customers.
    start
        Routes to start from; better routes make the proof faster.
    prover
        As for `choose_prover`.
    time_limit
        Seconds after which it gives up and returns the bound found so far.
    """
    if violations := check(instance, start):
        raise AssertionError(f"the routes to start with are wrong: {violations[0].message}")
    search = _prove_by_gurobi if choose_prover(prover) == "gurobi" else _prove_by_cp_sat
    began = time.perf_counter()
    routes, bound = search(instance, start.routes, time_limit)
    solution = Solution(routes, Solution(routes).cost(instance))
    if violations := check(instance, solution):
        raise AssertionError(f"the routes that were proven are wrong: {violations[0].message}")
    return Proof(solution, bound, time.perf_counter() - began)


Edge: TypeAlias = tuple[int, int]  # the lower number first; 0 is the depot
Routes: TypeAlias = tuple[tuple[int, ...], ...]


def _prove_by_gurobi(instance: Instance, start: Sequence[Sequence[int]], limit: float | None) -> tuple[Routes, float]:
    """Prove with the two-index edge model: two legs per customer, and capacity cuts for sets of customers.

    There are too many sets to list them all, so the rounded capacity cuts x(E(S)) <= |S| - ceil(d(S) / Q) are added
    when an integer or fractional solution violates them.
    """
    import gurobipy
    from gurobipy import GRB

    distances = instance.distance_matrix
    edges = list(combinations(range(instance.size + 1), 2))
    try:
        with gurobipy.Env(params={"OutputFlag": 0}) as environment, gurobipy.Model(env=environment) as model:
            model.Params.Threads = 1
            model.Params.MIPGap = 0
            model.Params.LazyConstraints = 1
            if limit is not None:
                model.Params.TimeLimit = limit
            legs = {
                # a route with one customer uses its leg twice
                edge: model.addVar(ub=2 if edge[0] == 0 else 1, obj=float(distances[edge]), vtype=GRB.INTEGER)
                for edge in edges
            }
            for customer in range(1, instance.size + 1):
                model.addConstr(gurobipy.quicksum(legs[edge] for edge in edges if customer in edge) == 2)
            model.addConstr(
                gurobipy.quicksum(legs[edge] for edge in edges if edge[0] == 0) >= 2 * instance.minimum_routes
            )
            counts = _count_legs(start)
            for edge, leg in legs.items():
                leg.Start = counts.get(edge, 0)
            model.optimize(lambda asked, event: _add_cuts(asked, event, instance, legs))
            used = {edge: round(leg.X) for edge, leg in legs.items()}
            return _read_routes(used), model.ObjBound
    except gurobipy.GurobiError as error:
        raise DynarouteError.about(
            "prover",
            f"Gurobi gave up: {error}.",
            "Its free licence allows 2,000 variables: use smaller instances, or cp-sat.",
        ) from error


def _add_cuts(model: Any, event: int, instance: Instance, legs: Mapping[Edge, Any]) -> None:
    """Gurobi's callback: add capacity cuts that an integer or fractional solution violates."""
    from gurobipy import GRB, quicksum

    edges = list(legs)
    if event == GRB.Callback.MIPSOL:
        values, violation = model.cbGetSolution(list(legs.values())), 0.5
    elif event == GRB.Callback.MIPNODE and model.cbGet(GRB.Callback.MIPNODE_STATUS) == GRB.OPTIMAL:
        values, violation = model.cbGetNodeRel(list(legs.values())), _VIOLATION
    else:
        return
    weights = np.zeros((instance.size + 1, instance.size + 1))
    for edge, value in zip(edges, values, strict=True):
        weights[edge] = weights[edge[::-1]] = value
    seen: set[frozenset[int]] = set()
    candidates = [*_find_components(weights), *(() if event == GRB.Callback.MIPSOL else _grow_sets(weights))]
    for customers in candidates:
        vehicles = -(-int(instance.demands[list(customers)].sum()) // instance.capacity)
        inside = weights[np.ix_(list(customers), list(customers))].sum() / 2
        if len(customers) > 1 and customers not in seen and inside > len(customers) - vehicles + violation:
            seen.add(customers)
            inner = quicksum(legs[edge] for edge in combinations(sorted(customers), 2))
            model.cbLazy(inner <= len(customers) - vehicles)


def _find_components(weights: NDArray[np.float64]) -> list[frozenset[int]]:
    """Find groups of customers that are connected without the depot."""
    left, components = set(range(1, len(weights))), []
    while left:
        reached, border = set(), [left.pop()]
        while border:
            reached.add(here := border.pop())
            near = {other for other in left if weights[here, other] > _VIOLATION}
            left -= near
            border.extend(near)
        components.append(frozenset(reached))
    return components


def _grow_sets(weights: NDArray[np.float64]) -> Iterator[frozenset[int]]:
    """Grow sets from each customer by adding the customer with the heaviest legs to the set."""
    for first in range(1, len(weights)):
        members, ties = [first], weights[first].copy()
        ties[0] = ties[first] = -1.0
        while ties.max() > 0:
            best = int(ties.argmax())
            members.append(best)
            ties = np.where(ties < 0, -1.0, ties + weights[best])
            ties[best] = -1.0
            yield frozenset(members)


def _count_legs(routes: Sequence[Sequence[int]]) -> dict[Edge, int]:
    counts: dict[Edge, int] = {}
    for route in routes:
        stops = [0, *route, 0]
        for here, there in pairwise(stops):
            edge = (min(here, there), max(here, there))
            counts[edge] = counts.get(edge, 0) + 1
    return counts


def _read_routes(used: Mapping[Edge, int]) -> Routes:
    """Turn the number of times each leg is driven into routes."""
    left = [edge for edge, count in used.items() for _ in range(count)]
    routes = []
    while out := next((edge for edge in left if edge[0] == 0), None):
        left.remove(out)
        route = [out[1]]
        while True:
            leg = next(edge for edge in left if route[-1] in edge)
            left.remove(leg)
            there = leg[0] if leg[1] == route[-1] else leg[1]
            if there == 0:
                break
            route.append(there)
        routes.append(tuple(route))
    return tuple(routes)


def _prove_by_cp_sat(instance: Instance, start: Sequence[Sequence[int]], limit: float | None) -> tuple[Routes, float]:
    """Prove with one variable per leg and direction, and the load after each customer."""
    from ortools.sat.python import cp_model

    distances = instance.distance_matrix
    unit = max(float(distances.max()), 1e-9) / _UNITS
    model, nodes = cp_model.CpModel(), range(instance.size + 1)
    legs = {(here, there): model.new_bool_var("") for here in nodes for there in nodes if here != there}
    model.add_multiple_circuit([(here, there, leg) for (here, there), leg in legs.items()])
    loads = [model.new_int_var(int(demand), instance.capacity, "") for demand in instance.demands]
    for (here, there), leg in legs.items():
        if here and there:
            model.add(loads[there] >= loads[here] + int(instance.demands[there])).only_enforce_if(leg)
    model.add(sum(leg for (here, _), leg in legs.items() if here == 0) >= instance.minimum_routes)
    model.minimize(sum(round(float(distances[pair]) / unit) * leg for pair, leg in legs.items()))
    driven = {pair for route in start for pair in zip([0, *route], [*route, 0], strict=True)}
    for pair, leg in legs.items():
        model.add_hint(leg, pair in driven)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.linearization_level = 2  # cuts for routes and capacities: fifty times faster
    solver.parameters.max_time_in_seconds = math.inf if limit is None else limit
    solver.solve(model)
    following = {here: there for (here, there), leg in legs.items() if here and solver.boolean_value(leg)}
    routes = []
    for (here, there), leg in legs.items():
        if here == 0 and solver.boolean_value(leg):
            route = [there]
            while (after := following[route[-1]]) != 0:
                route.append(after)
            routes.append(tuple(route))
    return tuple(routes), solver.best_objective_bound * unit
