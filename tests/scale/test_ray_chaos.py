"""One kill of each kind; `make chaos` does twenty."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="Ray is not installed")

from chaos import KINDS, Problem, TwoNodes, disturb, make_problem, start_two_nodes

pytestmark = pytest.mark.xdist_group("ray")  # one cluster is enough


@pytest.fixture(scope="module")
def nodes() -> Iterator[TwoNodes]:
    with start_two_nodes() as running:
        yield running


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    return make_problem(tmp_path_factory.mktemp("problem"), 32, ("--iterations", "2000", "--block", "4"))


@pytest.mark.parametrize("kind", KINDS)
def test_kill_costs_no_row_and_changes_none(kind: str, nodes: TwoNodes, problem: Problem, tmp_path: Path) -> None:
    done = disturb(kind, 1, nodes, problem, tmp_path)

    assert (done.kills, done.rows) == (1, len(problem.expected) * done.runs)
