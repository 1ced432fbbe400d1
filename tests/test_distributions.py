from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest

from dynaroute.distributions import (
    CustomerPositions,
    DemandKind,
    DepotPosition,
    InstanceArrays,
    XSettings,
    draw_paper_set,
    draw_published_set,
    draw_x_set,
    published_set,
    usual_capacity,
)
from dynaroute.errors import InstanceError, OptionError


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def draw(count: int = 1, seed: int = 1, **settings: Any) -> InstanceArrays:
    return draw_x_set(XSettings(**({"size": 60} | settings)), count, generator(seed))


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


# Arrays to instances


def test_each_row_becomes_an_instance() -> None:
    arrays = draw_paper_set(7, 3, generator())
    made = arrays.instances()
    assert len(arrays) == len(made) == 3
    for row, instance in enumerate(made):
        assert instance.coordinates is not None
        assert instance.size == arrays.size == 7
        assert (instance.coordinates[0] == arrays.depot[row]).all()
        assert (instance.coordinates[1:] == arrays.locations[row]).all()
        assert instance.demands.tolist() == [0, *arrays.demands[row]]
        assert instance.capacity == arrays.capacity[row]
        assert instance.rounding == "none"


@pytest.mark.parametrize(
    ("field", "shape"),
    [("depot", (2, 2)), ("depot", (3, 3)), ("locations", (3, 6, 2)), ("capacity", (3, 1)), ("demands", (21,))],
)
def test_arrays_that_do_not_belong_together_are_refused(field: str, shape: tuple[int, ...]) -> None:
    parts = {"depot": (3, 2), "locations": (3, 7, 2), "demands": (3, 7), "capacity": (3,)} | {field: shape}
    with pytest.raises(InstanceError) as caught:
        InstanceArrays(**{name: np.ones(size, dtype=np.int64) for name, size in parts.items()})  # type: ignore[arg-type]
    assert caught.value.where.field == field


# The X set


@pytest.mark.parametrize("customers", get_args(CustomerPositions))
@pytest.mark.parametrize("depot", get_args(DepotPosition))
@pytest.mark.parametrize("demands", get_args(DemandKind))
def test_every_combination_makes_sound_instances(
    customers: CustomerPositions, depot: DepotPosition, demands: DemandKind
) -> None:
    for size in (1, 2, 30):
        for instance in draw(2, size=size, customers=customers, depot=depot, demands=demands).instances():
            assert instance.coordinates is not None
            assert instance.rounding == "nearest"
            assert (instance.coordinates == np.rint(instance.coordinates)).all()
            assert instance.coordinates.min() >= 0
            assert instance.coordinates.max() <= 1000


@pytest.mark.parametrize(("depot", "place"), [("centre", [500, 500]), ("corner", [0, 0])])
def test_the_depot_stands_where_it_is_asked_for(depot: DepotPosition, place: list[int]) -> None:
    assert draw(3, depot=depot).depot.tolist() == [place] * 3


def test_random_depots_differ() -> None:
    assert len(np.unique(draw(20, depot="random").depot, axis=0)) == 20


@pytest.mark.parametrize("customers", get_args(CustomerPositions))
def test_no_two_nodes_share_a_place(customers: CustomerPositions) -> None:
    arrays = draw(size=3000, customers=customers, cluster_seeds=1)
    assert len(np.unique(np.concatenate([arrays.depot, arrays.locations[0]]), axis=0)) == 3001


def test_clusters_fall_off_with_the_distance_from_their_seed() -> None:
    # the density exp(-r / 40) in the plane has mean radius 80 and 26.4 % within 40
    rows = draw(300, size=100, customers="clustered", cluster_seeds=1).locations
    inner = rows[((rows[:, 0] > 350) & (rows[:, 0] < 650)).all(axis=1)]  # the seed comes first; far from the border
    radius = np.linalg.norm(inner[:, 1:] - inner[:, :1], axis=2)
    assert len(inner) > 10
    assert radius.mean() == pytest.approx(80, rel=0.05)
    assert (radius < 40).mean() == pytest.approx(1 - 2 / math.e, abs=0.03)


