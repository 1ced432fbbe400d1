"""Rows from instance files: a folder of them, file by file, and sets that are read whole."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from dynaroute.errors import DynarouteError, FormatError, Where, gather_notes
from dynaroute.files import read_bytes
from dynaroute.formats.read import read_set
from dynaroute.formats.table import FORMATS
from dynaroute.instance import Instance
from dynaroute.scale.rows import Block, Row

__all__ = ["FolderSource", "SetSource", "open_folder", "open_set"]


@dataclass(frozen=True)
class SetSource:
    """A set that the driver has read whole; its rows travel with their blocks.

    Attributes
    ----------
    address, digest
        As in `Source`.
    count
        Number of rows.
    """

    address: str
    digest: str
    count: int
    _rows: tuple[Row, ...] = field(default=(), compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_rows": ()}

    def __len__(self) -> int:
        return self.count

    def prepare(self, block: Block) -> Block:
        """The block with its rows."""
        return Block(block.first, block.end, self._rows[block.first : block.end], block.fault)

    def read(self, block: Block) -> list[Row]:
        """The rows that came with it."""
        return list(block.rows or ())


@dataclass(frozen=True)
class _Entry:
    """A row of a folder: a file, which of the instances in it, and what it is called."""

    file: str
    index: int
    id: str


@dataclass(frozen=True)
class FolderSource:
    """A folder of instance files, each read by the worker that solves it.

    Attributes
    ----------
    address, digest
        As in `Source`.
    entries
        The rows.
    """

    address: str
    digest: str
    entries: tuple[_Entry, ...]

    def __len__(self) -> int:
        return len(self.entries)

    def prepare(self, block: Block) -> Block:
        """As it is: workers read their files themselves."""
        return block

    def read(self, block: Block) -> list[Row]:
        """The rows of a block; a file that cannot be read is the error of its rows."""
        return [self._read_row(number) for number in range(block.first, block.end)]

    def _read_row(self, number: int) -> Row:
        entry = self.entries[number]
        try:
            return Row(number, entry.id, _read_file(str(Path(self.address) / entry.file))[entry.index])
        except DynarouteError as error:
            return Row(number, entry.id, error=str(error))


def open_set(address: str) -> SetSource:
    """Read a file with one instance or many, whole.

    Raises
    ------
    DynarouteError
        If it cannot be read, or an instance in it is no problem.
    """
    path = Path(address)
    instances = read_set(path)
    names = _name_instances(path.stem, len(instances))
    rows = tuple(Row(number, name, each) for number, (name, each) in enumerate(zip(names, instances, strict=True)))
    return SetSource(address, hashlib.sha256(read_bytes(path)).hexdigest(), len(rows), rows)


def open_folder(address: str, names: Sequence[str]) -> FolderSource:
    """Look at the files of a folder.

    Parameters
    ----------
    address
        Of the folder.
    names
        Of the instance files in it.
    """
    digest, entries = hashlib.sha256(), []
    for name in names:
        path = Path(address) / name
        try:
            content = read_bytes(path)
            count = len(_read_file(str(path))) if _may_hold_many(path) else 1
        except DynarouteError as error:
            content, count = str(error).encode(), 1  # a row with this error
        digest.update(f"{len(name)} {len(content)} {name}".encode() + content)
        entries += [_Entry(name, index, each) for index, each in enumerate(_name_instances(path.stem, count))]
    _refuse_double_names(address, entries)
    return FolderSource(address, digest.hexdigest(), tuple(entries))


def _may_hold_many(path: Path) -> bool:
    known = FORMATS[path.suffix.lower()]
    return not known.is_table and path.suffix.lower() != ".vrp"


def _name_instances(stem: str, count: int) -> list[str]:
    """What the instances of a file are called: by its stem, and a number where it is a set."""
    return [stem] if count == 1 else [f"{stem}-{number}" for number in range(1, count + 1)]


@lru_cache(maxsize=2)
def _read_file(path: str) -> list[Instance]:
    """The instances of a file; a set is asked for once for each of its rows."""
    with gather_notes():
        return read_set(path)


def _refuse_double_names(address: str, entries: Sequence[_Entry]) -> None:
    seen: dict[str, str] = {}
    for entry in entries:
        if entry.id in seen:
            raise FormatError(
                f"{seen[entry.id]} and {entry.file} would have the same id, {entry.id!r}.",
                where=Where(file=address),
                remedy="Rename one of them, or move it to another folder.",
            )
        seen[entry.id] = entry.file
