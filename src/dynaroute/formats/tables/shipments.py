"""Shipments in a table: two rows with the same word in a column, of which one is the pickup by its kind."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import InstanceError
from dynaroute.formats.tables.cells.amounts import is_blank, tidy
from dynaroute.formats.tables.headers import Column
from dynaroute.formats.tables.table import Table
from dynaroute.formats.tables.time_cells import read_duration_cell
from dynaroute.formats.tables.words import STOPS, simplify

_GIVE = (
    "pickup, pick up, p, pu, collect, collection, load, abholung, abholen, beladen, collecte, enlevement, ramassage,"
    " chargement, recogida, recoger, recoleccion"
)
_TAKE = (
    "delivery, deliver, d, drop, drop off, unload, lieferung, liefern, zustellung, zustellen, entladen, livraison,"
    " livrer, dechargement, entrega, entregar"
)
_GIVE_WORDS, _TAKE_WORDS = frozenset(_GIVE.split(", ")), frozenset(_TAKE.split(", "))
_REMEDY = "Write pickup in one of the two rows of each shipment, and delivery in the other."


@dataclass(frozen=True)
class Shipments:
    """Which rows belong together.

    Attributes
    ----------
    partners
        For each node the other stop of its shipment, or 0.
    collects
        Whether a column says that the node is the pickup.
    max_ride
        Longest ride of each pickup, in seconds; None without such a column.
    """

    partners: NDArray[np.intp]
    collects: NDArray[np.bool_]
    max_ride: NDArray[np.float64] | None = None

    def move_demands(
        self, demands: NDArray[np.int64], pickups: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
        """What is delivered and what is collected at each node: a pickup's demand is collected there."""
        moved = np.where(self.collects.reshape(-1, *[1] * (demands.ndim - 1)), demands, 0)
        collected = moved if pickups is None else pickups + moved
        return demands - moved, collected if collected.any() else None

    @property
    def fields(self) -> dict[str, Any]:
        """Fields of an instance."""
        return {"partners": self.partners} | ({} if self.max_ride is None else {"max_ride": self.max_ride})


def find_kinds(table: Table) -> Column | None:
    """Find the column that tells pickups from deliveries, if the table has shipments."""
    header = table.header
    if "shipment" not in header.columns:
        return None
    named = [
        column
        for column in header.others
        if (meaning := STOPS.look_up(column.heading)) is not None and meaning.role == "kind"
    ]
    return header.columns.get("kind") or next(iter(named), None)


def read_shipments(table: Table) -> Shipments | None:
    """Read which rows are shipments; None if there is no such column, or it is empty.

    Raises
    ------
    DynarouteError
        If a shipment has not two rows, or these are not a pickup and a delivery.
    """
    column, kinds, count = table.header.columns.get("shipment"), find_kinds(table), len(table.rows)
    partners, collects = np.zeros(count, dtype=np.intp), np.zeros(count, dtype=np.bool_)
    for label, nodes in _list_rows(table, column).items():
        assert column is not None
        where = table.where(table.rows[nodes[-1]], column)
        if len(nodes) != 2:
            message = f"the shipment {label} has {len(nodes)} row{'s' * (len(nodes) > 1)}, not two."
            raise InstanceError(message, where=where, remedy="A shipment is a pickup and a delivery.")
        partners[nodes] = nodes[::-1]
        if kinds is not None:
            collects[_find_pickup(table, kinds, nodes)] = True
    _refuse_kinds_of_others(table, kinds, partners)
    rides = _read_rides(table, partners, collects)
    return Shipments(partners, collects, rides) if partners.any() else None


def _list_rows(table: Table, column: Column | None) -> dict[str, list[int]]:
    """List the nodes of each shipment."""
    rows_of: dict[str, list[int]] = {}
    for node, row in enumerate(table.rows if column is not None else ()):
        label = "" if column is None else tidy(row.text(column.index))
        if node > 0 and not is_blank(label):
            rows_of.setdefault(label, []).append(node)
    return rows_of


def _find_pickup(table: Table, kinds: Column, nodes: list[int]) -> int:
    words = [simplify(table.rows[node].text(kinds.index)) for node in nodes]
    givers = [node for node, word in zip(nodes, words, strict=True) if word in _GIVE_WORDS]
    takers = [node for node, word in zip(nodes, words, strict=True) if word in _TAKE_WORDS]
    if len(givers) != 1 or len(takers) != 1:
        wrong = next((node for node in nodes if node not in givers[:1] and node not in takers[:1]), nodes[1])
        where = table.where(table.rows[wrong], kinds)
        message = f"the kind {table.rows[wrong].text(kinds.index)!r} does not make a pickup and a delivery of two rows."
        raise InstanceError(message, where=where, remedy=_REMEDY)
    return givers[0]


def _refuse_kinds_of_others(table: Table, kinds: Column | None, partners: NDArray[np.intp]) -> None:
    """Raise if a row without a shipment is called a pickup."""
    for node, row in enumerate(table.rows):
        if kinds is not None and not partners[node] and simplify(row.text(kinds.index)) in _GIVE_WORDS:
            message, where = "this pickup belongs to no shipment.", table.where(row, kinds)
            raise InstanceError(message, where=where, remedy="Name its shipment, or give its amount as pickup.")


def _read_rides(table: Table, partners: NDArray[np.intp], collects: NDArray[np.bool_]) -> NDArray[np.float64] | None:
    """Longest rides, each of which may stand in either row of its shipment."""
    column = table.header.columns.get("max_ride")
    if column is None:
        return None
    rides = np.full(len(partners), math.inf)
    for node, row in enumerate(table.rows):
        entry = table.entry(row, column)
        if entry.kind == "text" and is_blank(entry.text):
            continue
        if not partners[node]:
            raise InstanceError("only a shipment has a longest ride.", where=entry.where, remedy="Leave it blank.")
        giver = node if collects[node] or not collects[partners[node]] else int(partners[node])
        rides[giver] = min(rides[giver], read_duration_cell(entry, column))
    return rides
