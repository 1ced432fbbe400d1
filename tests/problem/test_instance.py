from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, replace
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import instances

from dynaroute.base.decimals import count_decimals, scale_to_integers
from dynaroute.base.errors import InstanceError
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import LARGEST_INTEGER, Instance
from dynaroute.problem.lengths import EARTH_RADIUS_METRES

SQUARE = [[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]
MATRIX = [[0.0, 2.0, 3.0], [2.0, 0.0, 4.0], [3.0, 4.0, 0.0]]


def make(**changes: Any) -> Instance:
    fields: dict[str, Any] = {"coordinates": SQUARE, "demands": [0, 2, 3], "capacity": 5} | changes
    return Instance(**fields)


def refusal_of(**changes: Any) -> InstanceError:
    with pytest.raises(InstanceError) as caught:
        make(**changes)
    assert caught.value.remedy
    return caught.value


# Numbers as they come


@pytest.mark.parametrize("capacity", [5, 5.0, np.int8(5), np.uint64(5), np.float32(5), np.array(5)])
def test_a_whole_capacity_of_any_number_type_is_an_int(capacity: object) -> None:
    made = make(capacity=capacity).capacity
    assert made == 5
    assert type(made) is int


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, np.float16, np.float64, object])
def test_whole_demands_of_any_number_type_are_int64(dtype: type) -> None:
    demands = make(demands=np.array([0, 2, 3], dtype=dtype)).demands
    assert demands.dtype == np.int64
    assert demands.tolist() == [0, 2, 3]


def test_integer_coordinates_become_floats() -> None:
    coordinates = make(coordinates=[[0, 0], [3, 4], [10**30, 1]]).coordinates
    assert coordinates is not None
    assert coordinates.dtype == np.float64
    assert coordinates[2, 0] == 1e30


NOT_NUMBERS = [
    pytest.param("30", id="text"),
    pytest.param(b"30", id="bytes"),
    pytest.param(None, id="none"),
    pytest.param(1j, id="complex"),
    pytest.param(True, id="bool"),
    pytest.param(np.True_, id="numpy bool"),
    pytest.param(Decimal(30), id="decimal"),
    pytest.param(np.datetime64("2020-01-01"), id="date"),
    pytest.param({}, id="dict"),
    pytest.param([1, [2]], id="ragged"),
    pytest.param(object(), id="object"),
    pytest.param([], id="empty"),
    pytest.param(math.nan, id="nan"),
    pytest.param(math.inf, id="infinity"),
    pytest.param(10**400, id="huge integer"),
    pytest.param(-(10**30), id="huge negative integer"),
]


@pytest.mark.parametrize("value", NOT_NUMBERS)
def test_a_capacity_that_is_no_number_is_refused(value: object) -> None:
    assert refusal_of(capacity=value).where.field == "capacity"


@pytest.mark.parametrize("value", NOT_NUMBERS)
def test_demands_that_are_no_numbers_are_refused(value: object) -> None:
    assert refusal_of(demands=value).where.field == "demands"


@pytest.mark.parametrize("value", [value for value in NOT_NUMBERS if value.id != "none"])
def test_coordinates_that_are_no_numbers_are_refused(value: object) -> None:
    assert refusal_of(coordinates=value).where.field == "coordinates"


@pytest.mark.parametrize("value", [value for value in NOT_NUMBERS if value.id != "none"])
def test_distances_that_are_no_numbers_are_refused(value: object) -> None:
    assert refusal_of(distances=value).where.field == "distances"


@pytest.mark.parametrize("value", [value for value in NOT_NUMBERS if value.id not in ("bool", "numpy bool")])
def test_a_demand_that_is_no_number_among_others_is_refused(value: object) -> None:
    assert refusal_of(demands=[0, 2, value]).where.field == "demands"


# Capacity


@pytest.mark.parametrize("capacity", [0, -1, -(2**63), 0.5, 2**31, 2.0**31, 2**63, np.uint64(2**64 - 1), 10**30, 1e300])
def test_a_capacity_out_of_range_is_refused(capacity: float) -> None:
    assert refusal_of(capacity=capacity).where.field == "capacity"


def test_the_largest_capacity_is_kept() -> None:
    assert make(capacity=LARGEST_INTEGER).capacity == 2**31 - 1


def test_one_capacity_for_all_vehicles() -> None:
    assert "single number" in refusal_of(capacity=[5]).message


# Demands


def test_no_customer_is_refused() -> None:
    assert "no customer" in refusal_of(coordinates=[[0, 0]], demands=[0]).message


def test_one_customer_is_enough() -> None:
    assert make(coordinates=[[0, 0], [1, 1]], demands=[0, 5]).size == 1


