"""What ``dynaroute solve`` tells of its results."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from dynaroute.cli.jobs import Job
from dynaroute.cli.output import count_of, print_note, print_table, show_counts, show_length

if TYPE_CHECKING:
    from dynaroute.solving.result import Result

__all__ = ["print_notes", "print_results"]

MOST_NOTES = 5
LONGEST_TABLE = 40  # instances; a longer list is summed up


def print_results(jobs: Sequence[Job], results: Sequence[Result]) -> None:
    """Print the routes of one instance, or a line for each of many and their sum."""
    if len(jobs) == 1:
        _print_routes(jobs[0], results[0])
    else:
        _print_summary(jobs, results)


def print_notes(jobs: Sequence[Job], results: Sequence[Result]) -> None:
    """Print each message once; one that is about a single instance of many, with its name.

    What improving did to each of many is told by their table.
    """
    told = [
        [message for message in result.messages if len(jobs) == 1 or message != result.improvement]
        for result in results
    ]
    uses = Counter(message for messages in told for message in messages)
    notes = [
        f"{job.name}: {message}" if uses[message] == 1 < len(jobs) else message
        for job, messages in zip(jobs, told, strict=True)
        for message in messages
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
        _print_table(jobs, results)
    mean = math.fsum(result.cost for result in results) / len(results)
    first = math.fsum(result.first_cost for result in results) / len(results)
    saved = f" ({100 * (mean / first - 1):.2f} % by improving)" if mean < first else ""
    seconds = math.fsum(result.seconds for result in results)
    ways = show_counts(Counter(result.how for result in results))
    typer.echo(f"{len(jobs)} instances, mean cost {show_length(mean)}{saved}, {seconds:.2f} s in all; {ways}")


def _print_table(jobs: Sequence[Job], results: Sequence[Result]) -> None:
    is_improved = any(result.trace for result in results)
    rows = [
        (
            job.name,
            str(job.instance.size),
            str(len(result.solution.routes)),
            *([show_length(result.first_cost)] if is_improved else []),
            show_length(result.cost),
            _how(result),
        )
        for job, result in zip(jobs, results, strict=True)
    ]
    first_cost = ["First cost"] if is_improved else []
    print_table(("Instance", "Customers", "Routes", *first_cost, "Cost", "How"), rows)


def _how(result: Result) -> str:
    return f"{result.how}, {result.seconds:.2f} s"
