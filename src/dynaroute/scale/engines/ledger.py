"""Keeps track of blocks in progress, for an engine that retries them by itself.

If an actor dies, Ray gives its block to another one, without end. So actors ask a ledger what to do with a block. The
ledger is an actor on the driver's machine, and uses `Retries`, as other engines do.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from dynaroute.scale.engines.engine import MOST_DEATHS, Retries
from dynaroute.scale.rows import Block
from dynaroute.scale.work import BlockReport

_LOST_WORKER = "Ray lost its worker, perhaps for lack of memory"


class Done(NamedTuple):
    """The outcome of a block: reports of its parts, and how many workers died while solving it."""

    reports: list[BlockReport]
    deaths: int


@dataclass
class _BlockProgress:
    """The progress of a block: pieces to solve, starting with the one in progress, and reports of the others."""

    waiting: list[Block]
    reports: list[BlockReport] = field(default_factory=list)
    deaths: int = 0

    @property
    def done(self) -> Done:
        """The outcome so far."""
        return Done(list(self.reports), self.deaths)


class Ledger:
    """Tells actors what to do with a block, and keeps track of it until it is solved."""

    def __init__(self, group: int) -> None:
        self.retries = Retries(group)
        self.begun: dict[Block, _BlockProgress] = {}
        self.attempts: Counter[Block] = Counter()  # how often builders began a block

    def may_build(self, whole: Block) -> bool:
        """Whether to build the first routes of a block; no if builders died on it, and then its worker builds them."""
        self.attempts[whole] += 1
        return self.attempts[whole] <= MOST_DEATHS

    def begin(self, whole: Block) -> Block | Done:
        """Return what to solve first; if the block was begun before, the actor that began it has died."""
        progress = self.begun.get(whole)
        if progress is None:
            self.begun[whole] = _BlockProgress([whole])
            return whole
        return self.blame(whole, _LOST_WORKER) if progress.waiting else progress.done

    def blame(self, whole: Block, reason: str) -> Block:
        """Return what to solve next, after the piece in progress failed."""
        progress = self.begun.setdefault(whole, _BlockProgress([whole]))  # missing if the ledger itself was restarted
        progress.deaths += 1
        progress.waiting[:1] = self.retries.blame(progress.waiting[0], reason)
        return progress.waiting[0]

    def finish(self, whole: Block, report: BlockReport) -> Block | Done:
        """Return what to solve next, or all reports if nothing is left."""
        progress = self.begun.setdefault(whole, _BlockProgress(_list_rest(whole, report.block)))
        progress.reports.append(report)
        progress.deaths += max(0, self.attempts.pop(whole, 0) - 1)  # deaths of builders
        del progress.waiting[0]
        if progress.waiting:
            return progress.waiting[0]
        if not progress.deaths:  # if this answer is lost, a block that was cut must not be solved whole again
            del self.begun[whole]
        return progress.done


def _list_rest(whole: Block, part: Block) -> list[Block]:
    """Return a piece of a block and the rest after it; pieces are solved in order."""
    return [part] if part.end == whole.end else [part, replace(whole, first=part.end)]
