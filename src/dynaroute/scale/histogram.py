"""How values are distributed, as data and in text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dynaroute.display import show_length

__all__ = ["Bar", "draw_bars", "make_bars"]

_BARS, _WIDTH = 10, 40


@dataclass(frozen=True)
class Bar:
    """A range of values, and how many there are in it."""

    begin: float
    end: float
    count: int


def make_bars(counts: Mapping[float, int]) -> list[Bar]:
    """Take values together in ten ranges of equal width; in one, if all are the same.

    Parameters
    ----------
    counts
        How often each value comes.
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
    """Draw a histogram: a line with the range, a bar and the number for each.

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
