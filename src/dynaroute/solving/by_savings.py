"""Building routes by savings, within moments if it is cancelled."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress

from dynaroute.base.stopping import OutOfTimeError, Stopping
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.search.savings import build_by_savings
from dynaroute.solving.options import Observers
from dynaroute.solving.result import SAVINGS, Result

__all__ = ["MOST_IN_PAIRS", "construct_by_savings"]

MOST_IN_PAIRS = 5000  # customers; below this there is always enough memory, and time for the savings of all pairs

_MOMENT = 0.3  # seconds to build routes after cancelling
_HURRIED = "Cancelled before savings were ready; vehicles were filled one after the other instead."


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
