"""Searching instances, with a time limit for each or for all: first routes, search, results."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from dynaroute.base.machine import choose_device, count_cores
from dynaroute.base.stopping import Stopping
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.search.improvers import needs_limits
from dynaroute.search.many import BatchSearchRequest, search_side_by_side
from dynaroute.search.search import SearchOutcome
from dynaroute.solving.building import load_policy, make_strategy, name_policy
from dynaroute.solving.choose import Approach, count_cores_beside, load_code
from dynaroute.solving.options import Observers, SolveOptions
from dynaroute.solving.result import GIVEN, INSERTION, SAVINGS, Result, Start

if TYPE_CHECKING:
    from dynaroute.model import Policy

_NOT_ON_GPU = "The search on a GPU does not know all that these instances ask for, so the CPU searched instead."
_POLICY_SHARE = 0.5  # largest share of the time limit for the first routes of a requested policy


def search_all(
    instances: Sequence[Instance],
    starts: Sequence[Solution] | None,
    approaches: Sequence[Approach],
    options: SolveOptions,
    observers: Observers,
    entered: float,
) -> list[Result]:
    """Search every instance within the limits of the options.

    Parameters
    ----------
    instances
        Any problems.
    starts
        Known routes for each, if any.
    approaches
        How to solve each.
    options, observers
        Options and callbacks.
    entered
        The value of `time.perf_counter` from which the time of a single instance, and the total time, count. Each of
        many instances has its time from when it starts.
    """
    if all(approach.is_together for approach in approaches):
        from dynaroute.solving.together import search_together

        return search_together(instances, starts, options, observers, entered)
    began = time.perf_counter()
    load_code(approaches)
    entered += time.perf_counter() - began  # does not count
    first = _StartRoutesOfAll.prepare(instances, starts, approaches, options)
    request = BatchSearchRequest(
        instances,
        begin=_choose_beginning(len(instances), options, observers, entered),
        find_start=first.find,
        is_by_policy=first.is_by_policy,
        seed=options.usual_seed,
        objective=options.objective or "distance",
        on_improvement=observers.on_improvement,
        on_finished=observers.progress,
    )
    if approaches[0].is_beside:
        return [_search_beside(request, first, options)]
    outcomes = search_side_by_side(request, options.threads)
    results = [
        _report(instance, first.found[index], outcome, options)
        for index, (instance, outcome) in enumerate(zip(instances, outcomes, strict=True))
    ]
    if options.total_time is None or not choose_device(options.device).startswith("cuda"):
        return results
    return [replace(result, messages=(_NOT_ON_GPU, *result.messages)) for result in results]


def _search_beside(request: BatchSearchRequest, first: _StartRoutesOfAll, options: SolveOptions) -> Result:
    """Search the only instance on a GPU and on cores."""
    from dynaroute.search.gpu.devices import find_device
    from dynaroute.solving.beside import search_beside_cores

    before = time.perf_counter()
    device = find_device(choose_device(options.device))
    loading, begin = time.perf_counter() - before, request.begin  # loading kernels does not count

    def begin_later() -> Stopping:
        stopping = begin()
        deadline = None if stopping.deadline is None else stopping.deadline + loading
        return replace(stopping, deadline=deadline, began=stopping.began + loading)

    later = replace(request, begin=begin_later)
    found = search_beside_cores(later, count_cores_beside(options), device)
    result = _report(request.instances[0], first.found[0], found.outcome, options)
    return replace(result, messages=(found.message, *result.messages))


def _choose_beginning(
    count: int, options: SolveOptions, observers: Observers, entered: float
) -> Callable[[], Stopping]:
    """Return the function that says, when an instance starts, when it has to stop."""
    if options.total_time is not None:
        shared = _SharedTime(entered + options.total_time, options.threads or count_cores(), count)
        return lambda: _begin(options, observers, time.perf_counter(), shared.take())
    limit = options.search_seconds
    return lambda: _begin(options, observers, entered if count == 1 else time.perf_counter(), limit)


@dataclass
class _SharedTime:
    """Divides the time of all cores among instances.

    Attributes
    ----------
    end
        The value of `time.perf_counter` at which all must end.
    cores
        Number of cores in use.
    waiting
        Number of instances that have not started.
    """

    end: float
    cores: int
    waiting: int
    _lock: Lock = field(default_factory=Lock)

    def take(self) -> float:
        """Seconds for the next instance."""
        with self._lock:
            share = min(1.0, self.cores / self.waiting)
            self.waiting -= 1
        return max(0.0, self.end - time.perf_counter()) * share


def _begin(options: SolveOptions, observers: Observers, began: float, limit: float | None) -> Stopping:
    return Stopping(
        deadline=None if limit is None else began + limit,
        iterations=None if options.iterations is None else int(options.iterations),  # NumPy's integers too
        target=options.target,
        is_cancelled=observers.is_cancelled,
        began=began,
    )


class _StartRoutes(NamedTuple):
    """Routes to start from; None for savings, which the search builds itself."""

    start: Start
    solution: Solution | None = None
    messages: tuple[str, ...] = ()


def _report(instance: Instance, first: _StartRoutes, outcome: SearchOutcome, options: SolveOptions) -> Result:
    result = Result(
        instance,
        outcome.solution,
        outcome.cost,
        outcome.seconds,
        first.start,
        options.improver,
        options.limit,
        trace=outcome.trace,
        iterations=outcome.iterations,
        is_interrupted=outcome.is_interrupted,
    )
    told = _compare_with_savings(first.start, outcome)
    return replace(result, messages=tuple(filter(None, (*first.messages, told, result.improvement))))


def _compare_with_savings(start: Start, outcome: SearchOutcome) -> str:
    """Say how good the policy's routes were; empty if there were none, or no time for savings."""
    if start.kind != "policy" or not outcome.trace or math.isinf(outcome.savings_cost):
        return ""
    excess = 100 * (outcome.savings_cost / outcome.trace[0][1] - 1)
    builder = f"{start.model} ({start}) built the first routes"
    return f"{builder}; savings was {abs(excess):.1f} % {'longer' if excess > 0 else 'shorter'}."


