"""Distances of an instance from roads, and from straight lines times a factor."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import assert_refused, invoke, invoke_json, save
from road_servers import serve_roads

from dynaroute.base.errors import DynarouteError
from dynaroute.formats import read
from dynaroute.plans import read_plan, write_plan
from dynaroute.problem.instance import Instance
from dynaroute.roads.source import use_detour

GLOBE = "id,lat,lon,demand\nDepot,53.5,10.0,0\nA,53.51,10.01,5\nB,53.52,10.0,7\nC,53.49,10.03,7\n"
QUICK = ("--capacity", "20", "--model", "savings", "--improve", "none")


def test_a_detour_lengthens_every_leg(tmp_path: Path) -> None:
    path = save(tmp_path, "day.csv", GLOBE)
    straight, longer = read(path, capacity=20), read(path, capacity=20, detour=1.3)

    assert longer.distances is not None
    assert np.allclose(longer.distances, 1.3 * straight.distance_matrix, atol=0.1)
    assert longer.unit == "m"


@pytest.mark.parametrize("factor", ["0.5", "9", "much", "nan"])
def test_an_unlikely_detour_is_refused(factor: str, tmp_path: Path) -> None:
    assert_refused(invoke("info", save(tmp_path, "day.csv", GLOBE), "--capacity", "20", "--detour", factor), "1.3")


def test_a_detour_of_a_matrix_is_refused() -> None:
    with pytest.raises(DynarouteError, match="has a matrix"):
        use_detour(Instance(None, np.array([0, 1]), 5, distances=np.ones((2, 2))), 1.3)


def test_a_plan_keeps_its_detour_so_that_check_agrees(tmp_path: Path) -> None:
    path, plan = save(tmp_path, "day.csv", GLOBE), tmp_path / "plan.json"
    straight = invoke_json("solve", path, *QUICK)[0]["cost"]
    (longer,) = invoke_json("solve", path, *QUICK, "--detour", "1,3", "--out", plan)

    assert longer["cost"] == pytest.approx(1.3 * straight, rel=1e-4)
    assert longer["unit"] == "m"
    assert invoke_json("check", plan)["ok"]


@pytest.mark.parametrize("kind", ["osrm", "valhalla"])
def test_a_plan_follows_the_roads_of_a_server_in_every_map(kind: str, tmp_path: Path) -> None:
    path, plan = save(tmp_path, "day.csv", GLOBE), tmp_path / "plan.json"
    outs = [part for suffix in ("json", "geojson", "kml", "html") for part in ("--out", tmp_path / f"plan.{suffix}")]
    with serve_roads() as fake:
        (result,) = invoke_json("solve", path, *QUICK, f"--{kind}", fake.url, *outs)

    assert result["unit"] == "m" and len(result["arrivals" if "arrivals" in result else "routes"]) >= 1
    assert invoke_json("check", plan)["ok"]
    lines = [
        feature["geometry"]["coordinates"]
        for feature in json.loads((tmp_path / "plan.geojson").read_text())["features"]
        if feature["geometry"]["type"] == "LineString"
    ]
    stops = sum(len(route) + 1 for route in result["routes"])
    assert sum(map(len, lines)) > 3 * stops
    write_plan(read_plan(plan), tmp_path / "again.geojson")
    assert (tmp_path / "again.geojson").read_text() == (tmp_path / "plan.geojson").read_text()
    assert (tmp_path / "plan.kml").stat().st_size > 500 and (tmp_path / "plan.html").stat().st_size > 500


@pytest.mark.parametrize(
    "way", [{"from": 0, "to": 9, "line": []}, {"from": 0, "to": 1, "line": [[95, 0]]}, {"from": 0}, 7]
)
def test_ways_that_lead_nowhere_are_refused(way: object, tmp_path: Path) -> None:
    path, plan = save(tmp_path, "day.csv", GLOBE), tmp_path / "plan.json"
    assert invoke("solve", path, *QUICK, "--out", plan).exit_code == 0
    plan.write_text(json.dumps(json.loads(plan.read_text()) | {"ways": [way]}))
    with pytest.raises(DynarouteError, match=r"ways\[0\]"):
        read_plan(plan)


def test_two_sources_of_distances_are_refused(tmp_path: Path) -> None:
    path = save(tmp_path, "day.csv", GLOBE)

    assert_refused(invoke("info", path, "--osrm", "http://localhost:1", "--detour", "1.3"), "--detour", "Leave out")
