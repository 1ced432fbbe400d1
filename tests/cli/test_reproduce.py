from __future__ import annotations

from pathlib import Path

import pytest
from command_line import invoke, invoke_json

from dynaroute import reproduction
from dynaroute.reproduction import Measured, Reproduction


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A measurement that takes no time; the real one has tests of its own."""

    def measure(count: int, device: str, progress: object) -> Reproduction:
        return Reproduction(count, device, {("AM-D (greedy)", 20): Measured(6.25, 1.0)}, {"amd-20": 3.8})

    monkeypatch.setattr(reproduction, "reproduce", measure)


def test_tables_are_printed_and_put_into_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- tables: begin -->\n<!-- tables: end -->\n")
    result = invoke("reproduce", "--into", page)
    assert result.exit_code == 0
    assert "| **AM-D (greedy)** | 6.250" in result.stdout
    assert result.stdout in page.read_text()


def test_a_page_that_cannot_be_used_is_told_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[int] = []
    monkeypatch.setattr(reproduction, "reproduce", lambda count, device, progress: measured.append(count))
    assert invoke("reproduce", "--into", tmp_path / "nowhere.md").exit_code == 2
    assert not measured


def test_another_count_is_noted() -> None:
    assert "not the published set" in invoke("reproduce", "--count", "5").stderr


def test_json_holds_the_entries() -> None:
    document = invoke_json("reproduce")
    assert document["entries"] == [{"row": "AM-D (greedy)", "size": 20, "length": 6.25, "seconds": 1.0}]
    assert document["count"] == 10_000
