"""Rows of the input, and the blocks that they are cut into."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dynaroute.instance import Instance

__all__ = ["Block", "Row"]


@dataclass(frozen=True)
class Row:
    """One row of the input: an instance, or why there is none.

    Attributes
    ----------
    number
        Its place in the whole input, from 0.
    id
        What the user calls it.
    instance
        The problem; None where the row cannot be one.
    error
        What is wrong with it; empty where there is an instance.
    """

    number: int
    id: str
    instance: Instance | None = None
    error: str = ""


@dataclass(frozen=True)
class Block:
    """Rows that are solved by one worker and written as one part.

    Attributes
    ----------
    first, end
        Numbers of the first row and of the row after the last.
    rows
        The rows themselves, where workers cannot read them from the source.
    fault
        Why none of them is to be solved, but all written with this error; empty for blocks that are to be solved.
    """

    first: int
    end: int
    rows: tuple[Row, ...] | None = None
    fault: str = ""

    def __len__(self) -> int:
        return self.end - self.first

    def cut(self, number: int) -> tuple[Block, Block]:
        """The rows before this number, and those from it on."""
        place = number - self.first
        before, after = (None, None) if self.rows is None else (self.rows[:place], self.rows[place:])
        return replace(self, end=number, rows=before), replace(self, first=number, rows=after)
