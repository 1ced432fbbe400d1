"""``dynaroute solve``: find routes for files, folders and sets."""

from __future__ import annotations

import csv
import json as json_format
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from dynaroute.base.decimals import plain_number
from dynaroute.base.errors import DynarouteError, OptionError, Where
from dynaroute.base.files import open_to_write
from dynaroute.cli.shared.exit_codes import INTERRUPTED, NO_FEASIBLE_PLAN
from dynaroute.cli.shared.jobs import SolveJob, gather_jobs, list_starts, read_starts, refuse_impossible_jobs
from dynaroute.cli.shared.options import (
    PANELS,
    JsonOption,
    StartOption,
    argument,
    option,
    print_void_options,
    refuse_unknown_model,
    switch,
    takes_solving,
)
from dynaroute.cli.shared.output import (
    list_model_files,
    print_json,
    print_note,
    refuse_missing_folder,
    refuse_overwriting,
)
from dynaroute.cli.shared.progress import note_interrupt, preload_search, show_progress, show_search
from dynaroute.cli.shared.results import (
    check_destinations,
    describe,
    list_route_files,
    print_notes,
    print_results,
    print_violations,
    write_results,
)
from dynaroute.cli.shared.tables import TableOptions, takes_tables
from dynaroute.solving.options import Observers, SolveOptions, choose_search_seconds

if TYPE_CHECKING:
    from dynaroute.plans.matching import KnownRoutes
    from dynaroute.problem.instance import Instance
    from dynaroute.search.search import Improvement
    from dynaroute.solving.result import Result

_TRACE_SUFFIXES = (".csv", ".jsonl")
_MOST_SEARCHED_BY_DEFAULT = 4  # instances; with more, nobody expects to wait for each


@takes_tables
@takes_solving()
def solve(
    files: Annotated[list[Path], argument("FILES", "Instances, sets, or folders of them; - is standard input.")],
    options: SolveOptions,
    start: StartOption = None,
    keep: Annotated[
        list[str] | None,
        option(
            "WHAT",
            "Parts of the routes of --start to keep: route:2, route:1,3, or stop:ID, which keeps a stop with its "
            "neighbours. May be given several times.",
            PANELS["improvement"],
        ),
    ] = None,
    fast: Annotated[
        bool,
        switch(
            "--fast",
            "No search: the policy or savings, whichever is better. The default for more than four instances.",
            PANELS["improvement"],
        ),
    ] = False,
    trace: Annotated[
        Path | None,
        option("FILE", "Write the search's cost over time while it runs: .csv or .jsonl.", PANELS["improvement"]),
    ] = None,
    out: Annotated[
        list[Path] | None,
        option(
            "FILE|FOLDER",
            "For one instance: .json (problem and routes), .sol, .csv, .xlsx, .html, .pdf, .geojson, .gpx or "
            ".kml. For many: a folder (with NAME.sol for each) or a .json file. May be given several times.",
        ),
    ] = None,
    sheets: Annotated[Path | None, option("FOLDER", "A printable page for each driver: route-01.html, ...")] = None,
    plot: Annotated[
        Path | None,
        option("FILE", "Plot the routes of one instance and, after a search, cost over time: .png, .svg or .pdf."),
    ] = None,
    json: JsonOption = False,
    *,
    tables: TableOptions,
) -> None:
    """Find routes for instances, sets and folders.

    Up to four instances are searched for a time that grows with their size: 1 s
    for 100 customers, 10 s for 1,000, at most 30 s; or for as long as
    --time-limit says. Ctrl-C ends a search; the best routes so far are written
    and printed, with exit code 130. With more instances, or with --fast, the
    shipped policy and the savings heuristic both build routes, and the shorter
    ones are kept.

    Time windows, vehicles and limits come from the file or from the options
    under Fleet. If no feasible plan is found in time, the best one is written
    and printed with its violations, and the exit code is 4.

    All files are read first. If some cannot be read, they are all named,
    nothing is solved or written, and the exit code is 2.

    Example:
      dynaroute solve X-n101-k25.vrp --out X-n101-k25.sol --plot routes.png
      dynaroute solve stops.xlsx --capacity 450 --out stops.json
      dynaroute solve X-n101-k25.vrp --fast
      dynaroute solve X-n101-k25.vrp --time-limit 10 --trace cost.csv
      dynaroute solve folder/ test100.npz --improve local --out solutions/
      dynaroute solve folder/ --total-time 60 --out solutions/
      dynaroute solve stops.csv --out plan.json --out drivers.pdf
      dynaroute solve stops.json --vehicles 3 --max-duration 8h --speed 40km/h
      dynaroute solve C101.txt --objective vehicles
      dynaroute solve a.vrp --model my-model/ --decode sample --samples 64
    """
    _refuse_fast_search(fast, options)
    refuse_unknown_model(options)
    is_open = not fast and start is None and _is_left_open(options)
    check_trace(trace, replace(options, improve="search") if is_open else options)
    jobs = gather_jobs(files, tables)
    refuse_impossible_jobs(jobs)
    if is_open:
        options = _settle(options, jobs)
        check_trace(trace, options)
    print_void_options(options, has_start=start is not None)
    outs = out or []
    check_destinations(jobs, outs, plot, sheets)
    written = [("--trace", trace), ("--plot", plot), *(("--out", file) for file in list_route_files(jobs, outs))]
    if any(path is not None for _, path in written):
        models = list_model_files(str(options.model))
        refuse_overwriting(written, [*(job.file for job in jobs), *tables.files, *list_starts(start, jobs), *models])
    starts = [] if start is None else read_starts(start, jobs)
    if starts and not keep:
        from dynaroute.plans.changes.insertion import add_new_customers

        options = replace(options, start=[add_new_customers(known) for known in starts])
    if keep:
        results = [_search_around(jobs, starts, options, keep, trace)]
    else:
        preload_search(options, [job.instance for job in jobs])
        results = _search_jobs(jobs, options, trace) if options.searches else _solve_jobs(jobs, options)
    write_results(jobs, results, outs, plot, sheets, tables.roads)

    print_notes(jobs, results)
    print_violations(jobs, results)
    if json:
        print_json([describe(job, result) for job, result in zip(jobs, results, strict=True)])
    else:
        print_results(jobs, results)
    if any(result.is_interrupted for result in results):
        print_note("The search was interrupted. These are the best routes so far.")
        raise typer.Exit(INTERRUPTED)
    if any(result.violations for result in results):
        raise typer.Exit(NO_FEASIBLE_PLAN)


