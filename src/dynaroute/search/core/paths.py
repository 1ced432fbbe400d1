"""Solutions as paths: the stops of all routes in one array, with the depot (0) before, between and after them.

Zeros at the end are padding, since empty routes do not count. n customers need at most 2 n + 1 entries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import OptionError, SolutionError
from dynaroute.base.machine import count_cores
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.search.core.compiled import compiled
from dynaroute.search.core.legs import Distances, measure_leg

Path = NDArray[np.int32]
_WAKE_UP_SECONDS = 0.02  # between two questions whether the time is up


def longest_path(size: int) -> int:
    """Return the longest path of any solution with this many customers."""
    return 2 * size + 1


def write_path(solution: Solution) -> Path:
    """Write the routes of a solution as a path."""
    stops = [0]
    for route in solution.routes:
        stops.extend(route)
        stops.append(0)
    return np.array(stops, dtype=np.int32)


def split_path(path: Path) -> tuple[tuple[int, ...], ...]:
    """Split a path into routes."""
    return tuple(tuple(stops) for is_customer, stops in groupby(path.tolist(), key=bool) if is_customer)


def read_solution(instance: Instance, path: Path) -> Solution:
    """Convert a path to a `Solution` with its cost stated."""
    return Solution(split_path(path), math.fsum(instance.leg_lengths(path[:-1], path[1:])))


def refuse_unequal_numbers(instances: Sequence[Instance], solutions: Sequence[Solution]) -> None:
    """Raise unless there is one solution per instance."""
    if len(instances) != len(solutions):
        message = f"there are {len(solutions)} solutions for {len(instances)} instances."
        raise SolutionError(message, remedy="Give one per instance.")


def refuse_wrong_visits(instance: Instance, path: Path, number: int) -> None:
    """Raise unless the path visits every customer once, which compiled code relies on."""
    visited = np.sort(path[path != 0])
    if len(visited) == instance.size and visited[0] == 1 and (np.diff(visited) == 1).all():
        return
    message = f"solution {number} does not visit every customer of its instance exactly once."
    raise SolutionError.about("routes", message, "dynaroute check lists what is wrong.")


@dataclass(frozen=True)
class Halt:
    """Ends compiled work early.

    Attributes
    ----------
    is_time_up
        Whether the work has to end; None: never.
    flag
        (1,) 1 when it has to end.
    """

    is_time_up: Callable[[], bool] | None = None
    flag: NDArray[np.int8] = field(default_factory=lambda: np.zeros(1, dtype=np.int8))

    def is_set(self) -> bool:
        """Whether the work has to end."""
        return bool(self.flag[0] != 0)

    def watch(self, pending: Sequence[Future[object]]) -> None:
        """Wait for work in other threads, and set the flag when the time is up, or after Ctrl-C."""
        if self.is_time_up is None:
            return
        try:
            while wait(pending, _WAKE_UP_SECONDS).not_done and not self.is_set():
                self.flag[0] = self.is_time_up()
        except BaseException:
            self.flag[0] = 1
            raise


def share_among_threads(
    work: Callable[[int, int], object], count: int, threads: int | None, halt: Halt | None = None
) -> None:
    """Split work on a range of items among threads. Only compiled work runs in parallel.

    Parameters
    ----------
    work
        Called with the first and one past the last item of a part.
    count
        Number of items.
    threads
        Most threads to use; None: all cores of this process.
    halt
        What the work looks at; its flag is set here when the time is up.
    """
    if threads is not None and threads < 1:
        raise OptionError.about("threads", f"the number of threads is {threads}.", "Use 1 or more.")
    workers = min(count, threads if threads is not None else count_cores())
    is_watched = halt is not None and halt.is_time_up is not None
    if workers <= 1 and not is_watched:
        work(0, count)
        return
    part = -(-count // (4 * workers)) if workers > 1 else count  # several per thread, because some take longer
    with ThreadPoolExecutor(max(1, workers)) as pool:
        try:
            pending = [pool.submit(work, first, min(first + part, count)) for first in range(0, count, max(1, part))]
            if halt is not None:
                halt.watch(pending)
            for future in pending:
                future.result()
        finally:  # after an error or interrupt, do not wait for parts that have not started
            pool.shutdown(wait=False, cancel_futures=True)


@compiled
def price_path(path: Path, distances: Distances) -> float:
    """Measure a path."""
    total = 0.0
    for place in range(len(path) - 1):
        total += measure_leg(distances, path[place], path[place + 1])
    return total


@compiled
def route_tables_to_paths(
    route: NDArray[np.int32], position: NDArray[np.int32], sizes: NDArray[np.int64], paths: Path, first: int, last: int
) -> None:
    """Write paths from tables of each customer's route and position.

    Parameters
    ----------
    route, position
        (B, M), from 0.
    sizes
        (B,) number of customers of each row.
    paths
        (B, longest path), filled in.
    first, last
        The rows to write, `last` excluded.
    """
    starts = np.empty(route.shape[1] + 1, dtype=np.int32)
    for row in range(first, last):
        size = sizes[row]
        starts[:] = 0
        for customer in range(1, size + 1):
            starts[route[row, customer] + 1] += 1
        starts[0] = 1
        for number in range(1, size + 1):  # each route starts after the depot that ends the previous one
            starts[number] += starts[number - 1] + 1
        paths[row] = 0
        for customer in range(1, size + 1):
            paths[row, starts[route[row, customer]] + position[row, customer]] = customer


@compiled
def paths_to_route_tables(
    paths: Path, route: NDArray[np.int32], position: NDArray[np.int32], first: int, last: int
) -> None:
    """Write tables of routes and positions from paths; entries other than customers are kept.

    Parameters
    ----------
    paths
        (B, longest path).
    route, position
        (B, M), filled in.
    first, last
        The rows to write, `last` excluded.
    """
    for row in range(first, last):
        number, place = 0, 0
        for stop in paths[row]:
            if stop != 0:
                route[row, stop] = number
                position[row, stop] = place
                place += 1
            elif place > 0:
                number, place = number + 1, 0
