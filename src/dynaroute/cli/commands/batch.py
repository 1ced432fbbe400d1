"""``dynaroute batch``: solves more instances than fit in memory, with many workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dynaroute.base.errors import OptionError
from dynaroute.cli.shared.exit_codes import INTERRUPTED, ROWS_WITH_ERRORS
from dynaroute.cli.shared.options import (
    JsonOption,
    argument,
    option,
    print_void_options,
    refuse_unknown_model,
    switch,
    takes_solving,
)
from dynaroute.cli.shared.output import (
    make_console,
    print_facts,
    print_json,
    print_line,
    print_note,
    show_counts,
    show_length,
)
from dynaroute.cli.shared.progress import print_at_intervals
from dynaroute.problem.times import format_duration
from dynaroute.solving.options import SolveOptions

if TYPE_CHECKING:
    from dynaroute.scale.engines.engine import BatchEngine
    from dynaroute.scale.output.summary import BatchSummary
    from dynaroute.scale.run import Progress

EngineName = Literal["local", "ray"]


@takes_solving(without=["target", "threads"])
def batch(
    input: Annotated[
        str,
        argument(
            "IN", "A Parquet file or a folder of them, local or at s3://...; a folder of instance files; or a set."
        ),
    ],
    out: Annotated[str, option("FOLDER", "Folder for the Parquet files, local or at s3://...")],
    options: SolveOptions,
    resume: Annotated[bool, switch("--resume", "Continue an earlier run: solve only what is missing.")] = False,
    shard: Annotated[str, option("I/K", "Solve only part I of K of the input; see merge.")] = "1/1",
    block: Annotated[
        int | None, option("ROWS", "Rows per output file; by default, chosen for the input.", min=1)
    ] = None,
    engine: Annotated[EngineName, option("local|ray", "Processes on this machine, or a Ray cluster.")] = "local",
    workers: Annotated[int | None, option("N", "By default, one per core or up to four per GPU.", min=1)] = None,
    address: Annotated[str | None, option("HOST:PORT", "A Ray cluster; by default, one is started here.")] = None,
    gpus: Annotated[
        float | None,
        option("N", "GPUs, or a fraction of one, for each worker of a Ray cluster; 1 if policies run on GPUs.", min=0),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Solve a set of any size, and write the routes as Parquet files.

    If a row cannot be solved, it is written with its error, the others are
    still solved, and the exit code is 3. An output file appears only when it
    is complete. However a run ended, --resume continues it. The same seed
    gives the same routes for any number of workers, without a time limit and
    on the same kind of device.

    docs/scale.md explains the columns, clusters and object stores.

    Example:
      dynaroute batch set.parquet --out routes/
      dynaroute batch set.parquet --out routes/ --resume
      dynaroute batch instances/ --out routes/ --iterations 2000 --seed 1
      dynaroute batch set.parquet --out part-3/ --shard 3/8
      dynaroute merge part-1/ part-2/ part-3/ --out routes/
      dynaroute batch s3://bucket/set/ --out s3://bucket/routes/ --engine ray
    """
    refuse_unknown_model(options)
    print_void_options(options)

    from dynaroute.scale.manifest import Shard
    from dynaroute.scale.run import BatchRequest, run_batch

    request = BatchRequest(input, out, options, Shard.parse(shard), block, resume)
    try:
        with show_batch() as watch:
            summary = run_batch(request, _choose_engine(engine, workers, address, gpus), watch)
    except KeyboardInterrupt:
        print_note("interrupted; all written files are complete, and --resume solves the rest.")
        raise typer.Exit(INTERRUPTED) from None
    print_summary(out, summary, json=json)
    if summary.tally.failed:
        raise typer.Exit(ROWS_WITH_ERRORS)


def _choose_engine(name: EngineName, workers: int | None, address: str | None, gpus: float | None) -> BatchEngine:
    if name == "ray":
        from dynaroute.scale.engines.ray_engine import RayEngine

        return RayEngine(address, workers, gpus)
    for field, value in (("address", address), ("gpus", gpus)):
        if value is not None:
            message = f"the local engine has no option {field}."
            raise OptionError.about(field, message, "Leave it out, or add --engine ray.")
    from dynaroute.scale.engines.local import LocalEngine

    return LocalEngine(workers)


def print_summary(title: str, summary: BatchSummary, *, json: bool) -> None:
    """Print the summary of a run: facts and a histogram, or one JSON document.

    Parameters
    ----------
    title
        The output folder.
    summary
        The summary.
    json
        Whether to print JSON.
    """
    if json:
        print_json(summary.to_json())
        return
    from dynaroute.scale.output.tally import draw_bars, make_bars

    tally = summary.tally
    facts = [
        ("rows", f"{tally.rows:,}"),
        ("with errors", f"{tally.failed:,}"),
        ("mean cost", "none" if tally.mean_cost is None else show_length(tally.mean_cost)),
        ("routes by", show_counts(tally.methods) if tally.methods else "none"),
    ]
    if summary.workers.alive:
        facts += [
            ("solved now", f"{summary.solved:,} in {summary.seconds:,.1f} s, {summary.rate:,.1f} per second"),
            ("workers", f"{summary.workers.alive}, {summary.workers.replaced} died and were replaced"),
        ]
    print_facts(title, facts)
    for name, error in tally.faults:
        print_note(f"{name}: {error}")
    if tally.failed > len(tally.faults):
        print_note(f"and {tally.failed - len(tally.faults):,} more rows with errors; the column error names them.")
    if bars := make_bars(tally.cost_counts):
        print_line("costs")
        for line in draw_bars(bars):
            print_line(f"  {line}")


@contextmanager
def show_batch() -> Iterator[Callable[[Progress], None]]:
    """Show rows done, rate, time left, workers and failures.

    Yields
    ------
    Callable[[Progress], None]
        Call it whenever something has changed.
    """
    console = make_console(stderr=True)
    line = BatchLine()
    if not console.is_terminal:
        with print_at_intervals(line.__rich__):
            yield line.note
        return
    from rich.live import Live

    with Live(line, console=console, refresh_per_second=4, transient=True):
        yield line.note


def describe_progress(progress: Progress) -> str:
    """Describe rows done, rate, time left, workers and failures in one line.

    Parameters
    ----------
    progress
        The progress of the run.
    """
    words = [f"{progress.done:,} of {progress.total:,} rows", f"{progress.rate:,.1f} per second"]
    if progress.seconds_left:
        words.append(f"{format_duration(progress.seconds_left)} left")
    workers = f"{progress.workers.alive} workers"
    words.append(f"{workers}, {progress.workers.replaced} replaced" if progress.workers.replaced else workers)
    words.append(f"{progress.failed:,} with errors")
    return ", ".join(words)


class BatchLine:
    """The state of a batch as a line of text, which tells the time even while nothing else changes."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.progress: Progress | None = None

    def note(self, progress: Progress) -> None:
        """Record the progress."""
        self.progress = progress

    def __rich__(self) -> str:
        state = "the first rows are not done yet" if self.progress is None else describe_progress(self.progress)
        return f"{state}, after {time.perf_counter() - self.began:,.0f} s"
