from __future__ import annotations

from dynaroute.scale.rows import Block, Row


def test_a_block_is_cut_between_two_rows() -> None:
    assert Block(4, 9).cut(6) == (Block(4, 6), Block(6, 9))


def test_rows_that_travel_with_a_block_are_cut_with_it() -> None:
    rows = tuple(Row(number, str(number)) for number in range(4, 9))
    before, after = Block(4, 9, rows).cut(6)
    assert before.rows == rows[:2]
    assert after.rows == rows[2:]
