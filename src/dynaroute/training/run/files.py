"""Safe files of a run: replaced completely or not at all, by one process at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dynaroute.base.errors import FileError, Where
from dynaroute.base.files import remove_unfinished, write_bytes

try:
    import fcntl
except ImportError:  # not available on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["RESUME_REMEDY", "RUN_FILES", "hold_folder", "replace_file"]

RUN_FILES = (
    "plan.toml",
    "last.pt",
    "best.pt",
    "metrics.jsonl",
    "config.json",
    "model.safetensors",
    "README.md",
    "curve.png",
)

RESUME_REMEDY = (
    "Free some space, or restore the folder, and continue with the option resume; the last good checkpoint is "
    "untouched."
)


def replace_file(path: Path, contents: bytes | memoryview) -> None:
    """Replace a whole file, or leave it untouched and say how to continue."""
    try:
        write_bytes(path, contents)
    except FileError as error:
        error.remedy = RESUME_REMEDY
        raise


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from training in this folder, and remove what a killed one had not finished writing.

    Raises
    ------
    FileError
        If another process holds it.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network disks do not support locks
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise FileError(
                    "another process is training in this folder.",
                    where=Where(file=str(folder)),
                    remedy="Wait for it, stop it, or use another folder.",
                ) from error
        remove_unfinished(folder)
        yield
    finally:
        os.close(handle)
