"""Reading and writing whole files. Everything that Dynaroute reads or replaces goes through here."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TextIO

from dynaroute.base.errors import FileError, FormatError, in_file
from dynaroute.base.limits import LARGEST_FILE, REMEDY, raised

try:
    import fcntl
except ImportError:  # not available on Windows
    fcntl = None  # type: ignore[assignment]

STDIN = "standard input"  # its name in messages

# Opening a pipe would wait for its other end, and a path may become a pipe between the check and the opening.
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_BEGIN, _END = ".dynaroute-", ".tmp"  # parts of the names of files while they are written
_STEP = 1 << 24  # bytes read at a time
_ATTEMPTS = 3  # where locks do not reach, another machine may take a file that is being written for a killed one's


def refuse_unreadable(path: Path, largest: int = LARGEST_FILE) -> None:
    """Raise unless the path is a regular file of at most `largest` bytes, without opening it."""
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
        raise FileError(f"the file has {size:,} bytes, more than the limit of {raised(largest):,}.", remedy=REMEDY)


def read_bytes(path: Path, largest: int = LARGEST_FILE) -> bytes:
    """Read a whole file, which must not be empty.

    Parameters
    ----------
    path
        A regular file, or a link to one. Pipes, devices, sockets and folders are refused at once.
    largest
        Most bytes that the file may have.

    Raises
    ------
    FileError
        If it is not a regular file, too large, or cannot be read.
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
                _refuse_large(size, largest)  # it may grow; some system files report size 0 and never end
    except (OSError, ValueError) as error:
        raise _unreadable(error) from error
    if not parts:
        raise FormatError("the file is empty.", remedy="Was it saved or copied completely?")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_stdin(largest: int = LARGEST_FILE) -> bytes:
    """Read standard input to its end.

    Raises
    ------
    FileError
        If it is a terminal, closed, or too long.
    FormatError
        If it is empty.
    """
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        raise FileError("nothing is sent to standard input.", remedy="Send a file: command - < FILE.")
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
        raise FormatError("standard input is empty.", remedy="Did the command before it fail?")
    return b"".join(parts)


def open_to_write(path: Path) -> TextIO:
    """Open a text file that others may watch while it grows. Its old content is lost.

    Parameters
    ----------
    path
        The file to create or empty, or a pipe that already has a reader.

    Raises
    ------
    FileError
        If it cannot be written; the error names the file.
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
    """Replace a whole file, or leave it untouched: write a temporary file next to it, then rename.

    Parameters
    ----------
    path
        The file to create or replace. Symbolic links are followed.
    content
        All of its bytes.

    Raises
    ------
    FileError
        If the folder does not exist or the file cannot be written; the error names the file.
    """
    with in_file(path):
        try:
            target = Path(os.path.realpath(path))
            mode = _replaceable_mode(target)
            _clean_up(target.parent)
            _write_beside_and_rename(target, content, mode)
        except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
            raise _unwritable(error) from error


def remove_unfinished(folder: Path) -> None:
    """Remove what `write_bytes` of killed processes left in a folder. Files of living processes are locked, and stay.

    Parameters
    ----------
    folder
        The folder; it need not exist.
    """
    if fcntl is None:
        return
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name.startswith(_BEGIN) and path.name.endswith(_END):
                _remove_unless_held(path)


@lru_cache(maxsize=64)
def _clean_up(folder: Path) -> None:
    """Do the same once per folder and process, because listing a folder for every file would be slow."""
    remove_unfinished(folder)


def _remove_unless_held(path: Path) -> None:
    with suppress(OSError):  # it is held, gone, or of another user, or this disk has no locks
        descriptor = os.open(path, os.O_RDWR | _AT_ONCE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
        finally:
            os.close(descriptor)


def _replaceable_mode(target: Path) -> int | None:
    """Return the permissions of the file to replace; None if it does not exist."""
    folder = target.parent
    if not folder.is_dir():
        raise FileError(f"the folder {folder} does not exist.", remedy="Create it first.")
    if not target.exists():
        return None
    if target.is_dir():
        raise FileError("this is a folder, not a file.", remedy="Name a file in it.")
    if not target.is_file():
        raise FileError("this is a device or a pipe, not a file.", remedy="Choose another place.")
    if not os.access(target, os.W_OK):  # renaming would replace it anyway
        raise FileError("you have no permission to change this file.", remedy="Choose another place.")
    return stat.S_IMODE(target.stat().st_mode)


def _write_beside_and_rename(target: Path, content: bytes | memoryview, mode: int | None) -> None:
    for attempt in range(1, _ATTEMPTS + 1):
        beside = target.parent / f"{_BEGIN}{secrets.token_hex(8)}{_END}"  # a name that no other writer uses
        try:
            _write_and_rename(beside, target, content, mode)
        except FileNotFoundError:
            if attempt == _ATTEMPTS:
                raise
        else:
            return


def _write_and_rename(beside: Path, target: Path, content: bytes | memoryview, mode: int | None) -> None:
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            _hold(file.fileno())
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # otherwise a power cut could leave the new name with lost content
            if mode is not None:
                beside.chmod(mode)
            if fcntl is not None:  # while it is held
                beside.replace(target)
        if fcntl is None:  # Windows only renames closed files
            beside.replace(target)
    except BaseException:  # interrupts, too, must leave nothing behind
        with suppress(OSError):  # fails if the disk became read-only
            beside.unlink(missing_ok=True)
        raise


def _hold(descriptor: int) -> None:
    """Lock a file until it is closed, so that others see that its writer lives."""
    if fcntl is not None:
        with suppress(OSError):  # some network disks do not support locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _unwritable(error: OSError | ValueError) -> FileError:
    return FileError(f"the file cannot be written ({_find_reason(error)}).", remedy="Choose another place.")


def _unreadable(error: OSError | ValueError) -> FileError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return FileError("there is no such file.", remedy="Check the path.")
    if isinstance(error, PermissionError):
        return FileError("you have no permission to read this file.", remedy="Ask its owner, or copy it.")
    return FileError(f"the file cannot be read ({_find_reason(error)}).", remedy="Check the path.")


def _find_reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)


def checksum_of(data: bytes | memoryview) -> str:
    """Compute the checksum that is stored with a record and compared when it is read.

    It finds damage and careless edits. It does not stop a forger, who can compute it too.

    Parameters
    ----------
    data
        All bytes of the record, in the same order when it is written and when it is read.

    Returns
    -------
    str
        SHA-256 in 64 lower-case hexadecimal digits.
    """
    return sha256(data).hexdigest()
