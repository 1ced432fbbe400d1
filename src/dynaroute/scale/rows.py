"""Rows of the input, what was built for them already, and the blocks that they are cut into."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dynaroute.instance import Instance

__all__ = ["Block", "FirstRoutes", "Row"]


@dataclass(frozen=True)
class FirstRoutes:
    """Routes from which a search goes on.

    Attributes
    ----------
    routes
        Lists of customers 1..n.
    model
        The policy that built them.
    seconds
        Time taken; of rows that were built together, an equal share.
    """

    routes: tuple[tuple[int, ...], ...]
    model: str
    seconds: float


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
    first
        Where a search of it begins; None where nobody has built that yet.
    """

    number: int
    id: str
    instance: Instance | None = None
    error: str = ""
    first: FirstRoutes | None = None


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
    first_routes
        Those of each row, where another worker has built them.
    """

    first: int
    end: int
    rows: tuple[Row, ...] | None = None
    fault: str = ""
    first_routes: tuple[FirstRoutes | None, ...] | None = None

    def __len__(self) -> int:
        return self.end - self.first

    @property
    def bare(self) -> Block:
        """Which rows, without what travels with them."""
        return replace(self, rows=None, first_routes=None)

    def cut(self, number: int) -> tuple[Block, Block]:
        """The rows before this number, and those from it on."""
        return self.take(self.first, number), self.take(number, self.end)

    def take(self, first: int, end: int) -> Block:
        """Some of the rows, with what travels with them."""
        part = slice(first - self.first, end - self.first)
        return replace(
            self,
            first=first,
            end=end,
            rows=None if self.rows is None else self.rows[part],
            first_routes=None if self.first_routes is None else self.first_routes[part],
        )
