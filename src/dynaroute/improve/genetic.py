"""Hybrid genetic search (Vidal 2022): crossover, split into routes, local search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.improve.compiled import compiled, compiled_inline, make_apart
from dynaroute.improve.genetic_memory import (
    Lineage,
    Litter,
    Nursery,
    bring_in,
    make_lineage,
    make_litter,
    make_nursery,
)
from dynaroute.improve.local_search import descend
from dynaroute.improve.local_search_paths import split_path
from dynaroute.improve.moves_fleet import (
    Task,
    first_stop,
    load_path,
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
    reprice,
)
from dynaroute.improve.problem import SearchProblem
from dynaroute.improve.random_numbers import RandomState, draw_below, draw_unit, make_random_state
from dynaroute.improve.split import Tour, split_tour

__all__ = [
    "GeneticSearch",
    "add_children",
    "add_feasible",
    "conceive",
    "count_iterations_per_child",
    "evolve",
    "find_best_child",
    "raise_children",
]

_ITERATIONS_PER_CUSTOMER = 1.3  # iterations of ruin and recreate that take as long as one new solution
_REPAIR_PROBABILITY = 0.5
_REPAIR_FACTOR = 10.0  # factor on the penalty to repair infeasible solutions
_PENALTY_PERIOD = 100  # iterations between two changes of the penalty
_PENALTY_RISE, _PENALTY_FALL = 1.2, 0.85
_FEASIBLE_SHARE, _FEASIBLE_MARGIN = 0.2, 0.05  # target share of feasible solutions after local search
_PATIENCE = 20_000  # iterations without improvement before a new population starts


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
        self.weight = count_iterations_per_child(problem.size)
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


def count_iterations_per_child(size: int) -> int:
    """Count the iterations of ruin and recreate that take as long as creating one solution."""
    return max(1, round(_ITERATIONS_PER_CUSTOMER * size))


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
    table, size = nursery.table, len(litter.order)
    used = load_path(nursery.path, table, task)
    _shuffle(litter.order, random)
    used = descend(litter.order, used, table, task, penalty, halt)
    _sort_routes(used, size, nursery)
    unload_path(nursery.route_order[:used], table, size, nursery.path)
    excess = total_excess(table, used, task.capacity)
    place = litter.counts[child]
    litter.paths[child, place] = nursery.path
    litter.lengths[child, place] = total_length(table, used)
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
    stops, places, angles, order = nursery.table.stops, nursery.places, nursery.angles, nursery.route_order
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
