"""Parts: the output of a run, one Parquet file per block, named after its rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from dynaroute.errors import FileError, FormatError, Where, in_file
from dynaroute.formats.parquet import format_table, open_table
from dynaroute.formats.parquet_columns import load_pyarrow
from dynaroute.scale.outcomes import RowOutcome
from dynaroute.scale.places import StoragePlace
from dynaroute.scale.rows import Block
from dynaroute.scale.tally import Tally

__all__ = ["MANIFEST", "SUMMARY", "Parts"]

# Libraries that read a folder of Parquet files ignore names that start like this.
MANIFEST, SUMMARY = "_manifest.json", "_summary.json"

_TALLIED = ("id", "row", "cost", "method", "seconds", "model", "error")  # the columns that a tally needs
_NAME = re.compile(r"part-(\d{12})-(\d{12})\.parquet")


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
        columns = [[getattr(each, entry.name) for each in outcomes] for entry in fields(RowOutcome)]
        table = load_pyarrow().table(columns, schema=_make_schema())
        self.place.write(name_part(block.first, block.end), format_table(table))

    def read(self, block: Block) -> list[RowOutcome]:
        """Read the outcomes of a written block."""
        return self._read_columns(block, [entry.name for entry in fields(RowOutcome)])

    def read_tally(self, block: Block) -> Tally:
        """Read the tally of a written block."""
        return Tally.of(self._read_columns(block, _TALLIED))

    def _read_columns(self, block: Block, names: Sequence[str]) -> list[RowOutcome]:
        name = name_part(block.first, block.end)
        with in_file(self.place.file(name)), self.place.open(name) as file:
            try:
                part = open_table(file)
                for column in names:
                    _require_column(column, part.schema_arrow.names)
                rows = part.read(columns=list(names)).to_pylist()
            except (OSError, ValueError) as error:  # PyArrow's errors are subclasses of these
                message = f"this is not a valid part ({' '.join(str(error).split())})."
                raise FormatError(message, remedy="Remove it, and continue its run: --resume.") from error
        return [_make_outcome(row) for row in rows]

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
        return self.read_tally(block)

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
    return pa.schema([(entry.name, types[entry.name]) for entry in fields(RowOutcome)])


def _require_column(name: str, there: Sequence[str]) -> None:
    if name not in there:
        remedy = "Give output folders of dynaroute batch."
        raise FormatError("this column is missing.", where=Where(field=name), remedy=remedy)


def _make_outcome(values: dict[str, Any]) -> RowOutcome:
    if values.get("routes") is not None:
        values["routes"] = tuple(map(tuple, values["routes"]))
    if values.get("vehicles") is not None:
        values["vehicles"] = tuple(values["vehicles"])
    return RowOutcome(**values)
