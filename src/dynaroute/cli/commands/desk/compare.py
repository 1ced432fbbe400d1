"""``dynaroute compare``: what is different between two plans."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dynaroute.cli.commands.desk.showing import (
    PlanArgument,
    show_change,
    show_minutes,
    show_minutes_changed,
    show_name,
    show_visit,
)
from dynaroute.cli.shared.options import JsonOption, argument
from dynaroute.cli.shared.output import count_of, print_json, print_line, print_table, show_length

if TYPE_CHECKING:
    from dynaroute.desk.comparing import PlanComparison, StopChange
    from dynaroute.desk.visits import PlanFigures
    from dynaroute.problem.instance import Instance


def compare(
    before: PlanArgument,
    after: Annotated[Path, argument("PLAN2", "Another plan of the same day.")],
    json: JsonOption = False,
) -> None:
    """Compare two plans: length, hours, cost, vehicles, lateness, and every stop that moves.

    Customers are matched by their ids. A stop moves if another vehicle serves
    it; two routes are the same vehicle's if the types have the same name and
    they share the most customers.

    Example:
      dynaroute compare plan.json plan-2.json
    """
    from dynaroute.desk.comparing import compare as compare_plans
    from dynaroute.desk.comparing import comparison_to_json
    from dynaroute.plans import read_plan

    first, second = read_plan(before), read_plan(after)
    comparison = compare_plans(first, second)
    if json:
        print_json(comparison_to_json(comparison))
        return
    print_table(("", "Before", "After", "Change"), _list_figures(comparison))
    print_changes(first.instance, [change for change in comparison.changes if change.is_different])
    print_line(f"{count_of(len(comparison.moved), 'stop')} (*) moved to another vehicle")


def print_changes(instance: Instance, changes: list[StopChange]) -> None:
    """Print one line for each stop that is different."""
    if not changes:
        return
    rows = []
    for change in changes:
        old, new = show_visit(instance, change.before), show_visit(instance, change.after)
        rows.append(
            (show_name(change.id), *old, *new, show_minutes_changed(change.seconds), "*" if change.is_moved else "")
        )
    print_table(("Customer", "Before", "Arrival", "After", "Arrival", "Change", ""), rows)


def _list_figures(comparison: PlanComparison) -> list[tuple[str, str, str, str]]:
    old, new = comparison.before, comparison.after
    unit, cost_unit = comparison.unit, comparison.cost_unit

    def row(name: str, *amounts: float, unit: str | None = None) -> tuple[str, str, str, str]:
        before, after = amounts
        return name, show_length(before, unit), show_length(after, unit), show_change(after - before, unit)

    rows = [row("cost", old.cost, new.cost, unit=cost_unit), row("length", old.length, new.length, unit=unit)]
    if old.hours is not None and new.hours is not None:
        changed = show_minutes_changed(3600 * (new.hours - old.hours))
        rows.append(("working time", show_minutes(3600 * old.hours), show_minutes(3600 * new.hours), changed))
    rows.append(row("vehicles", old.vehicles, new.vehicles))
    rows.append(("late stops", *_show_late(old), *_show_late(new), show_change(new.late - old.late, None)))
    rows.append(row("not served", len(old.unserved), len(new.unserved)))
    return rows


def _show_late(figures: PlanFigures) -> tuple[str]:
    return (f"{figures.late} ({show_minutes(figures.lateness)})" if figures.late else "0",)
