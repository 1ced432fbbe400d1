"""2-opt as in the paper: pairs of legs of a route are exchanged until no exchange shortens it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.limits import memory_for_all_legs, require_memory
from dynaroute.problem.instance import Instance
from dynaroute.problem.lengths import ROUNDING_CODES
from dynaroute.problem.solution import Solution
from dynaroute.search.core.compiled import compiled
from dynaroute.search.core.paths import (
    Halt,
    Path,
    longest_path,
    paths_to_route_tables,
    read_solution,
    refuse_unequal_numbers,
    refuse_wrong_visits,
    route_tables_to_paths,
    share_among_threads,
    write_path,
)

if TYPE_CHECKING:
    from dynaroute.batch import InstanceBatch, RouteBatch

_LEAST_GAIN = 1e-9  # relative to the two removed legs; smaller gains may be rounding
_ENTRIES_AT_ONCE = 4_000_000  # leg lengths held for instances with a matrix or on the globe
_PATHS_AT_ONCE = 4096


def improve_by_two_opt(
    instances: Sequence[Instance],
    solutions: Sequence[Solution],
    *,
    threads: int | None = None,
    is_time_up: Callable[[], bool] | None = None,
) -> list[Solution]:
    """Make every route 2-optimal: no two of its legs can be exchanged for shorter ones.

    Customers stay on their routes, so feasibility does not change. No route becomes longer.

    Parameters
    ----------
    instances
        The instances.
    solutions
        A solution for each, visiting every customer once.
    threads
        Most threads to use; None: all cores of this process.
    is_time_up
        Called every few milliseconds; returning true ends the work, and routes may not be 2-optimal yet.

    Returns
    -------
    list[Solution]
        Improved solutions in the same order, with their costs stated.

    Raises
    ------
    SolutionError
        If a solution does not visit every customer of its instance once.

    Examples
    --------
    >>> improve_by_two_opt([instance], [build_by_savings(instance)])[0].stated_cost
    """
    refuse_unequal_numbers(instances, solutions)
    improved: list[Solution] = []
    halt = Halt(is_time_up)
    while len(improved) < len(instances):
        first = len(improved)
        last = first + _chunk_length(instances, first)
        improved += _improve_chunk(instances[first:last], solutions[first:last], first, threads, halt)
    return improved


def improve_routes_by_two_opt(batch: InstanceBatch, routes: RouteBatch, *, threads: int | None = None) -> RouteBatch:
    """Do what `improve_by_two_opt` does, for a batch.

    Parameters
    ----------
    batch
        The instances.
    routes
        A solution for each.
    threads
        Most threads to use; None: all cores of this process.
    """
    import torch

    from dynaroute.batch import RouteBatch

    route, position = routes.route.cpu().numpy().copy(), routes.position.cpu().numpy().copy()
    sizes, rounding = batch.sizes.cpu().numpy(), batch.rounding.cpu().numpy()
    coordinates = batch.coordinates.cpu().numpy()
    distances = np.empty((0, 0, 0)) if batch.distances is None else batch.distances.cpu().numpy()
    paths = np.empty((len(batch), longest_path(batch.nodes - 1)), dtype=np.int32)
    never = Halt()

    def improve_part(first: int, last: int) -> None:
        route_tables_to_paths(route, position, sizes, paths, first, last)
        improve_paths(paths, coordinates, distances, rounding, first, last, never.flag)
        paths_to_route_tables(paths, route, position, first, last)

    share_among_threads(improve_part, len(batch), threads)
    device = routes.route.device
    return RouteBatch(torch.from_numpy(route).to(device), torch.from_numpy(position).to(device))


def _is_plain(instance: Instance) -> bool:
    """Whether legs can be computed from plane coordinates."""
    return instance.distances is None and instance.metric == "euclidean"


def _chunk_length(instances: Sequence[Instance], first: int) -> int:
    """Count how many of the next instances, of one kind, fit into memory together."""
    largest, kind = 0, _is_plain(instances[first])
    for length, instance in enumerate(instances[first : first + _PATHS_AT_ONCE]):
        nodes = instance.size + 1
        largest = max(largest, nodes if kind else nodes**2)  # all are padded to the largest
        if length > 0 and ((length + 1) * largest > _ENTRIES_AT_ONCE or _is_plain(instance) != kind):
            return length
    return min(_PATHS_AT_ONCE, len(instances) - first)


def _improve_chunk(
    instances: Sequence[Instance], solutions: Sequence[Solution], number: int, threads: int | None, halt: Halt
) -> list[Solution]:
    count, nodes = len(instances), max(instance.size for instance in instances) + 1
    is_plain = _is_plain(instances[0])
    paths = np.zeros((count, longest_path(nodes - 1)), dtype=np.int32)
    coordinates = np.zeros((count, nodes, 2) if is_plain else (0, 0, 2))
    distances = np.zeros((0, 0, 0) if is_plain else (count, nodes, nodes))
    rounding = np.array([ROUNDING_CODES[instance.rounding] for instance in instances], dtype=np.int8)
    for index, (instance, solution) in enumerate(zip(instances, solutions, strict=True)):
        path, used = write_path(solution), instance.size + 1
        refuse_wrong_visits(instance, path, number + index + 1)
        paths[index, : len(path)] = path
        if is_plain:
            coordinates[index, :used] = instance.coordinates
        else:
            require_memory(memory_for_all_legs(instance.size))
            everyone = np.arange(used)
            distances[index, :used, :used] = instance.leg_lengths(everyone[:, None], everyone)

    def improve_part(first: int, last: int) -> None:
        improve_paths(paths, coordinates, distances, rounding, first, last, halt.flag)

    share_among_threads(improve_part, count, threads, halt)
    return [read_solution(instance, path) for instance, path in zip(instances, paths, strict=True)]


@compiled
def improve_paths(
    paths: Path,
    coordinates: NDArray[np.float64],
    distances: NDArray[np.float64],
    rounding: NDArray[np.int8],
    first: int,
    last: int,
    halt: NDArray[np.int8],
) -> None:
    """Make the routes of rows `first` to `last` 2-optimal, in place.

    Parameters
    ----------
    paths
        (B, longest path).
    coordinates
        (B, M, 2), or empty if distances are given.
    distances
        (B, M, M), or empty to measure legs from the coordinates.
    rounding
        (B,) codes of the rounding rules, for the coordinates.
    first, last
        The rows to improve, `last` excluded.
    halt
        (1,) ends the work soon when another thread sets it to 1.
    """
    nowhere, no_lengths = np.empty((0, 2)), np.empty((0, 0))
    for row in range(first, last):
        places = coordinates[row] if len(distances) == 0 else nowhere
        lengths = distances[row] if len(distances) > 0 else no_lengths
        path, start = paths[row], 0
        for end in range(1, len(path)):
            if path[end] == 0:
                _improve_route(path, start, end, places, lengths, rounding[row], halt)
                start = end


@compiled
def _improve_route(
    path: Path,
    start: int,
    end: int,
    places: NDArray[np.float64],
    lengths: NDArray[np.float64],
    rounding: int,
    halt: NDArray[np.int8],
) -> None:
    """Exchange legs of the route between two depots of the path until no exchange gains."""
    is_improving = end - start > 3  # with two customers there is only one tour
    while is_improving:
        is_improving = False
        for left in range(start, end - 2):
            if halt[0] != 0:
                return
            before, head = path[left], path[left + 1]
            leaving = _leg(before, head, places, lengths, rounding)
            for right in range(left + 2, end):
                tail, after = path[right], path[right + 1]
                old = leaving + _leg(tail, after, places, lengths, rounding)
                new = _leg(before, tail, places, lengths, rounding) + _leg(head, after, places, lengths, rounding)
                if old - new > _LEAST_GAIN * old:
                    _reverse(path, left + 1, right)
                    head = tail
                    leaving = _leg(before, head, places, lengths, rounding)
                    is_improving = True


@compiled
def _leg(one: int, other: int, places: NDArray[np.float64], lengths: NDArray[np.float64], rounding: int) -> float:
    if len(lengths) > 0:
        return float(lengths[one, other])
    width, height = places[one, 0] - places[other, 0], places[one, 1] - places[other, 1]
    length = np.sqrt(width * width + height * height)
    if rounding == 1:
        return float(np.floor(length + 0.5))
    if rounding == 2:
        return float(np.ceil(length))
    return float(length)


@compiled
def _reverse(path: Path, left: int, right: int) -> None:
    while left < right:
        path[left], path[right] = path[right], path[left]
        left += 1
        right -= 1
