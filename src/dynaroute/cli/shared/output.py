"""Printing: results to stdout, notes and errors to stderr."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

import typer

from dynaroute.base.display import LONGEST_NAME, count_of, show_length, show_text

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
    """Print one JSON document, on one line."""
    with suppress(OSError) if to_stderr else nullcontext():  # if even stderr is full, the exit code remains
        typer.echo(json.dumps(document, allow_nan=False), err=to_stderr)


def print_line(text: str, *, styled: str = "", to_stderr: bool = False) -> None:
    """Print a line that may contain untrusted text.

    Parameters
    ----------
    text
        The line; control characters are escaped.
    styled
        Our own text before it, with colours.
    to_stderr
        Whether it is a note about the results.
    """
    typer.echo(styled + show_text(text, None), err=to_stderr)


def print_facts(title: str, facts: Iterable[tuple[str, str]]) -> None:
    """Print a title with indented names and values below it."""
    rows = list(facts)
    width = max(len(name) for name, _ in rows)
    print_line(title)
    for name, value in rows:
        print_line(f"  {name:<{width}}  {show_text(value, LONGEST_NAME)}")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table. Numbers are right-aligned, and the last column takes the remaining width."""
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
    with suppress(OSError):  # if even stderr is full or closed, the exit code remains
        print_line(message, styled=f"{typer.style('error:', fg='red', bold=True)} ", to_stderr=True)


def print_note(message: str) -> None:
    """Print a note to stderr."""
    print_line(show_text(message), styled=f"{typer.style('note:', fg='yellow')} ", to_stderr=True)


def make_console(**settings: Any) -> Console:
    """Make a rich console without markup, so that names in brackets are printed as they are."""
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False, soft_wrap=False, **settings)


def show_counts(counts: Mapping[str, int]) -> str:
    """Format counts by kind, the most frequent first; a single kind without its count."""
    if len(counts) == 1:
        return next(iter(counts))
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{count} {name}" for name, count in ordered)


def _looks_numeric(cell: str) -> bool:
    return not cell or cell.replace(".", "").replace("/", "").replace("-", "").isdigit()
