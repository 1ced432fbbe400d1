"""Run a batch: open the input, plan, let an engine solve the missing rows, and summarise."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from dynaroute.base.display import count_of, show_list
from dynaroute.base.errors import DynarouteError, FileError, FormatError, SolutionError, Where, merge_notes
from dynaroute.scale.engines.devices import name_kind
from dynaroute.scale.engines.engine import BatchEngine, WorkersNow
from dynaroute.scale.first_routes import are_built_apart
from dynaroute.scale.input.opening import BatchInput, open_source
from dynaroute.scale.manifest import Manifest, Shard
from dynaroute.scale.output.parts import MANIFEST, SUMMARY, Parts, find_gaps
from dynaroute.scale.output.summary import BatchSummary
from dynaroute.scale.output.tally import Tally
from dynaroute.scale.places import StoragePlace
from dynaroute.scale.rows import Block
from dynaroute.scale.verifying import verify_part
from dynaroute.scale.work import BlockReport, Work
from dynaroute.solving.options import SolveOptions

_LARGEST_GROUP = {"cpu": 256, "cuda": 16384}
_LARGEST_GROUP_SEARCHED = 64  # rows whose first routes are built together; no part can be smaller
_LARGEST_BLOCK = {"cpu": 2048, "cuda": 16384}
_LEAST_BLOCKS = 16  # a small input is cut into at least so many, so that every worker has some and little is lost
_LEAST_SEARCHED, _MOST_SEARCHED = 256, 256  # for searches: blocks of a small input, and rows per block
_SECONDS_OF_BLOCK = 60.0  # search time of all rows of a block


@dataclass(frozen=True)
class BatchRequest:
    """What to solve, how to solve it, and where to write the output.

    Attributes
    ----------
    input, out
        Paths or addresses such as s3://bucket/folder.
    options
        How to solve. The model is a name or a folder, `start` is None, and `threads` is ignored.
    shard
        The part of the input to solve.
    block
        Rows per part; None chooses a number that suits the input.
    resumes
        Whether to continue an interrupted run.
    """

    input: str
    out: str
    options: SolveOptions
    shard: Shard = field(default_factory=Shard)
    block: int | None = None
    resumes: bool = False


@dataclass(frozen=True)
class Progress:
    """The progress of a run.

    Attributes
    ----------
    done, total
        Number of rows, including those of an interrupted run.
    failed
        Number of rows with an error.
    workers
        Number of workers, and how many were replaced.
    rate
        Rows per second since this run began.
    """

    done: int
    total: int
    failed: int
    workers: WorkersNow
    rate: float

    @property
    def seconds_left(self) -> float | None:
        """Estimated time left; None before the first block is done."""
        return (self.total - self.done) / self.rate if self.rate else None


def run_batch(
    request: BatchRequest, engine: BatchEngine, watch: Callable[[Progress], None] = lambda progress: None
) -> BatchSummary:
    """Solve all rows of the input that are not yet solved.

    Parameters
    ----------
    request
        What to solve and how.
    engine
        Runs the workers.
    watch
        Called after a part is verified or written, or a worker is replaced.

    Raises
    ------
    DynarouteError
        If the input cannot be read, the output cannot be written, or parts of the run that is continued are not as
        they were written. An error in a row is written to its row instead.
    """
    began = time.perf_counter()
    place = StoragePlace(request.out)
    earlier = _find_earlier(place, request.resumes)
    source = open_source(request.input)
    manifest = _plan(request, source, earlier)
    if earlier is not None:
        earlier.refuse_other(manifest, place)
        place.remove_unfinished()
    else:
        place.make()
        manifest.write(place)
    parts, (first, end) = Parts(place), request.shard.cut(len(source), manifest.group)
    written = parts.find()
    gaps = list(find_gaps(written, first, end))
    work = Work(source, parts, request.options, manifest.group, end - first)
    work = replace(work, workers=engine.count_workers(work))
    state = _BatchState(end - first, Tally(), WorkersNow(work.workers), watch)
    _verify_written(parts, written, source, state.add_written)
    for report in engine.solve(work, cut_blocks(gaps, manifest.block), state.note_workers):
        state.add(report)
    for gap in parts.find_gaps(first, end):
        message = f"rows {gap.first} to {gap.end - 1} are missing, although every row was solved."
        raise FileError(message, where=Where(file=request.out), remedy="If parts were deleted, continue with --resume.")
    place.remove_unfinished()
    summary = BatchSummary(state.tally, state.workers, time.perf_counter() - began, state.solved)
    place.write(SUMMARY, json.dumps(summary.to_json(), indent=1).encode() + b"\n")
    return summary


@dataclass
class _BatchState:
    """The state of a run; every change is reported to `watch`."""

    total: int
    tally: Tally
    workers: WorkersNow
    watch: Callable[[Progress], None]
    solved: int = 0
    began: float = field(default_factory=time.perf_counter)

    def add_written(self, tally: Tally) -> None:
        self.tally += tally
        self._tell()

    def add(self, report: BlockReport) -> None:
        self.tally += report.tally
        self.solved += report.tally.rows
        self._tell()

    def note_workers(self, workers: WorkersNow) -> None:
        self.workers = workers
        self._tell()

    def _tell(self) -> None:
        rate = self.solved / (time.perf_counter() - self.began)
        self.watch(Progress(self.tally.rows, self.total, self.tally.failed, self.workers, rate))


def _verify_written(parts: Parts, written: Sequence[Block], source: BatchInput, note: Callable[[Tally], None]) -> None:
    """Verify the parts of the run that is continued, and note the tally of each.

    Raises
    ------
    DynarouteError
        If some of them are damaged, changed or wrong; all of these are named.
    """
    faults: list[DynarouteError] = []
    with merge_notes(""):
        for block in written:
            try:
                part = parts.load(block)
                verify_part(part, source.read(source.prepare(block)))
            except (FormatError, SolutionError) as fault:
                faults.append(fault)
            else:
                note(Tally.of(part.outcomes))
    if not faults:
        return
    if others := [str(fault.where.file).rpartition("/")[2] for fault in faults[1:]]:
        faults[0].message += f" {count_of(len(others), 'other part')} cannot be used either: {show_list(others)}."
        faults[0].remedy = "Remove these parts, and continue: --resume."
    raise faults[0]


def cut_blocks(gaps: list[Block], size: int) -> Iterator[Block]:
    """Cut rows into blocks that start at multiples of `size`."""
    for gap in gaps:
        first = gap.first
        while first < gap.end:
            end = min(gap.end, (first // size + 1) * size)
            yield Block(first, end)
            first = end


def _find_earlier(place: StoragePlace, resumes: bool) -> Manifest | None:
    """Read the manifest of the run to continue; None if the folder is empty.

    Raises
    ------
    FileError
        If the folder is not empty, unless it has a run to continue.
    """
    there = place.list_files()
    where = Where(file=place.address)
    if there and not resumes:
        remedy = "Choose a new folder, or continue the run in this one with --resume."
        raise FileError("the output folder is not empty.", where=where, remedy=remedy)
    if there and MANIFEST not in there:
        raise FileError("this folder has files, but no run to continue.", where=where, remedy="Choose a new folder.")
    return Manifest.read(place) if there else None


def _plan(request: BatchRequest, source: BatchInput, earlier: Manifest | None) -> Manifest:
    kind = name_kind(request.options)
    group = _choose_group(len(source), request.options, kind)
    block = request.block or (earlier.block if earlier else _choose_block(len(source), request.options, kind))
    return Manifest(
        input=request.input,
        input_digest=source.digest,
        rows=len(source),
        options=_describe_options(request.options, kind),
        group=group,
        block=-(-block // group) * group,
        shard=str(request.shard),
    )


def _choose_group(rows: int, options: SolveOptions, kind: str) -> int:
    """Choose how many rows are solved together; depends only on the input, the options and the kind of device."""
    if are_built_apart(options):
        return min(_choose_block(rows, options, kind), _LARGEST_GROUP_SEARCHED)
    if options.searches and options.total_time is None:
        return 1  # each row is searched separately
    largest = _LARGEST_GROUP.get(kind, _LARGEST_GROUP["cpu"])
    return largest if kind == "cuda" else max(1, min(rows // _LEAST_BLOCKS, largest))


def _choose_block(rows: int, options: SolveOptions, kind: str) -> int:
    if options.searches and options.total_time is None:
        seconds = options.search_seconds
        most = _MOST_SEARCHED if seconds is None else min(_MOST_SEARCHED, int(_SECONDS_OF_BLOCK / seconds))
        return max(1, min(rows // _LEAST_SEARCHED, most))
    largest = _LARGEST_BLOCK.get(kind, _LARGEST_BLOCK["cpu"])
    return largest if kind == "cuda" else max(1, min(rows // _LEAST_BLOCKS, largest))


def _describe_options(options: SolveOptions, kind: str) -> dict[str, Any]:
    """Describe everything that determines the routes, apart from the input and the version."""
    given = {entry.name: getattr(options, entry.name) for entry in fields(options)}
    plain = {name: value for name, value in given.items() if name not in ("start", "threads", "device", "model")}
    return {**plain, "seed": options.usual_seed, "model": _describe_model(str(options.model)), "device": kind}


def _describe_model(model: str) -> str:
    """Return the name of a shipped model; for other models, also a hash of the weights."""
    from dynaroute.weights import find_model, shipped_models

    if model in ("auto", "savings", *shipped_models()):
        return model
    weights = find_model(model) / "model.safetensors"
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()[:16] if weights.is_file() else "none"
    return f"{model} ({digest})"
