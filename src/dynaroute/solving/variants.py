"""Thousands of variants of one day in one call, each with something left out, added or changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dynaroute.base.machine import choose_device
from dynaroute.batch.fleet import UNLIMITED
from dynaroute.problem.instance import Instance
from dynaroute.problem.judging.route import judge_route
from dynaroute.problem.solution import Solution
from dynaroute.problem.statements import NO_STATEMENTS
from dynaroute.search.gpu.devices import KernelDevice, find_device
from dynaroute.search.gpu.kernel_rules import can_search
from dynaroute.solving.options import Observers, SolveOptions
from dynaroute.solving.result import Result
from dynaroute.solving.solve import solve_all
from dynaroute.solving.together import search_together

_AT_ONCE = 1_000  # variants that a GPU searches in the time of one


@dataclass(frozen=True)
class VariantSearch:
    """How variants are searched.

    Attributes
    ----------
    seconds
        For each on a core; on a GPU for all at once, or for each thousand of them.
    threads
        Cores for all; None: all there are.
    seed
        Seed of the random numbers.
    device
        As in `solve`.
    is_cancelled
        Ends all early.
    """

    seconds: float
    threads: int | None = None
    seed: int = 0
    device: str | None = None
    is_cancelled: Callable[[], bool] | None = None


def solve_variants(
    instances: Sequence[Instance],
    starts: Sequence[Solution],
    search: VariantSearch,
    kernels: KernelDevice | None = None,
) -> list[Result]:
    """Search variants of one day, on a GPU all at once that its kernels know, and the others on the cores.

    Parameters
    ----------
    instances
        The variants.
    starts
        Routes of each to begin with; customers without a place wait (`Statements.waiting`).
    search
        How to search.
    kernels
        The device that searches; None: the GPU, if there is one.
    """
    chosen = choose_device(search.device)
    device = kernels or (find_device(chosen) if chosen.startswith("cuda") else None)
    served: dict[int, Solution] = {}
    if device is not None:
        completed = ((row, _serve_all(instances[row], start)) for row, start in enumerate(starts))
        served = {row: start for row, start in completed if start is not None}
    left = [row for row in range(len(instances)) if row not in served]
    observers = Observers(is_cancelled=search.is_cancelled)
    results: dict[int, Result] = {}
    if served:
        seconds = search.seconds * max(1.0, len(served) / _AT_ONCE)
        options = SolveOptions(total_time=seconds, seed=search.seed, device=search.device, threads=search.threads)
        group = [instances[row] for row in served]
        found = search_together(group, list(served.values()), options, observers, time.perf_counter(), device)
        results |= zip(served, found, strict=True)
    if left:
        known = [starts[row] for row in left]
        usual = SolveOptions(time_limit=search.seconds, seed=search.seed, device="cpu", threads=search.threads)
        found = solve_all([instances[row] for row in left], replace(usual, start=known), observers)
        results |= zip(left, found, strict=True)
    return [results[row] for row in range(len(instances))]


def _serve_all(instance: Instance, start: Solution) -> Solution | None:
    """Give each waiting customer a vehicle of its own; None if there is none, or the kernels do not know all rules."""
    if not can_search(instance):
        return None
    kinds = list(start.vehicle_types(instance))
    routes = list(start.routes)
    left = [
        UNLIMITED if kind.count is None else kind.count - kinds.count(place)
        for place, kind in enumerate(instance.fleet)
    ]
    for customer in start.unserved(instance):
        for place, kind in enumerate(instance.fleet):
            if left[place] == 0 or next(judge_route(instance, 0, (customer,), kind), None) is not None:
                continue
            routes.append((customer,))
            kinds.append(place)
            left[place] -= 1
            break
        else:
            return None
    vehicles = tuple(kinds) if instance.vehicles is not None else None
    return Solution(tuple(routes), vehicles=vehicles, statements=NO_STATEMENTS)
