from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dynaroute.base.errors import OptionError
from dynaroute.draw import draw_paper_set, draw_published_set, published_set, usual_capacity


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


# The published sets

FINGERPRINTS = [
    (20, 30, [5, 3, 5, 8, 5, 1, 8, 4, 2, 3], 999_780),
    (50, 40, [9, 2, 7, 5, 7, 6, 6, 4, 5, 6], 2_500_179),
    (100, 50, [1, 3, 1, 4, 4, 1, 6, 3, 6, 2], 5_000_827),
]


@pytest.mark.parametrize(("size", "capacity", "first_demands", "total"), FINGERPRINTS)
def test_the_published_test_sets_are_repeated_draw_for_draw(
    size: int, capacity: int, first_demands: list[int], total: int
) -> None:
    arrays = draw_published_set(size)
    assert arrays.locations.shape == (10_000, size, 2)
    assert arrays.depot[0] == pytest.approx((0.19151945, 0.62210877), abs=5e-9)
    assert arrays.locations[0, 0] == pytest.approx((0.55426939, 0.18097824), abs=5e-9)
    assert arrays.demands[0, :10].tolist() == first_demands
    assert arrays.demands.sum() == total
    assert set(arrays.capacity.tolist()) == {capacity}


def test_another_seed_gives_another_published_set() -> None:
    assert (draw_published_set(20, 5, seed=4321).depot != draw_published_set(20, 5).depot).any()


def test_a_published_set_can_have_another_capacity() -> None:
    arrays = draw_published_set(20, 5, capacity=77)
    assert arrays.capacity.tolist() == [77] * 5
    assert (arrays.demands == draw_published_set(20, 5).demands).all()


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_the_old_generator_cannot_take_is_refused(seed: int) -> None:
    with pytest.raises(OptionError) as caught:
        draw_published_set(20, 5, seed=seed)
    assert caught.value.where.field == "seed"


@pytest.mark.parametrize(
    ("size", "count", "capacity", "total", "first"),
    [
        (200, 128, 80, 128084, [4, 5, 5, 4, 3, 1]),
        (500, 128, 100, 319479, [3, 6, 1, 3, 2, 5]),
        (1000, 100, 200, 501330, [5, 8, 3, 5, 6, 6]),
    ],
)
def test_the_published_sets_of_larger_sizes_are_the_published_ones(
    size: int, count: int, capacity: int, total: int, first: list[int]
) -> None:
    drawn = draw_published_set(size)
    assert len(drawn) == count
    assert set(drawn.capacity.tolist()) == {capacity}
    assert drawn.demands.sum() == total
    assert drawn.demands[0, :6].tolist() == first


def test_other_sizes_are_drawn_with_usual_counts_and_capacities() -> None:
    assert published_set(30).count == 10_000
    assert published_set(30).capacity == usual_capacity(30)
    assert draw_published_set(200, 5, capacity=70).capacity.tolist() == [70] * 5


# The paper's distribution


def test_the_paper_draws_from_the_unit_square_and_one_to_nine() -> None:
    arrays = draw_paper_set(50, 200, generator())
    positions = np.concatenate([arrays.depot, arrays.locations.reshape(-1, 2)])
    assert positions.min() >= 0
    assert positions.max() < 1
    assert positions.mean(axis=0) == pytest.approx((0.5, 0.5), abs=0.01)
    assert sorted(set(arrays.demands.flat)) == list(range(1, 10))


def test_the_same_generator_state_gives_the_same_set() -> None:
    one, same = (draw_paper_set(7, 3, generator(5)) for _ in range(2))
    assert (one.locations == same.locations).all()
    assert (one.demands == same.demands).all()


def test_a_generator_moves_on_from_set_to_set() -> None:
    source = generator()
    assert (draw_paper_set(7, 3, source).locations != draw_paper_set(7, 3, source).locations).any()


@pytest.mark.parametrize(
    ("size", "capacity"),
    [(1, 20), (10, 20), (15, 25), (20, 30), (30, 33), (40, 37), (50, 40), (75, 45), (100, 50), (200, 70), (1000, 150)],
)
def test_capacities_go_through_those_of_the_literature(size: int, capacity: int) -> None:
    assert usual_capacity(size) == capacity


def test_capacities_keep_growing_past_the_largest_size() -> None:
    assert [usual_capacity(size) for size in (1000, 1009, 1010, 5000)] == [150, 150, 151, 550]


def test_the_usual_capacity_is_taken_if_none_is_given() -> None:
    assert draw_paper_set(40, 2, generator()).capacity.tolist() == [37, 37]


@pytest.mark.parametrize("capacity", [9, 1000, 2**31 - 1])
def test_any_capacity_that_holds_a_customer_is_taken(capacity: int) -> None:
    assert draw_paper_set(40, 2, generator(), capacity).instances()[0].capacity == capacity


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("size", {"size": 0}),
        ("size", {"size": -1}),
        ("count", {"count": 0}),
        ("count", {"count": 10**9}),
        ("capacity", {"capacity": 8}),
        ("capacity", {"capacity": 2**31}),
    ],
)
def test_a_set_that_makes_no_sense_is_refused(field: str, arguments: dict[str, Any]) -> None:
    measures = {"size": 5, "count": 5} | arguments
    recipes: list[Callable[[], object]] = [
        lambda: draw_paper_set(**measures, generator=generator()),
        lambda: draw_published_set(**measures),
    ]
    for recipe in recipes:
        with pytest.raises(OptionError) as caught:
            recipe()
        assert caught.value.where.field == field
        assert caught.value.remedy
