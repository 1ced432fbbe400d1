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
from dynaroute.improve.population import (
    Population,
    add_individual,
    draw_parent,
    empty,
    is_empty,
    make_population,
    reprice,
)
from dynaroute.improve.problem import SearchProblem
from dynaroute.improve.random_numbers import RandomState, draw_below, draw_unit, make_random_state
from dynaroute.improve.split import Tour, make_split_room, split_tour
from dynaroute.solution import Solution

__all__ = [
    "GeneticSearch",
    "Nursery",
    "add_children",
    "add_feasible",
    "conceive",
    "count_iterations_a_child",
    "evolve",
    "find_best_child",
    "make_nursery",
    "place_around_depot",
    "raise_children",
]

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
        ("restarts", np.int64),  # number of populations before this one
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
        self.weight = count_iterations_a_child(problem.size)
        self._credit = 0  # requested iterations that are too few for another solution
        self._halt = np.zeros(1, dtype=np.int8)
        self._task = make_task(problem)
        self._population = make_population(problem.size)
        self._nursery = make_nursery(problem, problem.distances, initial)
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


def count_iterations_a_child(size: int) -> int:
    """Count the iterations of ruin and recreate that take as long as creating one solution."""
    return max(1, round(_ITERATIONS_A_CUSTOMER * size))


# Memory for creating solutions


class Nursery(NamedTuple):
    """Memory for creating C solutions, the children, before they are added to a population.

    Attributes
    ----------
    fleet, path
        Routes during local search, and (longest path,) before and after it.
    tours
        (C, n) each child's tour of all customers.
    paths, lengths, excesses
        (C, 2, longest path), (C, 2) and (C, 2) each child's routes after local search, and again after a repair.
    counts
        (C,) how many of these two there are.
    restarts
        (1,) number of populations before that of the parents.
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
    path: Path
    tours: NDArray[np.int32]
    paths: NDArray[np.int32]
    lengths: NDArray[np.float64]
    excesses: NDArray[np.int64]
    counts: NDArray[np.int64]
    restarts: NDArray[np.int64]
    best_path: Path
    cuts: NDArray[Any]
    is_taken: NDArray[np.bool_]
    order: NDArray[np.int32]
    route_order: NDArray[np.int32]
    angles: NDArray[np.float64]
    places: NDArray[np.float64]
    progress: NDArray[Any]


def make_nursery(problem: SearchProblem, distances: NDArray[np.float64], initial: int, children: int = 1) -> Nursery:
    """Allocate memory for some children; `initial` is the number of random solutions in a population."""
    size = problem.size
    progress = np.zeros(1, dtype=_PROGRESS)
    penalty = _guess_penalty(problem.demands, distances)
    progress["penalty"] = penalty
    progress["lowest_penalty"], progress["highest_penalty"] = 1e-4 * penalty, 1e3 * penalty
    progress["best_length"] = np.inf
    progress["initial"] = initial
    return Nursery(
        fleet=make_fleet(size),
        path=np.zeros(longest_path(size), dtype=np.int32),
        tours=np.tile(np.arange(1, size + 1, dtype=np.int32), (children, 1)),
        paths=np.zeros((children, 2, longest_path(size)), dtype=np.int32),
        lengths=np.zeros((children, 2)),
        excesses=np.zeros((children, 2), dtype=np.int64),
        counts=np.zeros(children, dtype=np.int64),
        restarts=np.zeros(1, dtype=np.int64),
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
    count: int, task: Task, population: Population, nursery: Nursery, random: RandomState, halt: NDArray[np.int8]
) -> int:
    """Create solutions one after the other until `halt` is not 0, which discards the unfinished one.

    Returns the number of solutions created.
    """
    for made in range(count):
        penalty = conceive(population, nursery, random)
        if not raise_children(task, nursery, penalty, random, halt):
            _keep_if_best(nursery)
            return made
        add_children(population, nursery)
    return count


@compiled
def conceive(population: Population, nursery: Nursery, random: RandomState) -> float:
    """Cross parents, or draw random tours at the start: the tours of new children. Returns the penalty for them."""
    progress = nursery.progress[0]
    if progress.idle >= _PATIENCE:
        empty(population)
        progress.drawn = 0
        progress.idle = 0
        progress.restarts += 1
    nursery.restarts[0] = progress.restarts
    for child in range(len(nursery.tours)):
        nursery.counts[child] = 0
        tour = nursery.tours[child]
        if progress.drawn < progress.initial or is_empty(population):
            progress.drawn += 1
            _shuffle(tour, random)
        else:
            one, other = draw_parent(random, population), draw_parent(random, population)
            _cross(population.tours[one], population.tours[other], nursery.is_taken, random, tour)
    return float(progress.penalty)


@compiled
def raise_children(task: Task, nursery: Nursery, penalty: float, random: RandomState, halt: NDArray[np.int8]) -> bool:
    """Cut the children's tours into routes, and improve these by local search; false if halted."""
    for child in range(len(nursery.tours)):
        split_tour(nursery.tours[child], nursery.cuts, task, penalty, nursery.path)
        excess = _educate_child(child, task, nursery, penalty, random, halt)
        if halt[0] == 0 and excess > 0 and draw_unit(random) < _REPAIR_PROBABILITY:
            excess = _educate_child(child, task, nursery, penalty * _REPAIR_FACTOR, random, halt)
            nursery.counts[child] -= excess > 0  # what is still overloaded is of no use
        if halt[0] != 0:
            return False
    return True


