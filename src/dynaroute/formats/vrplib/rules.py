"""Depots, costs, pickups, prizes, releases and reloads in a CVRPLIB file, in the sections that PyVRP reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import FormatError, InstanceError, UnsupportedError, Where
from dynaroute.formats.numbers import parse_decimal, parse_float, parse_whole
from dynaroute.formats.vrplib.outline import Outline, SectionLine, read_rows
from dynaroute.problem.instance import Instance
from dynaroute.problem.places import DEPOT, Place

_COSTS = {"fixed_cost": "VEHICLES_FIXED_COST_SECTION", "distance_cost": "VEHICLES_UNIT_DISTANCE_COST_SECTION"}
_DEPOTS, _RELOADS, _MOST_RELOADS, _ALLOWED = (
    "VEHICLES_DEPOT_SECTION",
    "VEHICLES_RELOAD_DEPOT_SECTION",
    "VEHICLES_MAX_RELOADS_SECTION",
    "VEHICLES_ALLOWED_CLIENTS_SECTION",
)
RULE_SECTIONS = frozenset(
    {
        "BACKHAUL_SECTION",
        "PRIZE_SECTION",
        "RELEASE_TIME_SECTION",
        *_COSTS.values(),
        _DEPOTS,
        _RELOADS,
        _MOST_RELOADS,
        _ALLOWED,
    }
)


@dataclass(frozen=True)
class Depots:
    """The depots of a file are its first nodes; of an instance, the first is node 0 and the others come last.

    Attributes
    ----------
    count
        How many there are.
    dimension
        Number of nodes of the file.
    """

    count: int
    dimension: int

    @property
    def order(self) -> list[int]:
        """Rows of the file, from 0, in the order of an instance's nodes."""
        return [0, *range(self.count, self.dimension), *range(1, self.count)]

    @property
    def stops(self) -> list[int]:
        """Rows of the file of the first depot and the customers."""
        return [0, *range(self.count, self.dimension)]

    def name(self, node: int) -> str:
        """What vehicles call a depot, a node of the file from 1."""
        return DEPOT if node == 1 else f"depot {node}"

    def make_places(
        self, windows: NDArray[np.float64] | None, service: NDArray[np.float64] | None
    ) -> tuple[Place, ...]:
        """Make places of the depots after the first, whose positions the coordinates hold."""
        return tuple(
            Place(
                self.name(row + 1),
                window=None if windows is None else (float(windows[row, 0]), float(windows[row, 1])),
                loading=0.0 if service is None else float(service[row]),
            )
            for row in range(1, self.count)
        )


def read_depots(outline: Outline, dimension: int) -> Depots:
    """Read how many depots there are; they must be the first nodes."""
    section = outline.sections.get("DEPOT_SECTION")
    if section is None:
        if outline.has_end:
            return Depots(1, dimension)  # by convention it is node 1
        raise FormatError.about(
            "DEPOT_SECTION",
            "the file ends without DEPOT_SECTION or EOF, so it seems cut off.",
            "Get the complete file or, if it is complete, add the line EOF.",
        )
    tokens = [(token, row.line) for row in section.rows for token in row.tokens]
    depots = [(parse_whole(token, Where(line=line, field="DEPOT_SECTION")), line) for token, line in tokens]
    while depots and depots[-1][0] == -1:
        depots.pop()
    where = Where(line=depots[0][1] if depots else section.line, field="DEPOT_SECTION")
    if not depots:
        raise FormatError("the depot is missing.", where=where, remedy="List node 1, then -1.")
    for depot, line in depots:
        if not 1 <= depot <= dimension:
            raise FormatError(
                f"there is no node {depot}.", where=replace(where, line=line), remedy="List node 1, then -1."
            )
    if len(depots) == 1 and depots[0][0] != 1:
        raise UnsupportedError(
            f"the depot is node {depots[0][0]}.", where=where, remedy="Number the nodes so that the depot is node 1."
        )
    if [depot for depot, _ in depots] != list(range(1, len(depots) + 1)):
        message = f"the {len(depots)} depots are not the first nodes."
        raise UnsupportedError(message, where=where, remedy="Number the nodes so that the depots come first.")
    if len(depots) == dimension:
        raise InstanceError("there is no customer.", where=where, remedy="Give at least one customer.")
    return Depots(len(depots), dimension)


def refuse_unused_depots(outline: Outline, depots: Depots) -> None:
    """Raise if no section says which vehicles use the further depots."""
    if depots.count > 1 and outline.sections.keys().isdisjoint((_DEPOTS, _RELOADS)):
        raise UnsupportedError(
            f"there are {depots.count} depots, but nothing says which vehicles start where.",
            where=Where(line=outline.sections["DEPOT_SECTION"].rows[0].line, field="DEPOT_SECTION"),
            remedy=f"Add VEHICLES and a section {_DEPOTS} with a vehicle and its depot in each row.",
        )


