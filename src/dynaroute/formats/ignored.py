"""Columns and keys that the user wants to plan without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynaroute.base.display import show_list
from dynaroute.base.errors import OptionError
from dynaroute.formats.tables.words import simplify
from dynaroute.formats.text import shorten


def find_columns(name: str, headings: Sequence[str]) -> list[int]:
    """Find the columns with a heading: letter by letter or, if there is none, without signs, brackets and accents."""
    simple = simplify(name)
    exact = [index for index, heading in enumerate(headings) if heading.casefold() == name.casefold()]
    return exact or [index for index, heading in enumerate(headings) if simple and simplify(heading) == simple]


@dataclass(frozen=True)
class Ignored:
    """Columns of a table, or keys of a JSON document, that the user wants to plan without.

    Attributes
    ----------
    names
        Their headings or keys.
    elsewhere
        Headings of another file that is read at the same time, where a name may be instead.
    """

    names: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: str | Sequence[str] | None, elsewhere: Sequence[str] = ()) -> Ignored:
        """Make it from a name, or from several."""
        return cls((names,) if isinstance(names, str) else tuple(names or ()), tuple(elsewhere))

    def find(self, headings: Sequence[str]) -> frozenset[int]:
        """Find the ignored columns; names of other columns are left to `refuse_unknown`."""
        return frozenset(index for name in self.names for index in find_columns(name, headings))

    @property
    def names_here(self) -> tuple[str, ...]:
        """The names that are not in the other file."""
        return tuple(name for name in self.names if not find_columns(name, self.elsewhere))

    def refuse_unknown(self, headings: Sequence[str]) -> None:
        """Raise if a name is no column."""
        for name in self.names_here:
            if not find_columns(name, headings):
                known = [heading for heading in headings if heading]
                raise OptionError.about(
                    "ignore", f"there is no column {shorten(name)}.", f"The columns are {show_list(known, 30)}."
                )


NOTHING_IGNORED = Ignored()