def _search_around(
    jobs: Sequence[SolveJob],
    starts: Sequence[KnownRoutes],
    options: SolveOptions,
    keep: Sequence[str],
    trace: Path | None,
) -> Result:
    """Search the part of the problem that is not kept, and merge both parts."""
    from dynaroute.plans.changes.insertion import add_new_customers
    from dynaroute.plans.changes.keeping import hold, parse_keep

    where = Where(field="--keep")
    if len(jobs) > 1 or not starts:
        raise OptionError(
            "routes can only be kept for one instance with known routes.", where=where, remedy="Add --start plan.json."
        )
    if not options.searches:
        raise OptionError("without a search, nothing changes anyway.", where=where, remedy="Add --time-limit.")
    if trace is not None:
        raise OptionError("a trace cannot be written if parts are kept.", where=where, remedy="Leave out --trace.")
    instance, known = jobs[0].instance, starts[0]
    routes, stops = parse_keep(keep, known)
    held = hold(instance, add_new_customers(known, routes, stops), routes, stops)
    _refuse_impossible_rest(held.instance)
    target = None if options.target is None else options.target - held.kept_cost
    part = replace(options, start=[held.start], target=target)
    preload_search(part, [held.instance])
    (result,) = _search_jobs([replace(jobs[0], instance=held.instance)], part, None)
    solution = held.restore(result.solution)
    course = tuple((seconds, cost + held.kept_cost) for seconds, cost in result.trace)
    whole = replace(result, instance=instance, solution=solution, cost=solution.cost(instance), trace=course)
    told = tuple(whole.improvement if message == result.improvement else message for message in result.messages)
    return replace(whole, messages=told)


def _refuse_impossible_rest(instance: Instance) -> None:
    """Raise if the customers and vehicles that are not kept have no plan: with new customers there may be none."""
    from dynaroute.problem.impossible import refuse_impossible

    try:
        refuse_impossible(instance)
    except DynarouteError as error:
        message = f"nothing can be planned with what is not kept: {error.message}"
        raise OptionError(message, where=Where(field="--keep"), remedy="Keep fewer, or give more vehicles.") from error


