"""Remarks about input, gathered for the request they belong to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["gather_notes", "keep_note"]

_MOST_NOTES = 20
_NOTES: ContextVar[list[str] | None] = ContextVar("notes", default=None)


def keep_note(note: str) -> None:
    """Hand a remark to whoever gathers them in this thread."""
    notes = _NOTES.get()
    if notes is not None and len(notes) < _MOST_NOTES:
        notes.append(note.encode("utf-8", "backslashreplace").decode())


@contextmanager
def gather_notes() -> Iterator[list[str]]:
    """Gather the remarks that are made in this block, in this thread."""
    notes: list[str] = []
    token = _NOTES.set(notes)
    try:
        yield notes
    finally:
        _NOTES.reset(token)
