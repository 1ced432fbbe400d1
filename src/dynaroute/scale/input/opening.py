"""What a batch can read, and choosing the kind of source for an address."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from dynaroute.base.errors import FileError, FormatError, Where
from dynaroute.formats.collection import is_instance_file
from dynaroute.scale.input.file_sources import open_folder, open_set
from dynaroute.scale.input.parquet_source import open_parquet
from dynaroute.scale.places import find_place
from dynaroute.scale.rows import Block, InputRow

_HIDDEN = (".", "_")  # first characters of files that contain no data


class BatchInput(Protocol):
    """Parquet files, a folder of instances, or a set that is read as a whole.

    It can be sent to other processes, without its open files.
    """

    @property
    def address(self) -> str:
        """The address as the user wrote it."""
        ...

    @property
    def digest(self) -> str:
        """A digest of its contents."""
        ...

    def __len__(self) -> int:
        """Number of rows."""
        ...

    def prepare(self, block: Block) -> Block:
        """Add to a block the rows that workers cannot read themselves. Called by the driver."""
        ...

    def read(self, block: Block) -> list[InputRow]:
        """Read the rows of a prepared block; invalid ones carry an error. Called by workers."""
        ...


def open_source(address: str) -> BatchInput:
    """Open an input.

    Parameters
    ----------
    address
        A Parquet file or a folder of them, local or in an object store; a folder of instance files; or any file that
        `dynaroute.read_set` reads.

    Raises
    ------
    DynarouteError
        If there is no such input, or it cannot be read.
    """
    place, name = find_place(address)
    if name is not None:
        return open_parquet(address, place, [name]) if _is_parquet(name) else _open_whole(address, place.is_remote)
    names = [each for each in place.list_files() if not each.startswith(_HIDDEN)]
    tables = [each for each in names if _is_parquet(each)]
    if place.is_remote:
        return open_parquet(address, place, _require(tables, address, "Parquet file"))
    others = [each for each in names if each not in tables and is_instance_file(Path(address) / each)]
    if tables and others:
        raise FormatError(
            f"the folder contains both Parquet files and instance files, such as {tables[0]} and {others[0]}.",
            where=Where(file=address),
            remedy="Use a folder with only one of the two.",
        )
    if tables:
        return open_parquet(address, place, tables)
    return open_folder(address, _require(others, address, "instance file"))


def _open_whole(address: str, is_remote: bool) -> BatchInput:
    if is_remote:
        message = "only Parquet files can be read from an object store."
        raise FormatError(message, where=Where(file=address), remedy="Convert it: dynaroute convert IN OUT.parquet.")
    return open_set(address)


def _is_parquet(name: str) -> bool:
    return Path(name).suffix.lower() == ".parquet"


def _require(names: list[str], address: str, kind: str) -> list[str]:
    if not names:
        remedy = "Folders inside it are not searched."
        raise FileError(f"there is no {kind} in this folder.", where=Where(file=address), remedy=remedy)
    return names
