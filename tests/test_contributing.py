from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(set(re.findall(r"`([\w/]+\.py)`", (ROOT / "CONTRIBUTING.md").read_text())))


def test_the_page_names_files() -> None:
    assert {"search/local/moves.py", "formats/registry.py", "model/config.py", "cli/app.py"} <= set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_the_page_names_no_file_that_is_not_there(name: str) -> None:
    rooms = (ROOT, ROOT / "src" / "dynaroute")
    assert any((room / name).is_file() for room in rooms) or any((ROOT / "tests").rglob(name))
