"""Split: cut a tour of all customers into the best routes.

Vidal (2016), in linear time: candidate cuts are kept in a queue, from which cuts that can never be best again are
dropped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.core.compiled import compiled_inline
from dynaroute.search.core.legs import measure_leg
from dynaroute.search.core.paths import Path
from dynaroute.search.core.routes import Task, price_excess

Tour = NDArray[np.int32]

CUT = np.dtype(  # a record for each customer, and one before them
    [
        ("cost", np.float64),  # least cost of the routes for the customers up to here
        ("length", np.float64),  # of the tour from the first customer to this one
        ("outward", np.float64),  # leg from the depot to this customer
        ("load", np.int64),  # total of all customers up to here
        ("previous", np.int32),  # position in the tour, from 1, of the last customer of the route before
        ("queue", np.int32),  # this column stores the queue
    ]
)


class _Price(NamedTuple):
    capacity: int
    penalty: float


@compiled_inline
def split_tour(tour: Tour, cuts: NDArray[Any], task: Task, penalty: float, path: Path) -> None:
    """Cut a tour into the routes with the least length plus penalty.

    Parameters
    ----------
    tour
        (n,) all customers.
    cuts
        (M,) working memory, records of `CUT`.
    task
        The problem.
    penalty
        Price of one unit of load above the capacity.
    path
        (longest path,), filled with the routes in order of the tour.
    """
    size = len(tour)
    price = _Price(task.capacity, penalty)
    _measure_tour(tour, cuts, task)
    cuts[0].cost = 0.0
    head, tail = 0, 0
    cuts[0].queue = 0
    for place in range(1, size + 1):
        best = cuts[head].queue
        cuts[place].cost = _extend(best, place, cuts, price)
        cuts[place].previous = best
        if place == size:
            break
        if not _is_dominated_by_earlier(cuts[tail].queue, place, cuts, price):
            while tail >= head and _is_dominated_by_later(cuts[tail].queue, place, cuts):
                tail -= 1
            tail += 1
            cuts[tail].queue = place
        while tail > head and _extend(cuts[head].queue, place + 1, cuts, price) >= _extend(
            cuts[head + 1].queue, place + 1, cuts, price
        ):
            head += 1
    _write_routes(tour, cuts, path)


@compiled_inline
def _measure_tour(tour: Tour, cuts: NDArray[Any], task: Task) -> None:
    length, load, previous = 0.0, 0, tour[0]
    cuts[0].load = 0
    for place in range(1, len(tour) + 1):
        customer = tour[place - 1]
        length += measure_leg(task.distances, previous, customer)
        load += task.demands[customer]
        cuts[place].length = length
        cuts[place].load = load
        cuts[place].outward = measure_leg(task.distances, 0, customer)
        previous = customer


@compiled_inline
def _extend(cut: int, place: int, cuts: NDArray[Any], price: _Price) -> float:
    """Compute the cost up to a position if its route starts right after a cut."""
    first = cuts[cut + 1]
    length = first.outward + cuts[place].length - first.length + cuts[place].outward
    excess = price_excess(cuts[place].load - cuts[cut].load, price.capacity, price.penalty)
    return float(cuts[cut].cost + length + excess)


@compiled_inline
def _begin_after(cut: int, cuts: NDArray[Any]) -> float:
    """Return a comparable value of cuts: the cost of starting a route there, minus the tour length so far."""
    return float(cuts[cut].cost + cuts[cut + 1].outward - cuts[cut + 1].length)


@compiled_inline
def _is_dominated_by_earlier(earlier: int, later: int, cuts: NDArray[Any], price: _Price) -> bool:
    """Whether the later cut is never better, even if the earlier one pays for all load between them."""
    between = (cuts[later].load - cuts[earlier].load) * price.penalty
    return bool(_begin_after(earlier, cuts) + between <= _begin_after(later, cuts))


@compiled_inline
def _is_dominated_by_later(earlier: int, later: int, cuts: NDArray[Any]) -> bool:
    """Whether the earlier cut is never better: the later one costs no more and carries less."""
    return _begin_after(later, cuts) <= _begin_after(earlier, cuts)


@compiled_inline
def _write_routes(tour: Tour, cuts: NDArray[Any], path: Path) -> None:
    """Write the routes from last to first, and move them to the start."""
    place, end = len(path) - 1, len(tour)
    path[place] = 0
    while end > 0:
        cut = cuts[end].previous
        for stop in range(end - 1, cut - 1, -1):
            place -= 1
            path[place] = tour[stop]
        place -= 1
        path[place] = 0
        end = cut
    used = len(path) - place
    for index in range(used):
        path[index] = path[place + index]
    for index in range(used, len(path)):
        path[index] = 0
