"""What holds the site together, as far as it can be told without building it: `make docs` does."""

from __future__ import annotations

import importlib
import inspect
import re
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from markdown_it import MarkdownIt

import dynaroute

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
REFERENCE = "\n".join(path.read_text(encoding="utf-8") for path in sorted((DOCS / "reference").glob("*.rst")))
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.glob("*.md")), *sorted((DOCS / "notebooks").glob("*.md"))]
NAMED = {name.rpartition(".")[2] for name in re.findall(r"\.\. auto(?:class|function|data):: (\S+)", REFERENCE)}


def find_whole_modules() -> list[ModuleType]:
    """Modules whose names are all in the reference."""
    return [importlib.import_module(name) for name in re.findall(r"\.\. automodule:: (\S+)\n   :members:\n", REFERENCE)]


def list_public_names() -> list[tuple[str, Any]]:
    names = [(f"dynaroute.{name}", getattr(dynaroute, name)) for name in dynaroute.__all__]
    for module in find_whole_modules():
        names += [(f"{module.__name__}.{name}", getattr(module, name)) for name in module.__all__]
    return [(name, value) for name, value in names if inspect.isclass(value) or inspect.isfunction(value)]


@pytest.mark.parametrize("name", dynaroute.__all__)
def test_every_public_name_is_in_the_reference(name: str) -> None:
    assert name in NAMED


@pytest.mark.parametrize(("name", "value"), list_public_names(), ids=lambda part: part if isinstance(part, str) else "")
def test_every_public_name_is_documented(name: str, value: Any) -> None:
    assert inspect.getdoc(value), f"{name} has no docstring"


@pytest.mark.parametrize("name", dynaroute.__all__)
def test_every_parameter_of_a_public_function_is_documented(name: str) -> None:
    value = getattr(dynaroute, name)
    if not inspect.isfunction(value):
        return
    text = inspect.getdoc(value) or ""
    section = text.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    documented = {word.strip(" *") for line in section.splitlines() if line[:1] != " " for word in line.split(",")}
    assert set(inspect.signature(value).parameters) <= documented


def list_places(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    tokens = MarkdownIt().parse(page.read_text(encoding="utf-8"))
    titles = [after.content for before, after in pairwise(tokens) if before.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", title).lower()).replace(" ", "-") for title in titles}


def list_links(page: Path) -> list[str]:
    tokens = MarkdownIt().parse(page.read_text(encoding="utf-8"))
    parts = [part for token in tokens for part in token.children or []]
    return [str(part.attrGet("href") or part.attrGet("src")) for part in parts if part.type in ("link_open", "image")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in list_links(page):
        path, _, place = link.partition("#")
        if "://" in link:
            continue
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not place or place in list_places(target), link


def test_every_page_is_on_the_site() -> None:
    contents = (DOCS / "index.md").read_text(encoding="utf-8")
    entries = [line for block in re.findall(r"```\{toctree\}\n(.*?)```", contents, re.DOTALL) for line in block.split()]
    listed = {path for entry in entries if not entry.startswith(":") for path in DOCS.glob(f"{entry}.md")}
    assert set(DOCS.rglob("*.md")) - set(DOCS.glob("_build/**/*")) == listed | {DOCS / "index.md"}


def test_equations_have_the_numbers_that_the_overview_explains(shared_data: Path) -> None:
    source = (shared_data.parent / "paper.tex").read_text(encoding="utf-8")
    labels = [int(label) for label in re.findall(r"\\label\{eq(\d+)\}", source)]
    printed = {label: number for number, label in enumerate(labels, 1) if number != label}
    assert printed == {26: 24, 27: 25}
    overview = " ".join((DOCS / "paper.md").read_text(encoding="utf-8").split())
    assert "prints the equations `eq26` and `eq27` as (24) and (25)" in overview
