"""What a file tells of its stops beside the problem: names, addresses, telephone numbers."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from dynaroute.errors import InstanceError, Where

__all__ = ["Details"]


@dataclass(frozen=True)
class Details:
    """Further columns of a file, carried through to what is written for people.

    Parameters
    ----------
    columns
        Their names, as the file writes them; they differ.
    rows
        A text for each column, the depot's row first, then one row a customer.

    Raises
    ------
    InstanceError
        If a row has not one text a column, or a column has no name of its own.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        columns = tuple(map(_one_line, _texts(self.columns)))
        if not all(columns) or len(set(columns)) < len(columns):
            raise _fault("the columns of details have no names of their own.", "Name each differently.")
        rows = tuple(tuple(map(_one_line, _texts(row))) for row in self.rows)
        for node, row in enumerate(rows):
            if len(row) != len(columns):
                raise _fault(f"row {node} of the details has {len(row)} texts.", f"Give {len(columns)}, one a column.")
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "rows", rows)

    def of(self, node: int) -> dict[str, str]:
        """What is told of a node, 0 being the depot: its texts by their columns, those that are empty left out.

        Parameters
        ----------
        node
            0 to n.
        """
        return {column: text for column, text in zip(self.columns, self.rows[node], strict=True) if text}


def _texts(values: object) -> Sequence[str]:
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise _fault("the details are not lists of texts.", "Give texts.")
    return values


def _one_line(text: str) -> str:
    """An address in a cell may go on over line ends; a list for a driver has one line for it."""
    spaced = (" " if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") else character for character in text)
    return " ".join("".join(spaced).split())


def _fault(message: str, remedy: str) -> InstanceError:
    return InstanceError(message, where=Where(field="details"), remedy=remedy)
