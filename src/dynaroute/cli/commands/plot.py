"""``dynaroute plot``: plot an instance, with or without routes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from dynaroute.cli.shared.contents import holds_plan
from dynaroute.cli.shared.options import InstanceArgument, JsonOption, argument, option, switch
from dynaroute.cli.shared.output import print_json, print_line, print_note, refuse_overwriting
from dynaroute.cli.shared.tables import TableOptions, takes_tables


@takes_tables
def plot(
    instance: InstanceArgument,
    out: Annotated[Path, option("FILE", "Picture to write: .png, .svg or .pdf.")],
    solution: Annotated[
        Path | None,
        argument(
            "SOLUTION", "Routes to draw: a .sol, .json, .csv, .xlsx or .geojson file; not needed for a plan (.json)."
        ),
    ] = None,
    names: Annotated[bool, switch("--names", "Label customers with their names.")] = False,
    json: JsonOption = False,
    *,
    tables: TableOptions,
) -> None:
    """Plot an instance, and its routes if a solution is given.

    Customers are sized by demand. Each route has its own colour and number, and
    the legend shows its load and length. Arrows show the direction. With up to
    100 customers, each shows its stop number. Maps in degrees have a scale bar.
    If travel times are known, a chart next to the map shows when each route
    drives, waits and serves. An invalid solution is drawn too, with a note.

    Example:
      dynaroute plot X-n101-k25.vrp X-n101-k25.sol --out routes.svg
      dynaroute plot plan.json --out routes.png --names
    """
    from dynaroute.base.errors import in_file
    from dynaroute.plans import read_routes
    from dynaroute.plotting import (
        check_picture_path,
        plot_instance,
        plot_solution,
        plot_solution_and_timetable,
        save_figure,
    )
    from dynaroute.problem.solution import check

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
