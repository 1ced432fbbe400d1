from __future__ import annotations

from collections.abc import Iterator

import pytest

from dynaroute.search.gpu.emulation import find_compiler
from dynaroute.study import quick_selftest
from dynaroute.study.kernel_comparisons import Comparison
from dynaroute.study.quick_selftest import PARTS, PartOutcome, Scope, report, run_part, run_parts

TINY = Scope("cpu", 3, 4, 1)
WRONG = Comparison("greedy routes", 20, 1.0, 0.0)


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNAROUTE_INTERPRET", "1")


@pytest.mark.skipif(find_compiler() is None, reason="there is no C++ compiler to emulate a GPU with")
def test_every_part_runs_in_a_process_of_its_own_and_is_right() -> None:
    outcomes = list(run_parts(TINY))

    assert {outcome.part for outcome in outcomes} == set(PARTS)
    assert all(outcome.comparisons for outcome in outcomes)
    assert [outcome for outcome in outcomes if not outcome.is_right] == []


def test_a_part_that_is_stopped_says_by_what(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(scope: Scope) -> Iterator[Comparison]:
        yield WRONG
        raise RuntimeError("ptxas was not found")

    monkeypatch.setitem(quick_selftest.PARTS, "replay", stop)

    outcome = run_part("replay", TINY)

    assert outcome.error == "RuntimeError: ptxas was not found"
    assert not outcome.is_right


def test_the_verdict_names_the_parts_that_are_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    right = PartOutcome("search", [Comparison("chains", 20, 0.0, 0.0)], 1.0)

    assert not report([right, PartOutcome("replay", [WRONG], 2.0), PartOutcome("layers", [], 3.0, "RuntimeError: no")])

    assert capsys.readouterr().out.splitlines()[-1].startswith("MISMATCH in replay, layers (")


def test_the_verdict_of_parts_that_agree_is_clear(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([PartOutcome("search", [Comparison("chains", 20, 0.0, 0.0)], 12.4)])

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "search, 12 s"
    assert lines[-1].startswith("every kind of kernel agrees with its twin (")
