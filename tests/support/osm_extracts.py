"""Small extracts of maps of our own making."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import osmium

__all__ = ["write_extract"]


def write_extract(
    path: Path, nodes: Mapping[int, tuple[float, float]], ways: Sequence[tuple[Sequence[int], Mapping[str, str]]]
) -> Path:
    """Write nodes, as latitude and longitude, and ways with their tags."""
    with osmium.SimpleWriter(str(path)) as writer:
        for ref, (lat, lon) in nodes.items():
            writer.add_node(osmium.osm.mutable.Node(id=ref, location=(lon, lat), version=1))
        for number, (refs, tags) in enumerate(ways, start=1):
            writer.add_way(osmium.osm.mutable.Way(id=number, nodes=list(refs), tags=dict(tags), version=1))
    return path
