"""Read from a sheet's XML what is not a value: hidden rows and columns, merged cells, formulas without results."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import IO
from xml.parsers import expat

from dynaroute.base.errors import FormatError

MOST_ROWS, _MOST_COLUMNS = 1_048_576, 16_384  # the limits of the format
_MOST_MERGED = 100_000  # merged cells that are remembered
_CELL = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]{1,7})")


@dataclass(frozen=True)
class SheetMarks:
    """Hidden rows and columns, merged cells and formulas of a sheet.

    Attributes
    ----------
    hidden_rows
        Numbers of hidden rows, including filtered ones.
    hidden_columns
        Indices of hidden columns.
    merged
        The range of merged cells for each cell (line, index) that belongs to one.
    formulas
        Cells (line, index) with a formula whose result is not stored.
    last_row
        Number of the last row with a cell; many empty rows may follow it.
    """

    hidden_rows: frozenset[int]
    hidden_columns: frozenset[int]
    merged: dict[tuple[int, int], str]
    formulas: frozenset[tuple[int, int]]
    last_row: int


@dataclass
class _MarkCollector:
    """Collects the marks while expat parses the sheet."""

    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    merged: dict[tuple[int, int], str] = field(default_factory=dict)
    formulas: set[tuple[int, int]] = field(default_factory=set)
    last_row: int = 0
    line: int = 0
    index: int = -1
    has_formula: bool = False
    has_value: bool = False
    is_in_value: bool = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(":")[2]
        if tag == "c":
            found = _CELL.fullmatch(attributes.get("r", ""))
            self.index = _column_index(found[1]) if found else self.index + 1
            self.has_formula = self.has_value = False
            self.last_row = max(self.last_row, self.line)
        elif tag == "row":
            self.line = int(attributes.get("r", self.line + 1))
            self.index = -1
            if not 1 <= self.line <= MOST_ROWS:
                raise FormatError(f"the sheet has a row {self.line}.", remedy="Save the workbook again.")
            if attributes.get("hidden") in ("1", "true"):
                self.hidden_rows.add(self.line)
        elif tag == "f":
            self.has_formula = True
        elif tag == "v":
            self.is_in_value = True
        elif tag == "col" and attributes.get("hidden") in ("1", "true"):
            first, last = (min(int(attributes[key]), _MOST_COLUMNS) for key in ("min", "max"))
            self.hidden_columns.update(range(first - 1, last))
        elif tag == "mergeCell":
            self._merge(attributes.get("ref", ""))

    def note_text(self, text: str) -> None:
        self.has_value |= self.is_in_value and bool(text.strip())

    def end(self, name: str) -> None:
        self.is_in_value = False
        if name.rpartition(":")[2] == "c" and self.has_formula and not self.has_value:
            self.formulas.add((self.line, self.index))

    def _merge(self, reference: str) -> None:
        corners = [_CELL.fullmatch(part) for part in reference.split(":")]
        if len(corners) != 2 or corners[0] is None or corners[1] is None:
            return
        left, right = (_column_index(corner[1]) for corner in corners if corner)
        top, bottom = (int(corner[2]) for corner in corners if corner)
        if (right - left + 1) * (bottom - top + 1) + len(self.merged) > _MOST_MERGED:
            return
        for line in range(top, bottom + 1):
            for index in range(left, right + 1):
                if (line, index) != (top, left):
                    self.merged[line, index] = reference


def read_marks(file: IO[bytes]) -> SheetMarks:
    """Read the marks from the XML of a sheet.

    Parameters
    ----------
    file
        The XML, open for reading; it must not declare entities.

    Raises
    ------
    FormatError
        If a row number is impossible.
    ValueError
        If it is not XML.
    """
    reader = _MarkCollector()
    parser = expat.ParserCreate()
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.note_text
    try:
        parser.ParseFile(file)
    except expat.ExpatError as error:
        raise ValueError(str(error)) from error
    return SheetMarks(
        frozenset(reader.hidden_rows),
        frozenset(reader.hidden_columns),
        reader.merged,
        frozenset(reader.formulas),
        reader.last_row,
    )


def _column_index(letters: str) -> int:
    index = 0
    for letter in letters:
        index = index * 26 + ord(letter) - ord("A") + 1
    return index - 1
