"""Rows from Parquet files: each worker reads only the rows that it needs."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from dynaroute.base.display import show_list
from dynaroute.base.errors import DynarouteError, FileError, FormatError, Where, gather_notes, in_file, warn_of_input
from dynaroute.formats.sets.parquet import InstanceTable, open_table
from dynaroute.formats.sets.parquet_columns import COLUMNS, refuse_constraints, refuse_other_schema
from dynaroute.scale.places import StoragePlace
from dynaroute.scale.rows import Block, InputRow

_ROWS_AT_ONCE = 1024  # rows unpacked together
_BYTES_AT_ONCE = 1 << 20  # per column, for files with large row groups
_HASHED_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class _File:
    """A file of the input: its name, its first row, and its number of rows."""

    name: str
    first: int
    rows: int


@dataclass(frozen=True)
class ParquetSource:
    """Parquet files of one folder, one after the other.

    Attributes
    ----------
    address
        The address as the user wrote it.
    digest
        Digest of the contents of all files; in object stores, of their sizes and footers.
    place, files
        The folder and its files.
    """

    address: str
    digest: str
    place: StoragePlace
    files: tuple[_File, ...]
    _streams: dict[str, _ForwardReader] = field(default_factory=dict, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_streams": {}}  # open files stay here

    def __len__(self) -> int:
        return self.files[-1].first + self.files[-1].rows

    def prepare(self, block: Block) -> Block:
        """Return the block unchanged: workers read their rows themselves."""
        return block

    def read(self, block: Block) -> list[InputRow]:
        """Read the rows of a block; rows that cannot be read carry the error."""
        return [row for file, first, end in self._pieces(block) for row in self._read_piece(file, first, end)]

    def read_ids(self) -> Iterator[tuple[int, list[str]]]:
        """Read the ids of all rows in chunks, each with the number of its first row."""
        for file in self.files:
            yield from self._read_ids_of(file)

    def _read_ids_of(self, file: _File) -> Iterator[tuple[int, list[str]]]:
        with in_file(self.place.file(file.name)), self.place.open(file.name) as opened:
            parquet = _open_table(opened, _BYTES_AT_ONCE)
            first = file.first
            for group in range(parquet.metadata.num_row_groups):
                yield from self._read_ids_of_group(file, parquet, group, first)
                first += parquet.metadata.row_group(group).num_rows

    def _read_ids_of_group(self, file: _File, parquet: Any, group: int, first: int) -> Iterator[tuple[int, list[str]]]:
        """Read the ids of a row group. Where they are damaged, rows are named by their numbers, to carry an error."""
        end = first + parquet.metadata.row_group(group).num_rows
        if "id" not in parquet.schema_arrow.names:
            yield first, list(map(str, range(first, end)))
            return
        number = first
        try:
            # as many at once as are unpacked together, so that rows without an id are those that cannot be read
            for batch in parquet.iter_batches(_ROWS_AT_ONCE, row_groups=[group], columns=["id"]):
                yield number, _name_rows(InstanceTable(batch).read_ids(), number)
                number += len(batch)
        except (OSError, ValueError):  # PyArrow's own are kinds of these
            self._require_connection(file)
            yield number, [f"row {each} (id damaged)" for each in range(number, end)]

    def _pieces(self, block: Block) -> Iterator[tuple[_File, int, int]]:
        """The files that contain rows of a block, each with the first row and the row after the last."""
        index = bisect_right(self.files, block.first, key=lambda file: file.first) - 1
        while index < len(self.files) and self.files[index].first < block.end:
            file = self.files[index]
            if file.rows:
                yield file, max(block.first, file.first), min(block.end, file.first + file.rows)
            index += 1

    def _read_piece(self, file: _File, first: int, end: int) -> list[InputRow]:
        try:
            batches = self._stream(file).read(first - file.first, end - file.first)
        except (OSError, ValueError) as error:  # PyArrow's own are kinds of these
            border = self._find_border(file, first, end)
            self._streams.clear()
            self._require_connection(file)
            if border is not None:  # a damaged row group must not affect others
                return [*self._read_piece(file, first, border), *self._read_piece(file, border, end)]
            reason = " ".join(str(error).split())
            fault = FileError(
                f"these rows cannot be read ({reason}).",
                where=Where(file=self.place.file(file.name)),
                remedy="Copy the file again.",
            )
            return self._fail_piece(file, first, end, str(fault))
        rows: list[InputRow] = []
        with gather_notes():  # nobody would read notes on millions of rows
            for batch in batches:
                rows += _make_rows(InstanceTable(batch), first + len(rows), self.place.file(file.name))
        return rows

    def _require_connection(self, file: _File) -> None:
        """Raise if a file cannot be read at all: a lost connection is not an error of the rows."""
        if self.place.is_remote:
            self.place.require(file.name)

    def _find_border(self, file: _File, first: int, end: int) -> int | None:
        """The first start of a row group between these rows, if any."""
        begins = self._streams[file.name].begins if file.name in self._streams else []
        return next((file.first + begin for begin in begins if first < file.first + begin < end), None)

    def _fail_piece(self, file: _File, first: int, end: int, error: str) -> list[InputRow]:
        """Make rows with an error for a piece that cannot be read."""
        names: list[str] = []
        for number, found in self._read_ids_of(file):
            names += found[max(0, first - number) : max(0, end - number)]
            if number + len(found) >= end:
                break
        return [InputRow(first + index, name, error=error) for index, name in enumerate(names)]

    def _stream(self, file: _File) -> _ForwardReader:
        if file.name not in self._streams:
            self._streams.clear()  # one open file is enough
            self._streams[file.name] = _ForwardReader(self.place, file.name)
        return self._streams[file.name]


class _ForwardReader:
    """A file that is read forwards; a jump starts at the beginning of a row group.

    Row groups may be as large as the file, so consecutive blocks continue where the last one ended.

    Parameters
    ----------
    place, name
        The folder and the name of the file.
    """

    def __init__(self, place: StoragePlace, name: str) -> None:
        self.file = open_table(place.open(name), _BYTES_AT_ONCE)
        metadata = self.file.metadata
        sizes = [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]
        self.begins = [0, *np.cumsum(sizes, dtype=np.int64).tolist()]  # first rows of the row groups
        self.position = -1  # the next row
        self.rest: Any = None  # unpacked rows that are not read yet
        self.batches: Iterator[Any] = iter(())

    def read(self, first: int, end: int) -> list[Any]:
        """Read batches with the rows from `first` to `end` - 1."""
        group = bisect_right(self.begins, first) - 1
        if not self.begins[group] <= self.position <= first:
            self._begin(group)
        found: list[Any] = []
        while self.position < end:
            if self.rest is None:
                self.rest = self._unpack()
            after = self.position + self.rest.num_rows
            if after > first:
                found.append(self.rest.slice(max(0, first - self.position), end - max(first, self.position)))
            self.rest = self.rest.slice(end - self.position) if after > end else None
            self.position = min(after, end)
        return found

    @cached_property
    def names(self) -> list[str]:
        """The columns that are read."""
        return [name for name in self.file.schema_arrow.names if name in COLUMNS]

    def _begin(self, group: int) -> None:
        groups = range(group, len(self.begins) - 1)
        # one row group after the other, so that a damaged one does not affect those before it
        self.batches = chain.from_iterable(
            self.file.iter_batches(_ROWS_AT_ONCE, row_groups=[each], columns=self.names) for each in groups
        )
        self.position, self.rest = self.begins[group], None

    def _unpack(self) -> Any:
        batch = next(self.batches, None)
        if batch is None:
            raise OSError(f"it ends after {self.position} of {self.begins[-1]} rows")
        return batch


def open_parquet(address: str, place: StoragePlace, names: Sequence[str]) -> ParquetSource:
    """Check all files of an input before anything is solved.

    Parameters
    ----------
    address
        The address as the user wrote it.
    place, names
        The folder and its files.

    Raises
    ------
    DynarouteError
        If a file is not a valid Parquet file or has wrong columns, there are no rows, or an id appears twice.
    """
    files: list[_File] = []
    digest, rows, ignored = hashlib.sha256(), 0, set()
    for name in names:
        with in_file(place.file(name)):
            schema, count = _look_at(place, name, digest)
            ignored |= {column for column in schema.names if column not in COLUMNS}
        files.append(_File(name, rows, count))
        rows += count
    if not rows:
        raise FormatError("there are no rows.", where=Where(file=address), remedy="Was it saved or copied completely?")
    if ignored:
        warn_of_input(
            address, f"ignored the columns {show_list(sorted(ignored))}; known columns: {', '.join(COLUMNS)}."
        )
    source = ParquetSource(address, digest.hexdigest(), place, tuple(files))
    refuse_double_ids(source)
    return source


def _look_at(place: StoragePlace, name: str, digest: Any) -> tuple[Any, int]:
    """Check the columns of a file, read its schema and number of rows, and update the digest with its contents."""
    with place.open(name) as file:
        parquet = _open_table(file)
        refuse_other_schema(parquet.schema_arrow)
        refuse_constraints(parquet)
        schema, count, size = parquet.schema_arrow, parquet.metadata.num_rows, file.size()
        digest.update(f"{size} ".encode())
        # of remote files, only the footer is read
        begin = max(0, size - 8 - parquet.metadata.serialized_size) if place.is_remote else 0
        file.seek(begin)
        while part := file.read(_HASHED_AT_ONCE):
            digest.update(part)
    return schema, count


def _open_table(file: Any, bytes_at_once: int = 0) -> Any:
    try:
        return open_table(file, bytes_at_once)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        message = f"this is not a valid Parquet file ({reason})."
        raise FormatError(message, remedy="Copy it again, or leave it out.") from error


def refuse_double_ids(source: ParquetSource) -> None:
    """Refuse an input in which two rows have the same id."""
    # one in 2^64 pairs of different texts has the same hash, so equal hashes are compared again
    hashes = np.concatenate([np.fromiter(map(hash, names), np.int64, len(names)) for _, names in source.read_ids()])
    hashes.sort()
    suspects = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
    if not suspects:
        return
    seen: dict[str, int] = {}
    for first, names in source.read_ids():
        for number, name in enumerate(names, start=first):
            if hash(name) in suspects and seen.setdefault(name, number) != number:
                raise FormatError(
                    f"rows {seen[name]} and {number} have the same id, {name!r}.",
                    where=Where(file=source.address, field="id"),
                    remedy="Give each row a different id.",
                )


def _make_rows(table: InstanceTable, first: int, file: str) -> list[InputRow]:
    rows = []
    for index, name in enumerate(_name_rows(table.read_ids(), first)):
        number = first + index
        try:
            with in_file(file):
                rows.append(InputRow(number, name, table.make_instance(index, name)))
        except DynarouteError as error:
            rows.append(InputRow(number, name, error=str(error)))
    return rows


def _name_rows(names: Sequence[str | None], first: int) -> list[str]:
    """The ids of rows; rows without one are numbered from 0 over the whole input."""
    return [str(number) if name is None else name for number, name in enumerate(names, start=first)]
