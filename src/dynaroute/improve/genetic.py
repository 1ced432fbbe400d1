"""Hybrid genetic search: solutions are crossed, cut into routes, and improved by local search (Vidal 2022)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynaroute.improve.genetic_kernel import add_feasible, evolve, make_nursery
from dynaroute.improve.local_search_paths import split_path, write_path
from dynaroute.improve.moves_fleet import make_task
from dynaroute.improve.population import make_population
from dynaroute.improve.problem import SearchProblem
from dynaroute.improve.random_numbers import make_random_state
from dynaroute.solution import Solution

__all__ = ["GeneticSearch"]


class GeneticSearch:
    """A search that can be run for some iterations at a time.

    The same seed, starts and number of iterations give the same result, however the iterations are cut into runs.

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
    halt
        One number. Whoever sets it to 1, from another thread, ends a run within a millisecond or so; the iteration
        that it breaks off is lost.
    """

    def __init__(self, problem: SearchProblem, seed: int = 0, stream: int = 0, initial: int = 100) -> None:
        self.halt: NDArray[np.int8] = np.zeros(1, dtype=np.int8)
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

    def add(self, routes: Sequence[Sequence[int]]) -> None:
        """Improve a solution by local search, and take it into the population.

        Parameters
        ----------
        routes
            Sequences of customers that visit every one once, and that fit into the vehicles.
        """
        path = write_path(Solution(tuple(map(tuple, routes))))
        self._nursery.path[:] = 0
        self._nursery.path[: len(path)] = path
        add_feasible(self._task, self._population, self._nursery, self._random, self.halt)

    def run(self, iterations: int) -> int:
        """Go on for a number of iterations.

        Parameters
        ----------
        iterations
            How many; each makes one solution and improves it.

        Returns
        -------
        int
            Number of iterations finished: less than wanted if `halt` was set.
        """
        return int(evolve(iterations, self._task, self._population, self._nursery, self._random, self.halt))
