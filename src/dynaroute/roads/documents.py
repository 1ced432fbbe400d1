"""Matrices in the JSON of routing services: OSRM, Valhalla, openrouteservice and Google."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import FormatError, Where
from dynaroute.roads.matrix import RoadMatrix

_METRES = {"m": 1.0, "km": 1000.0, "mi": 1609.344, "kilometers": 1000.0, "kilometres": 1000.0, "miles": 1609.344}
_ASK = "Ask the service again, and save its whole answer."
_SERVICES = "OSRM's table service, Valhalla's sources_to_targets, openrouteservice or Google"


def parse_matrix(content: bytes) -> RoadMatrix:
    """Read a matrix, whichever service it is from.

    Parameters
    ----------
    content
        The service's answer.

    Raises
    ------
    FormatError
        If it is no matrix of a known service, or reports an error.
    """
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _fault("this is not JSON", f"Save the answer of {_SERVICES} unchanged.") from error
    if isinstance(document, list):
        return _require_square(_read_google_routes(document), {})
    readers: dict[str, Callable[[Mapping[str, Any]], RoadMatrix]] = {
        "sources_to_targets": read_valhalla,
        "rows": _read_google,
        "code": read_osrm,
        "durations": _read_openrouteservice,
        "distances": _read_openrouteservice,
    }
    for key, read in readers.items():
        if isinstance(document, dict) and key in document:
            return _require_square(read(document), document)
    told = document.get("error", document.get("error_message")) if isinstance(document, dict) else None
    message = "this JSON is no matrix" if told is None else f"the service answered with an error: {str(told)[:200]}"
    raise _fault(message, f"Save the answer of {_SERVICES}, or give a table.")


def read_osrm(document: Mapping[str, Any]) -> RoadMatrix:
    """Read OSRM's table: metres and seconds."""
    if document["code"] != "Ok":
        raise _fault(f"OSRM answered {document['code']}: {document.get('message', '')}", _ASK)
    estimated = len(document.get("fallback_speed_cells") or ())
    notes = (f"{estimated:,} legs have no way and are estimates of OSRM.",) if estimated else ()
    return _make_matrix(document, 1.0, notes)


def _read_openrouteservice(document: Mapping[str, Any]) -> RoadMatrix:
    """Read openrouteservice's matrix: seconds, and metres unless the request names another unit."""
    query = _get(_get(document, "metadata"), "query")
    return _make_matrix(document, _find_unit(query.get("units", "m")))


def _make_matrix(document: Mapping[str, Any], unit: float, notes: tuple[str, ...] = ()) -> RoadMatrix:
    distances, durations = (_read_rows(document.get(key), key) for key in ("distances", "durations"))
    distances = None if distances is None else distances * unit
    return RoadMatrix(distances, durations, _read_points(document.get("sources")), notes)


def read_valhalla(document: Mapping[str, Any]) -> RoadMatrix:
    """Read Valhalla's sources_to_targets: seconds, and kilometres or miles."""
    legs, unit = document["sources_to_targets"], _find_unit(document.get("units", "kilometers"))
    if isinstance(legs, Mapping):  # its short form
        return _make_matrix({**document, **legs}, unit)
    rows = _list(legs)
    distances, durations = (
        _read_rows([[_get(leg).get(key) for leg in _list(row)] for row in rows], key) for key in ("distance", "time")
    )
    assert distances is not None
    return RoadMatrix(distances * unit, durations, _read_points(document.get("sources")))


def _read_google(document: Mapping[str, Any]) -> RoadMatrix:
    """Read Google's Distance Matrix: metres and seconds."""
    if document.get("status", "OK") != "OK":
        raise _fault(f"Google answered {document['status']}: {document.get('error_message', '')}", _ASK)
    rows = [[_get(leg) for leg in _list(_get(row).get("elements"))] for row in _list(document["rows"])]
    distances, durations = (
        _read_rows(
            [[_get(leg, key).get("value") if leg.get("status") == "OK" else None for leg in row] for row in rows], key
        )
        for key in ("distance", "duration")
    )
    return RoadMatrix(distances, durations)


