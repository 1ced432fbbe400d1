"""The published schemas of GPX 1.1, KML 2.2 and GeoJSON, and what they find wrong with a document."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

__all__ = ["find_geojson_faults", "find_gpx_faults", "find_kml_faults"]

_FOLDER = Path(__file__).parent / "vendor"


def find_gpx_faults(text: str) -> list[str]:
    """What gpx.xsd does not allow."""
    return [str(fault.reason) for fault in _load_xml_schema("gpx.xsd").iter_errors(text)]


def find_kml_faults(text: str) -> list[str]:
    """What ogckml22.xsd does not allow."""
    return [str(fault.reason) for fault in _load_xml_schema("ogckml22.xsd").iter_errors(text)]


def find_geojson_faults(text: str) -> list[str]:
    """What geojson.org's schema of a FeatureCollection does not allow."""
    return [str(fault) for fault in _load_json_schema().iter_errors(json.loads(text))]


@cache
def _load_xml_schema(name: str) -> Any:
    xmlschema = pytest.importorskip("xmlschema", reason="make test installs it")
    return xmlschema.XMLSchema(str(_FOLDER / name))


@cache
def _load_json_schema() -> Any:
    return jsonschema_rs.validator_for(json.loads((_FOLDER / "geojson.json").read_text()))
