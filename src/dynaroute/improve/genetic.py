"""Hybrid genetic search (Vidal 2022): crossover, split into routes, local search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.improve.compiled import compiled, compiled_inline
from dynaroute.improve.local_search import descend
from dynaroute.improve.local_search_paths import Path, longest_path, split_path, write_path
from dynaroute.improve.moves_fleet import (
    Fleet,
    Task,
    first_stop,
    load_path,
    make_fleet,
    make_task,
    total_excess,
    total_length,
    unload_path,
)
from dynaroute.improve.pacing import Pace
from dynaroute.improve.population import Population, add_individual, draw_parent, empty, make_population, reprice
from dynaroute.improve.problem import SearchProblem
from dynaroute.improve.random_numbers import RandomState, draw_below, draw_unit, make_random_state
from dynaroute.improve.split import Tour, make_split_room, split_tour
from dynaroute.solution import Solution

__all__ = ["GeneticSearch", "add_feasible", "evolve", "place_around_depot"]

_ITERATIONS_A_CUSTOMER = 1.3  # of ruin and recreate, that take as long as creating one solution
_REPAIR_PROBABILITY = 0.5
_REPAIR_FACTOR = 10.0  # factor on the penalty to repair infeasible solutions
_FIRST_PENALTY = 0.4
_PENALTY_PERIOD = 100  # iterations between two changes of the penalty
_PENALTY_RISE, _PENALTY_FALL = 1.2, 0.85
_FEASIBLE_SHARE, _FEASIBLE_MARGIN = 0.2, 0.05  # target share of feasible solutions after local search
_PATIENCE = 20_000  # iterations without improvement before a new population starts

_PROGRESS = np.dtype(
    [
        ("penalty", np.float64),  # price of one unit of excess
        ("lowest_penalty", np.float64),
        ("highest_penalty", np.float64),
        ("best_length", np.float64),
        ("initial", np.int64),  # number of random solutions that a population starts with
        ("drawn", np.int64),  # number of them created so far
        ("idle", np.int64),  # iterations since the best solution was found
        ("judged", np.int64),  # solutions since the penalty was last set
        ("feasible", np.int64),  # of them feasible after local search
    ]
)


class GeneticSearch:
    """A searcher that starts from random and given solutions.

    Iterations are counted in those of ruin and recreate: creating one solution counts as many as take the same time.

    Parameters
    ----------
    problem
        The problem; the nearest 20 neighbours are used.
    seed, stream
        Seed of the random numbers; searchers with different streams are independent.
    initial
        Number of initial random solutions, improved by local search.

    Attributes
    ----------
    weight
        How many iterations one solution counts.
    """

    def __init__(self, problem: SearchProblem, seed: int = 0, stream: int = 0, initial: int = 10) -> None:
        assert isinstance(problem.distances, np.ndarray)  # instances without a matrix would take hours
        self.weight = max(1, round(_ITERATIONS_A_CUSTOMER * problem.size))
        self._credit = 0  # requested iterations that are too few for another solution
        self._halt = np.zeros(1, dtype=np.int8)
        self._task = make_task(problem)
        self._population = make_population(problem.size)
        self._nursery = _make_nursery(problem, problem.distances, initial)
        self._random = make_random_state(seed, stream)

    @property
    def best_cost(self) -> float:
        """Cost of the best feasible solution; infinite before there is one."""
        return float(self._nursery.progress[0]["best_length"])

    @property
    def best_routes(self) -> tuple[tuple[int, ...], ...]:
        """Routes of the best feasible solution; empty before there is one."""
        return split_path(self._nursery.best_path)

    def adopt(self, routes: Sequence[Sequence[int]], cost: float) -> None:
        """Improve a feasible solution by local search, and add it to the population."""
        path = write_path(Solution(tuple(map(tuple, routes))))
        self._nursery.path[:] = 0
        self._nursery.path[: len(path)] = path
        add_feasible(self._task, self._population, self._nursery, self._random, self._halt)

    def halt(self) -> None:
        """Stop a run in another thread within about a millisecond, and prevent later runs."""
        self._halt[0] = 1

    def run(self, count: int, pace: Pace) -> int:
        """Run some iterations. Splitting the run into several calls changes nothing, and there is no temperature."""
        solutions, self._credit = divmod(self._credit + count, self.weight)
        made = evolve(solutions, self._task, self._population, self._nursery, self._random, self._halt)
        return count if made == solutions else min(count, made * self.weight)


# Memory for creating solutions


class _Nursery(NamedTuple):
    """Memory for creating a solution.

    Attributes
    ----------
    fleet
        Routes during local search.
    tour, path
        (n,) the tour of all customers, and (longest path,) its routes.
    best_path
        (longest path,) routes of the best feasible solution.
    cuts
        Memory for the split.
    is_taken
        (M,) memory for the crossover.
    order
        (n,) the order in which local search tries customers.
    route_order, angles
        Routes in use, and the direction of each from the depot.
    places
        (M, 2) where the nodes lie, the depot at the origin.
    progress
        One record.
    """

    fleet: Fleet
    tour: Tour
    path: Path
    best_path: Path
    cuts: NDArray[Any]
    is_taken: NDArray[np.bool_]
    order: NDArray[np.int32]
    route_order: NDArray[np.int32]
    angles: NDArray[np.float64]
    places: NDArray[np.float64]
    progress: NDArray[Any]


def _make_nursery(problem: SearchProblem, distances: NDArray[np.float64], initial: int) -> _Nursery:
    """Allocate memory; `initial` is the number of random solutions in a population."""
    size = problem.size
    progress = np.zeros(1, dtype=_PROGRESS)
    penalty = _guess_penalty(problem.demands, distances)
    progress["penalty"] = penalty
    progress["lowest_penalty"], progress["highest_penalty"] = 1e-4 * penalty, 1e3 * penalty
    progress["best_length"] = np.inf
    progress["initial"] = initial
    return _Nursery(
        fleet=make_fleet(size),
        tour=np.arange(1, size + 1, dtype=np.int32),
        path=np.zeros(longest_path(size), dtype=np.int32),
        best_path=np.zeros(longest_path(size), dtype=np.int32),
        cuts=make_split_room(size),
        is_taken=np.zeros(size + 1, dtype=np.bool_),
        order=np.arange(1, size + 1, dtype=np.int32),
        route_order=np.zeros(size + 1, dtype=np.int32),
        angles=np.zeros(size + 1),
        places=place_around_depot(distances),
        progress=progress,
    )


def _guess_penalty(demands: NDArray[np.int64], distances: NDArray[np.float64]) -> float:
    """Guess the initial penalty for excess load, from the distance per demand of customers."""
    outward, demand = float(distances[0].mean()), max(1.0, float(demands.mean()))
    return _FIRST_PENALTY * (outward or float(distances.max()) or 1.0) / demand


def place_around_depot(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Place nodes around the depot, up to a reflection, from distances only, so that a matrix is enough.

    The first axis points to the node farthest from the depot. A node's distance from that axis follows from its
    distances to both; its side, from its distance to the node farthest off the axis.
    """
    outward = distances[0]
    far = int(outward.argmax())
    if outward[far] == 0:
        return np.zeros((len(distances), 2))
    along = (outward**2 + outward[far] ** 2 - distances[far] ** 2) / (2 * outward[far])
    aside = np.sqrt(np.maximum(outward**2 - along**2, 0.0))
    guide = int(aside.argmax())
    same_side, other_side = (np.hypot(along - along[guide], aside - side) for side in (aside[guide], -aside[guide]))
    is_across = np.abs(other_side - distances[guide]) < np.abs(same_side - distances[guide])
    return np.stack([along, np.where(is_across, -aside, aside)], axis=1)


