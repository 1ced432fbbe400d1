"""How changes of plans are shown: signs before lengths, minutes and clock times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dynaroute.base.display import LONGEST_NAME, show_length, show_text
from dynaroute.cli.shared.options import argument

if TYPE_CHECKING:
    from dynaroute.desk.visits import Visit
    from dynaroute.problem.instance import Instance

from pathlib import Path

PlanArgument = Annotated[Path, argument("PLAN", "A plan, as solve --out plan.json writes it.")]
TimeLimitOption = Annotated[
    float | None, typer.Option("--time-limit", metavar="S", min=0.01, help="Seconds of each search.")
]


def show_change(amount: float, unit: str | None) -> str:
    """Write a length or cost with its sign: +1.20 km."""
    shown = show_length(abs(amount), unit)
    if not any(digit in shown for digit in "123456789"):
        return show_length(0.0, unit)
    return f"{'-' if amount < 0 else '+'}{shown}"


def show_minutes(seconds: float | None) -> str:
    """Write a duration as whole minutes, or hours and minutes; nothing if it is unknown."""
    if seconds is None:
        return ""
    hours, minutes = divmod(round(abs(seconds) / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def show_minutes_changed(seconds: float | None) -> str:
    """Write a change of time with its sign: +12 min."""
    if seconds is None or round(seconds / 60) == 0:
        return "" if seconds is None else "0 min"
    return f"{'-' if seconds < 0 else '+'}{show_minutes(seconds)}"


def show_name(name: str) -> str:
    """Write a name from a file."""
    return show_text(name, LONGEST_NAME)


def show_visit(instance: Instance, visit: Visit | None) -> tuple[str, str]:
    """Write who serves a customer and when."""
    if visit is None:
        return "nobody", ""
    return show_name(visit.vehicle), "" if visit.arrival is None else instance.shown_time(visit.arrival)
