from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from policies import draw_batch, draw_instances
from strategies import instances

from dynaroute.base.errors import InstanceError, UnsupportedError
from dynaroute.batch import InstanceBatch
from dynaroute.draw import draw_paper_set
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance

LOCATED = instances(placements=st.sampled_from(("plane", "globe", "matrix and plane", "matrix and globe")))


@given(st.lists(LOCATED, min_size=1, max_size=4))
def test_every_instance_is_seen_in_the_unit_square(several: list[Instance]) -> None:
    batch = InstanceBatch.from_instances(several)
    assert len(batch) == len(several)
    assert batch.nodes == max(instance.size for instance in several) + 1
    assert batch.sizes.tolist() == [instance.size for instance in several]
    assert bool(((batch.locations >= 0) & (batch.locations <= 1)).all())
    for index, instance in enumerate(several):
        assert batch.demands[index, : instance.size + 1].tolist() == instance.demands.tolist()
        assert batch.is_customer[index].nonzero().squeeze(1).tolist() == list(range(1, instance.size + 1))
        assert not bool(batch.demands[index, instance.size + 1 :].any())


def locations_of(coordinates: list[list[float]], metric: Any = "euclidean") -> list[list[float]]:
    demands = np.array([0, *[1] * (len(coordinates) - 1)])
    batch = InstanceBatch.from_instances([Instance(np.array(coordinates), demands, 1, metric=metric)])
    found: list[list[float]] = batch.locations[0].tolist()
    return found


def test_places_in_the_unit_square_stay_where_they_are() -> None:
    places = [[0.2, 0.3], [0.4, 0.5], [0.1, 0.9]]
    assert locations_of(places) == places


def test_places_close_together_in_the_unit_square_are_spread_out() -> None:
    assert locations_of([[0.5, 0.25], [0.5078125, 0.25], [0.5, 0.25390625]]) == [[0, 0], [1, 0], [0, 0.5]]


def test_other_places_are_scaled_alike_on_both_axes() -> None:
    assert locations_of([[10, 100], [20, 100], [10, 105]]) == [[0, 0], [1, 0], [0, 0.5]]


def test_one_place_for_all_is_no_division_by_zero() -> None:
    assert locations_of([[7, 7], [7, 7]]) == [[0, 0], [0, 0]]


@pytest.mark.parametrize("corner", [0, 1, 2])
def test_places_on_the_globe_fill_the_square_wherever_the_depot_is(corner: int) -> None:
    town = np.array([[50.0, 8.0], [50.001, 8.0], [50.0, 8.001]])
    found = np.array(locations_of(np.roll(town, corner, axis=0).tolist(), "great_circle"))
    assert found.min() == 0
    assert found.max() == 1


def test_degrees_of_longitude_shrink_with_the_latitude() -> None:
    (_, _), (_, north), (east, _) = locations_of([[60.0, 8.0], [60.001, 8.0], [60.0, 8.002]], "great_circle")
    assert east == pytest.approx(north, rel=1e-3)


def test_neighbours_across_the_date_line_are_neighbours() -> None:
    west, east, far = locations_of([[0, 179.9], [0, -179.9], [10, 179.9]], "great_circle")
    assert abs(west[0] - east[0]) < 0.05 < abs(west[1] - far[1])


def test_arrays_and_instances_make_the_same_batch() -> None:
    arrays = draw_paper_set(7, 5, np.random.default_rng(0))
    one = InstanceBatch.from_arrays(arrays.depot, arrays.locations, arrays.demands, arrays.capacity)
    other = InstanceBatch.from_instances(arrays.instances())
    for name in ("locations", "demands", "capacity", "sizes", "keys", "coordinates", "rounding"):
        left, right = getattr(one, name), getattr(other, name)
        assert left.dtype == right.dtype
        assert torch.equal(left, right), name
    assert one.distances is None
    assert other.distances is None


def test_one_capacity_serves_all() -> None:
    arrays = draw_paper_set(4, 3, np.random.default_rng(0), capacity=20)
    batch = InstanceBatch.from_arrays(arrays.depot, arrays.locations, arrays.demands, 20)
    assert batch.capacity.tolist() == [20, 20, 20]


