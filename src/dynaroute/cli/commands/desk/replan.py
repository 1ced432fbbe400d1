"""``dynaroute replan``: plan the rest of a day again when it changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynaroute.base.display import show_list
from dynaroute.base.errors import OptionError, Where
from dynaroute.cli.commands.desk.compare import print_changes
from dynaroute.cli.commands.desk.showing import PlanArgument, TimeLimitOption
from dynaroute.cli.shared.exit_codes import NO_FEASIBLE_PLAN
from dynaroute.cli.shared.options import JsonOption
from dynaroute.cli.shared.output import (
    print_json,
    print_line,
    print_note,
    refuse_missing_folder,
    refuse_overwriting,
    show_length,
)
from dynaroute.cli.shared.tables import IgnoreOption
from dynaroute.problem.measures import parse_length
from dynaroute.problem.times import parse_time

if TYPE_CHECKING:
    from dynaroute.desk.replanning import Replanned


def replan(
    plan: PlanArgument,
    now: Annotated[str, typer.Option("--now", metavar="TIME", help="The time of day, such as 10:00.")],
    cancel: Annotated[
        list[str] | None,
        typer.Option("--cancel", metavar="ID", help="A customer who wants nothing any more; repeatable."),
    ] = None,
    add: Annotated[
        Path | None,
        typer.Option(
            "--add", metavar="FILE", readable=False, help="New customers, as for insert: .csv, .tsv, .xlsx or .json."
        ),
    ] = None,
    broken: Annotated[
        list[str] | None,
        typer.Option(
            "--broken", metavar="NAME", help='A vehicle that goes no further, such as "Sprinter 2"; repeatable.'
        ),
    ] = None,
    change_cost: Annotated[
        str | None,
        typer.Option(
            "--change-cost",
            metavar="C",
            help="Price of a customer whom another vehicle serves than planned: a number in the unit of the cost, or "
            "2km. Default: half of what a customer costs on average.",
        ),
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option("--out", metavar="FILE", help="The new plan of the whole day, as for insert; repeatable."),
    ] = None,
    time_limit: TimeLimitOption = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the search.")] = 0,
    ignore: IgnoreOption = None,
    json: JsonOption = False,
) -> None:
    """Plan the rest of a day again: cancelled and new customers, broken vehicles.

    Vehicles are named as in the timetable: the second Sprinter is "Sprinter 2".
    What has happened stays: stops that were reached by now, and the one that a
    vehicle drives to. Goods on board stay with their vehicle; those of a broken
    one are fetched where it stands. Vehicles that have left take new orders
    only if nothing is delivered, or if they may load again. It prints who is
    served by another vehicle or at another time, and who has to be called.
    Exit code 4: the day cannot be done as wanted; the best plan is written,
    with what is wrong.

    Example:
      dynaroute replan plan.json --now 10:00 --cancel K016 --broken "Sprinter 2" --out plan-2.json
    """
    from dynaroute.desk.replanning import USUAL_TIME_LIMIT, replanned_to_json
    from dynaroute.desk.replanning import replan as plan_again
    from dynaroute.plans import read_plan, write_plan
    from dynaroute.plans.changes.additions import read_customers
    from dynaroute.plans.write import require_plan_suffix

    outs = out or []
    for file in outs:
        require_plan_suffix(file)
        refuse_missing_folder(file)
    refuse_overwriting([("--out", file) for file in outs], [plan, add])
    before = read_plan(plan)
    replanned = plan_again(
        before,
        now=parse_time(now, Where(field="--now")),
        cancel=cancel or (),
        add=() if add is None else read_customers(add, before.instance, ignore or ()),
        broken=broken or (),
        change_cost=None if change_cost is None else _read_price(change_cost),
        time_limit=USUAL_TIME_LIMIT if time_limit is None else time_limit,
        seed=seed,
    )
    for file in outs:
        write_plan(replanned.plan, file)
    if json:
        print_json(replanned_to_json(replanned))
    else:
        _print_replanned(replanned)
    if replanned.faults:
        raise typer.Exit(NO_FEASIBLE_PLAN)


def _read_price(text: str) -> float:
    price = float(parse_length(text, Where(field="--change-cost")))
    if price < 0:
        raise OptionError.about("--change-cost", f"{text} is below 0.", "Give 0 or more.")
    return price


def _print_replanned(replanned: Replanned) -> None:
    instance, comparison = replanned.plan.instance, replanned.comparison
    print_changes(instance, [change for change in replanned.changes if change.id not in replanned.cancelled])
    unit = instance.cost_unit
    costs = f"{show_length(comparison.before.cost, unit)} and is {show_length(comparison.after.cost, unit)}"
    print_line(f"from {instance.shown_time(replanned.now)} on: {len(comparison.moved)} (*) moved; the plan was {costs}")
    for names, who in ((replanned.drivers_to_call, "drivers"), (replanned.customers_to_call, "customers")):
        print_line(f"{who} to call: {show_list(names, 50) or 'none'}")
    for message in replanned.messages:
        print_note(message)
    for name, reason in replanned.reasons:
        print_note(f"nobody serves {name}: {reason}.")
    if replanned.faults:
        print_note("the day cannot be done as wanted; this is the best plan found in the time given.")
        for fault in replanned.faults[:10]:
            print_note(fault)
