"""Batches on a Ray cluster of two nodes with a core each; the second says that it has a GPU."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

import pytest
from batches import (
    SAVINGS,
    DeadlySource,
    NotingSource,
    change_column,
    draw,
    make_rows,
    read_out,
    routes_of,
    run,
    write_input,
)
from chaos import TwoNodes

from dynaroute.base.errors import DynarouteError, OptionError
from dynaroute.formats import write
from dynaroute.scale.engines.engine import WorkersNow
from dynaroute.scale.engines.ray_engine import RayEngine
from dynaroute.scale.input.file_sources import SetSource
from dynaroute.scale.output.parts import Parts
from dynaroute.scale.places import StoragePlace
from dynaroute.scale.rows import Block
from dynaroute.scale.run import BatchRequest, run_batch
from dynaroute.scale.work import Work, Worker
from dynaroute.solving.options import SolveOptions

pytest_plugins = ("ray_cluster",)


def make_work(source: DeadlySource, out: Path) -> Work:
    out.mkdir()
    return Work(source, Parts(StoragePlace(str(out))), SAVINGS, group=2, rows=len(source))


def test_gpu_actors_find_the_routes_of_processes_here(nodes: TwoNodes, model: Path, tmp_path: Path) -> None:
    """The GPU is one that the node only declares: its actor works on a processor, as the options say."""
    file = write_input(tmp_path, 24)
    change_column(file, "capacity", lambda cells: [None, *cells[1:]])
    options = SolveOptions(model=model, decode="sample", samples=4, device="cpu", seed=5)
    engine = RayEngine(nodes.address, workers=1, gpus=1)  # a node that was killed may still be counted

    summary = run_batch(BatchRequest(str(file), str(tmp_path / "ray"), options, block=8), engine)
    run(file, tmp_path / "here", options)

    assert (summary.workers, summary.tally.failed) == (WorkersNow(1), 1)
    assert routes_of(tmp_path / "ray") == routes_of(tmp_path / "here")


def test_gpu_actors_build_what_others_search(nodes: TwoNodes, model: Path, tmp_path: Path) -> None:
    for name in ("notes", "ray", "here"):
        (tmp_path / name).mkdir()
    source = NotingSource("", "", 6, make_rows(draw(6)), str(tmp_path / "notes"))
    options = SolveOptions(model=model, iterations=20, device="cpu", seed=5)
    work = Work(source, Parts(StoragePlace(str(tmp_path / "ray"))), options, group=2, rows=6)
    blocks, engine = [Block(0, 4), Block(4, 6)], RayEngine(nodes.address, workers=1, gpus=1)

    assert engine.count_workers(work) == 2  # one of each
    list(engine.solve(work, blocks, lambda now: None))

    readers = [note.name.split() for note in (tmp_path / "notes").iterdir()]
    processes = {process for _, process in readers}
    assert sorted(readers) == sorted([first, process] for first in ("0", "4") for process in processes)
    assert len(processes) == 2
    here = Worker(replace(work, parts=Parts(StoragePlace(str(tmp_path / "here")))))
    for block in blocks:
        here.solve(source.prepare(block))
    assert routes_of(tmp_path / "ray") == routes_of(tmp_path / "here")


def test_rows_of_a_set_travel_to_the_actors(nodes: TwoNodes, tmp_path: Path) -> None:
    write(draw(10), tmp_path / "set.npz")

    request = BatchRequest(str(tmp_path / "set.npz"), str(tmp_path / "ray"), SAVINGS, block=3)
    summary = run_batch(request, RayEngine(nodes.address))
    run(tmp_path / "set.npz", tmp_path / "here")

    assert summary.workers == WorkersNow(2)
    assert routes_of(tmp_path / "ray") == routes_of(tmp_path / "here")


def test_a_row_that_its_actors_die_of_is_written_with_its_error(nodes: TwoNodes, tmp_path: Path) -> None:
    work = make_work(DeadlySource.make(draw(4), deadly=2), tmp_path / "out")
    seen: list[WorkersNow] = []

    reports = list(RayEngine(nodes.address).solve(work, [Block(0, 2), Block(2, 4)], seen.append))

    found = read_out(tmp_path / "out")
    assert sorted(report.block.first for report in reports) == [0, 2, 3]
    assert [each.row for each in found if each.checked] == [0, 1, 3]
    assert "workers died while solving this row" in (found[2].error or "")
    assert seen == [WorkersNow(2, 4)]  # the block of two rows killed two of them, the row itself two more


def test_an_error_of_ours_in_an_actor_ends_the_run(nodes: TwoNodes, tmp_path: Path) -> None:
    work = make_work(DeadlySource.make(draw(2), deadly=9), tmp_path / "out")
    (tmp_path / "out").rmdir()

    with pytest.raises(DynarouteError, match="does not exist"):
        list(RayEngine(nodes.address).solve(work, [Block(0, 2)], lambda now: None))


@dataclass(frozen=True)
class UnknownSource(SetSource):
    """One that comes from a module which is nowhere but here."""

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return import_module, ("not_installed",)


def test_actors_that_cannot_start_end_the_run_with_the_reason(nodes: TwoNodes, tmp_path: Path) -> None:
    work = replace(make_work(DeadlySource.make(draw(2), deadly=9), tmp_path / "out"), source=UnknownSource("", "", 2))

    with pytest.raises(DynarouteError, match="No module named 'not_installed'"):
        list(RayEngine(nodes.address).solve(work, [Block(0, 2)], lambda now: None))


def test_more_gpus_than_there_are_is_refused(nodes: TwoNodes, tmp_path: Path) -> None:
    work = make_work(DeadlySource.make(draw(2), deadly=9), tmp_path / "out")

    with pytest.raises(OptionError, match="needs one core and 2 GPUs"):
        list(RayEngine(nodes.address, gpus=2).solve(work, [Block(0, 2)], lambda now: None))


@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1:{free}"])
def test_an_address_where_no_cluster_is_is_refused_at_once(address: str, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    work = make_work(DeadlySource.make(draw(2), deadly=9), tmp_path / "out")
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]

    with pytest.raises(OptionError, match="Ray cannot be used") as caught:
        RayEngine(address.format(free=free)).count_workers(work)

    assert caught.value.where.field == "address"


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    work = make_work(DeadlySource.make(draw(2), deadly=9), tmp_path / "out")

    with pytest.raises(OptionError, match="ray is not installed") as caught:
        RayEngine().count_workers(work)

    assert "[ray]" in (caught.value.remedy or "")


@pytest.mark.parametrize("gpus", [-1, 1.5])
def test_numbers_of_gpus_that_make_no_sense_are_refused(gpus: float) -> None:
    with pytest.raises(OptionError, match="cannot have"):
        RayEngine(gpus=gpus)
