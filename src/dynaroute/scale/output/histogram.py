"""Histograms, as data and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dynaroute.base.display import show_length

__all__ = ["Bar", "draw_bars", "make_bars"]

_BARS, _WIDTH = 10, 40


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
