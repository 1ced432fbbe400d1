"""Dynaroute: a learned solver for the capacitated vehicle routing problem.

Public names are loaded on first use, so that ``import dynaroute`` is quick.

    >>> import dynaroute
    >>> instance = dynaroute.read("X-n101-k25.vrp")
    >>> solution = dynaroute.solve(instance, time_limit=2).solution
    >>> assert dynaroute.check(instance, solution) == []
    >>> dynaroute.write(solution, "X-n101-k25.sol")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynaroute.base.errors import DynarouteError
    from dynaroute.batch import InstanceBatch, RouteBatch
    from dynaroute.desk.comparing import compare
    from dynaroute.desk.explaining import explain
    from dynaroute.desk.replanning import replan
    from dynaroute.formats import read, read_set, read_solution, read_vehicles, write, write_set
    from dynaroute.model import Policy
    from dynaroute.plans import Plan, read_plan, write_plan
    from dynaroute.plans.changes.insertion import insert
    from dynaroute.problem.fleet import VehicleType
    from dynaroute.problem.instance import Instance
    from dynaroute.problem.solution import Solution, check, make_timetable
    from dynaroute.solving.result import Result
    from dynaroute.solving.solve import solve

__version__ = "0.1.0"

_MODULES = {
    "DynarouteError": "dynaroute.base.errors",
    "Instance": "dynaroute.problem.instance",
    "InstanceBatch": "dynaroute.batch",
    "Plan": "dynaroute.plans",
    "Policy": "dynaroute.model",
    "Result": "dynaroute.solving.result",
    "RouteBatch": "dynaroute.batch",
    "Solution": "dynaroute.problem.solution",
    "VehicleType": "dynaroute.problem.fleet",
    "check": "dynaroute.problem.solution",
    "compare": "dynaroute.desk.comparing",
    "explain": "dynaroute.desk.explaining",
    "insert": "dynaroute.plans.changes.insertion",
    "make_timetable": "dynaroute.problem.solution",
    "read": "dynaroute.formats",
    "read_plan": "dynaroute.plans",
    "read_set": "dynaroute.formats",
    "read_solution": "dynaroute.formats",
    "read_vehicles": "dynaroute.formats",
    "replan": "dynaroute.desk.replanning",
    "solve": "dynaroute.solving.solve",
    "write": "dynaroute.formats",
    "write_plan": "dynaroute.plans",
    "write_set": "dynaroute.formats",
}

__all__ = [
    "DynarouteError",
    "Instance",
    "InstanceBatch",
    "Plan",
    "Policy",
    "Result",
    "RouteBatch",
    "Solution",
    "VehicleType",
    "check",
    "compare",
    "explain",
    "insert",
    "make_timetable",
    "read",
    "read_plan",
    "read_set",
    "read_solution",
    "read_vehicles",
    "replan",
    "solve",
    "write",
    "write_plan",
    "write_set",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'dynaroute' has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
