"""What the genetic search keeps in memory: new solutions, the room to improve them in, and the population."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.problem.solution import Solution
from dynaroute.search.core.legs import place_around_depot
from dynaroute.search.core.paths import Path, longest_path, write_path
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.routes import RouteTable, make_route_table
from dynaroute.search.genetic.population import Population, make_population
from dynaroute.search.genetic.split import CUT

_FIRST_PENALTY = 0.4

_PROGRESS = np.dtype(
    [
        ("penalty", np.float64),  # price of one unit of excess
        ("lowest_penalty", np.float64),
        ("highest_penalty", np.float64),
        ("best_length", np.float64),
        ("initial", np.int64),  # number of random solutions that a population starts with
        ("restarts", np.int64),  # number of populations before this one
        ("drawn", np.int64),  # number of these created so far
        ("idle", np.int64),  # iterations since the best solution was found
        ("judged", np.int64),  # solutions since the penalty was last set
        ("feasible", np.int64),  # those of them that were feasible after local search
    ]
)


class ChildBatch(NamedTuple):
    """C new solutions (children), from crossover until they are added to a population.

    Attributes
    ----------
    tours
        (C, n) each child's tour of all customers.
    paths, lengths, excesses
        (C, 2, longest path), (C, 2) and (C, 2) each child's routes after local search, and after a repair.
    counts
        (C,) number of these two versions that each child has.
    order
        (n,) the order in which local search tries customers.
    restarts
        (1,) number of populations before the parents' population.
    """

    tours: NDArray[np.int32]
    paths: NDArray[np.int32]
    lengths: NDArray[np.float64]
    excesses: NDArray[np.int64]
    counts: NDArray[np.int64]
    order: NDArray[np.int32]
    restarts: NDArray[np.int64]


class Workspace(NamedTuple):
    """Memory for improving one child; nothing is kept for the next.

    Attributes
    ----------
    table, path
        Routes during local search, and (longest path,) before and after it.
    cuts
        Memory for the split.
    route_order, angles
        Routes in use, and the direction of each from the depot.
    places
        (M, 2) places of the nodes, with the depot at the origin.
    """

    table: RouteTable
    path: Path
    cuts: NDArray[Any]
    route_order: NDArray[np.int32]
    angles: NDArray[np.float64]
    places: NDArray[np.float64]


class Evolution(NamedTuple):
    """A population and its progress.

    Attributes
    ----------
    population
        The solutions.
    best_path
        (longest path,) routes of the best feasible solution of all.
    is_taken
        (M,) memory for the crossover.
    progress
        One record of `_PROGRESS`.
    """

    population: Population
    best_path: Path
    is_taken: NDArray[np.bool_]
    progress: NDArray[Any]


def make_child_batch(size: int, children: int = 1) -> ChildBatch:
    """Allocate memory for some children."""
    customers = np.arange(1, size + 1, dtype=np.int32)
    return ChildBatch(
        tours=np.tile(customers, (children, 1)),
        paths=np.zeros((children, 2, longest_path(size)), dtype=np.int32),
        lengths=np.zeros((children, 2)),
        excesses=np.zeros((children, 2), dtype=np.int64),
        counts=np.zeros(children, dtype=np.int64),
        order=customers.copy(),
        restarts=np.zeros(1, dtype=np.int64),
    )


def make_workspace(problem: SearchProblem) -> Workspace:
    """Allocate memory for improving children one after the other."""
    assert isinstance(problem.distances, np.ndarray)  # instances without a matrix would take hours
    size = problem.size
    return Workspace(
        table=make_route_table(size),
        path=np.zeros(longest_path(size), dtype=np.int32),
        cuts=np.zeros(size + 1, dtype=CUT),
        route_order=np.zeros(size + 1, dtype=np.int32),
        angles=np.zeros(size + 1),
        places=place_around_depot(problem.distances),
    )


def make_evolution(problem: SearchProblem, initial: int) -> Evolution:
    """Make an empty population that will start with so many random solutions."""
    progress = np.zeros(1, dtype=_PROGRESS)
    penalty = _guess_penalty(problem.demands, np.asarray(problem.distances))
    progress["penalty"] = penalty
    progress["lowest_penalty"], progress["highest_penalty"] = 1e-4 * penalty, 1e3 * penalty
    progress["best_length"] = np.inf
    progress["initial"] = initial
    return Evolution(
        population=make_population(problem.size),
        best_path=np.zeros(longest_path(problem.size), dtype=np.int32),
        is_taken=np.zeros(problem.size + 1, dtype=np.bool_),
        progress=progress,
    )


def _guess_penalty(demands: NDArray[np.int64], distances: NDArray[np.float64]) -> float:
    """Guess the initial penalty for excess load, from the distance per demand of customers."""
    outward, demand = float(distances[0].mean()), max(1.0, float(demands.mean()))
    return _FIRST_PENALTY * (outward or float(distances.max()) or 1.0) / demand


def fill_in(routes: Sequence[Sequence[int]], workspace: Workspace) -> None:
    """Write routes to the workspace, for `add_feasible`."""
    path = write_path(Solution(tuple(map(tuple, routes))))
    workspace.path[:] = 0
    workspace.path[: len(path)] = path
