"""``dynaroute check``: check a solution."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynaroute.base.decimals import plain_number
from dynaroute.cli.shared.exit_codes import WRONG_SOLUTION
from dynaroute.cli.shared.options import InstanceArgument, JsonOption, argument, switch
from dynaroute.cli.shared.output import count_of, print_json, print_line, print_table, show_length
from dynaroute.cli.shared.tables import TableOptions, takes_tables
from dynaroute.problem.fleet import TOLERANCE, name_vehicles

if TYPE_CHECKING:
    from dynaroute.problem.instance import Instance
    from dynaroute.problem.timetable import RouteSchedule, Stop

MOST_ROWS = 1000


@takes_tables
def check(
    instance: InstanceArgument,
    solution: Annotated[
        Path | None,
        argument("[SOLUTION]", "Solution file: .sol, .json, .csv, .xlsx or .geojson; not needed for a plan (.json)."),
    ] = None,
    timetable: Annotated[bool, switch("--timetable", "Print when each stop is reached, served and left.")] = False,
    json: JsonOption = False,
    *,
    tables: TableOptions,
) -> None:
    """Check a solution: every customer once, no overload, the stated cost.

    Ids, loads and unserved customers that a file states are checked as well.
    With vehicles or times it also checks lateness, durations, distances,
    numbers of stops, and numbers of vehicles. Everything is recomputed from the
    instance. Each vehicle departs as late as possible without delaying any
    stop. Exit code 0: valid; 1: invalid; 2: a file cannot be read.

    Example:
      dynaroute check X-n101-k25.vrp X-n101-k25.sol
      dynaroute check plan.json
      dynaroute check day.json plan.json --timetable
    """
    from dynaroute.plans import read_routes
    from dynaroute.plans.timetable import describe_timetable
    from dynaroute.problem.solution import check as find_violations
    from dynaroute.problem.solution import make_timetable, recompute_cost

    problem = tables.read(instance)
    answer = read_routes(instance if solution is None else solution, problem)
    violations = find_violations(problem, answer)
    is_unclear = any(violation.kind in ("unknown", "no_such_vehicle") for violation in violations)
    cost = None if is_unclear else plain_number(recompute_cost(problem, answer))
    if timetable:
        problem.require_times()
    times = make_timetable(problem, answer) if timetable and not is_unclear else []

    if json:
        found = [violation.to_json() for violation in violations]
        more = {"timetable": describe_timetable(problem, answer) if times else []} if timetable else {}
        print_json({"ok": not violations, "cost": cost, "violations": found, **more})
    elif violations:
        rows = [
            (
                violation.kind,
                _show_number(violation.route),
                _name_customer(problem, violation.customer),
                violation.message,
            )
            for violation in violations[:MOST_ROWS]
        ]
        print_table(("Violation", "Route", "Customer", "What is wrong"), rows)
        if len(violations) > MOST_ROWS:
            print_line(f"and {len(violations) - MOST_ROWS:,} more; --json lists all.")
    else:
        routes, customers = count_of(len(answer.routes), "route"), count_of(problem.size, "customer")
        print_line(f"ok: {routes}, {customers}, cost {show_length(cost or 0, problem.cost_unit)}")
    if times and not json:
        print_timetable(problem, times)
    if violations:
        raise typer.Exit(WRONG_SOLUTION)


def _name_customer(problem: Instance, customer: int | None) -> str:
    """Return a customer's id, or the number of an unknown customer."""
    is_known = customer is not None and 1 <= customer <= problem.size
    return problem.customer_name(customer) if is_known and customer is not None else _show_number(customer)


def _show_number(number: int | None) -> str:
    return "" if number is None else str(number)


def print_timetable(instance: Instance, timetable: Sequence[RouteSchedule]) -> None:
    """Print each route with one line per stop."""
    names = name_vehicles(instance.fleet, [times.vehicle for times in timetable])
    for number, (times, name) in enumerate(zip(timetable, names, strict=True), start=1):
        kind = instance.fleet[times.vehicle]
        ends = "ends" if kind.end == "open" else "back"
        print_line(
            f"Route {number}{f', {name}' if kind.name else ''}: departs {instance.shown_time(times.departure)}, "
            f"{ends} {instance.shown_time(times.end)}, {instance.shown_duration(times.duration)}, "
            f"length {show_length(times.distance, instance.unit)}"
        )
        for start, end, after in times.breaks:
            place = count_of(after, "stop")
            print_line(f"Break from {instance.shown_time(start)} to {instance.shown_time(end)}, after {place}")
        headings = ("Arrival", "Waiting", "Leave", "Window", "Distance", "Load", "Stop")
        print_table(headings, [_row_of(instance, stop) for stop in times.stops])


def _row_of(instance: Instance, stop: Stop) -> tuple[str, ...]:
    return (
        instance.shown_time(stop.arrival),
        instance.shown_duration(stop.waiting) if stop.waiting > TOLERANCE else "",
        instance.shown_time(stop.leave),
        _show_window(instance, stop.customer),
        show_length(stop.distance, instance.unit),
        instance.shown_amounts(stop.on_board) if stop.on_board else str(instance.shown_demand(stop.load)),
        instance.customer_name(stop.customer),
    )


def _show_window(instance: Instance, customer: int) -> str:
    return ", ".join(
        f"{instance.shown_time(earliest)}-{'' if latest == float('inf') else instance.shown_time(latest)}"
        for earliest, latest in instance.windows_of(customer)
    )
