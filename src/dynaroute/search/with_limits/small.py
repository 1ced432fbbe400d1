"""Find the best plan for a few customers by trying every order.

On real roads a detour can be shorter than the direct leg. Then a customer may only fit into a route together with
another one, which a search that inserts one at a time cannot find.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.core.compiled import compiled_inline
from dynaroute.search.core.legs import measure_leg
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.with_limits.evaluation import append_span
from dynaroute.search.with_limits.problem import TypedRoutes

__all__ = ["MOST_CUSTOMERS", "find_best_of_all"]

MOST_CUSTOMERS = 6
_MOST_REMAINDERS = 50_000  # parts of the problem whose best plans are remembered: at most 30 MB
_MOST_WAITING = 32  # unfinished orders: at most 21 with six customers, because the longest is continued first

_Remainder = tuple[int, tuple[int, ...]]  # a set of customers, as bits, and the types of scarce vehicles in use


def find_best_of_all(problem: SearchProblem, is_time_up: Callable[[], bool]) -> TypedRoutes:
    """Find the cheapest plan; it leaves customers out only if it has to.

    Parameters
    ----------
    problem
        At most `MOST_CUSTOMERS` customers.
    is_time_up
        Called every few milliseconds; returning true gives up.

    Returns
    -------
    TypedRoutes
        No routes if it was given up, also because too many different types would have to be combined.
    """
    assert problem.size <= MOST_CUSTOMERS
    tables = _try_all_orders(problem, is_time_up)
    best = None if tables is None else _Combination(_list_useful_routes(problem, tables), problem, is_time_up).find()
    return best or ()


# Routes


class _Orders(NamedTuple):
    """The best route of one type to each set of S = 2^n sets of customers.

    Attributes
    ----------
    lengths
        (S,) lengths; infinite for a set that no route serves.
    stops
        (S, n) the customers in order.
    ranks
        (S,) the place of each set among those that are served, in the order in which they were found.
    waiting
        (W, n + 2) orders that may be continued: number of customers, load, and the customers.
    spans
        (W, 4) their length, duration, and earliest and latest start.
    """

    lengths: NDArray[np.float64]
    stops: NDArray[np.int64]
    ranks: NDArray[np.int64]
    waiting: NDArray[np.int64]
    spans: NDArray[np.float64]


def _try_all_orders(problem: SearchProblem, is_time_up: Callable[[], bool]) -> list[_Orders] | None:
    """Find the best routes of every type; None if there was no time for all."""
    size = problem.size
    tables = []
    for kind in range(len(problem.kinds.counts)):
        if is_time_up():
            return None
        orders = _Orders(
            lengths=np.full(2**size, np.inf),
            stops=np.zeros((2**size, size), dtype=np.int64),
            ranks=np.zeros(2**size, dtype=np.int64),
            waiting=np.zeros((_MOST_WAITING, size + 2), dtype=np.int64),
            spans=np.zeros((_MOST_WAITING, 4)),
        )
        _try_orders(kind, orders, problem)
        tables.append(orders)
    return tables


@compiled_inline
def _try_orders(kind: int, orders: _Orders, problem: SearchProblem) -> None:
    """Try all orders in which a vehicle of this type can serve any of the customers."""
    kinds, durations, distances = problem.kinds, problem.durations, problem.distances
    lengths, waiting, spans = orders.lengths, orders.waiting, orders.spans
    size, end, end_node = len(problem.demands) - 3, kinds.ends[kind], kinds.end_nodes[kind]
    spans[0, 2], spans[0, 3] = kinds.starts[kind], np.inf
    found, height = 0, 1
    while height > 0:
        height -= 1
        count, load = waiting[height, 0], waiting[height, 1]
        length, span, early, late = spans[height, 0], spans[height, 1], spans[height, 2], spans[height, 3]
        last = waiting[height, 1 + count] if count > 0 else 0
        served = 0
        for place in range(count):
            served |= 1 << (waiting[height, 2 + place] - 1)
        if count > 0:
            whole = length + measure_leg(distances, last, end_node)
            onward = durations[last, end_node]
            duration = append_span(span, early, late, onward, 0.0, -np.inf, end)[0]
            is_allowed = span + early + onward <= end and whole <= kinds.distances[kind]
            if is_allowed and duration <= kinds.durations[kind] and whole < lengths[served]:
                if np.isinf(lengths[served]):
                    orders.ranks[served] = found
                    found += 1
                lengths[served] = whole
                for place in range(count):
                    orders.stops[served, place] = waiting[height, 2 + place]
        if count == kinds.stops[kind]:
            continue
        base = height  # this order is replaced by the last of those that continue it
        for customer in range(1, size + 1):
            if served & (1 << (customer - 1)) != 0 or load + problem.demands[customer] > kinds.capacities[kind]:
                continue
            between = durations[last, customer]
            if span + early + between > problem.latest[customer]:
                continue
            for place in range(count if height > base else 0):
                waiting[height, 2 + place] = waiting[base, 2 + place]
            waiting[height, 0], waiting[height, 1] = count + 1, load + problem.demands[customer]
            waiting[height, 2 + count] = customer
            spans[height, 0] = length + measure_leg(distances, last, customer)
            spans[height, 1], spans[height, 2], spans[height, 3] = append_span(
                span, early, late, between, 0.0, problem.earliest[customer], problem.latest[customer]
            )
            height += 1


class _Route(NamedTuple):
    """A route that a best plan may have.

    Attributes
    ----------
    served
        The set of its customers, as bits.
    kind
        Its type of vehicle.
    price
        Its length, and the price of its vehicle.
    stops
        Its customers in order.
    """

    served: int
    kind: int
    price: float
    stops: tuple[int, ...]


def _list_useful_routes(problem: SearchProblem, tables: list[_Orders]) -> list[_Route]:
    """List the routes to each set of customers by the cheapest types that together have enough vehicles.

    A plan has no more routes than customers. So if it used another type, one of these would be free, and no dearer.
    """
    lengths = np.stack([orders.lengths for orders in tables])  # (K, S)
    routes = []
    for served in range(1, lengths.shape[1]):
        vehicles = 0
        for kind in np.argsort(lengths[:, served], kind="stable").tolist():
            if vehicles >= problem.size or np.isinf(lengths[kind, served]):
                break
            vehicles += int(problem.kinds.counts[kind])
            stops = tables[kind].stops[served, : served.bit_count()].tolist()
            price = float(lengths[kind, served]) + problem.vehicle_price
            routes.append(_Route(served, kind, price, tuple(stops)))
    return sorted(routes, key=lambda route: (route.kind, tables[route.kind].ranks[route.served]))


# Plans


class _Combination:
    """Combines routes to the cheapest plan, remembering the best plan for each remainder of the problem."""

    def __init__(self, routes: list[_Route], problem: SearchProblem, is_time_up: Callable[[], bool]) -> None:
        self._problem = problem
        self._is_time_up = is_time_up
        self._counts = problem.kinds.counts.tolist()
        everybody = range(2**problem.size)
        self._beginning = [[route for route in routes if _begins(route.served, left)] for left in everybody]
        self._known: dict[_Remainder, tuple[float, TypedRoutes]] = {}

    def find(self) -> TypedRoutes | None:
        """Find the cheapest plan; None if there was no time, or too much to remember."""
        try:
            return self._plan(2**self._problem.size - 1, ())[1]
        except _TooMuchError:
            return None

    def _plan(self, left: int, used: tuple[int, ...]) -> tuple[float, TypedRoutes]:
        """The best plan for the customers who are left, without the vehicles in use."""
        if left == 0:
            return 0.0, ()
        if (known := self._known.get((left, used))) is not None:
            return known
        if len(self._known) >= _MOST_REMAINDERS or self._is_time_up():
            raise _TooMuchError
        price, best = self._plan(left & (left - 1), used)  # without the first customer
        price += self._problem.absence_price
        taken = Counter(used)
        for served, kind, own_price, stops in self._beginning[left]:
            if own_price >= price or taken[kind] == self._counts[kind]:
                continue
            is_scarce = self._counts[kind] < self._problem.size
            rest, others = self._plan(left & ~served, tuple(sorted((*used, kind))) if is_scarce else used)
            if own_price + rest < price:
                price, best = own_price + rest, ((kind, *stops), *others)
        self._known[left, used] = price, best
        return price, best


class _TooMuchError(Exception):
    """There was no time for all combinations, or there are too many."""


def _begins(served: int, left: int) -> bool:
    """Whether a route serves the first customer who is left, and nobody who is not."""
    return served & left & -left != 0 and served & ~left == 0
