"""Rows of the input, their first routes, and the blocks that rows are cut into."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dynaroute.problem.instance import Instance


@dataclass(frozen=True)
class FirstRoutes:
    """Routes from which a search starts.

    Attributes
    ----------
    routes
        Lists of customers 1..n.
    model
        The policy that built them.
    seconds
        Time taken; rows built together share it equally.
    """

    routes: tuple[tuple[int, ...], ...]
    model: str
    seconds: float


@dataclass(frozen=True)
class InputRow:
    """One row of the input: an instance, or the reason why it has none.

    Attributes
    ----------
    number
        Position in the whole input, starting at 0.
    id
        The user's name for it.
    instance
        The problem; None if the row has an error.
    error
        The error; empty if there is an instance.
    first
        Routes to start the search from; None if not yet built.
    """

    number: int
    id: str
    instance: Instance | None = None
    error: str = ""
    first: FirstRoutes | None = None


@dataclass(frozen=True)
class Block:
    """Rows that one worker solves and writes as one part.

    Attributes
    ----------
    first, end
        Number of the first row, and of the row after the last.
    rows
        The rows themselves, if workers cannot read the source.
    fault
        An error to write for every row instead of solving it; usually empty.
    first_routes
        First routes of each row, if another worker built them.
    """

    first: int
    end: int
    rows: tuple[InputRow, ...] | None = None
    fault: str = ""
    first_routes: tuple[FirstRoutes | None, ...] | None = None

    def __len__(self) -> int:
        return self.end - self.first

    @property
    def bare(self) -> Block:
        """The same block without rows and first routes."""
        return replace(self, rows=None, first_routes=None)

    def cut(self, number: int) -> tuple[Block, Block]:
        """Cut the block before the row with this number."""
        return self.take(self.first, number), self.take(number, self.end)

    def take(self, first: int, end: int) -> Block:
        """Return a block of some of the rows, with their first routes."""
        part = slice(first - self.first, end - self.first)
        return replace(
            self,
            first=first,
            end=end,
            rows=None if self.rows is None else self.rows[part],
            first_routes=None if self.first_routes is None else self.first_routes[part],
        )
