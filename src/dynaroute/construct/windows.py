"""Building the routes of large instances in windows of near customers.

A policy learned on instances of up to a thousand customers. On much larger ones its routes become poor, and encoding
anew at every visit to the depot takes time that grows with the square of the size. So large instances are cut into
windows, and the policy builds routes in all of them as in a batch of smaller instances. Routes that fill their vehicle
stay; the customers of the others are cut into windows again, along other lines. At the end, groups of short routes that
are neighbours are built once more, and what is shorter stays. Time and memory grow in proportion to the customers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.batch.policy_view import scale_to_unit_square
from dynaroute.batch.subproblems import RoutePart, gather_parts, merge_parts

LARGEST_WHOLE = 1000  # customers; the shipped policies were trained on as many, and larger instances are cut

_USUAL_WINDOW = 250  # customers
_ROUTES = 7  # a window should hold so many routes: of few routes, one that is not full is a large share
_FULL = 0.93  # of the capacity: a route that carries so much stays
_MOST_TURNS = 8  # of cutting what is left; usually there are two or three

Build = Callable[[InstanceBatch], RouteBatch]
_Points = NDArray[np.float64]
_Customers = NDArray[np.int64]


def construct_in_windows(batch: InstanceBatch, build: Build, window: int | None = None) -> RouteBatch:
    """Build the routes of one large instance.

    Parameters
    ----------
    batch
        A single instance.
    build
        Builds the routes of a batch of smaller instances.
    window
        The most customers of a window; None: 250, or more where routes are long.

    Returns
    -------
    RouteBatch
        On the batch's device.
    """
    points = batch.locations[0].double().cpu().numpy()
    most = _choose_window(batch) if window is None else window
    routes = _fill_vehicles(batch, points, most, build)
    if most > _USUAL_WINDOW:
        return routes  # where routes are long, building again takes as much time and gains about 0.1 %
    return _build_again(batch, routes, points, most, build)


def _choose_window(batch: InstanceBatch) -> int:
    """How many customers a window should hold: several full routes, but no more than policies were trained on."""
    mean_demand = max(1.0, float(batch.demands[0].sum()) / int(batch.sizes[0]))
    on_a_route = float(batch.capacity[0]) / mean_demand
    return int(min(LARGEST_WHOLE, max(_USUAL_WINDOW, _ROUTES * on_a_route)))


def _fill_vehicles(batch: InstanceBatch, points: _Points, most: int, build: Build) -> RouteBatch:
    """Build routes in windows; customers whose vehicle is not full go into new windows, until few are left."""
    demands = batch.demands[0].cpu().numpy()
    enough = _FULL * int(batch.capacity[0])
    route, position = (np.full(batch.nodes, -1, dtype=np.int32) for _ in range(2))
    waiting = np.arange(1, int(batch.sizes[0]) + 1)
    used = 0
    for turn in range(_MOST_TURNS):
        windows = _cut(waiting, np.ones(len(waiting)), _turn(points[waiting], turn), most)
        problems, _ = gather_parts(batch, [_begin_part(window) for window in windows])
        customers = np.concatenate(windows)
        number, place = _number_routes(build(_fit_unit_square(problems)))
        loads = np.bincount(number, weights=demands[customers])
        stays = loads >= enough
        if len(windows) == 1 or turn == _MOST_TURNS - 1 or not stays.any():
            stays[:] = True
        kept = stays[number]
        new_number = used + np.cumsum(stays) - 1  # of the routes that stay
        route[customers[kept]] = new_number[number[kept]]
        position[customers[kept]] = place[kept]
        used += int(stays.sum())
        waiting = np.sort(customers[~kept])
        if len(waiting) == 0:
            break
    return RouteBatch(*(torch.from_numpy(table)[None].to(batch.device) for table in (route, position)))


def _begin_part(customers: _Customers) -> RoutePart:
    """A part whose customers have no routes yet."""
    none = np.full(len(customers), -1, dtype=np.int32)
    return RoutePart(0, customers, none, none)


def _number_routes(built: RouteBatch) -> tuple[_Customers, NDArray[np.int32]]:
    """The routes of all windows, numbered from 0, and the positions on them, of one customer after the other."""
    window, node = np.nonzero(built.route.cpu().numpy() >= 0)
    route = built.route.cpu().numpy()[window, node]
    _, number = np.unique(window * built.route.shape[1] + route, return_inverse=True)
    return number, built.position.cpu().numpy()[window, node]


def _build_again(batch: InstanceBatch, routes: RouteBatch, points: _Points, most: int, build: Build) -> RouteBatch:
    """Build groups of neighbouring routes once more, cut along other lines, and keep what is shorter."""
    route, position = routes.route[0].cpu().numpy(), routes.position[0].cpu().numpy()
    route_of = route[1 : int(batch.sizes[0]) + 1]
    sizes = np.bincount(route_of).astype(np.float64)
    middles = np.stack([np.bincount(route_of, weights=axis) / sizes for axis in points[1 : len(route_of) + 1].T], 1)
    groups = _cut(np.arange(len(sizes)), sizes, _turn(middles, _MOST_TURNS), most)
    group_of = np.empty(len(sizes), dtype=np.int64)
    for number, group in enumerate(groups):
        group_of[group] = number
    parts = []
    for number in range(len(groups)):
        customers = 1 + np.flatnonzero(group_of[route_of] == number)
        _, own = np.unique(route[customers], return_inverse=True)
        parts.append(RoutePart(0, customers, own.astype(np.int32), position[customers]))
    problems, known = gather_parts(batch, parts)
    built = build(_fit_unit_square(problems))
    is_shorter = (built.lengths(problems) < known.lengths(problems))[:, None]  # (P, 1)
    chosen = RouteBatch(
        torch.where(is_shorter, built.route, known.route), torch.where(is_shorter, built.position, known.position)
    )
    return merge_parts(batch, parts, chosen)


def _fit_unit_square(problems: InstanceBatch) -> InstanceBatch:
    """Show each window to the policy in a unit square of its own."""
    locations = scale_to_unit_square(problems.locations.double().cpu().numpy())
    return replace(problems, locations=torch.from_numpy(locations).to(problems.device, problems.locations.dtype))


def _turn(points: _Points, turn: int) -> _Points:
    """Turn points by another angle in every turn, so that the cuts lie elsewhere."""
    cosine, sine = np.cos(turn), np.sin(turn)
    turned: _Points = points @ np.array([[cosine, -sine], [sine, cosine]])
    return turned


def _cut(members: _Customers, weights: _Points, points: _Points, most: int) -> list[_Customers]:
    """Cut members into compact groups of equal weight, none above `most` unless a single member is.

    Each cut is across the longer side.
    """
    count = -(-int(weights.sum()) // most)
    if count <= 1 or len(members) == 1:
        return [members]
    longer = int(np.ptp(points, axis=0).argmax())
    order = np.argsort(points[:, longer], kind="stable")
    behind = np.cumsum(weights[order])
    first = int(np.abs(behind[:-1] - behind[-1] * (count // 2) / count).argmin()) + 1
    halves = (order[:first], order[first:])
    return [group for half in halves for group in _cut(members[half], weights[half], points[half], most)]
