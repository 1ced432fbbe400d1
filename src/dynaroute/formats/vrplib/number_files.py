"""Instances that are numbers only (.txt): shipments by Li and Lim, several depots by Cordeau. Time is distance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np

from dynaroute.base.errors import FormatError, InstanceError, UnsupportedError, Where
from dynaroute.formats.numbers import is_number, parse_decimal, parse_float, parse_whole, scale_quantities
from dynaroute.formats.text import split_lines
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.places import DEPOT, Place

_CORDEAU_KINDS = (2, 6)  # several depots, without and with time windows
_REMEDY = "Was the file cut off or edited by hand?"


@dataclass(frozen=True)
class _Row:
    """A line of numbers."""

    cells: list[str]
    line: int

    def whole(self, column: int, field: str) -> int:
        return parse_whole(self._cell(column, field), Where(line=self.line, field=field))

    def number(self, column: int, field: str) -> float:
        return parse_float(self._cell(column, field), Where(line=self.line, field=field))

    def exact(self, column: int, field: str) -> Decimal:
        return parse_decimal(self._cell(column, field), Where(line=self.line, field=field))

    def _cell(self, column: int, field: str) -> str:
        if column >= len(self.cells):
            message = f"the row has only {len(self.cells)} values."
            raise FormatError(message, where=Where(line=self.line, field=field), remedy=_REMEDY)
        return self.cells[column]


def find_number_file(text: str) -> Callable[[str], Instance] | None:
    """Find out whether text is in one of these formats, by its first two lines; the answer reads it, given its path."""
    rows = [_Row(line.split(), number) for number, line in enumerate(split_lines(text), start=1) if line.strip()]
    if len(rows) < 2 or not all(map(is_number, [*rows[0].cells, *rows[1].cells])):
        return None
    sizes = len(rows[0].cells), len(rows[1].cells)
    if sizes == (3, 9):
        return lambda source: _read_li_lim(rows, source)
    if sizes == (4, 2):
        return lambda source: _read_cordeau(rows, source)
    return None


def _read_li_lim(rows: Sequence[_Row], source: str) -> Instance:
    """Read pairs of pickup and delivery: number, position, amount, window, service, and the pickup or delivery."""
    stops = rows[1:]
    for node, row in enumerate(stops):
        if row.whole(0, "node") != node:
            where = Where(line=row.line, field="node")
            raise FormatError(f"this is node {row.cells[0]}, but {node} is expected.", where=where, remedy=_REMEDY)
    amounts = [row.exact(3, "demand") for row in stops]
    names = [f"node {row.cells[0]}" for row in stops[1:]]
    quantities = scale_quantities([abs(amount) for amount in amounts], rows[0].exact(1, "capacity"), names)
    whole, is_collected = np.array(quantities.demands), np.array([amount > 0 for amount in amounts])
    partners = np.array([max(row.whole(7, "pickup"), row.whole(8, "delivery")) for row in stops])
    for node, row in enumerate(stops):
        partner = int(partners[node])
        if not 0 <= partner < len(stops) or (node > 0 and (partner == 0 or partners[partner] != node)):
            where = Where(line=row.line, field="delivery" if amounts[node] > 0 else "pickup", customer=node)
            raise InstanceError(f"node {node} has no partner, or a wrong one.", where=where, remedy=_REMEDY)
    return Instance(
        coordinates=np.array([[row.number(1, "x"), row.number(2, "y")] for row in stops]),
        demands=np.where(is_collected, 0, whole),
        pickups=np.where(is_collected, whole, 0),
        partners=partners,
        capacity=quantities.capacity,
        demand_scale=quantities.scale,
        name=Path(source).stem,
        vehicles=(VehicleType(quantities.capacity, count=rows[0].whole(0, "vehicles")),),
        windows=np.array([[row.number(4, "earliest"), row.number(5, "latest")] for row in stops]),
        service=np.array([row.number(6, "service") for row in stops]),
        speed=1.0,
    )


def _read_cordeau(rows: Sequence[_Row], source: str) -> Instance:
    """Read several depots: the kind of problem, vehicles a depot, customers and depots; then limits; then nodes."""
    kind, count, customers, depots = (rows[0].whole(column, "header") for column in range(4))
    where = Where(line=rows[0].line, field="header")
    if kind not in _CORDEAU_KINDS:
        message = f"the kind of problem is {kind}, but only several depots (2, or 6 with time windows) are supported."
        raise UnsupportedError(message, where=where, remedy="Write a .json file.")
    if min(count, customers, depots) < 1 or len(rows) != 1 + depots + customers + depots:
        message = f"there are {len(rows) - 1} lines, not {2 * depots} for depots and {customers} for customers."
        raise FormatError(message, where=where, remedy=_REMEDY)
    limits, stops, ends = (
        rows[1 : 1 + depots],
        rows[1 + depots : 1 + depots + customers],
        rows[1 + depots + customers :],
    )
    nodes = [ends[0], *stops]
    for row in stops:
        if row.whole(5, "frequency") > 1:
            at = Where(line=row.line, field="frequency")
            raise UnsupportedError("a customer is visited several times.", where=at, remedy="Write a .json file.")
    names = [DEPOT, *(f"depot {number}" for number in range(2, depots + 1))]
    capacity = max(row.exact(1, "capacity") for row in limits)
    demands = [Decimal(0), *(row.exact(4, "demand") for row in stops)]
    quantities = scale_quantities(demands, capacity, [row.cells[0] for row in stops])
    vehicles = tuple(
        VehicleType(
            int(row.exact(1, "capacity") * quantities.scale),
            name=name,
            count=count,
            max_duration=row.number(0, "duration") or None,
            start=name,
        )
        for name, row in zip(names, limits, strict=True)
    )
    has_windows = kind == 6

    def window(row: _Row) -> tuple[float, float]:
        return row.number(len(row.cells) - 2, "earliest"), row.number(len(row.cells) - 1, "latest")

    return Instance(
        coordinates=np.array([[row.number(1, "x"), row.number(2, "y")] for row in nodes]),
        demands=np.array(quantities.demands),
        capacity=quantities.capacity,
        demand_scale=quantities.scale,
        name=Path(source).stem,
        places=tuple(
            Place(name, row.number(1, "x"), row.number(2, "y"), window(row) if has_windows else None)
            for name, row in zip(names[1:], ends[1:], strict=True)
        ),
        vehicles=vehicles,
        service=np.array([0.0, *(row.number(3, "service") for row in stops)]),
        windows=np.array(list(map(window, nodes))) if has_windows else None,
        speed=1.0,
    )
