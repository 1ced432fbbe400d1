"""Plans for maps: GeoJSON by RFC 7946, GPX 1.1 and KML 2.2 by their schemas."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest
from example_plans import globe_plan
from hypothesis import given
from hypothesis import strategies as st
from published_schemas import find_geojson_faults, find_gpx_faults, find_kml_faults
from strategies import instances, solutions_of

from dynaroute.plans import Plan
from dynaroute.plans.files.geojson import format_geojson
from dynaroute.plans.files.gpx import format_gpx
from dynaroute.plans.files.kml import format_kml
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution

GPX_SPACE, KML_SPACE = "http://www.topografix.com/GPX/1/1", "http://www.opengis.net/kml/2.2"


def assert_geojson(document: Any) -> None:
    """What RFC 7946 demands of a FeatureCollection of points and lines, beyond its schema."""
    for feature in document["features"]:
        kind, coordinates = feature["geometry"]["type"], feature["geometry"]["coordinates"]
        lines = {"Point": [], "LineString": [coordinates], "MultiLineString": coordinates}[kind]
        positions = [coordinates] if kind == "Point" else [position for line in lines for position in line]
        assert all(-180 <= longitude <= 180 and -90 <= latitude <= 90 for longitude, latitude in positions)
        for line in lines:  # section 3.1.9: no line crosses the 180th meridian
            assert all(abs(start[0] - end[0]) <= 180 for start, end in pairwise(line))


@given(st.data())
def test_maps_of_any_plan_are_valid(data: st.DataObject) -> None:
    instance = data.draw(instances(placements=st.sampled_from(("globe", "matrix and globe"))))
    plan = Plan(instance, data.draw(solutions_of(instance)))

    assert find_geojson_faults(format_geojson(plan)) == []
    assert_geojson(json.loads(format_geojson(plan)))
    assert find_gpx_faults(format_gpx(plan)) == []
    assert find_kml_faults(format_kml(plan)) == []


def test_schemas_find_faults() -> None:
    text = format_gpx(globe_plan())
    swapped = re.sub(r"(<name>.*?</name>)\s*(<desc>.*?</desc>)", r"\2\1", text, count=1)

    assert find_gpx_faults(text) == []
    assert find_gpx_faults(swapped) != []
    assert find_kml_faults(format_kml(globe_plan()).replace("<width>3<", "<width>wide<")) != []
    assert find_geojson_faults(format_geojson(globe_plan()).replace('"Point"', '"Dot"')) != []


def test_gpx_has_a_route_each_with_named_points_and_degrees_in_range() -> None:
    root = fromstring(format_gpx(globe_plan()))
    routes = root.findall(f"{{{GPX_SPACE}}}rte")

    assert [len(route.findall(f"{{{GPX_SPACE}}}rtept")) for route in routes] == [6, 7]
    points = [point for route in routes for point in route.findall(f"{{{GPX_SPACE}}}rtept")]
    assert points[1].findtext(f"{{{GPX_SPACE}}}name") == "<b>bold</b> Kunde 3 <script>"
    assert all(-180 <= float(point.attrib["lon"]) < 180 for point in points)


@pytest.mark.parametrize("longitude", [180.0, 179.99999999])
def test_longitude_180_is_written_to_gpx_as_its_schema_wants_it(longitude: float) -> None:
    places = np.array([[0.0, longitude], [1.0, 179.0]])
    plan = Plan(Instance(places, np.array([0, 1]), 1, metric="great_circle"), Solution(((1,),)))

    assert 'lon="-180.0000000"' in format_gpx(plan)


def test_line_across_the_date_line_is_cut_there() -> None:
    places = np.array([[10.0, 170.0], [20.0, -170.0]])
    plan = Plan(Instance(places, np.array([0, 1]), 1, metric="great_circle"), Solution(((1,),)))

    line = json.loads(format_geojson(plan))["features"][1]["geometry"]
    assert line["type"] == "MultiLineString"
    assert line["coordinates"][0] == [[170.0, 10.0], [180.0, 15.0]]
    assert line["coordinates"][1] == [[-180.0, 15.0], [-170.0, 20.0], [-180.0, 15.0]]


def test_names_stay_text_in_xml_and_in_the_html_of_a_kml_description() -> None:
    text = format_kml(globe_plan())

    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    marks = fromstring(text).iter(f"{{{KML_SPACE}}}description")
    assert not [mark.text for mark in marks if mark.text and "<" in mark.text]


@pytest.mark.parametrize("write", [format_gpx, format_kml])
def test_characters_that_xml_forbids_are_replaced(write: Any) -> None:
    places = np.array([[0.0, 1.0], [1.0, 2.0]])
    instance = Instance(places, np.array([0, 1]), 1, metric="great_circle", customer_names=("a\ufffeb",))

    assert "a\ufffdb" in write(Plan(instance, Solution(((1,),))))
