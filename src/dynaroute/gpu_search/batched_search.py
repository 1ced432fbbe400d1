"""Searching many instances together for a time, or for a number of iterations."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor
from torch.nn.functional import pad

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.errors import UnsupportedError
from dynaroute.gpu_search.devices import KernelDevice
from dynaroute.gpu_search.group import Group, estimate_bytes
from dynaroute.gpu_search.kernel_problem import KernelProblem, find_group, list_groups
from dynaroute.gpu_search.launches import Layout
from dynaroute.gpu_search.schedule import Generation, Plan, PopulationSettings, plan_search
from dynaroute.improve.stopping import Stopping

__all__ = ["LARGEST", "BatchProgress", "SearchedBatch", "pad_routes", "search_batch"]

LARGEST = 20_000  # customers, whose nodes have numbers of 16 bits and whose legs fit in a GPU's memory

_LAUNCH_SECONDS = 0.03  # between two looks at the clock
_FIRST_ITERATIONS = 16  # of a launch of which nothing is known
_LARGEST_GROWTH = 4.0  # of a launch beside the one before: a single fast one proves little
_CLOSING_SECONDS, _CLOSING_SECONDS_A_CUSTOMER = 0.002, 5e-9  # to copy routes out
_USED_MEMORY = 0.8  # of what is free
_USUAL_SECONDS = 60.0  # where neither a deadline nor a number of iterations is given


@dataclass(frozen=True)
class BatchProgress:
    """How far a search is; what is costly to know is found out when it is asked for.

    Attributes
    ----------
    rows
        Which instances of the batch are being searched.
    read_costs
        Gives their costs, (I,) in their own units, but for the last digits.
    read_routes
        Gives their routes.
    """

    rows: Tensor
    read_costs: Callable[[], Tensor]
    read_routes: Callable[[], RouteBatch]


@dataclass(frozen=True)
class SearchedBatch:
    """What a search of many instances came to.

    Attributes
    ----------
    routes
        The best of each instance; never worse than the start.
    iterations
        (B,) int64 of each, all chains together.
    is_interrupted
        Whether it was ended before its time: by Ctrl-C, or by whoever was asked.
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

    With a number of iterations, and time enough for them, the seed determines the routes: neither the other instances
    of the batch, nor the device, nor its speed matter.

    Parameters
    ----------
    device
        What searches.
    batch
        Instances of any sizes.
    starts
        Feasible routes of each, or several of each, those of one instance in a row.
    stopping
        When to stop; a target has to be reached by all instances.
    seed
        Of the random numbers.
    settings
        Temperatures and extent; None: the usual ones.
    on_launch
        Called every few hundredths of a second.
    """
    largest = int(batch.sizes.max())
    if largest > LARGEST:
        raise UnsupportedError(
            f"the search on a GPU takes {LARGEST:,} customers, and an instance has {largest:,}.",
            remedy="Use a time limit instead of a total time: the search on processor cores takes it.",
        )
    search = _Search(device, seed, settings or PopulationSettings(), on_launch)
    copies = len(starts) // len(batch)
    best = starts[torch.arange(0, len(starts), copies, device=batch.device)]
    iterations = torch.zeros(len(batch), dtype=torch.int64)
    groups = [torch.tensor(rows) for rows in list_groups(batch.sizes.tolist())]
    rounds = deque(_cut_into_rounds(device, batch, starts, groups))
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


def _share_out(stopping: Stopping, share: float, work: float) -> Stopping:
    """The limits of a part of all instances; some time is left for copying its routes out."""
    if stopping.deadline is None:
        return stopping
    closing = _CLOSING_SECONDS + _CLOSING_SECONDS_A_CUSTOMER * work
    deadline = time.perf_counter() + stopping.seconds_left * min(share, 1.0) - closing
    return replace(stopping, deadline=deadline)


def pad_routes(routes: RouteBatch, nodes: int) -> RouteBatch:
    """The same routes in a batch whose largest instance has more nodes.

    Parameters
    ----------
    routes
        Of smaller instances.
    nodes
        Of the largest one, the depot included.
    """
    more = (0, nodes - routes.route.shape[1])
    return RouteBatch(pad(routes.route, more, value=-1), pad(routes.position, more, value=-1))


def _keep_better(batch: InstanceBatch, best: RouteBatch, rows: Tensor, found: RouteBatch) -> None:
    """Take what is better by the instances' own lengths, which the kernels know but for the last digits."""
    part, before = batch[rows], best[rows]
    after = pad_routes(RouteBatch(found.route.to(batch.device), found.position.to(batch.device)), batch.nodes)
    is_better = (after.lengths(part) < before.lengths(part))[:, None]
    best.route[rows] = torch.where(is_better, after.route, before.route)
    best.position[rows] = torch.where(is_better, after.position, before.position)