def test_demands_in_three_dimensions_are_refused() -> None:
    assert "3 dimensions" in refusal_of(demands=[[[0, 2, 3]]]).message


@pytest.mark.parametrize("demand", [-1, -1.0, -1e300, -(2**63)])
def test_a_negative_demand_names_its_customer(demand: float) -> None:
    error = refusal_of(demands=[0, 2, demand])
    assert error.where.customer == 2
    assert "negative" in error.message


@pytest.mark.parametrize("demand", [math.nan, -math.inf, 2.5, 1e300, np.longdouble("1e400")])
def test_a_demand_that_is_not_whole_names_its_customer(demand: float) -> None:
    assert refusal_of(demands=[0, 2, demand]).where.customer == 2


def test_a_demand_of_the_depot_is_refused() -> None:
    assert "depot" in refusal_of(demands=[1, 2, 3]).message


def test_a_demand_above_the_capacity_names_its_customer() -> None:
    error = refusal_of(demands=[0, 2, 6], customer_names=("bakery", "school"))
    assert error.where.customer == 2
    assert "school" in error.message


def test_a_demand_above_the_capacity_is_shown_in_the_users_unit() -> None:
    message = refusal_of(demands=[0, 20, 65], capacity=50, demand_scale=10).message
    assert "6.5" in message
    assert "capacity 5." in message


def test_zero_demands_are_fine() -> None:
    assert make(demands=[0, 0, 0]).minimum_routes == 1


@pytest.mark.parametrize(("demands", "routes"), [([0, 2, 3], 1), ([0, 3, 3], 2), ([0, 5, 5], 2)])
def test_minimum_routes_rounds_up(demands: list[int], routes: int) -> None:
    assert make(demands=demands).minimum_routes == routes


# Coordinates and distances


@pytest.mark.parametrize("coordinates", [[[0, 0]], [[0, 0, 0]] * 3, [0, 0, 0], 0.0, [[0, 0], [1], [2, 2]]])
def test_coordinates_of_a_wrong_shape_are_refused(coordinates: object) -> None:
    assert refusal_of(coordinates=coordinates).where.field == "coordinates"


@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf, np.longdouble("1e400"), 1e151])
def test_a_position_that_cannot_be_measured_is_refused(x: float) -> None:
    assert refusal_of(coordinates=[[0, 0], [1, 1], [x, 0]]).where.field == "coordinates"


def test_a_position_that_is_not_finite_names_its_customer() -> None:
    assert refusal_of(coordinates=[[0, 0], [1, 1], [math.nan, 0]]).where.customer == 2


@pytest.mark.parametrize("place", [(90.1, 0), (-90.1, 0), (0, 180.1), (0, -180.1)])
def test_a_place_off_the_globe_names_its_customer(place: tuple[float, float]) -> None:
    assert refusal_of(coordinates=[(0, 0), place, (0, 0)], metric="great_circle").where.customer == 1


def test_neither_coordinates_nor_distances_is_refused() -> None:
    assert "neither" in refusal_of(coordinates=None).message


@pytest.mark.parametrize("entry", [-1.0, math.nan, math.inf, 1e151])
def test_a_distance_out_of_range_is_refused(entry: float) -> None:
    matrix = np.array(MATRIX)
    matrix[1, 2] = matrix[2, 1] = entry
    assert "from node 1 to node 2" in refusal_of(distances=matrix).message


def test_an_asymmetric_matrix_is_kept_from_row_to_column() -> None:
    matrix = np.array(MATRIX)
    matrix[1, 2] += 1
    instance = make(distances=matrix)
    assert not instance.is_symmetric and not instance.is_plain
    assert instance.leg_lengths(1, 2) == instance.leg_lengths(2, 1) + 1


def test_a_diagonal_above_zero_is_read_as_zero() -> None:
    assert make(distances=np.array(MATRIX) + np.diag([0, 0, 9999])) == make(distances=MATRIX)


@pytest.mark.parametrize("matrix", [[[0.0]], np.zeros((3, 2)), np.zeros((4, 4)), np.zeros(9)])
def test_a_matrix_of_a_wrong_shape_is_refused(matrix: object) -> None:
    assert "shape" in refusal_of(distances=matrix).message


# Names, scale, rules


@pytest.mark.parametrize("field", ["rounding", "metric"])
@pytest.mark.parametrize("value", ["", "NONE", None, 3, ["none"], np.array([1, 2])])
def test_an_unknown_rule_is_refused(field: str, value: object) -> None:
    assert refusal_of(**{field: value}).where.field == field


