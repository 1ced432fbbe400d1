"""What an engine is: whoever has workers solve blocks. And what becomes of a block whose worker died."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from dynaroute.scale.rows import Block
from dynaroute.scale.work import BlockReport, Work

__all__ = ["MOST_DEATHS", "Engine", "Retries", "WorkersNow"]

MOST_DEATHS = 2  # of workers on one block, before its rows are looked at more closely


@dataclass(frozen=True)
class WorkersNow:
    """How many workers there are, and how many died and were replaced so far."""

    alive: int
    replaced: int = 0


class Engine(Protocol):
    """Has workers solve blocks, on this machine or on others."""

    def count_workers(self, work: Work) -> int:
        """How many workers this work will have."""
        ...

    def solve(self, work: Work, blocks: Iterable[Block], tell: Callable[[WorkersNow], None]) -> Iterator[BlockReport]:
        """Solve every block by a `Worker`, in any order, and report each once its part is written.

        Blocks are taken from the iterable as workers become free, so that there are never many in memory. A worker
        that dies is replaced, and `Retries` says what becomes of its block. An error of ours that a worker raises,
        such as a full disk, ends the run. When the iterator is closed, the workers are ended.
        """
        ...


@dataclass
class Retries:
    """Finds the row that its workers die of: a block is tried again, then cut, down to the row itself."""

    group: int
    deaths: Counter[tuple[int, int]] = field(default_factory=Counter)

    def blame(self, block: Block, reason: str) -> list[Block]:
        """What to try instead of a block whose worker died.

        Parameters
        ----------
        block
            What it worked on.
        reason
            How it died, in words: "it was killed by signal 9".
        """
        key = (block.first, block.end)
        self.deaths[key] += 1
        if self.deaths[key] < MOST_DEATHS:
            return [block]
        if len(block) == 1:
            return [replace(block, fault=f"{self.deaths[key]} workers died of this row: {reason}.")]
        return list(block.cut(self._choose_cut(block)))

    def _choose_cut(self, block: Block) -> int:
        """The middle; between groups that are solved together, where there are some."""
        middle = (block.first + block.end) // 2
        below = middle // self.group * self.group
        return next((number for number in (below, below + self.group) if block.first < number < block.end), middle)
