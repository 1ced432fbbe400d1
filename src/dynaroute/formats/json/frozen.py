"""What a plan before fixes, in JSON: beginnings of routes, locked legs, and vehicles that customers are used to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dynaroute.base.decimals import plain_number
from dynaroute.base.errors import InstanceError
from dynaroute.formats.json.document import join_path, read_number, require_list
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.places import DEPOT, Place


def name_stops(names: Sequence[str] | None, count: int, places: Sequence[Place], depot: str) -> dict[str, int]:
    """The node of each name that a stop can have; a customer's goes before a place's."""
    customers = names or [str(number) for number in range(1, count + 1)]
    found = {name: number for number, name in enumerate(customers, start=1)}
    others = [(DEPOT, 0), (depot, 0), *((place.name, node) for node, place in enumerate(places, start=count + 1))]
    return dict(others) | found


def read_stops(value: object, path: str, stops: Mapping[str, int]) -> tuple[int, ...]:
    """Read a list of ids.

    Parameters
    ----------
    value, path
        The list, and where it is.
    stops
        The node of each id.
    """
    nodes = []
    for index, name in enumerate(require_list(value, path)):
        if isinstance(name, bool) or not isinstance(name, str | int) or str(name) not in stops:
            message = f"{name!r} is the id of no customer."
            raise InstanceError.about(f"{path}[{index}]", message, "Give an id of this file.")
        nodes.append(stops[str(name)])
    return tuple(nodes)


def read_frozen(
    document: Mapping[str, object],
    nodes: Sequence[Mapping[str, object]],
    paths: Sequence[str],
    vehicles: Sequence[VehicleType],
    stops: Mapping[str, int],
) -> dict[str, Any]:
    """Read the fields of an instance about locked legs and usual vehicles, without those that are not there."""
    fields: dict[str, Any] = {}
    if document.get("locked") is not None:
        legs = require_list(document["locked"], "locked")
        fields["locked"] = tuple(read_stops(leg, f"locked[{index}]", stops) for index, leg in enumerate(legs))
    if document.get("change_cost") is not None:
        fields["change_cost"] = float(read_number(document["change_cost"], "change_cost"))
    if any(node.get("usual_vehicle") is not None for node in nodes):
        types = {kind.name: index for index, kind in enumerate(vehicles) if kind.name}
        usual = [
            _read_type(node.get("usual_vehicle"), join_path(path, "usual_vehicle"), types)
            for node, path in zip(nodes, paths, strict=True)
        ]
        fields["usual_vehicles"] = usual
    return fields


def _read_type(value: object, path: str, types: Mapping[str, int]) -> int:
    if value is None:
        return -1
    if not isinstance(value, str) or value not in types:
        known = ", ".join(types) or "there is none with a name"
        message = f"there is no vehicle {value!r}."
        raise InstanceError.about(path, message, f"Give the name of a vehicle: {known}.")
    return types[value]


def frozen_to_json(instance: Instance, document: dict[str, object], nodes: Sequence[dict[str, object]]) -> None:
    """Add locked legs and usual vehicles to an instance's document, and to the objects of its nodes."""
    if instance.locked:
        document["locked"] = [list(map(instance.customer_name, leg)) for leg in instance.locked]
    if instance.change_cost:
        document["change_cost"] = plain_number(instance.change_cost)
    if instance.usual_vehicles is not None:
        for item, kind in zip(nodes, instance.usual_vehicles.tolist(), strict=True):
            if kind >= 0:
                item["usual_vehicle"] = instance.fleet[kind].name
