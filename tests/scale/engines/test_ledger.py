from __future__ import annotations

import pytest

from dynaroute.scale.engines.ledger import Done, Ledger
from dynaroute.scale.output.tally import Tally
from dynaroute.scale.rows import Block
from dynaroute.scale.work import BlockReport


def report_of(block: Block) -> BlockReport:
    return BlockReport(block, Tally(rows=len(block)))


def test_the_ledger_gives_out_a_block_and_takes_its_report() -> None:
    ledger, whole = Ledger(group=2), Block(4, 8)

    assert ledger.begin(whole) == whole
    assert ledger.finish(whole, report_of(whole)) == Done([report_of(whole)], deaths=0)


def test_the_ledger_gives_up_a_block_that_builders_die_of_and_counts_them() -> None:
    ledger, whole = Ledger(group=2), Block(4, 8)
    assert [ledger.may_build(whole) for _ in range(3)] == [True, True, False]
    ledger.begin(whole)
    assert ledger.finish(whole, report_of(whole)) == Done([report_of(whole)], deaths=2)


def test_the_ledger_cuts_a_block_that_is_begun_too_often() -> None:
    ledger, whole = Ledger(group=2), Block(4, 8)
    ledger.begin(whole)

    assert ledger.begin(whole) == whole
    assert ledger.begin(whole) == Block(4, 6)
    assert ledger.finish(whole, report_of(Block(4, 6))) == Block(6, 8)
    done = ledger.finish(whole, report_of(Block(6, 8)))
    assert done == Done([report_of(Block(4, 6)), report_of(Block(6, 8))], deaths=2)


def test_the_ledger_does_not_give_out_a_block_again_that_was_cut_and_done() -> None:
    ledger, whole = Ledger(group=2), Block(4, 8)
    for _ in range(3):
        ledger.begin(whole)
    ledger.finish(whole, report_of(Block(4, 6)))
    done = ledger.finish(whole, report_of(Block(6, 8)))

    assert ledger.begin(whole) == done  # the actor died before it could pass the answer on


@pytest.mark.parametrize("part", [Block(4, 8), Block(6, 8)])
def test_a_ledger_that_was_started_anew_takes_reports_of_blocks_it_does_not_know(part: Block) -> None:
    assert Ledger(group=2).finish(Block(4, 8), report_of(part)) == Done([report_of(part)], deaths=0)


def test_a_ledger_that_was_started_anew_gives_out_what_is_left_of_a_block() -> None:
    ledger, whole = Ledger(group=2), Block(4, 8)

    assert ledger.finish(whole, report_of(Block(4, 5))) == Block(5, 8)
    assert ledger.begin(whole) == Block(5, 8)