@pytest.mark.parametrize("scale", [0, -10, 2, 15, 10.0, "10", None, math.nan])
def test_a_scale_that_is_no_power_of_ten_is_refused(scale: object) -> None:
    assert refusal_of(demand_scale=scale).where.field == "demand_scale"


@pytest.mark.parametrize("name", ["two\nlines", "bell\a", None, 7, b"bytes"])
def test_a_name_that_is_not_one_line_of_text_is_refused(name: object) -> None:
    assert refusal_of(name=name).where.field == "name"


def test_a_name_loses_its_outer_spaces() -> None:
    assert make(name="  my town ").name == "my town"


@pytest.mark.parametrize(
    "names", ["ab", 7, ("a",), ("a", "b", "c"), ("a", ""), ("a", " "), ("a", "b\nc"), ("a", None), ("a", " a")]
)
def test_names_that_do_not_tell_customers_apart_are_refused(names: object) -> None:
    assert refusal_of(customer_names=names).where.field == "customer_names"


def test_customer_names_are_kept_in_order() -> None:
    instance = make(customer_names=["bakery", " school"])
    assert instance.customer_names == ("bakery", "school")
    assert instance.customer_name(2) == "school"


def test_plain_numbers_are_no_names() -> None:
    instance = make(customer_names=("1", "2"))
    assert instance.customer_names is None
    assert instance.customer_name(2) == "2"


def test_names_with_joiners_are_one_line_of_text() -> None:
    assert make(customer_names=("می‌خواهم", "b")).customer_name(1) == "می‌خواهم"


# One problem, one form


def test_a_common_power_of_ten_is_taken_out() -> None:
    instance = make(demands=[0, 200, 300], capacity=500, demand_scale=1000)
    assert instance == make(demands=[0, 2, 3], capacity=5, demand_scale=10)
    assert instance.demand_scale == 10


def test_whole_numbers_keep_their_zeros() -> None:
    assert make(demands=[0, 20, 30], capacity=50).capacity == 50


def test_loads_are_shown_in_the_users_unit() -> None:
    instance = make(demands=[0, 15, 30], capacity=50, demand_scale=10)
    assert instance.shown_demand(15) == Decimal("1.5")
    assert repr(instance) == "Instance(2 customers, capacity 5)"


def test_the_depiction_shows_the_name() -> None:
    assert repr(make(name="town")) == "Instance('town', 2 customers, capacity 5)"


def test_names_play_no_part_in_equality() -> None:
    assert make(name="one") == make(name="other")


@pytest.mark.parametrize(
    "change",
    [
        {"coordinates": [[0, 0], [3, 4], [0, 2]]},
        {"demands": [0, 2, 2]},
        {"capacity": 6},
        {"distances": MATRIX},
        {"coordinates": None, "distances": MATRIX},
        {"rounding": "up"},
        {"metric": "great_circle"},
        {"customer_names": ("a", "b")},
        {"demand_scale": 10},
    ],
    ids=lambda change: "+".join(change),
)
def test_another_problem_is_not_equal(change: dict[str, Any]) -> None:
    assert make(**change) != make()


def test_an_instance_is_not_equal_to_something_else() -> None:
    assert make() != "instance"


@given(instances())
def test_a_copy_is_equal_and_hashes_alike(instance: Instance) -> None:
    copy = replace(instance, name="copy")
    assert copy == instance
    assert hash(copy) == hash(instance)


def test_fields_cannot_be_set() -> None:
    with pytest.raises(FrozenInstanceError):
        make().capacity = 7  # type: ignore[misc]


@pytest.mark.parametrize("field", ["coordinates", "demands", "distances", "distance_matrix"])
def test_arrays_cannot_be_written(field: str) -> None:
    array = getattr(make(distances=MATRIX), field)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_arrays_are_copies_of_the_users() -> None:
    coordinates, demands, distances = np.array(SQUARE), np.array([0, 2, 3]), np.array(MATRIX)
    instance = make(coordinates=coordinates, demands=demands, distances=distances)
    coordinates[:], demands[:], distances[:] = 9, 9, 9
    assert instance == make(distances=MATRIX)


# Lengths


@pytest.mark.parametrize(("rounding", "length"), [("none", math.sqrt(18)), ("nearest", 4.0), ("up", 5.0)])
def test_a_leg_is_rounded_by_the_rule(rounding: str, length: float) -> None:
    assert make(rounding=rounding).leg_lengths(1, 2) == pytest.approx(length, abs=1e-12)


