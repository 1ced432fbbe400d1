"""Distances, times and ways from small extracts of maps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import invoke, invoke_json, save
from osm_extracts import write_extract

from dynaroute.base.errors import DynarouteError
from dynaroute.formats import read
from dynaroute.plans import read_plan
from dynaroute.problem.lengths import great_circle
from dynaroute.roads.extract import RoadExtract

# a square of streets, 0.01 degrees wide, with a bend on its first side and a dead end at its last corner
NODES = {
    1: (53.50, 10.00),
    2: (53.50, 10.005),
    3: (53.50, 10.01),
    4: (53.51, 10.01),
    5: (53.51, 10.00),
    6: (53.52, 10.00),
    7: (53.60, 10.50),
    8: (53.60, 10.51),
}
SQUARE = [
    ([1, 2, 3], {"highway": "residential"}),
    ([3, 4], {"highway": "primary", "oneway": "yes"}),
    ([4, 5], {"highway": "residential", "maxspeed": "20"}),
    ([5, 1], {"highway": "residential"}),
    ([5, 6], {"highway": "service"}),
    ([3, 5], {"highway": "footway"}),
    ([1, 4], {"highway": "residential", "access": "private"}),
    ([7, 8], {"highway": "residential"}),
]


@pytest.fixture(autouse=True)
def _keep_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def extract(tmp_path: Path) -> Path:
    return write_extract(tmp_path / "square.osm.pbf", NODES, SQUARE)


def places(*nodes: int) -> np.ndarray:
    return np.array([NODES[node] for node in nodes])


def metres(*nodes: int) -> float:
    line = places(*nodes)
    return float(great_circle(line[:-1], line[1:]).sum())


def test_a_leg_is_the_quickest_way_of_streets_for_cars(extract: Path) -> None:
    matrix = RoadExtract(extract).measure(places(1, 3, 4))

    assert matrix.distances is not None and matrix.durations is not None
    assert matrix.distances[0, 1] == pytest.approx(metres(1, 2, 3), abs=0.1)
    assert matrix.durations[0, 1] == pytest.approx(metres(1, 2, 3) / (30 / 3.6), abs=0.1)
    assert matrix.distances[1, 2] == pytest.approx(metres(3, 4), abs=0.1)
    assert matrix.durations[1, 2] == pytest.approx(metres(3, 4) / (65 / 3.6), abs=0.1)
    assert np.diagonal(matrix.distances).tolist() == [0, 0, 0]


def test_one_way_streets_are_driven_one_way_and_limits_are_kept(extract: Path) -> None:
    matrix = RoadExtract(extract).measure(places(4, 3))

    assert matrix.distances is not None and matrix.durations is not None
    assert matrix.distances[0, 1] == pytest.approx(metres(4, 5, 1, 2, 3), abs=0.2)
    expected = metres(4, 5) / (20 / 3.6) + metres(5, 1, 2, 3) / (30 / 3.6)
    assert matrix.durations[0, 1] == pytest.approx(expected, abs=0.2)


def test_stops_beside_a_street_meet_it_where_it_is_nearest(extract: Path) -> None:
    beside = np.array([(53.5003, 10.002), (53.4998, 10.008)])
    matrix = RoadExtract(extract).measure(beside)
    (way,) = RoadExtract(extract).trace(beside)

    assert matrix.distances is not None
    assert matrix.distances[0, 1] == pytest.approx(great_circle(*np.array([(53.5, 10.002), (53.5, 10.008)])), abs=0.5)
    assert np.allclose(way, [(53.5, 10.002), (53.5, 10.005), (53.5, 10.008)], atol=1e-5)


def test_a_way_has_the_length_that_was_measured(extract: Path) -> None:
    roads, stops = RoadExtract(extract), np.array([(53.515, 10.0), (53.505, 10.01), (53.5, 10.003)])
    matrix = roads.measure(stops)

    assert matrix.distances is not None
    for line, length in zip(roads.trace(stops), [matrix.distances[0, 1], matrix.distances[1, 2]], strict=True):
        points = np.array(line)
        assert float(great_circle(points[:-1], points[1:]).sum()) == pytest.approx(length, abs=0.5)


def test_the_streets_are_kept_until_the_file_changes(extract: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = RoadExtract(extract).measure(places(1, 4))
    kept = list((extract.parent / "cache").rglob("*.npz"))
    monkeypatch.setattr("dynaroute.roads.streets._read_extract", lambda path: pytest.fail("read again"))

    again = RoadExtract(extract).measure(places(1, 4))
    assert again.distances is not None and first.distances is not None
    assert np.array_equal(again.distances, first.distances)
    assert len(kept) == 1


STOPS = "id,lat,lon,demand\nDepot,53.5,10.0,0\nA,53.51,10.01,5\nB,53.52,10.0,7\n"


def test_a_day_is_planned_on_the_streets_of_an_extract(extract: Path) -> None:
    path, plan = save(extract.parent, "day.csv", STOPS), extract.parent / "plan.json"
    options = ("--capacity", "20", "--model", "savings", "--improve", "none", "--roads", extract, "--out", plan)
    (result,) = invoke_json("solve", path, *options)

    assert result["unit"] == "m"
    assert invoke_json("check", plan)["ok"]
    drawn = read_plan(plan)
    assert len(drawn.follow(drawn.routes[0])) > len(drawn.routes[0].places)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("Far,53.55,10.2,1\n", "customer 3 (Far) is 1"),
        ("Island,53.6,10.505,1\n", "no way from the depot to customer 3 (Island)"),
    ],
)
def test_a_stop_off_the_streets_is_refused_by_name(row: str, words: str, extract: Path) -> None:
    path = save(extract.parent, "day.csv", STOPS + row)
    with pytest.raises(DynarouteError) as refusal:
        read(path, capacity=20, roads=RoadExtract(extract))

    assert words in str(refusal.value)


def test_what_is_no_extract_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path, "day.csv", STOPS)
    (tmp_path / "map.osm.pbf").write_bytes(b"no map")

    assert "no extract" in invoke("info", path, "--capacity", "9", "--roads", tmp_path / "map.osm.pbf").stderr
    empty = write_extract(tmp_path / "empty.osm.pbf", NODES, [([1, 2], {"highway": "footway"})])
    assert "no streets" in invoke("info", path, "--capacity", "9", "--roads", empty).stderr
