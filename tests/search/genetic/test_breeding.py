"""One population on several cores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import instances, solutions_of

from dynaroute.draw import draw_paper_set
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.genetic import breeding
from dynaroute.search.genetic.breeding import Breeding
from dynaroute.search.searchers import Pace

NO_PACE = Pace(0.0, 0.0)
INSTANCE = draw_paper_set(40, 1, np.random.default_rng(40)).instances()[0]


def make_breeding(instance: Instance = INSTANCE, threads: int = 2, seed: int = 0) -> Breeding:
    return Breeding(SearchProblem.from_instance(instance), threads, seed, initial=5)


@settings(max_examples=15)
@given(st.data(), st.integers(1, 3))
def test_the_best_solution_is_feasible_costs_what_it_says_and_is_no_worse_than_a_start(
    data: st.DataObject, threads: int
) -> None:
    instance = data.draw(instances(sizes=st.integers(1, 20)))
    start = data.draw(solutions_of(instance))
    search = make_breeding(instance, threads)
    search.adopt(start.routes, start.cost(instance))
    search.run(2000, NO_PACE)
    found = Solution(search.best_routes)
    assert check(instance, found) == []
    assert search.best_cost == pytest.approx(found.cost(instance))
    assert search.best_cost <= start.cost(instance) * (1 + 1e-9)


def test_before_anything_is_done_there_is_no_solution() -> None:
    search = make_breeding()
    assert (search.best_cost, search.best_routes) == (float("inf"), ())


def test_a_seed_and_a_number_of_iterations_determine_the_result() -> None:
    at_once, in_pieces, other_seed = make_breeding(threads=3), make_breeding(threads=3), make_breeding(seed=1)
    at_once.run(6000, NO_PACE)
    for count in (1, 1199, 0, 2500, 2300):
        assert in_pieces.run(count, NO_PACE) == count
    other_seed.run(1, NO_PACE)
    assert at_once.best_routes == in_pieces.best_routes
    assert at_once.best_cost == in_pieces.best_cost
    assert other_seed.best_routes != at_once.best_routes


def test_it_gets_better_with_time() -> None:
    search = make_breeding()
    search.run(1000, NO_PACE)
    before = search.best_routes, search.best_cost
    search.run(10_000, NO_PACE)
    assert search.best_routes != before[0]
    assert search.best_cost < before[1]


def test_a_halted_search_does_no_more() -> None:
    search = make_breeding()
    search.run(2000, NO_PACE)
    before = search.best_routes, search.best_cost
    search.halt()
    assert search.run(5000, NO_PACE) == 0
    assert (search.best_routes, search.best_cost) == before


def test_children_of_an_earlier_population_do_not_join_the_next() -> None:
    search = make_breeding()
    search.run(10_000, NO_PACE)
    before = search.best_cost
    assert search._evolution.population.counts[:2].sum() > 0
    search._evolution.progress["idle"] = 20_000
    search.run(1200, NO_PACE)  # fewer batches than there are slots, so that all of them have earlier parents
    assert search._evolution.population.counts[:2].sum() == 0
    search.run(20_000, NO_PACE)
    assert search._evolution.population.counts[:2].sum() > 0
    assert search.best_cost <= before


def test_an_error_on_a_core_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bool:
        raise MemoryError

    search = make_breeding()
    monkeypatch.setattr(breeding, "improve_children", fail)
    with pytest.raises(MemoryError):
        search.run(5000, NO_PACE)
        search.run(5000, NO_PACE)


def test_an_error_on_one_core_reaches_the_caller_and_leaves_no_core_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> float:
        raise MemoryError

    monkeypatch.setattr(breeding, "draw_children", fail)
    search = make_breeding()
    search.run(6000, NO_PACE)
    with pytest.raises(MemoryError):
        _ = search.best_routes
