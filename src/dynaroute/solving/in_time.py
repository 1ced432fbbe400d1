"""Building routes with a policy within a time limit: as many attempts as fit."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import torch

from dynaroute.base.stopping import OutOfTimeError, Stopping
from dynaroute.batch import InstanceBatch
from dynaroute.construct import Strategy, construct
from dynaroute.construct.choose import SolutionBuilder
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution

if TYPE_CHECKING:
    from torch import Tensor

    from dynaroute.construct.choose import Chooser, StepInfo
    from dynaroute.model import Policy

_ATTEMPTS_AT_ONCE = 8
_WAKE_UP_SECONDS = 0.02  # between two looks at the clock

Value = TypeVar("Value")


@dataclass
class RoutesInTime:
    """What was built before the time was up.

    Attributes
    ----------
    solution
        The best so far; None before the first finished attempt.
    attempts
        Number of finished attempts.
    """

    solution: Solution | None = None
    attempts: int = 0

    def add(self, solution: Solution, attempts: int) -> None:
        """Add the best of some more attempts."""
        assert solution.stated_cost is not None  # solutions from tensors always state it
        if self.solution is None or solution.stated_cost < (self.solution.stated_cost or 0.0):
            self.solution = solution
        self.attempts += attempts


def build_in_time(
    policy: Policy, instance: Instance, strategy: Strategy, seed: int, stopping: Stopping
) -> RoutesInTime:
    """Make as many of a strategy's attempts at one instance as time allows.

    Parameters
    ----------
    policy
        The policy, on its device.
    instance
        An instance with coordinates.
    strategy
        The attempts; if all are made, the routes are the same as without a time limit.
    seed
        Seed of sampling.
    stopping
        Its deadline and cancellation apply.
    """
    found = RoutesInTime()
    with suppress(OutOfTimeError):
        run_until(stopping, partial(_keep_building, found, policy, instance, strategy, seed, stopping))
    return RoutesInTime(found.solution, found.attempts)


def run_until(stopping: Stopping, work: Callable[[], Value]) -> Value:
    """Do work in a thread that is abandoned if late, because one encoding of thousands of customers takes seconds.

    Raises
    ------
    OutOfTimeError
        If the time was up, or it was cancelled, before the work was done.
    """
    worker = ThreadPoolExecutor(1)
    try:
        future = worker.submit(work)
        while not wait([future], min(_WAKE_UP_SECONDS, stopping.seconds_left)).done:
            if stopping.is_time_up():
                raise OutOfTimeError
        return future.result()
    finally:
        worker.shutdown(wait=False)


def make_interruptible(strategy: Strategy, stopping: Stopping) -> Strategy:
    """Wrap a strategy so that it raises OutOfTimeError when it has to stop."""
    return choose_attempts(strategy, 0, strategy.attempts, stopping)


def choose_attempts(strategy: Strategy, first: int, count: int, stopping: Stopping | None = None) -> Strategy:
    """Select some of a strategy's attempts, with the same routes; raises OutOfTimeError when it has to stop.

    Parameters
    ----------
    strategy
        The strategy.
    first, count
        The attempts to make.
    stopping
        Its deadline and cancellation apply; None: no limit.
    """
    return _TimedAttempts(strategy, first, count, stopping or Stopping())


def _keep_building(
    found: RoutesInTime, policy: Policy, instance: Instance, strategy: Strategy, seed: int, stopping: Stopping
) -> None:
    batch = InstanceBatch.from_instances([instance], policy.config.rules)
    # the first attempt alone, so that there are routes soon
    for first in (0, *range(1, strategy.attempts, _ATTEMPTS_AT_ONCE)):
        count = 1 if first == 0 else min(_ATTEMPTS_AT_ONCE, strategy.attempts - first)
        generator = torch.Generator().manual_seed(seed)  # each part gets the same seed as all attempts together
        routes = construct(policy, batch, _TimedAttempts(strategy, first, count, stopping), generator)
        found.add(routes.to_solutions(batch)[0], count)


@dataclass(frozen=True)
class _TimedAttempts:
    """Some attempts of another strategy, with a time limit."""

    strategy: Strategy
    first: int
    attempts: int
    stopping: Stopping

    @property
    def held(self) -> int:
        return self.strategy.held

    def place(self, batch: InstanceBatch, attempt: Tensor) -> InstanceBatch:
        return self.strategy.place(batch, attempt + self.first)

    def chooser(self, batch: InstanceBatch, attempt: Tensor, seed: int) -> Chooser | SolutionBuilder:
        self._refuse_if_late()
        choose = self.strategy.chooser(batch, attempt + self.first, seed)
        if isinstance(choose, SolutionBuilder):
            return choose.watched(self._refuse_if_late)
        # kernels on a GPU only support our own choosers, but there an attempt takes no time
        return choose if batch.device.type != "cpu" else _TimedChooser(choose, self.stopping)

    def _refuse_if_late(self) -> None:
        if self.stopping.is_time_up():
            raise OutOfTimeError


@dataclass(frozen=True, eq=False)
class _TimedChooser:
    """Another chooser, with a check of the clock before every step."""

    choose: Chooser
    stopping: Stopping

    def __call__(self, logits: Tensor, info: StepInfo) -> Tensor:
        if self.stopping.is_time_up():
            raise OutOfTimeError
        return self.choose(logits, info)
