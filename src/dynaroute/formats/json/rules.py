"""What customers ask for by rules, places, shipments and loads of several dimensions, in JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.decimals import plain_number, scale_to_integers
from dynaroute.base.errors import FormatError, InstanceError, Where, placed
from dynaroute.formats.json.document import join_path, read_number, require, require_list, require_object
from dynaroute.formats.json.times import read_seconds, read_window
from dynaroute.formats.numbers import refuse_unmeasurable
from dynaroute.problem.instance import Instance
from dynaroute.problem.places import Place

PER_HOUR = 3600.0  # prices in files are per hour, in instances per second
_WORDS = {"skills": "skills", "vehicles": "vehicles_allowed", "not_vehicles": "vehicles_forbidden"}
_LABELS = ("same_vehicle", "one_of", "not_together")
_NUMBERS: dict[str, tuple[str, float, float]] = {  # by key: the field, its value if absent, how many units make one
    "prize": ("prizes", math.inf, 1.0),
    "priority": ("priorities", math.nan, 1.0),
    "late_cost": ("late_costs", math.inf, PER_HOUR),
}
_TIMES = {"release": ("release", 0.0), "max_ride": ("max_ride", math.inf)}
RULE_KEYS = frozenset(
    {"pickup", "shipment", "optional", "windows", "usual_vehicle", "lifo", *_WORDS, *_LABELS, *_NUMBERS, *_TIMES}
)
SHIPMENT_KEYS = frozenset({"id", "pickup", "delivery", "demand", "prize", "priority", "max_ride", "lifo", "one_of"})
_OF_SHIPMENTS = (SHIPMENT_KEYS | {"shipment"}) - {"id"}  # which would not be asked of a single stop
_PLACE_KEYS = frozenset({"id", "name", "x", "y", "lat", "lon", "window", "loading"})


# Shipments


def expand_shipments(document: Mapping[str, object]) -> tuple[Mapping[str, object], Callable[[Where], Where]]:
    """Write every shipment as two customers behind the others, and translate their paths back."""
    if document.get("shipments") is None:
        return document, lambda where: where
    customers = require_list(document.get("customers") or [], "customers")
    first, stops = len(customers), []
    for index, value in enumerate(require_list(document["shipments"], "shipments")):
        path = f"shipments[{index}]"
        shipment = require_object(value, path)
        for key in sorted(shipment.keys() - SHIPMENT_KEYS):
            raise FormatError(
                f"a shipment has no {key}.", where=Where(field=f"{path}.{key}"), remedy="Give it to one of its stops."
            )
        label = _read_label(shipment.get("id"), f"{path}.id") or f"shipment {index + 1}"
        for key in ("pickup", "delivery"):
            stop = dict(require_object(require(shipment, key, path), f"{path}.{key}"))
            for name in sorted(_OF_SHIPMENTS & stop.keys()):
                message, where = f"a stop of a shipment has no {name} of its own.", Where(field=f"{path}.{key}.{name}")
                raise FormatError(message, where=where, remedy="Give it to the shipment, or leave it out.")
            stop |= {"shipment": label, "id": stop.get("id") or f"{label} {key}", "demand": 0}
            amount = "pickup" if key == "pickup" else "demand"
            stop[amount] = shipment.get("demand", 0)
            for name in ("priority", "prize", "max_ride", "lifo", "one_of"):
                if shipment.get(name) is not None and (key == "pickup" or name in ("priority", "one_of")):
                    stop[name] = shipment[name]
            if key == "delivery" and shipment.get("prize") is not None:
                stop["prize"] = 0  # the pickup's counts for both
            stops.append(stop)

    def place(where: Where) -> Where:
        for number in range(len(stops)):
            before = f"customers[{first + number}]"
            if where.field is not None and where.field.startswith(before):
                shipment = f"shipments[{number // 2}]"
                after = f"{shipment}.{('pickup', 'delivery')[number % 2]}"
                rest = where.field.removeprefix(before)
                in_shipment = rest in (".demand", ".pickup", ".prize", ".priority", ".max_ride", ".lifo", ".one_of")
                of_both = shipment + rest.replace("pickup", "demand")
                return replace(where, field=of_both if in_shipment else after + rest)
        return where

    return {**document, "customers": [*customers, *stops]}, place


# Amounts


@dataclass(frozen=True)
class LoadAmounts:
    """Demands and pickups in whole numbers, (n + 1,) or (n + 1, dimensions)."""

    demands: NDArray[np.int64]
    pickups: NDArray[np.int64] | None
    capacities: tuple[int, ...]
    scale: int


def read_dimensions(values: Iterable[object]) -> tuple[str, ...] | None:
    """Read the names of dimensions from capacities, the first of which names all; None if they are numbers."""
    given = next((value for value in values if isinstance(value, Mapping) and value), None)
    return None if given is None else tuple(map(str, given))


def read_amounts(value: object, path: str, dimensions: tuple[str, ...] | None) -> list[Decimal]:
    """Read an amount in every dimension: a number, or an object with a number by dimension."""
    if dimensions is None:
        return [_read_amount(value, path)]
    if not isinstance(value, Mapping):
        number = read_number(value, path)
        if number == 0:
            return [Decimal(0)] * len(dimensions)
        remedy = f'Write an object such as {{"{dimensions[0]}": {number}}}.'
        raise FormatError("the amount names no dimension.", where=Where(field=path), remedy=remedy)
    for key in value:
        if key not in dimensions:
            message = f"no vehicle has a capacity for {key}."
            remedy = f"Dimensions are {', '.join(dimensions)}."
            raise FormatError(message, where=Where(field=join_path(path, str(key))), remedy=remedy)
    return [_read_amount(value[key], join_path(path, key)) if key in value else Decimal(0) for key in dimensions]


def _read_amount(value: object, path: str) -> Decimal:
    number = read_number(value, path)
    with placed(lambda where: replace(where, field=path)):
        scale_to_integers([number])  # alone, so that a number beyond all scales is found where it is
    return number


def scale_amounts(
    nodes: Sequence[Mapping[str, object]],
    paths: Sequence[str],
    largest: Sequence[Decimal],
    dimensions: tuple[str, ...] | None,
) -> LoadAmounts:
    """Read the demands and pickups of all nodes."""
    tables: list[list[list[Decimal]]] = []
    for key in ("demand", "pickup"):
        rows = []
        for node, path in zip(nodes, paths, strict=True):
            value = node.get(key)
            if value is None and key == "demand" and path != "depot" and node.get("pickup") is None:
                value = require(node, key, path)
            rows.append(read_amounts(0 if value is None else value, join_path(path, key), dimensions))
        tables.append(rows)
    for rows, key in zip(tables, ("demand", "pickup"), strict=True):
        for row, path in zip(rows, paths, strict=True):
            if min(row) < 0:
                where = Where(field=join_path(path, key))
                raise InstanceError(f"the {key} is {min(row)}, below 0.", where=where, remedy="Give 0 or more.")
    count = len(largest)
    whole, scale = scale_to_integers([*largest, *(amount for rows in tables for row in rows for amount in row)])
    table = np.array(whole[count:], dtype=object).reshape(2, len(nodes), count)
    demands, pickups = (each[:, 0] if count == 1 else each for each in table)
    return LoadAmounts(demands, pickups if (pickups != 0).any() else None, tuple(whole[:count]), scale)


# Places


def read_places(document: Mapping[str, object], axes: tuple[str, str] | None) -> tuple[Place, ...]:
    """Read further depots and other places; `axes` are those of the depot."""
    keys = [key for key in ("places", "depots") if document.get(key) is not None]
    places = []
    for key in keys:
        for index, value in enumerate(require_list(document[key], key)):
            path = f"{key}[{index}]"
            item = require_object(value, path)
            for name in sorted(item.keys() - _PLACE_KEYS):
                remedy = f"Use {', '.join(sorted(_PLACE_KEYS))}."
                raise FormatError(f"a place has no {name}.", where=Where(field=f"{path}.{name}"), remedy=remedy)
            label = item.get("id") if item.get("id") is not None else require(item, "name", path)
            if isinstance(label, bool) or not isinstance(label, str | int):
                raise FormatError("the id is not a string.", where=Where(field=f"{path}.id"), remedy="Write a string.")
            position = [float(read_number(require(item, axis, path), f"{path}.{axis}")) for axis in axes or ()]
            x, y = position or (None, None)
            window = None if item.get("window") is None else read_window(item["window"], f"{path}.window")
            loading = read_seconds(item.get("loading"), f"{path}.loading", 0.0)
            with placed(partial(_place_in_place, path)):
                places.append(Place(str(label), x, y, window, loading))
    return tuple(places)


def _place_in_place(path: str, where: Where) -> Where:
    return replace(where, field=f"{path}.{where.field}" if where.field in _PLACE_KEYS else path)


# Wishes of customers


def uses_rules(nodes: Sequence[Mapping[str, object]]) -> bool:
    """Whether a customer asks for anything by a rule.

    Raises
    ------
    FormatError
        If the depot does.
    """
    for key in sorted(RULE_KEYS & nodes[0].keys()):
        if nodes[0][key] is not None:
            where = Where(field=f"depot.{key}")
            raise FormatError(f"a depot has no {key}.", where=where, remedy="Leave it out.")
    return any(not RULE_KEYS.isdisjoint(node) for node in nodes)


def read_wishes(nodes: Sequence[Mapping[str, object]], paths: Sequence[str]) -> dict[str, Any]:
    """Read the fields of an instance that customers' rules give; those that nobody asks for are left out."""
    fields: dict[str, Any] = {}
    for key, (field, without, unit) in _NUMBERS.items():
        if any(node.get(key) is not None for node in nodes):
            values = [_read_float(node.get(key), join_path(path, key), without) for node, path in _each(nodes, paths)]
            fields[field] = np.array(values) / unit
    if any(node.get("optional") is not None for node in nodes):
        optional = [_read_truth(node.get("optional"), f"{path}.optional") for node, path in _each(nodes, paths)]
        given = fields.get("priorities", np.full(len(nodes), math.nan))
        has_none = np.isnan(given) & ~np.isfinite(fields.get("prizes", np.full(len(nodes), math.inf)))
        fields["priorities"] = np.where(np.array(optional) & has_none, 0.0, given)
    for key, (field, without) in _TIMES.items():
        if any(node.get(key) is not None for node in nodes):
            times = [read_seconds(node.get(key), f"{path}.{key}", without) for node, path in _each(nodes, paths)]
            fields[field] = np.array(times)
    for key, field in _WORDS.items():
        if any(node.get(key) is not None for node in nodes):
            fields[field] = tuple(read_words(node.get(key), f"{path}.{key}") for node, path in _each(nodes, paths))
    for key in _LABELS:
        if any(node.get(key) is not None for node in nodes):
            fields[key] = tuple(_read_label(node.get(key), join_path(path, key)) for node, path in _each(nodes, paths))
    if any(node.get("lifo") is not None for node in nodes):
        lifo = [_read_truth(node.get("lifo"), f"{path}.lifo") for node, path in _each(nodes, paths)]
        fields["lifo"] = np.array(lifo)
    if any(node.get("shipment") is not None for node in nodes):
        labels = [_read_label(node.get("shipment"), join_path(path, "shipment")) for node, path in _each(nodes, paths)]
        fields["partners"] = _pair(labels, paths)
    return fields


