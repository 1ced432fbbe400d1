"""Hybrid genetic search (Vidal 2022): crossover, split into routes, local search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.improve.compiled import compiled, compiled_inline, make_apart
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
    "Lineage",
    "Litter",
    "Nursery",
    "add_children",
    "add_feasible",
    "bring_in",
    "conceive",
    "count_iterations_a_child",
    "evolve",
    "find_best_child",
    "make_lineage",
    "make_litter",
    "make_nursery",
    "place_around_depot",
    "raise_children",
]

_ITERATIONS_A_CUSTOMER = 1.3  # iterations of ruin and recreate that take as long as one new solution
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
        ("drawn", np.int64),  # number of these created so far
        ("idle", np.int64),  # iterations since the best solution was found
        ("judged", np.int64),  # solutions since the penalty was last set
        ("feasible", np.int64),  # those of them that were feasible after local search
    ]
)


class GeneticSearch:
    """A searcher that starts from random and given solutions.

    Creating one solution counts as the number of iterations of ruin and recreate that take as long.

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
        The number of iterations that one solution counts as.
    """

    def __init__(self, problem: SearchProblem, seed: int = 0, stream: int = 0, initial: int = 10) -> None:
        self.weight = count_iterations_a_child(problem.size)
        self._credit = 0  # requested iterations that are too few for another solution
        self._halt = make_apart(1, np.int8)
        self._task = make_task(problem)
        self._lineage = make_lineage(problem, initial)
        self._litter = make_litter(problem.size)
        self._nursery = make_nursery(problem)
        self._random = make_random_state(seed, stream)

    @property
    def best_cost(self) -> float:
        """Cost of the best feasible solution; infinite before there is one."""
        return float(self._lineage.progress[0]["best_length"])

    @property
    def best_routes(self) -> tuple[tuple[int, ...], ...]:
        """Routes of the best feasible solution; empty before there is one."""
        return split_path(self._lineage.best_path)

    def adopt(self, routes: Sequence[Sequence[int]], cost: float) -> None:
        """Improve a feasible solution by local search, and add it to the population."""
        bring_in(routes, self._nursery)
        add_feasible(self._task, self._lineage, self._litter, self._nursery, self._random, self._halt)

    def halt(self) -> None:
        """Stop a run in another thread within about a millisecond, and prevent later runs."""
        self._halt[0] = 1

    def run(self, count: int, pace: Pace) -> int:
        """Run some iterations. The pace is ignored, and splitting the run into several calls changes nothing."""
        solutions, self._credit = divmod(self._credit + count, self.weight)
        made = evolve(solutions, self._task, self._lineage, self._litter, self._nursery, self._random, self._halt)
        return count if made == solutions else min(count, made * self.weight)


def count_iterations_a_child(size: int) -> int:
    """Count the iterations of ruin and recreate that take as long as creating one solution."""
    return max(1, round(_ITERATIONS_A_CUSTOMER * size))


def bring_in(routes: Sequence[Sequence[int]], nursery: Nursery) -> None:
    """Write routes to the nursery, for `add_feasible`."""
    path = write_path(Solution(tuple(map(tuple, routes))))
    nursery.path[:] = 0
    nursery.path[: len(path)] = path


# Memory for creating solutions


class Litter(NamedTuple):
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


class Nursery(NamedTuple):
    """Memory for raising one child; nothing is kept for the next.

    Attributes
    ----------
    fleet, path
        Routes during local search, and (longest path,) before and after it.
    cuts
        Memory for the split.
    route_order, angles
        Routes in use, and the direction of each from the depot.
    places
        (M, 2) places of the nodes, with the depot at the origin.
    """

    fleet: Fleet
    path: Path
    cuts: NDArray[Any]
    route_order: NDArray[np.int32]
    angles: NDArray[np.float64]
    places: NDArray[np.float64]


class Lineage(NamedTuple):
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


def make_litter(size: int, children: int = 1) -> Litter:
    """Allocate memory for some children."""
    customers = np.arange(1, size + 1, dtype=np.int32)
    return Litter(
        tours=np.tile(customers, (children, 1)),
        paths=np.zeros((children, 2, longest_path(size)), dtype=np.int32),
        lengths=np.zeros((children, 2)),
        excesses=np.zeros((children, 2), dtype=np.int64),
        counts=np.zeros(children, dtype=np.int64),
        order=customers.copy(),
        restarts=np.zeros(1, dtype=np.int64),
    )


def make_nursery(problem: SearchProblem) -> Nursery:
    """Allocate memory for raising children one after the other."""
    assert isinstance(problem.distances, np.ndarray)  # instances without a matrix would take hours
    size = problem.size
    return Nursery(
        fleet=make_fleet(size),
        path=np.zeros(longest_path(size), dtype=np.int32),
        cuts=make_split_room(size),
        route_order=np.zeros(size + 1, dtype=np.int32),
        angles=np.zeros(size + 1),
        places=place_around_depot(problem.distances),
    )


def make_lineage(problem: SearchProblem, initial: int) -> Lineage:
    """Make an empty population that will start with so many random solutions."""
    progress = np.zeros(1, dtype=_PROGRESS)
    penalty = _guess_penalty(problem.demands, np.asarray(problem.distances))
    progress["penalty"] = penalty
    progress["lowest_penalty"], progress["highest_penalty"] = 1e-4 * penalty, 1e3 * penalty
    progress["best_length"] = np.inf
    progress["initial"] = initial
    return Lineage(
        population=make_population(problem.size),
        best_path=np.zeros(longest_path(problem.size), dtype=np.int32),
        is_taken=np.zeros(problem.size + 1, dtype=np.bool_),
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
    count: int,
    task: Task,
    lineage: Lineage,
    litter: Litter,
    nursery: Nursery,
    random: RandomState,
    halt: NDArray[np.int8],
) -> int:
    """Create solutions one after the other until `halt` is not 0, which discards the unfinished one.

    Returns the number of solutions created.
    """
    for made in range(count):
        penalty = conceive(lineage, litter, random)
        if not raise_children(task, litter, nursery, penalty, random, halt):
            _keep_if_best(lineage, litter)
            return made
        add_children(lineage, litter)
    return count


@compiled
def conceive(lineage: Lineage, litter: Litter, random: RandomState) -> float:
    """Create the children's tours by crossover, or at random at the start; returns the penalty to raise them with."""
    population, progress = lineage.population, lineage.progress[0]
    if progress.idle >= _PATIENCE:
        empty(population)
        progress.drawn = 0
        progress.idle = 0
        progress.restarts += 1
    litter.restarts[0] = progress.restarts
    for child in range(len(litter.tours)):
        litter.counts[child] = 0
        tour = litter.tours[child]
        if progress.drawn < progress.initial or is_empty(population):
            progress.drawn += 1
            _shuffle(tour, random)
        else:
            one, other = draw_parent(random, population), draw_parent(random, population)
            _cross(population.tours[one], population.tours[other], lineage.is_taken, random, tour)
    return float(progress.penalty)


