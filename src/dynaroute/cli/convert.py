"""``dynaroute convert``: from one file format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dynaroute.cli.contents import holds_solution
from dynaroute.cli.fleets import (
    FleetWords,
    MaxDistanceOption,
    MaxDurationOption,
    RoundingOption,
    SpeedOption,
    VehiclesOption,
)
from dynaroute.cli.options import JsonOption
from dynaroute.cli.output import count_of, print_json, print_line
from dynaroute.cli.places import refuse_overwriting
from dynaroute.cli.tables import (
    CapacityOption,
    ColumnsOption,
    DurationsOption,
    FormatOption,
    MatrixOption,
    SheetOption,
    TableOptions,
)


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", readable=False, help="File to read, or -.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="File to write; its suffix chooses the format.")],
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
    json: JsonOption = False,
) -> None:
    """Convert a file to another format, which the suffix of OUT names.

    Instances: .vrp, .csv, .json, .npz, and from .xlsx, .tsv, .txt and .pkl.
    Solutions: .sol, .json.
    A format that cannot hold all that is in IN is refused, and OUT stays as it
    was.

    Example:
      dynaroute convert customers.csv customers.json --capacity 50
      dynaroute convert orders.xlsx orders.json --sheet Monday --capacity "450 kg"
      dynaroute convert vrp100_test_seed1234.pkl test100.npz
    """
    from dynaroute.formats import read_solution, write

    fleet = FleetWords(vehicles, max_duration, max_distance, speed, rounding)
    tables = TableOptions(capacity, format, sheet, columns, matrix, durations, fleet)
    refuse_overwriting([("OUT", target)], [source, *tables.files])
    if holds_solution(source):
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
