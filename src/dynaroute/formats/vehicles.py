"""Separate files of vehicle types."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from dynaroute.base.errors import InstanceError, in_file
from dynaroute.base.files import read_bytes, refuse_unreadable
from dynaroute.formats.fleet_options import VehicleList
from dynaroute.formats.ignored import Ignored
from dynaroute.formats.json.document import load_json
from dynaroute.formats.json.fleet import read_json_vehicles
from dynaroute.formats.json.ignored import leave_out_of_vehicles, list_keys_of_vehicles
from dynaroute.formats.json.rules import read_dimensions
from dynaroute.formats.registry import TABLE_SUFFIXES, require_suffix
from dynaroute.formats.tables.cells.text_cells import cut_text
from dynaroute.formats.tables.headers import score_header
from dynaroute.formats.tables.side_tables import cut_side_table, split_sheet
from dynaroute.formats.tables.vehicles import has_vehicles, parse_vehicles
from dynaroute.formats.tables.words import VEHICLES
from dynaroute.formats.text import decode_text

VEHICLE_SUFFIXES = (*TABLE_SUFFIXES, ".json")


def read_vehicles(spec: str | os.PathLike[str], *, ignore: str | Sequence[str] = ()) -> VehicleList:
    """Read vehicle types.

    Parameters
    ----------
    spec
        A table (.csv, .tsv, .xlsx; FILE#SHEET for a sheet) with a column capacity and one type per row; or a .json
        file: a list as under an instance's "vehicles", or an object with that key.
    ignore
        Columns or keys to plan without.

    Raises
    ------
    DynarouteError
        If the file cannot be read, has no vehicles, or asks for something unsupported.
    """
    vehicles = read_vehicles_beside_stops(spec, Ignored.of(ignore))
    with in_file(split_sheet(os.fspath(spec))[0]):
        Ignored.of(ignore).refuse_unknown(vehicles.headings)
    return vehicles


def read_vehicles_beside_stops(spec: str | os.PathLike[str], ignored: Ignored) -> VehicleList:
    """Read vehicle types; ignored names that are not here must be found among the stops."""
    path, _ = split_sheet(os.fspath(spec))
    with in_file(path):
        refuse_unreadable(Path(path))
        suffix = require_suffix(Path(path), VEHICLE_SUFFIXES, "vehicles")
        return _read_json(Path(path), ignored) if suffix == ".json" else _read_table(os.fspath(spec), ignored)


def _read_table(spec: str, ignored: Ignored) -> VehicleList:
    score = partial(score_header, vocabulary=VEHICLES, renames=())
    is_wanted = partial(has_vehicles, ignored=ignored)
    grid, source = cut_side_table(spec, "vehicles", lambda text: cut_text(text, score), is_wanted)
    return parse_vehicles(grid, source, ignored)


def _read_json(file: Path, ignored: Ignored) -> VehicleList:
    document = load_json(decode_text(read_bytes(file), ",[{"))
    items = document.get("vehicles") if isinstance(document, dict) else document
    kinds = leave_out_of_vehicles(items, ignored)
    held = kinds if isinstance(kinds, list) else []
    dimensions = read_dimensions(kind.get("capacity") for kind in held if isinstance(kind, Mapping))
    vehicles = read_json_vehicles(kinds, dimensions)
    if vehicles is None:
        raise InstanceError.about("vehicles", "there is no vehicle.", "Give at least one type.")
    return replace(vehicles, headings=tuple(list_keys_of_vehicles(items)), dimensions=dimensions)
