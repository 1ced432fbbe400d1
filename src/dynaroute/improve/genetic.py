"""Hybrid genetic search: solutions are crossed, cut into routes, and improved by local search (Vidal 2022)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynaroute.improve.genetic_kernel import add_feasible, evolve, make_nursery
from dynaroute.improve.local_search_paths import split_path, write_path
from dynaroute.improve.moves_fleet import make_task
from dynaroute.improve.pacing import Pace
from dynaroute.improve.population import make_population
from dynaroute.improve.problem import SearchProblem
from dynaroute.improve.random_numbers import make_random_state
from dynaroute.solution import Solution

__all__ = ["GeneticSearch"]

_ITERATIONS_A_CUSTOMER = 1.3  # of ruin and recreate, that take as long as making one solution


class GeneticSearch:
    """A searcher that begins with random solutions and those that it is given.

    Iterations are those of ruin and recreate: making one solution counts as many as take the same time.

    Parameters
    ----------
    problem
        The problem; of its neighbours the nearest 20 are used.
    seed, stream
        Of all that is drawn; searches of one seed draw alike unless their streams differ.
    initial
        Number of random solutions to begin with, improved by local search.

    Attributes
    ----------
    weight
        How many iterations one solution counts.
    """

    def __init__(self, problem: SearchProblem, seed: int = 0, stream: int = 0, initial: int = 10) -> None:
        self.weight = max(1, round(_ITERATIONS_A_CUSTOMER * problem.size))
        self._credit = 0  # iterations that were asked for, but are too few for another solution
        self._halt = np.zeros(1, dtype=np.int8)
        self._task = make_task(problem)
        self._population = make_population(problem.size)
        self._nursery = make_nursery(problem, initial)
        self._random = make_random_state(seed, stream)

    @property
    def best_cost(self) -> float:
        """Of the best feasible solution; infinite before there is one."""
        return float(self._nursery.progress[0]["best_length"])

    @property
    def best_routes(self) -> tuple[tuple[int, ...], ...]:
        """Routes of the best feasible solution; none before there is one."""
        return split_path(self._nursery.best_path)

    def adopt(self, routes: Sequence[Sequence[int]], cost: float) -> None:
        """Improve a feasible solution by local search, and take it into the population."""
        path = write_path(Solution(tuple(map(tuple, routes))))
        self._nursery.path[:] = 0
        self._nursery.path[: len(path)] = path
        add_feasible(self._task, self._population, self._nursery, self._random, self._halt)

    def halt(self) -> None:
        """End a run that goes on in another thread, within a millisecond or so, and all later ones."""
        self._halt[0] = 1

    def run(self, count: int, pace: Pace) -> None:
        """Run some iterations; it does not matter in how many calls, and it is never hotter or cooler."""
        solutions, self._credit = divmod(self._credit + count, self.weight)
        evolve(solutions, self._task, self._population, self._nursery, self._random, self._halt)
