"""Remarks about input, gathered for the request they belong to."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TextIO

from dynaroute.errors import InputWarning

__all__ = ["gather_notes", "route_notes"]

_MOST_NOTES = 20
_NOTES: ContextVar[list[str] | None] = ContextVar("notes", default=None)


@contextmanager
def route_notes() -> Iterator[None]:
    """Send warnings about input to whoever gathers them, while this lasts.

    Python's own ways to catch warnings change the whole process, so this is entered once and not by every request.
    """
    with warnings.catch_warnings():
        # "always" keeps no register of what was said before, which would grow with every request
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
            if not issubclass(category, InputWarning):
                usual(message, category, filename, lineno, file, line)
                return
            notes = _NOTES.get()
            if notes is not None and len(notes) < _MOST_NOTES:
                notes.append(str(message).encode("utf-8", "backslashreplace").decode())

        warnings.showwarning = show
        yield


@contextmanager
def gather_notes() -> Iterator[list[str]]:
    """Gather the remarks that are made in this block, in this thread."""
    notes: list[str] = []
    token = _NOTES.set(notes)
    try:
        yield notes
    finally:
        _NOTES.reset(token)
