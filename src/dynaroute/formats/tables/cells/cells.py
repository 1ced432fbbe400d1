"""Rows of cells: what texts and workbooks have in common, before their meaning is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from dynaroute.base.errors import Where

# What a spreadsheet says about a cell. In text files numbers are "text", because their notation is not known yet.
Kind = Literal["text", "number", "percent", "date", "time", "truth", "error", "formula"]


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one row that is not blank.

    Attributes
    ----------
    cells
        Texts without surrounding white space; numbers of a workbook have a decimal point.
    line
        Line number in the file or the sheet, from 1.
    kinds
        Kinds of the cells that are not plain text, by index.
    is_hidden
        Whether the spreadsheet hides it.
    follows_blank
        Whether the row above it is blank.
    """

    cells: tuple[str, ...]
    line: int
    kinds: Mapping[int, Kind] = field(default_factory=dict)
    is_hidden: bool = False
    follows_blank: bool = False

    def text(self, index: int) -> str:
        """The text of a cell; "" beyond the end of the row."""
        return self.cells[index] if index < len(self.cells) else ""

    def kind(self, index: int) -> Kind:
        """The kind of a cell."""
        return self.kinds.get(index, "text")

    @property
    def filled(self) -> list[int]:
        """Indices of the cells that are not empty."""
        return [index for index, cell in enumerate(self.cells) if cell]


@dataclass(frozen=True)
class Grid:
    """All rows of a text, or of one sheet of a workbook.

    Attributes
    ----------
    rows
        The rows that are not blank.
    delimiter
        The separator between the cells of a text; "" in a workbook.
    sheet
        Name of the sheet; "" for a text.
    directives
        Values of lines such as "# capacity: 50", with their line numbers.
    comments
        Line numbers of other comments, each with its number of delimiters.
    hidden_columns
        Indices of columns that the spreadsheet hides.
    merged
        The range of merged cells, such as "D5:D6", for each cell (line, index) that belongs to one.
    """

    rows: list[Row]
    delimiter: str = ""
    sheet: str = ""
    directives: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    comments: tuple[tuple[int, int], ...] = ()
    hidden_columns: frozenset[int] = frozenset()
    merged: Mapping[tuple[int, int], str] = field(default_factory=dict)

    def where(self, line: int, index: int, label: str) -> Where:
        """Where a cell is, as an editor or a spreadsheet shows it."""
        name = f"{label} (cell {name_column(index)}{line})" if self.sheet else label
        return Where(line=line, field=name)


def name_column(index: int) -> str:
    """The letters that spreadsheets give a column: A for 0, AA for 26."""
    name = ""
    number = index + 1
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(ord("A") + rest) + name
    return name
