from __future__ import annotations

from pathlib import Path

import pytest
from command_line import assert_refused, invoke, invoke_json

from dynaroute.study import generalisation, reproduction
from dynaroute.study.reproduction import Measured, Reproduction


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A measurement that takes no time; the real one has tests of its own."""

    def measure(count: int, device: str, progress: object, kool: Path | None) -> Reproduction:
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
    monkeypatch.setattr(reproduction, "reproduce", lambda count, *rest: measured.append(count))
    assert invoke("reproduce", "--into", tmp_path / "nowhere.md").exit_code == 2
    assert not measured


def test_another_count_is_noted() -> None:
    assert "not the published set" in invoke("reproduce", "--count", "5").stderr


def test_json_holds_the_entries() -> None:
    document = invoke_json("reproduce")
    assert document["entries"] == [{"row": "AM-D (greedy)", "size": 20, "length": 6.25, "seconds": 1.0}]
    assert document["count"] == 10_000


def test_options_of_the_other_table_are_refused_without_it(tmp_path: Path) -> None:
    assert_refused(invoke("reproduce", "--x", tmp_path), "--generalisation")


@pytest.fixture
def generalised(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """A measurement that takes no time; the real one has tests of its own. Holds the counts that were asked for."""
    counts: list[int | None] = []

    def measure(
        model: str, x: Path, xml: Path, count: int | None, device: str, progress: object
    ) -> generalisation.Generalisation:
        counts.append(count)
        entry = generalisation.MeasuredSet(2, 30.0, (1.0, 4.0), (4.0,), 0.5)
        return generalisation.Generalisation("amd", "a GPU", {("amd (greedy)", "X"): entry}, ("XML100",))

    monkeypatch.setattr(generalisation, "measure_generalisation", measure)
    return counts


def test_generalisation_is_printed_and_put_at_its_own_marks(tmp_path: Path, generalised: list[int | None]) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- generalisation: begin -->\n<!-- generalisation: end -->\n")
    result = invoke("reproduce", "--generalisation", "--x", tmp_path, "--into", page)
    assert result.exit_code == 0
    assert "| **amd (greedy)** | 2.50 % | 4.0 % | 4.00 % |" in result.stdout
    assert result.stdout in page.read_text()
    assert "XML100 was not given (--xml FOLDER)" in result.stderr
    assert generalised == [None]


@pytest.mark.usefixtures("generalised")
def test_json_holds_the_entries_of_generalisation() -> None:
    document = invoke_json("reproduce", "--generalisation", "--count", "5")
    assert document["skipped"] == ["XML100"]
    entry = document["entries"][0]
    assert (entry["row"], entry["set"], entry["count"], entry["mean_gap"]) == ("amd (greedy)", "X", 2, 2.5)


def test_options_of_optima_are_refused_without_them(tmp_path: Path) -> None:
    assert_refused(invoke("reproduce", "--proofs", tmp_path / "proofs.jsonl"), "--exact")


def test_optima_are_printed_and_put_at_their_own_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dynaroute.study import exact, optimality

    asked: list[dict[str, object]] = []

    def measure(count: int, **settings: object) -> optimality.Optimality:
        asked.append({"count": count, **settings})
        entry = optimality.MeasuredMethod((5.0, 7.0), 0.3)
        return optimality.Optimality(2, {("exact (gurobi)", 20): entry}, ("PyVRP (pip install pyvrp)",))

    monkeypatch.setattr(optimality, "measure_optimality", measure)
    monkeypatch.setattr(exact, "choose_prover", lambda name: "gurobi")
    page = tmp_path / "page.md"
    page.write_text("<!-- optima: begin -->\n<!-- optima: end -->\n")
    result = invoke("reproduce", "--exact", "--into", page)
    assert result.exit_code == 0
    assert "| exact (gurobi) | 6.00000 | 0.000 % | 100.0 % | 0.3 |" in page.read_text()
    assert "PyVRP (pip install pyvrp) is not installed" in result.stderr
    assert (asked[0]["count"], asked[0]["exact"]) == (30, "gurobi")
    document = invoke_json("reproduce", "--lkh", tmp_path / "LKH", "--count", "3")
    assert document["entries"][0]["mean_length"] == 6.0
    assert (asked[1]["exact"], asked[1]["lkh"]) == (False, tmp_path / "LKH")