def refuse_stray_rides(instance: Instance, path_of: Callable[[int], str]) -> None:
    """Raise if a stop that hands nothing over has a longest ride, which would mean nothing there."""
    if instance.max_ride is None:
        return
    is_stray = np.isfinite(instance.max_ride) & ~(
        np.array([False]) if instance.is_pickup is None else instance.is_pickup
    )
    for node in np.flatnonzero(is_stray).tolist():
        where = Where(field=f"{path_of(node)}.max_ride")
        raise FormatError("only the pickup of a shipment has a max_ride.", where=where, remedy="Give it there.")


def _each(nodes: Sequence[Mapping[str, object]], paths: Sequence[str]) -> Iterable[tuple[Mapping[str, object], str]]:
    return zip(nodes, paths, strict=True)


def _pair(labels: Sequence[str], paths: Sequence[str]) -> NDArray[np.intp]:
    partners = np.zeros(len(labels), dtype=np.intp)
    first: dict[str, int] = {}
    for node, label in enumerate(labels):
        if not label:
            continue
        other = first.setdefault(label, node)
        if other == node:
            continue
        if partners[other]:
            where = Where(field=join_path(paths[node], "shipment"))
            message = f"three stops belong to the shipment {label}."
            raise InstanceError(message, where=where, remedy="A shipment is a pickup and a delivery.")
        partners[[node, other]] = [other, node]
    for label, node in first.items():
        if not partners[node]:
            where = Where(field=join_path(paths[node], "shipment"))
            message = f"the shipment {label} has only one stop."
            raise InstanceError(message, where=where, remedy="A shipment is a pickup and a delivery.")
    return partners


