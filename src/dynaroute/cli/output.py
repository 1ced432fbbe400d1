"""What the commands print: results to stdout, words about them to stderr."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

import typer

from dynaroute.display import LONGEST_NAME, show_text

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "count_of",
    "make_console",
    "print_error",
    "print_facts",
    "print_json",
    "print_line",
    "print_note",
    "print_table",
    "show_counts",
    "show_length",
]


def print_json(document: object, *, to_stderr: bool = False) -> None:
    """Print one JSON document, on one line.

    Parameters
    ----------
    document
        Plain data with finite numbers.
    to_stderr
        Whether it is an error, not a result.
    """
    with suppress(OSError) if to_stderr else nullcontext():  # where even stderr is full, the exit code still tells
        typer.echo(json.dumps(document, allow_nan=False), err=to_stderr)


def print_line(text: str, *, styled: str = "", to_stderr: bool = False) -> None:
    """Print a line that may hold text of others.

    Parameters
    ----------
    text
        The line; what a terminal would obey is escaped.
    styled
        Words of our own before it, with colours.
    to_stderr
        Whether it is about the results, not one of them.
    """
    typer.echo(styled + show_text(text, None), err=to_stderr)


def print_facts(title: str, facts: Iterable[tuple[str, str]]) -> None:
    """Print a title and, indented below it, names and values."""
    rows = list(facts)
    width = max(len(name) for name, _ in rows)
    print_line(title)
    for name, value in rows:
        print_line(f"  {name:<{width}}  {show_text(value, LONGEST_NAME)}")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under headings; columns of numbers are flush right, and the last column takes what room is left."""
    from rich.table import Table

    cells = [tuple(show_text(cell, None) for cell in row) for row in rows]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for index, heading in enumerate(columns):
        is_numeric = all(_looks_numeric(row[index]) for row in cells)
        is_last = index == len(columns) - 1
        table.add_column(heading, justify="right" if is_numeric else "left", no_wrap=not is_last, overflow="fold")
    for row in cells:
        table.add_row(*row)
    make_console().print(table)


def print_error(message: str) -> None:
    """Print an error, one paragraph, to stderr."""
    with suppress(OSError):  # where even stderr is full or closed, the exit code still tells
        print_line(message, styled=f"{typer.style('error:', fg='red', bold=True)} ", to_stderr=True)


def print_note(message: str) -> None:
    """Print a remark, one line, to stderr."""
    print_line(show_text(message), styled=f"{typer.style('note:', fg='yellow')} ", to_stderr=True)


def make_console(**settings: Any) -> Console:
    """Make a rich console that prints text as it is: a name in brackets is no markup."""
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False, soft_wrap=False, **settings)


def count_of(number: int, noun: str) -> str:
    """Write a number of things: 1 route, 2 routes."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def show_counts(counts: Mapping[str, int]) -> str:
    """Write how many there are of each kind, the most frequent first; of a single kind, its name alone."""
    if len(counts) == 1:
        return next(iter(counts))
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{count} {name}" for name, count in ordered)


def show_length(length: float) -> str:
    """Write a length or a cost: whole numbers as such, others to four decimals or digits."""
    if length == round(length):
        return f"{length:.0f}"
    return f"{length:.4f}" if length >= 1 else f"{length:.4g}"


def _looks_numeric(cell: str) -> bool:
    return not cell or cell.replace(".", "").replace("/", "").replace("-", "").isdigit()
