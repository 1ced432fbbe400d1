"""Building routes with a policy: load it, choose the strategy, build; and how to give up when time is short."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dynaroute.device import choose_device
from dynaroute.errors import OptionError, Where
from dynaroute.instance import Instance
from dynaroute.solving.options import Decode, Observers, SolveOptions
from dynaroute.weights import find_model

if TYPE_CHECKING:
    from dynaroute.batch import InstanceBatch, RouteBatch
    from dynaroute.construct import Strategy
    from dynaroute.model import Policy

__all__ = ["BuiltRoutes", "build_by_policy", "load_policy", "make_strategy", "name_policy"]


class BuiltRoutes(NamedTuple):
    """What a policy built.

    Attributes
    ----------
    batch, routes
        The instances and a solution of each.
    seconds
        Time of building, the policy being loaded.
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
    """Build routes with one policy, and nothing else.

    Parameters
    ----------
    instances
        At least one; each with coordinates.
    model
        A shipped model's name, a folder, or a policy.
    options, observers
        How to decode, whatever their model is; and who is told.

    Raises
    ------
    OutOfTimeError
        If it was cancelled.
    """
    import torch

    from dynaroute.batch import InstanceBatch
    from dynaroute.construct import construct
    from dynaroute.improve.stopping import Stopping
    from dynaroute.solving.in_time import make_interruptible

    policy = load_policy(model, options.device)
    start = time.perf_counter()
    batch = InstanceBatch.from_instances(instances)
    generator = torch.Generator().manual_seed(options.usual_seed)
    strategy = make_strategy(options)
    if observers.is_cancelled is not None:
        strategy = make_interruptible(strategy, Stopping(is_cancelled=observers.is_cancelled))
    routes = construct(policy, batch, strategy, generator, progress=observers.progress)
    return BuiltRoutes(batch, routes, time.perf_counter() - start, name_policy(policy, model))


def load_policy(model: str | Path | Policy, device: str | None) -> Policy:
    """Find the policy, and put it where it shall work.

    Parameters
    ----------
    model
        A shipped model's name, a folder, or a policy.
    device
        What PyTorch calls it; "auto" or None: a GPU if there is one.
    """
    from dynaroute.model import Policy

    chosen = choose_device(device)
    if isinstance(model, Policy):
        # one that is still being trained would normalise over the batch, and change
        return _move(model.eval(), chosen)
    folder = find_model(model)
    return _load_once(folder, _date(folder), chosen)


@lru_cache(maxsize=8)
def _load_once(folder: Path, date: int, device: str) -> Policy:
    """Read weights once for all calls: nobody but the solver holds what comes from here, and it changes nothing."""
    from dynaroute.model import Policy

    return _move(Policy.from_pretrained(folder), device)


def _date(folder: Path) -> int:
    """When the weights were written, so that others under the same name are read anew; 0 where there are none."""
    weights = folder / "model.safetensors"
    return weights.stat().st_mtime_ns if weights.is_file() else 0


def _move(policy: Policy, device: str) -> Policy:
    fault = OptionError(
        f"the device {device!r} cannot be used here.", where=Where(field="device"), remedy="Use cpu, or auto."
    )
    if str(device).startswith("meta"):  # PyTorch's device that takes every weight and keeps none
        raise fault
    try:
        return policy.to(device)
    except (RuntimeError, AssertionError, ImportError) as error:  # PyTorch's words for a device it does not have
        raise fault from error


def make_strategy(options: SolveOptions) -> Strategy:
    """The strategy that the options describe.

    Parameters
    ----------
    options
        Their decoding is read.
    """
    from dynaroute.construct import Augmented, Greedy, MultiStart, Sampling

    decoding = options.decoding
    strategies: dict[Decode, Callable[[], Strategy]] = {
        "greedy": Greedy,
        "sample": lambda: Sampling(decoding.samples, decoding.temperature),
        "multistart": lambda: MultiStart(decoding.samples),
    }
    strategy = strategies[decoding.decode]()
    return Augmented(strategy) if decoding.augment else strategy


def name_policy(policy: Policy, model: str | Path | Policy) -> str:
    """What reports call the policy that this model was loaded as."""
    return policy.card.name or ("unnamed" if model is policy else str(model))
