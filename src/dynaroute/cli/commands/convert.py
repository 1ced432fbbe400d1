"""``dynaroute convert``: convert between file formats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dynaroute.base.errors import OptionError, UnsupportedError, Where
from dynaroute.base.vocabulary import join_with_or
from dynaroute.cli.shared.contents import holds_plan, holds_solution
from dynaroute.cli.shared.options import JsonOption, argument
from dynaroute.cli.shared.output import (
    count_of,
    print_json,
    print_line,
    print_note,
    refuse_missing_folder,
    refuse_overwriting,
)
from dynaroute.cli.shared.tables import TableOptions, takes_tables

if TYPE_CHECKING:
    from dynaroute.plans import Plan


@takes_tables
def convert(
    files: Annotated[
        list[Path],
        argument(
            "IN [ROUTES] OUT",
            "File to read, or -; routes of its customers, say of a plan that was edited in Excel; and the file to "
            "write, whose suffix chooses the format.",
        ),
    ],
    json: JsonOption = False,
    *,
    tables: TableOptions,
) -> None:
    """Convert a file to the format given by the suffix of OUT.

    Instances: .vrp, .csv, .json, .npz, .parquet; from .xlsx, .tsv, .txt, .pkl.
    Solutions: .sol, .json.
    Plans, which hold both: from .json to .csv, .xlsx, .html, .pdf, .geojson,
    .gpx, .kml, .sol (only routes), .vrp or .npz (only the problem), or to a
    folder with one printable page per driver. A format that cannot hold
    everything in IN is refused, and OUT is not changed.

    Example:
      dynaroute convert customers.csv customers.json --capacity 50
      dynaroute convert orders.xlsx orders.json --sheet Monday --capacity "450 kg"
      dynaroute convert vrp100_test_seed1234.pkl test100.npz
      dynaroute convert plan.json drivers.pdf
      dynaroute convert plan.json edited.xlsx drivers.pdf
    """
    from dynaroute.formats import read_solution, write
    from dynaroute.plans import read_plan

    source, routes, target = _name_files(files)
    refuse_overwriting([("OUT", target)], [source, *routes, *tables.files])
    if routes:
        _write_plan(_join(source, routes[0], tables), target)
        kind, count = "plan", 1
    elif holds_plan(source):
        _write_plan(read_plan(source), target)
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


def _name_files(files: Sequence[Path]) -> tuple[Path, Sequence[Path], Path]:
    """Tell apart the file to read, that of routes if there is one, and the file to write."""
    if not 2 <= len(files) <= 3:
        message = f"{count_of(len(files), 'file')} given, but two or three are expected."
        raise OptionError.about("IN [ROUTES] OUT", message, "Name the file to read, and the file to write.")
    return files[0], files[1:-1], files[-1]


def _join(source: Path, routes: Path, tables: TableOptions) -> Plan:
    """Join an instance with routes from another file, and judge them."""
    from dynaroute.plans import Plan, read_plan, read_routes

    known = read_plan(source) if holds_plan(source) else None
    instance = tables.read(source) if known is None else known.instance
    plan = Plan(instance, read_routes(routes, instance), {} if known is None else known.ways)
    for fault in (*(f"{left_out.stop.label} is not served." for left_out in plan.unserved), *plan.faults):
        print_note(fault)
    return plan


def _write_plan(plan: Plan, target: Path) -> None:
    """Write a plan, or only its problem or routes, depending on the format."""
    from dynaroute.formats import WRITABLE_INSTANCE_SUFFIXES, write
    from dynaroute.plans import PLAN_SUFFIXES, write_plan, write_sheets

    parts = [suffix for suffix in WRITABLE_INSTANCE_SUFFIXES if suffix not in PLAN_SUFFIXES]
    if target.is_dir() or not target.suffix:
        refuse_missing_folder(target)
        write_sheets(plan, target)
    elif target.suffix.lower() in parts:
        write(plan.instance, target)
        print_note(f"{target} holds the problem without its routes.")
    elif target.suffix.lower() in PLAN_SUFFIXES:
        write_plan(plan, target)
    else:
        raise UnsupportedError(
            f"a plan has no format {target.suffix!r}.",
            where=Where(file=str(target)),
            remedy=f"Use {join_with_or((*PLAN_SUFFIXES, *parts))}; or a folder.",
        )
