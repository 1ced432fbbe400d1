"""Several cores on one instance: each anneals a part of the routes, and the parts are redrawn in every round.

Ruin and recreate changes only nearby customers, so little is lost by separating parts that are not too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.problem.instance import Instance
from dynaroute.search.annealing.annealing import AnnealingSettings, RuinAndRecreate
from dynaroute.search.core.compiled import compiled
from dynaroute.search.core.legs import place_around_depot, place_nodes
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.searchers import Pace

_ROUNDS = 60  # per search; parts are redrawn after each

Routes = tuple[tuple[int, ...], ...]


class _SearchedPart(NamedTuple):
    """A part of the routes: its customers' numbers in the whole problem, and its searcher."""

    customers: NDArray[np.int32]
    searcher: RuinAndRecreate

    def translate(self, routes: Routes) -> Routes:
        """Translate routes to the numbers of the whole problem."""
        names = [0, *self.customers.tolist()]
        return tuple(tuple(names[customer] for customer in route) for route in routes)


class PartedAnnealing:
    """A searcher that anneals parts of the routes in parallel.

    Parameters
    ----------
    problem
        The problem.
    places
        (M, 2) or (M, 3) places of the nodes, from `find_places`.
    routes
        Routes to start from.
    settings
        Temperatures and sizes.
    parts
        Number of parts, each in a thread.
    seed, stream
        Seed of the random numbers; searchers with different streams are independent.
    """

    def __init__(
        self,
        problem: SearchProblem,
        places: NDArray[np.float64],
        routes: Sequence[Sequence[int]],
        settings: AnnealingSettings,
        parts: int,
        seed: int,
        stream: int = 0,
    ) -> None:
        self._problem = problem
        self._settings = settings
        self._count = parts
        self._seed, self._stream = seed, stream
        self._pool = ThreadPoolExecutor(parts, thread_name_prefix="dynaroute-part")
        self._places = places
        self._done = 0
        self._rounds = 0
        self._is_halted = False
        self._mean_leg = problem.cost(routes) / (problem.size + len(routes))
        self.adopt(routes, problem.cost(routes))

    @property
    def best_cost(self) -> float:
        """Cost of the best solution so far, which may combine the best of each part."""
        return min(self._best_cost, sum(part.searcher.best_cost for part in self._parts))

    @property
    def best_routes(self) -> Routes:
        """The best solution so far."""
        if self.best_cost == self._best_cost:
            return self._best
        return tuple(route for part in self._parts for route in part.translate(part.searcher.best_routes))

    def adopt(self, routes: Sequence[Sequence[int]], cost: float) -> None:
        """Continue from another solution, at the same temperature."""
        self._best, self._best_cost = tuple(map(tuple, routes)), cost
        self._parts = self._cut(self._best)

    def halt(self) -> None:
        """Stop a run in another thread within an iteration, and prevent later runs."""
        self._is_halted = True
        for part in self._parts:
            part.searcher.halt()

    def run(self, count: int, pace: Pace) -> int:
        """Let each part run some iterations. If they set the pace, several calls give the same as one."""
        left = count
        while left > 0 and not self._is_halted:
            until_cut = pace.iterations_until((self._rounds + 1) / _ROUNDS, self._done)
            if until_cut == 0:
                self._rounds += 1
                self._cut_anew()
                continue
            portion = min(left, until_cut)
            done = self._run_parts(portion, pace)
            self._done += done
            left -= done
            if done < portion:
                break
        return count - left

    def _run_parts(self, count: int, pace: Pace) -> int:
        runs = [self._pool.submit(part.searcher.run, count, pace) for part in self._parts]
        try:
            return min(run.result() for run in runs)
        finally:
            wait(runs)  # even after an interrupt, so that nothing is read while it is written

    def _cut_anew(self) -> None:
        """Redraw the parts from the current routes, and combine the best of each part into the best so far."""
        self._best, self._best_cost = self.best_routes, self.best_cost
        present = [route for part in self._parts for route in part.translate(part.searcher.present_routes)]
        self._parts = self._cut(present)

    def _cut(self, routes: Sequence[Sequence[int]]) -> list[_SearchedPart]:
        """Cut the routes into compact parts with about equally many customers."""
        middles = np.array([self._places[list(route)].mean(axis=0) for route in routes])
        sizes = np.array([len(route) for route in routes])
        random = np.random.default_rng([self._seed, self._stream, self._rounds])
        shares = _halve(np.arange(len(routes)), self._count, middles, sizes, random)
        return [self._make_part(number, [routes[index] for index in share]) for number, share in enumerate(shares)]

    def _make_part(self, number: int, routes: Sequence[Sequence[int]]) -> _SearchedPart:
        customers = np.array(sorted(customer for route in routes for customer in route), dtype=np.int32)
        numbers = np.zeros(self._problem.size + 1, dtype=np.int32)
        numbers[customers] = np.arange(1, len(customers) + 1)
        problem = cut_problem(self._problem, customers, numbers)
        searcher = RuinAndRecreate(
            problem,
            [numbers[list(route)].tolist() for route in routes],
            self._settings,
            self._seed,
            (self._stream * _ROUNDS * 4 + self._rounds) * self._count + number,
            mean_leg=self._mean_leg,
            done=self._done,
        )
        return _SearchedPart(customers, searcher)