def nearest_neighbour_mean(arrays: InstanceArrays, customers: slice) -> float:
    places = arrays.locations[0, customers]
    distances = np.linalg.norm(places[:, None] - places[None], axis=2) + np.diag([np.inf] * len(places))
    return float(distances.min(axis=1).mean())


def test_clustered_customers_lie_closer_than_uniform_ones() -> None:
    whole = slice(None)
    uniform, clustered = (draw(size=200, customers=kind) for kind in ("uniform", "clustered"))
    assert nearest_neighbour_mean(clustered, whole) < 0.6 * nearest_neighbour_mean(uniform, whole)


def test_half_of_the_mixed_customers_are_clustered() -> None:
    mixed = draw(size=400, customers="mixed")
    assert nearest_neighbour_mean(mixed, slice(200, 400)) < 0.6 * nearest_neighbour_mean(mixed, slice(0, 200))


@pytest.mark.parametrize(
    ("kind", "lowest", "highest"),
    [("unitary", 1, 1), ("1-10", 1, 10), ("5-10", 5, 10), ("1-100", 1, 100), ("50-100", 50, 100)],
)
def test_demands_fill_their_range(kind: DemandKind, lowest: int, highest: int) -> None:
    demands = draw(size=5000, demands=kind).demands
    assert sorted(set(demands.flat)) == list(range(lowest, highest + 1))


def test_demands_by_quadrant_are_large_lower_left_and_upper_right() -> None:
    arrays = draw(size=5000, demands="quadrant")
    right, upper = (arrays.locations[0] >= 500).T
    demands = arrays.demands[0]
    assert sorted(set(demands[right == upper])) == list(range(51, 101))
    assert sorted(set(demands[right != upper])) == list(range(1, 51))


def test_most_demands_are_small_and_a_few_large() -> None:
    demands = draw(50, size=400, demands="many-small").demands
    small = demands <= 10
    assert demands[~small].min() >= 50
    assert demands.max() <= 100
    assert small.mean(axis=1).min() > 0.60
    assert small.mean(axis=1).max() < 0.99
    assert small.mean() == pytest.approx((0.70 + 0.95) / 2, abs=0.03)


@pytest.mark.parametrize("route_length", [1, 3.7, 25])
def test_the_capacity_follows_from_the_route_length(route_length: float) -> None:
    arrays = draw(5, demands="1-10", route_length=route_length)
    fitted = [math.ceil(route_length * int(row.sum()) / 60) for row in arrays.demands]
    assert arrays.capacity.tolist() == [max(*pair) for pair in zip(fitted, arrays.demands.max(axis=1), strict=True)]


def test_a_route_length_is_drawn_if_none_is_given() -> None:
    capacity = draw(200).capacity  # of unit demands: r, rounded up
    assert capacity.min() >= 4
    assert capacity.max() <= 25
    assert capacity.mean() == pytest.approx((3 + 6 + 25) / 3 + 0.5, abs=1)


def test_the_same_state_gives_the_same_x_set() -> None:
    one, same = (draw(2, seed=3, customers="mixed", depot="random", demands="many-small") for _ in range(2))
    assert (one.locations == same.locations).all()
    assert (one.capacity == same.capacity).all()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("size", 0),
        ("size", 100_001),
        ("customers", "round"),
        ("depot", "middle"),
        ("demands", "heavy"),
        ("route_length", 0.5),
        ("route_length", math.nan),
        ("route_length", math.inf),
        ("cluster_seeds", 0),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(field: str, value: Any) -> None:
    with pytest.raises(OptionError) as caught:
        XSettings(**({"size": 60} | {field: value}))
    assert caught.value.where.field == field
    assert caught.value.remedy


def test_an_empty_x_set_is_refused() -> None:
    with pytest.raises(OptionError, match="count"):
        draw(0)


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
