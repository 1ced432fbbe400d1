from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from policies import draw_batch, draw_instances
from strategies import instances, solutions_of

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.distributions import draw_paper_set
from dynaroute.errors import InstanceError, SolutionError
from dynaroute.instance import Instance
from dynaroute.lengths import Rounding
from dynaroute.solution import Solution, check, recompute_cost

LOCATED = instances(placements=st.sampled_from(("plane", "globe", "matrix and plane", "matrix and globe")))


# Instances


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


# Random streams


def test_an_instances_stream_does_not_depend_on_its_neighbours() -> None:
    small, large = draw_instances(3, 30)
    alone = InstanceBatch.from_instances([small]).keys
    assert InstanceBatch.from_instances([large, small]).keys[1:].tolist() == alone.tolist()


def test_what_an_instance_holds_names_its_stream() -> None:
    places, demands = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 5.0]]), np.array([0, 1, 2])
    several = [
        Instance(places, demands, 5),
        Instance(places[[0, 2, 1]], demands, 5),
        Instance(places, demands[[0, 2, 1]], 5),
        Instance(places, demands, 6),
        Instance(places[:, ::-1], demands, 5),
        Instance(places + 1e-9, demands, 5),
        Instance(places, demands, 5, metric="great_circle"),
        Instance(np.vstack([places, [[0.0, 0.0]]]), np.append(demands, 0), 5),  # all zeros, but not padding
    ]
    keys = InstanceBatch.from_instances(several).keys
    assert len(set(keys.tolist())) == len(several)
    assert int(keys.min()) >= 0


def test_names_and_signs_of_zero_do_not_change_the_stream() -> None:
    one = Instance(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([0, 1]), 5)
    other = Instance(np.array([[-0.0, 0.0], [1.0, -0.0]]), np.array([0, 1]), 5, name="again", customer_names=("a",))
    keys = InstanceBatch.from_instances([one, other]).keys
    assert int(keys[0]) == int(keys[1])


def test_many_random_instances_have_distinct_streams() -> None:
    arrays = draw_paper_set(5, 20_000, np.random.default_rng(0))
    batch = InstanceBatch.from_arrays(arrays.depot, arrays.locations, arrays.demands, arrays.capacity)
    assert len(set(batch.keys.tolist())) == 20_000


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


# Solutions


@given(st.lists(LOCATED, min_size=1, max_size=4), st.data())
def test_lengths_are_those_of_the_independent_judge(several: list[Instance], data: st.DataObject) -> None:
    solutions = [data.draw(solutions_of(instance)) for instance in several]
    batch = InstanceBatch.from_instances(several)
    lengths = RouteBatch.from_solutions(solutions, batch).lengths(batch).tolist()
    for instance, solution, length in zip(several, solutions, lengths, strict=True):
        assert length == pytest.approx(recompute_cost(instance, solution), rel=1e-12, abs=1e-9)


def test_legs_are_rounded_one_by_one_and_each_instance_by_its_own_rule() -> None:
    roundings: tuple[Rounding, ...] = ("none", "nearest", "up")
    corner = np.array([[0, 0], [1, 1], [0, 1]])
    batch = InstanceBatch.from_instances(
        [Instance(corner, np.array([0, 1, 1]), 2, rounding=rounding) for rounding in roundings]
    )
    routes = RouteBatch.from_solutions([Solution(((1, 2),))] * 3, batch)
    assert routes.lengths(batch).tolist() == [2**0.5 + 2, 3, 4]


def test_halves_are_rounded_up() -> None:
    instance = Instance(np.array([[0, 0], [2.5, 0]]), np.array([0, 1]), 1, rounding="nearest")
    batch = InstanceBatch.from_instances([instance])
    assert RouteBatch.from_solutions([Solution(((1,),))], batch).lengths(batch).tolist() == [6]


@given(st.lists(LOCATED, min_size=1, max_size=4), st.data())
def test_solutions_come_back_from_tensors_with_their_cost(several: list[Instance], data: st.DataObject) -> None:
    solutions = [data.draw(solutions_of(instance)) for instance in several]
    batch = InstanceBatch.from_instances(several)
    returned = RouteBatch.from_solutions(solutions, batch).to_solutions(batch)
    for instance, solution, back in zip(several, solutions, returned, strict=True):
        assert back.routes == solution.routes
        assert back.stated_cost is not None
        assert check(instance, back) == []


def test_visits_are_listed_route_by_route_and_padded_with_the_depot() -> None:
    batch = draw_batch(4, 2)
    routes = RouteBatch.from_solutions([Solution(((3, 1), (4, 2))), Solution(((2,), (1,)))], batch)
    assert routes.visits().tolist() == [[3, 1, 4, 2], [2, 1, 0, 0]]


@pytest.mark.parametrize(
    "routes",
    [
        ((1, 2),),
        ((1, 2, 3), (2,)),
        ((1, 2, 3, 3),),
        ((1, 2, 4),),
        ((1, 2, 99),),
        ((1, 2, -1),),
        ((0, 1, 2, 3),),
        (),
    ],
)
def test_a_solution_that_does_not_visit_each_customer_once_is_refused(routes: tuple[tuple[int, ...], ...]) -> None:
    batch = draw_batch(5, 3)
    with pytest.raises(SolutionError, match="solution 2 does not visit each customer once"):
        RouteBatch.from_solutions([Solution(((1, 2, 3, 4, 5),)), Solution(routes)], batch)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_there_is_one_solution_for_each_instance(count: int) -> None:
    with pytest.raises(SolutionError, match=f"{count} solutions for 2 instances"):
        RouteBatch.from_solutions([Solution(((1, 2, 3),))] * count, draw_batch(3, 3))