def _cut_into_rounds(
    device: KernelDevice, batch: InstanceBatch, starts: RouteBatch, groups: Sequence[Tensor]
) -> list[list[Tensor]]:
    """Which parts of groups are searched at the same time: as much as fits in the device's memory."""
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
        each = estimate_bytes(layout, chains)
        if each > room:
            raise UnsupportedError(
                f"{nodes - 1:,} customers need {each / 1e9:,.1f} GB of the GPU's memory, and {room / 1e9:,.1f} GB are "
                "free.",
                remedy="Use --device cpu, or end other programs on the GPU.",
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


def _halve(parts: Sequence[Tensor]) -> list[list[Tensor]]:
    """Two rounds instead of one that did not fit in memory: others may be using it, too."""
    every = sum(len(rows) for rows in parts)
    if every == 1:
        raise UnsupportedError(
            "the GPU has not enough memory left to search one instance.",
            remedy="Use --device cpu, or end other programs on the GPU.",
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
class _Search:
    """What all rounds have in common."""

    device: KernelDevice
    seed: int
    settings: PopulationSettings
    on_launch: Callable[[BatchProgress], None] | None
    is_interrupted: bool = False

    def run(
        self, batch: InstanceBatch, starts: RouteBatch, parts: Sequence[Tensor], stopping: Stopping
    ) -> list[tuple[Tensor, RouteBatch, int]]:
        """Search some instances at the same time; their rows, routes and iterations."""
        began = time.perf_counter()
        running: list[_RunningGroup] = []
        try:
            running.extend(self._begin(batch, starts, rows, stopping, began) for rows in parts)
            work = sum(part.work for part in running)
            while not self._has_to_stop(stopping) and not all(part.is_finished for part in running):
                for part in running:
                    part.step(_LAUNCH_SECONDS * part.work / work)
                    part.is_finished |= part.has_reached_target()
                    if self.on_launch is not None:
                        self.on_launch(part.tell())
        except KeyboardInterrupt:
            self.is_interrupted = True
        return [(part.rows, part.group.best_routes(), part.group.done * part.group.chains) for part in running]

    def _has_to_stop(self, stopping: Stopping) -> bool:
        if stopping.is_cancelled is not None and stopping.is_cancelled():
            self.is_interrupted = True
        return self.is_interrupted or stopping.seconds_left <= 0

    def _begin(
        self, batch: InstanceBatch, starts: RouteBatch, rows: Tensor, stopping: Stopping, began: float
    ) -> _RunningGroup:
        place, copies = self.device.place, len(starts) // len(batch)
        here = rows.to(batch.device)
        part, nodes = batch[here], int(batch.sizes[here].max()) + 1
        start_rows = (here[:, None] * copies + torch.arange(copies, device=batch.device)).flatten()
        routes = starts[start_rows]
        cut = part.to(place).map_tensors(lambda tensor: _cut(tensor, batch.nodes, nodes))
        problem = KernelProblem.prepare(
            cut, RouteBatch(routes.route[:, :nodes].to(place), routes.position[:, :nodes].to(place))
        )
        running = _RunningGroup(self.device, rows, part, problem, self.seed, self.settings, stopping, began)
        running.begin()
        return running


def _cut(tensor: Tensor, padded: int, nodes: int) -> Tensor:
    """Without the padding of larger instances."""
    if tensor.ndim == 1:
        return tensor
    shorter = tensor[:, :nodes]
    return shorter[:, :, :nodes] if tensor.ndim == 3 and tensor.shape[2] == padded and padded > 2 else shorter


@dataclass
class _RunningGroup:
    """A group while it is searched."""

    device: KernelDevice
    rows: Tensor
    batch: InstanceBatch
    problem: KernelProblem
    seed: int
    settings: PopulationSettings
    stopping: Stopping
    began: float
    plan: Plan = field(init=False)
    group: Group = field(init=False)
    is_finished: bool = field(default=False, init=False)
    _number: int = field(default=0, init=False)  # of the generation
    _done: int = field(default=0, init=False)  # iterations of a chain, in this generation
    _speed: float = field(default=0.0, init=False)  # iterations of a chain, a second
    _count: int = field(default=_FIRST_ITERATIONS, init=False)

    @property
    def work(self) -> float:
        """By which time is shared out."""
        return float(self.problem.sizes.sum())

    def begin(self) -> None:
        """Choose a plan: from the iterations that are given, or those that a short trial says there is time for."""
        least = min(1024, max(1, self.device.count_warps(self.problem.layout) // len(self.problem)))
        if self._is_counted:
            assert self.stopping.iterations is not None
            self._adopt(plan_search(self.stopping.iterations, self._size, self.settings))
            self.is_finished = self._length == 0
            return
        self._adopt(plan_search(0, self._size, self.settings, least))
        for _ in range(3):  # the first pays for what is loaded late
            self.step(_LAUNCH_SECONDS / 8)
        seconds = min(self.stopping.seconds_left, _USUAL_SECONDS if self.stopping.deadline is None else float("inf"))
        plan = plan_search(self._speed * least * seconds, self._size, self.settings, least)
        if plan.chains == self.plan.chains:
            self.plan = plan
            self.group.set_temperatures(plan.generations[0])
        else:
            self._adopt(plan)

    def step(self, seconds: float) -> None:
        """Run for about so long; for all the time that is left, at most."""
        if self.is_finished:
            return
        if self._is_counted:
            self._step_by_count(seconds)
        else:
            self._step_by_clock(seconds)

    def has_reached_target(self) -> bool:
        """Whether all instances are good enough."""
        target = self.stopping.target
        return target is not None and bool((self.group.best_costs() <= target).all())

    def tell(self) -> BatchProgress:
        """How far it is."""
        return BatchProgress(self.rows, self.group.best_costs, self.group.best_routes)

    @property
    def _is_counted(self) -> bool:
        return self.stopping.iterations is not None

    @property
    def _size(self) -> int:
        return find_group(int(self.problem.sizes.max()))  # whatever else is in the batch

    def _adopt(self, plan: Plan) -> None:
        self.plan = plan
        self.group = Group(self.device, self.problem, plan.chains, self.seed)
        self.group.set_temperatures(plan.generations[0])

    @property
    def _length(self) -> int:
        """Iterations of a chain in this generation, where they are counted."""
        assert self.stopping.iterations is not None
        of_chain, now = self.stopping.iterations // self.plan.chains, self.plan.generations[self._number]
        return round(now.ends * of_chain) - round(now.begins * of_chain)

    def _step_by_count(self, seconds: float) -> None:
        length = self._length
        count = min(self._choose_count(seconds), length - self._done)
        if count > 0:
            self._timed(count, lambda: self.group.run_counted(count, self._done, length))
        self._done += count
        if self._done < length:
            return
        if self._number + 1 == len(self.plan.generations):
            self.is_finished = True
            return
        self._next_generation()

    def _step_by_clock(self, seconds: float) -> None:
        progress = self._progress(time.perf_counter())
        while self._number + 1 < len(self.plan.generations) and progress >= self._now.ends:
            self._next_generation()
        seconds = min(seconds, self.stopping.seconds_left)
        count = self._choose_count(seconds)
        ahead = self._progress(time.perf_counter() + (count / self._speed if self._speed else 0.0))
        shares = self._now.share_of(progress), self._now.share_of(ahead)
        self._timed(count, lambda: self.group.run(count, self._now, *shares))

    @property
    def _now(self) -> Generation:
        return self.plan.generations[self._number]

    def _progress(self, now: float) -> float:
        if self.stopping.deadline is not None:
            return min(1.0, (now - self.began) / max(self.stopping.deadline - self.began, 1e-9))
        return min(1.0, (now - self.began) / _USUAL_SECONDS)

    def _next_generation(self) -> None:
        self._number += 1
        self._done = 0
        self.group.recombine(self._number)
        self.group.set_temperatures(self._now)

    def _choose_count(self, seconds: float) -> int:
        if self._speed == 0.0:
            return _FIRST_ITERATIONS
        return max(1, int(min(seconds * self._speed, _LARGEST_GROWTH * self._count)))

    def _timed(self, count: int, work: Callable[[], None]) -> None:
        before = time.perf_counter()
        work()
        self.group.wait()
        self._speed = count / max(time.perf_counter() - before, 1e-9)
        self._count = count
