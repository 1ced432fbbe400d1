"""Files of a run that are either the old ones or the new ones, never half of them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from dynaroute.errors import FileError, in_file

__all__ = ["HOW_TO_GO_ON", "replace_file"]

HOW_TO_GO_ON = "Make room, or bring the folder back, and go on with --resume; the last good checkpoint is untouched."


def replace_file(path: Path, contents: bytes | memoryview) -> None:
    """Write beside, then rename.

    Parameters
    ----------
    path
        Where to; its folder must be there.
    contents
        What to write.

    Raises
    ------
    FileError
        If it cannot be written; what was there before is untouched.
    """
    part = path.with_name(path.name + ".part")
    with in_file(path):
        try:
            with part.open("wb") as file:
                file.write(contents)
                file.flush()
                os.fsync(file.fileno())  # a name must never stand for contents that a power cut took
            part.replace(path)
        except OSError as error:
            with suppress(OSError):  # a disk that became read-only does not give it up
                part.unlink(missing_ok=True)
            raise FileError(f"cannot write it: {error.strerror or error}.", remedy=HOW_TO_GO_ON) from error
