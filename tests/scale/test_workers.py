from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from batches import SAVINGS, draw, read_out

from dynaroute.base.errors import DynarouteError
from dynaroute.base.limits import raise_limits, raised
from dynaroute.problem.instance import Instance
from dynaroute.scale import work as work_module
from dynaroute.scale.input.file_sources import SetSource
from dynaroute.scale.output.parts import Parts
from dynaroute.scale.places import StoragePlace
from dynaroute.scale.rows import Block, InputRow
from dynaroute.scale.work import Work, Worker
from dynaroute.solving.options import SolveOptions


class SourceNamedByLimits(SetSource):
    """A set whose rows are called by a limit of 10, as it is where they are read."""

    def read(self, block: Block) -> list[InputRow]:
        return [replace(row, id=str(raised(10))) for row in super().read(block)]


def test_limits_that_the_driver_raised_are_raised_in_workers(tmp_path: Path) -> None:
    row = InputRow(0, "row", draw(1)[0])
    with raise_limits(3):
        work = Work(SourceNamedByLimits("", "", 1), Parts(StoragePlace(str(tmp_path))), SAVINGS, group=1, rows=1)

    Worker(pickle.loads(pickle.dumps(work))).solve(Block(0, 1, (row,)))

    assert [outcome.id for outcome in read_out(tmp_path)] == ["30"]


def test_machine_code_is_loaded_once_before_the_clock_of_a_row_that_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[object] = []

    def refuse(instances: list[Instance], _: SolveOptions) -> None:
        happened.append("solve")
        raise DynarouteError("not now.")

    monkeypatch.setattr(work_module, "load_machine_code", happened.extend)
    monkeypatch.setattr(work_module, "solve_all", refuse)
    plain = draw(1)[0]
    timed = replace(plain, windows=np.tile([0.0, 10.0], (plain.size + 1, 1)), speed=1.0)
    rows = tuple(InputRow(number, str(number), each) for number, each in enumerate([plain, timed, timed]))
    options = SolveOptions(time_limit=1, device="cpu")
    work = Work(SetSource("", "", 3), Parts(StoragePlace(str(tmp_path))), options, group=1, rows=3)

    Worker(work).solve(Block(0, 3, rows))

    assert happened == ["search", "solve", "limits", "solve", "solve"]
