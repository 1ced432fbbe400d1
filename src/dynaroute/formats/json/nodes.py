"""The depot and the customers of an instance in JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import FormatError, InstanceError, Where
from dynaroute.formats.json.document import join_path, read_number, require, require_list, require_object
from dynaroute.formats.json.requests import refuse_keys
from dynaroute.formats.json.rules import RULE_KEYS
from dynaroute.formats.numbers import refuse_off_globe, refuse_unmeasurable
from dynaroute.formats.text import one_line
from dynaroute.problem.details import Details
from dynaroute.problem.lengths import LARGEST_DEGREES, LONGEST_LENGTH

Axes = tuple[Literal["x"], Literal["y"]] | tuple[Literal["lat"], Literal["lon"]]

PLANE: Axes = ("x", "y")
GLOBE: Axes = ("lat", "lon")
NODE_KEYS = frozenset({"id", "x", "y", "lat", "lon", "demand", "service", "window", "details"}) | RULE_KEYS


def name_path(node: int) -> str:
    """Name the path of a node in the document."""
    return "depot" if node == 0 else f"customers[{node - 1}]"


def read_nodes(document: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Read the depot and the customers; with distances, the depot may be absent."""
    customers = require_list(require(document, "customers", ""), "customers")
    if not customers:
        raise InstanceError.about("customers", "there is no customer.", "Give at least one.")
    is_left_out = document.get("depot") is None and document.get("distances") is not None
    depot = {} if is_left_out else require(document, "depot", "")
    nodes = [require_object(value, name_path(index)) for index, value in enumerate([depot, *customers])]
    if any(node.keys() - NODE_KEYS for node in nodes):
        refuse_keys(nodes, NODE_KEYS, "stops", name_path)
    return nodes


def choose_axes(nodes: Sequence[Mapping[str, object]], *, may_lack: bool) -> Axes | None:
    """Find out how all nodes give their positions, going by the first."""
    given = {key for key in (*PLANE, *GLOBE) if nodes[0].get(key) is not None}
    axes: Axes | None = GLOBE if given and given <= set(GLOBE) else PLANE
    if not given and may_lack:
        axes = None
    others = {*PLANE, *GLOBE} - set(axes or ())
    for index, node in enumerate(nodes):
        mixed = [key for key in node.keys() & others if node[key] is not None]
        if mixed:
            raise FormatError.about(
                join_path(name_path(index), min(mixed)),
                f"{min(mixed)} does not match the other positions.",
                "Give x and y for all nodes, or lat and lon for all. With distances, positions are optional.",
            )
    return axes


def read_demands(nodes: Sequence[Mapping[str, object]]) -> list[Decimal]:
    """Read the demands; the depot's is 0 if it has none."""
    depot = nodes[0].get("demand")
    return [
        Decimal(0) if depot is None else read_number(depot, "depot.demand"),
        *(_read_value(node, "demand", index) for index, node in enumerate(nodes[1:], start=1)),
    ]


def _read_value(node: Mapping[str, object], key: str, index: int) -> Decimal:
    value = node.get(key)
    if type(value) is int:
        return Decimal(value)  # before building its path: a set has millions of numbers
    path = name_path(index)
    return read_number(require(node, key, path), join_path(path, key))


def _read_axis(node: Mapping[str, object], axis: str, index: int) -> float:
    value = node.get(axis)
    return float(value) if isinstance(value, Decimal) else float(_read_value(node, axis, index))


def read_coordinates(nodes: Sequence[Mapping[str, object]], axes: Axes) -> NDArray[np.float64]:
    """Read the positions, which must be on the plane or the globe that these axes belong to."""
    coordinates = np.array([[_read_axis(node, axis, index) for axis in axes] for index, node in enumerate(nodes)])
    limits = [LARGEST_DEGREES.get(axis, LONGEST_LENGTH) for axis in axes]
    for index, column in np.argwhere(~(np.abs(coordinates) <= limits)):
        where = Where(field=join_path(name_path(index), axes[column]), customer=int(index) or None)
        refuse_off_globe(refuse_unmeasurable(float(coordinates[index, column]), where), axes[column], where)
    return coordinates


def read_ids(nodes: Sequence[Mapping[str, object]]) -> tuple[str, ...] | None:
    """Read the customers' names, if any; a customer without one is named by its number."""
    if all(node.get("id") is None for node in nodes[1:]):
        return None
    names = []
    for index, node in enumerate(nodes[1:], start=1):
        value = node.get("id")
        if value is None:
            value = index
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise FormatError.about(
                f"{name_path(index)}.id", "the id is neither a string nor a whole number.", "Write a string."
            )
        names.append(one_line(str(value)))
    return tuple(names)


def read_depot_name(value: object) -> str:
    """The name of the depot; a number is not a useful name."""
    return one_line(value) if isinstance(value, str) and not value.strip().isdigit() else ""


def read_details(nodes: Sequence[Mapping[str, object]]) -> Details | None:
    """Read the extra details of nodes, in order of first appearance."""
    if all(node.get("details") is None for node in nodes):  # a fast path for sets with millions of nodes
        return None
    given = [_read_texts(node, f"{name_path(index)}.details") for index, node in enumerate(nodes)]
    columns = tuple(dict.fromkeys(column for texts in given for column in texts))
    rows = tuple(tuple(texts.get(column, "") for column in columns) for texts in given)
    return Details(columns, rows) if columns else None


def _read_texts(node: Mapping[str, object], path: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    for column, text in require_object(node.get("details") or {}, path).items():
        if not isinstance(text, str):
            raise FormatError.about(f"{path}.{column}", "this is not a string.", "Write it in quotes.")
        texts[column] = text
    return texts
