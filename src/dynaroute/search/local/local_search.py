"""Local search: moves of customers next to their neighbours, then SWAP*, until no move gains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, get_args

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import SolutionError
from dynaroute.base.stopping import OutOfTimeError
from dynaroute.problem.instance import Instance
from dynaroute.problem.lengths import Rounding
from dynaroute.problem.solution import Solution
from dynaroute.search.core.compiled import compiled_inline
from dynaroute.search.core.paths import (
    Halt,
    Path,
    longest_path,
    paths_to_route_tables,
    price_path,
    read_solution,
    refuse_unequal_numbers,
    refuse_wrong_visits,
    route_tables_to_paths,
    share_among_threads,
    write_path,
)
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.core.routes import (
    RouteTable,
    Task,
    find_empty_route,
    first_stop,
    load_path,
    make_route_table,
    make_task,
    refresh_route,
    unload_path,
)
from dynaroute.search.local.moves import NO_MOVE, apply_move, find_move_after_depot, find_move_beside
from dynaroute.search.local.swap_star import swap_best_pair

if TYPE_CHECKING:
    from dynaroute.batch import InstanceBatch, RouteBatch

_NEIGHBOURS = 20  # next to which a customer may be moved
_TOUCHING = 3  # SWAP* tries two routes if a customer of one is among this many nearest of a customer of the other


def improve_by_local_search(
    instances: Sequence[Instance],
    solutions: Sequence[Solution],
    *,
    threads: int | None = None,
    is_time_up: Callable[[], bool] | None = None,
) -> list[Solution]:
    """Improve solutions to a local optimum.

    Moves: relocate, swap and Or-opt of one and two customers, 2-opt, 2-opt* and SWAP*, next to near neighbours. No
    solution becomes longer or infeasible.

    Parameters
    ----------
    instances
        The instances.
    solutions
        A feasible solution for each.
    threads
        Most threads to use; None: all cores of this process.
    is_time_up
        Called every few milliseconds; returning true ends the work, and moves may still gain.

    Returns
    -------
    list[Solution]
        Improved solutions in the same order, with their costs stated.

    Raises
    ------
    SolutionError
        If a solution is not feasible.

    Examples
    --------
    >>> improve_by_local_search([instance], [build_by_savings(instance)])[0].stated_cost
    """
    refuse_unequal_numbers(instances, solutions)
    paths = [write_path(solution) for solution in solutions]
    for number, (instance, path) in enumerate(zip(instances, paths, strict=True), start=1):
        refuse_wrong_visits(instance, path, number)
        _refuse_overload(instance, path, number)
    _improve_all(lambda index: instances[index], paths, threads, Halt(is_time_up))
    return [read_solution(instance, path) for instance, path in zip(instances, paths, strict=True)]


def improve_routes_by_local_search(
    batch: InstanceBatch, routes: RouteBatch, *, threads: int | None = None
) -> RouteBatch:
    """Do what `improve_by_local_search` does, for a batch.

    Parameters
    ----------
    batch
        The instances.
    routes
        A feasible solution for each.
    threads
        Most threads to use; None: all cores of this process.
    """
    import torch

    from dynaroute.batch import RouteBatch

    route, position = routes.route.cpu().numpy().copy(), routes.position.cpu().numpy().copy()
    sizes = batch.sizes.cpu().numpy()
    padded = np.empty((len(batch), longest_path(batch.nodes - 1)), dtype=np.int32)
    route_tables_to_paths(route, position, sizes, padded, 0, len(batch))
    paths = [path[: longest_path(size)] for path, size in zip(padded, sizes.tolist(), strict=True)]
    _improve_all(lambda index: _make_instance(batch, index), paths, threads, Halt())
    for path, improved in zip(padded, paths, strict=True):
        path[: len(improved)] = improved
    paths_to_route_tables(padded, route, position, 0, len(batch))
    device = routes.route.device
    return RouteBatch(torch.from_numpy(route).to(device), torch.from_numpy(position).to(device))


def _make_instance(batch: InstanceBatch, index: int) -> Instance:
    """Make the instance of one row of a batch, for costs and loads."""
    nodes = int(batch.sizes[index]) + 1
    return Instance(
        coordinates=batch.coordinates[index, :nodes].numpy(force=True),
        demands=batch.demands[index, :nodes].numpy(force=True),
        capacity=int(batch.capacity[index]),
        rounding=get_args(Rounding)[int(batch.rounding[index])] if batch.distances is None else "none",
        distances=None if batch.distances is None else batch.distances[index, :nodes, :nodes].numpy(force=True),
    )


def _improve_all(instance_at: Callable[[int], Instance], paths: list[Path], threads: int | None, halt: Halt) -> None:
    """Improve the paths in place, in threads."""

    def improve_part(first: int, last: int) -> None:
        for index in range(first, last):
            with suppress(OutOfTimeError):
                paths[index] = _improve_path(instance_at(index), paths[index], halt)

    share_among_threads(improve_part, len(paths), threads, halt)


def _improve_path(instance: Instance, path: Path, halt: Halt) -> Path:
    size = instance.size
    problem = SearchProblem.from_instance(instance, _NEIGHBOURS, is_time_up=halt.is_set)
    task, table = make_task(problem), make_route_table(size)
    customers = np.arange(1, size + 1, dtype=np.int32)
    used = load_path(path, table, task)
    used = descend(customers, used, table, task, np.inf, halt.flag)
    improved = np.empty(longest_path(size), dtype=np.int32)
    unload_path(np.arange(used, dtype=np.int32), table, size, improved)
    # sums of gains have rounding errors, so compare actual lengths
    return improved if price_path(improved, task.distances) < price_path(path, task.distances) else path


def _refuse_overload(instance: Instance, path: Path, number: int) -> None:
    total = np.cumsum(instance.demands[path])
    loads = np.diff(total[path == 0])
    if (loads <= instance.capacity).all():
        return
    raise SolutionError.about(
        "routes",
        f"solution {number} has a route whose load exceeds the capacity.",
        "dynaroute check lists what is wrong.",
    )


# The descent


@compiled_inline
def descend(
    order: NDArray[np.int32], count: int, table: RouteTable, task: Task, penalty: float, halt: NDArray[np.int8]
) -> int:
    """Improve routes until no move gains; length plus penalty never grows.

    Customers are tried in the given order. At least one of the first `count` routes must be empty. Returns the number
    of routes in use afterwards. An infinite penalty allows no excess. Setting `halt` to a value other than 0 from
    another thread stops it within microseconds.
    """
    stops, routes = table.stops, table.routes
    moves, loop, is_improving = 0, 0, True
    while is_improving:
        moves_before = moves
        for u in order:
            if halt[0] != 0:
                return count
            tested = stops[u].tested
            stops[u].tested = moves
            moves = _move_beside_neighbours(u, tested, loop == 0, moves, table, task, penalty)
            if loop == 1 or (loop > 1 and routes[stops[u].route].changed > tested):
                empty = find_empty_route(count, table, task)
                count = max(count, empty + 1)
                moves = _move_to_empty_route(u, empty, moves, table, task, penalty)
        for route in range(count):
            if halt[0] != 0:
                return count
            moves = _swap_with_touching_routes(route, count, loop, moves, table, task, penalty)
        is_improving = moves > moves_before or loop == 0  # the first loop does not try empty routes
        loop += 1
    return count


@compiled_inline
def _move_beside_neighbours(
    u: int, tested: int, is_first: bool, moves: int, table: RouteTable, task: Task, penalty: float
) -> int:
    """Make every gaining move of customer u next to its neighbours, skipping pairs of unchanged routes."""
    stops, routes = table.stops, table.routes
    for rank in range(task.neighbours.shape[1]):
        v = task.neighbours[u, rank]
        if not is_first and max(routes[stops[u].route].changed, routes[stops[v].route].changed) <= tested:
            continue
        target = v
        move = find_move_beside(u, v, table, task, penalty)
        if move == NO_MOVE and stops[stops[v].before].node == 0:
            target = stops[v].before
            move = find_move_after_depot(u, target, table, task, penalty)
        if move != NO_MOVE:
            moves += 1
            _make_move(move, u, target, moves, table, task)
    return moves


@compiled_inline
def _move_to_empty_route(u: int, empty: int, moves: int, table: RouteTable, task: Task, penalty: float) -> int:
    target = first_stop(empty, len(task.demands) - 1)
    move = find_move_after_depot(u, target, table, task, penalty)
    if move == NO_MOVE:
        return moves
    _make_move(move, u, target, moves + 1, table, task)
    return moves + 1


@compiled_inline
def _make_move(move: int, u: int, target: int, moves: int, table: RouteTable, task: Task) -> None:
    route_u, route_v = table.stops[u].route, table.stops[target].route
    apply_move(move, u, target, table.stops, len(task.demands) - 1)
    refresh_route(route_u, moves, table, task)
    if route_u != route_v:
        refresh_route(route_v, moves, table, task)


@compiled_inline
def _swap_with_touching_routes(
    route: int, count: int, loop: int, moves: int, table: RouteTable, task: Task, penalty: float
) -> int:
    """Try SWAP* on one route and each later route that holds a near neighbour of its customers."""
    stops, routes, neighbours = table.stops, table.routes, task.neighbours
    swapped = routes[route].swapped
    routes[route].swapped = moves
    mark = loop * len(routes) + route
    start = first_stop(route, len(task.demands) - 1)
    near = min(_TOUCHING, neighbours.shape[1])
    stop = stops[start].after
    while stop != start + 1:
        for rank in range(near):
            routes[stops[neighbours[stop, rank]].route].mark = mark
        stop = stops[stop].after
    for other in range(route + 1, count):
        if routes[other].mark != mark or routes[other].size == 0 or routes[route].size == 0:
            continue
        if loop > 0 and max(routes[route].changed, routes[other].changed) <= swapped:
            continue
        if swap_best_pair(route, other, moves, table, task, penalty):
            moves += 1
            refresh_route(route, moves, table, task)
            refresh_route(other, moves, table, task)
    return moves
