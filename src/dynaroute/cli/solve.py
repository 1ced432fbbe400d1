"""``dynaroute solve``: routes for files, folders and sets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynaroute.cli.jobs import Job, gather_jobs
from dynaroute.cli.options import (
    AugmentOption,
    CapacityOption,
    DecodeOption,
    DeviceOption,
    JsonOption,
    ModelOption,
    SamplesOption,
    SeedOption,
    TemperatureOption,
)
from dynaroute.cli.output import count_of, print_json, print_note, print_table, show_counts, show_length
from dynaroute.cli.policy_options import PolicyOptions
from dynaroute.cli.progress import show_progress
from dynaroute.cli.results import check_destinations, describe, write_results

if TYPE_CHECKING:
    from dynaroute.solver import Result

MOST_NOTES = 5
LONGEST_TABLE = 40  # instances; a longer list is summed up


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
        typer.Option("--plot", metavar="FILE", help="Picture of the routes of one instance: .png, .svg or .pdf."),
    ] = None,
    capacity: CapacityOption = None,
    json: JsonOption = False,
) -> None:
    """Build routes for instances, sets and folders of them.

    By default the shipped policy for the nearest size and the savings
    heuristic both build routes, and the shorter ones are kept.

    All files are read before the first is solved. If one cannot be read,
    every such file is named, nothing is solved or written, and the exit
    code is 2.

    Example:
      dynaroute solve X-n101-k25.vrp --out X-n101-k25.sol --plot routes.png
      dynaroute solve folder/ test100.npz --out solutions/
      dynaroute solve a.vrp --model my-model/ --decode sample --samples 64
    """
    policy = PolicyOptions(model, decode, samples, temperature, augment, seed, device)
    policy.print_void()
    jobs = gather_jobs(files, capacity)
    check_destinations(jobs, out, plot)
    results = _solve_all(jobs, policy)
    write_results(jobs, results, out, plot)

    _print_notes(jobs, results)
    if json:
        print_json([describe(job, result) for job, result in zip(jobs, results, strict=True)])
    elif len(jobs) == 1:
        _print_routes(jobs[0], results[0])
    else:
        _print_summary(jobs, results)


def _solve_all(jobs: Sequence[Job], policy: PolicyOptions) -> list[Result]:
    from dynaroute.solver import solve

    with show_progress(len(jobs), "solving") as advance:
        return solve([job.instance for job in jobs], **policy.settings(advance))


def _print_notes(jobs: Sequence[Job], results: Sequence[Result]) -> None:
    """Print each message once; one that is about a single instance of many, with its name."""
    uses = Counter(message for result in results for message in result.messages)
    notes = [
        f"{job.name}: {message}" if uses[message] == 1 < len(jobs) else message
        for job, result in zip(jobs, results, strict=True)
        for message in result.messages
    ]
    distinct = list(dict.fromkeys(notes))
    for note in distinct[:MOST_NOTES]:
        print_note(note)
    if len(distinct) > MOST_NOTES:
        print_note(f"and so on, {len(distinct) - MOST_NOTES} more.")


def _print_routes(job: Job, result: Result) -> None:
    instance, routes = job.instance, result.solution.routes
    separator = " " if instance.customer_names is None else ", "
    capacity = instance.shown_demand(instance.capacity)
    rows = [
        (
            str(number),
            f"{instance.shown_demand(load)}/{capacity}",
            show_length(length),
            separator.join(map(instance.customer_name, route)),
        )
        for number, (route, load, length) in enumerate(
            zip(routes, result.solution.loads(instance), result.solution.route_costs(instance), strict=True), start=1
        )
    ]
    typer.echo(f"{job.name}: {count_of(len(routes), 'route')}, cost {show_length(result.cost)}; by {_how(result)}")
    print_table(("Route", "Load", "Length", "Customers"), rows)


def _print_summary(jobs: Sequence[Job], results: Sequence[Result]) -> None:
    if len(jobs) <= LONGEST_TABLE:
        rows = [
            (
                job.name,
                str(job.instance.size),
                str(len(result.solution.routes)),
                show_length(result.cost),
                _how(result),
            )
            for job, result in zip(jobs, results, strict=True)
        ]
        print_table(("Instance", "Customers", "Routes", "Cost", "How"), rows)
    mean = math.fsum(result.cost for result in results) / len(results)
    seconds = math.fsum(result.seconds for result in results)
    ways = show_counts(Counter(result.how for result in results))
    typer.echo(f"{len(jobs)} instances, mean cost {show_length(mean)}, {seconds:.2f} s in all; {ways}")


def _how(result: Result) -> str:
    return f"{result.how}, {result.seconds:.2f} s"
