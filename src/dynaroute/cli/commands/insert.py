"""``dynaroute insert``: add new customers to a plan without changing its other stops."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynaroute.base.display import LONGEST_NAME, show_length, show_list, show_text
from dynaroute.cli.shared.exit_codes import NO_FEASIBLE_PLAN
from dynaroute.cli.shared.options import JsonOption, argument, option
from dynaroute.cli.shared.output import (
    print_json,
    print_line,
    print_note,
    print_table,
    refuse_missing_folder,
    refuse_overwriting,
)
from dynaroute.cli.shared.tables import IgnoreOption

if TYPE_CHECKING:
    from dynaroute.plans.changes.insertion import Insertion, InsertionResult


def insert(
    plan: Annotated[Path, argument("PLAN", "A plan, as solve --out plan.json writes it.")],
    customers: Annotated[
        Path, argument("CUSTOMERS", "New customers, without a depot: a .csv, .tsv or .xlsx table, or a .json list.")
    ],
    out: Annotated[
        list[Path] | None,
        option(
            "FILE",
            "Plan with the new customers: .json, .csv, .xlsx, .html, .pdf, .geojson, .gpx, .kml or .sol. May be "
            "given several times.",
        ),
    ] = None,
    ignore: IgnoreOption = None,
    json: JsonOption = False,
) -> None:
    """Insert new customers into a plan, each where it costs least.

    Existing stops keep their routes and order, and all limits are respected.
    For each new customer the route, the stop and the extra cost are shown. An
    unused vehicle is used if that is cheaper, or if nothing else is possible.
    A note says which vehicles depart earlier than before. Exit code 1: the
    plan is wrong and does not say so. Exit code 4: some customers fit nowhere;
    the others are in the plan.

    Example:
      dynaroute insert plan.json new.csv --out plan-2.json
    """
    from dynaroute.plans import read_plan, write_plan
    from dynaroute.plans.changes.additions import read_customers
    from dynaroute.plans.changes.insertion import insert_customers, insertions_to_json
    from dynaroute.plans.write import require_plan_suffix

    outs = out or []
    for file in outs:
        require_plan_suffix(file)
        refuse_missing_folder(file)
    refuse_overwriting([("--out", file) for file in outs], [plan, customers])
    before = read_plan(plan)
    result = insert_customers(before, read_customers(customers, before.instance, ignore or ()))
    for file in outs:
        write_plan(result.plan, file)

    if json:
        print_json(insertions_to_json(result, before.cost))
    else:
        _print_insertions(result, before.cost)
    for departure in result.earlier:
        print_note(departure.message)
    if result.fitting_nowhere:
        names = [result.plan.instance.customer_name(customer) for customer in result.fitting_nowhere]
        print_note(f"no vehicle has room or time for {show_list(names)}.")
        raise typer.Exit(NO_FEASIBLE_PLAN)


def _print_insertions(result: InsertionResult, cost_before: float) -> None:
    instance = result.plan.instance
    rows = [_make_row(result, insertion) for insertion in result.insertions]
    print_table(("Customer", "Route", "Stop", "After", "Before", "Costs"), rows)
    before, after = show_length(cost_before, instance.cost_unit), show_length(result.plan.cost, instance.cost_unit)
    print_line(f"the plan was {before} and is {after} with them")


def _make_row(result: InsertionResult, insertion: Insertion) -> tuple[str, ...]:
    instance = result.plan.instance
    name = show_text(instance.customer_name(insertion.customer), LONGEST_NAME)
    if insertion.route is None or insertion.stop is None or insertion.cost is None:
        return name, "none", "", "", "", ""
    nodes = [0, *result.plan.solution.routes[insertion.route - 1], 0]
    before, after = nodes[insertion.stop - 1], nodes[insertion.stop + 1]
    called = ["depot" if node == 0 else show_text(instance.customer_name(node), 40) for node in (before, after)]
    route = f"{insertion.route} (new)" if insertion.opens_route else str(insertion.route)
    return name, route, str(insertion.stop), *called, f"+{show_length(insertion.cost, instance.cost_unit)}"
