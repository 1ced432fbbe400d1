"""Errors that say what is wrong, where, and what to do; and warnings about input."""

from __future__ import annotations

import json
import shlex
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self, TextIO

from dynaroute.base.display import show_text

__all__ = [
    "DynarouteError",
    "FileError",
    "FormatError",
    "InputWarning",
    "InstanceError",
    "ModelError",
    "OptionError",
    "PlanError",
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
    """Something odd in a user's input that was ignored or corrected."""


@dataclass(frozen=True)
class Where:
    """Where an error is; every part may be unknown.

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

    @classmethod
    def about(cls, field: str | None, message: str, remedy: str, customer: int | None = None) -> Self:
        """Make an error about a field.

        Parameters
        ----------
        field
            Name of the field, if it has one.
        message
            One sentence: what is wrong.
        remedy
            One sentence: what the user can do about it.
        customer
            The customer whose field it is.
        """
        return cls(message, where=Where(field=field, customer=customer), remedy=remedy)

    def __str__(self) -> str:
        place = str(self.where)
        text = f"{place}: {self.message}" if place else self.message
        # the message may quote a long text from a file; the remedy must still be readable
        return f"{show_text(text)} {show_text(self.remedy)}" if self.remedy else show_text(text)

    def to_json(self) -> dict[str, object]:
        """Return the error as JSON, the same for the command line and the service."""
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


class PlanError(DynarouteError):
    """A plan is wrong and does not say so itself.

    Parameters
    ----------
    message, where, remedy
        As in every `DynarouteError`; the message names all faults.
    violations
        The faults, as in ``check --json``.
    """

    code = "plan"

    def __init__(
        self,
        message: str,
        *,
        violations: Sequence[Mapping[str, object]] = (),
        where: Where | None = None,
        remedy: str = "",
    ) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.violations = tuple(violations)

    def __str__(self) -> str:
        place = str(self.where)
        return show_text(f"{place}: {self.message} {self.remedy}" if place else f"{self.message} {self.remedy}", None)

    def to_json(self) -> dict[str, object]:
        """Return the error with its list of faults."""
        return {**super().to_json(), "violations": list(self.violations)}


class UnsupportedError(DynarouteError):
    """A valid request for something that Dynaroute does not support.

    Parameters
    ----------
    message, where, remedy
        As in every `DynarouteError`.
    names
        Columns or keys of a file that can be planned without, as ``ignore`` of `dynaroute.read` takes them; the remedy
        says so too. Empty if that is not possible.
    """

    code = "unsupported"

    def __init__(
        self, message: str, *, where: Where | None = None, remedy: str = "", names: Sequence[str] = ()
    ) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.names = tuple(names)
        self._other_remedy = remedy
        if names:
            self._advise(f"ignore={json.dumps(self.names, ensure_ascii=False)} plans without")

    def address_command_line(self) -> None:
        """Reword the remedy for a command with the option ``--ignore``."""
        if self.names:
            self._advise(f"{self._flags} plans without")

    def address_command_without_option(self) -> None:
        """Reword the remedy for a command that reads files only as they are."""
        if self.names:
            file = shlex.quote(self.where.file or "IN")
            self._advise(f"dynaroute convert {file} OUT.json {self._flags} makes a file without")

    def address_reader_without_option(self) -> None:
        """Reword the remedy for a reader that cannot leave anything out."""
        if self.names:
            self._advise(f"Remove {'them' if len(self.names) > 1 else 'it'} to plan without")
        self.names = ()

    @property
    def _flags(self) -> str:
        return " ".join(f"--ignore {shlex.quote(name)}" for name in self.names)

    def _advise(self, way: str) -> None:
        self.remedy = f"{self._other_remedy} {way} {'them' if len(self.names) > 1 else 'it'}.".strip()


class OptionError(DynarouteError):
    """An option, or a combination of options, is invalid."""

    code = "option"


class ModelError(DynarouteError):
    """A trained model cannot be loaded or used."""

    code = "model"


class TrainingError(DynarouteError):
    """A training run cannot continue."""

    code = "training"


@contextmanager
def placed(place: Callable[[Where], Where]) -> Iterator[None]:
    """Translate the place of every `DynarouteError` raised in this block, for example into a file format's terms."""
    try:
        yield
    except DynarouteError as error:
        error.where = place(error.where)
        raise


def in_file(path: str | Path) -> AbstractContextManager[None]:
    """Add the file's name to every `DynarouteError` raised in this block that names none."""
    return placed(lambda where: where if where.file is not None else replace(where, file=str(path)))


def warn_of_input(source: str, message: str) -> None:
    """Warn that something in the input was ignored or corrected; `source` is the file's path, or empty."""
    note = show_text(f"{source}: {message}" if source else message)
    notes = _notes.get()
    if notes is not None:
        notes.append(note)
        return
    warnings.warn(note, InputWarning, stacklevel=3)


def warn_of_each(source: str, things: Sequence[str], tell: Callable[[str], str]) -> None:
    """Warn about the first few odd things in the input, and say how many more there are.

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
    """Collect the input warnings of this block, from this thread or task only.

    They bypass Python's warnings, which a library in another thread may have turned off for a moment.
    """
    notes: list[str] = []
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


@contextmanager
def merge_notes(source: str) -> Iterator[None]:
    """Give each distinct input warning once, at the end of this block: many instances of a set cause the same one."""
    with gather_notes() as notes:
        yield
    warn_of_each(source, list(dict.fromkeys(notes)), lambda note: note)


@contextmanager
def hand_over_notes(tell: Callable[[str], None]) -> Iterator[None]:
    """Pass input warnings to `tell` inside this block, since Python's own format shows lines of our source.

    Python's warning filters are global to the process, so a program should enter this only once.

    Parameters
    ----------
    tell
        Called with each warning, in the thread that warns.
    """
    with warnings.catch_warnings():
        # "always" keeps no record of earlier warnings, which would grow with each of them
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
