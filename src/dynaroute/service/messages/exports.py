"""The content of the files that plans are exported as."""

from __future__ import annotations

from dynaroute.formats.vrplib.sol import format_sol, number_as_file
from dynaroute.formats.vrplib.writing import format_vrplib
from dynaroute.plans.plan import Plan
from dynaroute.plans.write import format_plan
from dynaroute.service.messages.file_schemas import PlanFormat


def export_file(plan: Plan, format: PlanFormat) -> bytes:
    """Write a plan, its routes, its problem or its picture."""
    if format == "sol":
        return format_sol(number_as_file(plan.solution, plan.instance)).encode()
    if format == "vrp":
        return format_vrplib(plan.instance).encode()
    return _draw(plan, f".{format}") if format in ("svg", "png") else format_plan(plan, f".{format}")


def _draw(plan: Plan, suffix: str) -> bytes:
    from dynaroute.plotting import format_figure, plot_solution

    return format_figure(plot_solution(plan.instance, plan.solution), suffix)
