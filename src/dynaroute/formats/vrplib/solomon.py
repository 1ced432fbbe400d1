"""Instances with time windows in the format of Solomon, and of Gehring and Homberger (.txt)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dynaroute.base.errors import FormatError, Where, placed
from dynaroute.formats.limitations import refuse_what_cannot_be_stored
from dynaroute.formats.numbers import (
    format_load,
    format_number,
    parse_decimal,
    parse_float,
    parse_whole,
    scale_quantities,
)
from dynaroute.formats.text import one_line, shorten, split_lines
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance

_COLUMNS = ("CUST NO.", "XCOORD.", "YCOORD.", "DEMAND", "READY TIME", "DUE DATE", "SERVICE TIME")
_HEADER = re.compile(r"CUST\s*NO\.?\s+XCOORD\.?\s+YCOORD\.?\s+DEMAND\s+READY\s*TIME\s+DUE\s*DATE\s+SERVICE(?:\s*TIME)?")
_TITLE = re.compile(r"^[ \t]*(?:VEHICLE|CUSTOMER)\s*?$", re.MULTILINE | re.IGNORECASE)
_REMEDY = (
    "A .txt file must be in Solomon's format: a name, VEHICLE with NUMBER and CAPACITY, CUSTOMER with seven columns."
)


def looks_like_solomon(text: str) -> bool:
    """Whether text has a section title of this format, so it is not a table."""
    return _TITLE.search(text) is not None


@dataclass(frozen=True)
class _Line:
    """A line that is not blank."""

    text: str
    number: int


def parse_solomon(text: str, *, source: str = "") -> Instance:
    """Read an instance with time windows; travel time is distance.

    Parameters
    ----------
    text
        The file's text.
    source
        The file's path; its stem names an instance without a name.

    Raises
    ------
    DynarouteError
        If the text does not follow the format, or is not a valid problem.
    """
    lines = [_Line(line.strip(), number) for number, line in enumerate(split_lines(text), start=1) if line.strip()]
    starts = {line.text.upper(): place for place, line in reversed(list(enumerate(lines)))}
    for title in ("VEHICLE", "CUSTOMER"):
        if title not in starts:
            raise FormatError.about(title, f"there is no line {title}.", _REMEDY)
    name = lines[0].text if starts["VEHICLE"] > 0 else Path(source).stem
    count, capacity, fleet_line = _read_vehicles(lines, starts["VEHICLE"] + 1)
    rows = _read_rows(lines, starts["CUSTOMER"] + 1)

    def column(index: int) -> list[float]:
        return [parse_float(row.text.split()[index], _at(row, index)) for row in rows]

    def place(where: Where) -> Where:
        fields = {"demands": 3, "windows": 5, "service": 6}
        if where.field in fields:
            return replace(_at(rows[where.customer or 0], fields[where.field]), customer=where.customer)
        return replace(where, line=fleet_line) if where.field in ("capacity", "count") else where

    demands = [parse_decimal(row.text.split()[3], _at(row, 3)) for row in rows]
    with placed(place):
        quantities = scale_quantities(demands, parse_decimal(capacity, Where(line=fleet_line, field="CAPACITY")))
        return Instance(
            coordinates=np.array([column(1), column(2)]).T,
            demands=np.array(quantities.demands),
            capacity=quantities.capacity,
            name=one_line(name),
            demand_scale=quantities.scale,
            vehicles=(VehicleType(quantities.capacity, count=count),),
            windows=np.array([column(4), column(5)]).T,
            service=np.array(column(6)),
            speed=1.0,
        )


def format_solomon(instance: Instance) -> str:
    """Write an instance with time windows.

    Raises
    ------
    UnsupportedError
        If it has something that this format cannot hold.
    """
    _refuse_what_cannot_be_stored(instance)
    return "\n".join([*_lines_of(instance), ""])


def _lines_of(instance: Instance) -> Iterator[str]:
    assert instance.coordinates is not None and instance.windows is not None
    service = np.zeros(instance.size + 1) if instance.service is None else instance.service
    yield from (instance.name or "instance", "", "VEHICLE", "NUMBER     CAPACITY")
    yield f"{instance.fleet[0].count:>4} {format_load(instance, instance.capacity):>12}"
    yield from ("", "CUSTOMER", "   ".join(_COLUMNS), "")
    rows = zip(
        instance.coordinates.tolist(),
        instance.demands.tolist(),
        instance.windows.tolist(),
        service.tolist(),
        strict=True,
    )
    for node, (position, demand, window, seconds) in enumerate(rows):
        cells = [*map(format_number, position), format_load(instance, demand)]
        yield " ".join(f"{cell:>10}" for cell in [str(node), *cells, *map(format_number, (*window, seconds))])


def _refuse_what_cannot_be_stored(instance: Instance) -> None:
    kind = instance.fleet[0]
    windows = instance.windows
    obstacles = {
        "vehicles": (
            "vehicles other than a number of equal ones that return to the depot",
            len(instance.fleet) > 1 or kind.count is None or replace(kind, count=None) != VehicleType(kind.capacity),
        ),
        "windows": ("customers without a latest time", windows is None or not math.isfinite(windows.max())),
        "customer_names": ("customer names", instance.customer_names is not None),
        "distances": ("a distance matrix", instance.distances is not None),
        "durations": ("a matrix of durations", instance.durations is not None),
        "speed": ("times other than distances (a speed of 1)", instance.speed != 1),
        "metric": ("latitudes and longitudes", instance.metric != "euclidean"),
        "rounding": ("rounded distances", instance.rounding != "none"),
    }
    refuse_what_cannot_be_stored("a .txt file of Solomon's format", obstacles)


def _read_vehicles(lines: list[_Line], place: int) -> tuple[int, str, int]:
    """Read the number of vehicles, their capacity, and the line of both."""
    if place < len(lines) and re.fullmatch(r"NUMBER\s+CAPACITY", lines[place].text, re.IGNORECASE):
        place += 1
    line = lines[place] if place < len(lines) else lines[-1]
    cells = line.text.split()
    if len(cells) != 2:
        raise FormatError(
            f"found {shorten(line.text)}, expected a number of vehicles and a capacity.",
            where=Where(line=line.number, field="VEHICLE"),
            remedy=_REMEDY,
        )
    where = Where(line=line.number, field="NUMBER")
    count = parse_whole(cells[0], where)
    if count < 1:
        raise FormatError(f"there are {count} vehicles.", where=where, remedy="Give at least one.")
    return count, cells[1], line.number


def _read_rows(lines: list[_Line], place: int) -> list[_Line]:
    """Read the lines of the depot and the customers, in order."""
    if place < len(lines) and lines[place].text[0].isalpha():
        if not _HEADER.fullmatch(lines[place].text.upper()):
            raise FormatError(
                f"the columns are {shorten(lines[place].text)}.",
                where=Where(line=lines[place].number, field="CUSTOMER"),
                remedy=f"They are {', '.join(_COLUMNS)}.",
            )
        place += 1
    rows = lines[place:]
    for node, row in enumerate(rows):
        cells = row.text.split()
        if len(cells) != len(_COLUMNS):
            raise FormatError(
                f"the row has {len(cells)} values instead of {len(_COLUMNS)}.",
                where=Where(line=row.number, field="CUSTOMER"),
                remedy=f"They are {', '.join(_COLUMNS)}.",
            )
        if parse_whole(cells[0], _at(row, 0)) != node:
            raise FormatError(
                f"this is node {cells[0]}, but {node} is expected.",
                where=_at(row, 0),
                remedy="The depot is 0; customers count from 1 without gaps.",
            )
    if len(rows) < 2:
        raise FormatError.about("CUSTOMER", "there is no customer.", "Give the depot and at least one customer.")
    return rows


def _at(row: _Line, column: int) -> Where:
    return Where(line=row.number, field=_COLUMNS[column])
