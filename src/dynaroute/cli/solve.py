"""``dynaroute solve``: routes for files, folders and sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynaroute.cli.exit_codes import INTERRUPTED
from dynaroute.cli.improve_options import ImproveOptions
from dynaroute.cli.jobs import Job, gather_jobs
from dynaroute.cli.loading import load_what_is_needed
from dynaroute.cli.options import (
    IMPROVE_PANEL,
    AugmentOption,
    CapacityOption,
    DecodeOption,
    DeviceOption,
    ImproveOption,
    IterationsOption,
    JsonOption,
    ModelOption,
    SamplesOption,
    SeedOption,
    TargetOption,
    TemperatureOption,
    ThreadsOption,
    TimeLimitOption,
)
from dynaroute.cli.output import print_json, print_note
from dynaroute.cli.policy_options import PolicyOptions
from dynaroute.cli.progress import show_progress
from dynaroute.cli.report import print_notes, print_results
from dynaroute.cli.results import check_destinations, describe, write_results
from dynaroute.cli.starts import read_starts
from dynaroute.cli.trace_file import check_trace
from dynaroute.cli.watched_search import search_jobs

if TYPE_CHECKING:
    from dynaroute.solving.options import SolveSettings
    from dynaroute.solving.result import Result


def solve(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILES", readable=False, help="Instances, sets, or folders of them.")
    ],
    model: ModelOption = "auto",
    decode: DecodeOption = None,
    samples: SamplesOption = None,
    temperature: TemperatureOption = None,
    augment: AugmentOption = False,
    seed: SeedOption = None,
    device: DeviceOption = None,
    improve: ImproveOption = None,
    time_limit: TimeLimitOption = None,
    iterations: IterationsOption = None,
    target: TargetOption = None,
    start: Annotated[
        Path | None,
        typer.Option(
            "--start",
            metavar="FILE|FOLDER",
            readable=False,
            help="Known routes to improve: a .sol or .json file; for many instances a folder with NAME.sol for each.",
            rich_help_panel=IMPROVE_PANEL,
        ),
    ] = None,
    threads: ThreadsOption = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="Cost over time of the search, a line as soon as it is found: .csv or .jsonl.",
            rich_help_panel=IMPROVE_PANEL,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE|FOLDER",
            help="One instance: a .sol or .json file. Many: a folder (NAME.sol each) or a .json file.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="Picture of the routes of one instance, and of cost over time after a search: .png, .svg or .pdf.",
        ),
    ] = None,
    capacity: CapacityOption = None,
    json: JsonOption = False,
) -> None:
    """Find routes for instances, sets and folders of them.

    By default the shipped policy for the nearest size and the savings
    heuristic both build routes, and the shorter ones are kept. With a time
    limit, a search improves routes until the time is up; Ctrl-C ends it with
    the best so far, written and printed, and the exit code 130.

    All files are read before the first is solved. If one cannot be read,
    every such file is named, nothing is solved or written, and the exit
    code is 2.

    Example:
      dynaroute solve X-n101-k25.vrp --out X-n101-k25.sol --plot routes.png
      dynaroute solve X-n101-k25.vrp --time-limit 10 --trace cost.csv
      dynaroute solve folder/ test100.npz --improve local --out solutions/
      dynaroute solve a.vrp --model my-model/ --decode sample --samples 64
    """
    policy = PolicyOptions(model, decode, samples, temperature, augment, seed, device)
    improving = ImproveOptions(improve, time_limit, iterations, target, threads, start)
    check_trace(trace, improving)
    improving.print_void(policy)
    jobs = gather_jobs(files, capacity)
    check_destinations(jobs, out, plot)
    settings: SolveSettings = {**policy.settings(), **improving.settings()}
    if start is not None:
        settings["start"] = read_starts(start, jobs)
    load_what_is_needed(policy, improving)
    results = search_jobs(jobs, settings, trace) if improving.searches else _solve_jobs(jobs, settings)
    write_results(jobs, results, out, plot)

    print_notes(jobs, results)
    if json:
        print_json([describe(job, result) for job, result in zip(jobs, results, strict=True)])
    else:
        print_results(jobs, results)
    if any(result.is_interrupted for result in results):
        print_note("The search was interrupted; these are the best routes so far.")
        raise typer.Exit(INTERRUPTED)


def _solve_jobs(jobs: Sequence[Job], settings: SolveSettings) -> list[Result]:
    from dynaroute.solver import solve

    with show_progress(len(jobs), "solving") as advance:
        watched: SolveSettings = {**settings, "progress": advance}
        return solve([job.instance for job in jobs], **watched)
