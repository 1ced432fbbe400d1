"""Every declared option survives whatever carries options: storing, continuing, batches and shards."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynaroute.base.errors import OptionError
from dynaroute.draw import draw_paper_set
from dynaroute.formats import write
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution
from dynaroute.scale import first_routes, run, work
from dynaroute.scale.engines.engine import WorkersNow
from dynaroute.scale.input.file_sources import SetSource
from dynaroute.scale.manifest import OF_INPUT, Manifest, Shard
from dynaroute.scale.output.parts import Parts
from dynaroute.scale.places import StoragePlace
from dynaroute.scale.rows import Block, FirstRoutes, InputRow
from dynaroute.scale.run import BatchRequest
from dynaroute.scale.work import BlockReport, Work, Worker
from dynaroute.service.jobs.file import JobFile, KeptJob
from dynaroute.service.jobs.job import Job
from dynaroute.service.messages.request_options import can_be_solved_together
from dynaroute.service.messages.response_schemas import ImprovementSchema, JobResponse
from dynaroute.solving.carried_options import options_from_json, options_to_json
from dynaroute.solving.options import DECLARATIONS, SolveOptions

(INSTANCE,) = draw_paper_set(6, 1, np.random.default_rng(0), 20).instances()
PLAN = Solution(((1, 2), (3, 4), (5, 6)), 9.5, vehicles=(0, 1, 0))
SEARCH: dict[str, Any] = {"improve": "search"}

# for each option, a value other than its default, with the options that it needs
EXAMPLES: dict[str, dict[str, Any]] = {
    "model": {"model": "savings"},
    "decode": {"decode": "multistart"},
    "samples": {"decode": "sample", "samples": 3},
    "temperature": {"decode": "sample", "temperature": 0.5},
    "augment": {"augment": True},
    "seed": {"seed": 5},
    "device": {"device": "cpu"},
    "improve": {"improve": "local"},
    "time_limit": {"time_limit": 3.5},
    "total_time": {"total_time": 4.5},
    "iterations": {"iterations": 17},
    "target": {"target": 1.5},
    "objective": {**SEARCH, "objective": "vehicles"},
    "start": {**SEARCH, "start": PLAN},
    "threads": {"threads": 2},
}
OF_POLICY = ("model", "decode", "samples", "temperature", "augment")  # known routes need none
OF_WORKERS = ("threads", "device", "start")  # each worker has one core and its device, and batches have no start

each_option = pytest.mark.parametrize("name", DECLARATIONS)


def make(name: str, **more: Any) -> SolveOptions:
    return SolveOptions(**{**EXAMPLES[name], **more})


def keep(options: SolveOptions, best: ImprovementSchema | None = None) -> KeptJob:
    answer = JobResponse(
        id="a",
        state="running",
        instance="",
        time_limit=options.time_limit,
        seconds=1.0,
        improvements=0 if best is None else 1,
        best=best,
        result=None,
        error=None,
    )
    return KeptJob(answer, options, (), INSTANCE)


def store_and_load(folder: Path, kept: KeptJob) -> KeptJob:
    file = JobFile(str(folder))
    file.add(kept)
    (found,) = file.load()
    file.close()
    return found


def test_there_is_an_example_of_every_option() -> None:
    assert EXAMPLES.keys() == DECLARATIONS.keys()
    for name in DECLARATIONS:
        assert getattr(make(name), name) != getattr(SolveOptions(), name)


@each_option
def test_option_survives_conversion_to_json(name: str) -> None:
    assert options_from_json(json.loads(json.dumps(options_to_json(make(name))))) == make(name)


@each_option
def test_option_survives_storing_a_job(name: str, tmp_path: Path) -> None:
    assert store_and_load(tmp_path, keep(make(name))).options == make(name)


@each_option
def test_option_survives_continuing_a_job_from_its_best(name: str, tmp_path: Path) -> None:
    if name in ("total_time", "start"):
        pytest.skip("a job has one instance and a time limit, and its own start")
    best = ImprovementSchema(seconds=0.5, cost=9.5, routes=[[1, 2, 3, 4, 5, 6]], loads=[6.0], route_costs=[9.5])
    options = make(name, improve="search", time_limit=3.5, **({} if name != "model" else {"model": "amd-20"}))

    remaining = Job.restore(store_and_load(tmp_path, keep(options, best))).remaining

    assert remaining.start == Solution(((1, 2, 3, 4, 5, 6),))
    assert remaining.time_limit == pytest.approx(2.5)
    if name not in (*OF_POLICY, "time_limit"):
        assert getattr(remaining, name) == getattr(options, name)


@each_option
def test_requests_that_differ_in_an_option_are_not_solved_together(name: str) -> None:
    needed = {other: value for other, value in EXAMPLES[name].items() if other != name}

    assert can_be_solved_together(make(name), make(name))
    assert not can_be_solved_together(make(name), SolveOptions(**needed))


@dataclass(frozen=True)
class OneWorker:
    """An engine with one worker, to which the work is sent as if it were another process."""

    def count_workers(self, work: Work) -> int:
        return 1

    def solve(self, work: Work, blocks: Iterable[Block], tell: Callable[[WorkersNow], None]) -> Iterator[BlockReport]:
        worker = Worker(pickle.loads(pickle.dumps(work)))
        for block in blocks:
            yield worker.solve(pickle.loads(pickle.dumps(work.source.prepare(block))))


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[SolveOptions]:
    """The options of every row that is solved, after its first routes."""
    found: list[SolveOptions] = []

    def note(_: Sequence[Instance], options: SolveOptions) -> None:
        found.append(options)
        raise OptionError("seen.")

    monkeypatch.setattr(work, "solve_all", note)
    monkeypatch.setattr(first_routes, "solve_all", note)
    return found


@each_option
@pytest.mark.parametrize("shard", ["1/1", "1/2", "2/2"])
def test_option_reaches_the_rows_of_a_batch_and_its_shards(
    name: str, shard: str, tmp_path: Path, seen: list[SolveOptions]
) -> None:
    if name in OF_WORKERS:
        pytest.skip("workers choose it themselves")
    write([INSTANCE] * 4, tmp_path / "in.npz")
    request = BatchRequest(str(tmp_path / "in.npz"), str(tmp_path / "out"), make(name), Shard.parse(shard))

    run.run_batch(request, OneWorker())

    found = [getattr(options, name) for options in seen]
    if name == "total_time":
        found = [sum(found)]  # rows share it
    assert set(found) == {EXAMPLES[name][name]}


@each_option
def test_option_reaches_rows_of_a_batch_whose_first_routes_are_known(
    name: str, tmp_path: Path, seen: list[SolveOptions]
) -> None:
    if name in (*OF_WORKERS, *OF_POLICY):
        pytest.skip("workers choose it themselves, or it is used before")
    known = FirstRoutes(PLAN.routes, "amd-20", 0.0)
    options = make(name, improve="search")

    Worker(Work(SetSource("", "", 1), Parts(StoragePlace(str(tmp_path))), options, group=1, rows=1)).solve(
        Block(0, 1, (InputRow(0, "row", INSTANCE),), first_routes=(known,))
    )

    assert [getattr(options, name) for options in seen] == [getattr(options, name)]
    assert seen[0].start == Solution(PLAN.routes)


@each_option
def test_run_is_neither_continued_nor_merged_with_another_value(name: str, tmp_path: Path) -> None:
    if name in OF_WORKERS:
        pytest.skip("it does not decide the routes")
    needed = {other: value for other, value in EXAMPLES[name].items() if other != name}
    place = StoragePlace(str(tmp_path))
    for options in (make(name), SolveOptions(**needed)):
        described = run._describe_options(options, "cpu")
        Manifest("in", "digest", 1, described, 1, 1).write(place)
        read = Manifest.read(place)
        assert read.options == described
        if options == make(name):
            first = read
    with pytest.raises(OptionError, match=name):
        first.refuse_other(read, place)
    assert [what for what, _, _ in first.compare(read, OF_INPUT)] == [f"the option {name}"]
