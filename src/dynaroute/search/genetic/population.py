"""A population of solutions in two halves, feasible and overloaded (Vidal 2022).

Survivors and parents are chosen by rank in cost and rank in difference from the others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynaroute.search.core.compiled import compiled_inline
from dynaroute.search.core.paths import Path
from dynaroute.search.core.random_numbers import RandomState, draw_below

FEASIBLE, OVERLOADED = 0, 1
_FEWEST = 25  # survivors in each half
_GENERATION = 40  # additions to a half before the least fit are removed
_ELITE = 4  # best of a half that always survive
_CLOSE = 5  # nearest others that difference is measured to
_SLOTS = 2 * (_FEWEST + _GENERATION) + 1

_INDIVIDUAL = np.dtype(
    [
        ("length", np.float64),
        ("excess", np.int64),
        ("cost", np.float64),  # length plus penalty
        ("difference", np.float64),  # from the nearest others of its half
        ("fitness", np.float64),  # lower is fitter
        ("is_clone", np.bool_),  # of another of its half
    ]
)


class Population(NamedTuple):
    """A population of up to S solutions.

    Attributes
    ----------
    tours
        (S, n) customers in the order of their routes.
    before, after
        (S, M) the stop before and after each customer; 0 is the depot.
    individuals
        (S,) records.
    differences
        (S, S) share of legs in which two members of a half differ.
    members
        (2, S) solutions of each half, cheapest first.
    free
        (S,) a stack of free slots.
    counts
        (3,) size of each half, and height of the stack.
    order
        (S,) memory for sorting.
    """

    tours: NDArray[np.int32]
    before: NDArray[np.int32]
    after: NDArray[np.int32]
    individuals: NDArray[Any]
    differences: NDArray[np.float64]
    members: NDArray[np.int32]
    free: NDArray[np.int32]
    counts: NDArray[np.int64]
    order: NDArray[np.int32]


def make_population(size: int) -> Population:
    """Make an empty population."""
    return Population(
        tours=np.zeros((_SLOTS, size), dtype=np.int32),
        before=np.zeros((_SLOTS, size + 1), dtype=np.int32),
        after=np.zeros((_SLOTS, size + 1), dtype=np.int32),
        individuals=np.zeros(_SLOTS, dtype=_INDIVIDUAL),
        differences=np.zeros((_SLOTS, _SLOTS)),
        members=np.zeros((2, _SLOTS), dtype=np.int32),
        free=np.arange(_SLOTS, dtype=np.int32),
        counts=np.array([0, 0, _SLOTS]),
        order=np.zeros(_SLOTS, dtype=np.int32),
    )


@compiled_inline
def add_individual(path: Path, length: float, excess: int, penalty: float, population: Population) -> None:
    """Add a solution; if its half gets too large, remove the least fit."""
    half = FEASIBLE if excess == 0 else OVERLOADED
    counts = population.counts
    counts[2] -= 1
    slot = population.free[counts[2]]
    individual = population.individuals[slot]
    individual.length = length
    individual.excess = excess
    individual.cost = length + excess * penalty
    _write_stops(path, slot, population)
    for rank in range(counts[half]):
        other = population.members[half, rank]
        difference = _compare(slot, other, population)
        population.differences[slot, other] = difference
        population.differences[other, slot] = difference
    counts[half] += 1
    _sift(half, counts[half] - 1, slot, population)
    if counts[half] > _FEWEST + _GENERATION:
        while counts[half] > _FEWEST:
            rank_fitness(half, population)
            _remove_least_fit(half, population)
    rank_fitness(half, population)


@compiled_inline
def empty(population: Population) -> None:
    """Remove all solutions."""
    for half in (FEASIBLE, OVERLOADED):
        for rank in range(population.counts[half]):
            population.free[population.counts[2]] = population.members[half, rank]
            population.counts[2] += 1
        population.counts[half] = 0


@compiled_inline
def is_empty(population: Population) -> bool:
    """Whether there is no solution."""
    return bool(population.counts[FEASIBLE] + population.counts[OVERLOADED] == 0)


@compiled_inline
def reprice(penalty: float, population: Population) -> None:
    """Recompute costs of the overloaded half with a new penalty."""
    for rank in range(population.counts[OVERLOADED]):
        slot = population.members[OVERLOADED, rank]
        individual = population.individuals[slot]
        individual.cost = individual.length + individual.excess * penalty
        _sift(OVERLOADED, rank, slot, population)
    rank_fitness(OVERLOADED, population)


@compiled_inline
def draw_parent(random: RandomState, population: Population) -> int:
    """Draw two solutions from both halves, and return the fitter."""
    one, other = _draw_any(random, population), _draw_any(random, population)
    individuals = population.individuals
    return one if individuals[one].fitness < individuals[other].fitness else other


@compiled_inline
def _draw_any(random: RandomState, population: Population) -> int:
    counts, members = population.counts, population.members
    drawn = draw_below(random, counts[FEASIBLE] + counts[OVERLOADED])
    if drawn < counts[FEASIBLE]:
        return int(members[FEASIBLE, drawn])
    return int(members[OVERLOADED, drawn - counts[FEASIBLE]])


@compiled_inline
def _write_stops(path: Path, slot: int, population: Population) -> None:
    """Write the tour, and the stops before and after each customer."""
    count, previous = 0, 0
    for index in range(len(path)):
        stop = path[index]
        if previous != 0:
            population.after[slot, previous] = stop
        if stop != 0:
            population.before[slot, stop] = previous
            population.tours[slot, count] = stop
            count += 1
        previous = stop


@compiled_inline
def _compare(one: int, other: int, population: Population) -> float:
    """Compute the share of customers whose next stop is not adjacent in the other, including route starts."""
    before, after = population.before, population.after
    size, broken = before.shape[1] - 1, 0
    for customer in range(1, size + 1):
        following, leading = after[one, customer], before[one, customer]
        other_following, other_leading = after[other, customer], before[other, customer]
        broken += following != other_following and following != other_leading
        broken += leading == 0 and other_leading != 0 and other_following != 0
    return float(broken / size)


@compiled_inline
def _sift(half: int, rank: int, slot: int, population: Population) -> None:
    """Move a member to its rank by cost."""
    members, individuals = population.members, population.individuals
    while rank > 0 and individuals[members[half, rank - 1]].cost > individuals[slot].cost:
        members[half, rank] = members[half, rank - 1]
        rank -= 1
    members[half, rank] = slot


@compiled_inline
def rank_fitness(half: int, population: Population) -> None:
    """Recompute the fitness of a half's members."""
    count, order, individuals = population.counts[half], population.order, population.individuals
    for rank in range(count):
        slot = population.members[half, rank]
        _measure_difference(slot, half, population)
        place = rank  # most different first
        while (
            place > 0
            and individuals[population.members[half, order[place - 1]]].difference < individuals[slot].difference
        ):
            order[place] = order[place - 1]
            place -= 1
        order[place] = rank
    weight = 1.0 - min(_ELITE, count) / max(count, 1)
    for place in range(count):
        slot = population.members[half, order[place]]
        individuals[slot].fitness = (order[place] + weight * place) / max(count - 1, 1)


