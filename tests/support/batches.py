"""Small inputs for batches, an engine that needs no process, and sources that kill."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dynaroute.draw import draw_paper_set
from dynaroute.formats import write
from dynaroute.problem.instance import Instance
from dynaroute.scale.engines.engine import WorkersNow
from dynaroute.scale.input.file_sources import SetSource
from dynaroute.scale.output.outcomes import RowOutcome
from dynaroute.scale.output.parts import Parts
from dynaroute.scale.output.summary import BatchSummary
from dynaroute.scale.places import StoragePlace
from dynaroute.scale.rows import Block, InputRow
from dynaroute.scale.run import BatchRequest, run_batch
from dynaroute.scale.work import BlockReport, Work, Worker
from dynaroute.solving.options import SolveOptions

SAVINGS = SolveOptions(model="savings")


@dataclass(frozen=True)
class SameProcess:
    """An engine that works where it is asked, so that tests do not wait for processes."""

    workers: int = 1

    def count_workers(self, work: Work) -> int:
        return self.workers

    def solve(self, work: Work, blocks: Iterable[Block], tell: Callable[[WorkersNow], None]) -> Iterator[BlockReport]:
        worker = Worker(work)
        for block in blocks:
            yield worker.solve(work.source.prepare(block))


def draw(count: int, size: int = 6, seed: int = 0) -> list[Instance]:
    return draw_paper_set(size, count, np.random.default_rng(seed), 20).instances()


def make_rows(instances: list[Instance]) -> tuple[InputRow, ...]:
    return tuple(InputRow(number, f"row {number}", each) for number, each in enumerate(instances))


def write_input(folder: Path, count: int = 12, **more: Any) -> Path:
    """A Parquet file with small instances, called 1, 2, ..."""
    file = folder / "in.parquet"
    write(draw(count, **more), file)
    return file


def change_column(file: Path, name: str, change: Callable[[list[Any]], list[Any]], **settings: Any) -> None:
    """Change the cells of a column of a Parquet file."""
    table = pq.read_table(file)
    cells = change(table.column(name).to_pylist())
    pq.write_table(table.set_column(table.column_names.index(name), name, pa.array(cells)), file, **settings)


def drop_checksum(file: Path) -> None:
    """Make a part as version 0.1.0 wrote it."""
    pq.write_table(pq.read_table(file).replace_schema_metadata(None), file)


def run(input: Path, out: Path, options: SolveOptions = SAVINGS, **more: Any) -> BatchSummary:
    return run_batch(BatchRequest(str(input), str(out), options, **more), SameProcess())


def read_out(out: Path | str) -> list[RowOutcome]:
    """All rows of an output, in the order of the input."""
    parts = Parts(StoragePlace(str(out)))
    return [outcome for block in parts.find() for outcome in parts.read(block)]


def routes_of(out: Path | str) -> dict[str, object]:
    """What is promised to be the same in every run."""
    return {each.id: (each.row, each.routes, each.cost, each.error, each.checked) for each in read_out(out)}


@dataclass(frozen=True)
class DeadlySource(SetSource):
    """A set that kills whoever reads one of its rows: always, or once where there is a file to remember it."""

    deadly: int = 0
    memory: str | None = None

    @classmethod
    def make(cls, instances: list[Instance], deadly: int, memory: Path | None = None) -> DeadlySource:
        return cls("deadly", "", len(instances), make_rows(instances), deadly, None if memory is None else str(memory))

    def read(self, block: Block) -> list[InputRow]:
        if block.first <= self.deadly < block.end and not block.fault and not self._remembers():
            os.kill(os.getpid(), signal.SIGKILL)
        return super().read(block)

    def _remembers(self) -> bool:
        if self.memory is None:
            return False
        did_kill = Path(self.memory).exists()
        Path(self.memory).touch()
        return did_kill


@dataclass(frozen=True)
class NotingSource(SetSource):
    """A set that notes, as names of files in a folder, which processes read a block."""

    notes: str = ""

    def read(self, block: Block) -> list[InputRow]:
        (Path(self.notes) / f"{block.first} {os.getpid()}").touch()
        return super().read(block)
