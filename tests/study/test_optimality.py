"""The table of optima: every method beside proofs, which are kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from dynaroute.base.errors import FormatError
from dynaroute.draw import draw_published_set
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.solving.solve import solve
from dynaroute.study import optimality
from dynaroute.study.exact import Proof
from dynaroute.study.optimality import MeasuredMethod, Optimality, measure_optimality, read_proofs


@pytest.fixture
def proven(monkeypatch: pytest.MonkeyPatch) -> list[Instance]:
    """A prover that believes the search; what it was asked is listed."""
    asked: list[Instance] = []

    def prove(instance: Instance, start: Solution, prover: str) -> Proof:
        asked.append(instance)
        return Proof(Solution(start.routes, start.cost(instance)), start.cost(instance), 0.5)

    monkeypatch.setattr(optimality, "prove", prove)
    monkeypatch.setattr(optimality, "choose_prover", lambda name: "gurobi")
    monkeypatch.setattr(optimality, "is_installed", lambda package: False)
    monkeypatch.setattr(optimality, "shipped_models", lambda: {"amd-20": 20, "amd-50": 50})
    return asked


def test_proofs_are_kept_and_not_made_again(tmp_path: Path, proven: list[Instance]) -> None:
    path = tmp_path / "proofs.jsonl"
    first = measure_optimality(2, exact=True, proofs=path)
    assert len(proven) == 2
    again = measure_optimality(3, exact=True, proofs=path)
    assert len(proven) == 3
    assert again.entries["exact (gurobi)", 20].lengths[:2] == first.entries["exact (gurobi)", 20].lengths
    assert {row for row, _ in again.entries} >= {"exact (gurobi)", "amd-20, greedy", "amd-20, x8 augmentation"}
    assert again.skipped == ("HGS-CVRP (pip install hygese)", "PyVRP (pip install pyvrp)")


WRONG_ROUTES = '{"instance": 1, "cost": 1.0, "bound": 1, "seconds": 1, "routes": [[1]]}'


@pytest.mark.parametrize("line", ["{}", "nothing", WRONG_ROUTES])
def test_what_is_no_proof_of_the_instance_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "proofs.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(FormatError, match="not a valid proof"):
        read_proofs(path, draw_published_set(20, 2).instances())


def test_gaps_are_to_the_proven_optimum() -> None:
    entries = {
        ("exact (gurobi)", 20): MeasuredMethod((5.0, 6.0), 0.3),
        ("greedy", 20): MeasuredMethod((5.0, 6.55), 0.1),
        ("LKH3", 50): MeasuredMethod((10.0, 10.0), 1.0),
        ("greedy", 50): MeasuredMethod((10.0, 10.5), 1.0),
    }
    table = Optimality(2, entries).to_markdown()
    assert "| greedy | 5.77500 | 5.000 % | 50.0 % | 0.1 | 10.25000 | 2.500 % |  | 1 |" in table
    assert "else to the best of the column" in table


def test_lkh_is_measured_at_all_sizes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, proven: list[Instance]) -> None:
    def answer(binary: Path, instance: Instance, seed: int) -> Sequence[Sequence[int]]:
        return solve(instance, model="savings", improve="none").solution.routes

    monkeypatch.setattr(optimality, "solve_with_lkh", answer)
    monkeypatch.setattr(optimality, "_list_own", lambda *arguments: ())
    measured = measure_optimality(1, lkh=tmp_path / "LKH")
    assert [size for row, size in measured.entries if row == "LKH3"] == [20, 50, 100]