@compiled_inline
def _measure_difference(slot: int, half: int, population: Population) -> None:
    """Measure a member's mean difference from the nearest others of its half."""
    first, second, third, fourth, fifth = 1.0, 1.0, 1.0, 1.0, 1.0
    for rank in range(population.counts[half]):
        other = population.members[half, rank]
        if other == slot:
            continue
        value = population.differences[slot, other]
        if value < fifth:
            fifth = value
            if fifth < fourth:
                fourth, fifth = fifth, fourth
            if fourth < third:
                third, fourth = fourth, third
            if third < second:
                second, third = third, second
            if second < first:
                first, second = second, first
    others = min(_CLOSE, population.counts[half] - 1)
    total = first + second + third + fourth + fifth - (_CLOSE - others)
    individual = population.individuals[slot]
    individual.difference = total / max(others, 1)
    individual.is_clone = others > 0 and first < 1e-9


@compiled_inline
def _remove_least_fit(half: int, population: Population) -> None:
    """Remove the least fit members of a half except the best; clones go first."""
    members, individuals, counts = population.members, population.individuals, population.counts
    worst_rank = 1
    for rank in range(2, counts[half]):
        one, worst = individuals[members[half, rank]], individuals[members[half, worst_rank]]
        if one.is_clone == worst.is_clone:
            if one.fitness > worst.fitness:
                worst_rank = rank
        elif one.is_clone:
            worst_rank = rank
    population.free[counts[2]] = members[half, worst_rank]
    counts[2] += 1
    counts[half] -= 1
    for rank in range(worst_rank, counts[half]):
        members[half, rank] = members[half, rank + 1]
