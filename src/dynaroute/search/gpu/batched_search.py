"""Searching many instances together, for a time or a number of iterations."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import pad

from dynaroute.base.errors import UnsupportedError
from dynaroute.base.stopping import Stopping
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.search.gpu.devices import KernelDevice
from dynaroute.search.gpu.group import estimate_bytes
from dynaroute.search.gpu.kernel_problem import KernelProblem, list_groups
from dynaroute.search.gpu.launches import Layout
from dynaroute.search.gpu.running import BatchProgress, RunningGroup
from dynaroute.search.gpu.schedule import PopulationSettings

__all__ = ["LARGEST", "BatchProgress", "SearchedBatch", "pad_routes", "search_batch"]

LARGEST = 20_000  # customers; node numbers must fit 16 bits, and legs a GPU's memory

_LAUNCH_SECONDS = 0.03  # between two checks of the clock
_CLOSING_SECONDS, _CLOSING_SECONDS_PER_CUSTOMER = 0.002, 5e-9  # to copy routes out
_OPENING_SECONDS, _OPENING_SECONDS_PER_LEG = 0.008, 5e-10  # to measure legs, and for the first launches
_USED_MEMORY = 0.8  # share of the free memory


@dataclass(frozen=True)
class SearchedBatch:
    """The result of a search of many instances.

    Attributes
    ----------
    routes
        The best routes of each instance; never worse than the start.
    iterations
        (B,) int64 iterations of each, over all chains.
    is_interrupted
        Whether it was ended early, by Ctrl-C or `is_cancelled`.
    """

    routes: RouteBatch
    iterations: Tensor
    is_interrupted: bool


def search_batch(
    device: KernelDevice,
    batch: InstanceBatch,
    starts: RouteBatch,
    stopping: Stopping,
    *,
    seed: int = 0,
    settings: PopulationSettings | None = None,
    on_launch: Callable[[BatchProgress], None] | None = None,
) -> SearchedBatch:
    """Improve routes until told to stop.

    With a number of iterations, and enough time for them, the seed determines the routes, independently of the rest of
    the batch, the device and its speed.

    Parameters
    ----------
    device
        The device that searches.
    batch
        Instances of any sizes.
    starts
        Feasible routes for each, or several for each, grouped by instance.
    stopping
        When to stop; all instances have to reach a target.
    seed
        Seed of the random numbers.
    settings
        Settings of the search; None for the defaults.
    on_launch
        Called every few hundredths of a second.
    """
    largest = int(batch.sizes.max())
    if largest > LARGEST:
        raise UnsupportedError(
            f"the search on a GPU supports up to {LARGEST:,} customers, but an instance has {largest:,}.",
            remedy="Use a time limit instead of a total time, to search on the CPU.",
        )
    rules = settings or PopulationSettings()
    search = _BatchedSearch(device, seed, rules, on_launch)
    copies = len(starts) // len(batch)
    best = starts[torch.arange(0, len(starts), copies, device=batch.device)]
    iterations = torch.zeros(len(batch), dtype=torch.int64)
    if stopping.deadline is not None and stopping.seconds_left < _estimate_opening(batch):
        return SearchedBatch(best, iterations, False)
    groups = [torch.tensor(rows) for rows in list_groups(batch.sizes.tolist())]
    rounds = deque(_cut_into_rounds(device, batch, starts, groups, rules))
    work_left = float(batch.sizes.sum())
    while rounds:
        parts = rounds.popleft()
        work = sum(float(batch.sizes[rows.to(batch.device)].sum()) for rows in parts)
        try:
            found = search.run(batch, starts, parts, _share_out(stopping, work / work_left, work))
        except torch.OutOfMemoryError:
            rounds.extendleft(_halve(parts))
            continue
        work_left -= work
        for rows, routes, count in found:
            _keep_better(batch, best, rows.to(batch.device), routes)
            iterations[rows] = count
    return SearchedBatch(best, iterations, search.is_interrupted)


def _estimate_opening(batch: InstanceBatch) -> float:
    """Estimate the seconds before a search gains anything; with less time, there is no search."""
    return _OPENING_SECONDS + _OPENING_SECONDS_PER_LEG * float(((batch.sizes + 1).double() ** 2).sum())


def _share_out(stopping: Stopping, share: float, work: float) -> Stopping:
    """Return the limits for a part of all instances, leaving time to copy its routes."""
    if stopping.deadline is None:
        return stopping
    closing = _CLOSING_SECONDS + _CLOSING_SECONDS_PER_CUSTOMER * work
    deadline = time.perf_counter() + stopping.seconds_left * min(share, 1.0) - closing
    return replace(stopping, deadline=deadline)


def pad_routes(routes: RouteBatch, nodes: int) -> RouteBatch:
    """Pad routes for a batch whose largest instance has more nodes."""
    more = (0, nodes - routes.route.shape[1])
    return routes.map_tensors(lambda tensor: pad(tensor, more, value=-1))


def _keep_better(batch: InstanceBatch, best: RouteBatch, rows: Tensor, found: RouteBatch) -> None:
    """Keep what is better by the instances' own lengths, which the kernels only approximate."""
    part, before = batch[rows], best[rows]
    after = pad_routes(found.map_tensors(lambda tensor: tensor.to(batch.device)), batch.nodes)
    is_better = (after.lengths(part) < before.lengths(part))[:, None]
    best.route[rows] = torch.where(is_better, after.route, before.route)
    best.position[rows] = torch.where(is_better, after.position, before.position)
    if best.kind is not None and after.kind is not None and before.kind is not None:
        best.kind[rows] = torch.where(is_better, after.kind, before.kind)


