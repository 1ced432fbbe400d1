"""``dynaroute plot``: draw an instance, with or without routes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dynaroute.cli.contents import holds_plan
from dynaroute.cli.options import InstanceArgument, JsonOption
from dynaroute.cli.output import print_json, print_line, print_note
from dynaroute.cli.places import refuse_overwriting
from dynaroute.cli.tables import TableOptions, takes_tables


@takes_tables
def plot(
    instance: InstanceArgument,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Picture to write: .png, .svg or .pdf.")],
    solution: Annotated[
        Path | None,
        typer.Argument(
            metavar="SOLUTION",
            readable=False,
            help="Routes to draw: a .sol, .json, .csv, .xlsx or .geojson file; a plan (.json) holds its own.",
        ),
    ] = None,
    names: Annotated[bool, typer.Option("--names", help="Write the customers' names beside them.")] = False,
    json: JsonOption = False,
    *,
    tables: TableOptions,
) -> None:
    """Draw an instance, and its routes if a solution is given.

    Customers are as large as their demand; each route has its colour and its
    number, and the legend tells its load and length. Arrows show the direction;
    up to 100 customers carry the number of their stop. Maps in degrees have a
    scale in kilometres. Where legs take time, a chart beside the map shows when
    each route drives, waits and serves. A wrong solution is drawn, too, with a
    note.

    Example:
      dynaroute plot X-n101-k25.vrp X-n101-k25.sol --out routes.svg
      dynaroute plot plan.json --out routes.png --names
    """
    from dynaroute.errors import in_file
    from dynaroute.plans import read_routes
    from dynaroute.plotting import (
        check_picture_path,
        plot_instance,
        plot_solution,
        plot_solution_and_timetable,
        save_figure,
    )
    from dynaroute.solution import check

    check_picture_path(out)
    refuse_overwriting([("--out", out)], [instance, solution, *tables.files])
    problem = tables.read(instance)
    if solution is None and holds_plan(instance):
        solution = instance
    answer = None if solution is None else read_routes(solution, problem)
    with in_file(instance if solution is None else solution):
        if answer is None:
            ax = plot_instance(problem, names=names)
        else:
            draw = plot_solution_and_timetable if problem.knows_times else plot_solution
            ax = draw(problem, answer, names=names)
    if answer is not None and (violations := check(problem, answer)):
        print_note(f"the solution is wrong: {violations[0].message} See dynaroute check.")
    save_figure(ax, out)

    if json:
        routes = None if answer is None else len(answer.routes)
        print_json({"out": str(out), "customers": problem.size, "routes": routes})
    else:
        print_line(f"wrote {out}")