# Creating solutions


@compiled
def evolve(
    count: int, task: Task, population: Population, nursery: _Nursery, random: RandomState, halt: NDArray[np.int8]
) -> int:
    """Create solutions one after the other until `halt` is not 0, which discards the unfinished one.

    Returns the number of solutions created.
    """
    progress = nursery.progress[0]
    for made in range(count):
        if progress.idle >= _PATIENCE:
            empty(population)
            progress.drawn = 0
            progress.idle = 0
        if progress.drawn < progress.initial:
            progress.drawn += 1
            _shuffle(nursery.tour, random)
        else:
            one, other = draw_parent(random, population), draw_parent(random, population)
            _cross(population.tours[one], population.tours[other], nursery.is_taken, random, nursery.tour)
        split_tour(nursery.tour, nursery.cuts, task, progress.penalty, nursery.path)
        if not _educate_and_add(task, population, nursery, random, halt):
            return made
    return count


@compiled
def add_feasible(
    task: Task, population: Population, nursery: _Nursery, random: RandomState, halt: NDArray[np.int8]
) -> None:
    """Improve the feasible solution in the nursery by feasible moves, and add it to the population."""
    length, _ = _educate(task, nursery, np.inf, random, halt)
    _keep_if_best(length, nursery)
    add_individual(nursery.path, length, 0, nursery.progress[0].penalty, population)