def _cut_into_rounds(
    device: KernelDevice,
    batch: InstanceBatch,
    starts: RouteBatch,
    groups: Sequence[Tensor],
    settings: PopulationSettings,
) -> list[list[Tensor]]:
    """Divide groups into rounds that fit in the device's memory."""
    free = device.find_free_memory()
    if free is None:
        return [list(groups)]
    room = free * _USED_MEMORY
    most_routes = int(starts.route.amax()) + 1
    rounds: list[list[Tensor]] = [[]]
    left = room
    for rows in groups:
        nodes = int(batch.sizes[rows.to(batch.device)].max()) + 1
        layout = Layout(nodes, min(nodes - 1, most_routes * 5 // 4 + 8))
        chains = max(8, min(1024, device.count_warps(layout) // len(rows)))
        each = estimate_bytes(layout, chains, settings.genetic, _count_tables(batch))
        if each > room:
            raise UnsupportedError(
                f"{nodes - 1:,} customers need {each / 1e9:,.1f} GB of the GPU's memory, and {room / 1e9:,.1f} GB are "
                "free.",
                remedy="Use --device cpu, or close other programs on the GPU.",
            )
        while len(rows):
            count = min(len(rows), int(left // each))
            if count == 0:
                rounds.append([])
                left = room
                continue
            rounds[-1].append(rows[:count])
            rows = rows[count:]
            left -= count * each
    return rounds


def _count_tables(batch: InstanceBatch) -> int:
    """Count the tables of all legs of an instance; rules have two more, kept as they are and in order."""
    kinds = 1 if batch.fleet is None else batch.fleet.per_instance
    return kinds * (1 if batch.rules is None else 5)


def _halve(parts: Sequence[Tensor]) -> list[list[Tensor]]:
    """Split a round that did not fit in memory, which others may be using too."""
    every = sum(len(rows) for rows in parts)
    if every == 1:
        raise UnsupportedError(
            "the GPU does not have enough free memory to search one instance.",
            remedy="Use --device cpu, or close other programs on the GPU.",
        )
    first: list[Tensor] = []
    second: list[Tensor] = []
    room = every // 2
    for rows in parts:
        count = min(room, len(rows))
        room -= count
        first.extend([rows[:count]] if count else [])
        second.extend([rows[count:]] if count < len(rows) else [])
    return [first, second]


@dataclass
class _BatchedSearch:
    """What all rounds share."""

    device: KernelDevice
    seed: int
    settings: PopulationSettings
    on_launch: Callable[[BatchProgress], None] | None
    is_interrupted: bool = False

    def run(
        self, batch: InstanceBatch, starts: RouteBatch, parts: Sequence[Tensor], stopping: Stopping
    ) -> list[tuple[Tensor, RouteBatch, int]]:
        """Search some instances together; returns their rows, routes and iterations."""
        began = time.perf_counter()
        running: list[RunningGroup] = []
        try:
            running.extend(self._begin(batch, starts, rows, stopping, began) for rows in parts)
            work = sum(part.work for part in running)
            while not self._has_to_stop(stopping) and not all(part.is_finished for part in running):
                for part in running:
                    part.step(_LAUNCH_SECONDS * part.work / work)
                    part.is_finished |= part.has_reached_target()
                    if self.on_launch is not None:
                        self.on_launch(part.report())
        except KeyboardInterrupt:
            self.is_interrupted = True
        return [(part.rows, part.group.best_routes(), part.iterations) for part in running]

    def _has_to_stop(self, stopping: Stopping) -> bool:
        if stopping.is_cancelled is not None and stopping.is_cancelled():
            self.is_interrupted = True
        return self.is_interrupted or stopping.seconds_left <= 0

    def _begin(
        self, batch: InstanceBatch, starts: RouteBatch, rows: Tensor, stopping: Stopping, began: float
    ) -> RunningGroup:
        place, copies = self.device.place, len(starts) // len(batch)
        here = rows.to(batch.device)
        part, nodes = batch[here], int(batch.sizes[here].max()) + 1
        start_rows = (here[:, None] * copies + torch.arange(copies, device=batch.device)).flatten()
        routes = starts[start_rows]
        cut = part.to(place).map_tensors(lambda tensor: _cut(tensor, batch.nodes, nodes))
        problem = KernelProblem.prepare(cut, routes.map_tensors(lambda tensor: tensor[:, :nodes].to(place)))
        settings = self.settings if problem.rules is None else self.settings.without_islands
        running = RunningGroup(self.device, rows, part, problem, self.seed, settings, stopping, began)
        running.begin()
        return running


def _cut(tensor: Tensor, padded: int, nodes: int) -> Tensor:
    """Remove the padding for larger instances."""
    if tensor.ndim == 1 or tensor.shape[1] != padded:
        return tensor
    shorter = tensor[:, :nodes]
    return shorter[:, :, :nodes] if tensor.ndim == 3 and tensor.shape[2] == padded and padded > 2 else shorter