@compiled
def raise_children(
    task: Task, litter: Litter, nursery: Nursery, penalty: float, random: RandomState, halt: NDArray[np.int8]
) -> bool:
    """Cut the children's tours into routes and improve them by local search; returns false if halted."""
    for child in range(len(litter.tours)):
        split_tour(litter.tours[child], nursery.cuts, task, penalty, nursery.path)
        excess = _educate(child, task, litter, nursery, penalty, random, halt)
        if halt[0] == 0 and excess > 0 and draw_unit(random) < _REPAIR_PROBABILITY:
            excess = _educate(child, task, litter, nursery, penalty * _REPAIR_FACTOR, random, halt)
            litter.counts[child] -= excess > 0  # still overloaded, so of no use
        if halt[0] != 0:
            return False
    return True


@compiled
def _educate(
    child: int,
    task: Task,
    litter: Litter,
    nursery: Nursery,
    penalty: float,
    random: RandomState,
    halt: NDArray[np.int8],
) -> int:
    """Improve the routes in the nursery, sort them by direction, and store them in the litter; returns the excess."""
    fleet, size = nursery.fleet, len(litter.order)
    used = load_path(nursery.path, fleet, task)
    _shuffle(litter.order, random)
    used = descend(litter.order, used, fleet, task, penalty, halt)
    _sort_routes(used, size, nursery)
    unload_path(nursery.route_order[:used], fleet, size, nursery.path)
    excess = total_excess(fleet, used, task.capacity)
    place = litter.counts[child]
    litter.paths[child, place] = nursery.path
    litter.lengths[child, place] = total_length(fleet, used)
    litter.excesses[child, place] = excess
    litter.counts[child] += 1
    return excess


@compiled
def add_children(lineage: Lineage, litter: Litter) -> None:
    """Add children to the population and adapt the penalty, unless their parents' population was discarded."""
    progress = lineage.progress[0]
    progress.idle += len(litter.tours)
    _keep_if_best(lineage, litter)
    if litter.restarts[0] != progress.restarts:
        return
    for child in range(len(litter.tours)):
        for place in range(litter.counts[child]):
            length, excess = litter.lengths[child, place], litter.excesses[child, place]
            add_individual(litter.paths[child, place], length, excess, progress.penalty, lineage.population)
        progress.judged += 1
        progress.feasible += litter.excesses[child, 0] == 0
        if progress.judged >= _PENALTY_PERIOD:
            _adapt_penalty(progress, lineage.population)


@compiled
def add_feasible(
    task: Task, lineage: Lineage, litter: Litter, nursery: Nursery, random: RandomState, halt: NDArray[np.int8]
) -> None:
    """Improve the feasible solution in the nursery by feasible moves, and add it to the population."""
    litter.counts[:] = 0
    _educate(0, task, litter, nursery, np.inf, random, halt)
    _keep_if_best(lineage, litter)
    progress = lineage.progress[0]
    add_individual(litter.paths[0, 0], litter.lengths[0, 0], 0, progress.penalty, lineage.population)


@compiled
def find_best_child(litter: Litter) -> tuple[float, int, int]:
    """Return the length of the best feasible child, and where its routes are; infinite if there is none."""
    best, best_child, best_place = np.inf, 0, 0
    for child in range(len(litter.tours)):
        for place in range(litter.counts[child]):
            if litter.excesses[child, place] == 0 and litter.lengths[child, place] < best:
                best, best_child, best_place = litter.lengths[child, place], child, place
    return best, best_child, best_place


@compiled
def _keep_if_best(lineage: Lineage, litter: Litter) -> None:
    """Record the best child if it is the best so far."""
    progress = lineage.progress[0]
    length, child, place = find_best_child(litter)
    if length < progress.best_length:
        progress.best_length = length
        progress.idle = 0
        lineage.best_path[:] = litter.paths[child, place]


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
def _sort_routes(used: int, size: int, nursery: Nursery) -> None:
    """Sort routes by the direction of their centre, so that neighbours in a tour are neighbours on the map."""
    stops, places, angles, order = nursery.fleet.stops, nursery.places, nursery.angles, nursery.route_order
    for route in range(used):
        start = first_stop(route, size)
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
