"""One kill of each kind; `make chaos` does twenty."""

from __future__ import annotations

from pathlib import Path

import pytest
from chaos import KINDS, Problem, TwoNodes, disturb, make_problem

pytest_plugins = ("ray_cluster",)


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    return make_problem(tmp_path_factory.mktemp("problem"), 32, ("--iterations", "2000", "--block", "4"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_kill_costs_no_row_and_changes_none(kind: str, nodes: TwoNodes, problem: Problem, tmp_path: Path) -> None:
    done = disturb(kind, 1, nodes, problem, tmp_path, longest_peace=6.0)

    assert (done.kills, done.rows) == (1, len(problem.expected) * done.runs)
