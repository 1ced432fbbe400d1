"""``dynaroute convert``: from one file format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dynaroute.cli.contents import holds_solution
from dynaroute.cli.options import CapacityOption, JsonOption
from dynaroute.cli.output import count_of, print_json, print_line
from dynaroute.cli.places import refuse_overwriting


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", readable=False, help="File to read.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="File to write; its suffix chooses the format.")],
    capacity: CapacityOption = None,
    json: JsonOption = False,
) -> None:
    """Convert a file to another format, which the suffix of OUT names.

    Instances: .vrp, .csv, .json, .npz, and from .pkl. Solutions: .sol, .json.
    A format that cannot hold all that is in IN is refused, and OUT stays as it
    was.

    Example:
      dynaroute convert customers.csv customers.json --capacity 50
      dynaroute convert vrp100_test_seed1234.pkl test100.npz
    """
    from dynaroute.formats import read_set, read_solution, write

    refuse_overwriting([("OUT", target)], [source])
    if holds_solution(source):
        solution = read_solution(source)
        write(solution, target)
        kind, count = "solution", 1
    else:
        instances = read_set(source, capacity=capacity)
        write(instances[0] if len(instances) == 1 else instances, target)
        kind, count = "instance", len(instances)

    if json:
        print_json({"in": str(source), "out": str(target), "kind": kind, "count": count})
    else:
        print_line(f"wrote {target}: {count_of(count, kind)}")