def _read_float(value: object, path: str, without: float) -> float:
    if value is None:
        return without
    return refuse_unmeasurable(float(read_number(value, path)), Where(field=path))


def _read_truth(value: object, path: str) -> bool:
    if value is not None and not isinstance(value, bool):
        raise FormatError("this is neither true nor false.", where=Where(field=path), remedy="Write true or false.")
    return bool(value)


def read_words(value: object, path: str) -> frozenset[str]:
    """Read a list of texts, or a single one."""
    words = [value] if isinstance(value, str) else [] if value is None else require_list(value, path)
    for word in words:
        if not isinstance(word, str) or not word:
            raise FormatError("this is not a list of texts.", where=Where(field=path), remedy='Write ["lift"].')
    return frozenset(map(str, words))


def _read_label(value: object, path: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise FormatError("this is not a text.", where=Where(field=path), remedy="Write a name in quotes.")
    return str(value)


def place_rules(where: Where, path_of: Callable[[int], str]) -> Where:
    """Translate a field of an instance into the key of a customer."""
    keys = {"pickups": "pickup", "partners": "shipment", **{key: key for key in _LABELS}}
    keys |= {field: key for key, (field, *_) in _NUMBERS.items()} | {field: key for key, field in _WORDS.items()}
    keys |= {field: key for key, (field, _) in _TIMES.items()} | {"usual_vehicles": "usual_vehicle", "lifo": "lifo"}
    key = keys.get(where.field or "")
    return where if key is None else replace(where, field=f"{path_of(where.customer or 0)}.{key}")


# Writing


def amount_to_json(instance: Instance, amounts: NDArray[np.int64]) -> object:
    """Write an amount: a number, or an object with the numbers that are not 0."""
    shown = [plain_number(instance.shown_demand(int(amount))) for amount in amounts.reshape(-1)]
    if instance.demands.ndim == 1:
        return shown[0]
    return {name: amount for name, amount in zip(instance.dimensions or (), shown, strict=True) if amount}


def write_json_rules(instance: Instance, document: dict[str, object], nodes: Sequence[dict[str, object]]) -> None:
    """Add rules to an instance's document, and to the objects of its nodes."""
    if instance.backhauls != "mixed":
        document["backhauls"] = instance.backhauls
    if instance.places:
        document["places"] = [_place_to_json(instance, place) for place in instance.places]
    for node, item in enumerate(nodes):
        if node == 0:
            continue
        if instance.pickups is not None and instance.pickups[node].any():
            item["pickup"] = amount_to_json(instance, instance.pickups[node])
        for key, (field, without, unit) in (*_NUMBERS.items(), *((k, (*v, 1.0)) for k, v in _TIMES.items())):
            values = getattr(instance, field)
            if values is not None and math.isfinite(values[node]) and values[node] != without:
                item[key] = plain_number(round(float(values[node]) * unit, 9) if unit != 1 else float(values[node]))
        for key, field in _WORDS.items():
            if getattr(instance, field) and getattr(instance, field)[node]:
                item[key] = sorted(getattr(instance, field)[node])
        for key in _LABELS:
            if getattr(instance, key) and getattr(instance, key)[node]:
                item[key] = getattr(instance, key)[node]
        if instance.lifo is not None and instance.lifo[node]:
            item["lifo"] = True
        if instance.partners is not None and instance.partners[node]:
            item["shipment"] = str(min(node, int(instance.partners[node])))
    if instance.windows is not None and instance.windows.ndim == 3:
        for item, windows in zip(nodes, instance.windows.tolist(), strict=True):
            own = [window for place, window in enumerate(windows) if window not in windows[:place]]
            shown = list(map(_window_to_json, own))
            if len(shown) > 1:
                item["windows"] = shown
            elif shown != [[0, None]]:
                item["window"] = shown[0]


def _window_to_json(window: Sequence[float]) -> list[object]:
    return [plain_number(window[0]), plain_number(window[1]) if math.isfinite(window[1]) else None]


def _place_to_json(instance: Instance, place: Place) -> dict[str, object]:
    axes = ("lat", "lon") if instance.metric == "great_circle" else ("x", "y")
    item: dict[str, object] = {"id": place.name}
    if place.x is not None and place.y is not None:
        item[axes[0]], item[axes[1]] = plain_number(place.x), plain_number(place.y)
    if place.window is not None:
        item["window"] = _window_to_json(place.window)
    return item | ({"loading": plain_number(place.loading)} if place.loading else {})
