"""Clarke and Wright's savings: a classical construction, and a baseline for policies."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.limits import memory_for_savings, require_memory
from dynaroute.base.stopping import OutOfTimeError
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution

__all__ = ["build_by_savings"]

_BLOCK_ENTRIES = 1_000_000  # legs measured, or pairs sorted, at once
_SAMPLED = 10_000  # savings that tell how to cut them

_Customers = NDArray[np.int32]


def build_by_savings(instance: Instance, is_time_up: Callable[[], bool] = lambda: False) -> Solution:
    """Build routes by repeatedly merging the two routes whose merger saves most (parallel version).

    Each customer starts with its own vehicle. Driving from i to j instead of via the depot saves d(0, i) + d(0, j) -
    d(i, j). Pairs that save exactly nothing are merged too, for fewer vehicles. Ties are broken by the lower first,
    then the lower second customer, so the result is deterministic. Memory is about 40 bytes per pair of customers: 0.5
    GB for 5000 customers.

    Parameters
    ----------
    instance
        Any instance; only its capacity counts.
    is_time_up
        Called every few milliseconds; returning true gives up.

    Returns
    -------
    Solution
        Feasible routes with their cost stated, never longer than one route per customer.

    Raises
    ------
    OutOfTimeError
        If the time was up before the routes were ready.
    """
    merged = _RoutesByCustomer(instance)
    step = 4 * instance.size  # a chunk should be much larger than the n entries that its filter copies
    for first, second in _sort_pairs_by_saving(instance, is_time_up):
        for start in range(0, len(first), step):
            _refuse_late(is_time_up)
            chunk = slice(start, start + step)
            for one, other in merged.mergeable_pairs(first[chunk], second[chunk]):
                merged.merge_if_possible(one, other)
    routes = tuple(tuple(route) for route in merged.routes[1:])
    return Solution(routes, stated_cost=Solution(routes).cost(instance))


def _sort_pairs_by_saving(
    instance: Instance, is_time_up: Callable[[], bool]
) -> Iterator[tuple[_Customers, _Customers]]:
    """Yield the pairs i < j whose saving is not negative, the largest saving first, many at a time."""
    require_memory(memory_for_savings(instance.size))
    customers = np.arange(1, instance.size + 1, dtype=np.int32)
    from_depot = instance.leg_lengths(0, customers)
    rows = max(1, _BLOCK_ENTRIES // instance.size)
    savings, firsts, seconds = [], [], []
    for start in range(0, instance.size, rows):
        _refuse_late(is_time_up)
        ones, others = customers[start : start + rows], customers[start:]
        between = instance.leg_lengths(ones[:, None], others[None, :])
        saving = from_depot[ones - 1][:, None] + from_depot[others - 1][None, :] - between
        row, column = np.nonzero((saving >= 0) & (ones[:, None] < others[None, :]))
        savings.append(saving[row, column])
        firsts.append(ones[row])
        seconds.append(others[column])
    saving, first, second = np.concatenate(savings), np.concatenate(firsts), np.concatenate(seconds)
    del savings, firsts, seconds
    for block in _cut_by_size(saving):
        _refuse_late(is_time_up)
        order = block[np.argsort(-saving[block], kind="stable")]
        yield first[order], second[order]


def _cut_by_size(saving: NDArray[np.float64]) -> Iterator[NDArray[np.intp]]:
    """Cut savings into blocks, the largest first, that can be sorted one by one."""
    sample, above = saving[:: max(1, len(saving) // _SAMPLED)], np.inf
    shares = np.arange(_BLOCK_ENTRIES, len(saving), _BLOCK_ENTRIES) / len(saving)
    edges = np.unique(np.quantile(sample, shares)) if len(shares) > 0 else np.array([])
    for edge in [*edges[::-1].tolist(), -np.inf]:
        yield np.flatnonzero((saving >= edge) & (saving < above))
        above = edge


def _refuse_late(is_time_up: Callable[[], bool]) -> None:
    if is_time_up():
        raise OutOfTimeError


class _RoutesByCustomer:
    """Routes while they are merged, indexed by customer; entry 0 is unused.

    Plain lists, because numpy is slower at reading and writing single entries.
    """

    def __init__(self, instance: Instance) -> None:
        nodes = range(instance.size + 1)
        self.capacity = instance.capacity
        self.routes = [deque([node]) for node in nodes]  # routes merged into another are empty
        self.loads: list[int] = instance.demands.tolist()
        self.route_of = list(nodes)
        self.neighbours = [0] * len(nodes)  # number of adjacent customers; with two it is inside its route

    def mergeable_pairs(self, first: _Customers, second: _Customers) -> Iterator[tuple[int, int]]:
        """Yield the pairs that can still merge. Routes only grow, so the others never will."""
        route_of, is_end = np.array(self.route_of), np.array(self.neighbours) < 2
        load = np.array(self.loads)[route_of]
        possible = is_end[first] & is_end[second] & (route_of[first] != route_of[second])
        possible &= load[first] + load[second] <= self.capacity
        return zip(first[possible].tolist(), second[possible].tolist(), strict=True)

    def merge_if_possible(self, one: int, other: int) -> None:
        """Join two routes at these customers, if both are ends of routes and one vehicle holds the load."""
        if self.neighbours[one] == 2 or self.neighbours[other] == 2:
            return
        kept, gone = self.route_of[one], self.route_of[other]
        if kept == gone or self.loads[kept] + self.loads[gone] > self.capacity:
            return
        if len(self.routes[kept]) < len(self.routes[gone]):  # copy the shorter one
            kept, gone, one, other = gone, kept, other, one
        longer, shorter = self.routes[kept], self.routes[gone]
        for customer in shorter:
            self.route_of[customer] = kept
        if shorter[0] != other:
            shorter.reverse()
        if longer[-1] == one:
            longer.extend(shorter)
        else:
            longer.extendleft(shorter)
        shorter.clear()
        self.loads[kept] += self.loads[gone]
        self.neighbours[one] += 1
        self.neighbours[other] += 1
