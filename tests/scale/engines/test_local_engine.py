from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from batches import SAVINGS, DeadlySource, draw, read_out

from dynaroute.base.errors import DynarouteError
from dynaroute.scale.engines.engine import WorkersNow
from dynaroute.scale.engines.local import LocalEngine
from dynaroute.scale.output.parts import Parts
from dynaroute.scale.places import StoragePlace
from dynaroute.scale.rows import Block
from dynaroute.scale.work import Work
from dynaroute.solving.options import SolveOptions


def make_work(source: DeadlySource, out: Path, options: SolveOptions = SAVINGS) -> Work:
    out.mkdir(exist_ok=True)
    return Work(source, Parts(StoragePlace(str(out))), options, group=2, rows=len(source))


def test_a_worker_that_dies_is_replaced_and_its_block_solved_again(tmp_path: Path) -> None:
    source = DeadlySource.make(draw(8), deadly=5, memory=tmp_path / "killed")
    seen: list[WorkersNow] = []
    blocks = [Block(0, 4), Block(4, 8)]
    reports = list(LocalEngine(2).solve(make_work(source, tmp_path / "out"), blocks, seen.append))
    assert seen == [WorkersNow(2, 1)]
    assert sorted(report.block.first for report in reports) == [0, 4]
    assert [(each.row, each.checked) for each in read_out(tmp_path / "out")] == [(row, True) for row in range(8)]


def test_a_row_that_kills_every_worker_is_found_and_written_with_its_error(tmp_path: Path) -> None:
    source = DeadlySource.make(draw(2), deadly=1)
    list(LocalEngine(1).solve(make_work(source, tmp_path / "out"), [Block(0, 2)], lambda now: None))
    right, deadly = read_out(tmp_path / "out")
    assert right.checked
    assert "workers died while solving this row: killed by SIGKILL" in (deadly.error or "")


def test_an_error_of_ours_in_a_worker_ends_the_run(tmp_path: Path) -> None:
    work = make_work(DeadlySource.make(draw(2), deadly=9), tmp_path / "out")
    (tmp_path / "out").rmdir()
    with pytest.raises(DynarouteError, match="does not exist"):
        list(LocalEngine(1).solve(work, [Block(0, 2)], lambda now: None))


def test_blocks_are_taken_as_workers_become_free(tmp_path: Path) -> None:
    taken = []

    def offer() -> Iterator[Block]:
        for first in range(20):
            taken.append(first)
            yield Block(first, first + 1)

    work = make_work(DeadlySource.make(draw(20), deadly=99), tmp_path / "out")
    reports = LocalEngine(1).solve(work, offer(), lambda now: None)
    next(reports)
    assert len(taken) <= 3
    reports.close()  # type: ignore[attr-defined]
