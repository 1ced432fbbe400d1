"""Extra columns of a file that describe its stops: names, addresses, telephone numbers."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from dynaroute.base.errors import InstanceError


@dataclass(frozen=True)
class Details:
    """Extra columns of a file. They do not affect routes, and reappear in files written for people.

    Parameters
    ----------
    columns
        Distinct column names, as written in the file.
    rows
        One text per column: the depot's row first, then one row per customer.

    Raises
    ------
    InstanceError
        If a row does not have one text per column, or two columns have the same name.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        columns = tuple(map(_one_line, _texts(self.columns)))
        if not all(columns) or len(set(columns)) < len(columns):
            raise InstanceError.about(
                "details", "the columns of details do not have distinct names.", "Give each column its own name."
            )
        rows = tuple(tuple(map(_one_line, _texts(row))) for row in self.rows)
        for node, row in enumerate(rows):
            if len(row) != len(columns):
                raise InstanceError.about(
                    "details",
                    f"row {node} of the details has {len(row)} texts, not {len(columns)}.",
                    "Give one text per column.",
                )
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "rows", rows)

    def of(self, node: int) -> dict[str, str]:
        """Return the details of a node by column name, without empty ones.

        Parameters
        ----------
        node
            0 for the depot, 1 to n for a customer.
        """
        return {column: text for column, text in zip(self.columns, self.rows[node], strict=True) if text}


def _texts(values: object) -> Sequence[str]:
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise InstanceError.about(
            "details", "the details are not lists of texts.", "Give a list of texts for each row."
        )
    return values


def _one_line(text: str) -> str:
    """Join the lines of a cell: a driver's list has one line for an address."""
    spaced = (" " if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") else character for character in text)
    return " ".join("".join(spaced).split())