def test_halves_are_rounded_up() -> None:
    instance = make(coordinates=[[0, 0], [0.5, 0], [0, 2.5]], rounding="nearest")
    assert instance.leg_lengths(0, [1, 2]).tolist() == [1.0, 3.0]


def test_a_matrix_stands_before_the_metric_and_is_rounded_once() -> None:
    instance = make(distances=np.array(MATRIX) * 1.1, rounding="up")
    assert instance.leg_lengths(0, [0, 1, 2]).tolist() == [0.0, 3.0, 4.0]
    assert instance.rounding == "none"


@given(instances())
def test_the_distance_matrix_holds_every_leg(instance: Instance) -> None:
    nodes = np.arange(instance.size + 1)
    legs = [[float(instance.leg_lengths(start, end)) for end in nodes] for start in nodes]
    assert instance.distance_matrix.tolist() == legs
    assert (instance.distance_matrix == instance.distance_matrix.T).all()


def test_the_distance_matrix_is_computed_once() -> None:
    instance = make()
    assert instance.distance_matrix is instance.distance_matrix


GLOBE = [
    ((0, 0), (0, 1), EARTH_RADIUS_METRES * math.pi / 180),  # one degree of the equator
    ((0, 0), (90, 0), EARTH_RADIUS_METRES * math.pi / 2),
    ((0, 179.5), (0, -179.5), EARTH_RADIUS_METRES * math.pi / 180),  # over the date line
    ((0, 0), (0, 180), EARTH_RADIUS_METRES * math.pi),
    ((45, 10), (-45, -170), EARTH_RADIUS_METRES * math.pi),  # opposite
    ((90, 0), (90, 77), 0.0),  # a pole is one point
    ((48.8566, 2.3522), (51.5074, -0.1278), 343_557),  # Paris to London
    ((52.5, 13.4), (52.5, 13.4), 0.0),
]


@pytest.mark.parametrize(("start", "end", "metres"), GLOBE)
def test_great_circles_match_known_distances(
    start: tuple[float, float], end: tuple[float, float], metres: float
) -> None:
    instance = make(coordinates=[start, end, end], metric="great_circle")
    assert float(instance.leg_lengths(0, 1)) == pytest.approx(metres, abs=1.0 if metres == 343_557 else 1e-5)


def test_nearly_opposite_points_are_measured_to_the_millimetre() -> None:
    instance = make(coordinates=[[0, 0], [0, 180 - 1e-7], [0, 180]], metric="great_circle")
    shorter, longer = instance.leg_lengths(0, [1, 2])
    assert longer - shorter == pytest.approx(EARTH_RADIUS_METRES * math.radians(1e-7), abs=1e-5)


# Decimals


@pytest.mark.parametrize(
    ("texts", "integers", "scale"),
    [
        (["1", "20"], [1, 20], 1),
        (["1.5", "2"], [15, 20], 10),
        (["1.50", "2.0"], [15, 20], 10),
        (["0.001", "1e3"], [1, 1_000_000], 1000),
        (["-0.5"], [-5], 10),
        (["0e99999999", "0.000"], [0, 0], 1),
        (["1.0000000000000000000000000000000001"], [10**34 + 1], 10**34),  # more digits than Decimal computes with
        ([], [], 1),
    ],
)
def test_decimals_are_scaled_exactly(texts: list[str], integers: list[int], scale: int) -> None:
    assert scale_to_integers([Decimal(text) for text in texts]) == (integers, scale)


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=6)))
def test_scaling_loses_nothing(values: list[Decimal]) -> None:
    integers, scale = scale_to_integers(values)
    with localcontext(prec=60):
        assert [Decimal(integer) / scale for integer in integers] == values
    assert scale == 1 or any(integer % 10 for integer in integers)


@pytest.mark.parametrize("text", ["1e999999999", "1e-999999999", "-1e50"])
def test_a_decimal_that_no_capacity_could_hold_is_refused(text: str) -> None:
    with pytest.raises(InstanceError, match="out of range"):
        scale_to_integers([Decimal(1), Decimal(text)])


@pytest.mark.parametrize(("text", "decimals"), [("1.50", 1), ("20", 0), ("2e1", 0), ("1e-3", 3), ("0.00", 0)])
def test_trailing_zeros_are_no_decimals(text: str, decimals: int) -> None:
    assert count_decimals(Decimal(text)) == decimals


# Fleets


def make_fleet(**parts: Any) -> Instance:
    return make(**{"capacity": 1, "vehicles": (VehicleType(40, "van", count=2), VehicleType(100, "lorry")), **parts})


def test_the_capacity_is_that_of_the_largest_type() -> None:
    assert make_fleet().capacity == 100


