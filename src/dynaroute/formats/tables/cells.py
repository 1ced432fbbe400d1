"""Cells in rows: what text and workbooks give alike, before anything is understood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from dynaroute.errors import Where

__all__ = ["Grid", "Kind", "Row", "name_column"]

# What a spreadsheet knows of a cell. The numbers of text files are text: how they are written is still to be found out.
Kind = Literal["text", "number", "percent", "date", "time", "truth", "error", "formula"]


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one row that is not blank.

    Attributes
    ----------
    cells
        Texts without white space around them; numbers of a workbook have a decimal point.
    line
        Its number in the file or the sheet, from 1.
    kinds
        What is known of cells that are not plain text, by their index.
    is_hidden
        Whether a spreadsheet does not show it.
    follows_blank
        Whether the row above it is blank.
    """

    cells: tuple[str, ...]
    line: int
    kinds: Mapping[int, Kind] = field(default_factory=dict)
    is_hidden: bool = False
    follows_blank: bool = False

    def text(self, index: int) -> str:
        """The cell in a column, which may be beyond the row's last."""
        return self.cells[index] if index < len(self.cells) else ""

    def kind(self, index: int) -> Kind:
        """What is known of it."""
        return self.kinds.get(index, "text")

    @property
    def filled(self) -> list[int]:
        """Indices of the cells that hold something."""
        return [index for index, cell in enumerate(self.cells) if cell]


@dataclass(frozen=True)
class Grid:
    """All rows of a text, or of one sheet of a workbook.

    Attributes
    ----------
    rows
        Those that are not blank.
    delimiter
        What separates the cells of a text; "" in a workbook.
    sheet
        Name of the sheet; "" for a text.
    directives
        Values of lines such as "# capacity: 50", and their lines.
    comments
        Lines of other comments, each with its number of delimiters.
    hidden_columns
        Indices of columns that a spreadsheet does not show.
    merged
        For each cell (line, index) that a merged one swallowed, how the merged one is called: "D5:D6".
    """

    rows: list[Row]
    delimiter: str = ""
    sheet: str = ""
    directives: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    comments: tuple[tuple[int, int], ...] = ()
    hidden_columns: frozenset[int] = frozenset()
    merged: Mapping[tuple[int, int], str] = field(default_factory=dict)

    def where(self, line: int, index: int, label: str) -> Where:
        """The place of a cell, in the words of who sees it in an editor or a spreadsheet."""
        name = f"{label} (cell {name_column(index)}{line})" if self.sheet else label
        return Where(line=line, field=name)


def name_column(index: int) -> str:
    """What spreadsheets call a column: A for 0, AA for 26."""
    name = ""
    number = index + 1
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(ord("A") + rest) + name
    return name