@compiled
def _educate_child(
    child: int, task: Task, nursery: Nursery, penalty: float, random: RandomState, halt: NDArray[np.int8]
) -> int:
    """Improve the routes in the nursery and write them down as a child's; returns the excess."""
    length, excess = _educate(task, nursery, penalty, random, halt)
    written = nursery.counts[child]
    nursery.paths[child, written] = nursery.path
    nursery.lengths[child, written] = length
    nursery.excesses[child, written] = excess
    nursery.counts[child] += 1
    return excess


@compiled
def add_children(population: Population, nursery: Nursery) -> None:
    """Add the children to the population, unless it is no longer that of their parents, and adapt the penalty."""
    progress = nursery.progress[0]
    progress.idle += len(nursery.tours)
    _keep_if_best(nursery)
    if nursery.restarts[0] != progress.restarts:
        return
    for child in range(len(nursery.tours)):
        for place in range(nursery.counts[child]):
            length, excess = nursery.lengths[child, place], nursery.excesses[child, place]
            add_individual(nursery.paths[child, place], length, excess, progress.penalty, population)
        progress.judged += 1
        progress.feasible += nursery.excesses[child, 0] == 0
        if progress.judged >= _PENALTY_PERIOD:
            _adapt_penalty(progress, population)


@compiled
def find_best_child(nursery: Nursery) -> tuple[float, int, int]:
    """Return the length of the best feasible child, and where its routes are; infinite if there is none."""
    best, best_child, best_place = np.inf, 0, 0
    for child in range(len(nursery.tours)):
        for place in range(nursery.counts[child]):
            if nursery.excesses[child, place] == 0 and nursery.lengths[child, place] < best:
                best, best_child, best_place = nursery.lengths[child, place], child, place
    return best, best_child, best_place


@compiled
def _keep_if_best(nursery: Nursery) -> None:
    """Record the best child if it is the best so far."""
    progress = nursery.progress[0]
    length, child, place = find_best_child(nursery)
    if length < progress.best_length:
        progress.best_length = length
        progress.idle = 0
        nursery.best_path[:] = nursery.paths[child, place]


@compiled
def add_feasible(
    task: Task, population: Population, nursery: Nursery, random: RandomState, halt: NDArray[np.int8]
) -> None:
    """Improve the feasible solution in the nursery by feasible moves, and add it to the population."""
    nursery.counts[:] = 0
    _educate_child(0, task, nursery, np.inf, random, halt)
    _keep_if_best(nursery)
    add_individual(nursery.paths[0, 0], nursery.lengths[0, 0], 0, nursery.progress[0].penalty, population)


@compiled
def _educate(
    task: Task, nursery: Nursery, penalty: float, random: RandomState, halt: NDArray[np.int8]
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
def _sort_routes(used: int, nursery: Nursery) -> None:
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
