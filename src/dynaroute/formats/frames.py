"""DataFrames of pandas as tables of stops and of vehicles; pandas itself is not needed to read them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

from dynaroute.base.errors import OptionError, Where
from dynaroute.formats.fleet_options import FleetOptions
from dynaroute.formats.ignored import Ignored
from dynaroute.formats.tables.cells.cells import Grid, Kind, Row
from dynaroute.formats.tables.cells.workbook import read_value
from dynaroute.formats.tables.vehicles import parse_vehicles
from dynaroute.formats.vehicles import read_vehicles_beside_stops
from dynaroute.problem.measures import parse_speed

if TYPE_CHECKING:
    import pandas


def is_frame(value: object) -> TypeGuard[pandas.DataFrame]:
    """Whether a value is a DataFrame."""
    return all(hasattr(value, name) for name in ("columns", "iloc", "itertuples"))


def cut_frame(frame: pandas.DataFrame) -> Grid:
    """Cut a DataFrame into cells: its columns are line 1, its rows follow. An index with a name is a column, too."""
    table = frame.reset_index() if frame.index.name is not None else frame
    rows = [Row(tuple(map(str, table.columns)), 1)]
    missing = table.isna().to_numpy()
    for line, values in enumerate(table.itertuples(index=False, name=None), start=2):
        cells = [_read_cell(*pair) for pair in zip(values, missing[line - 2], strict=True)]
        kinds = {index: kind for index, (_, kind) in enumerate(cells) if kind != "text"}
        rows.append(Row(tuple(text for text, _ in cells), line, kinds))
    return Grid(rows)


def _read_cell(value: Any, is_missing: bool) -> tuple[str, Kind]:
    plain = value.item() if hasattr(value, "item") else value  # numpy's numbers
    return ("", "text") if is_missing else read_value(plain)


def gather_fleet(
    fleet: FleetOptions, vehicles: Any, speed: float | str | None, ignore: str | Sequence[str]
) -> FleetOptions:
    """Add vehicles and a speed, as a user gives them, to other options.

    Parameters
    ----------
    fleet
        The other options.
    vehicles
        A number, a file as for `read_vehicles`, a list from there, or a DataFrame with one type per row.
    speed
        Distance units per second, or a text such as "30 km/h".
    ignore
        Columns to plan without.
    """
    if isinstance(vehicles, bool) or (isinstance(vehicles, int) and vehicles < 1):
        raise OptionError.about("vehicles", f"{vehicles} is not a number of vehicles.", "Give 1 or more.")
    if is_frame(vehicles):
        vehicles = parse_vehicles(cut_frame(vehicles), "the DataFrame of vehicles", Ignored.of(ignore))
    elif isinstance(vehicles, str | os.PathLike):
        vehicles = read_vehicles_beside_stops(vehicles, Ignored.of(ignore))
    if isinstance(speed, str):
        speed = parse_speed(speed, Where(field="speed"))
    return replace(
        fleet,
        vehicles=fleet.vehicles if vehicles is None else vehicles,
        speed=fleet.speed if speed is None else speed,
    )
