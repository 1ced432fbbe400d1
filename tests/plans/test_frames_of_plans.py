"""Plans as DataFrames, and as maps for notebooks."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from example_plans import globe_plan, plane_plan, unserved_plan

from dynaroute.base.errors import UnsupportedError
from dynaroute.plans import Plan
from dynaroute.plans.frames import PageMap, list_routes, list_stops, make_map
from dynaroute.solving.result import SAVINGS, Result


def timed_plan() -> Plan:
    plan = globe_plan()
    return Plan(replace(plan.instance, speed=10.0), plan.solution)


def test_stops_have_a_row_each_with_numbers_and_times() -> None:
    frame = list_stops(timed_plan())

    assert len(frame) == 9 + 2 * 2
    assert frame["demand"].sum() == 29
    assert isinstance(frame["arrival"].iloc[1], pd.Timedelta)
    assert pd.isna(frame["arrival"].iloc[0])


def test_routes_have_a_row_each() -> None:
    frame = list_routes(timed_plan())

    assert frame["route"].tolist() == [1, 2]
    assert frame["stops"].tolist() == [4, 5]
    assert (frame["end"] > frame["departure"]).all()
    assert frame["distance km"].sum() == pytest.approx(timed_plan().cost / 1000, abs=0.01)


def test_customers_that_are_not_served_are_among_the_stops() -> None:
    assert (list_stops(unserved_plan())["route"] == "not served").sum() == 2


def test_a_result_gives_its_frames_and_its_map() -> None:
    plan = plane_plan()
    result = Result(plan.instance, plan.solution, plan.cost, 0.1, SAVINGS)

    assert len(result.stops()) == 7 and len(result.routes()) == 2
    assert result.routes()["distance"].sum() == pytest.approx(plan.cost)
    assert "<svg" in result.map()._repr_html_().replace("&lt;", "<")
    assert "<svg" in result._repr_html_()


def test_a_map_without_folium_is_our_page(tmp_path: Path) -> None:
    drawn = make_map(globe_plan())
    if not isinstance(drawn, PageMap):
        pytest.skip("folium is installed")
    drawn.save(str(tmp_path / "map.html"))

    assert "<script>" not in (tmp_path / "map.html").read_text(encoding="utf-8")


def test_without_pandas_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UnsupportedError) as refusal:
        list_stops(globe_plan())

    assert "pip install pandas" in refusal.value.remedy
