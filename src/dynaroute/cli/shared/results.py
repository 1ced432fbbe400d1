"""Writing, plotting and printing the results of ``dynaroute solve``."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynaroute.base.decimals import plain_number
from dynaroute.base.display import LONGEST_NAME, show_text
from dynaroute.base.errors import OptionError, Where, in_file
from dynaroute.base.vocabulary import join_with_or
from dynaroute.cli.shared.jobs import SolveJob
from dynaroute.cli.shared.output import (
    count_of,
    print_line,
    print_note,
    print_table,
    refuse_missing_folder,
    show_counts,
    show_length,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dynaroute.plans import Plan
    from dynaroute.problem.instance import Instance
    from dynaroute.problem.timetable import RouteSchedule
    from dynaroute.roads.source import RoadSource
    from dynaroute.solving.result import Result

MOST_NOTES = 5
LONGEST_TABLE = 40  # instances; a longer list is summarised


# Writing


def describe(job: SolveJob, result: Result) -> dict[str, Any]:
    """Return a result under the keys of ``solve --json``."""
    document = {**result.to_json(), "instance": job.name}
    if not result.trace:
        return document
    return {
        **document,
        "iterations": result.iterations,
        "interrupted": result.is_interrupted,
        "trace": [[round(seconds, 6), plain_number(cost)] for seconds, cost in result.trace],
    }


def check_destinations(jobs: Sequence[SolveJob], outs: Sequence[Path], plot: Path | None, sheets: Path | None) -> None:
    """Raise if results cannot be written to these places, before any work is done."""
    if plot is not None:
        _check_plot(jobs, plot)
    if sheets is not None:
        _check_sheets(jobs, sheets)
    for out in outs:
        _check_out(jobs, out)


def _check_out(jobs: Sequence[SolveJob], out: Path) -> None:
    from dynaroute.plans import PLAN_SUFFIXES
    from dynaroute.plans.plan import NEEDS_DEGREES

    refuse_missing_folder(out)
    if _is_folder(out):
        _refuse_unusable_folder(jobs, out)
        return
    suffix = out.suffix.lower()
    if suffix not in PLAN_SUFFIXES:
        remedy = f"Name a {join_with_or(PLAN_SUFFIXES)} file, or a folder."
        raise _fault("--out", out, "routes cannot be written in this format.", remedy)
    if suffix != ".json" and len(jobs) > 1:
        message = f"a {suffix} file holds one solution, not {len(jobs)}."
        raise _fault("--out", out, message, "Name a folder, or a .json file.")
    if suffix in NEEDS_DEGREES:
        require_degrees_of(jobs[0].instance, out)


def require_degrees_of(instance: Instance, out: Path) -> None:
    """Raise if a map file is wanted for an instance without degrees, before any work is done."""
    from dynaroute.plans.plan import require_degrees

    with in_file(out):
        require_degrees(instance, out.suffix.lower())


def _check_sheets(jobs: Sequence[SolveJob], sheets: Path) -> None:
    if len(jobs) > 1:
        remedy = "Write plans with --out, and sheets for each with dynaroute convert."
        raise _fault("--sheets", sheets, f"sheets are for one instance, not for {len(jobs)}.", remedy)
    refuse_missing_folder(sheets)
    if sheets.exists() and not sheets.is_dir():
        raise _fault("--sheets", sheets, "this is a file, not a folder.", "Name a folder; or --out FILE.html for one.")


def list_route_files(jobs: Sequence[SolveJob], outs: Sequence[Path]) -> list[Path]:
    """List the files that `write_results` writes, except the sheets."""
    return [file for out in outs for file in _list_files(jobs, out)]


def _list_files(jobs: Sequence[SolveJob], out: Path) -> list[Path]:
    return [out / f"{job.label}.sol" for job in jobs] if _is_folder(out) else [out]


def write_results(
    jobs: Sequence[SolveJob],
    results: Sequence[Result],
    outs: Sequence[Path],
    plot: Path | None,
    sheets: Path | None,
    roads: RoadSource | None = None,
) -> None:
    """Write routes and plot to the places that `check_destinations` approved; maps follow the roads, if known."""
    # plotted before anything is written, because not every instance can be plotted
    drawing = None if plot is None else _draw(jobs[0], results[0])
    plans = _make_plans(jobs, results, roads) if outs or sheets is not None else []
    for out in outs:
        _write_routes(jobs, results, plans, out)
    if sheets is not None:
        from dynaroute.plans import write_sheets

        write_sheets(plans[0], sheets)
    if plot is not None and drawing is not None:
        from dynaroute.plotting import save_figure

        save_figure(drawing, plot)


def _draw(job: SolveJob, result: Result) -> Axes:
    from dynaroute.plotting import plot_solution, plot_solution_and_timetable, plot_solution_and_trace

    with in_file(job.file):
        if job.instance.knows_times:
            return plot_solution_and_timetable(job.instance, result.solution)
        if result.iterations is None:
            return plot_solution(job.instance, result.solution)
        return plot_solution_and_trace(job.instance, result.solution, result.trace, until=result.seconds)


def _make_plans(jobs: Sequence[SolveJob], results: Sequence[Result], roads: RoadSource | None) -> list[Plan]:
    """Make each plan once for all files, because a plan keeps what it has found out about itself."""
    from dynaroute.plans import Plan
    from dynaroute.roads.source import find_ways

    pairs = [(job.instance, result.solution) for job, result in zip(jobs, results, strict=True)]
    if roads is None or len(jobs) > 1:
        return [Plan(instance, solution) for instance, solution in pairs]
    return [Plan(instance, solution, find_ways(instance, solution, roads)) for instance, solution in pairs]


def _write_routes(jobs: Sequence[SolveJob], results: Sequence[Result], plans: Sequence[Plan], out: Path) -> None:
    from dynaroute.base.files import write_bytes
    from dynaroute.plans import write_plan

    if _is_folder(out):
        out.mkdir(exist_ok=True)
        for file, plan in zip(_list_files(jobs, out), plans, strict=True):
            write_plan(plan, file)
    elif len(jobs) == 1:
        write_plan(plans[0], out)
    else:
        documents = [describe(job, result) for job, result in zip(jobs, results, strict=True)]
        write_bytes(out, json.dumps(documents, allow_nan=False).encode())


def _check_plot(jobs: Sequence[SolveJob], plot: Path) -> None:
    from dynaroute.plotting import check_picture_path

    if len(jobs) > 1:
        raise _fault("--plot", plot, f"a picture shows one instance, not {len(jobs)}.", "Use dynaroute plot for each.")
    check_picture_path(plot)
    refuse_missing_folder(plot)


def _is_folder(out: Path) -> bool:
    return out.is_dir() or not out.suffix


def _refuse_unusable_folder(jobs: Sequence[SolveJob], out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise _fault("--out", out, "this is a file, not a folder.", "Name a folder, or a .sol or .json file.")
    label, uses = Counter(job.label for job in jobs).most_common(1)[0]
    if uses > 1:
        message = f"{uses} instances would be written to {label}.sol."
        raise _fault("--out", out, message, "Rename the files, or write one .json file.")


def _fault(option: str, path: Path, message: str, remedy: str) -> OptionError:
    return OptionError(message, where=Where(file=str(path), field=option), remedy=remedy)


# Printing


def print_results(jobs: Sequence[SolveJob], results: Sequence[Result]) -> None:
    """Print the routes of one instance, or one line per instance and a summary."""
    if len(jobs) == 1:
        _print_routes(jobs[0], results[0])
    else:
        _print_summary(jobs, results)


def print_notes(jobs: Sequence[SolveJob], results: Sequence[Result]) -> None:
    """Print each message once, with the instance's name if it is about one of many.

    The table of many instances already shows their improvements.
    """
    told = [
        [message for message in result.messages if len(jobs) == 1 or message != result.improvement]
        for result in results
    ]
    uses = Counter(message for messages in told for message in messages)
    notes = [
        f"{_name_job(job)}: {message}" if uses[message] == 1 < len(jobs) else message
        for job, messages in zip(jobs, told, strict=True)
        for message in messages
    ]
    distinct = list(dict.fromkeys(notes))
    for note in distinct[:MOST_NOTES]:
        print_note(note)
    if len(distinct) > MOST_NOTES:
        print_note(f"and so on, {len(distinct) - MOST_NOTES} more.")


def print_violations(jobs: Sequence[SolveJob], results: Sequence[Result]) -> None:
    """List what is wrong with plans that break limits or leave customers out."""
    for job, result in zip(jobs, results, strict=True):
        for message in _describe_violations(result):
            print_note(f"{_name_job(job)}: {message}")
        if len(result.violations) > MOST_NOTES:
            print_note(f"{_name_job(job)}: and {len(result.violations) - MOST_NOTES} more; dynaroute check lists all.")
        if result.violations:
            print_note(f"{_name_job(job)}: no feasible plan was found in the time given.")


def _describe_violations(result: Result) -> list[str]:
    """Describe the first few violations, and why customers are not visited."""
    from dynaroute.problem.unserved import explain_unserved

    first = result.violations[:MOST_NOTES]
    if not first:
        return []
    unserved = explain_unserved(result.instance, result.solution, MOST_NOTES)
    reasons = {found.customer: found.reason for found in unserved}
    return [
        f"{violation.message.removesuffix('.')}: {reasons[violation.customer]}."
        if violation.is_absence and violation.customer in reasons
        else violation.message
        for violation in first
    ]


def _print_routes(job: SolveJob, result: Result) -> None:
    instance, routes = job.instance, result.solution.routes
    separator = " " if instance.customer_names is None else ", "
    types = result.solution.vehicle_types(instance)
    tells_types = len(instance.fleet) > 1 or bool(instance.fleet[0].name)
    timetable = _make_timetable(result)
    rows = [
        (
            str(number),
            *([_call_type(instance, kind)] if tells_types else []),
            f"{instance.shown_demand(load)}/{instance.shown_demand(instance.fleet[kind].capacities[0])}",
            show_length(length, instance.unit),
            *([instance.shown_time(times.departure), instance.shown_time(times.end)] if times else []),
            separator.join(map(instance.customer_name, route)),
        )
        for number, (route, kind, load, length, times) in enumerate(
            zip(
                routes,
                types,
                result.solution.loads(instance),
                result.solution.route_costs(instance),
                timetable,
                strict=True,
            ),
            start=1,
        )
    ]
    cost = show_length(result.cost, instance.cost_unit)
    if instance.is_priced:
        cost += f", length {show_length(result.solution.length(instance), instance.unit)}"
    print_line(f"{_name_job(job)}: {count_of(len(routes), 'route')}, cost {cost}; by {_describe_run(result)}")
    vehicle, times_of_day = ["Vehicle"] if tells_types else [], ["Departure", "End"] if any(timetable) else []
    print_table(("Route", *vehicle, "Load", "Length", *times_of_day, "Customers"), rows)


def _call_type(instance: Instance, kind: int) -> str:
    return show_text(instance.fleet[kind].name, LONGEST_NAME) or f"type {kind + 1}"


def _make_timetable(result: Result) -> Sequence[RouteSchedule | None]:
    """Return the times of each route; None if travel times are unknown."""
    from dynaroute.problem.solution import make_timetable

    if not result.instance.knows_times:
        return [None] * len(result.solution.routes)
    return make_timetable(result.instance, result.solution)


def _print_summary(jobs: Sequence[SolveJob], results: Sequence[Result]) -> None:
    if len(jobs) <= LONGEST_TABLE:
        _print_table(jobs, results)
    mean = math.fsum(result.cost for result in results) / len(results)
    first = math.fsum(result.first_cost for result in results) / len(results)
    saved = f" ({100 * (mean / first - 1):.2f} % by improvement)" if mean < first else ""
    seconds = math.fsum(result.seconds for result in results)
    methods = show_counts(Counter(result.model_and_method for result in results))
    units = {job.instance.cost_unit for job in jobs}
    shown = show_length(mean, units.pop() if len(units) == 1 else None)
    print_line(f"{len(jobs)} instances, mean cost {shown}{saved}, {seconds:.2f} s in total; {methods}")


def _print_table(jobs: Sequence[SolveJob], results: Sequence[Result]) -> None:
    is_improved = any(result.trace for result in results)
    rows = [
        (
            _name_job(job),
            str(job.instance.size),
            str(len(result.solution.routes)),
            *([show_length(result.first_cost, job.instance.cost_unit)] if is_improved else []),
            show_length(result.cost, job.instance.cost_unit),
            _describe_run(result),
        )
        for job, result in zip(jobs, results, strict=True)
    ]
    first_cost = ["First cost"] if is_improved else []
    print_table(("Instance", "Customers", "Routes", *first_cost, "Cost", "How"), rows)


def _name_job(job: SolveJob) -> str:
    return show_text(job.name, LONGEST_NAME)


def _describe_run(result: Result) -> str:
    if result.model is None or result.limit is None:
        return f"{show_text(result.model_and_method, LONGEST_NAME)}, {result.seconds:.2f} s"
    builder = show_text(f"{result.model} ({result.start})", LONGEST_NAME)
    return f"{builder}, improved for {result.seconds:.1f} s"
