from __future__ import annotations

from dynaroute.scale.output.tally import Bar, draw_bars, make_bars


def test_every_value_is_counted_once() -> None:
    bars = make_bars({1.0: 3, 1.5: 4, 11.0: 5})
    assert len(bars) == 10
    assert [bars[0].count, bars[-1].count] == [7, 5]
    assert sum(bar.count for bar in bars) == 12


def test_values_that_are_all_the_same_make_one_bar() -> None:
    assert make_bars({2.0: 3}) == [Bar(2.0, 2.0, 3)]


def test_without_values_there_is_no_bar() -> None:
    assert make_bars({}) == []


def test_bars_are_as_long_as_their_counts() -> None:
    lines = draw_bars([Bar(0, 1, 40), Bar(1, 2, 10), Bar(2, 3, 0)])
    assert [line.count("#") for line in lines] == [40, 10, 0]


def test_a_single_value_among_many_is_seen() -> None:
    assert draw_bars([Bar(0, 1, 100_000), Bar(1, 2, 1)])[1].count("#") == 1