def cut_problem(problem: SearchProblem, customers: NDArray[np.int32], numbers: NDArray[np.int32]) -> SearchProblem:
    """Return the problem restricted to some customers.

    Parameters
    ----------
    problem
        The whole problem.
    customers
        The customers to keep, ascending.
    numbers
        (M,) number of each node in the new problem; 0 if not kept.
    """
    nodes = np.concatenate([[0], customers])
    distances = problem.distances
    if isinstance(distances, np.ndarray):
        distances = distances[np.ix_(nodes, nodes)]
    else:
        distances = type(distances)(distances.points[nodes], distances.rounding)
    nearest = np.empty((len(nodes), problem.neighbours.shape[1]), dtype=np.int32)
    _translate_neighbours(problem.neighbours, nodes, numbers, nearest)
    return SearchProblem(distances, problem.demands[nodes], problem.capacity, nearest)


@compiled
def _translate_neighbours(
    neighbours: NDArray[np.int32], nodes: NDArray[np.int64], numbers: NDArray[np.int32], nearest: NDArray[np.int32]
) -> None:
    """List the kept neighbours; the rest of a row is the node itself, which a search skips."""
    for node in range(len(nodes)):
        listed = 0
        for neighbour in neighbours[nodes[node]]:
            if numbers[neighbour] != 0:
                nearest[node, listed] = numbers[neighbour]
                listed += 1
        for place in range(listed, nearest.shape[1]):
            nearest[node, place] = max(node, 1)


def find_places(instance: Instance, problem: SearchProblem) -> NDArray[np.float64]:
    """Return the places of the nodes on a plane or a globe; without coordinates, as the distances suggest.

    Parameters
    ----------
    instance
        Any problem.
    problem
        The same problem for compiled code.
    """
    if instance.distances is None:
        return np.asarray(place_nodes(instance).points)
    assert isinstance(problem.distances, np.ndarray)
    return place_around_depot(problem.distances)


def _halve(
    members: NDArray[np.int64],
    parts: int,
    middles: NDArray[np.float64],
    sizes: NDArray[np.int64],
    random: np.random.Generator,
) -> list[NDArray[np.int64]]:
    """Cut routes in two along a random line, and cut each half again, until there are enough parts."""
    if parts == 1 or len(members) == 1:
        return [members]
    direction = random.normal(size=middles.shape[1])
    ordered = members[np.argsort(middles[members] @ direction, kind="stable")]
    behind = np.cumsum(sizes[ordered])
    first_parts = parts // 2
    cut = int(np.abs(behind[:-1] - behind[-1] * first_parts / parts).argmin()) + 1
    halves = ((ordered[:cut], first_parts), (ordered[cut:], parts - first_parts))
    return [share for half, count in halves for share in _halve(half, count, middles, sizes, random)]
