"""``dynaroute check``: judge a solution."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dynaroute.cli.exit_codes import WRONG_SOLUTION
from dynaroute.cli.fleets import (
    FleetWords,
    MaxDistanceOption,
    MaxDurationOption,
    RoundingOption,
    SpeedOption,
    VehiclesOption,
)
from dynaroute.cli.options import InstanceArgument, JsonOption
from dynaroute.cli.output import count_of, print_json, print_line, print_table
from dynaroute.cli.tables import (
    CapacityOption,
    ColumnsOption,
    DurationsOption,
    FormatOption,
    MatrixOption,
    SheetOption,
    TableOptions,
)
from dynaroute.cli.timetable import describe_times, print_timetable
from dynaroute.decimals import plain_number

MOST_ROWS = 1000


def check(
    instance: InstanceArgument,
    solution: Annotated[Path, typer.Argument(metavar="SOLUTION", readable=False, help="Solution file: .sol or .json.")],
    capacity: CapacityOption = None,
    format: FormatOption = None,
    sheet: SheetOption = None,
    columns: ColumnsOption = None,
    matrix: MatrixOption = None,
    durations: DurationsOption = None,
    vehicles: VehiclesOption = None,
    max_duration: MaxDurationOption = None,
    max_distance: MaxDistanceOption = None,
    speed: SpeedOption = None,
    rounding: RoundingOption = None,
    timetable: Annotated[
        bool, typer.Option("--timetable", help="Print when each stop is reached, served and left.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Judge a solution: each customer once, no overload, the stated cost right.

    Of a fleet also: who is late and by how much, routes that are too long or
    too far, too many stops, and vehicles that there are not. Everything is
    computed anew from the instance. A vehicle departs as late as makes nobody
    later. Exit code 0: right; 1: wrong; 2: a file cannot be read.

    Example:
      dynaroute check X-n101-k25.vrp X-n101-k25.sol
      dynaroute check day.json plan.json --timetable
    """
    from dynaroute.formats import read_solution
    from dynaroute.solution import check as find_violations
    from dynaroute.solution import make_timetable, recompute_cost

    fleet = FleetWords(vehicles, max_duration, max_distance, speed, rounding)
    problem = TableOptions(capacity, format, sheet, columns, matrix, durations, fleet).read(instance)
    answer = read_solution(solution)
    violations = find_violations(problem, answer)
    is_unclear = any(violation.kind in ("unknown", "no_such_vehicle") for violation in violations)
    cost = None if is_unclear else plain_number(recompute_cost(problem, answer))
    if timetable:
        problem.require_times()
    times = make_timetable(problem, answer) if timetable and not is_unclear else []

    if json:
        keys = ("kind", "route", "customer", "message")
        found = [{key: getattr(violation, key) for key in keys} for violation in violations]
        more = {"timetable": [describe_times(problem, route) for route in times]} if timetable else {}
        print_json({"ok": not violations, "cost": cost, "violations": found, **more})
    elif violations:
        rows = [
            (violation.kind, _shown(violation.route), _shown(violation.customer), violation.message)
            for violation in violations[:MOST_ROWS]
        ]
        print_table(("Violation", "Route", "Customer", "What is wrong"), rows)
        if len(violations) > MOST_ROWS:
            print_line(f"and {len(violations) - MOST_ROWS:,} more; --json tells all.")
    else:
        routes, customers = count_of(len(answer.routes), "route"), count_of(problem.size, "customer")
        print_line(f"ok: {routes}, {customers}, cost {cost:.10g}")
    if times and not json:
        print_timetable(problem, times)
    if violations:
        raise typer.Exit(WRONG_SOLUTION)


def _shown(number: int | None) -> str:
    return "" if number is None else str(number)
