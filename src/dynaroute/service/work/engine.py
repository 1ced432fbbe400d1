"""Solving outside of the event loop, with policies that stay loaded."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, get_args

import numpy as np

from dynaroute.base.decimals import plain_number
from dynaroute.base.errors import OptionError, UnsupportedError
from dynaroute.base.machine import choose_device
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.search.improvers import UsualCode, load_machine_code
from dynaroute.service.messages.response_schemas import (
    ImprovementSchema,
    SolveResponse,
    TimingSchema,
    TracePoint,
    ViolationSchema,
)
from dynaroute.service.settings import PREFIX
from dynaroute.service.work.gathering import Gathering
from dynaroute.solving.options import Observers, SolveOptions
from dynaroute.solving.result import Result
from dynaroute.solving.solve import load_policy, solve_all
from dynaroute.weights import shipped_models

if TYPE_CHECKING:
    from dynaroute.model import Policy
    from dynaroute.search.gpu.devices import KernelDevice
    from dynaroute.search.search import Improvement

_LOG = logging.getLogger("dynaroute.service")
_CERTAIN_DEVICES = ("auto", "cpu")
_MOST_POINTS = 2_000  # in a trace
_TINY = Instance(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), np.array([0, 1, 1]), 1)


def check_device(device: str) -> None:
    """Raise if a device cannot be used.

    Parameters
    ----------
    device
        Device for policies: auto, cpu, cuda, ...

    Raises
    ------
    OptionError
        The error names the environment variable.
    """
    if device in _CERTAIN_DEVICES:  # loading PyTorch takes seconds, which the start should not wait for
        return
    try:
        load_policy(next(iter(shipped_models())), device)
    except OptionError as error:
        raise OptionError.about(f"{PREFIX}DEVICE", error.message, error.remedy) from error


class Engine:
    """Solves instances with preloaded policies.

    Parameters
    ----------
    device
        Device for policies: auto, cpu, ...
    kernels
        Device that searches many instances at once; None: the GPU, if there is one.
    """

    def __init__(self, device: str, kernels: KernelDevice | None = None) -> None:
        self._device = device
        self._kernels = kernels
        self._policies: dict[str, Policy] = {}
        self._gathering: Gathering | None = None

    def prepare(self) -> None:
        """Load every shipped model, and solve a tiny instance with each.

        Raises
        ------
        DynarouteError
            If a model is damaged, or the device cannot be used.
        """
        import torch

        torch.set_num_threads(1)  # several threads waiting for each other on busy cores were a hundred times slower
        self._policies = {name: load_policy(name, self._device) for name in shipped_models()}
        for name in (*self._policies, "auto"):
            self.solve([_TINY], SolveOptions(model=name))
        self._gathering = self._prepare_gathering()

    def _prepare_gathering(self) -> Gathering | None:
        """Load the search kernels, if there is a GPU."""
        from dynaroute.search.gpu.devices import find_device
        from dynaroute.solving.together import search_together

        device = choose_device(self._device)
        if self._kernels is None and not device.startswith("cuda"):
            return None
        try:
            kernels = self._kernels or find_device(device)
        except UnsupportedError as error:  # the GPU is too old, or a library is missing; searches then use cores
            _LOG.warning("Searches are not done on the GPU: %s", error)
            return None
        return Gathering(partial(search_together, kernels=kernels))

    @property
    def gathers(self) -> bool:
        """Whether simultaneous searches are done together on a GPU."""
        return self._gathering is not None

    def warm_up(self) -> None:
        """Load the search code, so that the first request need not wait."""
        load_machine_code(get_args(UsualCode))

    def solve(self, instances: Sequence[Instance], options: SolveOptions, seconds: float = math.inf) -> list[Result]:
        """Solve instances together.

        Parameters
        ----------
        instances
            At least one instance.
        options
            Options for all of them.
        seconds
            Time for all of them; after that, savings replace the policy.
        """
        end = time.perf_counter() + seconds
        observers = Observers(is_cancelled=lambda: time.perf_counter() > end)
        return solve_all(instances, self._add_resources(options), observers)

    def search(
        self,
        instance: Instance,
        options: SolveOptions,
        is_cancelled: Callable[[], bool],
        on_improvement: Callable[[Improvement], object],
    ) -> Result:
        """Solve one instance, reporting every improvement.

        Parameters
        ----------
        instance
            The problem.
        options
            How to solve it.
        is_cancelled
            True ends a search.
        on_improvement
            Called in this thread with every better solution.
        """

        def report(_: int, improvement: Improvement) -> None:
            on_improvement(improvement)

        if self._gathering is not None and self._gathering.takes(options):
            return self._gathering.search(instance, self._add_resources(options), is_cancelled, on_improvement)
        observers = Observers(on_improvement=report, is_cancelled=is_cancelled)
        return solve_all([instance], self._add_resources(options), observers)[0]

    def _add_resources(self, options: SolveOptions) -> SolveOptions:
        """Fill in the loaded policy, the service's device, and one thread."""
        model = self._policies.get(str(options.model), options.model)
        return replace(options, model=model, device=self._device, threads=1)


def describe_result(result: Result, timing: TimingSchema, notes: Sequence[str]) -> SolveResponse:
    """Convert a result to a response."""
    return SolveResponse(
        **result.to_json(),
        route_costs=result.solution.route_costs(result.instance),
        messages=[*notes, *result.messages],
        timing=timing,
        trace=[TracePoint(seconds=seconds, cost=cost) for seconds, cost in _thin_out(result.trace)],
        is_interrupted=result.is_interrupted,
        violations=None
        if result.instance.is_plain
        else [ViolationSchema(**asdict(violation)) for violation in result.violations],
    )


def _thin_out(trace: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """Thin out a trace, keeping its end, because long searches find thousands of improvements."""
    step = -(-len(trace) // _MOST_POINTS)
    return trace if step <= 1 else [*trace[:-1:step], trace[-1]]


def describe_improvement(instance: Instance, solution: Solution, cost: float, seconds: float) -> ImprovementSchema:
    """Convert the best routes so far to a response."""
    return ImprovementSchema(
        seconds=seconds,
        cost=cost,
        routes=[list(route) for route in solution.routes],
        loads=[plain_number(instance.shown_demand(load)) for load in solution.loads(instance)],
        route_costs=solution.route_costs(instance),
    )
