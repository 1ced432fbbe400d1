"""The one place that opens whole files: read entirely, or written entirely, or an error that says why not."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from dynaroute.errors import FileError, FormatError, in_file

__all__ = ["LARGEST_FILE", "read_bytes", "refuse_unreadable", "write_bytes"]

LARGEST_FILE = 1_000_000_000  # bytes


def refuse_unreadable(path: Path) -> None:
    """Refuse what is not a regular file of at most 1 GB, without opening it."""
    try:
        status = path.stat()
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
        raise _unreadable(error) from error
    if stat.S_ISDIR(status.st_mode):
        raise FileError("this is a folder, not a file.", remedy="Name a file in it.")
    if not stat.S_ISREG(status.st_mode):
        raise FileError("this is a device or a pipe, not a file.", remedy="Save its content to a file first.")
    if status.st_size > LARGEST_FILE:
        raise FileError(
            f"the file has {status.st_size:,} bytes, more than the largest that is read, {LARGEST_FILE:,}.",
            remedy="Split it into smaller files.",
        )


def read_bytes(path: Path) -> bytes:
    """Read a whole file that is not empty."""
    refuse_unreadable(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(error) from error
    if not content:
        raise FormatError("the file is empty.", remedy="Was it saved or copied completely?")
    return content


def write_bytes(path: Path, content: bytes | memoryview) -> None:
    """Write a whole file, or leave what was there: write beside it, then rename.

    Parameters
    ----------
    path
        The file to make or to replace; behind a symbolic link, the file that it leads to.
    content
        All of its bytes.

    Raises
    ------
    FileError
        If the folder is not there or the file cannot be written; it names the file.
    """
    with in_file(path):
        try:
            target = Path(os.path.realpath(path))
            _write_beside_and_rename(target, content, _replaceable_mode(target))
        except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
            reason = _reason(error)
            raise FileError(f"the file cannot be written ({reason}).", remedy="Choose another place.") from error


def _replaceable_mode(target: Path) -> int | None:
    """Permissions of the file to be replaced; None if there is none yet."""
    folder = target.parent
    if not folder.is_dir():
        raise FileError(f"the folder {folder} does not exist.", remedy="Create it first.")
    if not target.exists():
        return None
    if target.is_dir():
        raise FileError("this is a folder, not a file.", remedy="Name a file in it.")
    if not target.is_file():
        raise FileError("this is a device or a pipe, not a file.", remedy="Choose another place.")
    if not os.access(target, os.W_OK):  # renaming would replace it all the same
        raise FileError("there is no permission to change this file.", remedy="Choose another place.")
    return stat.S_IMODE(target.stat().st_mode)


def _write_beside_and_rename(target: Path, content: bytes | memoryview, mode: int | None) -> None:
    beside = target.parent / f".dynaroute-{secrets.token_hex(8)}.tmp"  # a name that no other writer has
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # a name must never stand for contents that a power cut took
        if mode is not None:
            beside.chmod(mode)
        beside.replace(target)
    except BaseException:  # an interrupt, too, must leave nothing behind
        with suppress(OSError):  # a disk that became read-only does not give it up
            beside.unlink(missing_ok=True)
        raise


def _unreadable(error: OSError | ValueError) -> FileError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return FileError("there is no such file.", remedy="Check the path.")
    if isinstance(error, PermissionError):
        return FileError("there is no permission to read this file.", remedy="Ask its owner, or copy it.")
    return FileError(f"the file cannot be read ({_reason(error)}).", remedy="Check the path.")


def _reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)
