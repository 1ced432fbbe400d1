"""The one place that opens whole files: read entirely, or written entirely, or an error that says why not."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from dynaroute.errors import FileError, FormatError, in_file
from dynaroute.limits import LARGEST_FILE, REMEDY, raised

__all__ = ["STDIN", "is_unfinished", "open_to_write", "read_bytes", "read_stdin", "refuse_unreadable", "write_bytes"]

STDIN = "standard input"  # what messages call it

# Opening a pipe would wait for its other end; what was a file when it was looked at may be a pipe when it is opened.
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_BEGIN, _END = ".dynaroute-", ".tmp"  # of the names of files that are being written
_STEP = 1 << 24  # bytes that are read at a time


def refuse_unreadable(path: Path, largest: int = LARGEST_FILE) -> None:
    """Refuse what is not a regular file of at most so many bytes, without opening it."""
    try:
        status = path.stat()
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
        raise _unreadable(error) from error
    _refuse_unusual(status, largest)


def _refuse_unusual(status: os.stat_result, largest: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise FileError("this is a folder, not a file.", remedy="Name a file in it.")
    if not stat.S_ISREG(status.st_mode):
        raise FileError("this is a device or a pipe, not a file.", remedy="Save its content to a file first.")
    _refuse_large(status.st_size, largest)


def _refuse_large(size: int, largest: int) -> None:
    if size > raised(largest):
        raise FileError(
            f"the file has {size:,} bytes, more than the largest that is read, {raised(largest):,}.", remedy=REMEDY
        )


def read_bytes(path: Path, largest: int = LARGEST_FILE) -> bytes:
    """Read a whole file that is not empty. Everything that Dynaroute reads is read by this.

    Parameters
    ----------
    path
        A regular file, or a link to one; pipes, devices, sockets and folders are refused, and never waited for.
    largest
        Bytes that it may have.

    Raises
    ------
    FileError
        If it is none, too large, or cannot be read.
    FormatError
        If it is empty.
    """
    refuse_unreadable(path, largest)
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | _AT_ONCE), "rb", buffering=0) as file:
            _refuse_unusual(os.fstat(file.fileno()), largest)
            parts: list[bytes] = []
            size = 0
            while part := file.read(_STEP):
                parts.append(part)
                size += len(part)
                _refuse_large(size, largest)  # it may grow, and some files of the system say 0 and have no end
    except (OSError, ValueError) as error:
        raise _unreadable(error) from error
    if not parts:
        raise FormatError("the file is empty.", remedy="Was it saved or copied completely?")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_stdin(largest: int = LARGEST_FILE) -> bytes:
    """Read all that comes from the standard input, which the user asked for by naming it.

    Parameters
    ----------
    largest
        Bytes that may come.

    Raises
    ------
    FileError
        If it is a terminal, closed, or too much comes.
    FormatError
        If nothing comes.
    """
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        raise FileError("nothing is sent to the standard input.", remedy="Send a file: command - < FILE.")
    parts: list[bytes] = []
    size = 0
    try:
        while part := sys.stdin.buffer.read(_STEP):
            parts.append(part)
            size += len(part)
            _refuse_large(size, largest)
    except (OSError, ValueError) as error:
        raise _unreadable(error) from error
    if not parts:
        raise FormatError("the standard input is empty.", remedy="Did the command before it fail?")
    return b"".join(parts)


def open_to_write(path: Path) -> TextIO:
    """Open a text file that is to be watched while it grows; what was in it is gone.

    Parameters
    ----------
    path
        The file to make or to empty, or a pipe that somebody reads from already.

    Raises
    ------
    FileError
        If it cannot be written; it names the file.
    """
    with in_file(path):
        try:
            target = Path(os.path.realpath(path))
            if not target.is_fifo():
                _replaceable_mode(target)
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | _AT_ONCE, 0o666)
        except (OSError, ValueError) as error:
            if getattr(error, "errno", None) == errno.ENXIO:
                raise FileError("nobody reads from this pipe.", remedy="Start its reader first.") from error
            raise _unwritable(error) from error
        file = os.fdopen(descriptor, "w", encoding="utf-8", newline="")
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode):
            file.truncate(0)
        elif not stat.S_ISFIFO(status.st_mode):
            file.close()
            raise FileError("this is a device, not a file.", remedy="Choose another place.")
        if hasattr(os, "set_blocking"):
            os.set_blocking(descriptor, True)
    return file


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
            raise _unwritable(error) from error


def is_unfinished(name: str) -> bool:
    """Whether a file of this name is one that `write_bytes` had not finished when it was killed."""
    return name.startswith(_BEGIN) and name.endswith(_END)


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
    beside = target.parent / f"{_BEGIN}{secrets.token_hex(8)}{_END}"  # a name that no other writer has
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


def _unwritable(error: OSError | ValueError) -> FileError:
    return FileError(f"the file cannot be written ({_reason(error)}).", remedy="Choose another place.")


def _unreadable(error: OSError | ValueError) -> FileError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return FileError("there is no such file.", remedy="Check the path.")
    if isinstance(error, PermissionError):
        return FileError("there is no permission to read this file.", remedy="Ask its owner, or copy it.")
    return FileError(f"the file cannot be read ({_reason(error)}).", remedy="Check the path.")


def _reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)