DEPOT, CUSTOMERS, DEMANDS = np.zeros((2, 2)), np.ones((2, 3, 2)), np.ones((2, 3), dtype=np.int64)


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("depot", (DEPOT[0], CUSTOMERS, DEMANDS, 3)),
        ("depot", (DEPOT[:1], CUSTOMERS, DEMANDS, 3)),
        ("depot", (np.zeros((2, 3)), CUSTOMERS, DEMANDS, 3)),
        ("customers", (DEPOT, CUSTOMERS[0], DEMANDS, 3)),
        ("customers", (DEPOT, np.ones((2, 3, 3)), DEMANDS, 3)),
        ("customers", (DEPOT, np.ones((2, 0, 2)), DEMANDS[:, :0], 3)),
        ("customers", (DEPOT, [["a"]], DEMANDS, 3)),
        ("customers", (DEPOT, [[[1, 2]], [[1, 2], [3, 4]]], DEMANDS, 3)),
        ("coordinates", (DEPOT, CUSTOMERS * np.nan, DEMANDS, 3)),
        ("coordinates", (DEPOT, CUSTOMERS * np.inf, DEMANDS, 3)),
        ("coordinates", (DEPOT, CUSTOMERS * 1e300, DEMANDS, 3)),
        ("demands", (DEPOT, CUSTOMERS, DEMANDS[0], 3)),
        ("demands", (DEPOT, CUSTOMERS, DEMANDS[:1], 3)),
        ("demands", (DEPOT, CUSTOMERS, DEMANDS[:, :2], 3)),
        ("demands", (DEPOT, CUSTOMERS, DEMANDS * 0.5, 3)),
        ("demands", (DEPOT, CUSTOMERS, -DEMANDS, 3)),
        ("demands", (DEPOT, CUSTOMERS, 4 * DEMANDS, 3)),
        ("demands", (DEPOT, CUSTOMERS, DEMANDS * np.nan, 3)),
        ("capacity", (DEPOT, CUSTOMERS, DEMANDS, [3, 3, 3])),
        ("capacity", (DEPOT, CUSTOMERS, DEMANDS, 0)),
        ("capacity", (DEPOT, CUSTOMERS, DEMANDS, 3.5)),
        ("capacity", (DEPOT, CUSTOMERS, DEMANDS, 2**31)),
        ("capacity", (DEPOT, CUSTOMERS, DEMANDS, float("nan"))),
        ("capacity", (DEPOT, CUSTOMERS, DEMANDS, "many")),
    ],
)
def test_faulty_arrays_are_refused_by_field(field: str, arguments: tuple[Any, Any, Any, Any]) -> None:
    with pytest.raises(InstanceError) as caught:
        InstanceBatch.from_arrays(*arguments)
    assert caught.value.where.field == field
    assert caught.value.remedy


def test_no_instance_makes_no_batch() -> None:
    with pytest.raises(InstanceError, match="there is no instance"):
        InstanceBatch.from_instances([])


def test_an_instance_without_coordinates_is_named() -> None:
    matrix = Instance(None, np.array([0, 1]), 1, name="roads", distances=np.array([[0.0, 1.0], [1.0, 0.0]]))
    with pytest.raises(InstanceError, match="roads has no coordinates"):
        InstanceBatch.from_instances([*draw_instances(3), matrix])


# Parts of a batch


def test_features_are_position_and_demand_over_capacity() -> None:
    batch = draw_batch(3, 5, capacity=20)
    instance, node = torch.tensor([1, 0, 1]), torch.tensor([5, 0, 2])
    features = batch.features(instance, node, torch.float64)
    assert torch.equal(features[:, :2], batch.locations[instance, node].double())
    assert features[:, 2].tolist() == [int(batch.demands[1, 5]) / 20, 0.0, int(batch.demands[1, 2]) / 20]


def test_some_instances_are_taken_in_the_given_order() -> None:
    batch = draw_batch(3, 6, 9)
    some = batch[torch.tensor([2, 0])]
    assert some.sizes.tolist() == [9, 3]
    assert some.keys.tolist() == batch.keys[[2, 0]].tolist()
    assert len(batch[1:]) == 2


def test_each_instance_is_repeated_in_a_row() -> None:
    assert draw_batch(3, 6).repeat_each(3).sizes.tolist() == [3, 3, 3, 6, 6, 6]


def test_fleets_are_refused_since_no_policy_knows_them() -> None:
    places, demands = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([0, 1])
    fleet = Instance(places, demands, 5, vehicles=(VehicleType(5, count=1),))
    with pytest.raises(UnsupportedError, match="which policies do not support"):
        InstanceBatch.from_instances([fleet])
