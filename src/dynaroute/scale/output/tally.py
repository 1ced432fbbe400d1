"""Statistics of a part or a whole run: counts, costs, histograms and errors, small enough to be sent and added up."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dynaroute.base.display import show_length
from dynaroute.scale.output.outcomes import RowOutcome

_BARS, _WIDTH = 10, 40
_STEP = math.log(1.01)  # width of the finest bars that a histogram can have: one per cent of the cost
_ZERO = -(1 << 31)  # for a cost of 0, which has no logarithm
_MOST_FAULTS = 5  # errors that are kept in full


@dataclass(frozen=True)
class Bar:
    """A range of values, and the number of values in it."""

    begin: float
    end: float
    count: int


def make_bars(counts: Mapping[float, int]) -> list[Bar]:
    """Divide values into ten ranges of equal width, or one if all are equal.

    Parameters
    ----------
    counts
        Number of occurrences of each value.
    """
    if not counts:
        return []
    least, most = min(counts), max(counts)
    step = (most - least) / _BARS
    if step <= 0:
        return [Bar(least, most, sum(counts.values()))]
    sums = [0] * _BARS
    for value, count in counts.items():
        sums[min(_BARS - 1, int((value - least) / step))] += count
    return [Bar(least + index * step, least + (index + 1) * step, count) for index, count in enumerate(sums)]


def draw_bars(bars: Sequence[Bar]) -> list[str]:
    """Draw a histogram: each line has a range, a bar and a number.

    Parameters
    ----------
    bars
        At least one.
    """
    ranges = [f"{show_length(bar.begin)} to {show_length(bar.end)}" for bar in bars]
    width, most = max(map(len, ranges)), max(bar.count for bar in bars)
    return [
        f"{words:>{width}}  {'#' * -(-bar.count * _WIDTH // most):<{_WIDTH}}  {bar.count:,}"
        for words, bar in zip(ranges, bars, strict=True)
    ]


@dataclass(frozen=True)
class Tally:
    """Counts and sums over rows of the output.

    Attributes
    ----------
    rows, failed
        Number of rows, and of rows with an error.
    cost, seconds
        Sums over the rows with routes.
    priced
        Number of rows with routes.
    methods
        Number of rows by model and method.
    costs
        Number of rows by cost, in steps of one per cent: exponents of 1.01.
    faults
        Id and error of the first few rows with an error.
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
    def of(cls, outcomes: Iterable[RowOutcome]) -> Tally:
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
        """Number of rows by cost, within one per cent."""
        return {math.exp(_STEP * (bar + 0.5)) if bar != _ZERO else 0.0: count for bar, count in self.costs.items()}

    @property
    def mean_cost(self) -> float | None:
        """Mean cost of the rows with routes; None if there are none."""
        return self.cost / self.priced if self.priced else None


def _bar_of(cost: float) -> int:
    return math.floor(math.log(cost) / _STEP) if cost > 0 else _ZERO
