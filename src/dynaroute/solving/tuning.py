"""Active search of single instances: a copy of the policy learns while it samples, until a limit."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dynaroute.base.errors import UnsupportedError
from dynaroute.base.stopping import OutOfTimeError, Stopping
from dynaroute.problem.instance import Instance
from dynaroute.solving.building import load_policy, name_policy
from dynaroute.solving.choose import Approach
from dynaroute.solving.options import Decoding, Observers, SolveOptions
from dynaroute.solving.result import Result, Start

if TYPE_CHECKING:
    from dynaroute.model import Policy


def tune_all(
    instances: Sequence[Instance],
    approaches: Sequence[Approach],
    options: SolveOptions,
    observers: Observers,
    entered: float,
) -> list[Result]:
    """Solve one instance after the other, each by a policy that is tuned on it.

    Parameters
    ----------
    instances, approaches
        Instances that a policy can build.
    options, observers
        Their limits apply to each instance.
    entered
        The value of `time.perf_counter` from which the time of a single instance counts.
    """
    results = []
    for instance, approach in zip(instances, approaches, strict=True):
        if approach.model is None:
            called = instance.name or "this instance"
            message = f"active search needs a policy, and none suits {called}."
            raise UnsupportedError.about("improve", message, "Name a model, or use improve 'search'.")
        began = entered if len(instances) == 1 else time.perf_counter()
        results.append(_tune(instance, approach.model, options, observers, began))
        observers.note_progress(1)
    return results


def _tune(
    instance: Instance, model: str | Path | Policy, options: SolveOptions, observers: Observers, began: float
) -> Result:
    from dynaroute.batch import InstanceBatch
    from dynaroute.construct import Augmented, Greedy, construct
    from dynaroute.construct.active import search_actively

    policy = load_policy(model, options.device)
    batch = InstanceBatch.from_instances([instance], policy.config.rules).to(policy.device)
    seconds = options.search_seconds
    stopping = Stopping(None if seconds is None else began + seconds, is_cancelled=observers.is_cancelled)

    def watch() -> None:
        if stopping.is_time_up():
            raise OutOfTimeError

    best = construct(policy, batch, Augmented(Greedy()))
    cost = float(best.lengths(batch))
    trace, iterations = [(time.perf_counter() - began, cost)], 0
    with suppress(OutOfTimeError):
        for found in search_actively(policy, batch, best, options.usual_seed, watch):
            iterations += 1
            if (found_cost := float(found.lengths(batch))) < cost:
                best, cost = found, found_cost
                trace.append((time.perf_counter() - began, cost))
            if iterations == options.iterations or (options.target is not None and cost <= options.target):
                break
    (solution,) = best.to_solutions(batch)
    result = Result(
        instance,
        solution,
        solution.cost(instance),
        time.perf_counter() - began,
        Start.by_policy(name_policy(policy, model), Decoding(augment=True)),
        options.improver,
        options.limit,
        trace=tuple(trace),
        iterations=iterations,
        is_interrupted=observers.is_cancelled is not None and observers.is_cancelled(),
    )
    return replace(result, messages=(result.improvement,))
