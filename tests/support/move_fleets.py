"""Route tables of compiled local search, made from and read back as plain routes."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from strategies import solutions_of

from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.search.core.paths import longest_path, split_path, write_path
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.routes import RouteTable, Task, load_path, make_route_table, make_task, unload_path

Routes = tuple[tuple[int, ...], ...]

PENALTIES = st.sampled_from((0.0, 0.01, 3.0, math.inf))


@st.composite
def starts_of(draw: DrawFn, instance: Instance, penalty: float) -> Solution:
    """Any solution of a problem; where the penalty is finite, vehicles may be overloaded."""
    if math.isinf(penalty):
        return draw(solutions_of(instance))
    order = draw(st.permutations(range(1, instance.size + 1)))
    cuts = sorted(draw(st.sets(st.integers(1, instance.size))))
    return Solution(tuple(tuple(order[first:last]) for first, last in pairwise((0, *cuts, instance.size))))


def make_everything(instance: Instance, solution: Solution) -> tuple[RouteTable, Task, int]:
    """The route table of a solution, the task, and the number of routes in use."""
    task, table = make_task(SearchProblem.from_instance(instance)), make_route_table(instance.size)
    return table, task, load_path(write_path(solution), table, task)


def read_routes(table: RouteTable, used: int, size: int) -> Routes:
    path = np.empty(longest_path(size), dtype=np.int32)
    unload_path(np.arange(used, dtype=np.int32), table, size, path)
    return split_path(path)


def price(instance: Instance, routes: Routes, penalty: float) -> float:
    """Length and priced excess, in plain Python; infinite where there is any excess at an infinite penalty."""
    excess = sum(max(0, load - instance.capacity) for load in Solution(routes).loads(instance))
    return Solution(routes).cost(instance) + (excess * penalty if excess else 0.0)
