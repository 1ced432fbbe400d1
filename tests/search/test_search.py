"""The time-limited search."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import instances, solutions_of

from dynaroute.base.stopping import Stopping
from dynaroute.draw import draw_paper_set
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search.annealing.annealing import AnnealingSettings, RuinAndRecreate
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.savings import build_by_savings
from dynaroute.search.search import Improvement, Incumbent, _share_cores, search

_INSTANCE = draw_paper_set(50, 1, np.random.default_rng(7)).instances()[0]


@settings(max_examples=30)
@given(st.data(), st.sampled_from((0, 1, 500, 20_000)))
def test_every_result_is_feasible_priced_right_and_never_worse_than_its_start(
    data: st.DataObject, iterations: int
) -> None:
    instance = data.draw(instances(sizes=st.integers(1, 15)))
    start = data.draw(st.one_of(st.none(), solutions_of(instance)))
    outcome = search(instance, start, Stopping(iterations=iterations))
    assert not check(instance, outcome.solution)
    assert outcome.solution.stated_cost == outcome.cost == outcome.solution.cost(instance)
    assert outcome.iterations == iterations
    if start is not None:
        assert outcome.cost <= start.cost(instance)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_seed_and_a_number_of_iterations_determine_the_result(threads: int) -> None:
    outcomes = [search(_INSTANCE, None, Stopping(iterations=30_000), seed=4, threads=threads) for _ in range(2)]
    assert outcomes[0].solution == outcomes[1].solution


def test_it_improves_on_savings() -> None:
    outcome = search(_INSTANCE, None, Stopping(iterations=20_000))
    assert outcome.cost < build_by_savings(_INSTANCE).cost(_INSTANCE)


def test_the_trace_falls_from_the_start_to_the_result() -> None:
    start = build_by_savings(_INSTANCE)
    outcome = search(_INSTANCE, start, Stopping(iterations=20_000))
    assert outcome.trace[0][1] == start.cost(_INSTANCE)
    assert outcome.trace[-1][1] == outcome.cost
    assert all(early <= late and more > less for (early, more), (late, less) in pairwise(outcome.trace))


def test_improvements_are_told_as_they_are_found() -> None:
    told: list[Improvement] = []
    outcome = search(_INSTANCE, None, Stopping(iterations=20_000), on_improvement=told.append)
    assert [(each.seconds, each.cost) for each in told] == list(outcome.trace)
    assert all(not check(_INSTANCE, each.solution) for each in told)


def test_a_target_ends_it_early() -> None:
    target = build_by_savings(_INSTANCE).cost(_INSTANCE)
    outcome = search(_INSTANCE, None, Stopping(iterations=10**9, target=target))
    assert outcome.cost <= target
    assert outcome.iterations < 10**9


def test_cancelling_ends_it_with_the_best_so_far() -> None:
    told: list[Improvement] = []
    stopping = Stopping(is_cancelled=lambda: len(told) >= 2)
    outcome = search(_INSTANCE, None, stopping, on_improvement=told.append)
    assert not check(_INSTANCE, outcome.solution)
    assert outcome.cost <= told[1].cost
    assert not outcome.is_interrupted


def test_an_interrupt_returns_the_best_so_far() -> None:
    told: list[Improvement] = []

    def interrupt_the_second(improvement: Improvement) -> None:
        told.append(improvement)
        if len(told) == 2:
            raise KeyboardInterrupt

    outcome = search(_INSTANCE, None, Stopping(), on_improvement=interrupt_the_second)
    assert outcome.is_interrupted
    assert outcome.cost == told[1].cost
    assert not check(_INSTANCE, outcome.solution)


def test_a_deadline_in_the_past_still_gives_a_solution() -> None:
    outcome = search(_INSTANCE, None, Stopping(deadline=time.perf_counter() - 1))
    assert not check(_INSTANCE, outcome.solution)
    assert outcome.iterations == 0


def test_a_deadline_in_the_past_keeps_the_start() -> None:
    start = build_by_savings(_INSTANCE)
    assert search(_INSTANCE, start, Stopping(deadline=time.perf_counter() - 1)).solution.routes == start.routes


def test_seconds_are_counted_from_when_the_clock_began() -> None:
    outcome = search(_INSTANCE, None, Stopping(iterations=10, began=time.perf_counter() - 1000))
    assert 1000 <= outcome.trace[0][0] <= outcome.trace[-1][0] <= outcome.seconds < 2000


def test_large_problems_are_searched() -> None:
    instance = draw_paper_set(1500, 1, np.random.default_rng(3), capacity=100).instances()[0]
    outcome = search(instance, None, Stopping(iterations=2000))
    assert not check(instance, outcome.solution)
    assert outcome.cost < outcome.trace[0][1]


# The best so far

_TWO = Instance(np.array([[0.0, 0], [1, 0], [2, 0]]), np.array([0, 1, 1]), capacity=2)
_APART, _TOGETHER = Solution(((1,), (2,))), Solution(((1, 2),))  # costs 6 and 4


def test_better_solutions_are_taken_and_told() -> None:
    told: list[Improvement] = []
    incumbent = Incumbent(_TWO, time.perf_counter(), told.append)
    assert incumbent.offer(_APART)
    assert incumbent.offer(_TOGETHER)
    assert incumbent.cost == 4
    assert [each.cost for each in told] == [6, 4]


def test_what_is_not_better_is_left() -> None:
    incumbent = Incumbent(_TWO, time.perf_counter(), None)
    incumbent.offer(_TOGETHER)
    assert not incumbent.offer(_APART)
    assert not incumbent.offer(Solution(((2, 1),)))
    assert incumbent.solution.routes == ((1, 2),)


def test_what_a_searcher_found_last_is_in_the_outcome() -> None:
    incumbent = Incumbent(_TWO, time.perf_counter(), None)
    incumbent.offer(_APART)
    searcher = RuinAndRecreate(SearchProblem.from_instance(_TWO), _APART.routes, AnnealingSettings(), seed=0)
    incumbent.watch(searcher)
    searcher.adopt(_TOGETHER.routes, 4.0)
    outcome = incumbent.conclude(iterations=7, is_interrupted=False)
    assert outcome.solution == Solution(((1, 2),), stated_cost=4.0)
    assert [cost for _, cost in outcome.trace] == [6, 4]
    assert outcome.iterations == 7


def test_with_nothing_found_there_is_a_solution_all_the_same() -> None:
    outcome = Incumbent(_TWO, time.perf_counter(), None).conclude(iterations=0, is_interrupted=True)
    assert not check(_TWO, outcome.solution)
    assert outcome.is_interrupted


@pytest.mark.parametrize(
    ("threads", "most", "shares"),
    [(13, 8, [6, 7]), (12, 5, [4, 4, 4]), (8, 100, [8]), (3, 1, [1, 1, 1]), (2, 0, [1, 1])],
)
def test_no_core_is_idle_while_parts_are_searched(threads: int, most: int, shares: list[int]) -> None:
    assert _share_cores(threads, most) == shares


def test_the_outcome_tells_what_savings_cost() -> None:
    outcome = search(_INSTANCE, None, Stopping(iterations=3000), is_by_policy=True)
    assert outcome.savings_cost == outcome.trace[0][1] > outcome.cost


def test_iterations_from_a_policys_start_determine_the_routes() -> None:
    start = Solution(search(_INSTANCE, None, Stopping(iterations=500)).solution.routes)
    known, one, two = (
        search(_INSTANCE, start, Stopping(iterations=3000), is_by_policy=is_by_policy)
        for is_by_policy in (False, True, True)
    )
    assert one.solution == two.solution
    assert max(known.cost, one.cost) <= start.cost(_INSTANCE)