def read_amount_rows(outline: Outline, name: str, depots: Depots) -> NDArray[np.float64] | None:
    """Read a section with one number of 0 or more for each node; rows of the first depot and the customers."""
    if name not in outline.sections:
        return None
    rows = read_rows(outline, name, ("node", "value"), depots.dimension)
    values = [parse_float(row.tokens[1], Where(line=row.line, field=name)) for row in rows]
    refuse_negative(rows, name)
    return np.array(values)[depots.stops]


def read_vehicle_rules(outline: Outline, count: int | None, depots: Depots) -> list[dict[str, Any]]:
    """Read the fields of each vehicle's type that sections give, a row per vehicle; empty without such a section."""
    names = [
        name for name in (*_COSTS.values(), _DEPOTS, _RELOADS, _MOST_RELOADS, _ALLOWED) if name in outline.sections
    ]
    if not names:
        return []
    if count is None:
        raise FormatError(
            "the section has one row per vehicle, but VEHICLES is missing.",
            where=Where(line=outline.sections[names[0]].line, field=names[0]),
            remedy="Add a line 'VEHICLES : 5'.",
        )
    given: list[dict[str, Any]] = [{} for _ in range(count)]
    for key, name in _COSTS.items():
        if name in outline.sections:
            rows = read_rows(outline, name, ("vehicle", "value"), count)
            values = [float(parse_decimal(row.tokens[1], Where(line=row.line, field=name))) for row in rows]
            refuse_negative(rows, name)
            for vehicle, value in zip(given, values, strict=True):
                vehicle[key] = value
    if _DEPOTS in outline.sections:
        for vehicle, row in zip(given, read_rows(outline, _DEPOTS, ("vehicle", "depot"), count), strict=True):
            vehicle["start"] = depots.name(_read_depot(row, row.tokens[1], _DEPOTS, depots))
    for vehicle, (row, nodes) in zip(given, _read_lists(outline, _RELOADS, count), strict=False):
        vehicle["reload"] = tuple(depots.name(_read_depot(row, node, _RELOADS, depots)) for node in nodes)
    if _MOST_RELOADS in outline.sections:
        for vehicle, row in zip(given, read_rows(outline, _MOST_RELOADS, ("vehicle", "number"), count), strict=True):
            most = parse_whole(row.tokens[1], Where(line=row.line, field=_MOST_RELOADS))
            refuse_negative([row], _MOST_RELOADS)
            vehicle["max_trips"] = most + 1
    for vehicle, (row, nodes) in zip(given, _read_lists(outline, _ALLOWED, count), strict=False):
        where = Where(line=row.line, field=_ALLOWED)
        vehicle["allowed"] = frozenset(parse_whole(node, where) - depots.count for node in nodes)
        if not all(1 <= customer <= depots.dimension - depots.count for customer in vehicle["allowed"]):
            raise FormatError("a node is no customer.", where=where, remedy="List the vehicle and nodes of customers.")
    return given


def name_allowed(instance: Instance, allowed: Sequence[frozenset[int]]) -> Instance:
    """Return the instance with vehicle types that serve only these customers; the types get names."""
    vehicles = tuple(replace(kind, name=f"{number}") for number, kind in enumerate(instance.fleet, start=1))
    names = tuple(
        frozenset(kind.name for kind, customers in zip(vehicles, allowed, strict=True) if customer in customers)
        for customer in range(1, instance.size + 1)
    )
    everybody = frozenset(kind.name for kind in vehicles)
    wanted = (frozenset[str](), *(frozenset[str]() if each == everybody else each for each in names))
    return replace(instance, vehicles=vehicles, vehicles_allowed=wanted)


def refuse_negative(rows: Sequence[SectionLine], name: str) -> None:
    """Raise if the second value of a row is below 0."""
    for row in rows:
        where = Where(line=row.line, field=name)
        if parse_float(row.tokens[1], where) < 0:
            raise InstanceError(f"the value is {row.tokens[1]}, below 0.", where=where, remedy="It must be 0 or more.")


def _read_lists(outline: Outline, name: str, count: int) -> list[tuple[SectionLine, list[str]]]:
    """Read a section whose rows are a vehicle and any number of nodes."""
    if name not in outline.sections:
        return []
    found: dict[int, tuple[SectionLine, list[str]]] = {}
    for row in outline.sections[name].rows:
        where = Where(line=row.line, field=name)
        vehicle = parse_whole(row.tokens[0], where)
        if not 1 <= vehicle <= count or vehicle in found:
            raise FormatError(
                f"vehicle {vehicle} is unknown or appears twice.", where=where, remedy="Give a row for each vehicle."
            )
        found[vehicle] = (row, row.tokens[1:])
    if len(found) < count:
        where = Where(line=outline.sections[name].line, field=name)
        raise FormatError(f"there are {len(found)} of {count} rows.", where=where, remedy="Was the file cut off?")
    return [found[vehicle] for vehicle in range(1, count + 1)]


def _read_depot(row: SectionLine, token: str, name: str, depots: Depots) -> int:
    where = Where(line=row.line, field=name)
    node = parse_whole(token, where)
    if not 1 <= node <= depots.count:
        raise FormatError(f"node {node} is no depot.", where=where, remedy=f"Depots are 1 to {depots.count}.")
    return node
