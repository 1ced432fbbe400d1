"""``dynaroute explain``: why a customer is where it is, or what would make a day possible."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dynaroute.base.errors import OptionError
from dynaroute.cli.commands.desk.showing import (
    TimeLimitOption,
    show_change,
    show_minutes,
    show_minutes_changed,
    show_name,
    show_visit,
)
from dynaroute.cli.shared.contents import holds_plan
from dynaroute.cli.shared.options import JsonOption, argument
from dynaroute.cli.shared.output import print_json, print_line, print_table, show_length
from dynaroute.cli.shared.tables import TableOptions, takes_tables

if TYPE_CHECKING:
    from dynaroute.desk.explaining import CustomerExplanation, Extra
    from dynaroute.plans.plan import Plan
    from dynaroute.problem.instance import Instance


@takes_tables
def explain(
    file: Annotated[Path, argument("PLAN|DAY", "A plan (.json), or a day that cannot be planned.")],
    customer: Annotated[str | None, argument("[ID]", "The customer to explain; all of a plan if left out.")] = None,
    time_limit: TimeLimitOption = None,
    json: JsonOption = False,
    *,
    tables: TableOptions,
) -> None:
    """Explain why a customer is where it is in a plan.

    For a customer: what leaving it out would save, and its best place on every
    other route, with what moving it there adds to the whole plan, or why it
    cannot be there. Without ID: the same for all, with the cheapest other
    place. The checker judges every place. For a day that cannot be planned, the
    smallest changes that make it possible: a vehicle more, overtime, or a later
    window, each searched for --time-limit (1 s) and judged.

    Example:
      dynaroute explain plan.json K016
      dynaroute explain plan.json
      dynaroute explain day.csv --vehicles vans.csv --speed 30km/h
    """
    from dynaroute.desk.explaining import explain_all, explain_customer, explanation_to_json
    from dynaroute.plans import read_plan

    if not holds_plan(file):
        if customer is not None:
            raise OptionError.about("ID", f"{file} is not a plan.", "Plan it first: dynaroute solve DAY --out PLAN.")
        _explain_day(tables.read(file), time_limit, is_json=json)
        return
    plan = read_plan(file)
    explanations = explain_all(plan) if customer is None else (explain_customer(plan, customer),)
    if json:
        print_json({"unit": plan.instance.unit, "customers": [explanation_to_json(each) for each in explanations]})
    elif customer is None:
        _print_all(plan, explanations)
    else:
        _print_customer(plan, explanations[0])


def _explain_day(instance: Instance, time_limit: float | None, *, is_json: bool) -> None:
    """Print what makes a day possible."""
    from dynaroute.desk.relaxing import relax, relaxed_to_json
    from dynaroute.desk.trying import SearchTime

    relaxed = relax(instance, SearchTime() if time_limit is None else SearchTime(time_limit))
    if is_json:
        print_json(relaxed_to_json(relaxed))
        return
    if relaxed.base.plan is not None:
        print_line(f"this day can be planned: cost {show_length(relaxed.base.cost, instance.cost_unit)}")
        return
    print_line(f"no plan serves all: {relaxed.base.reason}")
    rows = [
        (trial.variant.name, show_length(trial.cost, instance.cost_unit), f"{trial.seconds:.1f} s")
        for trial in relaxed.possible
    ]
    if rows:
        print_table(("Possible with", "Cost", "Searched"), rows)
    else:
        print_line(f"none of the {relaxed.tried} changes that were searched makes it possible; search longer")


def _print_customer(plan: Plan, explanation: CustomerExplanation) -> None:
    from dynaroute.desk.visits import list_visits

    vehicle, arrival = show_visit(plan.instance, list_visits(plan).get(explanation.id))
    name, saved = show_name(explanation.id), explanation.saved
    if explanation.vehicle is None:
        print_line(f"{name}: nobody serves it")
    else:
        when = f", arrival {arrival}" if arrival else ""
        print_line(f"{name}: {vehicle}, stop {explanation.stop}{when}")
        print_line(f"leaving it out saves {', '.join(_show_amounts(plan, saved))}")
    if explanation.together_with:
        print_line(f"{show_name(explanation.together_with)} of the same shipment moves with it")
    has_money = plan.instance.is_priced
    rows = []
    for place in explanation.places:
        extra = place.extra
        shown = (
            ("", "", *([""] if has_money else []))
            if extra is None
            else (
                show_change(extra.length, plan.instance.unit),
                show_minutes_changed(extra.seconds),
                *([show_change(extra.cost, None)] if has_money else []),
            )
        )
        stop = "no" if extra is None else str(place.stop)
        rows.append((show_name(place.vehicle), stop, *shown, place.reason))
    money = ["Extra cost"] if has_money else []
    print_table(("Instead on", "Stop", "Extra length", "Extra time", *money, "Why not"), rows)


def _show_amounts(plan: Plan, extra: Extra) -> list[str]:
    shown = [show_length(extra.length, plan.instance.unit)]
    if extra.seconds is not None:
        shown.append(show_minutes(extra.seconds))
    return [*shown, f"cost {show_length(extra.cost)}"] if plan.instance.is_priced else shown


def _print_all(plan: Plan, explanations: Sequence[CustomerExplanation]) -> None:
    from dynaroute.desk.visits import list_visits

    visits, unit = list_visits(plan), plan.instance.cost_unit
    rows = []
    for each in explanations:
        best = each.best
        other = ("none", "", "") if best is None else (show_name(best.vehicle), str(best.stop), _cost(best.extra, unit))
        saved = "" if each.vehicle is None else show_length(each.saved.cost, unit)
        rows.append((show_name(each.id), *show_visit(plan.instance, visits.get(each.id)), saved, *other))
    print_table(("Customer", "Vehicle", "Arrival", "Saves", "Instead on", "Stop", "Extra"), rows)


def _cost(extra: Extra | None, unit: str | None) -> str:
    return "" if extra is None else show_change(extra.cost, unit)
