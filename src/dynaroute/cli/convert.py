"""``dynaroute convert``: from one file format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dynaroute.cli.contents import holds_plan, holds_solution
from dynaroute.cli.options import JsonOption
from dynaroute.cli.output import count_of, print_json, print_line, print_note
from dynaroute.cli.places import refuse_missing_folder, refuse_overwriting
from dynaroute.cli.tables import TableOptions, takes_tables


@takes_tables
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", readable=False, help="File to read, or -.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="File to write; its suffix chooses the format.")],
    json: JsonOption = False,
    *,
    tables: TableOptions,
) -> None:
    """Convert a file to another format, which the suffix of OUT names.

    Instances: .vrp, .csv, .json, .npz, .parquet; from .xlsx, .tsv, .txt, .pkl.
    Solutions: .sol, .json.
    Plans, which hold both: from .json to .csv, .xlsx, .html, .pdf, .geojson,
    .gpx, .kml, .sol (routes alone), .vrp or .npz (problem alone), or a folder
    for a printable page each driver. A format that cannot hold all that is
    in IN is refused, and OUT stays as it was.

    Example:
      dynaroute convert customers.csv customers.json --capacity 50
      dynaroute convert orders.xlsx orders.json --sheet Monday --capacity "450 kg"
      dynaroute convert vrp100_test_seed1234.pkl test100.npz
      dynaroute convert plan.json drivers.pdf
    """
    from dynaroute.formats import read_solution, write

    refuse_overwriting([("OUT", target)], [source, *tables.files])
    if holds_plan(source):
        _write_plan(source, target)
        kind, count = "plan", 1
    elif holds_solution(source):
        solution = read_solution(source)
        write(solution, target)
        kind, count = "solution", 1
    else:
        instances = tables.read_set(source)
        write(instances[0] if len(instances) == 1 else instances, target)
        kind, count = "instance", len(instances)

    if json:
        print_json({"in": str(source), "out": str(target), "kind": kind, "count": count})
    else:
        print_line(f"wrote {target}: {count_of(count, kind)}")


def _write_plan(source: Path, target: Path) -> None:
    """Write a plan; into a format for problems or routes alone, that part of it."""
    from dynaroute.formats import write
    from dynaroute.plans import PLAN_SUFFIXES, read_plan, write_plan, write_sheets

    plan = read_plan(source)
    if target.is_dir() or not target.suffix:
        refuse_missing_folder(target)
        write_sheets(plan, target)
    elif target.suffix.lower() in PLAN_SUFFIXES:
        write_plan(plan, target)
    else:
        write(plan.instance, target)
        print_note(f"{target} holds the problem without its routes.")
