"""Searching all instances together on a GPU: a policy's routes, search, results, on tensors."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynaroute.base.machine import choose_device, count_cores
from dynaroute.base.stopping import OutOfTimeError, Stopping
from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.batch.fleet import has_kinds, state_kinds, state_types
from dynaroute.construct import Augmented, Greedy, construct
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.search.gpu.batched_search import BatchProgress, SearchedBatch, pad_routes, search_batch
from dynaroute.search.gpu.devices import KernelDevice, find_device
from dynaroute.search.gpu.kernel_rules import RULES_ON_GPU, KernelRules
from dynaroute.search.gpu.parts import PartSettings, search_in_parts
from dynaroute.search.gpu.schedule import PopulationSettings
from dynaroute.search.many import BatchSearchRequest, search_side_by_side
from dynaroute.search.search import Improvement, SearchOutcome
from dynaroute.solving.building import construct_by_savings, load_policy, make_strategy, name_policy
from dynaroute.solving.choose import choose_together, load_code
from dynaroute.solving.in_time import make_interruptible
from dynaroute.solving.options import Decoding, Observers, SolveOptions
from dynaroute.solving.result import GIVEN, INSERTION, SAVINGS, Result, Start, StartKind
from dynaroute.weights import nearest_shipped_model

if TYPE_CHECKING:
    from dynaroute.model import Policy

_INSERTING_ITERATIONS = 5  # per customer: each of them moves about ten
_LEFT_TO_CORES = (
    "The search on a GPU begins with a plan for everybody, and there was none, so the CPU searched instead."
)
_INSERTING_ON_CORES = 200  # iterations, until everybody has a place
_POLICY_SHARE = 0.6  # largest share of the time after a policy's first attempt for its other attempts
_CHECKS_PER_DOUBLING = 6  # checks of the costs per doubling of the time, for traces
_EXACTNESS = 1e-7  # relative precision of the kernels' costs
_REPORTING_SHARE = 20  # at most one part in this many of the time goes into reporting improvements


class SearchedTogether(NamedTuple):
    """The result of a search of a batch.

    Attributes
    ----------
    routes
        The best routes of each instance, on the batch's device.
    start
        How the first routes were built.
    iterations
        (B,) int64 iterations of each instance.
    looks
        Seconds since the start, and the (B,) costs then, including those of the first routes.
    is_interrupted
        Whether it was ended early.
    """

    routes: RouteBatch
    start: Start
    iterations: Tensor
    looks: list[tuple[float, NDArray[np.float64]]]
    is_interrupted: bool


def prepare_device(device: str | None) -> None:
    """Load the kernels, compiling them if necessary; does nothing without a GPU."""
    chosen = choose_device(device)
    if chosen.startswith("cuda"):
        find_device(chosen)


def search_together(
    instances: Sequence[Instance],
    starts: Sequence[Solution] | None,
    options: SolveOptions,
    observers: Observers,
    entered: float,
    kernels: KernelDevice | None = None,
) -> list[Result]:
    """Search all instances at once.

    Parameters
    ----------
    instances
        Any problems.
    starts
        Known routes for each, if any.
    options, observers
        Options and callbacks.
    entered
        The value of `time.perf_counter` from which the total time counts.
    kernels
        The device that searches; None: the GPU of the options.
    """
    known = dict(enumerate(starts or ()))
    approaches = choose_together(instances, options, is_started=starts is not None)
    began = time.perf_counter()
    load_code(approaches)
    entered += time.perf_counter() - began  # does not count
    results = {} if known else _begin_on_cores(instances, known, options, observers, entered)
    groups: defaultdict[tuple[StartKind, str | Path | Policy | None, _Needs], list[int]] = defaultdict(list)
    for row, approach in enumerate(approaches):
        if row not in results:
            groups[approach.start, approach.model, _Needs.of(instances[row])].append(row)
    customers = sum(instance.size for row, instance in enumerate(instances) if row not in results)
    for (kind, model, _), rows in groups.items():
        group = [instances[row] for row in rows]
        batch = InstanceBatch.from_instances([_with_positions(instance) for instance in group], RULES_ON_GPU)
        entered += _load_kernels(batch, options, kernels)  # compiling does not count
        work = sum(instance.size for instance in group)
        stopping = _share_out(options, observers, entered, work / customers)
        customers -= work
        first = None
        if kind == "savings":
            built = construct_by_savings(group, Observers(is_cancelled=stopping.is_time_up))
            known |= zip(rows, (result.solution for result in built), strict=True)
        if all(row in known for row in rows):
            solutions = [state_kinds(instances[row], known[row]) for row in rows]
            first = RouteBatch.from_solutions(solutions, batch)
        elif kind == "insertion":
            first = _insert_all(batch, stopping, options, kernels)
        watch = _Watch(stopping.began, rows, observers, group)
        found = _search_routes(batch, first, model, stopping, options, watch, kernels)
        known_start = {"given": GIVEN, "savings": SAVINGS, "insertion": INSERTION}
        found = found._replace(start=known_start.get(kind, found.start))
        results |= zip(rows, _report(group, batch, found, options, stopping.began), strict=True)
        observers.note_progress(len(rows))
    return [results[row] for row in range(len(instances))]


class _Needs(NamedTuple):
    """What instances that are searched in one batch have in common."""

    is_plain: bool
    has_kinds: bool
    has_limited_fleet: bool

    @classmethod
    def of(cls, instance: Instance) -> _Needs:
        is_limited = any(kind.count is not None for kind in instance.vehicles or ())
        return cls(instance.is_plain, has_kinds(instance), is_limited)


def _load_kernels(batch: InstanceBatch, options: SolveOptions, kernels: KernelDevice | None) -> float:
    """Load the kernels for the rules of a batch, compiling them if necessary; returns how long it took."""
    began = time.perf_counter()
    rules = KernelRules.prepare(batch)
    if rules is not None:
        (kernels or find_device(choose_device(options.device))).with_rules(rules.switches)
    return time.perf_counter() - began


def _insert_all(
    batch: InstanceBatch, stopping: Stopping, options: SolveOptions, kernels: KernelDevice | None
) -> RouteBatch:
    """Insert customers until routes are few: the kernels begin with a route for each customer.

    The search that follows has room for a few more routes than these, so that its chains need less memory.
    """
    device = kernels or find_device(choose_device(options.device))
    here = batch.to(device.place)
    few = replace(stopping, iterations=_INSERTING_ITERATIONS * batch.nodes, target=None)
    return search_batch(device, here, RouteBatch.alone(here), few, seed=options.usual_seed).routes


def _begin_on_cores(
    instances: Sequence[Instance],
    known: dict[int, Solution],
    options: SolveOptions,
    observers: Observers,
    entered: float,
) -> dict[int, Result]:
    """Insert customers where vehicles are few, so that there cannot be one for each customer at first.

    Routes of those that serve everybody are added to `known`. The others are searched on the cores: the kernels know no
    plan that leaves customers out. Returns their results.
    """
    limited = [row for row, instance in enumerate(instances) if _Needs.of(instance).has_limited_fleet]
    if not limited:
        return {}
    every = _share_out(options, observers, entered, 1.0)
    few = replace(every, iterations=_INSERTING_ON_CORES, target=None)
    begun = _search_on_cores([instances[row] for row in limited], [None] * len(limited), few, options)
    plans = {row: outcome.solution for row, outcome in zip(limited, begun, strict=True)}
    left = [row for row, plan in plans.items() if plan.unserved(instances[row])]
    known |= {row: plan for row, plan in plans.items() if row not in left}
    work = sum(instances[row].size for row in left) / sum(instance.size for instance in instances)
    stopping = _share_out(options, observers, entered, work)
    group = [instances[row] for row in left]
    outcomes = _search_on_cores(group, [plans[row] for row in left], stopping, options)
    observers.note_progress(len(left))
    return {
        row: Result(
            instances[row],
            outcome.solution,
            outcome.cost,
            outcome.seconds,
            INSERTION,
            options.improver,
            options.limit,
            trace=outcome.trace,
            iterations=outcome.iterations,
            is_interrupted=outcome.is_interrupted,
            messages=(_LEFT_TO_CORES,),
        )
        for row, outcome in zip(left, outcomes, strict=True)
    }


def _search_on_cores(
    instances: Sequence[Instance], starts: Sequence[Solution | None], stopping: Stopping, options: SolveOptions
) -> list[SearchOutcome]:
    """Search instances on the cores, each for its share of the time."""
    share = min(1.0, (options.threads or count_cores()) / max(1, len(instances)))
    seconds = stopping.seconds_left * share

    def begin() -> Stopping:
        if stopping.deadline is None:
            return stopping
        return replace(stopping, deadline=min(stopping.deadline, time.perf_counter() + seconds))

    if not instances:
        return []
    request = BatchSearchRequest(instances, begin, lambda row, _: starts[row], seed=options.usual_seed)
    return search_side_by_side(request, options.threads)


def search_routes(
    batch: InstanceBatch,
    options: SolveOptions,
    observers: Observers | None = None,
    entered: float | None = None,
    kernels: KernelDevice | None = None,
    settings: PopulationSettings | None = None,
) -> SearchedTogether:
    """Search a batch at once, from a policy's routes, on tensors only.

    Parameters
    ----------
    batch
        Instances of any sizes; one policy is used for all: that of the options, or the one for the largest.
    options
        Options with a total time or a number of iterations.
    observers
        Callbacks; `is_cancelled` may end the search.
    entered
        The value of `time.perf_counter` from which the time counts; None: now.
    kernels
        The device that searches; None: the GPU of the options.
    settings
        Settings of the search; None for the defaults.
    """
    began = time.perf_counter() if entered is None else entered
    watchers = observers or Observers()
    model = options.model if options.model != "auto" else nearest_shipped_model(int(batch.sizes.max()))
    stopping = _share_out(options, watchers, began, 1.0)
    watch = _Watch(began, list(range(len(batch))), watchers)
    return _search_routes(batch, None, model, stopping, options, watch, kernels, settings)


def _search_routes(
    batch: InstanceBatch,
    first: RouteBatch | None,
    model: str | Path | Policy | None,
    stopping: Stopping,
    options: SolveOptions,
    watch: _Watch,
    kernels: KernelDevice | None,
    settings: PopulationSettings | None = None,
) -> SearchedTogether:
    device = kernels or find_device(choose_device(options.device))
    here = batch.to(device.place)
    start = GIVEN
    if first is None:
        assert model is not None
        policy = load_policy(model, str(device.place))
        first, decoding = _build(policy, here, options, stopping)
        start = Start.by_policy(name_policy(policy, model), decoding)
    first = first.map_tensors(lambda tensor: tensor.to(device.place))
    watch.begin(here, first[torch.arange(0, len(first), len(first) // len(here), device=device.place)])
    found = _search(device, here, first, stopping, options.usual_seed, settings, watch)
    watch.conclude(found.routes)
    routes = found.routes.map_tensors(lambda tensor: tensor.to(batch.device))
    return SearchedTogether(routes, start, found.iterations, watch.looks, found.is_interrupted)


def _search(
    device: KernelDevice,
    batch: InstanceBatch,
    first: RouteBatch,
    stopping: Stopping,
    seed: int,
    settings: PopulationSettings | None,
    watch: _Watch,
) -> SearchedBatch:
    """Search large instances in parts if there is a deadline; otherwise all as a whole."""
    is_large = int(batch.sizes.min()) >= PartSettings().least_size and batch.fleet is None
    if is_large and stopping.deadline is not None and stopping.iterations is None:
        return search_in_parts(device, batch, first, stopping, seed=seed, on_launch=watch.look)
    return search_batch(device, batch, first, stopping, seed=seed, settings=settings, on_launch=watch.look)


def _build(
    policy: Policy, batch: InstanceBatch, options: SolveOptions, stopping: Stopping
) -> tuple[RouteBatch, Decoding]:
    """Build a policy's routes: the best of the requested attempts, or all orientations that there is time for.

    Solutions are grouped by instance, the best first.
    """
    generator = torch.Generator().manual_seed(options.usual_seed)
    if options.given_decoding:
        return construct(policy, batch, make_strategy(options), generator), options.decoding
    every = Augmented(Greedy())
    if stopping.deadline is None:
        routes = _build_apart(policy, batch, every, range(every.attempts), stopping)
        return _line_up(batch, routes), Decoding(augment=True)
    before = time.perf_counter()
    first = _build_apart(policy, batch, every, range(1), Stopping())
    first.route[0, 0].item()  # waits for the GPU
    seconds = max(time.perf_counter() - before, 1e-9)
    more = min(every.attempts - 1, int(_POLICY_SHARE * stopping.seconds_left / seconds))
    if more < 1:
        return first, Decoding()
    try:
        others = _build_apart(policy, batch, every, range(1, 1 + more), stopping)
    except OutOfTimeError:
        return first, Decoding()
    return _line_up(batch, first, others), Decoding(augment=True)


def _build_apart(
    policy: Policy, batch: InstanceBatch, strategy: Augmented, attempts: range, stopping: Stopping
) -> RouteBatch:
    """Build the routes of every attempt, grouped by instance."""
    copies = batch.repeat_each(len(attempts))
    placed = strategy.place(copies, torch.tensor(attempts, device=batch.device).repeat(len(batch)))
    return construct(policy, placed, make_interruptible(strategy.strategy, stopping))


def _line_up(batch: InstanceBatch, *parts: RouteBatch) -> RouteBatch:
    """Group solutions by instance, the best first."""
    count = len(batch)
    route, position = (
        torch.cat([getattr(part, name).view(count, -1, batch.nodes) for part in parts], dim=1)
        for name in ("route", "position")
    )  # (B, S, M)
    copies = route.shape[1]
    every = RouteBatch(route.flatten(0, 1), position.flatten(0, 1))
    order = every.lengths(batch.repeat_each(copies)).view(count, copies).argsort(dim=1, stable=True)
    rows = order + copies * torch.arange(count, device=batch.device)[:, None]
    return every[rows.flatten()]


def _with_positions(instance: Instance) -> Instance:
    """Add dummy positions to an instance with only a matrix, because a batch needs them."""
    if instance.coordinates is not None:
        return instance
    return replace(instance, coordinates=np.zeros((instance.size + 1, 2)), metric="euclidean")


def _share_out(options: SolveOptions, observers: Observers, began: float, share: float) -> Stopping:
    """Return the limits for instances that are a share of the remaining work."""
    deadline = None
    if options.search_seconds is not None:
        now = time.perf_counter()
        deadline = now + max(0.0, began + options.search_seconds - now) * share
    iterations = None if options.iterations is None else int(options.iterations)
    return Stopping(deadline, iterations, options.target, observers.is_cancelled, began)


@dataclass
class _Watch:
    """Records costs during the search, less and less often, and reports improvements.

    Attributes
    ----------
    began
        The value of `time.perf_counter` from which seconds are counted.
    rows
        Indices of the instances, for the callbacks.
    observers
        The callbacks.
    instances
        The instances, to name the types of their vehicles; none if nothing differs.
    """

    began: float
    rows: list[int]
    observers: Observers
    instances: Sequence[Instance] = ()
    looks: list[tuple[float, NDArray[np.float64]]] = field(default_factory=list)
    _batch: InstanceBatch = field(init=False)
    _reported: NDArray[np.float64] = field(init=False)  # costs that were reported
    _next_look: float = 0.0
    _next_telling: float = 0.0

    def begin(self, batch: InstanceBatch, routes: RouteBatch) -> None:
        """Record the first routes."""
        costs = routes.lengths(batch).cpu().numpy()
        self._batch = batch
        self._reported = np.full(len(batch), np.inf)
        self._note(costs)
        if self.observers.on_improvement is not None:
            self._report_improvements(np.arange(len(batch)), routes)

    def look(self, progress: BatchProgress) -> None:
        """Record the costs, if it is time to."""
        seconds = time.perf_counter() - self.began
        tells = self.observers.on_improvement is not None and seconds >= self._next_telling
        if seconds < self._next_look and not tells:
            return
        rows, costs = progress.rows.numpy(), self.looks[-1][1].copy()
        now = progress.read_costs().cpu().numpy()
        costs[rows] = np.minimum(costs[rows], now)
        self._note(costs)
        is_better = now < self._reported[rows] * (1 - _EXACTNESS)
        if tells and is_better.any():
            places = torch.from_numpy(np.flatnonzero(is_better))
            routes = progress.read_routes()
            self._report_improvements(rows[is_better], routes[places.to(routes.route.device)])
            spent = time.perf_counter() - self.began - seconds
            self._next_telling = seconds + (_REPORTING_SHARE + 1) * spent

    def conclude(self, routes: RouteBatch) -> None:
        """Report what was not reported before."""
        if self.observers.on_improvement is None:
            return
        rows = np.flatnonzero(routes.lengths(self._batch).cpu().numpy() < self._reported * (1 - _EXACTNESS))
        self._report_improvements(rows, routes[torch.from_numpy(rows).to(self._batch.device)])

    def _note(self, costs: NDArray[np.float64]) -> None:
        seconds = time.perf_counter() - self.began
        self.looks.append((seconds, costs))
        self._next_look = seconds * 2 ** (1 / _CHECKS_PER_DOUBLING)

    def _report_improvements(self, rows: NDArray[np.int64], routes: RouteBatch) -> None:
        assert self.observers.on_improvement is not None
        part = self._batch[torch.from_numpy(rows).to(self._batch.device)]
        seconds = time.perf_counter() - self.began
        for row, solution in zip(rows.tolist(), pad_routes(routes, self._batch.nodes).to_solutions(part), strict=True):
            assert solution.stated_cost is not None
            self._reported[row] = solution.stated_cost
            named = state_types(self.instances[row], solution) if self.instances else solution
            self.observers.on_improvement(self.rows[row], Improvement(seconds, solution.stated_cost, named))


def _report(
    instances: Sequence[Instance], batch: InstanceBatch, found: SearchedTogether, options: SolveOptions, began: float
) -> list[Result]:
    solutions = found.routes.to_solutions(batch)
    seconds = time.perf_counter() - began
    results = []
    for row, (instance, by_kinds) in enumerate(zip(instances, solutions, strict=True)):
        solution = state_types(instance, by_kinds)
        cost = solution.cost(instance)
        result = Result(
            instance,
            Solution(solution.routes, cost, vehicles=solution.vehicles),
            cost,
            seconds / len(instances),
            found.start,
            options.improver,
            options.limit,
            trace=_trace(found.looks, row, seconds, cost),
            iterations=int(found.iterations[row]),
            is_interrupted=found.is_interrupted,
        )
        results.append(replace(result, messages=(result.improvement,)))
    return results


def _trace(
    looks: Sequence[tuple[float, NDArray[np.float64]]], row: int, seconds: float, cost: float
) -> tuple[tuple[float, float], ...]:
    """Return cost over time: each record at which it had fallen, and the end."""
    trace: list[tuple[float, float]] = []
    for when, costs in looks:
        if not trace or costs[row] < trace[-1][1] * (1 - _EXACTNESS):
            trace.append((when, float(costs[row])))
    if cost < trace[-1][1] * (1 - _EXACTNESS):
        trace.append((seconds, cost))
    return (*trace[:-1], (trace[-1][0], cost))
