"""The notebooks of docs/notebooks run in a short form; make docs runs them whole, and shows what they print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
SHORT: dict[str, dict[str, Any]] = {
    "delivery-day": {"SECONDS": 5},
    "watch-it-learn": {"MINUTES": 0.03, "SIZE": 5, "COUNT": 4},
    "encoding-anew": {"COUNT": 20},
}


def read_cells(notebook: str) -> list[tuple[str, bool]]:
    """The code of each cell, and whether it holds the parameters."""
    page = (FOLDER / f"{notebook}.md").read_text(encoding="utf-8")
    cells = [token.content for token in MarkdownIt().parse(page) if token.info.startswith("{code-cell}")]
    codes = [cell.removeprefix(":tags: [parameters]\n").removeprefix("%matplotlib inline\n") for cell in cells]
    return [(code, cell.startswith(":tags:")) for code, cell in zip(codes, cells, strict=True)]


def test_every_notebook_has_a_short_form() -> None:
    assert {path.stem for path in FOLDER.glob("*.md")} == set(SHORT)


@pytest.mark.filterwarnings("ignore::dynaroute.base.errors.InputWarning")
@pytest.mark.parametrize("notebook", sorted(SHORT))
def test_a_notebook_runs(notebook: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = read_cells(notebook)
    assert [holds for _, holds in cells].count(True) == 1
    for number, (code, holds_parameters) in enumerate(cells, start=1):
        exec(compile(code, f"{notebook}, cell {number}", "exec", dont_inherit=True), names)
        if holds_parameters:
            assert set(SHORT[notebook]) <= set(names)
            names.update(SHORT[notebook])
