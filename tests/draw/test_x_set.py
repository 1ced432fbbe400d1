from __future__ import annotations

import math
from typing import Any, get_args

import numpy as np
import pytest

from dynaroute.base.errors import OptionError
from dynaroute.draw import (
    CustomerPositions,
    DemandKind,
    DepotPosition,
    InstanceArrays,
    XSettings,
    draw_x_set,
)


def draw(count: int = 1, seed: int = 1, **settings: Any) -> InstanceArrays:
    return draw_x_set(XSettings(**({"size": 60} | settings)), count, np.random.default_rng(seed))


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
    # the density 2^(-r / 40) in the plane has mean radius 80 / ln 2, and 15.3 % within 40
    rows = draw(300, size=100, customers="clustered", cluster_seeds=1).locations
    inner = rows[((rows[:, 0] > 350) & (rows[:, 0] < 650)).all(axis=1)]  # the seed comes first; far from the border
    radius = np.linalg.norm(inner[:, 1:] - inner[:, :1], axis=2)
    assert len(inner) > 10
    assert radius.mean() == pytest.approx(80 / math.log(2), rel=0.05)
    assert (radius < 40).mean() == pytest.approx(1 - (1 + math.log(2)) / 2, abs=0.03)


def nearest_neighbour_mean(arrays: InstanceArrays, customers: slice) -> float:
    places = arrays.locations[0, customers]
    distances = np.linalg.norm(places[:, None] - places[None], axis=2) + np.diag([np.inf] * len(places))
    return float(distances.min(axis=1).mean())


def test_clustered_customers_lie_closer_than_uniform_ones() -> None:
    whole = slice(None)
    uniform, clustered = (draw(size=200, customers=kind) for kind in ("uniform", "clustered"))
    assert nearest_neighbour_mean(clustered, whole) < 0.75 * nearest_neighbour_mean(uniform, whole)


def test_half_of_the_mixed_customers_are_clustered() -> None:
    mixed = draw(size=400, customers="mixed")
    assert nearest_neighbour_mean(mixed, slice(200, 400)) < 0.75 * nearest_neighbour_mean(mixed, slice(0, 200))


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


def test_most_demands_are_small_and_one_and_a_half_a_route_are_large() -> None:
    demands = draw(50, size=400, demands="many-small", route_length=10).demands
    small = demands <= 10
    assert demands[~small].min() >= 50
    assert demands.max() <= 100
    assert small.mean() == pytest.approx(1 - 1.5 / 10, abs=0.02)


@pytest.mark.parametrize("route_length", [1, 3.7, 25])
def test_the_capacity_follows_from_the_route_length(route_length: float) -> None:
    arrays = draw(5, demands="1-10", route_length=route_length)
    fitted = [math.ceil(route_length * int(row.sum()) / 60) for row in arrays.demands]
    assert arrays.capacity.tolist() == [max(*pair) for pair in zip(fitted, arrays.demands.max(axis=1), strict=True)]


def test_a_route_length_is_drawn_if_none_is_given() -> None:
    capacity = draw(200).capacity  # of unit demands: r, rounded down
    assert capacity.min() >= 3
    assert capacity.max() <= 24
    assert capacity.mean() == pytest.approx((3 + 6 + 25) / 3 - 0.5, abs=1)


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
        ("cluster_seeds", 33),
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
