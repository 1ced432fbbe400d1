"""Errors a user can act on: each says what is wrong, where, and what to do. And warnings about input."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, TextIO

from dynaroute.display import show_text

__all__ = [
    "DynarouteError",
    "FileError",
    "FormatError",
    "InputWarning",
    "InstanceError",
    "ModelError",
    "OptionError",
    "SolutionError",
    "TrainingError",
    "UnsupportedError",
    "Where",
    "gather_notes",
    "hand_over_notes",
    "in_file",
    "merge_notes",
    "placed",
    "warn_of_each",
    "warn_of_input",
]

_MOST_WARNINGS = 5

_notes: ContextVar[list[str] | None] = ContextVar("notes", default=None)


class InputWarning(UserWarning):
    """Something in a user's input was odd, was put right, and may deserve a look."""


@dataclass(frozen=True)
class Where:
    """The place an error speaks of; every part may be unknown.

    Attributes
    ----------
    file
        Path of the file, as the user wrote it.
    line
        Line in that file, from 1.
    field
        Name of the field, section, column, key or option.
    customer
        Customer, from 1.
    """

    file: str | None = None
    line: int | None = None
    field: str | None = None
    customer: int | None = None

    def __str__(self) -> str:
        parts = [
            self.file,
            f"line {self.line}" if self.line is not None else None,
            f"field {self.field}" if self.field is not None else None,
            f"customer {self.customer}" if self.customer is not None else None,
        ]
        return ", ".join(part for part in parts if part is not None)


class DynarouteError(Exception):
    """Base of all errors that Dynaroute raises on purpose.

    Parameters
    ----------
    message
        One sentence: what is wrong.
    where
        Place of the fault.
    remedy
        One sentence: what the user can do about it.
    """

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, where: Where | None = None, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where if where is not None else Where()
        self.remedy = remedy

    def __str__(self) -> str:
        place = str(self.where)
        text = f"{place}: {self.message}" if place else self.message
        # what is wrong may be quoted from a file, and the remedy must be read all the same
        return f"{show_text(text)} {show_text(self.remedy)}" if self.remedy else show_text(text)

    def to_json(self) -> dict[str, object]:
        """The error as an object for programs, the same on the command line and from the service."""
        return {
            "code": type(self).code,
            "message": self.message,
            "where": {part: getattr(self.where, part) for part in ("file", "line", "field", "customer")},
            "remedy": self.remedy,
        }


class FileError(DynarouteError):
    """A file cannot be opened, read or written."""

    code = "file"


class FormatError(DynarouteError):
    """A file's text does not follow its format."""

    code = "format"


class InstanceError(DynarouteError):
    """The values cannot be a routing problem."""

    code = "instance"


class SolutionError(DynarouteError):
    """The values cannot be a solution."""

    code = "solution"


class UnsupportedError(DynarouteError):
    """A sound request for something Dynaroute does not do."""

    code = "unsupported"


class OptionError(DynarouteError):
    """An option, or a combination of options, makes no sense."""

    code = "option"


class ModelError(DynarouteError):
    """A trained model cannot be loaded or used."""

    code = "model"


class TrainingError(DynarouteError):
    """A training run cannot go on."""

    code = "training"


@contextmanager
def placed(place: Callable[[Where], Where]) -> Iterator[None]:
    """Restate the place of every error of ours that leaves this block, such as in the terms of a file format."""
    try:
        yield
    except DynarouteError as error:
        error.where = place(error.where)
        raise


def in_file(path: str | Path) -> AbstractContextManager[None]:
    """Name the file in every error of ours that leaves this block without one."""
    return placed(lambda where: where if where.file is not None else replace(where, file=str(path)))


def warn_of_input(source: str, message: str) -> None:
    """Warn that something in the input, of a file where there is one, was ignored or put right."""
    note = show_text(f"{source}: {message}" if source else message)
    notes = _notes.get()
    if notes is not None:
        notes.append(note)
        return
    warnings.warn(note, InputWarning, stacklevel=3)


def warn_of_each(source: str, things: Sequence[str], tell: Callable[[str], str]) -> None:
    """Warn of the first few of many things in the input, and tell how many more there are.

    Parameters
    ----------
    source
        The file's path, if there is a file.
    things
        What was odd.
    tell
        The warning about one of them.
    """
    for thing in things[:_MOST_WARNINGS]:
        warn_of_input(source, tell(thing))
    if len(things) > _MOST_WARNINGS:
        warn_of_input(source, f"and so on, {len(things) - _MOST_WARNINGS:,} more.")


@contextmanager
def gather_notes() -> Iterator[list[str]]:
    """Gather the warnings about input that are given in this block, by this thread or task alone.

    They do not go through Python's warnings, which libraries in other threads may have turned off for a moment.
    """
    notes: list[str] = []
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


@contextmanager
def merge_notes(source: str) -> Iterator[None]:
    """Give each warning about input of this block once, at its end: of a set, many instances cause the same.

    Parameters
    ----------
    source
        The file's path, which they lack.
    """
    with gather_notes() as notes:
        yield
    warn_of_each(source, list(dict.fromkeys(notes)), lambda note: note)


@contextmanager
def hand_over_notes(tell: Callable[[str], None]) -> Iterator[None]:
    """Have warnings about input told by `tell` while this lasts; Python's own format names lines of our source.

    Python's ways to catch warnings change the whole process, so this is for a program to enter once.

    Parameters
    ----------
    tell
        Called with each, in the thread that warns.
    """
    with warnings.catch_warnings():
        # "always" keeps no register of what was said before, which would grow with every warning
        warnings.simplefilter("always", InputWarning)
        usual = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, InputWarning):
                tell(str(message))
            else:
                usual(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield
