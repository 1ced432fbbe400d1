"""Instances in JSON, the same for files and HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Literal, TypeGuard, get_args

import numpy as np

from dynaroute.base.decimals import plain_number
from dynaroute.base.errors import (
    FormatError,
    UnsupportedError,
    Where,
    merge_notes,
    placed,
    warn_of_each,
    warn_of_input,
)
from dynaroute.base.limits import refuse_large_set
from dynaroute.base.vocabulary import Backhauls, Language, Rounding, join_with_or
from dynaroute.formats.fleet_options import VehicleList, use_vehicles
from dynaroute.formats.ignored import NOTHING_IGNORED, Ignored
from dynaroute.formats.json.document import (
    join_path,
    load_json,
    read_number,
    require,
    require_object,
)
from dynaroute.formats.json.fleet import (
    find_unknown_vehicle_keys,
    read_json_matrix,
    read_json_service,
    read_json_speed,
    read_json_vehicles,
    read_json_version,
    read_json_windows,
    write_json_fleet,
)
from dynaroute.formats.json.frozen import name_stops, read_frozen
from dynaroute.formats.json.ignored import leave_out, refuse_unknown_keys
from dynaroute.formats.json.nodes import (
    GLOBE,
    NODE_KEYS,
    PLANE,
    Axes,
    choose_axes,
    name_path,
    read_coordinates,
    read_demands,
    read_depot_name,
    read_details,
    read_ids,
    read_nodes,
)
from dynaroute.formats.json.requests import refuse_keys
from dynaroute.formats.json.rules import (
    LoadAmounts,
    amount_to_json,
    expand_shipments,
    place_rules,
    read_dimensions,
    read_places,
    read_wishes,
    refuse_stray_rides,
    scale_amounts,
    uses_rules,
)
from dynaroute.formats.json.shape import read_shape, shape_to_json
from dynaroute.formats.numbers import scale_quantities
from dynaroute.formats.text import one_line, read_rounding, shorten
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance

_KEYS = frozenset(
    {
        "version",
        "name",
        "capacity",
        "depot",
        "customers",
        "distances",
        "rounding",
        "vehicles",
        "durations",
        "speed",
        "places",
        "depots",
        "shipments",
        "backhauls",
        "locked",
        "change_cost",
        "balance",
        "compactness",
        "buffer",
        "profiles",
        "unit",
        "language",
    }
)


def parse_json(text: str, *, source: str = "", ignored: Ignored = NOTHING_IGNORED) -> list[Instance]:
    """Read one instance, or a list of them.

    Parameters
    ----------
    text
        A JSON document.
    source
        The file's path, for warnings; its stem names an instance without a name.
    ignored
        Keys to plan without.

    Raises
    ------
    DynarouteError
        If it is not JSON, has the wrong shape, or is not a valid problem; fields are paths such as customers[3].demand.
    """
    document = load_json(text)
    if is_plan(document):
        with placed(_place_in_plan):
            return [_read_one(document["instance"], source, ignored)]
    if not isinstance(document, list):
        return [_read_one(document, source, ignored)]
    refuse_large_set(len(document), 0)
    refuse_unknown_keys(document, ignored)
    stem = Path(source).stem
    instances = []
    unknown: set[str] = set()
    with merge_notes(source):
        for index, given in enumerate(document):
            item = leave_out(given, ignored)
            with placed(partial(_place_within, index)):
                instances.append(_read_instance(item, f"{stem}-{index + 1}"))
            unknown |= _unknown_keys(item)
    _warn_of_unknown_keys(unknown, source)
    return instances


def format_json(instance: Instance) -> str:
    """Write an instance as a JSON object."""
    return json.dumps(instance_to_json(instance), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def format_json_set(instances: Sequence[Instance]) -> str:
    """Write instances as a JSON list, one per line."""
    lines = (json.dumps(instance_to_json(instance), ensure_ascii=False, allow_nan=False) for instance in instances)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def instance_from_json(data: object, *, source: str = "", ignore: str | Sequence[str] = ()) -> Instance:
    """Make an instance from decoded JSON.

    Parameters
    ----------
    data
        Decoded JSON: {"name"?, "capacity"?, "depot", "customers", "distances"?, "rounding"?, "vehicles"?, "durations"?,
        "speed"?, "version"?}. Numbers may be int, float or Decimal; a float counts with the decimals it is printed
        with.
    source
        The file's path, for warnings; its stem names an instance without a name.
    ignore
        Keys to plan without.

    Raises
    ------
    DynarouteError
        If it has the wrong shape or is not a valid problem; fields are paths such as customers[3].demand.
    """
    return _read_one(data, source, Ignored.of(ignore))


def _read_one(data: object, source: str, ignored: Ignored) -> Instance:
    refuse_unknown_keys([data], ignored)
    document = leave_out(data, ignored)
    with merge_notes(source):
        instance = _read_instance(document, Path(source).stem)
    _warn_of_unknown_keys(_unknown_keys(document), source)
    return instance


def is_plan(document: object) -> TypeGuard[dict[str, object]]:
    """Whether decoded JSON is a plan: an instance together with its routes."""
    return isinstance(document, dict) and "routes" in document and isinstance(document.get("instance"), dict)


def plan_instance_from_json(document: Mapping[str, object], *, source: str = "") -> Instance:
    """Make the instance of a plan from decoded JSON."""
    with placed(_place_in_plan):
        try:
            return instance_from_json(document["instance"], source=source)
        except UnsupportedError as error:
            error.address_reader_without_option()
            raise


def instance_to_json(instance: Instance) -> dict[str, object]:
    """Convert an instance to plain data for JSON.

    Parameters
    ----------
    instance
        The problem.
    """
    nodes: list[dict[str, object]] = [{} for _ in range(instance.size + 1)]
    if instance.customer_names is not None:
        for node, name in zip(nodes[1:], instance.customer_names, strict=True):
            node["id"] = name
    if instance.depot_name:
        nodes[0]["id"] = instance.depot_name
    if instance.coordinates is not None:
        axes = GLOBE if instance.metric == "great_circle" else PLANE
        for node, place in zip(nodes, instance.coordinates.tolist(), strict=False):
            node.update(zip(axes, map(plain_number, place), strict=True))
    if instance.demands.ndim == 1:
        for node, demand in zip(nodes[1:], instance.demands.tolist()[1:], strict=True):
            node["demand"] = plain_number(instance.shown_demand(demand))
    else:
        for node, amounts in zip(nodes[1:], instance.demands[1:], strict=True):
            node["demand"] = amount_to_json(instance, amounts)
    if instance.details is not None:
        for index, node in enumerate(nodes):
            if texts := instance.details.of(index):
                node["details"] = texts
    document: dict[str, object] = {
        "name": instance.name,
        "capacity": plain_number(instance.shown_demand(instance.capacity)),
        "depot": nodes[0],
        "customers": nodes[1:],
    }
    if instance.distances is not None:
        document["distances"] = [list(map(plain_number, row)) for row in instance.distances.tolist()]
        if instance.matrix_unit is not None:
            document["unit"] = instance.matrix_unit
    if instance.rounding != "none":
        document["rounding"] = instance.rounding
    if instance.language != "en":
        document["language"] = instance.language
    document |= shape_to_json(instance)
    write_json_fleet(instance, document, nodes)
    if instance.demands.ndim == 2:
        del document["capacity"]  # the vehicles have their own
    return document


def _read_instance(data: object, default_name: str) -> Instance:
    given = require_object(data, "")
    _refuse_solution(given)
    read_json_version(given.get("version"))
    refuse_keys([given], _KEYS, "problem", lambda _: "")
    document, place_shipments = expand_shipments(given)
    with placed(place_shipments):
        nodes = read_nodes(document)
        axes = choose_axes(nodes, may_lack=document.get("distances") is not None)
        return _build_instance(document, nodes, axes, default_name)


def _build_instance(
    document: Mapping[str, object], nodes: Sequence[Mapping[str, object]], axes: Axes | None, default_name: str
) -> Instance:
    names = read_ids(nodes)
    paths = [name_path(index) for index in range(len(nodes))]
    places = read_places(document, axes)
    has_rules = uses_rules(nodes)
    dimensions = _read_dimensions(document)
    depot = read_depot_name(nodes[0].get("id"))
    unit = _read_unit(document.get("unit"))
    is_metric = unit == "m" or (axes == GLOBE and document.get("distances") is None)
    metres = 1000.0 if is_metric else 1.0
    known = [place.name for place in places]
    stops = name_stops(names, len(nodes) - 1, places, depot)
    vehicles = read_json_vehicles(_list_vehicles(document, dimensions), dimensions, metres, known, depot, stops)
    with placed(_place):
        amounts = _read_quantities(document, nodes, paths, names, vehicles, dimensions)
        count = len(nodes) + len(places)
        wishes = read_wishes(nodes, paths) if has_rules else {}
        instance = Instance(
            coordinates=None if axes is None else read_coordinates(nodes, axes),
            demands=amounts.demands,
            pickups=amounts.pickups,
            backhauls=_read_backhauls(document.get("backhauls")),
            capacity=amounts.capacities[0],
            vehicles=None if dimensions is None else (VehicleType(amounts.capacities),),
            dimensions=dimensions,
            places=places,
            name=_read_name(document.get("name"), default_name),
            distances=read_json_matrix(document.get("distances"), count, "distances"),
            matrix_unit=unit if document.get("distances") is not None else None,
            rounding=_read_rounding(document.get("rounding")),
            metric="great_circle" if axes == GLOBE else "euclidean",
            customer_names=names,
            demand_scale=amounts.scale,
            service=read_json_service(nodes, paths),
            windows=read_json_windows(nodes, paths),
            durations=read_json_matrix(document.get("durations"), count, "durations"),
            speed=read_json_speed(document.get("speed")),
            details=read_details(nodes),
            language=_read_language(document.get("language")),
            depot_name=depot,
            prizes=wishes.get("prizes"),
            priorities=wishes.get("priorities"),
            **read_shape(document, count, metres),
        )
        instance = instance if vehicles is None else use_vehicles(instance, vehicles)
        wishes |= read_frozen(document, nodes, paths, instance.fleet, stops)
        instance = replace(instance, **wishes) if wishes else instance
        refuse_stray_rides(instance, name_path)
        return instance


def _read_unit(value: object) -> Literal["m"] | None:
    """Read the unit of a matrix of distances: metres, or none that is known."""
    if value is None or value == "m":
        return "m" if value == "m" else None
    raise FormatError(
        f"the unit {shorten(str(value))} of the distances is unknown.",
        where=Where(field="unit"),
        remedy='Give metres and "m", or leave it out.',
    )


def _read_language(value: object) -> Language:
    known: dict[object, Language] = {None: "en", **{each: each for each in get_args(Language)}}
    if not isinstance(value, str | None) or value not in known:
        message, remedy = f"the language {value!r} is unknown.", f"Use {join_with_or(get_args(Language))}."
        raise FormatError(message, where=Where(field="language"), remedy=remedy)
    return known[value]


def _read_dimensions(document: Mapping[str, object]) -> tuple[str, ...] | None:
    listed = document.get("vehicles")
    vehicles = listed if isinstance(listed, list) else []
    return read_dimensions(
        [
            *(item.get("capacity") for item in vehicles if isinstance(item, Mapping)),
            document.get("capacity"),
        ]
    )


def _list_vehicles(document: Mapping[str, object], dimensions: tuple[str, ...] | None) -> object:
    """Return the vehicle types; without any, one with a capacity by dimension."""
    if document.get("vehicles") is None and dimensions is not None:
        return [{"capacity": document["capacity"]}]
    return document.get("vehicles")


def _read_quantities(
    document: Mapping[str, object],
    nodes: Sequence[Mapping[str, object]],
    paths: Sequence[str],
    names: Sequence[str] | None,
    vehicles: VehicleList | None,
    dimensions: tuple[str, ...] | None,
) -> LoadAmounts:
    """Read demands, and pickups if there are any."""
    # of those who may be left out, demands may be above the capacity
    is_rich = any(node.get(key) is not None for node in nodes for key in ("pickup", "prize", "priority", "optional"))
    if dimensions is not None or is_rich:
        largest = vehicles.largest_capacities if vehicles is not None else (_read_capacity(document, None),)
        return scale_amounts(nodes, paths, largest, dimensions)
    quantities = scale_quantities(read_demands(nodes), _read_capacity(document, vehicles), names)
    if quantities.note:
        warn_of_input("", quantities.note)
    return LoadAmounts(np.array(quantities.demands), None, (quantities.capacity,), quantities.scale)


def _read_backhauls(value: object) -> Backhauls:
    known: dict[object, Backhauls] = {None: "mixed", **{each: each for each in get_args(Backhauls)}}
    if not isinstance(value, str | None) or value not in known:
        message, remedy = f"backhauls {value!r} are unknown.", f"Use {join_with_or(get_args(Backhauls))}."
        raise FormatError(message, where=Where(field="backhauls"), remedy=remedy)
    return known[value]


def _read_capacity(document: Mapping[str, object], vehicles: VehicleList | None) -> Decimal:
    """Read the largest vehicle's capacity; with vehicle types, "capacity" may be absent."""
    if vehicles is None:
        return read_number(require(document, "capacity", ""), "capacity")
    if document.get("capacity") is not None:
        read_number(document["capacity"], "capacity")
    return vehicles.largest_capacity


