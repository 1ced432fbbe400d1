"""Parts: the output of a run, one Parquet file per block, named after its rows.

A part carries a checksum of its rows, so that one that was damaged or changed is noticed when it is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from dynaroute.base.errors import FileError, FormatError, Where, in_file, warn_of_input
from dynaroute.base.files import checksum_of
from dynaroute.formats.sets.parquet import format_table, open_table
from dynaroute.formats.sets.parquet_columns import load_pyarrow
from dynaroute.scale.output.outcomes import RowOutcome
from dynaroute.scale.output.tally import Tally
from dynaroute.scale.places import StoragePlace
from dynaroute.scale.rows import Block

# Libraries that read a folder of Parquet files ignore names that start like this.
MANIFEST, SUMMARY = "_manifest.json", "_summary.json"

_NAME = re.compile(r"part-(\d{12})-(\d{12})\.parquet")
_COLUMNS = tuple(entry.name for entry in fields(RowOutcome))
_CHECKSUM = b"dynaroute.checksum"  # key in the metadata of the schema
_REMEDY = "Remove it, and continue its run: --resume."


@dataclass(frozen=True)
class WrittenPart:
    """The rows of a part as they stand in its file.

    Attributes
    ----------
    file
        Address of the file.
    outcomes
        The rows.
    checksum
        The checksum that the file states; None if it has none.
    present_checksum
        The checksum of these rows.
    """

    file: str
    outcomes: tuple[RowOutcome, ...]
    checksum: str | None
    present_checksum: str

    def verify(self) -> None:
        """Raise if the rows are not those that were written, or note that nobody can tell.

        Raises
        ------
        FormatError
            If the checksum does not match.
        """
        if self.checksum is None:
            warn_of_input(
                self.file, "this part has no checksum: an earlier version wrote it, or another program changed it."
            )
        elif self.checksum != self.present_checksum:
            message = "its checksum does not match its rows, so it was damaged or changed after it was written."
            raise FormatError(message, where=Where(file=self.file), remedy=_REMEDY)


@dataclass(frozen=True)
class Parts:
    """The parts in a folder.

    A part is named after its first row and the row after its last one. So solving a block twice writes the same file
    twice, and the names show which rows are missing.

    Attributes
    ----------
    place
        The folder.
    """

    place: StoragePlace

    def write(self, block: Block, outcomes: Sequence[RowOutcome]) -> None:
        """Write the outcomes of a whole block."""
        columns = [[getattr(each, name) for each in outcomes] for name in _COLUMNS]
        table = load_pyarrow().table(columns, schema=_make_schema())
        marked = table.replace_schema_metadata({_CHECKSUM: _compute_checksum(table.to_pylist())})
        self.place.write(name_part(block.first, block.end), format_table(marked))

    def read(self, block: Block) -> list[RowOutcome]:
        """Read the outcomes of a written block, and verify their checksum."""
        part = self.load(block)
        part.verify()
        return list(part.outcomes)

    def load(self, block: Block) -> WrittenPart:
        """Read a written block, whatever its checksum."""
        name = name_part(block.first, block.end)
        with in_file(self.place.file(name)), self.place.open(name) as file:
            try:
                part = open_table(file)
                for column in _COLUMNS:
                    _require_column(column, part.schema_arrow.names)
                rows = part.read(columns=list(_COLUMNS)).to_pylist()
            except (OSError, ValueError) as error:  # PyArrow's errors are subclasses of these
                message = f"this is not a valid part ({' '.join(str(error).split())})."
                raise FormatError(message, remedy=_REMEDY) from error
            checksum = (part.schema_arrow.metadata or {}).get(_CHECKSUM)
        return WrittenPart(
            self.place.file(name),
            tuple(map(_make_outcome, rows)),
            None if checksum is None else checksum.decode(errors="replace"),
            _compute_checksum(rows),
        )

    def find(self) -> list[Block]:
        """List the written blocks in the order of their rows."""
        matches = (_NAME.fullmatch(name) for name in self.place.list_files())
        return sorted(
            (Block(int(match[1]), int(match[2])) for match in matches if match), key=lambda block: block.first
        )

    def find_tally(self, block: Block) -> Tally | None:
        """Read the tally of a block, if it is written."""
        if name_part(block.first, block.end) not in self.place.list_files():
            return None
        return Tally.of(self.read(block))

    def find_gaps(self, first: int, end: int) -> Iterator[Block]:
        """List the rows from `first` to `end` - 1 that are not written."""
        return find_gaps(self.find(), first, end)


def name_part(first: int, end: int) -> str:
    """The file name of the part with these rows."""
    return f"part-{first:012d}-{end:012d}.parquet"


def find_gaps(written: Iterable[Block], first: int, end: int) -> Iterator[Block]:
    """List the rows from `first` to `end` - 1 that are in none of these ordered blocks.

    Raises
    ------
    FileError
        If two of them contain the same rows.
    """
    place = first
    for block in written:
        if block.first < place or block.end > end:
            name = name_part(block.first, block.end)
            message = f"{name} contains rows of another part, or rows that do not belong to this run."
            raise FileError(message, remedy="Remove one of the two.")
        if block.first > place:
            yield Block(place, block.first)
        place = block.end
    if place < end:
        yield Block(place, end)


def _make_schema() -> Any:
    pa = load_pyarrow()
    types = {
        "id": pa.string(),
        "row": pa.int64(),
        "routes": pa.list_(pa.list_(pa.int32())),
        "cost": pa.float64(),
        "method": pa.string(),
        "seconds": pa.float64(),
        "model": pa.string(),
        "seed": pa.int64(),
        "error": pa.string(),
        "checked": pa.bool_(),
        "vehicles": pa.list_(pa.int32()),
    }
    return pa.schema([(name, types[name]) for name in _COLUMNS])


def _compute_checksum(rows: list[dict[str, Any]]) -> str:
    """Compute the checksum of rows as they are read; it does not depend on how Parquet packs them."""
    return checksum_of(json.dumps([[row[name] for name in _COLUMNS] for row in rows]).encode())


def _require_column(name: str, there: Sequence[str]) -> None:
    if name not in there:
        remedy = "Give output folders of dynaroute batch."
        raise FormatError.about(name, "this column is missing.", remedy)


def _make_outcome(values: dict[str, Any]) -> RowOutcome:
    if values.get("routes") is not None:
        values["routes"] = tuple(map(tuple, values["routes"]))
    if values.get("vehicles") is not None:
        values["vehicles"] = tuple(values["vehicles"])
    return RowOutcome(**values)
