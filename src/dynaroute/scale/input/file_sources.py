"""Rows from a folder of instance files, which are read one by one, and from sets, which are read as a whole."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from dynaroute.base.errors import DynarouteError, FormatError, UnsupportedError, Where, gather_notes
from dynaroute.base.files import read_bytes
from dynaroute.formats.read import read_set
from dynaroute.formats.registry import FORMATS
from dynaroute.problem.instance import Instance
from dynaroute.scale.rows import Block, InputRow


@dataclass(frozen=True)
class SetSource:
    """A set that the driver has read; its rows are sent with their blocks.

    Attributes
    ----------
    address, digest
        As in `BatchInput`.
    count
        Number of rows.
    """

    address: str
    digest: str
    count: int
    _rows: tuple[InputRow, ...] = field(default=(), compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_rows": ()}

    def __len__(self) -> int:
        return self.count

    def prepare(self, block: Block) -> Block:
        """Add the rows to a block."""
        return Block(block.first, block.end, self._rows[block.first : block.end], block.fault)

    def read(self, block: Block) -> list[InputRow]:
        """Return the rows that were sent with the block."""
        return list(block.rows or ())


@dataclass(frozen=True)
class _FolderEntry:
    """A row of a folder: a file, the number of the instance in it, and its id."""

    file: str
    index: int
    id: str


@dataclass(frozen=True)
class FolderSource:
    """A folder of instance files, each read by the worker that solves it.

    Attributes
    ----------
    address, digest
        As in `BatchInput`.
    entries
        The rows.
    """

    address: str
    digest: str
    entries: tuple[_FolderEntry, ...]

    def __len__(self) -> int:
        return len(self.entries)

    def prepare(self, block: Block) -> Block:
        """Return the block unchanged: workers read their files themselves."""
        return block

    def read(self, block: Block) -> list[InputRow]:
        """Read the rows of a block; rows of a file that cannot be read carry the error."""
        return [self._read_row(number) for number in range(block.first, block.end)]

    def _read_row(self, number: int) -> InputRow:
        entry = self.entries[number]
        try:
            return InputRow(number, entry.id, _read_file(str(Path(self.address) / entry.file))[entry.index])
        except DynarouteError as error:
            if isinstance(error, UnsupportedError):
                error.address_command_without_option()
            return InputRow(number, entry.id, error=str(error))


def open_set(address: str) -> SetSource:
    """Read a whole file with one or many instances.

    Raises
    ------
    DynarouteError
        If it cannot be read, or an instance is not valid.
    """
    path = Path(address)
    instances = read_set(path)
    names = _name_instances(path.stem, len(instances))
    rows = tuple(InputRow(number, name, each) for number, (name, each) in enumerate(zip(names, instances, strict=True)))
    return SetSource(address, hashlib.sha256(read_bytes(path)).hexdigest(), len(rows), rows)


def open_folder(address: str, names: Sequence[str]) -> FolderSource:
    """Check the files of a folder.

    Parameters
    ----------
    address
        Address of the folder.
    names
        Names of its instance files.
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
        entries += [_FolderEntry(name, index, each) for index, each in enumerate(_name_instances(path.stem, count))]
    _refuse_double_names(address, entries)
    return FolderSource(address, digest.hexdigest(), tuple(entries))


def _may_hold_many(path: Path) -> bool:
    known = FORMATS[path.suffix.lower()]
    return not known.is_table and path.suffix.lower() != ".vrp"


def _name_instances(stem: str, count: int) -> list[str]:
    """Name the instances of a file: its stem, with a number if it is a set."""
    return [stem] if count == 1 else [f"{stem}-{number}" for number in range(1, count + 1)]


@lru_cache(maxsize=2)
def _read_file(path: str) -> list[Instance]:
    """Read the instances of a file; cached, because a set is needed once for each of its rows."""
    with gather_notes():
        return read_set(path)


def _refuse_double_names(address: str, entries: Sequence[_FolderEntry]) -> None:
    seen: dict[str, str] = {}
    for entry in entries:
        if entry.id in seen:
            raise FormatError(
                f"{seen[entry.id]} and {entry.file} would have the same id, {entry.id!r}.",
                where=Where(file=address),
                remedy="Rename one of them, or move it to another folder.",
            )
        seen[entry.id] = entry.file
