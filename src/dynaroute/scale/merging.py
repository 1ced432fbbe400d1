"""Merge the outputs of several runs: every row is checked again, and must be there exactly once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from dynaroute.base.errors import FileError, OptionError, SolutionError, Where, merge_notes
from dynaroute.scale.engines.engine import WorkersNow
from dynaroute.scale.input.opening import BatchInput, open_source
from dynaroute.scale.manifest import OF_INPUT, Manifest
from dynaroute.scale.output.parts import SUMMARY, Parts, name_part
from dynaroute.scale.output.summary import BatchSummary
from dynaroute.scale.output.tally import Tally
from dynaroute.scale.places import StoragePlace
from dynaroute.scale.rows import Block, InputRow
from dynaroute.scale.verifying import WrongRow, find_wrong_rows

_MOST_NAMED = 5  # missing ids to list


class Merging:
    """The combined outputs of runs on one input.

    Parameters
    ----------
    folders
        Output folders, one per shard, in any order.
    input
        Where the input is now; None if it has not moved.

    Raises
    ------
    DynarouteError
        If inputs or options differ, or a row is missing or appears twice.
    """

    def __init__(self, folders: Sequence[str], input: str | None = None) -> None:
        places = [StoragePlace(folder) for folder in folders]
        manifests = [Manifest.read(place) for place in places]
        self.manifest = replace(manifests[0], shard="1/1")
        for place, manifest in zip(places, manifests, strict=True):
            _refuse_other_run(manifests[0], places[0], manifest, place)
        self.source = _open_input(input or manifests[0].input, manifests[0])
        found = [(block, Parts(place)) for place in places for block in Parts(place).find()]
        self.written = sorted(found, key=lambda each: each[0].first)
        self._refuse_gaps_and_doubles()

    def find_wrong(self) -> list[WrongRow]:
        """Check every row again.

        Raises
        ------
        DynarouteError
            If a file cannot be read, does not contain the rows of its name, or has another checksum.
        """
        with merge_notes(""):
            return [wrong for block, parts in self.written for wrong in self._check(block, parts)]

    def write(self, out: str) -> BatchSummary:
        """Write everything into one folder, which must be new or empty.

        Parameters
        ----------
        out
            Its address.
        """
        place = StoragePlace(out)
        if place.list_files():
            raise FileError("the folder is not empty.", where=Where(file=out), remedy="Use a new one.")
        place.make()
        self.manifest.write(place)
        tally = Tally()
        for block, parts in self.written:
            name = name_part(block.first, block.end)
            place.write(name, parts.place.read(name))
            tally += Tally.of(parts.load(block).outcomes)
        summary = BatchSummary(tally, WorkersNow(0))
        place.write(SUMMARY, json.dumps(summary.to_json(), indent=1).encode() + b"\n")
        return summary

    def _refuse_gaps_and_doubles(self) -> None:
        end, last = 0, ""
        for block, parts in [*self.written, (Block(len(self.source), len(self.source)), None)]:
            if block.first < end:
                (name,) = self._name(block.first, block.first + 1)
                file = "" if parts is None else parts.place.file(name_part(block.first, block.end))
                raise SolutionError(
                    f"the id {name!r} appears twice: in {last} and in {file}.",
                    remedy="Give each shard once, and leave out one of the two files.",
                )
            if block.first > end:
                names = self._name(end, min(block.first, end + _MOST_NAMED))
                more = block.first - end - len(names)
                rest = f" and {more:,} more" if more else ""
                raise SolutionError(
                    f"the ids {', '.join(map(repr, names))}{rest} are missing.",
                    remedy="Give the folders of all shards; finish incomplete runs with --resume.",
                )
            end = block.end
            last = "" if parts is None else parts.place.file(name_part(block.first, block.end))

    def _check(self, block: Block, parts: Parts) -> list[WrongRow]:
        part = parts.load(block)
        wrong = list(find_wrong_rows(part, self._read(block)))
        if not wrong:  # otherwise these say more than the checksum
            part.verify()
        return wrong

    def _name(self, first: int, end: int) -> list[str]:
        return [row.id for row in self._read(Block(first, end))]

    def _read(self, block: Block) -> list[InputRow]:
        return self.source.read(self.source.prepare(block))


def _refuse_other_run(first: Manifest, first_place: StoragePlace, other: Manifest, place: StoragePlace) -> None:
    for what, here, there in first.compare(other, OF_INPUT):
        raise OptionError(
            f"{what} is {there!r} here, but {here!r} in {first_place.address}.",
            where=Where(file=place.address),
            remedy="Merge only runs with the same input and options.",
        )


def _open_input(address: str, manifest: Manifest) -> BatchInput:
    source = open_source(address)
    if source.digest != manifest.input_digest:
        raise OptionError(
            "this is not the input of these runs, or it has changed since.",
            where=Where(file=address),
            remedy="Give the input with --data IN.",
        )
    return source
