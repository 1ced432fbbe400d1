"""Plans as GeoJSON (RFC 7946): one line per route, one point per stop."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from dynaroute.base.decimals import plain_number
from dynaroute.base.errors import FormatError, Where
from dynaroute.formats.json.document import load_json, require_list, require_object
from dynaroute.plans.files.links import SERVICES, list_links
from dynaroute.plans.files.table import NamedStop, number_stops
from dynaroute.plans.files.words import describe_breaks, show_time
from dynaroute.plans.plan import Plan, PlannedRoute, PlannedStop, UnservedStop, require_degrees
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution

_UNSERVED = "unserved"  # the kind of features that show customers on no route, and the member that lists them
_DECIMALS = 7  # of a degree: a centimetre
Position = list[float]


def format_geojson(plan: Plan) -> str:
    """Write a plan as a FeatureCollection.

    Raises
    ------
    UnsupportedError
        If its places are not in degrees.
    """
    require_degrees(plan.instance, ".geojson")
    features = [_feature(_point(plan, left_out.stop), _describe_unserved(left_out)) for left_out in plan.unserved]
    if plan.routes:
        start = plan.routes[0].start
        features.append(_feature(_point(plan, start), {"kind": "depot", "name": start.name, **start.details}))
    for route in plan.routes:
        features.append(_feature(_line(plan, route), _describe_route(plan, route)))
        features += [_feature(_point(plan, stop), _describe_stop(plan, route, stop)) for stop in route.stops]
    warnings = {
        **({_UNSERVED: list(map(_name_unserved, plan.unserved))} if plan.unserved else {}),
        **({"faults": plan.faults} if plan.faults else {}),
    }
    document = {"type": "FeatureCollection", "name": plan.instance.name, **warnings, "features": features}
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _feature(geometry: dict[str, object], properties: Mapping[str, object]) -> dict[str, object]:
    return {"type": "Feature", "geometry": geometry, "properties": dict(properties)}


def _name_unserved(left_out: UnservedStop) -> dict[str, object]:
    stop = left_out.stop
    return {"id": stop.id, "name": stop.name or stop.id, "reason": left_out.reason}


def _describe_unserved(left_out: UnservedStop) -> dict[str, object]:
    stop = left_out.stop
    return {
        **stop.details,
        "kind": _UNSERVED,
        **_name_unserved(left_out),
        "demand": plain_number(stop.demand),
    }


def _describe_route(plan: Plan, route: PlannedRoute) -> dict[str, object]:
    return {
        "kind": "route",
        "route": route.number,
        "name": route.called,
        "vehicle": route.vehicle or None,
        "stops": len(route.stops),
        "load": plain_number(route.load),
        "distance": plain_number(route.length),
        "unit": plan.instance.unit,
        **({"breaks": breaks} if (breaks := describe_breaks(plan, route)) else {}),
        "links": [address for _, _, address in list_links(plan, route, SERVICES[0])],
    }


def _describe_stop(plan: Plan, route: PlannedRoute, stop: PlannedStop) -> dict[str, object]:
    return {
        **stop.details,
        "kind": "stop",
        "route": route.number,
        "stop": stop.number,
        "id": stop.id,
        "name": stop.name or stop.id,
        "demand": plain_number(stop.demand),
        "load": plain_number(stop.load),
        **({"pickup": stop.pickup} if stop.pickup else {}),
        **({"reload": True} if stop.is_reload else {}),
        "distance": plain_number(stop.distance),
        "unit": plan.instance.unit,
        **(
            {}
            if stop.arrival is None
            else {"arrival": show_time(plan, stop.arrival), "leave": show_time(plan, stop.leave)}
        ),
    }


def _point(plan: Plan, stop: PlannedStop) -> dict[str, object]:
    return {"type": "Point", "coordinates": _position(plan, stop)}


def _line(plan: Plan, route: PlannedRoute) -> dict[str, object]:
    """Make a line, split where it crosses the 180th meridian, as section 3.1.9 requires."""
    positions = [
        [round(longitude, _DECIMALS), round(latitude, _DECIMALS)] for latitude, longitude in plan.follow(route)
    ]
    parts = _cut_at_date_line(positions)
    if len(parts) == 1:
        return {"type": "LineString", "coordinates": parts[0]}
    return {"type": "MultiLineString", "coordinates": parts}


def _cut_at_date_line(positions: Sequence[Position]) -> list[list[Position]]:
    parts = [[positions[0]]]
    for (start_longitude, start_latitude), end in pairwise(positions):
        shift = end[0] - start_longitude
        if abs(shift) > 180:
            side = 180.0 if start_longitude > 0 else -180.0
            shift += 360 if shift < 0 else -360  # the short way round
            share = (side - start_longitude) / shift if shift else 0.0
            latitude = round(start_latitude + share * (end[1] - start_latitude), _DECIMALS)
            parts[-1].append([side, latitude])
            parts.append([[-side, latitude]])
        parts[-1].append(end)
    return parts


def _position(plan: Plan, stop: PlannedStop) -> Position:
    latitude, longitude = plan.place(stop)
    return [round(longitude, _DECIMALS), round(latitude, _DECIMALS)]


def list_geojson_stops(text: str) -> list[NamedStop]:
    """List the stops of a plan from its points.

    Parameters
    ----------
    text
        A FeatureCollection as written by `format_geojson`; other features are ignored.

    Raises
    ------
    DynarouteError
        If it is not such a document.
    """
    document = require_object(load_json(text), "")
    stops: list[NamedStop] = []
    for index, feature in enumerate(require_list(document.get("features"), "features")):
        path = f"features[{index}].properties"
        given: Mapping[str, Any] = require_object(require_object(feature, path).get("properties") or {}, path)
        name, where = str(given.get("id", "")), Where(field=f"{path}.id")
        if given.get("kind") == _UNSERVED:
            stops.append(NamedStop(None, 0, name, where))
        if given.get("kind") != "stop":
            continue
        for key in ("route", "stop"):
            if type(given.get(key)) is not int:
                raise FormatError(
                    f"{key} is not a whole number.", where=Where(field=f"{path}.{key}"), remedy="Write its number."
                )
        stops.append(NamedStop(given["route"], given["stop"], name, where))
    return stops


def parse_geojson(text: str, instance: Instance) -> Solution:
    """Read the routes of a plan, by the ids of the instance's customers.

    Raises
    ------
    DynarouteError
        If it is not such a document, or a stop has an unknown id.
    """
    return number_stops(list_geojson_stops(text), instance)
