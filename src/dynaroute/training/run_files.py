"""Files of a run that are either the old ones or the new ones, never half of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dynaroute.errors import FileError, Where
from dynaroute.files import write_bytes

try:
    import fcntl
except ImportError:  # Windows has none
    fcntl = None  # type: ignore[assignment]

__all__ = ["HOW_TO_GO_ON", "RUN_FILES", "hold_folder", "replace_file"]

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

HOW_TO_GO_ON = (
    "Make room, or bring the folder back, and go on with the option resume; the last good checkpoint is untouched."
)


def replace_file(path: Path, contents: bytes | memoryview) -> None:
    """Write a whole file, or leave what was there and say how to go on."""
    try:
        write_bytes(path, contents)
    except FileError as error:
        error.remedy = HOW_TO_GO_ON
        raise


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from training in this folder; a process that ends, however it ends, lets go of it.

    Parameters
    ----------
    folder
        Of the run.

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
        with suppress(OSError):  # some network disks know no locks
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise FileError(
                    "another process is training in this folder.",
                    where=Where(file=str(folder)),
                    remedy="Wait for it, stop it, or use another folder.",
                ) from error
        yield
    finally:
        os.close(handle)