@dataclass(frozen=True)
class _StartRoutesOfAll:
    """Builds the first routes of each instance, and records how."""

    instances: Sequence[Instance]
    starts: Sequence[Solution] | None
    approaches: Sequence[Approach]
    options: SolveOptions
    policy: Policy | None
    found: list[_StartRoutes] = field(default_factory=list)

    @classmethod
    def prepare(
        cls,
        instances: Sequence[Instance],
        starts: Sequence[Solution] | None,
        approaches: Sequence[Approach],
        options: SolveOptions,
    ) -> _StartRoutesOfAll:
        is_built = options.model not in ("auto", "savings")
        policy = load_policy(options.model, options.device) if is_built else None
        return cls(instances, starts, approaches, options, policy, [_StartRoutes(SAVINGS)] * len(instances))

    def find(self, index: int, stopping: Stopping) -> Solution | None:
        """Return routes to start from; None for savings."""
        self.found[index] = self._find(index, stopping)
        return self.found[index].solution

    def _find(self, index: int, stopping: Stopping) -> _StartRoutes:
        approach = self.approaches[index]
        if self.starts is not None:
            return _StartRoutes(GIVEN, self.starts[index])
        if approach.start == "policy":
            assert self.policy is not None  # it was loaded before
            instance = self.instances[index]
            by_policy = self._build_by_policy(self.policy, instance, stopping)
            is_limited = needs_limits(instance, self.options.objective)
            return self._take_better(by_policy, instance, stopping) if is_limited else by_policy
        messages = (approach.message,) if approach.message else ()
        return _StartRoutes(INSERTION if approach.start == "insertion" else SAVINGS, messages=messages)

    def is_by_policy(self, index: int) -> bool:
        """Whether a policy built the routes that were found."""
        return self.found[index].start.kind == "policy"

    def _take_better(self, by_policy: _StartRoutes, instance: Instance, stopping: Stopping) -> _StartRoutes:
        """Take the policy's routes, or those of insertion where they are better, as without a search."""
        from dynaroute.search.with_limits.search import search_with_limits

        if by_policy.solution is None:
            return by_policy._replace(start=INSERTION)
        inserted = search_with_limits(instance, None, replace(stopping, iterations=1), seed=self.options.usual_seed)
        cost = by_policy.solution.cost(instance)
        if inserted.solution.unserved(instance) or cost <= inserted.cost:
            return by_policy
        excess = 100 * (cost / inserted.cost - 1)
        told = f"Insertion built the first routes; those of {by_policy.start.model} cost {excess:.1f} % more."
        return _StartRoutes(INSERTION, inserted.solution, (*by_policy.messages, told))

    def _build_by_policy(self, policy: Policy, instance: Instance, stopping: Stopping) -> _StartRoutes:
        from dynaroute.solving.in_time import build_in_time

        strategy, began = make_strategy(self.options), stopping.began
        deadline = None if stopping.deadline is None else began + _POLICY_SHARE * (stopping.deadline - began)
        built = build_in_time(policy, instance, strategy, self.options.usual_seed, replace(stopping, deadline=deadline))
        start = Start.by_policy(name_policy(policy, self.options.model), self.options.decoding)
        builder = f"{start.model} ({start})"
        if built.solution is None:
            return _StartRoutes(SAVINGS, messages=(f"There was no time for {builder}.",))
        messages: tuple[str, ...] = ()
        if built.attempts < strategy.attempts:
            messages = (f"There was time for {built.attempts} of the {strategy.attempts} attempts of {builder}.",)
        return _StartRoutes(start, built.solution, messages)
