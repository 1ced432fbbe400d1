"""Nearest neighbours by a k-d tree: time and memory grow about linearly, not quadratically."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.core.compiled import compiled

_LEAF = 8  # points that are compared one by one
_DEPTH = 64  # of the stack; deeper than any tree

Points = NDArray[np.float64]


class Tree(NamedTuple):
    """A k-d tree over points.

    Attributes
    ----------
    points
        (M, D) positions.
    order
        Indices of the points in the tree; each tree node covers a range of this.
    axes, middles
        Axis and position of each tree node's cut; node k has the children 2 k + 1 and 2 k + 2.
    """

    points: Points
    order: NDArray[np.int64]
    axes: NDArray[np.int64]
    middles: NDArray[np.float64]


@compiled
def grow_tree(points: Points, first: int) -> Tree:
    """Build a tree of the points from `first` on."""
    count = len(points) - first
    order = np.arange(first, len(points))
    nodes = 1
    while nodes * _LEAF < count:
        nodes *= 2
    axes, middles = np.zeros(nodes, dtype=np.int64), np.zeros(nodes)
    starts, ends = np.zeros(2 * nodes + 1, dtype=np.int64), np.zeros(2 * nodes + 1, dtype=np.int64)
    ends[0] = count
    for node in range(nodes):
        start, end = starts[node], ends[node]
        middle = (start + end) // 2
        if 2 * node + 2 < len(starts):
            starts[2 * node + 1], ends[2 * node + 1] = start, middle
            starts[2 * node + 2], ends[2 * node + 2] = middle, end
        if end - start <= _LEAF:
            continue
        inside = order[start:end].copy()
        widest, axis = -1.0, 0
        for each in range(points.shape[1]):
            least, most = np.inf, -np.inf
            for point in inside:
                least, most = min(least, points[point, each]), max(most, points[point, each])
            if most - least > widest:
                widest, axis = most - least, each
        keys = np.empty(len(inside))
        for index in range(len(inside)):
            keys[index] = points[inside[index], axis]
        order[start:end] = inside[np.argsort(keys)]
        axes[node], middles[node] = axis, points[order[middle], axis]
    return Tree(points, order, axes, middles)


@compiled
def list_nearest_points(tree: Tree, first: int, nearest: NDArray[np.int32]) -> None:
    """For each row, which is point `first` + row, list the nearest other points of the tree, nearest first."""
    points, order = tree.points, tree.order
    count, wanted = nearest.shape
    away, near = np.empty(wanted), np.empty(wanted, dtype=np.int64)
    stack, bounds = np.empty((_DEPTH, 3), dtype=np.int64), np.empty(_DEPTH)
    for row in range(count if wanted > 0 else 0):
        point = first + row
        listed, height = 0, 1
        stack[0], bounds[0] = (0, 0, len(order)), 0.0
        while height > 0:
            height -= 1
            if listed == wanted and bounds[height] > away[0]:
                continue
            node, start, end = stack[height]
            if end - start > _LEAF:
                listed_bound = bounds[height]
                middle = (start + end) // 2
                beyond = points[point, tree.axes[node]] - tree.middles[node]
                near_half, far_half = (2 * node + 1, start, middle), (2 * node + 2, middle, end)
                if beyond >= 0:
                    near_half, far_half = far_half, near_half
                stack[height], bounds[height] = far_half, max(listed_bound, beyond * beyond)
                stack[height + 1], bounds[height + 1] = near_half, listed_bound
                height += 2
                continue
            for place in range(start, end):
                other = order[place]
                if other == point:
                    continue
                square = 0.0
                for axis in range(points.shape[1]):
                    square += (points[point, axis] - points[other, axis]) ** 2
                if listed < wanted:
                    listed += 1
                    _rise(near, away, listed - 1, other, square)
                elif square < away[0]:
                    _sink(near, away, other, square)
        ranks = np.argsort(away[:listed])
        for place in range(listed):
            nearest[row, place] = near[ranks[place]]


@compiled
def _rise(near: NDArray[np.int64], away: Points, place: int, other: int, square: float) -> None:
    """Add a point to a heap whose root is the farthest."""
    while place > 0 and away[(place - 1) // 2] < square:
        near[place], away[place] = near[(place - 1) // 2], away[(place - 1) // 2]
        place = (place - 1) // 2
    near[place], away[place] = other, square


@compiled
def _sink(near: NDArray[np.int64], away: Points, other: int, square: float) -> None:
    """Replace the farthest point of the heap by another."""
    place, length = 0, len(near)
    while 2 * place + 1 < length:
        child = 2 * place + 1
        if child + 1 < length and away[child + 1] > away[child]:
            child += 1
        if away[child] <= square:
            break
        near[place], away[place] = near[child], away[child]
        place = child
    near[place], away[place] = other, square
