from __future__ import annotations

import threading

import pytest

from dynaroute.search.core.paths import share_among_threads


def test_every_part_is_worked_on_once() -> None:
    seen: list[int] = []
    share_among_threads(lambda first, last: seen.extend(range(first, last)), 37, threads=3)
    assert sorted(seen) == list(range(37))


def test_after_a_fault_parts_that_have_not_begun_are_dropped() -> None:
    done: list[int] = []
    is_told = threading.Event()

    def work(first: int, last: int) -> None:
        if first == 0:
            raise ValueError("broken")
        is_told.wait(0.05)
        done.append(first)

    with pytest.raises(ValueError, match="broken"):
        share_among_threads(work, 80, threads=2)
    assert len(done) < 7  # of the other seven parts of ten
