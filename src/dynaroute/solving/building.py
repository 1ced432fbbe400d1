"""Building first routes: with a policy, and by savings."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dynaroute.base.errors import OptionError
from dynaroute.base.machine import choose_device
from dynaroute.base.stopping import OutOfTimeError, Stopping
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.search.savings import build_by_savings
from dynaroute.solving.choose import MOST_IN_PAIRS
from dynaroute.solving.options import Decode, Observers, SolveOptions
from dynaroute.solving.result import SAVINGS, Result
from dynaroute.weights import find_model

if TYPE_CHECKING:
    from dynaroute.batch import InstanceBatch, RouteBatch
    from dynaroute.construct import Strategy
    from dynaroute.model import Policy

_MOMENT = 0.3  # seconds to build routes by savings after cancelling
_HURRIED = "Cancelled before savings were ready; vehicles were filled one after the other instead."


class BuiltRoutes(NamedTuple):
    """Routes built by a policy.

    Attributes
    ----------
    batch, routes
        The instances, and a solution for each.
    seconds
        Time to build, without loading the policy.
    model
        Name of the policy.
    """

    batch: InstanceBatch
    routes: RouteBatch
    seconds: float
    model: str


def build_by_policy(
    instances: Sequence[Instance], model: str | Path | Policy, options: SolveOptions, observers: Observers
) -> BuiltRoutes:
    """Build routes with one policy only.

    Parameters
    ----------
    instances
        Instances with coordinates, at least one.
    model
        A shipped model's name, a folder, or a policy.
    options, observers
        Decoding options (their model is ignored), and callbacks.

    Raises
    ------
    OutOfTimeError
        If it was cancelled.
    """
    import torch

    from dynaroute.batch import InstanceBatch
    from dynaroute.construct import construct
    from dynaroute.solving.in_time import make_interruptible, run_until

    policy = load_policy(model, options.device)
    start = time.perf_counter()
    batch = InstanceBatch.from_instances(instances, policy.config.rules)
    generator = torch.Generator().manual_seed(options.usual_seed)
    strategy = make_strategy(options)
    if observers.is_cancelled is None:
        routes = construct(policy, batch, strategy, generator, progress=observers.progress)
    else:
        stopping = Stopping(is_cancelled=observers.is_cancelled)
        interruptible = make_interruptible(strategy, stopping)
        routes = run_until(
            stopping, partial(construct, policy, batch, interruptible, generator, progress=observers.progress)
        )
    return BuiltRoutes(batch, routes, time.perf_counter() - start, name_policy(policy, model))


def load_policy(model: str | Path | Policy, device: str | None) -> Policy:
    """Load a policy, and move it to a device.

    Parameters
    ----------
    model
        A shipped model's name, a folder, or a policy.
    device
        PyTorch's name of the device; "auto" or None for a GPU if there is one.
    """
    from dynaroute.model import Policy

    chosen = choose_device(device)
    if isinstance(model, Policy):
        # a policy in training mode would normalise over the batch, and change
        return _move(model.eval(), chosen)
    folder = find_model(model)
    return _load_once(folder, date_weights(folder), chosen)


@lru_cache(maxsize=8)
def _load_once(folder: Path, date: int, device: str) -> Policy:
    """Load weights once for all calls. Only the solver holds the policy, and never changes it."""
    from dynaroute.model import Policy

    return _move(Policy.from_pretrained(folder), device)


def date_weights(folder: Path) -> int:
    """Return when the weights were written, so that changed files are loaded again; 0 if there are none."""
    weights = folder / "model.safetensors"
    return weights.stat().st_mtime_ns if weights.is_file() else 0


def _move(policy: Policy, device: str) -> Policy:
    fault = OptionError.about("device", f"the device {device!r} cannot be used here.", "Use cpu, or auto.")
    if str(device).startswith("meta"):  # PyTorch's device without storage
        raise fault
    try:
        return policy.to(device)
    except (RuntimeError, AssertionError, ImportError) as error:  # raised by PyTorch for missing devices
        raise fault from error


def make_strategy(options: SolveOptions) -> Strategy:
    """Make the strategy described by the options."""
    from dynaroute.construct import SGBS, Augmented, Beam, Greedy, MultiStart, Sampling

    decoding = options.decoding
    strategies: dict[Decode, Callable[[], Strategy]] = {
        "greedy": Greedy,
        "sample": lambda: Sampling(decoding.samples, decoding.temperature),
        "multistart": lambda: MultiStart(decoding.samples),
        "beam": lambda: Beam(decoding.samples),
        "sgbs": lambda: SGBS.of(decoding.samples),
    }
    strategy = strategies[decoding.decode]()
    return Augmented(strategy) if decoding.augment else strategy


def name_policy(policy: Policy, model: str | Path | Policy) -> str:
    """Return the policy's name for reports."""
    return policy.card.name or ("unnamed" if model is policy else str(model))


def construct_by_savings(instances: Sequence[Instance], observers: Observers) -> list[Result]:
    """Build routes by savings; after cancelling there is a moment for all that are left, and then they are filled.

    Parameters
    ----------
    instances
        Any instances; only their capacities count.
    observers
        Progress and cancelling.
    """
    stopping = Stopping(is_cancelled=observers.is_cancelled)
    results = []
    for instance in instances:
        start = time.perf_counter()
        solution = _build_by_savings(instance, stopping)
        if solution is None and stopping.deadline is None:
            stopping = Stopping.after(_MOMENT)
            solution = _build_by_savings(instance, stopping)
        messages = () if solution is not None else (_HURRIED,)
        solution = solution or _fill_vehicles(instance)
        seconds = time.perf_counter() - start
        results.append(Result(instance, solution, solution.cost(instance), seconds, SAVINGS, messages=messages))
        observers.note_progress(1)
    return results


def _fill_vehicles(instance: Instance) -> Solution:
    from dynaroute.search.start import build_by_filling

    return build_by_filling(instance)


def _build_by_savings(instance: Instance, stopping: Stopping) -> Solution | None:
    """Build by savings: of all pairs of customers or, if there are many, of near ones; None if the time was up."""
    with suppress(OutOfTimeError):
        if instance.size < MOST_IN_PAIRS or instance.distances is not None:
            return build_by_savings(instance, stopping.is_time_up)
        from dynaroute.search.core.problem import SearchProblem
        from dynaroute.search.start import NEIGHBOURS, build_by_near_savings

        problem = SearchProblem.from_instance(instance, NEIGHBOURS, stopping.is_time_up)
        return Solution(build_by_near_savings(problem))
    return None
