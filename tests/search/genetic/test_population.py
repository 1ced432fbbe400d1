from __future__ import annotations

import numpy as np
import pytest

from dynaroute.problem.solution import Solution
from dynaroute.search.core.paths import longest_path, write_path
from dynaroute.search.core.random_numbers import make_random_state
from dynaroute.search.genetic.population import (
    FEASIBLE,
    OVERLOADED,
    Population,
    add_individual,
    draw_parent,
    empty,
    make_population,
    reprice,
)

SIZE = 12


def add(population: Population, routes: tuple[tuple[int, ...], ...], length: float, excess: int = 0) -> None:
    path = np.zeros(longest_path(SIZE), dtype=np.int32)
    stops = write_path(Solution(routes))
    path[: len(stops)] = stops
    add_individual(path, length, excess, 1.0, population)


def add_many(population: Population, count: int, excess: int = 0) -> list[float]:
    """Add random solutions with random lengths, and say these."""
    generator = np.random.default_rng(7)
    lengths: list[float] = generator.uniform(10, 20, count).tolist()
    for length in lengths:
        order = tuple((generator.permutation(SIZE) + 1).tolist())
        add(population, (order[:5], order[5:]), length, excess)
    return lengths


def lengths_of(population: Population, half: int) -> list[float]:
    members = population.members[half, : population.counts[half]]
    lengths: list[float] = population.individuals["length"][members].tolist()
    return lengths


def test_members_are_sorted_by_cost_in_their_half() -> None:
    population = make_population(SIZE)
    feasible, overloaded = add_many(population, 20), add_many(population, 10, excess=2)
    assert lengths_of(population, FEASIBLE) == sorted(feasible)
    assert lengths_of(population, OVERLOADED) == sorted(overloaded)


def test_a_half_never_outgrows_its_places_and_keeps_its_best() -> None:
    population = make_population(SIZE)
    lengths = add_many(population, 500)
    kept = lengths_of(population, FEASIBLE)
    assert 25 <= len(kept) <= 65
    assert kept[0] == min(lengths)
    assert population.counts.sum() == len(population.free)
    free = population.free[: population.counts[2]].tolist()
    assert not set(free) & set(population.members[FEASIBLE, : len(kept)].tolist())


def test_clones_go_first() -> None:
    population = make_population(SIZE)
    routes = (tuple(range(1, SIZE + 1)),)
    for _ in range(30):
        add(population, routes, 10.0)  # the best of all, thirty times
    add_many(population, 36)
    assert lengths_of(population, FEASIBLE).count(10.0) == 1


def test_a_solution_differs_by_the_legs_it_does_not_share() -> None:
    population = make_population(SIZE)
    order = tuple(range(1, SIZE + 1))
    add(population, (order,), 1.0)
    add(population, (order[::-1],), 2.0)  # the same legs
    add(population, (order[:6], order[6:]), 3.0)  # 6 to 7 is gone, and 7 begins a route
    first, second, third = population.members[FEASIBLE, :3]
    assert population.differences[first, second] == 0
    assert population.differences[third, first] == pytest.approx(2 / SIZE)
    assert population.individuals["is_clone"][[first, second, third]].tolist() == [True, True, False]


def test_the_fittest_is_cheap_and_different() -> None:
    population = make_population(SIZE)
    add_many(population, 30)
    random = make_random_state(1)
    drawn = [draw_parent(random, population) for _ in range(2000)]
    members = population.members[FEASIBLE, :30].tolist()
    assert np.mean([members.index(parent) for parent in drawn]) < 13  # 14.5 if cost did not count
    assert set(drawn) > set(members[:5])


def test_a_new_price_sorts_the_overloaded_anew() -> None:
    population = make_population(SIZE)
    add(population, (tuple(range(1, SIZE + 1)),), 10.0, excess=9)
    add(population, ((1, 2), tuple(range(3, SIZE + 1))), 15.0, excess=1)
    assert lengths_of(population, OVERLOADED) == [15.0, 10.0]
    reprice(0.1, population)
    assert lengths_of(population, OVERLOADED) == [10.0, 15.0]


def test_an_emptied_population_has_all_its_places_again() -> None:
    population = make_population(SIZE)
    add_many(population, 40)
    add_many(population, 40, excess=1)
    empty(population)
    assert population.counts.tolist() == [0, 0, len(population.free)]
    assert sorted(population.free) == list(range(len(population.free)))
