"""Solving, apart from the event loop: policies that stay loaded, and results as answers."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dynaroute.decimals import plain_number
from dynaroute.device import choose_device
from dynaroute.errors import OptionError, UnsupportedError, Where
from dynaroute.improve.improvers import IMPROVERS
from dynaroute.instance import Instance
from dynaroute.service.gathering import Gathering
from dynaroute.service.response_schemas import (
    ImprovementSchema,
    SolveResponse,
    TimingSchema,
    TracePoint,
    ViolationSchema,
)
from dynaroute.service.settings import PREFIX
from dynaroute.solution import Solution
from dynaroute.solver import load_policy, solve_all
from dynaroute.solving.options import Observers, SolveOptions
from dynaroute.solving.result import Result
from dynaroute.weights import shipped_models

if TYPE_CHECKING:
    from dynaroute.gpu_search.devices import KernelDevice
    from dynaroute.improve.search import Improvement
    from dynaroute.model import Policy

__all__ = ["Engine", "check_device", "describe_improvement", "describe_result"]

_LOG = logging.getLogger("dynaroute.service")
_CERTAIN_DEVICES = ("auto", "cpu")
_MOST_POINTS = 2_000  # of a trace
_TINY = Instance(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), np.array([0, 1, 1]), 1)


def check_device(device: str) -> None:
    """Try a device, where it is not one that is always there.

    Parameters
    ----------
    device
        Where policies shall work: auto, cpu, cuda, ...

    Raises
    ------
    OptionError
        If it cannot be used; it names the variable that sets it.
    """
    if device in _CERTAIN_DEVICES:  # PyTorch takes seconds to load, which the start need not wait for
        return
    try:
        load_policy(next(iter(shipped_models())), device)
    except OptionError as error:
        raise OptionError(error.message, where=Where(field=f"{PREFIX}DEVICE"), remedy=error.remedy) from error


class Engine:
    """Solves instances with policies that are loaded once.

    Parameters
    ----------
    device
        Where policies work: auto, cpu, ...
    kernels
        What searches many instances at once; None: the GPU, if the device is one.
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

        torch.set_num_threads(1)  # several that wait for each other on busy cores were a hundred times slower
        self._policies = {name: load_policy(name, self._device) for name in shipped_models()}
        for name in (*self._policies, "auto"):
            self.solve([_TINY], SolveOptions(model=name))
        self._gathering = self._prepare_gathering()

    def _prepare_gathering(self) -> Gathering | None:
        """Load the kernels of the search, where there is a GPU."""
        from dynaroute.gpu_search.devices import find_device
        from dynaroute.solving.together import search_together

        device = choose_device(self._device)
        if self._kernels is None and not device.startswith("cuda"):
            return None
        try:
            kernels = self._kernels or find_device(device)
        except UnsupportedError as error:  # too old a GPU, or a library is missing: each search has a core
            _LOG.warning("Searches are not done on the GPU: %s", error)
            return None
        return Gathering(partial(search_together, kernels=kernels))

    @property
    def gathers(self) -> bool:
        """Whether searches that begin at the same time are done together, so that many may run."""
        return self._gathering is not None

    def warm_up(self) -> None:
        """Load what improves routes, so that the first who asks for it need not wait."""
        for improver in IMPROVERS.values():
            improver.prepare()

    def solve(self, instances: Sequence[Instance], options: SolveOptions, seconds: float = math.inf) -> list[Result]:
        """Solve instances together.

        Parameters
        ----------
        instances
            At least one.
        options
            How, for all of them.
        seconds
            For all of them; a policy that is not ready then is given up for savings.
        """
        end = time.perf_counter() + seconds
        observers = Observers(is_cancelled=lambda: time.perf_counter() > end)
        return solve_all(instances, self._equip(options), observers)

    def search(
        self,
        instance: Instance,
        options: SolveOptions,
        is_cancelled: Callable[[], bool],
        on_improvement: Callable[[Improvement], object],
    ) -> Result:
        """Solve one instance, and tell of every improvement.

        Parameters
        ----------
        instance
            The problem.
        options
            How.
        is_cancelled
            True ends a search.
        on_improvement
            Called in this thread with every better solution.
        """

        def tell(_: int, improvement: Improvement) -> None:
            on_improvement(improvement)

        if self._gathering is not None and self._gathering.takes(options):
            return self._gathering.search(instance, self._equip(options), is_cancelled, on_improvement)
        observers = Observers(on_improvement=tell, is_cancelled=is_cancelled)
        return solve_all([instance], self._equip(options), observers)[0]

    def _equip(self, options: SolveOptions) -> SolveOptions:
        """The same with a policy that is loaded, on the service's device, and one thread for each request."""
        model = self._policies.get(str(options.model), options.model)
        return replace(options, model=model, device=self._device, threads=1)


def describe_result(result: Result, timing: TimingSchema, notes: Sequence[str]) -> SolveResponse:
    """The answer that a result is.

    Parameters
    ----------
    result
        Of the solver.
    timing
        Where the time went.
    notes
        Remarks about the input.
    """
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
    """A curve that can still be drawn, with its end: a search of many minutes finds thousands of improvements."""
    step = -(-len(trace) // _MOST_POINTS)
    return trace if step <= 1 else [*trace[:-1:step], trace[-1]]


def describe_improvement(instance: Instance, solution: Solution, cost: float, seconds: float) -> ImprovementSchema:
    """The best so far as an answer.

    Parameters
    ----------
    instance, solution
        The problem and its routes.
    cost
        Of the routes.
    seconds
        When they were found.
    """
    return ImprovementSchema(
        seconds=seconds,
        cost=cost,
        routes=[list(route) for route in solution.routes],
        loads=[plain_number(instance.shown_demand(load)) for load in solution.loads(instance)],
        route_costs=solution.route_costs(instance),
    )
