from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from batches import draw, make_rows, read_out

from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.scale.first_routes import are_built_apart, build_first_routes, search_from_first_routes
from dynaroute.scale.input.file_sources import SetSource
from dynaroute.scale.output.parts import Parts
from dynaroute.scale.places import StoragePlace
from dynaroute.scale.rows import Block, FirstRoutes, InputRow
from dynaroute.scale.work import Work, Worker
from dynaroute.solving.options import SolveOptions
from dynaroute.solving.solve import solve_all

SEARCH = SolveOptions(model="amd-20", decode="sample", samples=2, iterations=20, seed=3, device="cpu")


def make_worker(out: Path, options: SolveOptions = SEARCH) -> Worker:
    return Worker(Work(SetSource("", "", 3), Parts(StoragePlace(str(out))), options, group=2, rows=3))


@pytest.mark.parametrize(
    ("options", "is_apart"),
    [
        (SEARCH, True),
        (replace(SEARCH, time_limit=1), False),
        (SolveOptions(iterations=20), False),
        (SolveOptions(model="amd-20"), False),
        (SolveOptions(model="amd-20", total_time=1), False),
    ],
)
def test_first_routes_are_built_apart_where_no_clock_runs(options: SolveOptions, is_apart: bool) -> None:
    assert are_built_apart(options) == is_apart


def test_a_search_from_first_routes_finds_and_tells_the_same_as_one_that_builds_them() -> None:
    (row,) = build_first_routes(make_rows(draw(1)), SEARCH)
    (expected,) = solve_all(draw(1), SEARCH)
    found = search_from_first_routes(row, SEARCH)
    assert found.solution == expected.solution
    assert (found.model_and_method, found.iterations) == (expected.model_and_method, expected.iterations)


def test_routes_are_not_built_again() -> None:
    built, lacking = make_rows(draw(2))
    built = replace(built, first=FirstRoutes(((1, 2),), "another", 0.0))
    kept, found = build_first_routes([built, lacking], SEARCH)
    assert kept == built
    assert found.first is not None
    assert found.first.model == "amd-20"


def test_a_policy_is_not_asked_for_what_it_does_not_know() -> None:
    limited = replace(draw(1)[0], vehicles=(VehicleType(capacity=20, max_stops=2),))
    measured = Instance(None, np.array([0, 1, 1]), 2, distances=1.0 - np.eye(3))
    rows = [InputRow(0, "limited", limited), InputRow(1, "measured", measured)]
    assert build_first_routes(rows, SEARCH) == rows


def test_where_building_together_fails_each_row_is_solved_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynaroute.scale.work.build_first_routes", lambda rows, options: 1 / 0)
    make_worker(tmp_path).solve(Block(0, 3, make_rows(draw(3))))
    assert [(outcome.checked, outcome.model) for outcome in read_out(tmp_path)] == [(True, "amd-20")] * 3


def test_one_worker_builds_and_another_searches(tmp_path: Path) -> None:
    faulty, *rows = make_rows(draw(3))
    block = Block(0, 3, (replace(faulty, instance=None, error="no problem"), *rows))
    built = make_worker(tmp_path).build(block)
    assert built.first_routes is not None
    assert [first is None for first in built.first_routes] == [True, False, False]

    (tmp_path / "apart").mkdir()
    (tmp_path / "at once").mkdir()
    make_worker(tmp_path / "apart").solve(built)
    make_worker(tmp_path / "at once").solve(block)
    apart, at_once = ([replace(each, seconds=0) for each in read_out(tmp_path / name)] for name in ("apart", "at once"))
    assert apart == at_once
