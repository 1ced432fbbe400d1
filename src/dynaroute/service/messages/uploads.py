"""Uploaded files that are texts or workbooks: tables, .vrp and Solomon files, read with the user's options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from dynaroute.base.errors import FormatError, OptionError, Where
from dynaroute.formats import parse_vrplib
from dynaroute.formats.fleet_options import use_vehicles
from dynaroute.formats.ignored import Ignored
from dynaroute.formats.tables.cells.units import find_unit
from dynaroute.formats.tables.cells.workbook import cut_workbook
from dynaroute.formats.tables.csv import parse_text_table
from dynaroute.formats.tables.headers import read_renames
from dynaroute.formats.tables.stops import ReadingOptions
from dynaroute.formats.tables.vehicles import has_vehicles, parse_vehicles
from dynaroute.formats.tables.xlsx import parse_xlsx
from dynaroute.formats.text import decode_text
from dynaroute.formats.vrplib.solomon import looks_like_solomon, parse_solomon
from dynaroute.problem.instance import Instance
from dynaroute.problem.measures import parse_speed
from dynaroute.service.messages.sizes import ReadingLimits

TEXT_TABLES = (".csv", ".tsv", ".txt")


@dataclass(frozen=True)
class Upload:
    """An uploaded file and its options."""

    content: bytes
    suffix: str
    name: str
    options: dict[str, Any]


def read_text(upload: Upload, limits: ReadingLimits) -> tuple[Instance, dict[str, Any]]:
    """Read a problem from a text or a workbook; returns it with the options that say how to solve."""
    if not upload.content:
        raise FormatError("the body is empty.", remedy="Send the file's text.")
    options = dict(upload.options)
    speed = options.pop("speed", None)
    instance = _read_table(upload, options, limits) if _is_table(upload) else _read_other_text(upload, options, limits)
    if speed is not None:
        instance = replace(instance, speed=parse_speed(speed, Where(field="speed")))
    return instance, options


def _is_table(upload: Upload) -> bool:
    if upload.suffix == ".txt":
        return not looks_like_solomon(decode_text(upload.content))
    return upload.suffix in (*TEXT_TABLES, ".xlsx")


def _read_table(upload: Upload, options: dict[str, Any], limits: ReadingLimits) -> Instance:
    capacity, sheet, vehicles_sheet = (options.pop(name, None) for name in ("capacity", "sheet", "vehicles_sheet"))
    renames, ignored = read_renames(options.pop("columns", None)), Ignored.of(options.pop("ignore", ()))
    if upload.suffix != ".xlsx":
        if sheet is not None or vehicles_sheet is not None:
            name = "sheet" if sheet is not None else "vehicles_sheet"
            raise OptionError.about(name, "a text has no sheets.", "Leave the option out, or send a workbook.")
        text = decode_text(upload.content)
        limits.refuse_large_table(text)
        return parse_text_table(text, ReadingOptions(capacity, columns=renames, ignored=ignored), upload.name)
    limits.refuse_large_workbook(upload.content)
    if vehicles_sheet is None:
        return parse_xlsx(upload.content, ReadingOptions(capacity, sheet, renames, ignored=ignored), upload.name)
    grid = cut_workbook(upload.content, vehicles_sheet, has_vehicles, upload.name)
    vehicles = parse_vehicles(grid, upload.name, ignored)
    capacities = vehicles.capacities_by_dimension
    reading = ReadingOptions(
        capacity if capacity is not None or capacities else vehicles.largest_capacity,
        sheet,
        renames,
        unit=find_unit(vehicles.unit),
        ignored=Ignored.of(ignored.names, vehicles.headings),
        capacities=capacities,
    )
    return use_vehicles(parse_xlsx(upload.content, reading, upload.name), vehicles)


def _read_other_text(upload: Upload, options: dict[str, Any], limits: ReadingLimits) -> Instance:
    refuse_options_of_tables(options)
    if options.pop("ignore", ()):
        _refuse_ignored()
    text = decode_text(upload.content)
    if upload.suffix == ".txt":
        limits.refuse_large_table(text)
        return parse_solomon(text, source=upload.name)
    limits.refuse_large_vrp(text)
    return parse_vrplib(text, source=upload.name)


def refuse_options_of_tables(options: Mapping[str, object]) -> None:
    """Raise if an option is given that only applies to tables."""
    for name in ("capacity", "sheet", "vehicles_sheet", "columns"):
        if name in options:
            raise OptionError.about(name, "this option only applies to tables.", "Leave the option out.")


def _refuse_ignored() -> NoReturn:
    message = "this option only applies to tables and JSON."
    raise OptionError.about("ignore", message, "Leave the option out.")
