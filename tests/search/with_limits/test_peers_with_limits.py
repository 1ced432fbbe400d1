"""Plans for fleets, judged by PyVRP: it must find them feasible, and as long as we do."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fleet_strategies import Plan, plans
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaroute.base.stopping import Stopping
from dynaroute.problem.instance import Instance
from dynaroute.search.with_limits.search import search_with_limits

pyvrp = pytest.importorskip("pyvrp", reason="PyVRP comes with the extra bench")
sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
peers: Any = import_module("peers")


def in_whole_numbers(instance: Instance) -> Instance:
    """The same problem in whole numbers, which PyVRP wants; what was just possible may be impossible then."""
    nodes = np.arange(instance.size + 1)
    lengths = np.rint(instance.leg_lengths(nodes[:, None], nodes))
    vehicles = tuple(
        replace(
            kind,
            max_duration=None if kind.max_duration is None else np.ceil(kind.max_duration) + 1.0,
            max_distance=None if kind.max_distance is None else np.ceil(kind.max_distance) + 1.0,
            shift=None if kind.shift is None else (np.floor(kind.shift[0]), np.ceil(kind.shift[1])),
        )
        for kind in instance.fleet
    )
    windows = instance.windows
    if windows is not None:
        windows = np.stack([np.floor(windows[:, 0]), np.ceil(windows[:, 1])], axis=1)
    return replace(
        instance,
        distances=lengths,
        durations=np.rint(instance.leg_durations(nodes[:, None], nodes)),
        service=None if instance.service is None else np.rint(instance.service),
        windows=windows,
        vehicles=vehicles,
        speed=None,
    )


@settings(max_examples=40, deadline=None)
@given(plans(sizes=st.integers(2, 10)))
def test_pyvrp_finds_our_plans_feasible_and_as_long(plan: Plan) -> None:
    instance = in_whole_numbers(plan.instance)
    outcome = search_with_limits(instance, None, Stopping(iterations=300))
    solution = outcome.solution
    if sum(map(len, solution.routes)) < instance.size:
        return  # nothing says that it can be solved
    data = peers.model_for_pyvrp(instance)
    kinds = solution.vehicle_types(instance)
    routes = [
        pyvrp.Route(data, [customer - 1 for customer in route], kind)
        for route, kind in zip(solution.routes, kinds, strict=True)
    ]
    judged = pyvrp.Solution(data, routes)
    assert judged.is_feasible()
    assert judged.distance() == outcome.cost
