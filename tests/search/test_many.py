"""Searching many instances at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count
from threading import Event, get_ident
from typing import Any

import numpy as np
import pytest

from dynaroute.base.stopping import Stopping
from dynaroute.draw import draw_paper_set
from dynaroute.problem.solution import Solution, check
from dynaroute.search.many import BatchSearchRequest, search_side_by_side
from dynaroute.search.savings import build_by_savings
from dynaroute.search.search import Improvement, search

SEVERAL = draw_paper_set(25, 4, np.random.default_rng(3)).instances()


def make_request(iterations: int = 300, size: int = len(SEVERAL), **settings: Any) -> BatchSearchRequest:
    return BatchSearchRequest(SEVERAL[:size], begin=lambda: Stopping(iterations=iterations), **settings)


@pytest.mark.parametrize("threads", [1, 3, None])
def test_each_instance_is_searched_as_if_it_were_alone(threads: int | None) -> None:
    outcomes = search_side_by_side(make_request(seed=5), threads)
    alone = [search(instance, None, Stopping(iterations=300), seed=5) for instance in SEVERAL]
    assert [outcome.solution for outcome in outcomes] == [outcome.solution for outcome in alone]
    assert [outcome.iterations for outcome in outcomes] == [300] * len(SEVERAL)
    for outcome in outcomes:
        assert outcome.trace[-1][1] == outcome.cost
        assert outcome.trace[-1][0] <= outcome.seconds
        assert not outcome.is_interrupted


def test_a_single_instance_has_all_threads() -> None:
    (outcome,) = search_side_by_side(make_request(30_000, size=1), 2)
    assert outcome.solution == search(SEVERAL[0], None, Stopping(iterations=30_000), threads=2).solution


def test_nothing_to_search_gives_nothing() -> None:
    assert search_side_by_side(make_request(size=0)) == []


@pytest.mark.parametrize("size", [1, 4])
def test_starts_are_asked_for_when_an_instance_is_taken_up(size: int) -> None:
    asked = []

    def find_start(index: int, stopping: Stopping) -> Solution:
        assert stopping.iterations == 0
        asked.append(index)
        return build_by_savings(SEVERAL[index])

    outcomes = search_side_by_side(make_request(0, size, find_start=find_start), 2)
    assert sorted(asked) == list(range(size))
    for instance, outcome in zip(SEVERAL, outcomes, strict=False):
        assert outcome.trace[0][1] == build_by_savings(instance).cost(instance)


@pytest.mark.parametrize("size", [1, 4])
def test_improvements_are_told_with_their_instance_and_ends_in_the_callers_thread(size: int) -> None:
    told: list[list[Improvement]] = [[] for _ in range(size)]
    finished: list[tuple[int, int]] = []
    outcomes = search_side_by_side(
        make_request(
            size=size,
            on_improvement=lambda index, found: told[index].append(found),
            on_finished=lambda number: finished.append((number, get_ident())),
        ),
        2,
    )
    for outcome, improvements in zip(outcomes, told, strict=True):
        assert [(found.seconds, found.cost) for found in improvements] == list(outcome.trace)
    assert finished == [(1, get_ident())] * size


def test_each_of_many_has_its_time_from_when_it_is_taken_up() -> None:
    begins = count()

    def begin() -> Stopping:
        next(begins)
        return Stopping.after(0.05)

    outcomes = search_side_by_side(BatchSearchRequest(SEVERAL, begin), 1)
    assert next(begins) == len(SEVERAL)
    assert all(outcome.iterations > 0 and outcome.seconds < 10 for outcome in outcomes)


def test_cancelling_ends_all_with_their_best_so_far() -> None:
    is_found = Event()
    request = BatchSearchRequest(
        SEVERAL,
        begin=lambda: Stopping(deadline=time.perf_counter() + 20, is_cancelled=is_found.is_set),
        on_improvement=lambda *_: is_found.set(),
    )
    outcomes = search_side_by_side(request, 2)
    for instance, outcome in zip(SEVERAL, outcomes, strict=True):
        assert check(instance, outcome.solution) == []
        assert outcome.is_interrupted


@pytest.mark.parametrize("size", [1, 4])
def test_a_fault_in_one_ends_all(size: int) -> None:
    def fail(index: int, _: Improvement) -> None:
        if index == min(1, size - 1):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):  # and not after all the iterations
        search_side_by_side(make_request(10**12, size, on_improvement=fail), 2)


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("settings", [{"find_start": interrupt}, {"on_improvement": interrupt}])
def test_an_interrupt_ends_all_with_something(size: int, settings: dict[str, Callable[..., Any]]) -> None:
    outcomes = search_side_by_side(make_request(10**12 if size == 1 else 1000, size, **settings), 2)
    for instance, outcome in zip(SEVERAL, outcomes, strict=False):
        assert check(instance, outcome.solution) == []
    assert any(outcome.is_interrupted for outcome in outcomes)