@compiled
def _educate_and_add(
    task: Task, population: Population, nursery: _Nursery, random: RandomState, halt: NDArray[np.int8]
) -> bool:
    """Improve the solution in the nursery by local search, and add it to the population; false if halted."""
    progress = nursery.progress[0]
    penalty, factor = progress.penalty, 1.0
    progress.idle += 1
    while True:
        length, excess = _educate(task, nursery, penalty * factor, random, halt)
        if excess == 0:
            _keep_if_best(length, nursery)
        if halt[0] != 0:
            return False
        if factor == 1.0:
            progress.judged += 1
            progress.feasible += excess == 0
        if factor == 1.0 or excess == 0:
            add_individual(nursery.path, length, excess, penalty, population)
        if excess == 0 or factor > 1.0 or draw_unit(random) >= _REPAIR_PROBABILITY:
            break
        factor = _REPAIR_FACTOR
    if progress.judged >= _PENALTY_PERIOD:
        _adapt_penalty(progress, population)
    return True


@compiled
def _keep_if_best(length: float, nursery: _Nursery) -> None:
    """Record a feasible solution if it is the best so far."""
    progress = nursery.progress[0]
    if length < progress.best_length:
        progress.best_length = length
        progress.idle = 0
        nursery.best_path[:] = nursery.path


@compiled
def _educate(
    task: Task, nursery: _Nursery, penalty: float, random: RandomState, halt: NDArray[np.int8]
) -> tuple[float, int]:
    """Improve the routes in the nursery, and sort them by direction from the depot."""
    fleet = nursery.fleet
    used = load_path(nursery.path, fleet, task)
    _shuffle(nursery.order, random)
    used = descend(nursery.order, used, fleet, task, penalty, halt)
    _sort_routes(used, nursery)
    unload_path(nursery.route_order[:used], fleet, len(nursery.order), nursery.path)
    return total_length(fleet, used), total_excess(fleet, used, task.capacity)


@compiled
def _adapt_penalty(progress: Any, population: Population) -> None:
    """Adapt the penalty so that the target share of solutions is feasible."""
    share = progress.feasible / progress.judged
    if share <= _FEASIBLE_SHARE:
        progress.penalty = min(progress.penalty * _PENALTY_RISE, progress.highest_penalty)
    elif share >= _FEASIBLE_SHARE + _FEASIBLE_MARGIN:
        progress.penalty = max(progress.penalty * _PENALTY_FALL, progress.lowest_penalty)
    progress.judged = 0
    progress.feasible = 0
    reprice(progress.penalty, population)


@compiled_inline
def _shuffle(customers: NDArray[np.int32], random: RandomState) -> None:
    for last in range(len(customers) - 1, 0, -1):
        drawn = draw_below(random, last + 1)
        customers[last], customers[drawn] = customers[drawn], customers[last]


@compiled_inline
def _cross(one: Tour, other: Tour, is_taken: NDArray[np.bool_], random: RandomState, child: Tour) -> None:
    """Order crossover: keep a part of one tour in place, and fill the rest in the order of the other."""
    size = len(child)
    start, length = draw_below(random, size), 1 + draw_below(random, size)
    for customer in range(size + 1):
        is_taken[customer] = False
    for step in range(length):
        place = (start + step) % size
        child[place] = one[place]
        is_taken[one[place]] = True
    place = (start + length) % size
    source = place
    for _ in range(size):
        customer = other[source]
        source = source + 1 if source + 1 < size else 0
        if not is_taken[customer]:
            child[place] = customer
            place = place + 1 if place + 1 < size else 0


@compiled_inline
def _sort_routes(used: int, nursery: _Nursery) -> None:
    """Sort routes by the direction of their centre, so that neighbours in a tour are neighbours on the map."""
    stops, places, angles, order = nursery.fleet.stops, nursery.places, nursery.angles, nursery.route_order
    for route in range(used):
        start = first_stop(route, len(nursery.order))
        x, y = 0.0, 0.0
        stop = stops[start].after
        while stop != start + 1:
            x += places[stop, 0]
            y += places[stop, 1]
            stop = stops[stop].after
        angles[route] = np.arctan2(y, x)
        place = route
        while place > 0 and angles[order[place - 1]] > angles[route]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = route
