"""tools/links.py finds what is wrong with links of a site."""

from __future__ import annotations

from pathlib import Path

import pytest
from tool_files import load_tool

links = load_tool("links")


def write_site(folder: Path, body: str) -> Path:
    (folder / "part").mkdir()
    (folder / "index.html").write_text(f"<html><head></head><body>{body}</body></html>", encoding="utf-8")
    (folder / "part" / "other.html").write_text('<h2 id="there">There</h2>', encoding="utf-8")
    (folder / "my map.png").write_bytes(b"")
    return folder


@pytest.mark.parametrize(
    "body",
    [
        '<a href="part/other.html#there">x</a>',
        '<p id="here"><a href="#here">x</a></p>',
        '<img src="my%20map.png"><img src="data:image/png;base64,AA">',
        '<a href="https://example.org/gone">x</a>',
        '<link rel="canonical" href="https://example.org/">',
    ],
)
def test_sound_links_are_no_faults(tmp_path: Path, body: str) -> None:
    assert links.find_faults(write_site(tmp_path, body)) == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="gone.html">x</a>', "links to gone.html, which is not there"),
        ('<a href="part/other.html#gone">x</a>', "links to part/other.html#gone, which is not there"),
        ('<a href="#gone">x</a>', "links to #gone, which is not there"),
        ('<img src="gone.png">', "links to gone.png, which is not there"),
        ('<script src="https://example.org/a.js"></script>', "loads https://example.org/a.js"),
        ('<link rel="stylesheet" href="//example.org/a.css">', "loads //example.org/a.css"),
    ],
)
def test_faults_are_told_with_their_page(tmp_path: Path, body: str, fault: str) -> None:
    assert links.find_faults(write_site(tmp_path, body)) == [f"index.html {fault}"]


def test_other_sites_are_listed(tmp_path: Path) -> None:
    site = write_site(tmp_path, '<a href="https://example.org/gone">x</a><a href="part/other.html">y</a>')
    assert links.list_other_sites(site) == ["https://example.org/gone"]