def test_capacities_of_types_are_scaled_with_the_demands() -> None:
    instance = make_fleet(demands=[0, 10, 20], demand_scale=10)
    assert instance.vehicles is not None
    assert [vehicle.capacity for vehicle in instance.vehicles] == [4, 10]
    assert instance.demands.tolist() == [0, 1, 2] and instance.demand_scale == 1


def test_a_demand_that_no_type_holds_is_refused() -> None:
    fault = refusal_of(demands=[0, 5, 101], vehicles=(VehicleType(40), VehicleType(100)))
    assert (fault.where.field, fault.where.customer) == ("demands", 2)


@pytest.mark.parametrize("vehicles", [(), "vans", (5,), (VehicleType(40, "van"), VehicleType(50, "van"))])
def test_what_is_no_fleet_is_refused(vehicles: object) -> None:
    assert refusal_of(vehicles=vehicles).where.field == "vehicles"


def test_one_type_without_name_and_limits_is_the_plain_problem() -> None:
    assert make(capacity=50, vehicles=(VehicleType(50),)) == make(capacity=50)


def test_parts_that_say_nothing_are_the_plain_problem() -> None:
    said = make(service=[0, 0, 0], windows=[[0, math.inf]] * 3)
    assert said == make() and said.is_plain and said.windows is None and said.service is None


@pytest.mark.parametrize(
    "parts",
    [
        {"vehicles": (VehicleType(50, count=3),)},
        {"vehicles": (VehicleType(50, end="open"),)},
        {"windows": [[0, 9], [0, 9], [0, 9]], "speed": 1},
    ],
)
def test_whatever_narrows_routes_is_not_plain(parts: dict[str, Any]) -> None:
    assert not make(**parts).is_plain


def test_a_speed_and_service_times_alone_change_no_routes() -> None:
    instance = make(speed=2.0, service=[0, 3, 4])
    assert instance.is_plain and not instance.has_times and instance.knows_times
    assert instance != make()


@pytest.mark.parametrize(
    ("part", "value", "customer"),
    [
        ("service", [0, -1, 2], 1),
        ("service", [0, 1, math.nan], 2),
        ("service", [0, 1], None),
        ("service", [5, 1, 1], None),
        ("windows", [[0, 9], [5, 4], [0, 9]], 1),
        ("windows", [[0, 9], [0, 9], [-2, 9]], 2),
        ("windows", [[0, 9], [0, math.nan], [0, 9]], 1),
        ("windows", [[0, 9], [0, 9]], None),
        ("windows", [[9, 3], [0, 9], [0, 9]], None),
        ("durations", np.zeros((2, 2)), None),
        ("durations", np.full((3, 3), -1.0), None),
        ("durations", np.full((3, 3), math.nan), None),
        ("speed", 0, None),
        ("speed", -3, None),
        ("speed", math.nan, None),
        ("speed", 5e-324, None),
        ("speed", "fast", None),
    ],
)
def test_a_faulty_part_of_a_fleet_is_refused_by_name(part: str, value: object, customer: int | None) -> None:
    fault = refusal_of(**{part: value})
    assert (fault.where.field, fault.where.customer) == (part, customer)
    assert fault.remedy


def test_durations_go_before_the_speed() -> None:
    durations = [[0, 1, 2], [3, 0, 4], [5, 6, 0]]
    assert make(durations=durations, speed=9).leg_durations([0, 1], [1, 2]).tolist() == [1, 4]


def test_legs_take_their_length_by_the_speed() -> None:
    instance = make(speed=4.0)
    assert instance.leg_durations(0, 1) == instance.leg_lengths(0, 1) / 4


def test_windows_without_a_speed_ask_for_one() -> None:
    instance = make(windows=[[0, 9], [0, 9], [0, 9]])
    with pytest.raises(InstanceError) as refusal:
        instance.leg_durations(0, 1)
    assert refusal.value.where.field == "speed" and "--speed" in refusal.value.remedy


@pytest.mark.parametrize(
    ("speed", "words"),
    [(9, "ends at 08:00, before it begins at 10:00"), (1, "ends at 28800, before it begins at 36000")],
)
def test_a_window_backwards_is_told_by_the_clock_unless_time_is_distance(speed: float, words: str) -> None:
    with pytest.raises(InstanceError, match=f"the window of customer 1 {words}"):
        make(windows=[[0, 9], [36000, 28800], [0, 9]], speed=speed)


def test_the_fewest_routes_fill_the_largest_vehicles_first() -> None:
    vehicles = (VehicleType(10), VehicleType(40, "lorry", count=1))
    assert make(demands=[0, 40, 11], vehicles=vehicles).minimum_routes == 3
