"""Matrices as routing services write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dynaroute.base.errors import DynarouteError, gather_notes
from dynaroute.formats import read, write
from dynaroute.problem.instance import Instance

METRES = [[0.0, 1500.0, 2600.0], [1400.0, 0.0, 1200.0], [2500.0, 1300.0, 0.0]]
SECONDS = [[0.0, 150.0, 260.0], [140.0, 0.0, 120.0], [250.0, 130.0, 0.0]]
PLACES = [(53.5, 10.0), (53.51, 10.01), (53.52, 10.0)]
STOPS = "id,lat,lon,demand\nDepot,53.5,10.0,0\nA,53.51,10.01,5\nB,53.52,10.0,7\n"
LOCATIONS = [{"location": [lon, lat]} for lat, lon in PLACES]
GOOGLE = {
    "status": "OK",
    "rows": [
        {
            "elements": [
                {"status": "OK", "distance": {"value": metres}, "duration": {"value": seconds}}
                for metres, seconds in zip(*rows, strict=True)
            ]
        }
        for rows in zip(METRES, SECONDS, strict=True)
    ],
}
VALHALLA = [
    [{"distance": metres / 1000, "time": seconds} for metres, seconds in zip(*rows, strict=True)]
    for rows in zip(METRES, SECONDS, strict=True)
]
MATRICES: dict[str, Any] = {
    "OSRM": {
        "code": "Ok",
        "distances": METRES,
        "durations": SECONDS,
        "sources": LOCATIONS,
        "destinations": LOCATIONS,
    },
    "Valhalla": {
        "sources_to_targets": VALHALLA,
        "units": "kilometers",
        "sources": [[{"lat": lat, "lon": lon}] for lat, lon in PLACES],
    },
    "Valhalla in short": {
        "sources_to_targets": {
            "distances": [[metres / 1000 for metres in row] for row in METRES],
            "durations": SECONDS,
        }
    },
    "openrouteservice": {"distances": METRES, "durations": SECONDS, "metadata": {"query": {}}, "sources": LOCATIONS},
    "openrouteservice in km": {
        "distances": [[metres / 1000 for metres in row] for row in METRES],
        "durations": SECONDS,
        "metadata": {"query": {"units": "km"}},
    },
    "Google's Distance Matrix": GOOGLE,
    "Google's Routes": [
        {"destinationIndex": end, "condition": "ROUTE_EXISTS", "status": {}}
        | ({"originIndex": start} if start else {})
        | ({"distanceMeters": METRES[start][end], "duration": f"{SECONDS[start][end]:g}s"} if start != end else {})
        for end in range(3)
        for start in range(3)
    ],
}


def read_with(document: Any, folder: Path, stops: str = STOPS, **options: Any) -> Instance:
    (folder / "stops.csv").write_text(stops)
    (folder / "matrix.json").write_text(document if isinstance(document, str) else json.dumps(document))
    with gather_notes():
        return read(folder / "stops.csv", capacity=20, matrix=folder / "matrix.json", **options)


@pytest.mark.parametrize("service", MATRICES)
def test_a_matrix_is_read_in_metres_and_seconds(service: str, tmp_path: Path) -> None:
    instance = read_with(MATRICES[service], tmp_path)

    assert instance.distances is not None and instance.durations is not None
    assert instance.distances.tolist() == METRES
    assert instance.durations.tolist() == SECONDS
    assert instance.unit == "m"


def test_points_are_those_of_the_rows_even_if_the_depot_is_not_the_first(tmp_path: Path) -> None:
    stops = "id,lat,lon,demand\nA,53.51,10.01,5\nDepot,53.5,10.0,0\nB,53.52,10.0,7\n"
    order = [1, 0, 2]
    turned = {
        key: [[rows[start][end] for end in order] for start in order]
        for key, rows in (("distances", METRES), ("durations", SECONDS))
    }
    instance = read_with({"code": "Ok", **turned}, tmp_path, stops)

    assert instance.distances is not None
    assert instance.distances.tolist() == METRES


def test_a_matrix_and_its_unit_are_kept_in_json(tmp_path: Path) -> None:
    instance = read_with(MATRICES["OSRM"], tmp_path)
    write(instance, tmp_path / "day.json")

    again = read(tmp_path / "day.json")
    assert again == instance
    assert again.unit == "m"


FAULTY: dict[str, tuple[Any, str]] = {
    "no JSON": ("{", "not JSON"),
    "something else": ({"a": 1}, "is no matrix"),
    "an error": ({"error": {"message": "quota"}}, "quota"),
    "refused by OSRM": ({"code": "NoSegment", "message": "far"}, "NoSegment: far"),
    "no distances": ({"code": "Ok", "durations": SECONDS}, "no distances"),
    "other points": (
        MATRICES["OSRM"] | {"sources": [*LOCATIONS[:2], {"location": [11, 53]}], "destinations": None},
        "point 3 of the matrix is 88.1 km away from 'B'",
    ),
    "points in another order": (
        MATRICES["OSRM"] | {"sources": LOCATIONS[::-1], "destinations": LOCATIONS[::-1]},
        "order of their rows",
    ),
    "too few points": ({"code": "Ok", "distances": [[0]], "durations": [[0]]}, "1 points, but there are 3 stops"),
    "no square": ({"code": "Ok", "distances": [[0, 1]], "durations": [[0, 1]]}, "no square"),
    "an unknown unit": (MATRICES["openrouteservice"] | {"metadata": {"query": {"units": "ft"}}}, "'ft'"),
    "a negative length": ({"code": "Ok", "distances": [[0, -1, 1]] * 3, "durations": SECONDS}, "'-1'"),
    "no way": (
        MATRICES["OSRM"] | {"distances": [[0, 1, None], [1, 0, 1], [1, 1, 0]]},
        "no way from 'Depot' to 'B'",
    ),
    "no way in Google's": (
        [
            leg | {"condition": "ROUTE_NOT_FOUND"} if leg["destinationIndex"] == 2 else leg
            for leg in MATRICES["Google's Routes"]
        ],
        "no way from 'Depot' to 'B'",
    ),
    "not allowed by Google": ({"status": "REQUEST_DENIED", "rows": []}, "REQUEST_DENIED"),
}


@pytest.mark.parametrize("fault", FAULTY)
def test_a_faulty_matrix_is_refused_in_words(fault: str, tmp_path: Path) -> None:
    document, words = FAULTY[fault]
    with pytest.raises(DynarouteError) as refusal:
        read_with(document, tmp_path)

    assert words in str(refusal.value)
    assert refusal.value.remedy
