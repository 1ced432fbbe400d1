"""Files of fleets: each faulty one is refused with its place and a remedy; what was written reads back the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fleet_strategies import Plan, fleet_instances, plans
from hypothesis import given

from dynaroute.base.errors import DynarouteError, FormatError, InputWarning, InstanceError, UnsupportedError
from dynaroute.formats import format_vrplib, parse_vrplib, read, write
from dynaroute.formats.fleet_options import FleetOptions
from dynaroute.formats.json.instance import format_json, instance_from_json, parse_json
from dynaroute.formats.json.solution import format_json_solution, parse_json_solution
from dynaroute.formats.vrplib.solomon import format_solomon, parse_solomon
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution

DATA = Path(__file__).resolve().parents[1] / "data" / "faulty_fleets"


@dataclass(frozen=True)
class Fault:
    """What the error about a faulty file must say."""

    kind: type[DynarouteError]
    field: str | None = None
    line: int | None = None
    customer: int | None = None


FAULTS: dict[str, Fault] = {
    "backhauls.vrp": Fault(InstanceError, "BACKHAUL_SECTION", 17),
    "breaks.json": Fault(UnsupportedError, "breaks"),
    "capacities_too_few.vrp": Fault(FormatError, "CAPACITY_SECTION", 14),
    "capacities_without_vehicles.vrp": Fault(FormatError, "CAPACITY_SECTION", 13),
    "capacity_missing.txt": Fault(FormatError, "VEHICLE", 5),
    "capacity_of_a_vehicle_zero.vrp": Fault(InstanceError, "CAPACITY_SECTION", 16),
    "capacity_textual.txt": Fault(FormatError, "CAPACITY", 5),
    "capacity_twice.vrp": Fault(FormatError, "CAPACITY", 5),
    "capacity_zero.txt": Fault(InstanceError, "capacity", 5),
    "columns_other.txt": Fault(FormatError, "CUSTOMER", 8),
    "customers_missing.txt": Fault(FormatError, "CUSTOMER"),
    "demand_above_all_capacities.json": Fault(InstanceError, "customers[1].demand", None, 2),
    "demand_above_all_capacities.vrp": Fault(InstanceError, "DEMAND_SECTION", 13, 2),
    "demand_above_capacity.txt": Fault(InstanceError, "DEMAND", 11, 1),
    "demand_negative.txt": Fault(InstanceError, "DEMAND", 11, 1),
    "depots.json": Fault(FormatError, "depots[0].name"),
    "distance_twice.vrp": Fault(FormatError, "VEHICLES_MAX_DISTANCE", 7),
    "distance_zero.vrp": Fault(InstanceError, "DISTANCE", 6),
    "distances_of_another_shape.json": Fault(FormatError, "distances"),
    "distances_of_hundreds_of_digits.json": Fault(InstanceError, "distances[1][2]"),
    "due_before_ready.txt": Fault(InstanceError, "DUE DATE", 12, 2),
    "durations_nan.json": Fault(FormatError, "durations[1][2]"),
    "durations_negative.json": Fault(InstanceError, "durations"),
    "durations_of_another_shape.json": Fault(FormatError, "durations"),
    "durations_of_hundreds_of_digits.json": Fault(InstanceError, "durations[1][2]"),
    "durations_uneven.json": Fault(FormatError, "durations[1]"),
    "earliest_key.json": Fault(UnsupportedError, "customers[1].earliest"),
    "fixed_costs.vrp": Fault(UnsupportedError, "VEHICLES_FIXED_COST", 6),
    "max_duration_without_speed.json": Fault(InstanceError, "speed"),
    "node_out_of_order.txt": Fault(FormatError, "CUST NO.", 12),
    "optional.json": Fault(FormatError, "customers[1].optional"),
    "pickup.json": Fault(InstanceError, "customers[1].pickup"),
    "prize.json": Fault(InstanceError, "customers[1].prize", None, 2),
    "prizes.vrp": Fault(InstanceError, "PRIZE_SECTION", 17),
    "releases.vrp": Fault(InstanceError, "RELEASE_TIME_SECTION", 17),
    "reloading.vrp": Fault(FormatError, "VEHICLES_RELOAD_DEPOT_SECTION", 14),
    "row_nan.txt": Fault(FormatError, "READY TIME", 12),
    "row_short.txt": Fault(FormatError, "CUSTOMER", 12),
    "row_textual.txt": Fault(FormatError, "READY TIME", 12),
    "service_field_negative.vrp": Fault(InstanceError, "SERVICE_TIME", 6),
    "service_nan.json": Fault(FormatError, "customers[1].service"),
    "service_negative.json": Fault(InstanceError, "customers[1].service", None, 2),
    "service_negative.txt": Fault(InstanceError, "SERVICE TIME", 11, 1),
    "service_negative.vrp": Fault(InstanceError, "SERVICE_TIME_SECTION", 16, 1),
    "service_of_depot.json": Fault(InstanceError, "depot.service"),
    "service_of_depot.txt": Fault(InstanceError, "SERVICE TIME", 10),
    "service_of_depot.vrp": Fault(InstanceError, "SERVICE_TIME_SECTION", 15),
    "service_textual.json": Fault(FormatError, "customers[1].service"),
    "service_textual.vrp": Fault(FormatError, "SERVICE_TIME", 6),
    "service_twice.vrp": Fault(FormatError, "SERVICE_TIME", 6),
    "service_unit_unknown.json": Fault(FormatError, "customers[1].service"),
    "speed_nan.json": Fault(FormatError, "speed"),
    "speed_negative.json": Fault(InstanceError, "speed"),
    "speed_textual.json": Fault(FormatError, "speed"),
    "speed_vanishing.json": Fault(InstanceError, "speed"),
    "speed_zero.json": Fault(InstanceError, "speed"),
    "title_missing.txt": Fault(FormatError, "VEHICLE"),
    "vehicle_breaks.json": Fault(FormatError, "vehicles[1].breaks[0]"),
    "vehicle_capacity_nan.json": Fault(FormatError, "vehicles[1].capacity"),
    "vehicle_capacity_textual.json": Fault(FormatError, "vehicles[1].capacity"),
    "vehicle_capacity_zero.json": Fault(InstanceError, "vehicles[1].capacity"),
    "vehicle_cost.json": Fault(InstanceError, "vehicles[1].fixed_cost"),
    "vehicle_count_endless.json": Fault(FormatError, "vehicles[1].count"),
    "vehicle_count_fractional.json": Fault(FormatError, "vehicles[1].count"),
    "vehicle_count_zero.json": Fault(InstanceError, "vehicles[1].count"),
    "vehicle_end_number.json": Fault(InstanceError, "vehicles[1].end"),
    "vehicle_end_unknown.json": Fault(InstanceError, "vehicles[1].end"),
    "vehicle_max_distance_negative.json": Fault(InstanceError, "vehicles[1].max_distance"),
    "vehicle_max_distance_textual.json": Fault(FormatError, "vehicles[1].max_distance"),
    "vehicle_max_duration_unit_unknown.json": Fault(FormatError, "vehicles[1].max_duration"),
    "vehicle_max_duration_zero.json": Fault(InstanceError, "vehicles[1].max_duration"),
    "vehicle_max_stops_endless.json": Fault(FormatError, "vehicles[1].max_stops"),
    "vehicle_max_stops_zero.json": Fault(InstanceError, "vehicles[1].max_stops"),
    "vehicle_name_number.json": Fault(FormatError, "vehicles[1].name"),
    "vehicle_name_too_long.json": Fault(InstanceError, "vehicles[1].name"),
    "vehicle_reloads.json": Fault(UnsupportedError, "vehicles[1].reloads"),
    "vehicle_shift_backwards.json": Fault(InstanceError, "vehicles[1].shift"),
    "vehicle_shift_impossible.json": Fault(FormatError, "vehicles[1].shift[1]"),
    "vehicle_shift_without_end.json": Fault(FormatError, "vehicles[1].shift"),
    "vehicle_start_elsewhere.json": Fault(InstanceError, "vehicles[1].start"),
    "vehicle_types_too_many.json": Fault(InstanceError, "vehicles"),
    "vehicle_without_capacity.json": Fault(FormatError, "vehicles[0].capacity"),
    "vehicles_empty.json": Fault(InstanceError, "vehicles"),
    "vehicles_fractional.vrp": Fault(FormatError, "VEHICLES", 6),
    "vehicles_number.json": Fault(FormatError, "vehicles"),
    "vehicles_of_numbers.json": Fault(FormatError, "vehicles[0]"),
    "vehicles_of_the_same_name.json": Fault(InstanceError, "vehicles"),
    "vehicles_textual.vrp": Fault(FormatError, "VEHICLES", 6),
    "vehicles_zero.txt": Fault(FormatError, "NUMBER", 5),
    "vehicles_zero.vrp": Fault(InstanceError, "VEHICLES", 6),
    "version_textual.json": Fault(FormatError, "version"),
    "version_unknown.json": Fault(FormatError, "version"),
    "window_clock_impossible.json": Fault(FormatError, "customers[1].window[1]"),
    "window_ends_before_it_begins.json": Fault(InstanceError, "customers[1].window", None, 2),
    "window_ends_before_it_begins.vrp": Fault(InstanceError, "TIME_WINDOW_SECTION", 17, 2),
    "window_nan.json": Fault(FormatError, "customers[1].window[1]"),
    "window_nan.vrp": Fault(FormatError, "TIME_WINDOW_SECTION", 17),
    "window_negative.json": Fault(InstanceError, "customers[1].window", None, 2),
    "window_negative.vrp": Fault(InstanceError, "TIME_WINDOW_SECTION", 17, 2),
    "window_of_three_times.json": Fault(FormatError, "customers[1].window"),
    "window_row_missing.vrp": Fault(FormatError, "TIME_WINDOW_SECTION", 14),
    "window_row_short.vrp": Fault(FormatError, "TIME_WINDOW_SECTION", 17),
    "window_textual.json": Fault(FormatError, "customers[1].window"),
    "window_unit_unknown.json": Fault(FormatError, "customers[1].window[0]"),
    "window_without_speed.json": Fault(InstanceError, "speed"),
    "windows_key.json": Fault(InstanceError, "customers[1].window", None, 2),
    "windows_several.json": Fault(UnsupportedError, "customers[1].window"),
    "windows_several_as_text.json": Fault(UnsupportedError, "customers[1].window"),
}


def test_each_faulty_file_has_its_fault_in_the_table() -> None:
    assert sorted(path.name for path in DATA.iterdir()) == sorted(FAULTS)


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_file_is_refused_with_its_place_and_a_remedy(name: str) -> None:
    path, fault = DATA / name, FAULTS[name]
    with pytest.raises(DynarouteError) as caught:
        read(path)
    where = caught.value.where
    assert type(caught.value) is fault.kind
    assert (where.file, where.line, where.field, where.customer) == (str(path), fault.line, fault.field, fault.customer)
    assert caught.value.message.endswith(".")
    assert caught.value.remedy.endswith((".", "?"))


# JSON


@given(fleet_instances())
def test_json_holds_everything(instance: Instance) -> None:
    assert parse_json(format_json(instance)) == [instance]


def small(**parts: Any) -> dict[str, Any]:
    customers = [{"x": 3, "y": 4, "demand": 4}, {"x": 6, "y": 8, "demand": 5}]
    document = {"depot": {"x": 0, "y": 0}, "customers": customers, "speed": 1, **parts}
    return document if "vehicles" in parts else {"capacity": 10, **document}


def test_times_may_be_seconds_units_or_clocks() -> None:
    document = small()
    document["depot"]["window"] = "07:00-20:00"
    document["customers"][0] |= {"service": "5 min", "window": ["08:00", "12h"]}
    document["customers"][1] |= {"service": 90, "window": [None, 50000.5]}
    instance = instance_from_json(document)
    assert instance.service is not None and instance.windows is not None
    assert instance.service.tolist() == [0, 300, 90]
    assert instance.windows.tolist() == [[25200, 72000], [28800, 43200], [0, 50000.5]]


def test_vehicles_have_capacities_in_the_unit_of_the_demands() -> None:
    document = small(vehicles=[{"name": "van", "capacity": 7.25, "count": 2, "shift": ["08:00", "16:00"]}])
    instance = instance_from_json(document)
    assert instance.fleet == (VehicleType(725, "van", count=2, shift=(28800, 57600)),)
    assert instance.demands.tolist() == [0, 400, 500] and instance.demand_scale == 100


def test_a_capacity_beside_vehicles_need_not_be_there() -> None:
    assert instance_from_json(small(vehicles=[{"capacity": 20}])).capacity == 20


def test_a_capacity_that_no_vehicle_has_is_ignored_with_a_word() -> None:
    with pytest.warns(InputWarning, match="capacity was ignored"):
        assert instance_from_json(small(capacity=99, vehicles=[{"capacity": 20}])).capacity == 20


def test_an_unknown_key_of_a_vehicle_is_ignored_with_a_word() -> None:
    with pytest.warns(InputWarning, match="colour"):
        instance_from_json(small(vehicles=[{"capacity": 20, "colour": "red"}]))


def test_the_version_is_told_where_it_matters() -> None:
    plain, timed = small(), small()
    del plain["speed"]
    assert '"version"' not in format_json(instance_from_json(plain))
    assert '"version": 2' in format_json(instance_from_json(timed))


# CVRPLIB


def simplify(instance: Instance) -> Instance:
    """The problem with no more than a .vrp file can hold."""
    kinds = {replace(kind, name="", shift=None, max_stops=None, end="depot", count=1) for kind in instance.fleet}
    has_limit = {key: all(getattr(kind, key) for kind in kinds) for key in ("max_distance", "max_duration")}
    alike: dict[str, Any] = {key: None for key, is_there in has_limit.items() if not is_there}
    vehicles = tuple(dict.fromkeys(replace(kind, **alike) for kind in kinds))
    windows = None if instance.windows is None else np.minimum(instance.windows, 999.0)
    is_timed = windows is not None or instance.service is not None or has_limit["max_duration"]
    return replace(instance, vehicles=vehicles, windows=windows, durations=None, speed=1.0 if is_timed else None)


@given(fleet_instances())
def test_a_vrp_file_reads_back_the_same(instance: Instance) -> None:
    held = simplify(instance)
    assert parse_vrplib(format_vrplib(held)) == held


@pytest.mark.parametrize(
    ("field", "parts"),
    [
        ("vehicles", {"vehicles": (VehicleType(10, "van"),)}),
        ("vehicles", {"vehicles": (VehicleType(10, shift=(0, 9)),)}),
        ("vehicles", {"vehicles": (VehicleType(10, end="open"),)}),
        ("count", {"vehicles": (VehicleType(10), VehicleType(12))}),
        ("windows", {"windows": np.array([[0, 9], [0, 9], [0, np.inf]])}),
        ("speed", {"speed": 2.0}),
        ("durations", {"durations": np.ones((3, 3))}),
    ],
)
def test_a_vrp_file_refuses_what_it_cannot_hold(field: str, parts: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedError, match=r"\.json") as caught:
        format_vrplib(replace(parse_solomon(SOLOMON), **parts))
    assert caught.value.where.field == field


VRP = """NAME : tiny
TYPE : VRPTW
DIMENSION : 3
EDGE_WEIGHT_TYPE : EUC_2D
{fields}NODE_COORD_SECTION
1 0 0
2 3 4
3 6 8
DEMAND_SECTION
1 0
2 4
3 5
{sections}DEPOT_SECTION
1
-1
EOF
"""


def vrp(fields: str = "CAPACITY : 10\n", sections: str = "") -> Instance:
    return parse_vrplib(VRP.format(fields=fields, sections=sections))


def test_a_number_of_vehicles_limits_the_fleet() -> None:
    assert vrp("CAPACITY : 10\nVEHICLES : 3\n").fleet == (VehicleType(10, count=3),)


def test_a_longest_distance_counts_the_way_alone() -> None:
    assert vrp("CAPACITY : 10\nDISTANCE : 200\n").fleet == (VehicleType(10, max_distance=200),)


def test_with_service_times_the_longest_distance_counts_them_too() -> None:
    instance = vrp("CAPACITY : 10\nDISTANCE : 200\nSERVICE_TIME : 10\n")
    assert instance.fleet == (VehicleType(10, max_duration=200),)
    assert instance.service is not None and instance.service.tolist() == [0, 10, 10] and instance.speed == 1


def test_vehicles_that_are_alike_are_one_type() -> None:
    instance = vrp("VEHICLES : 3\n", "CAPACITY_SECTION\n1 10\n2 7.5\n3 10\n")
    assert instance.fleet == (VehicleType(100, count=2), VehicleType(75, count=1))
    assert instance.demand_scale == 10


def test_windows_and_service_times_are_read_by_node_and_time_is_distance() -> None:
    sections = "TIME_WINDOW_SECTION\n1 0 99\n3 5 60\n2 1 50\nSERVICE_TIME_SECTION\n1 0\n2 3\n3 4\n"
    instance = vrp(sections=sections)
    assert instance.windows is not None and instance.service is not None
    assert instance.windows.tolist() == [[0, 99], [1, 50], [5, 60]]
    assert instance.service.tolist() == [0, 3, 4]
    assert instance.leg_durations(0, 1) == instance.leg_lengths(0, 1) == 5


def test_a_matrix_may_differ_by_direction() -> None:
    text = VRP.replace("EUC_2D", "EXPLICIT\nEDGE_WEIGHT_FORMAT : FULL_MATRIX")
    sections = "EDGE_WEIGHT_SECTION\n0 1 2\n3 0 4\n5 6 0\n"
    instance = parse_vrplib(text.format(fields="CAPACITY : 10\n", sections=sections))
    assert instance.leg_lengths([0, 1], [1, 0]).tolist() == [1, 3]


# Solomon


SOLOMON = """C1

