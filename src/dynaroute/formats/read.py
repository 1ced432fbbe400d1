"""Reading files of any format, chosen by suffix."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dynaroute.base.errors import FormatError, OptionError, Where, in_file, warn_of_input
from dynaroute.base.files import STDIN, read_bytes, read_stdin, refuse_unreadable
from dynaroute.formats.fleet_options import FleetOptions, VehicleList
from dynaroute.formats.frames import cut_frame, gather_fleet, is_frame
from dynaroute.formats.ignored import Ignored
from dynaroute.formats.registry import (
    FORMATS,
    INSTANCE_SUFFIXES,
    SOLUTION_SUFFIXES,
    Capacity,
    require_suffix,
)
from dynaroute.formats.tables.cells.units import find_unit
from dynaroute.formats.tables.cells.workbook import list_sheets, refuse_other_kinds
from dynaroute.formats.tables.headers import read_renames
from dynaroute.formats.tables.side_tables import cut_legs
from dynaroute.formats.tables.stops import ReadingOptions, parse_stops
from dynaroute.formats.tables.words import are_vehicles
from dynaroute.formats.text import decode_text
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.roads.source import RoadSource, use_detour, use_roads

__all__ = ["read", "read_set", "read_solution"]


if TYPE_CHECKING:
    import pandas

NO_FLEET_OPTIONS = FleetOptions()


def read(
    path: str | os.PathLike[str] | pandas.DataFrame,
    *,
    capacity: Capacity = None,
    format: str | None = None,
    sheet: str | None = None,
    columns: str | Mapping[str, str] | None = None,
    matrix: str | os.PathLike[str] | None = None,
    durations: str | os.PathLike[str] | None = None,
    ignore: str | Sequence[str] = (),
    roads: RoadSource | None = None,
    detour: float | None = None,
    vehicles: int | str | os.PathLike[str] | VehicleList | pandas.DataFrame | None = None,
    speed: float | str | None = None,
    fleet: FleetOptions = NO_FLEET_OPTIONS,
) -> Instance:
    """Read one instance.

    Parameters
    ----------
    path
        A table (.csv, .tsv, .xlsx), a .vrp, .txt (Solomon) or .json file, or a set (.json, .npz, .parquet, .pkl) of
        one instance. Or a DataFrame of pandas with a row per stop, for which the options for tables apply.
    vehicles
        A number, a file as for `read_vehicles`, its list, or a DataFrame with a row per type.
    speed
        Distance units per second, or a text such as "30 km/h".
    capacity, format, sheet, columns, matrix, durations, ignore, roads, detour, fleet
        As for `read_set`.

    Returns
    -------
    Instance
        The problem.

    Raises
    ------
    DynarouteError
        If there is no valid instance, or more than one.
    """
    fleet = gather_fleet(fleet, vehicles, speed, ignore)
    if is_frame(path):
        if (format, sheet) != (None, None):
            raise OptionError.about("format", "a DataFrame has no format and no sheets.", "Leave the option out.")
        reading = _read_options(".xlsx", capacity, None, columns, matrix, durations, ignore, fleet)
        with in_file("the DataFrame"):
            return fleet.apply(_use_roads(parse_stops(cut_frame(path), reading, ""), roads, detour))
    instances = read_set(
        path,
        capacity=capacity,
        format=format,
        sheet=sheet,
        columns=columns,
        matrix=matrix,
        durations=durations,
        ignore=ignore,
        roads=roads,
        detour=detour,
        fleet=fleet,
    )
    if len(instances) > 1:
        raise FormatError(
            f"the file holds {len(instances)} instances, but one is expected.",
            where=Where(file=os.fspath(path)),
            remedy="Use dynaroute.read_set, or a command that takes sets, such as solve or convert.",
        )
    return instances[0]


def read_set(
    path: str | os.PathLike[str],
    *,
    capacity: Capacity = None,
    format: str | None = None,
    sheet: str | None = None,
    columns: str | Mapping[str, str] | None = None,
    matrix: str | os.PathLike[str] | None = None,
    durations: str | os.PathLike[str] | None = None,
    ignore: str | Sequence[str] = (),
    roads: RoadSource | None = None,
    detour: float | None = None,
    fleet: FleetOptions = NO_FLEET_OPTIONS,
) -> list[Instance]:
    """Read all instances of a file.

    Parameters
    ----------
    path
        A .vrp, .csv, .tsv, .txt, .xlsx, .json, .npz, .parquet or .pkl file; "-" is standard input.
    capacity
        Capacity of a vehicle, for a table. It overrides the table's own, and may be a text such as "450 kg".
    format
        The file's format, if its suffix does not say: "csv", "xlsx", ...
    sheet
        Sheet of a workbook; by default the first visible sheet with a header.
    columns
        Meaning of columns whose headings are unclear: "Mng=demand,x=lon,y=lat".
    matrix, durations
        Distances and durations between the stops of a table: tables as "FILE" or "FILE#SHEET", or the answer of a
        routing service (.json), which has both.
    ignore
        Columns of a table, or keys of a .json file, to plan without. Files that ask for something unsupported, such as
        breaks, are refused otherwise.
    roads
        A server or an extract that knows distances and times on roads, such as `dynaroute.roads.servers.RoadServer`.
    detour
        A factor for straight-line distances, such as 1.3.
    fleet
        Vehicles, limits and a speed that override those of the file.

    Returns
    -------
    list[Instance]
        The instances in the file's order, at least one.

    Raises
    ------
    DynarouteError
        If the file cannot be read, or an instance is invalid.
    """
    file, source = Path(path), os.fspath(path)
    with in_file(STDIN if source == "-" else source):
        suffix = _find_suffix(file, format)
        known = FORMATS[suffix]
        assert known.parse is not None  # other suffixes were refused before
        _refuse_void_options(
            suffix, capacity=capacity, sheet=sheet, columns=columns, matrix=matrix, durations=durations
        )
        content = read_stdin() if source == "-" else read_bytes(file)
        reading = ReadingOptions()
        if known.is_table or ignore:
            reading = _read_options(suffix, capacity, sheet, columns, matrix, durations, ignore, fleet)
        offer = _offer_vehicles(content, source, sheet) if known.has_sheets and fleet.vehicles is None else ""
        try:
            instances = known.parse(content, "" if source == "-" else source, reading)
        except FormatError as error:
            if offer and error.where.field == "capacity":
                error.remedy = f"To take it from the vehicles of this file, add {offer}. {error.remedy}"
            raise
        if not instances:
            raise FormatError("the file holds no instance.", remedy="Was it saved or copied completely?")
        return [fleet.apply(_use_roads(instance, roads, detour)) for instance in instances]


def _use_roads(instance: Instance, roads: RoadSource | None, detour: float | None) -> Instance:
    if roads is not None and detour is not None:
        raise OptionError.about("detour", "roads make a detour factor needless.", "Leave out one of the two.")
    if roads is not None:
        return use_roads(instance, roads)
    return instance if detour is None else use_detour(instance, detour)


def _read_options(
    suffix: str,
    capacity: Capacity,
    sheet: str | None,
    columns: str | Mapping[str, str] | None,
    matrix: str | os.PathLike[str] | None,
    durations: str | os.PathLike[str] | None,
    ignore: str | Sequence[str],
    fleet: FleetOptions,
) -> ReadingOptions:
    """Read the options for tables, which depend on a file of vehicles if there is one."""
    vehicles = fleet.vehicles if isinstance(fleet.vehicles, VehicleList) else None
    is_table = FORMATS[suffix].is_table
    capacities = {} if vehicles is None or not is_table else vehicles.capacities_by_dimension
    if is_table and capacity is None and vehicles is not None and not capacities:
        capacity = vehicles.largest_capacity  # a table need not state it
    ignored = Ignored.of(ignore, () if vehicles is None else vehicles.headings)
    if ignored.names_here and not is_table and suffix != ".json":
        raise OptionError.about(
            "ignore", f"a {suffix} file has no columns to ignore.", "Use the option only with tables and .json files."
        )
    distances, times = (None if legs is None else cut_legs(os.fspath(legs)) for legs in (matrix, durations))
    unit = None if vehicles is None else find_unit(vehicles.unit)
    renames = read_renames(columns)
    return ReadingOptions(capacity, sheet, renames, distances, times, unit=unit, ignored=ignored, capacities=capacities)


def _offer_vehicles(content: bytes, source: str, sheet: str | None) -> str:
    """The option that takes the vehicles from a sheet of the same workbook; "" if none is called vehicles."""
    refuse_other_kinds(content)
    titles = [title for title in list_sheets(content) if are_vehicles(title) and title != sheet]
    if not titles:
        return ""
    option = f"--vehicles {shlex.quote(f'{source}#{titles[0]}')}"
    warn_of_input(source, f"the sheet {titles[0]!r} is not used; to plan with its vehicles, add {option}.")
    return option


def _find_suffix(file: Path, format: str | None) -> str:
    """Return the file's suffix, or that of the given format."""
    if format is not None:
        suffix = f".{format.lower().lstrip('.')}"
        if suffix not in INSTANCE_SUFFIXES:
            known = ", ".join(name.lstrip(".") for name in INSTANCE_SUFFIXES)
            raise OptionError.about("format", f"the format {format!r} is unknown.", f"Use one of {known}.")
    if str(file) == "-":
        if format is None:
            raise OptionError.about(
                "format", "standard input has no suffix that would tell its format.", "Name the format: --format csv."
            )
        return suffix
    refuse_unreadable(file)  # before the suffix is checked: a folder has none
    return suffix if format is not None else require_suffix(file, INSTANCE_SUFFIXES, "instances")


def _refuse_void_options(suffix: str, **options: object) -> None:
    """Raise if an option does not apply to the format."""
    known = FORMATS[suffix]
    for name, value in options.items():
        if value is None or (known.is_table and (name != "sheet" or known.has_sheets)):
            continue
        message = (
            "states its own capacity" if name == "capacity" else "has no sheets" if known.is_table else "is not a table"
        )
        what = "workbooks" if name == "sheet" else "tables (.csv, .tsv, .xlsx)"
        raise OptionError.about(name, f"a {suffix} file {message}.", f"Use the option only with {what}.")


def read_solution(path: str | os.PathLike[str]) -> Solution:
    """Read routes. Use `dynaroute.check` to verify them.

    Parameters
    ----------
    path
        A .sol file, or a .json file with routes.

    Returns
    -------
    Solution
        The routes and the stated cost.

    Raises
    ------
    DynarouteError
        If the file cannot be read.
    """
    file, source = Path(path), os.fspath(path)
    with in_file(source):
        refuse_unreadable(file)
        suffix = require_suffix(file, SOLUTION_SUFFIXES, "a solution")
        parse = FORMATS[suffix].parse_solution
        assert parse is not None  # other suffixes were refused before
        return parse(decode_text(read_bytes(file)), source)
