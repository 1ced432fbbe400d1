"""``dynaroute what-if``: what other vehicles or windows would make of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dynaroute.base.errors import OptionError, Where
from dynaroute.cli.commands.desk.showing import (
    PlanArgument,
    TimeLimitOption,
    show_change,
    show_minutes,
    show_name,
)
from dynaroute.cli.shared.options import JsonOption
from dynaroute.cli.shared.output import print_json, print_line, print_table, show_length
from dynaroute.problem.times import parse_time

if TYPE_CHECKING:
    from dynaroute.desk.trying import Trial, TriedDays


def what_if(
    plan: PlanArgument,
    vehicles: Annotated[
        list[str] | None,
        typer.Option(
            "--vehicles",
            metavar="A..B",
            help="Try each number of vehicles: 3, 2..5 or, with several types, Sprinter=2..5; repeatable.",
        ),
    ] = None,
    without_window: Annotated[
        list[str] | None,
        typer.Option("--without-window", metavar="ID", help="Serve a customer at any time; repeatable."),
    ] = None,
    window_until: Annotated[
        list[str] | None,
        typer.Option("--window-until", metavar="ID=TIME", help="End a customer's window at a time; repeatable."),
    ] = None,
    promises: Annotated[
        bool, typer.Option("--promises", help="Drop every window, skill and vehicle in turn: what does each cost?")
    ] = False,
    time_limit: TimeLimitOption = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the searches.")] = 0,
    json: JsonOption = False,
) -> None:
    """Try other days: more or fewer vehicles, other windows, or without each promise.

    The plan itself and every variant are searched from this plan, each for the
    same time (1 s unless --time-limit says otherwise), as many at once as there
    are cores, and judged. Where the plan also fits a variant, the variant never
    costs more. A change below 0 is what the promise costs.

    Example:
      dynaroute what-if plan.json --vehicles 2..5 --window-until School=09:25
      dynaroute what-if plan.json --promises --time-limit 2
    """
    from dynaroute.desk.trying import SearchTime, trials_to_json
    from dynaroute.desk.trying import what_if as try_other_days
    from dynaroute.desk.variants import Wishes, list_variants
    from dynaroute.plans import read_plan

    wishes = Wishes(
        tuple(vehicles or ()), tuple(without_window or ()), tuple(map(_read_until, window_until or ())), promises
    )
    known = read_plan(plan)
    search = SearchTime(seed=seed) if time_limit is None else SearchTime(time_limit, seed=seed)
    tried = try_other_days(known, list_variants(known.instance, wishes), search)
    if json:
        print_json(trials_to_json(tried))
    else:
        _print_trials(tried)


def _read_until(text: str) -> tuple[str, float]:
    name, _, until = text.rpartition("=")
    if not name:
        message = f"{text!r} is not a customer and a time."
        raise OptionError(message, where=Where(field="--window-until"), remedy="Write School=09:25.")
    return name, parse_time(until, Where(field="--window-until"))


def _print_trials(tried: TriedDays) -> None:
    unit, cost_unit = tried.base.variant.instance.unit, tried.base.variant.instance.cost_unit
    rows = [_make_row(trial, tried.base, unit, cost_unit) for trial in (tried.base, *tried.trials)]
    print_table(("If", "Cost", "Change", "Length", "Work", "Vehicles", "Searched"), rows)
    for trial in (tried.base, *tried.trials):
        if trial.reason:
            print_line(f"{show_name(trial.variant.name)}: {trial.reason}")


def _make_row(trial: Trial, base: Trial, unit: str | None, cost_unit: str | None) -> tuple[str, ...]:
    name, searched = show_name(trial.variant.name), f"{trial.seconds:.1f} s"
    figures = trial.figures
    if figures is None:
        return name, "no plan", "", "", "", "", searched
    change = "" if trial is base or base.plan is None else show_change(trial.cost - base.cost, cost_unit)
    work = "" if figures.hours is None else show_minutes(3600 * figures.hours)
    costs = show_length(figures.cost, cost_unit), change, show_length(figures.length, unit)
    return name, *costs, work, str(figures.vehicles), searched