def _refuse_fast_search(fast: bool, options: SolveOptions) -> None:
    if fast and options.searches:
        remedy = "Leave out --fast, or the options that ask for a search: a limit, a target or --improve search."
        raise OptionError("other options ask for a search.", where=Where(field="--fast"), remedy=remedy)


def _is_left_open(options: SolveOptions) -> bool:
    """Whether no option says how routes are built or improved."""
    return options.model == "auto" and not options.given_decoding and options.improve is None and not options.searches


def _settle(options: SolveOptions, jobs: Sequence[SolveJob]) -> SolveOptions:
    """Fill in defaults: a few instances are searched, for a time that suits the largest."""
    if len(jobs) > _MOST_SEARCHED_BY_DEFAULT:
        return options
    return replace(options, time_limit=choose_search_seconds(max(job.instance.size for job in jobs)))


def _solve_jobs(jobs: Sequence[SolveJob], options: SolveOptions) -> list[Result]:
    from dynaroute.solving.solve import solve_all

    with show_progress(len(jobs), "solving") as advance:
        return solve_all([job.instance for job in jobs], options, Observers(advance))


def _search_jobs(jobs: Sequence[SolveJob], options: SolveOptions, trace: Path | None) -> list[Result]:
    """Search every instance. The first Ctrl-C ends the search with the best so far; the second ends the program."""
    from dynaroute.solving.solve import solve_all

    with (
        note_interrupt() as is_interrupted,
        open_trace(trace, jobs) as write_line,
        _show_searches(jobs, options.search_seconds) as (advance, show),
    ):

        def report(index: int, improvement: Improvement) -> None:
            write_line(index, improvement)
            show(index, improvement)

        return solve_all([job.instance for job in jobs], options, Observers(advance, report, is_interrupted))


@contextmanager
def _show_searches(
    jobs: Sequence[SolveJob], seconds: float | None
) -> Iterator[tuple[Callable[[int], None], Callable[[int, Improvement], None]]]:
    """Show the progress of a single search, or a bar for many."""
    if len(jobs) > 1:
        with show_progress(len(jobs), "searching") as advance:
            yield advance, lambda index, improvement: None
        return
    with show_search(seconds, jobs[0].instance.unit) as show:
        yield lambda count: None, show


_Line = Mapping[str, str | int | float]


def check_trace(path: Path | None, options: SolveOptions) -> None:
    """Raise if a trace cannot be written, before any work is done."""
    if path is None:
        return
    place = Where(file=str(path), field="--trace")
    if not options.searches:
        raise OptionError("only a search has a trace.", where=place, remedy="Add --time-limit.")
    if path.suffix.lower() not in _TRACE_SUFFIXES:
        remedy = "Name a .csv file, or a .jsonl file for one JSON object per line."
        raise OptionError("traces cannot be written in this format.", where=place, remedy=remedy)
    refuse_missing_folder(path)


@contextmanager
def open_trace(path: Path | None, jobs: Sequence[SolveJob]) -> Iterator[Callable[[int, Improvement], None]]:
    """Write every improvement at once as a line, so that the file can be watched.

    Parameters
    ----------
    path
        A .csv or .jsonl file; None writes nothing.
    jobs
        The instances; if there are several, each line has a name.

    Yields
    ------
    Callable[[int, Improvement], None]
        Call it with the index of an instance and each improvement, from any thread.
    """
    if path is None:
        yield lambda index, improvement: None
        return
    file = open_to_write(path)
    columns = ["instance", "seconds", "cost"] if len(jobs) > 1 else ["seconds", "cost"]
    lock = Lock()
    with file:
        write_row = (_write_csv if path.suffix.lower() == ".csv" else _write_json)(file, columns)

        def write(index: int, improvement: Improvement) -> None:
            row: _Line = {
                "instance": jobs[index].name,
                "seconds": round(improvement.seconds, 6),
                "cost": plain_number(improvement.cost),
            }
            with lock:
                write_row({column: row[column] for column in columns})
                file.flush()

        yield write


def _write_csv(file: TextIO, columns: Sequence[str]) -> Callable[[_Line], object]:
    table = csv.DictWriter(file, columns, lineterminator="\n")
    table.writeheader()
    return table.writerow


def _write_json(file: TextIO, columns: Sequence[str]) -> Callable[[_Line], object]:
    return lambda row: file.write(f"{json_format.dumps(row)}\n")
