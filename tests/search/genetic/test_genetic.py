from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject
from strategies import instances, solutions_of

from dynaroute.draw import XSettings, draw_paper_set, draw_x_set
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution, check
from dynaroute.search.core.problem import SearchProblem
from dynaroute.search.genetic.genetic import GeneticSearch
from dynaroute.search.local.local_search import improve_by_local_search
from dynaroute.search.savings import build_by_savings
from dynaroute.search.searchers import Pace

NO_PACE = Pace(0.0, 0.0)


def make_search(instance: Instance, seed: int = 0, initial: int = 5) -> GeneticSearch:
    return GeneticSearch(SearchProblem.from_instance(instance), seed=seed, initial=initial)


def make_solutions(search: GeneticSearch, count: int) -> None:
    search.run(count * search.weight, NO_PACE)


def an_instance(size: int = 40) -> Instance:
    (instance,) = draw_paper_set(size, 1, np.random.default_rng(size)).instances()
    return instance


@given(st.data())
def test_the_best_solution_is_feasible_and_no_worse_than_a_start(data: DataObject) -> None:
    instance = data.draw(instances(sizes=st.integers(1, 20)))
    start = data.draw(solutions_of(instance))
    search = make_search(instance)
    search.adopt(start.routes, start.cost(instance))
    make_solutions(search, 20)
    assert check(instance, Solution(search.best_routes)) == []
    assert search.best_cost == pytest.approx(Solution(search.best_routes).cost(instance))
    assert search.best_cost <= start.cost(instance) * (1 + 1e-9)


@given(instances(sizes=st.integers(1, 20)))
def test_without_a_start_what_is_best_is_feasible(instance: Instance) -> None:
    search = make_search(instance)
    make_solutions(search, 30)
    if search.best_cost < float("inf"):
        assert check(instance, Solution(search.best_routes)) == []


def test_before_anything_is_done_there_is_no_solution() -> None:
    search = make_search(an_instance())
    assert (search.best_cost, search.best_routes) == (float("inf"), ())


def test_streams_of_one_seed_search_on_their_own() -> None:
    problem = SearchProblem.from_instance(an_instance(60))
    costs = set()
    for seed, stream in ((0, 0), (0, 1), (1, 0)):  # (0, 1) is not (1, 0)
        search = GeneticSearch(problem, seed, stream, initial=3)
        make_solutions(search, 3)
        costs.add(search.best_cost)
    assert len(costs) == 3


def test_a_seed_and_a_number_of_iterations_determine_the_result() -> None:
    instance = an_instance()
    at_once, in_pieces, other_seed = make_search(instance), make_search(instance), make_search(instance, seed=1)
    make_solutions(at_once, 150)
    for count in (1, 0, 49, 100):
        make_solutions(in_pieces, count)
    make_solutions(other_seed, 7)
    at_seven = make_search(instance)
    make_solutions(at_seven, 7)
    assert at_once.best_routes == in_pieces.best_routes
    assert at_seven.best_routes != other_seed.best_routes


def test_it_finds_better_solutions_than_local_search_from_savings() -> None:
    for instance in draw_paper_set(50, 3, np.random.default_rng(1)).instances():
        (descended,) = improve_by_local_search([instance], [build_by_savings(instance)])
        search = make_search(instance, initial=20)
        make_solutions(search, 300)
        assert descended.stated_cost is not None
        assert search.best_cost < descended.stated_cost


def test_it_gets_better_with_time() -> None:
    (instance,) = draw_x_set(XSettings(200), 1, np.random.default_rng(3)).instances()
    search = make_search(instance, initial=10)
    costs = []
    for _ in range(4):
        make_solutions(search, 20)
        costs.append(search.best_cost)
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]
    assert check(instance, Solution(search.best_routes, search.best_cost)) == []


def test_it_goes_on_after_it_began_anew() -> None:
    instance = an_instance()
    search = make_search(instance)
    make_solutions(search, 100)
    cost, routes = search.best_cost, search.best_routes
    search._evolution.progress["idle"] = 20_000
    make_solutions(search, 1)
    assert search._evolution.population.counts[:2].sum() <= 2
    assert (search.best_cost, search.best_routes) == (cost, routes)
    make_solutions(search, 100)
    assert search.best_cost <= cost


def test_a_halted_search_does_no_more() -> None:
    search = make_search(an_instance())
    make_solutions(search, 50)
    cost, routes, counts = search.best_cost, search.best_routes, search._evolution.population.counts.copy()
    search.halt()
    make_solutions(search, 1000)
    assert (search.best_cost, search.best_routes) == (cost, routes)
    np.testing.assert_array_equal(search._evolution.population.counts, counts)


def test_iterations_that_are_too_few_for_a_solution_count_in_the_next_run() -> None:
    search = make_search(an_instance())
    for count in (search.weight - 1, 1, search.weight // 2):
        search.run(count, NO_PACE)
    assert search._evolution.population.counts[:2].sum() in (1, 2)  # one, and perhaps its repaired twin
