"""The interface of engines, which let workers solve blocks, and what happens to a block whose worker dies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from dynaroute.scale.rows import Block
from dynaroute.scale.work import BlockReport, Work

MOST_DEATHS = 2  # workers that may die on a block before it is cut to find the cause


@dataclass(frozen=True)
class WorkersNow:
    """The number of workers, and how many have died and been replaced so far."""

    alive: int
    replaced: int = 0


class BatchEngine(Protocol):
    """Lets workers solve blocks, on this machine or others."""

    def count_workers(self, work: Work) -> int:
        """Return the number of workers for this work."""
        ...

    def solve(self, work: Work, blocks: Iterable[Block], tell: Callable[[WorkersNow], None]) -> Iterator[BlockReport]:
        """Let `Worker`s solve all blocks, in any order, and report each one after its part is written.

        Blocks are taken from the iterable as workers become free, so that few are in memory. A worker that dies is
        replaced, and `Retries` decides what happens to its block. A DynarouteError in a worker, for example
        because the disk is full, ends the run. Closing the iterator stops the workers.
        """
        ...


@dataclass
class Retries:
    """Finds the row that kills workers: tries a block again, then halves it until one row is left."""

    group: int
    deaths: Counter[tuple[int, int]] = field(default_factory=Counter)

    def blame(self, block: Block, reason: str) -> list[Block]:
        """Return what to try next, after the worker of a block died.

        Parameters
        ----------
        block
            The block that the worker was solving.
        reason
            How the worker died, such as "killed by SIGKILL".
        """
        key = (block.first, block.end)
        self.deaths[key] += 1
        if self.deaths[key] < MOST_DEATHS:
            return [block]
        if len(block) == 1:
            return [replace(block, fault=f"{self.deaths[key]} workers died while solving this row: {reason}.")]
        return list(block.cut(self._choose_cut(block)))

    def _choose_cut(self, block: Block) -> int:
        """Choose the middle of a block; between two groups if it has several."""
        middle = (block.first + block.end) // 2
        below = middle // self.group * self.group
        return next((number for number in (below, below + self.group) if block.first < number < block.end), middle)
