"""Hybrid genetic search (Vidal 2022): crossover, split into routes, local search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.core.compiled import compiled, compiled_inline, make_apart
from dynaroute.search.core.paths import split_path
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.random_numbers import RandomState, draw_below, draw_unit, make_random_state
from dynaroute.search.core.routes import (
    Task,
    first_stop,
    load_path,
    make_task,
    total_excess,
    total_length,
    unload_path,
)
from dynaroute.search.genetic.memory import (
    ChildBatch,
    Evolution,
    Workspace,
    fill_in,
    make_child_batch,
    make_evolution,
    make_workspace,
)
from dynaroute.search.genetic.population import (
    Population,
    add_individual,
    draw_parent,
    empty,
    is_empty,
    reprice,
)
from dynaroute.search.genetic.split import Tour, split_tour
from dynaroute.search.local.local_search import descend
from dynaroute.search.searchers import Pace

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
        self._evolution = make_evolution(problem, initial)
        self._batch = make_child_batch(problem.size)
        self._workspace = make_workspace(problem)
        self._random = make_random_state(seed, stream)

    @property
    def best_cost(self) -> float:
        """Cost of the best feasible solution; infinite before there is one."""
        return float(self._evolution.progress[0]["best_length"])

    @property
    def best_routes(self) -> tuple[tuple[int, ...], ...]:
        """Routes of the best feasible solution; empty before there is one."""
        return split_path(self._evolution.best_path)

    def adopt(self, routes: Sequence[Sequence[int]], cost: float) -> None:
        """Improve a feasible solution by local search, and add it to the population."""
        fill_in(routes, self._workspace)
        add_feasible(self._task, self._evolution, self._batch, self._workspace, self._random, self._halt)

    def halt(self) -> None:
        """Stop a run in another thread within about a millisecond, and prevent later runs."""
        self._halt[0] = 1

    def run(self, count: int, pace: Pace) -> int:
        """Run some iterations. The pace is ignored, and splitting the run into several calls changes nothing."""
        solutions, self._credit = divmod(self._credit + count, self.weight)
        made = evolve(solutions, self._task, self._evolution, self._batch, self._workspace, self._random, self._halt)
        return count if made == solutions else min(count, made * self.weight)


def count_iterations_per_child(size: int) -> int:
    """Count the iterations of ruin and recreate that take as long as creating one solution."""
    return max(1, round(_ITERATIONS_PER_CUSTOMER * size))


@compiled
def evolve(
    count: int,
    task: Task,
    evolution: Evolution,
    batch: ChildBatch,
    workspace: Workspace,
    random: RandomState,
    halt: NDArray[np.int8],
) -> int:
    """Create solutions one after the other until `halt` is not 0, which discards the unfinished one.

    Returns the number of solutions created.
    """
    for made in range(count):
        penalty = draw_children(evolution, batch, random)
        if not improve_children(task, batch, workspace, penalty, random, halt):
            _keep_if_best(evolution, batch)
            return made
        add_children(evolution, batch)
    return count


@compiled
def draw_children(evolution: Evolution, batch: ChildBatch, random: RandomState) -> float:
    """Create the children's tours by crossover, or at random at the start; returns the penalty to improve them with."""
    population, progress = evolution.population, evolution.progress[0]
    if progress.idle >= _PATIENCE:
        empty(population)
        progress.drawn = 0
        progress.idle = 0
        progress.restarts += 1
    batch.restarts[0] = progress.restarts
    for child in range(len(batch.tours)):
        batch.counts[child] = 0
        tour = batch.tours[child]
        if progress.drawn < progress.initial or is_empty(population):
            progress.drawn += 1
            _shuffle(tour, random)
        else:
            one, other = draw_parent(random, population), draw_parent(random, population)
            _cross(population.tours[one], population.tours[other], evolution.is_taken, random, tour)
    return float(progress.penalty)


