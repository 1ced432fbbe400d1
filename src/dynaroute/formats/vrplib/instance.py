"""CVRPLIB instance files (.vrp)."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import FormatError, InstanceError, UnsupportedError, Where, placed, warn_of_each
from dynaroute.base.vocabulary import Rounding
from dynaroute.formats.fleet_options import use_vehicles
from dynaroute.formats.numbers import parse_decimal, parse_float, parse_whole, scale_quantities
from dynaroute.formats.text import one_line, shorten
from dynaroute.formats.unsupported import UNSUPPORTED, is_unsupported
from dynaroute.formats.vrplib.fleet import FLEET_FIELDS, FLEET_SECTIONS, read_vrplib_fleet
from dynaroute.formats.vrplib.matrix import EDGE_WEIGHT_FORMATS, read_matrix
from dynaroute.formats.vrplib.outline import Outline, Section, outline_vrplib, read_rows, require_field, require_section
from dynaroute.formats.vrplib.rules import (
    RULE_SECTIONS,
    Depots,
    name_allowed,
    read_amount_rows,
    read_depots,
    refuse_negative,
    refuse_unused_depots,
)
from dynaroute.problem.instance import Instance

ROUNDINGS: dict[str, Rounding] = {"EUC_2D": "nearest", "CEIL_2D": "up", "EXACT_2D": "none"}
_TYPES = ("CVRP", "VRP", "ACVRP", "DCVRP", "VRPTW", "CVRPTW", "HFVRP", "MDVRP", "MDVRPTW", "PCVRPTW")
_MORE_TYPES = ("VRPB", "MTVRPTWR", "SDVRPTW", "")
_COORDINATE_TYPES = ("TWOD_COORDS", "NO_COORDS", "")
_FIELDS = frozenset(
    {
        "NAME",
        "TYPE",
        "DIMENSION",
        "CAPACITY",
        "EDGE_WEIGHT_TYPE",
        "EDGE_WEIGHT_FORMAT",
        "NODE_COORD_TYPE",
        "DISPLAY_DATA_TYPE",
        *FLEET_FIELDS,
    }
)
_SECTIONS = frozenset(
    {
        "NODE_COORD_SECTION",
        "DEMAND_SECTION",
        "DEPOT_SECTION",
        "EDGE_WEIGHT_SECTION",
        "DISPLAY_DATA_SECTION",
        *FLEET_SECTIONS,
        *RULE_SECTIONS,
    }
)


def parse_vrplib(text: str, *, source: str = "") -> Instance:
    """Read a CVRPLIB instance.

    Parameters
    ----------
    text
        The file's text.
    source
        The file's path, for warnings; its stem names an instance without a name.

    Returns
    -------
    Instance
        Node 1 of the file is the depot; node k is customer k - 1.

    Raises
    ------
    DynarouteError
        If the text does not follow the format, is not a valid problem, or asks for something unsupported.
    """
    outline = outline_vrplib(text)
    _refuse_requests(outline)
    dimension = _read_dimension(outline)
    kind = _read_edge_weight_type(outline)
    has_capacities = "CAPACITY_SECTION" in outline.sections
    capacity_line, capacity = (None, None) if has_capacities else _read_capacity(outline)
    demand_rows = read_rows(outline, "DEMAND_SECTION", ("node", "demand"), dimension)
    coordinates = _read_coordinates(outline, kind, dimension)
    distances = _read_distances(outline, dimension, source) if kind == "EXPLICIT" else None
    depots = read_depots(outline, dimension)
    refuse_unused_depots(outline, depots)
    fleet = read_vrplib_fleet(outline, depots, capacity)
    demands = [parse_decimal(row.tokens[1], Where(line=row.line, field="DEMAND_SECTION")) for row in demand_rows]

    def in_file(where: Where) -> Where:
        node = (where.customer or 0) + (depots.count - 1 if where.customer else 0)
        if where.field == "capacity":
            return replace(where, field="CAPACITY_SECTION" if has_capacities else "CAPACITY", line=capacity_line)
        if where.field == "demands":
            return replace(where, field="DEMAND_SECTION", line=demand_rows[node].line)
        if where.field == "pickups":
            rows = read_rows(outline, "BACKHAUL_SECTION", ("node", "amount"), dimension)
            return replace(where, field="BACKHAUL_SECTION", line=rows[node].line)
        return fleet.place(where, outline, node)

    prizes = read_amount_rows(outline, "PRIZE_SECTION", depots)
    with placed(in_file):
        largest = capacity if fleet.vehicles is None else fleet.vehicles.largest_capacity
        assert largest is not None  # from the field or the section of capacities
        pickups = _read_pickups(outline, dimension)
        names = [f"node {node}" for node in range(2, dimension + 1)]
        quantities = scale_quantities(
            [*demands, *pickups], largest, [*names, *(["the depot"] if pickups else ()), *names]
        )
        amounts = np.array(quantities.demands).reshape(-1, dimension)
        _refuse_demands_of_depots(amounts, depots, outline)
        instance = Instance(
            coordinates=None if coordinates is None else coordinates[depots.order],
            demands=amounts[0, depots.stops],
            pickups=amounts[1, depots.stops] if pickups else None,
            backhauls="strict" if pickups else "mixed",
            capacity=quantities.capacity,
            name=one_line(outline.fields["NAME"].value) if "NAME" in outline.fields else Path(source).stem,
            distances=None if distances is None else distances[np.ix_(depots.order, depots.order)],
            rounding=ROUNDINGS.get(kind, "none"),
            demand_scale=quantities.scale,
            service=None if fleet.service is None else fleet.service[depots.stops],
            windows=None if fleet.windows is None else fleet.windows[depots.stops],
            speed=fleet.speed,
            places=depots.make_places(fleet.windows, fleet.service),
            prizes=None if prizes is None else np.where(prizes > 0, prizes, np.inf),
            release=read_amount_rows(outline, "RELEASE_TIME_SECTION", depots),
        )
        if fleet.vehicles is not None:
            instance = use_vehicles(instance, fleet.vehicles)
        if fleet.allowed:
            instance = name_allowed(instance, fleet.allowed)
    unknown = sorted(outline.fields.keys() - _FIELDS)
    warn_of_each(source, unknown, lambda name: f"the field {name} is unknown and was ignored.")
    return instance


def _read_pickups(outline: Outline, dimension: int) -> list[Decimal]:
    """Read what is brought back, if anything; in such files all deliveries of a route come first."""
    name = "BACKHAUL_SECTION"
    if name not in outline.sections:
        return []
    rows = read_rows(outline, name, ("node", "amount"), dimension)
    refuse_negative(rows, name)
    return [parse_decimal(row.tokens[1], Where(line=row.line, field=name)) for row in rows]


def _refuse_demands_of_depots(amounts: NDArray[np.int64], depots: Depots, outline: Outline) -> None:
    for node in range(1, depots.count):
        if amounts[:, node].any():
            where = Where(line=outline.sections["DEMAND_SECTION"].line, field="DEMAND_SECTION")
            raise InstanceError(f"the depot {node + 1} has a demand.", where=where, remedy="Depots need 0.")


def _read_capacity(outline: Outline) -> tuple[int, Decimal]:
    field = require_field(outline, "CAPACITY", "Add a line 'CAPACITY : 100'.")
    return field.line, parse_decimal(field.value, Where(line=field.line, field="CAPACITY"))


def _refuse_requests(outline: Outline) -> None:
    for name, section in outline.sections.items():
        if name not in _SECTIONS:
            raise UnsupportedError(
                "the section is misspelt, or asks for something unsupported.",
                where=Where(line=section.line, field=name),
                remedy=f"Known sections are {', '.join(sorted(_SECTIONS))}.",
            )
    for name, field in outline.fields.items():
        where = Where(line=field.line, field=name)
        if name == "TYPE" and field.value.upper() not in (*_TYPES, *_MORE_TYPES):
            raise UnsupportedError(
                f"the problem type {shorten(field.value)} is not supported.", where=where, remedy="Use TYPE : CVRP."
            )
        if name == "NODE_COORD_TYPE" and field.value.upper() not in _COORDINATE_TYPES:
            raise UnsupportedError(
                f"the coordinate type {shorten(field.value)} is unknown.",
                where=where,
                remedy="Give two coordinates per node, TWOD_COORDS.",
            )
        if name not in _FIELDS and is_unsupported(name):
            raise UnsupportedError(
                f"the field asks for something unsupported: {UNSUPPORTED}.",
                where=where,
                remedy="Remove the field to solve without it.",
            )


def _read_dimension(outline: Outline) -> int:
    """Read DIMENSION, and check it against the rows before allocating memory."""
    field = require_field(outline, "DIMENSION", "Add a line 'DIMENSION : 101', counting the depot.")
    where = Where(line=field.line, field="DIMENSION")
    dimension = parse_whole(field.value, where)
    if dimension < 1:
        raise FormatError(f"DIMENSION is {dimension}.", where=where, remedy="It counts the depot and the customers.")
    counts = {
        _count_nodes(section)
        for name, section in outline.sections.items()
        if name in ("NODE_COORD_SECTION", "DEMAND_SECTION") and section.rows
    }
    # if sections disagree, or nodes are repeated, that is the fault to report
    if len(counts) == 1 and not counts & {dimension, None}:
        raise FormatError(
            f"DIMENSION is {dimension}, but {counts.pop()} nodes are listed.",
            where=where,
            remedy="It counts the depot and the customers. Was the file cut off?",
        )
    if dimension == 1:
        raise InstanceError("there is no customer.", where=where, remedy="Give the depot and at least one customer.")
    return dimension


def _count_nodes(section: Section) -> int | None:
    nodes = {row.tokens[0] for row in section.rows}
    return len(nodes) if len(nodes) == len(section.rows) else None


def _read_edge_weight_type(outline: Outline) -> str:
    known = (*ROUNDINGS, "EXPLICIT")
    field = require_field(outline, "EDGE_WEIGHT_TYPE", f"Add one of {', '.join(known)}.")
    kind = field.value.upper()
    if kind not in known:
        raise UnsupportedError(
            f"the distance type {shorten(field.value)} is unknown.",
            where=Where(line=field.line, field="EDGE_WEIGHT_TYPE"),
            remedy=f"Known types are {', '.join(known)}.",
        )
    layout = outline.fields.get("EDGE_WEIGHT_FORMAT")
    if kind != "EXPLICIT" and layout is not None and layout.value.upper() not in {*EDGE_WEIGHT_FORMATS, "FUNCTION", ""}:
        raise UnsupportedError(
            f"the format {shorten(layout.value)} is unknown.",
            where=Where(line=layout.line, field="EDGE_WEIGHT_FORMAT"),
            remedy=f"Remove the field: distances are {kind}.",
        )
    if kind != "EXPLICIT" and "EDGE_WEIGHT_SECTION" in outline.sections:
        raise FormatError(
            f"there is a matrix, but distances are {kind}.",
            where=Where(line=outline.sections["EDGE_WEIGHT_SECTION"].line, field="EDGE_WEIGHT_SECTION"),
            remedy="Write EDGE_WEIGHT_TYPE : EXPLICIT, or remove the section.",
        )
    return kind


def _read_coordinates(outline: Outline, kind: str, dimension: int) -> NDArray[np.float64] | None:
    places = {
        name: np.array(
            [
                [parse_float(token, Where(line=row.line, field=name)) for token in row.tokens[1:]]
                for row in read_rows(outline, name, ("node", "x", "y"), dimension)
            ]
        )
        for name in ("NODE_COORD_SECTION", "DISPLAY_DATA_SECTION")
        if name in outline.sections
    }
    if kind != "EXPLICIT":
        require_section(outline, "NODE_COORD_SECTION", f"Distances of type {kind} need coordinates.")
    return places.get("NODE_COORD_SECTION", places.get("DISPLAY_DATA_SECTION"))


def _read_distances(outline: Outline, dimension: int, source: str) -> NDArray[np.float64]:
    layout = require_field(outline, "EDGE_WEIGHT_FORMAT", "Add a line 'EDGE_WEIGHT_FORMAT : FULL_MATRIX'.")
    section = require_section(outline, "EDGE_WEIGHT_SECTION", "Distances of type EXPLICIT need a matrix.")
    return read_matrix(section, layout, dimension, source)
