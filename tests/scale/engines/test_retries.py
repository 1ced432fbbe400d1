from __future__ import annotations

from dynaroute.scale.engines.engine import Retries
from dynaroute.scale.rows import Block


def test_a_block_is_tried_again_after_the_first_death() -> None:
    assert Retries(4).blame(Block(0, 16), "killed") == [Block(0, 16)]


def test_a_block_of_which_two_workers_died_is_cut_between_groups() -> None:
    retries = Retries(4)
    retries.blame(Block(4, 14), "killed")
    assert retries.blame(Block(4, 14), "killed") == [Block(4, 8), Block(8, 14)]


def test_within_a_group_a_block_is_cut_in_the_middle() -> None:
    retries = Retries(64)
    retries.blame(Block(0, 5), "killed")
    assert retries.blame(Block(0, 5), "killed") == [Block(0, 2), Block(2, 5)]


def test_a_boundary_above_the_middle_is_found() -> None:
    retries = Retries(16)
    retries.blame(Block(16, 40), "killed")
    assert retries.blame(Block(16, 40), "killed") == [Block(16, 32), Block(32, 40)]


def test_a_single_row_of_which_two_workers_died_is_given_up() -> None:
    retries = Retries(4)
    retries.blame(Block(3, 4), "killed by SIGKILL")
    (given_up,) = retries.blame(Block(3, 4), "killed by SIGKILL")
    assert "2 workers died while solving this row: killed by SIGKILL" in given_up.fault
