"""What became of the blocks that are being solved, where an engine tries them again by itself.

Ray gives a block whose actor died to another one, again and again. So that this ends, actors ask a ledger, which is an
actor beside the driver, what to do for a block: `Retries` decides, as it does for other engines.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from dynaroute.scale.engine import MOST_DEATHS, Retries
from dynaroute.scale.rows import Block
from dynaroute.scale.work import BlockReport

__all__ = ["Done", "Ledger"]

_DEATH = "Ray lost its worker, perhaps because memory was short"


class Done(NamedTuple):
    """What became of a block: reports of its parts, and how many workers died of it."""

    reports: list[BlockReport]
    deaths: int


@dataclass
class _Course:
    """What a block was cut into, of which the first is being solved; and what is done."""

    waiting: list[Block]
    reports: list[BlockReport] = field(default_factory=list)
    deaths: int = 0

    @property
    def done(self) -> Done:
        """What there is to tell of it."""
        return Done(list(self.reports), self.deaths)


class Ledger:
    """Knows what became of the blocks that are being solved.

    Actors ask here what to do for a block.
    """

    def __init__(self, group: int) -> None:
        self.retries = Retries(group)
        self.courses: dict[Block, _Course] = {}
        self.attempts: Counter[Block] = Counter()  # to build

    def may_build(self, whole: Block) -> bool:
        """Whether to build the first routes of a block: not where builders have died of it. Then its worker does it."""
        self.attempts[whole] += 1
        return self.attempts[whole] <= MOST_DEATHS

    def begin(self, whole: Block) -> Block | Done:
        """What to solve first of a block; where it was begun before, whoever did that has died."""
        course = self.courses.get(whole)
        if course is None:
            self.courses[whole] = _Course([whole])
            return whole
        return self.blame(whole, _DEATH) if course.waiting else course.done

    def blame(self, whole: Block, reason: str) -> Block:
        """What to solve next, since what was being solved was not."""
        course = self.courses.setdefault(whole, _Course([whole]))  # or this ledger died, too, and knows nothing
        course.deaths += 1
        course.waiting[:1] = self.retries.blame(course.waiting[0], reason)
        return course.waiting[0]

    def finish(self, whole: Block, report: BlockReport) -> Block | Done:
        """What to solve next; or all reports, where nothing is left."""
        course = self.courses.setdefault(whole, _Course(_list_rest(whole, report.block)))
        course.reports.append(report)
        course.deaths += max(0, self.attempts.pop(whole, 0) - 1)  # of builders
        del course.waiting[0]
        if course.waiting:
            return course.waiting[0]
        if not course.deaths:  # a block that was cut must not be solved as a whole again, should this answer be lost
            del self.courses[whole]
        return course.done


def _list_rest(whole: Block, part: Block) -> list[Block]:
    """A part of a block, and what comes after it: parts are solved from the front to the back."""
    return [part] if part.end == whole.end else [part, replace(whole, first=part.end)]
