"""Folders on this machine and in object stores, with the same operations.

Addresses are paths, or addresses that PyArrow or fsspec understands: s3://bucket/folder, gs://..., file://...
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from dynaroute.base.errors import FileError, Where
from dynaroute.base.files import remove_unfinished, write_bytes
from dynaroute.formats.sets.parquet_columns import load_pyarrow

_SCHEME = "://"
_BYTES_AT_ONCE = 1 << 22


def is_remote(address: str) -> bool:
    """Whether an address is in an object store or the like, not a path."""
    return _SCHEME in address


@dataclass(frozen=True)
class StoragePlace:
    """A folder, which need not exist yet. It can be sent to other processes.

    Attributes
    ----------
    address
        Its path, or its address in an object store.
    """

    address: str

    @property
    def is_remote(self) -> bool:
        """Whether it is in an object store or the like, not on this machine."""
        return is_remote(self.address)

    def file(self, name: str) -> str:
        """The address of a file in it, for messages."""
        path, mark, query = self.address.partition("?") if self.is_remote else (self.address, "", "")
        return f"{path.rstrip('/')}/{name}{mark}{query}"

    def list_files(self) -> dict[str, int]:
        """List names and sizes of its files, sorted by name; empty if the folder does not exist."""
        pyarrow = load_pyarrow()
        system, path = _resolve(self.address)
        with _translate_errors(self.address, "read"):
            chosen = pyarrow.fs.FileSelector(path, allow_not_found=True)
            found = [each for each in system.get_file_info(chosen) if each.type == pyarrow.fs.FileType.File]
        return {each.base_name: each.size for each in sorted(found, key=lambda each: str(each.base_name))}

    def make(self) -> None:
        """Create the folder if it does not exist."""
        system, path = _resolve(self.address)
        with _translate_errors(self.address, "made"):
            system.create_dir(path, recursive=True)

    def open(self, name: str) -> Any:
        """Open a file for PyArrow, to read from any position."""
        system, path = _resolve(self.address)
        with _translate_errors(self.file(name), "read"):
            return system.open_input_file(f"{path}/{name}")

    def read(self, name: str) -> bytes:
        """Read a whole file."""
        with self.open(name) as file, _translate_errors(self.file(name), "read"):
            return bytes(file.read())

    def require(self, name: str) -> None:
        """Check that a file can be read to its end, whatever it contains.

        Raises
        ------
        FileError
            If it cannot.
        """
        with self.open(name) as file, _translate_errors(self.file(name), "read"):
            while file.read(_BYTES_AT_ONCE):
                pass

    def write(self, name: str, content: bytes | memoryview) -> None:
        """Write a file completely or not at all, by renaming or by one completed upload."""
        if not self.is_remote:
            write_bytes(Path(self.address) / name, content)
            return
        system, path = _resolve(self.address)
        with _translate_errors(self.file(name), "written"):
            stream = system.open_output_stream(f"{path}/{name}")
            stream.write(content)
            stream.close()  # completes the upload; before that, the file is not visible

    def remove(self, name: str) -> None:
        """Remove a file."""
        system, path = _resolve(self.address)
        with _translate_errors(self.file(name), "removed"):
            system.delete_file(f"{path}/{name}")

    def remove_unfinished(self) -> None:
        """Remove what killed processes had not finished; in an object store, nothing of it is visible."""
        if not self.is_remote:
            remove_unfinished(Path(self.address))


def find_place(address: str) -> tuple[StoragePlace, str | None]:
    """Find the folder at an address; for a file, its folder and its name.

    Raises
    ------
    FileError
        If there is neither.
    """
    kinds = load_pyarrow().fs.FileType
    system, path = _resolve(address)
    with _translate_errors(address, "read"):
        kind = system.get_file_info(path).type
    if kind == kinds.Directory:
        return StoragePlace(address), None
    if kind == kinds.File:
        if not is_remote(address):
            return StoragePlace(str(Path(address).parent)), Path(address).name
        before, mark, query = address.partition("?")
        folder, _, name = before.rpartition("/")
        return StoragePlace(f"{folder}{mark}{query}"), name
    raise FileError("there is no such file or folder.", where=Where(file=address), remedy="Check the path.")


@lru_cache(maxsize=32)
def _resolve(address: str) -> tuple[Any, str]:
    """Find the file system of an address, and the path in it."""
    pyarrow = load_pyarrow()
    if not is_remote(address):
        return pyarrow.fs.LocalFileSystem(), str(Path(address).absolute())
    try:
        system, path = pyarrow.fs.FileSystem.from_uri(address)
    except pyarrow.ArrowInvalid as error:
        system, path = _resolve_by_fsspec(address, error)
    except OSError as error:
        raise _unusable(address, error) from error
    return system, path.rstrip("/")


def _resolve_by_fsspec(address: str, reason: Exception) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs

        system, path = url_to_fs(address)
    except (ImportError, ValueError, OSError) as error:  # no fsspec, or it does not know this kind of address
        raise _unusable(address, reason) from error
    fs = load_pyarrow().fs
    return fs.PyFileSystem(fs.FSSpecHandler(system)), path


def _unusable(address: str, error: Exception) -> FileError:
    message = f"this address cannot be used ({' '.join(str(error).split())})."
    return FileError(message, where=Where(file=address), remedy="Use a path, s3://, gs://, or install its fsspec.")


@contextmanager
def _translate_errors(address: str, done: str) -> Iterator[None]:
    """Convert errors of file systems to ours."""
    try:
        yield
    except (OSError, ValueError) as error:  # PyArrow's own are kinds of these
        if isinstance(error, FileNotFoundError):
            raise FileError("there is no such file.", where=Where(file=address), remedy="Check the path.") from error
        reason = " ".join((getattr(error, "strerror", None) or str(error)).split())
        message = f"it cannot be {done} ({reason})."
        raise FileError(
            message, where=Where(file=address), remedy="Check the free space and the permissions."
        ) from error
