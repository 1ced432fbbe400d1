"""Searching large instances in parts: groups of neighbouring routes become separate problems, all searched at once.

Larger instances need more iterations per chain, but a GPU gives each chain few. So the whole is searched for a while,
and then repeatedly in different parts, each time from the best routes so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from dynaroute.base.stopping import Stopping
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.batch.routes import leg_lengths
from dynaroute.batch.subproblems import RoutePart, gather_parts, merge_parts
from dynaroute.search.gpu.batched_search import BatchProgress, SearchedBatch, search_batch
from dynaroute.search.gpu.devices import KernelDevice
from dynaroute.search.gpu.launches import LARGEST_SMALL
from dynaroute.search.gpu.schedule import PopulationSettings

# cooler than a search of the whole, so that good routes are not destroyed
_OF_PARTS = PopulationSettings(hottest=0.15, coolest=0.03, long_hottest=0.25, long_coolest=0.07)


@dataclass(frozen=True)
class PartSettings:
    """Settings for large instances.

    Attributes
    ----------
    least_size
        Least number of customers for a search in parts.
    whole_share
        Share of the time for the whole instance first.
    rounds
        Number of rounds with different parts.
    shortest
        Least seconds per round.
    population
        Temperatures and extent of the search of parts.
    """

    least_size: int = 250
    whole_share: float = 0.4
    rounds: int = 12
    shortest: float = 0.3
    population: PopulationSettings = _OF_PARTS


def search_in_parts(
    device: KernelDevice,
    batch: InstanceBatch,
    starts: RouteBatch,
    stopping: Stopping,
    *,
    seed: int = 0,
    settings: PartSettings | None = None,
    on_launch: Callable[[BatchProgress], None] | None = None,
) -> SearchedBatch:
    """Improve routes of large instances until a deadline.

    Parameters
    ----------
    device, batch, starts, stopping, seed, on_launch
        As in `search_batch`; there has to be a deadline.
    settings
        Settings; None for the defaults.
    """
    rules = settings or PartSettings()
    assert stopping.deadline is not None
    began, random = time.perf_counter(), np.random.default_rng(seed)
    every = stopping.seconds_left
    whole = replace(stopping, deadline=began + rules.whole_share * every)
    found = search_batch(device, batch, starts, whole, seed=seed, on_launch=on_launch)
    routes, iterations, is_interrupted = found.routes, found.iterations, found.is_interrupted
    seconds = max(rules.shortest, every * (1 - rules.whole_share) / rules.rounds)
    while not is_interrupted and stopping.seconds_left > rules.shortest / 2:
        soon = replace(stopping, deadline=min(stopping.deadline, time.perf_counter() + seconds), target=None)
        parts = list(cut_into_parts(batch, routes, random, LARGEST_SMALL))
        done = search_parts(device, batch, parts, soon, int(random.integers(2**62)), rules.population)
        routes, is_interrupted = done.routes, done.is_interrupted
        iterations += done.iterations
        if on_launch is not None:
            on_launch(_report(batch, routes))
        if stopping.target is not None and bool((routes.lengths(batch) <= stopping.target).all()):
            break
    return SearchedBatch(routes, iterations, is_interrupted)


def search_parts(
    device: KernelDevice,
    batch: InstanceBatch,
    parts: Sequence[RoutePart],
    stopping: Stopping,
    seed: int,
    population: PopulationSettings,
    measure: Callable[[NDArray[np.int64]], NDArray[np.float64]] | None = None,
) -> SearchedBatch:
    """Search parts of instances once, and merge what was found.

    Parameters
    ----------
    device, batch, stopping, seed
        As in `search_batch`.
    parts
        Parts that hold every customer once.
    population
        Settings of the search of parts.
    measure
        Computes lengths (P, M, M) between the nodes (P, M) of parts; None: the batch's own.
    """
    problems, known = gather_parts(batch, parts)
    if measure is not None:
        nodes = np.zeros(problems.demands.shape, dtype=np.int64)
        for row, part in enumerate(parts):
            nodes[row, 1 : len(part.customers) + 1] = part.customers
        problems = replace(problems, distances=torch.from_numpy(measure(nodes)).to(batch.device))
    done = search_batch(device, problems, known, stopping, seed=seed, settings=population)
    iterations = torch.zeros(len(batch), dtype=torch.int64)
    for part, count in zip(parts, done.iterations.tolist(), strict=True):
        iterations[part.row] += count
    return SearchedBatch(merge_parts(batch, parts, done.routes), iterations, done.is_interrupted)


def cut_into_parts(
    batch: InstanceBatch, routes: RouteBatch, random: np.random.Generator, most: int
) -> Iterator[RoutePart]:
    """Cut every instance into parts: the routes nearest to some customer, as many as fit.

    Parameters
    ----------
    batch, routes
        The instances, and their routes.
    random
        Source of the customers.
    most
        Customers of a part; a single route may have more.
    """
    numbers, places = routes.route.cpu().numpy(), routes.position.cpu().numpy()
    for row, size in enumerate(batch.sizes.tolist()):
        route_of = numbers[row, 1 : size + 1]  # (n,)
        counts = np.bincount(route_of)
        is_left = counts > 0
        alone = batch[row : row + 1]
        while is_left.any():
            centre = 1 + int(random.choice(np.flatnonzero(is_left[route_of])))
            nodes = torch.arange(1, size + 1, device=batch.device)[None]
            away = leg_lengths(alone, torch.full_like(nodes, centre), nodes)[0].cpu().numpy()
            mean = np.bincount(route_of, weights=away) / np.maximum(counts, 1)
            mean[route_of[centre - 1]] = -1.0  # its own route comes first
            order = np.argsort(np.where(is_left, mean, np.inf), kind="stable")[: int(is_left.sum())]
            count = max(1, int(np.searchsorted(np.cumsum(counts[order]), most, side="right")))
            chosen = order[:count]
            is_left[chosen] = False
            customers = 1 + np.flatnonzero(np.isin(route_of, chosen))
            _, route = np.unique(route_of[customers - 1], return_inverse=True)
            yield RoutePart(row, customers, route.astype(np.int32), places[row, customers].astype(np.int32))


def _report(batch: InstanceBatch, routes: RouteBatch) -> BatchProgress:
    return BatchProgress(torch.arange(len(batch)), lambda: routes.lengths(batch), lambda: routes)