def _unknown_keys(document: object) -> set[str]:
    """Find unknown keys with a value, in the instance and its nodes."""
    assert isinstance(document, dict)
    unknown = {key for key in document.keys() - _KEYS if document[key] is not None}
    if vehicles := document.get("vehicles"):
        unknown |= find_unknown_vehicle_keys(vehicles)
        if document.get("capacity") not in (None, *(kind["capacity"] for kind in vehicles)):
            unknown.add("capacity")
    for node in (document.get("depot") or {}, *document.get("customers", ())):
        unknown.update(key for key in node.keys() - NODE_KEYS if node[key] is not None)
    return unknown


def _warn_of_unknown_keys(keys: set[str], source: str) -> None:
    warn_of_each(source, sorted(keys), _describe_ignored_key)


def _describe_ignored_key(key: str) -> str:
    if key == "capacity":
        return "the capacity was ignored, because each vehicle type has its own."
    return f"the key {shorten(key)} is unknown and was ignored."


def _place_in_plan(where: Where) -> Where:
    return replace(where, field=join_path("instance", where.field or ""))


def _place_within(index: int, where: Where) -> Where:
    """Place errors in one element of a list."""
    return replace(where, field=f"[{index}]" if where.field in (None, "document") else f"[{index}].{where.field}")


def _place(where: Where) -> Where:
    """Translate fields of `Instance` into paths."""
    if where.field == "demands":
        return replace(where, field=f"{name_path(where.customer or 0)}.demand")
    if where.field in ("service", "windows"):
        return replace(where, field=f"{name_path(where.customer or 0)}.{where.field.removesuffix('s')}")
    if (placed_rule := place_rules(where, name_path)) != where:
        return placed_rule
    if where.field == "customer_names" and where.customer is not None:
        return replace(where, field=f"{name_path(where.customer)}.id")
    return where


def _refuse_solution(document: Mapping[str, object]) -> None:
    if "routes" in document and "customers" not in document:
        raise FormatError(
            "this is a solution, not an instance.",
            where=Where(field="routes"),
            remedy="Name the instance's file. Use a solution with check, plot or --start.",
        )


def _read_name(value: object, default: str) -> str:
    if value is None:
        return default
    if not isinstance(value, str):
        raise FormatError("the name is not a string.", where=Where(field="name"), remedy="Write it in quotes.")
    return one_line(value)


def _read_rounding(value: object) -> Rounding:
    return "none" if value is None else read_rounding(value, Where(field="rounding"))
