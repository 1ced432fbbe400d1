"""Keeps track of blocks in progress, for an engine that retries them by itself.

If an actor dies, Ray gives its block to another one, without end. So actors ask a ledger what to do with a block. The
ledger is an actor on the driver's machine, and uses `Retries`, as other engines do.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from dynaroute.scale.engine import MOST_DEATHS, Retries
from dynaroute.scale.rows import Block
from dynaroute.scale.work import BlockReport

__all__ = ["Done", "Ledger"]

_DEATH = "Ray lost its worker, perhaps for lack of memory"


class Done(NamedTuple):
    """The outcome of a block: reports of its parts, and how many workers died while solving it."""

    reports: list[BlockReport]
    deaths: int


@dataclass
class _Course:
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
        self.courses: dict[Block, _Course] = {}
        self.attempts: Counter[Block] = Counter()  # how often builders began a block

    def may_build(self, whole: Block) -> bool:
        """Whether to build the first routes of a block; no if builders died on it, and then its worker builds them."""
        self.attempts[whole] += 1
        return self.attempts[whole] <= MOST_DEATHS

    def begin(self, whole: Block) -> Block | Done:
        """Return what to solve first; if the block was begun before, the actor that began it has died."""
        course = self.courses.get(whole)
        if course is None:
            self.courses[whole] = _Course([whole])
            return whole
        return self.blame(whole, _DEATH) if course.waiting else course.done

    def blame(self, whole: Block, reason: str) -> Block:
        """Return what to solve next, after the piece in progress failed."""
        course = self.courses.setdefault(whole, _Course([whole]))  # missing if the ledger itself was restarted
        course.deaths += 1
        course.waiting[:1] = self.retries.blame(course.waiting[0], reason)
        return course.waiting[0]

    def finish(self, whole: Block, report: BlockReport) -> Block | Done:
        """Return what to solve next, or all reports if nothing is left."""
        course = self.courses.setdefault(whole, _Course(_list_rest(whole, report.block)))
        course.reports.append(report)
        course.deaths += max(0, self.attempts.pop(whole, 0) - 1)  # deaths of builders
        del course.waiting[0]
        if course.waiting:
            return course.waiting[0]
        if not course.deaths:  # if this answer is lost, a block that was cut must not be solved whole again
            del self.courses[whole]
        return course.done


def _list_rest(whole: Block, part: Block) -> list[Block]:
    """Return a piece of a block and the rest after it; pieces are solved in order."""
    return [part] if part.end == whole.end else [part, replace(whole, first=part.end)]
