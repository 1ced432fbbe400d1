from __future__ import annotations

from pathlib import Path

import pytest

from dynaroute.formats import (
    INSTANCE_SUFFIXES,
    SOLUTION_SUFFIXES,
    WRITABLE_INSTANCE_SUFFIXES,
    WRITABLE_SET_SUFFIXES,
)
from dynaroute.formats.registry import FORMATS

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"


def test_lists_of_suffixes_follow_from_the_table() -> None:
    assert INSTANCE_SUFFIXES == (
        ".vrp",
        ".csv",
        ".tsv",
        ".txt",
        ".xlsx",
        ".xlsm",
        ".json",
        ".npz",
        ".parquet",
        ".pt",
        ".pth",
        ".pkl",
    )
    assert SOLUTION_SUFFIXES == (".sol", ".json")
    assert WRITABLE_INSTANCE_SUFFIXES == (".vrp", ".csv", ".txt", ".json", ".npz", ".parquet")
    assert WRITABLE_SET_SUFFIXES == (".json", ".npz", ".parquet")


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_is_on_the_page_about_files(suffix: str) -> None:
    assert suffix.removeprefix(".") in PAGE.read_text(encoding="utf-8").lower()
