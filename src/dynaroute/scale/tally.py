"""What a part, or a whole run, amounts to: counts, costs and faults, small enough to be sent and added up."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from dynaroute.scale.outcomes import Outcome

__all__ = ["Tally"]

_STEP = math.log(1.01)  # width of the finest bars that a histogram can have: one per cent of the cost
_ZERO = -(1 << 31)  # stands for a cost of 0, which has no logarithm
_MOST_FAULTS = 5  # that are told in full


@dataclass(frozen=True)
class Tally:
    """Counts and sums over rows of the output.

    Attributes
    ----------
    rows, failed
        How many there are, and how many of them have an error.
    cost, seconds
        Sums over the rows that have routes.
    priced
        How many have routes.
    methods
        How many rows were solved in each way: model and method.
    costs
        How many rows have a cost within each per cent: exponents of 1.01.
    faults
        The id and the error of the first few rows that have one.
    """

    rows: int = 0
    failed: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    priced: int = 0
    methods: Counter[str] = field(default_factory=Counter)
    costs: Counter[int] = field(default_factory=Counter)
    faults: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Tally:
        """Count outcomes."""
        every = list(outcomes)
        priced = [each for each in every if each.cost is not None]
        faults = [(each.id, each.error) for each in every if each.error is not None]
        return cls(
            rows=len(every),
            failed=len(faults),
            cost=math.fsum(each.cost or 0.0 for each in priced),
            seconds=math.fsum(each.seconds for each in priced),
            priced=len(priced),
            methods=Counter(each.how for each in priced),
            costs=Counter(_bar_of(each.cost or 0.0) for each in priced),
            faults=tuple(faults[:_MOST_FAULTS]),
        )

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.rows + other.rows,
            self.failed + other.failed,
            self.cost + other.cost,
            self.seconds + other.seconds,
            self.priced + other.priced,
            self.methods + other.methods,
            self.costs + other.costs,
            (*self.faults, *other.faults)[:_MOST_FAULTS],
        )

    @property
    def cost_counts(self) -> dict[float, int]:
        """How many rows have about this cost, to a per cent."""
        return {math.exp(_STEP * (bar + 0.5)) if bar != _ZERO else 0.0: count for bar, count in self.costs.items()}

    @property
    def mean_cost(self) -> float | None:
        """Of the rows that have routes; None where there is none."""
        return self.cost / self.priced if self.priced else None


def _bar_of(cost: float) -> int:
    return math.floor(math.log(cost) / _STEP) if cost > 0 else _ZERO
