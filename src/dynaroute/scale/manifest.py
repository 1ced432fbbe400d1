"""The manifest of a run: its input and options, so that it can only be continued with the same ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from dynaroute import __version__
from dynaroute.base.errors import FileError, FormatError, OptionError, Where
from dynaroute.scale.output.parts import MANIFEST
from dynaroute.scale.places import StoragePlace

# Fields that must be equal, and their names in messages: for shards of one input; for a run and its continuation.
OF_INPUT = {
    "version": "Dynaroute's version",
    "rows": "the number of rows of the input",
    "input_digest": "the input's digest",
    "group": "the number of rows that are solved together",
}
_OF_RUN = {**OF_INPUT, "shard": "the shard", "block": "the number of rows per block"}


@dataclass(frozen=True)
class Shard:
    """One of several runs that share an input.

    Attributes
    ----------
    index, count
        Number of this shard, from 1, and the number of shards.
    """

    index: int = 1
    count: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.index <= self.count:
            message = f"there is no shard {self.index} of {self.count}."
            raise OptionError.about("shard", message, "Give 1/4, 2/4, 3/4 and 4/4, for example.")

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read "2/4"."""
        index, slash, count = text.partition("/")
        if not (slash and index.isascii() and index.isdigit() and count.isascii() and count.isdigit()):
            message = f"expected a shard such as 2/4, found {text!r}."
            raise OptionError.about("shard", message, "Give 1/4, 2/4, 3/4 and 4/4, for example.")
        return cls(int(index), int(count))

    def cut(self, rows: int, group: int) -> tuple[int, int]:
        """The first row of this shard and the row after its last; groups of rows are never divided."""
        groups = -(-rows // group)
        first, end = (group * (groups * index // self.count) for index in (self.index - 1, self.index))
        return min(first, rows), min(end, rows)


@dataclass(frozen=True)
class Manifest:
    """Everything that determines the output, and where the input was.

    Attributes
    ----------
    input
        Address of the input, which may have moved since.
    input_digest, rows
        Digest of the input's contents, and its number of rows.
    options
        The options that determine the routes, by name, and the kind of device.
    group, block
        Number of rows that are solved together, and rows per block.
    shard
        The part of the input that this run solves.
    version
        Version of Dynaroute.
    """

    input: str
    input_digest: str
    rows: int
    options: Mapping[str, Any]
    group: int
    block: int
    shard: str = "1/1"
    version: str = __version__

    def write(self, place: StoragePlace) -> None:
        """Write it into the output folder."""
        document = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        place.write(MANIFEST, json.dumps(document, indent=1).encode() + b"\n")

    @classmethod
    def read(cls, place: StoragePlace) -> Manifest:
        """Read the manifest of a run.

        Raises
        ------
        DynarouteError
            If there is no valid manifest.
        """
        where = Where(file=place.file(MANIFEST))
        if MANIFEST not in place.list_files():
            remedy = "Give an output folder of dynaroute batch."
            raise FileError("there is no manifest in this folder.", where=Where(file=place.address), remedy=remedy)
        try:
            return cls(**json.loads(place.read(MANIFEST)))
        except (ValueError, TypeError) as error:
            raise FormatError("this is not a valid manifest.", where=where, remedy="Start a new run.") from error

    def refuse_other(self, other: Manifest, place: StoragePlace) -> None:
        """Refuse to continue this run with a different input or options.

        Parameters
        ----------
        other
            The manifest of the continuation.
        place
            The output, for the message.
        """
        for what, before, now in self.compare(other, _OF_RUN):
            raise OptionError(
                f"{what} was {before!r} when this run started, but is {now!r} now.",
                where=Where(file=place.address),
                remedy="Continue it unchanged, or use another folder for a new run.",
            )

    def compare(self, other: Manifest, names: Mapping[str, str]) -> Iterator[tuple[str, object, object]]:
        """List the differences: the name of the field, its value here, and in the other manifest.

        Parameters
        ----------
        other
            Manifest of another run.
        names
            Fields to compare, and their names in messages.
        """
        for name, words in names.items():
            if getattr(self, name) != getattr(other, name):
                yield words, getattr(self, name), getattr(other, name)
        for name in sorted({*self.options, *other.options}):
            if self.options.get(name) != other.options.get(name):
                yield f"the option {name}", self.options.get(name), other.options.get(name)