VEHICLE
NUMBER     CAPACITY
   2          10

CUSTOMER
CUST NO.  XCOORD.   YCOORD.    DEMAND   READY TIME  DUE DATE   SERVICE   TIME

    0      0      0      0      0    100      0
    1      3      4      4      0     50      5
    2      6      8      5     20     90      5
"""


def test_solomons_format_is_read() -> None:
    instance = parse_solomon(SOLOMON)
    assert (instance.name, instance.size, instance.fleet) == ("C1", 2, (VehicleType(10, count=2),))
    assert instance.speed == 1 and instance.rounding == "none"


def test_solomons_format_reads_back_the_same() -> None:
    instance = parse_solomon(SOLOMON)
    assert parse_solomon(format_solomon(instance)) == instance


def test_dimacs_cuts_lengths_to_one_decimal(tmp_path: Path) -> None:
    path = tmp_path / "c1.txt"
    path.write_text(SOLOMON.replace("6      8", "1      1"))
    instance = read(path, fleet=FleetOptions(rounding="dimacs"))
    assert instance.leg_lengths(0, 2) == instance.leg_durations(0, 2) == 1.4


@pytest.mark.parametrize(
    ("field", "parts"),
    [
        ("vehicles", {"vehicles": (VehicleType(10),)}),
        ("vehicles", {"vehicles": (VehicleType(10, count=2, max_stops=3),)}),
        ("windows", {"windows": None}),
        ("speed", {"speed": 2.0}),
        ("customer_names", {"customer_names": ("a", "b")}),
        ("distances", {"distances": np.ones((3, 3))}),
        ("durations", {"durations": np.ones((3, 3))}),
        ("rounding", {"rounding": "up"}),
    ],
)
def test_solomons_format_refuses_what_it_cannot_hold(field: str, parts: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedError, match=r"\.json") as caught:
        format_solomon(replace(parse_solomon(SOLOMON), **parts))
    assert caught.value.where.field == field


# Others


@pytest.mark.parametrize("suffix", [".npz"])
def test_a_format_without_fleets_refuses_them_and_says_which_holds_them(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"\.json"):
        write(parse_solomon(SOLOMON), tmp_path / f"instance{suffix}")
    assert not list(tmp_path.iterdir())


@given(plans())
def test_a_json_solution_holds_the_types_of_vehicles(plan: Plan) -> None:
    assert parse_json_solution(format_json_solution(plan.solution)) == plan.solution


@pytest.mark.parametrize("vehicles", ['"van"', "[0.5]", "[true]", "[0, 1]", "3"])
def test_faulty_types_in_a_json_solution_are_refused(vehicles: str) -> None:
    with pytest.raises(DynarouteError) as caught:
        parse_json_solution(f'{{"routes": [[1, 2]], "vehicles": {vehicles}}}')
    assert caught.value.where.field is not None and caught.value.where.field.startswith("vehicles")


def test_types_in_a_json_solution_may_be_named() -> None:
    solution = parse_json_solution('{"routes": [[1], [2]], "vehicles": ["lorry", "van"]}')
    assert solution == Solution(((1,), (2,)), vehicle_names=("lorry", "van"))
    assert parse_json_solution(format_json_solution(solution)) == solution


@pytest.mark.parametrize("layout", ["vrplib", "solomon"])
def test_the_vrplib_package_reads_what_is_written(layout: str, tmp_path: Path) -> None:
    vrplib = pytest.importorskip("vrplib", reason="vrplib is not installed")
    instance = parse_solomon(SOLOMON)
    path = tmp_path / ("c1.vrp" if layout == "vrplib" else "c1.txt")
    write(instance, path)
    held = vrplib.read_instance(path, instance_format=layout)
    assert instance.windows is not None and instance.service is not None
    assert (held["vehicles"], held["capacity"]) == (2, 10)
    assert np.array_equal(held["time_window"], instance.windows)
    assert np.array_equal(held["service_time"], instance.service)
    assert np.array_equal(held["demand"], instance.demands)
