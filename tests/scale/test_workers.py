from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

from batches import SAVINGS, draw, read_out

from dynaroute.base.limits import raise_limits, raised
from dynaroute.scale.input.file_sources import SetSource
from dynaroute.scale.output.parts import Parts
from dynaroute.scale.places import StoragePlace
from dynaroute.scale.rows import Block, InputRow
from dynaroute.scale.work import Work, Worker


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