@compiled
def improve_children(
    task: Task, batch: ChildBatch, workspace: Workspace, penalty: float, random: RandomState, halt: NDArray[np.int8]
) -> bool:
    """Cut the children's tours into routes and improve them by local search; returns false if halted."""
    for child in range(len(batch.tours)):
        split_tour(batch.tours[child], workspace.cuts, task, penalty, workspace.path)
        excess = _improve_child(child, task, batch, workspace, penalty, random, halt)
        if halt[0] == 0 and excess > 0 and draw_unit(random) < _REPAIR_PROBABILITY:
            excess = _improve_child(child, task, batch, workspace, penalty * _REPAIR_FACTOR, random, halt)
            batch.counts[child] -= excess > 0  # still overloaded, so of no use
        if halt[0] != 0:
            return False
    return True


@compiled
def _improve_child(
    child: int,
    task: Task,
    batch: ChildBatch,
    workspace: Workspace,
    penalty: float,
    random: RandomState,
    halt: NDArray[np.int8],
) -> int:
    """Improve the routes in the workspace, sort them by direction, and store them in the batch; returns the excess."""
    table, size = workspace.table, len(batch.order)
    used = load_path(workspace.path, table, task)
    _shuffle(batch.order, random)
    used = descend(batch.order, used, table, task, penalty, halt)
    _sort_routes(used, size, workspace)
    unload_path(workspace.route_order[:used], table, size, workspace.path)
    excess = total_excess(table, used, task.capacity)
    place = batch.counts[child]
    batch.paths[child, place] = workspace.path
    batch.lengths[child, place] = total_length(table, used)
    batch.excesses[child, place] = excess
    batch.counts[child] += 1
    return excess


@compiled
def add_children(evolution: Evolution, batch: ChildBatch) -> None:
    """Add children to the population and adapt the penalty, unless their parents' population was discarded."""
    progress = evolution.progress[0]
    progress.idle += len(batch.tours)
    _keep_if_best(evolution, batch)
    if batch.restarts[0] != progress.restarts:
        return
    for child in range(len(batch.tours)):
        for place in range(batch.counts[child]):
            length, excess = batch.lengths[child, place], batch.excesses[child, place]
            add_individual(batch.paths[child, place], length, excess, progress.penalty, evolution.population)
        progress.judged += 1
        progress.feasible += batch.excesses[child, 0] == 0
        if progress.judged >= _PENALTY_PERIOD:
            _adapt_penalty(progress, evolution.population)


@compiled
def add_feasible(
    task: Task,
    evolution: Evolution,
    batch: ChildBatch,
    workspace: Workspace,
    random: RandomState,
    halt: NDArray[np.int8],
) -> None:
    """Improve the feasible solution in the workspace by feasible moves, and add it to the population."""
    batch.counts[:] = 0
    _improve_child(0, task, batch, workspace, np.inf, random, halt)
    _keep_if_best(evolution, batch)
    progress = evolution.progress[0]
    add_individual(batch.paths[0, 0], batch.lengths[0, 0], 0, progress.penalty, evolution.population)


@compiled
def find_best_child(batch: ChildBatch) -> tuple[float, int, int]:
    """Return the length of the best feasible child, and where its routes are; infinite if there is none."""
    best, best_child, best_place = np.inf, 0, 0
    for child in range(len(batch.tours)):
        for place in range(batch.counts[child]):
            if batch.excesses[child, place] == 0 and batch.lengths[child, place] < best:
                best, best_child, best_place = batch.lengths[child, place], child, place
    return best, best_child, best_place


@compiled
def _keep_if_best(evolution: Evolution, batch: ChildBatch) -> None:
    """Record the best child if it is the best so far."""
    progress = evolution.progress[0]
    length, child, place = find_best_child(batch)
    if length < progress.best_length:
        progress.best_length = length
        progress.idle = 0
        evolution.best_path[:] = batch.paths[child, place]


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
def _sort_routes(used: int, size: int, workspace: Workspace) -> None:
    """Sort routes by the direction of their centre, so that neighbours in a tour are neighbours on the map."""
    stops, places, angles, order = workspace.table.stops, workspace.places, workspace.angles, workspace.route_order
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
