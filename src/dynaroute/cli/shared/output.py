"""Printing, results to stdout, notes and errors to stderr; and checks of the files that a command writes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

import typer

from dynaroute.base.display import LONGEST_NAME, count_of, show_length, show_text

if TYPE_CHECKING:
    from rich.console import Console
import os
import sys
import unicodedata
from pathlib import Path

from dynaroute.base.errors import FileError, OptionError, Where

__all__ = [
    "count_of",
    "list_files",
    "list_model_files",
    "make_console",
    "print_error",
    "print_facts",
    "print_json",
    "print_line",
    "print_note",
    "print_table",
    "refuse_filled_folder",
    "refuse_missing_folder",
    "refuse_overwriting",
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


MODEL_FILES = ("config.json", "model.safetensors", "README.md")


def refuse_overwriting(outputs: Iterable[tuple[str, Path | None]], inputs: Iterable[Path | None]) -> None:
    """Raise if an output file is also an input, or is written twice, under any path or link.

    Raises
    ------
    OptionError
        The error names the option and the file.
    """
    read = {_identify(path): path for path in inputs if path is not None}
    written: dict[tuple[object, ...], str] = {}
    for option, path in outputs:
        if path is None:
            continue
        place, identity = Where(file=str(path), field=option), _identify(path)
        if identity in read:
            message = f"this would replace {read[identity]}, which is an input."
            raise OptionError(message, where=place, remedy="Name another file to write.")
        if identity in written:
            message = f"{written[identity]} writes to the same file."
            raise OptionError(message, where=place, remedy="Name different files.")
        written[identity] = option


def _identify(path: Path) -> tuple[object, ...]:
    """Return an identity shared by all names of a file, following links, whether or not it exists."""
    try:
        status = path.stat()
        return status.st_dev, status.st_ino
    except (OSError, ValueError):  # ValueError: a NUL character in the path
        target = Path(os.path.realpath(path)) if "\0" not in str(path) else path
    # these systems ignore differences in case and in the encoding of accents
    folds = sys.platform in ("darwin", "win32")
    name = unicodedata.normalize("NFC", target.name).casefold() if folds else target.name
    try:
        folder = target.parent.stat()
        return folder.st_dev, folder.st_ino, name
    except (OSError, ValueError):
        return str(target.parent), name


def list_files(*places: str | Path | None) -> list[Path]:
    """List given files, and all files in given folders; None and missing paths are ignored."""
    paths = [Path(place) for place in places if place is not None and "\0" not in str(place)]
    return [path for place in paths for path in (sorted(place.iterdir()) if place.is_dir() else [place])]


def list_model_files(model: str | None) -> list[Path]:
    """List a model's files, by name or folder; for auto, those of all shipped models."""
    from dynaroute.weights import find_model, shipped_models

    names = [] if model in (None, "savings") else list(shipped_models()) if model == "auto" else [str(model)]
    return [find_model(name) / file for name in names for file in MODEL_FILES]


def refuse_missing_folder(path: Path) -> None:
    """Raise if the path's folder does not exist, before any work is done."""
    if not path.parent.is_dir():
        raise FileError("its folder does not exist.", where=Where(file=str(path)), remedy="Create the folder first.")


def refuse_filled_folder(folder: Path) -> None:
    """Raise if the folder is not empty, to protect its content."""
    place = Where(file=str(folder))
    if folder.is_dir() and any(folder.iterdir()):
        raise FileError("the folder is not empty.", where=place, remedy="Name a new one.")
    if folder.exists() and not folder.is_dir():
        raise FileError("this is a file, not a folder.", where=place, remedy="Name a new folder.")
