from __future__ import annotations

from dynaroute.scale.rows import Block, FirstRoutes, InputRow


def test_a_block_is_cut_between_two_rows() -> None:
    assert Block(4, 9).cut(6) == (Block(4, 6), Block(6, 9))


def test_what_travels_with_a_block_is_cut_with_it() -> None:
    rows = tuple(InputRow(number, str(number)) for number in range(4, 9))
    built = tuple(FirstRoutes(((1,),), "tiny", seconds) for seconds in range(5))
    before, after = Block(4, 9, rows, first_routes=built).cut(6)
    assert (before.rows, before.first_routes) == (rows[:2], built[:2])
    assert (after.rows, after.first_routes) == (rows[2:], built[2:])


def test_a_bare_block_tells_its_rows_alone() -> None:
    block = Block(4, 5, (InputRow(4, "4"),), first_routes=(None,))
    assert block.bare == Block(4, 5)
