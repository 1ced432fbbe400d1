"""Running the search of a group of instances: the size of each launch, and what comes next."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor

from dynaroute.base.stopping import Stopping
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.search.gpu.devices import KernelDevice
from dynaroute.search.gpu.group import ChainGroup
from dynaroute.search.gpu.islands import Islands
from dynaroute.search.gpu.kernel_problem import KernelProblem, find_group
from dynaroute.search.gpu.schedule import Generation, PopulationSettings, SearchPlan, plan_search

_TRIAL_SECONDS = 0.004  # per launch, for the first launches, which measure the speed
_FIRST_ITERATIONS = 16  # of the first launch, when the speed is unknown
_LARGEST_GROWTH = 4.0  # of a launch over the previous one, which may have been fast by chance
_USUAL_SECONDS = 60.0  # if neither a deadline nor a number of iterations is given


@dataclass(frozen=True)
class BatchProgress:
    """Progress of a search; costly figures are computed on demand.

    Attributes
    ----------
    rows
        Indices of the instances being searched.
    read_costs
        Returns their (I,) costs in their own units, approximately.
    read_routes
        Returns their routes.
    """

    rows: Tensor
    read_costs: Callable[[], Tensor]
    read_routes: Callable[[], RouteBatch]


@dataclass
class RunningGroup:
    """The running search of a group."""

    device: KernelDevice
    rows: Tensor
    batch: InstanceBatch
    problem: KernelProblem
    seed: int
    settings: PopulationSettings
    stopping: Stopping
    began: float
    plan: SearchPlan = field(init=False)
    group: ChainGroup = field(init=False)
    is_finished: bool = field(default=False, init=False)
    _number: int = field(default=0, init=False)  # number of the generation
    _done: int = field(default=0, init=False)  # iterations per chain in this generation
    _speed: float = field(default=0.0, init=False)  # iterations per chain and second
    _count: int = field(default=_FIRST_ITERATIONS, init=False)

    @property
    def work(self) -> float:
        """The amount of work; groups get time in proportion to it."""
        return float(self.problem.sizes.sum())

    def begin(self) -> None:
        """Choose a plan, from the given number of iterations or from a short trial of the speed."""
        least = min(1024, max(1, self.device.count_warps(self.problem.layout) // len(self.problem)))
        if self._is_counted:
            assert self.stopping.iterations is not None
            self._adopt(plan_search(self.stopping.iterations, self._size, self.settings))
            self.is_finished = self._length == 0
            return
        self._adopt(plan_search(0, self._size, self.settings, least))
        for _ in range(3):  # the first includes loading time
            self.step(_TRIAL_SECONDS)
        seconds = min(self.stopping.seconds_left, _USUAL_SECONDS if self.stopping.deadline is None else float("inf"))
        plan = plan_search(self._speed * least * seconds, self._size, self.settings, least)
        if plan.chains == self.plan.chains:
            self.plan = plan
            self.group.set_temperatures(plan.generations[0])
        else:
            self._speed *= least / plan.chains  # chains beyond those that fill the GPU share its time
            self._adopt(plan)

    @property
    def iterations(self) -> int:
        """Iterations per instance: those of its chains, plus the equivalent of its children."""
        made = 0 if self.group.islands is None else self.group.islands.made * self.plan.islands
        return self.group.done * self.plan.chains + round(made * self._child_iterations)

    def step(self, seconds: float) -> None:
        """Run for about this many seconds, at most until the deadline."""
        if self.is_finished:
            return
        if self.group.islands is not None:
            self._breed(self.group.islands, seconds)
        elif self._is_counted:
            self._step_by_count(seconds)
        else:
            self._step_by_clock(seconds)

    def has_reached_target(self) -> bool:
        """Whether all instances have reached the target."""
        target = self.stopping.target
        return target is not None and bool((self.group.best_costs() <= target).all())

    def report(self) -> BatchProgress:
        """Report the progress."""
        return BatchProgress(self.rows, self.group.best_costs, self.group.best_routes)

    @property
    def _is_counted(self) -> bool:
        return self.stopping.iterations is not None

    @property
    def _size(self) -> int:
        return find_group(int(self.problem.sizes.max()))  # independent of the rest of the batch

    def _adopt(self, plan: SearchPlan) -> None:
        self.plan = plan
        self.group = ChainGroup(self.device, self.problem, plan.chains, self.seed)
        self.group.set_temperatures(plan.generations[0])

    @property
    def _length(self) -> int:
        """Iterations per chain in this generation, if the search is limited by iterations."""
        assert self.stopping.iterations is not None
        of_chain, now = self.stopping.iterations // self.plan.chains, self.plan.generations[self._number]
        return round(now.ends * of_chain) - round(now.begins * of_chain)

    def _step_by_count(self, seconds: float) -> None:
        length = self._length
        count = min(self._choose_count(seconds), length - self._done)
        if count > 0:
            self._run_and_time(count, lambda: self.group.run_counted(count, self._done, length))
        self._done += count
        if self._done < length:
            return
        if self._number + 1 < len(self.plan.generations):
            self._next_generation()
        elif self._count_broods() > 0:
            self._settle()
        else:
            self.is_finished = True

    def _step_by_clock(self, seconds: float) -> None:
        progress = self._progress(time.perf_counter())
        if self.plan.islands and progress >= self.plan.breeds_from:
            self._settle()
            return
        while self._number + 1 < len(self.plan.generations) and progress >= self._now.ends:
            self._next_generation()
        seconds = min(seconds, self.stopping.seconds_left)
        if self.plan.islands:  # the islands' share of the time is not for chains
            seconds = min(seconds, (self.plan.breeds_from - progress) * self._seconds)
        count = self._choose_count(seconds)
        ahead = self._progress(time.perf_counter() + (count / self._speed if self._speed else 0.0))
        shares = self._now.share_of(progress), self._now.share_of(ahead)
        self._run_and_time(count, lambda: self.group.run(count, self._now, *shares))

    @property
    def _now(self) -> Generation:
        return self.plan.generations[self._number]

    @property
    def _seconds(self) -> float:
        """Seconds of the whole search, if it is limited by time."""
        return _USUAL_SECONDS if self.stopping.deadline is None else max(self.stopping.deadline - self.began, 1e-9)

    def _progress(self, now: float) -> float:
        return min(1.0, (now - self.began) / self._seconds)

    def _next_generation(self) -> None:
        self._number += 1
        self._done = 0
        self.group.recombine(self._number)
        self.group.set_temperatures(self._now)

    def _settle(self) -> None:
        self.group.settle(self.plan, self.settings.genetic)
        self._speed, self._count = self._speed * self.plan.chains / self._brood, 1  # estimated generations per second

    @property
    def _child_iterations(self) -> float:
        """Iterations that take as long as making one child."""
        return max(1.0, self.settings.genetic.child_iterations * self._size)

    @property
    def _brood(self) -> float:
        """Iterations that take as long as one generation of all islands of an instance."""
        return self._child_iterations * self.settings.genetic.children * self.plan.islands

    def _count_broods(self) -> int:
        """Total number of generations of children, if the search is limited by iterations."""
        left = (self.stopping.iterations or 0) * (1 - self.plan.breeds_from)
        return int(left / self._brood) if self.plan.islands else 0

    def _breed(self, islands: Islands, seconds: float) -> None:
        """Run generations for about this long; a smaller one if the remaining time is too short for a full one."""
        children = self.settings.genetic.children
        left = float(self._count_broods() - islands.made // children)  # generations
        if not self._is_counted:
            left = self.stopping.seconds_left * self._speed
        if left >= 1:
            count = int(min(left, self._choose_count(seconds)))
            self._run_and_time(count, lambda: islands.breed(count))
            return
        if int(left * children) > 0:
            islands.breed_last(int(left * children))
            self.group.wait()
        self.is_finished = True

    def _choose_count(self, seconds: float) -> int:
        if self._speed == 0.0:
            return _FIRST_ITERATIONS
        return max(1, int(min(seconds * self._speed, _LARGEST_GROWTH * self._count)))

    def _run_and_time(self, count: int, work: Callable[[], None]) -> None:
        before = time.perf_counter()
        work()
        self.group.wait()
        self._speed = count / max(time.perf_counter() - before, 1e-9)
        self._count = count