def _read_google_routes(items: Sequence[Any]) -> RoadMatrix:
    """Read Google's computeRouteMatrix: one object a leg, in any order; numbers that are 0 may be left out."""
    legs = [_get(item) for item in items]
    failed = next((leg["error"] for leg in legs if leg.get("error")), None)
    if failed is not None or not legs:
        raise _fault(f"Google answered {str(failed)[:200]}" if failed else "the matrix is empty", _ASK)
    ends = [[leg.get(key, 0) for key in ("originIndex", "destinationIndex")] for leg in legs]
    if not all(type(end) is int and 0 <= end < len(legs) for pair in ends for end in pair):
        raise _fault("a leg has no originIndex and destinationIndex", _ASK)
    size = max(map(max, ends)) + 1
    distances, durations = np.full((size, size), math.nan), np.full((size, size), math.nan)
    for (start, end), leg in zip(ends, legs, strict=True):
        if leg.get("condition", "ROUTE_EXISTS") == "ROUTE_EXISTS" and not _get(leg, "status").get("code"):
            distances[start, end] = _read_number(leg.get("distanceMeters", 0), "distanceMeters")
            durations[start, end] = _read_number(str(leg.get("duration", "0s")).removesuffix("s"), "duration")
    return RoadMatrix(distances, durations)


def _require_square(matrix: RoadMatrix, document: Mapping[str, Any]) -> RoadMatrix:
    """Check that legs are between the same points, in the same order."""
    given = [legs for legs in (matrix.distances, matrix.durations) if legs is not None]
    if not given:
        raise _fault("there are neither distances nor durations", _ASK)
    if len({legs.shape for legs in given}) > 1 or given[0].shape[0] != given[0].shape[1]:
        raise _fault("it is no square", "Ask for the legs from all stops to all stops, with distances and durations.")
    ends = _read_points(document.get("destinations", document.get("targets")))
    if matrix.points is not None and ends is not None and not np.array_equal(matrix.points, ends):
        raise _fault("its sources and destinations differ", "Ask for the legs from all stops to all stops.")
    if matrix.points is not None and len(matrix.points) != matrix.size:
        raise _fault("legs and points differ in number", _ASK)
    return matrix


def _read_rows(rows: Any, key: str) -> NDArray[np.float64] | None:
    """Read rows of numbers, in which null is a leg without a way."""
    if rows is None:
        return None
    lines = [_list(row) for row in _list(rows)]
    if len({len(line) for line in lines}) != 1:
        raise _fault(f"the rows of its {key} differ in length", _ASK)
    return np.array([[math.nan if cell is None else _read_number(cell, key) for cell in line] for line in lines])


def _read_number(value: Any, key: str) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number < 1e12:
        raise _fault(f"the {key} {str(value)[:40]!r} is not a number of 0 or more", _ASK)
    return number


def _read_points(places: Any) -> NDArray[np.float64] | None:
    """Read latitudes and longitudes, in any of the forms that services give them; None if one is missing."""
    found = []
    for place in _list(places or []):
        given = place[0] if isinstance(place, list) and len(place) == 1 else place
        if isinstance(given, Mapping) and isinstance(given.get("location"), list):
            given = given["location"]
        if isinstance(given, Mapping) and {"lat", "lon"} <= given.keys():
            given = [given["lon"], given["lat"]]
        if not isinstance(given, list) or len(given) < 2:
            return None
        found.append([_read_degrees(given[1]), _read_degrees(given[0])])
    return np.array(found) if found else None


def _read_degrees(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -180 <= value <= 180:
        raise _fault(f"the position {str(value)[:40]!r} is not in degrees", _ASK)
    return float(value)


def _find_unit(name: Any) -> float:
    if str(name).lower() not in _METRES:
        raise _fault(f"the unit {str(name)[:40]!r} is unknown", "Ask for metres or kilometres.")
    return _METRES[str(name).lower()]


def _get(value: Any, key: str | None = None) -> Mapping[str, Any]:
    """An object, or the object under a key; an empty one if it is none."""
    found = value.get(key) if key is not None and isinstance(value, Mapping) else value
    return found if isinstance(found, Mapping) else {}


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _fault(f"a list is expected, not {str(value)[:40]!r}", _ASK)
    return value


def _fault(message: str, remedy: str) -> FormatError:
    return FormatError(f"{message}.".replace("..", "."), where=Where(field="matrix"), remedy=remedy)
