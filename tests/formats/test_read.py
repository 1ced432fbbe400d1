"""Whole files: each faulty one is refused with its place and a remedy, each odd but sound one is read."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import make_instance

from dynaroute.base.errors import (
    DynarouteError,
    FileError,
    FormatError,
    InputWarning,
    InstanceError,
    OptionError,
    UnsupportedError,
)
from dynaroute.formats import (
    INSTANCE_SUFFIXES,
    parse_csv,
    parse_sol,
    parse_vrplib,
    read,
    read_set,
    read_solution,
    write,
)
from dynaroute.formats.json.instance import parse_json
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution

DATA = Path(__file__).resolve().parents[1] / "data"

COORDINATES = [[0, 0], [3, 4], [6, 8], [0, 5], [5, 0]]
MATRIX = [[0, 5, 10, 7], [5, 0, 6, 9], [10, 6, 0, 8], [7, 9, 8, 0]]


@dataclass(frozen=True)
class Fault:
    """What the error about a faulty file must say."""

    kind: type[DynarouteError]
    field: str | None = None
    line: int | None = None
    customer: int | None = None


FAULTS = {
    "binary.csv": Fault(FormatError),
    "binary.json": Fault(FormatError),
    "binary.sol": Fault(FormatError),
    "binary.vrp": Fault(FormatError),
    "blank.csv": Fault(FormatError),
    "blank.sol": Fault(FormatError, "Route"),
    "blank.vrp": Fault(FormatError),
    "capacity_arabic_digits.vrp": Fault(FormatError, "CAPACITY", 6),
    "capacity_decimal_comma.vrp": Fault(FormatError, "CAPACITY", 6),
    "capacity_empty.vrp": Fault(FormatError, "CAPACITY", 6),
    "capacity_exponent_absurd.json": Fault(FormatError),
    "capacity_hexadecimal.vrp": Fault(FormatError, "CAPACITY", 6),
    "capacity_huge_exponent.vrp": Fault(InstanceError, "CAPACITY", 6),
    "capacity_infinite.json": Fault(FormatError, "capacity"),
    "capacity_infinite.vrp": Fault(FormatError, "CAPACITY", 6),
    "capacity_missing.csv": Fault(FormatError, "capacity"),
    "capacity_missing.json": Fault(FormatError, "capacity"),
    "capacity_missing.vrp": Fault(FormatError, "CAPACITY"),
    "capacity_nan.json": Fault(FormatError, "capacity"),
    "capacity_nan.vrp": Fault(FormatError, "CAPACITY", 6),
    "capacity_negative.json": Fault(InstanceError, "capacity"),
    "capacity_negative.vrp": Fault(InstanceError, "CAPACITY", 6),
    "capacity_of_400_digits.vrp": Fault(InstanceError, "CAPACITY", 6),
    "capacity_of_5000_digits.json": Fault(FormatError),
    "capacity_overflowing.json": Fault(InstanceError, "capacity"),
    "capacity_text.json": Fault(FormatError, "capacity"),
    "capacity_textual.csv": Fault(FormatError, "capacity", 1),
    "capacity_textual.vrp": Fault(FormatError, "CAPACITY", 6),
    "capacity_too_large.vrp": Fault(InstanceError, "CAPACITY", 6),
    "capacity_too_large_after_scaling.vrp": Fault(InstanceError, "CAPACITY", 6),
    "capacity_true.json": Fault(FormatError, "capacity"),
    "capacity_twice.csv": Fault(FormatError, "capacity", 2),
    "capacity_twice.vrp": Fault(FormatError, "CAPACITY", 7),
    "capacity_underscored.vrp": Fault(FormatError, "CAPACITY", 6),
    "capacity_zero.csv": Fault(InstanceError, "capacity", 1),
    "capacity_zero.json": Fault(InstanceError, "capacity"),
    "capacity_zero.vrp": Fault(InstanceError, "CAPACITY", 6),
    "colon_missing.sol": Fault(FormatError, "Route", 1),
    "column_demand_missing.csv": Fault(FormatError, "demand", 2),
    "column_y_missing.csv": Fault(FormatError, "y", 2),
    "columns_plane_and_globe.csv": Fault(FormatError, "header", 2),
    "columns_twice.csv": Fault(FormatError, "x", 2),
    "comment_only.csv": Fault(FormatError),
    "coordinate_blank.csv": Fault(FormatError, "x", 5),
    "coordinate_decimal_comma.vrp": Fault(FormatError, "NODE_COORD_SECTION", 9),
    "coordinate_index_decimal.vrp": Fault(FormatError, "NODE_COORD_SECTION", 10),
    "coordinate_index_textual.vrp": Fault(FormatError, "NODE_COORD_SECTION", 10),
    "coordinate_infinite.csv": Fault(FormatError, "x", 5),
    "coordinate_infinite.json": Fault(FormatError, "customers[1].x"),
    "coordinate_infinite.vrp": Fault(FormatError, "NODE_COORD_SECTION", 9),
    "coordinate_missing.json": Fault(FormatError, "customers[1].x"),
    "coordinate_nan.csv": Fault(FormatError, "x", 5),
    "coordinate_nan.vrp": Fault(FormatError, "NODE_COORD_SECTION", 9),
    "coordinate_null.json": Fault(FormatError, "customers[1].x"),
    "coordinate_overflowing.json": Fault(InstanceError, "customers[1].x", customer=2),
    "coordinate_overflowing.vrp": Fault(InstanceError, "NODE_COORD_SECTION", 9),
    "coordinate_past_measure.vrp": Fault(InstanceError, "NODE_COORD_SECTION", 9),
    "coordinate_row_long.vrp": Fault(FormatError, "NODE_COORD_SECTION", 10),
    "coordinate_row_missing.vrp": Fault(FormatError, "NODE_COORD_SECTION", 7),
    "coordinate_row_out_of_range.vrp": Fault(FormatError, "NODE_COORD_SECTION", 12),
    "coordinate_row_repeated.vrp": Fault(FormatError, "NODE_COORD_SECTION", 10),
    "coordinate_row_short.vrp": Fault(FormatError, "NODE_COORD_SECTION", 10),
    "coordinate_row_zero.vrp": Fault(FormatError, "NODE_COORD_SECTION", 8),
    "coordinate_textual.vrp": Fault(FormatError, "NODE_COORD_SECTION", 9),
    "coordinates_missing.vrp": Fault(FormatError, "NODE_COORD_SECTION"),
    "coordinates_mixed.json": Fault(FormatError, "customers[1].lat"),
    "cost_missing_value.sol": Fault(FormatError, "Cost", 4),
    "cost_nan.sol": Fault(FormatError, "Cost", 4),
    "cost_textual.sol": Fault(FormatError, "Cost", 4),
    "cost_twice.sol": Fault(FormatError, "Cost", 5),
    "customer_decimal.sol": Fault(FormatError, "Route", 1),
    "customer_number.json": Fault(FormatError, "customers[0]"),
    "customer_textual.sol": Fault(FormatError, "Route", 1),
    "customers_empty.json": Fault(InstanceError, "customers"),
    "customers_missing.csv": Fault(InstanceError, "demand", 3),
    "customers_missing.json": Fault(FormatError, "customers"),
    "customers_object.json": Fault(FormatError, "customers"),
    "customers_with_commas.sol": Fault(FormatError, "Route", 1),
    "demand_above_capacity.csv": Fault(InstanceError, "demand", 5, 2),
    "demand_above_capacity.json": Fault(InstanceError, "customers[1].demand", customer=2),
    "demand_above_capacity.vrp": Fault(InstanceError, "DEMAND_SECTION", 15, 1),
    "demand_above_capacity_by_a_thousandth.vrp": Fault(InstanceError, "DEMAND_SECTION", 15, 1),
    "demand_blank.csv": Fault(FormatError, "demand", 5),
    "demand_missing.json": Fault(FormatError, "customers[1].demand"),
    "demand_missing.vrp": Fault(FormatError, "DEMAND_SECTION", 15),
    "demand_nan.csv": Fault(FormatError, "demand", 5),
    "demand_nan.json": Fault(FormatError, "customers[1].demand"),
    "demand_nan.vrp": Fault(FormatError, "DEMAND_SECTION", 15),
    "demand_negative.csv": Fault(InstanceError, "demand", 5, 2),
    "demand_negative.json": Fault(InstanceError, "customers[1].demand", customer=2),
    "demand_negative.vrp": Fault(InstanceError, "DEMAND_SECTION", 15, 1),
    "demand_of_depot.csv": Fault(InstanceError, "demand", 3),
    "demand_of_depot.vrp": Fault(InstanceError, "DEMAND_SECTION", 14),
    "demand_row_long.vrp": Fault(FormatError, "DEMAND_SECTION", 16),
    "demand_row_missing.vrp": Fault(FormatError, "DEMAND_SECTION", 13),
    "demand_row_repeated.vrp": Fault(FormatError, "DEMAND_SECTION", 17),
    "demand_section_missing.vrp": Fault(FormatError, "DEMAND_SECTION"),
    "demand_text.json": Fault(FormatError, "customers[1].demand"),
    "demand_textual.csv": Fault(FormatError, "demand", 5),
    "demand_textual.vrp": Fault(FormatError, "DEMAND_SECTION", 15),
    "demand_too_many_decimals.vrp": Fault(InstanceError, "CAPACITY", 6),
    "depot_demand.json": Fault(InstanceError, "depot.demand"),
    "depot_empty.vrp": Fault(FormatError, "DEPOT_SECTION", 19),
    "depot_list.json": Fault(FormatError, "depot"),
    "depot_missing.json": Fault(FormatError, "depot"),
    "depot_not_one.vrp": Fault(UnsupportedError, "DEPOT_SECTION", 20),
    "depot_out_of_range.vrp": Fault(FormatError, "DEPOT_SECTION", 20),
    "depot_textual.vrp": Fault(FormatError, "DEPOT_SECTION", 20),
    "depots_several.vrp": Fault(UnsupportedError, "DEPOT_SECTION", 20),
    "dimension_astronomical.vrp": Fault(FormatError, "DIMENSION", 4),
    "dimension_decimal.vrp": Fault(FormatError, "DIMENSION", 4),
    "dimension_missing.vrp": Fault(FormatError, "DIMENSION"),
    "dimension_negative.vrp": Fault(FormatError, "DIMENSION", 4),
    "dimension_of_400_digits.vrp": Fault(FormatError, "DIMENSION", 4),
    "dimension_one.vrp": Fault(InstanceError, "DIMENSION", 1),
    "dimension_textual.vrp": Fault(FormatError, "DIMENSION", 4),
    "dimension_too_large.vrp": Fault(FormatError, "DIMENSION", 4),
    "dimension_too_small.vrp": Fault(FormatError, "DIMENSION", 4),
    "dimension_zero.vrp": Fault(FormatError, "DIMENSION", 4),
    "distances_missing_row.json": Fault(FormatError, "distances"),
    "distances_nan.json": Fault(FormatError, "distances[1][2]"),
    "distances_negative.json": Fault(InstanceError, "distances"),
    "distances_short_row.json": Fault(FormatError, "distances[1]"),
    "distances_text.json": Fault(FormatError, "distances[1]"),
    "edge_weight_format_unknown_with_euc_2d.vrp": Fault(UnsupportedError, "EDGE_WEIGHT_FORMAT", 7),
    "edge_weight_type_att.vrp": Fault(UnsupportedError, "EDGE_WEIGHT_TYPE", 5),
    "edge_weight_type_banana.vrp": Fault(UnsupportedError, "EDGE_WEIGHT_TYPE", 5),
    "edge_weight_type_geo.vrp": Fault(UnsupportedError, "EDGE_WEIGHT_TYPE", 5),
    "edge_weight_type_man_2d.vrp": Fault(UnsupportedError, "EDGE_WEIGHT_TYPE", 5),
    "edge_weight_type_missing.vrp": Fault(FormatError, "EDGE_WEIGHT_TYPE"),
    "empty.csv": Fault(FormatError),
    "empty.json": Fault(FormatError),
    "empty.sol": Fault(FormatError),
    "empty.vrp": Fault(FormatError),
    "field_trucks.vrp": Fault(UnsupportedError, "NO_OF_TRUCKS", 7),
    "field_without_colon.vrp": Fault(FormatError, None, 6),
    "header_missing.csv": Fault(FormatError, "x, y, demand", 2),
    "id_blank.csv": Fault(FormatError, "id", 6),
    "id_list.json": Fault(FormatError, "customers[0].id"),
    "ids_duplicate.csv": Fault(FormatError, "id", 6),
    "ids_duplicate.json": Fault(InstanceError, "customers[2].id", customer=3),
    "key_twice.json": Fault(FormatError, "capacity"),
    "latitude_out_of_range.csv": Fault(InstanceError, "lat", 4),
    "latitude_out_of_range.json": Fault(InstanceError, "customers[0].lat", customer=1),
    "list_of_numbers.json": Fault(FormatError, "[0]"),
    "load_above_capacity.csv": Fault(InstanceError, "demand pallets", 4, 2),
    "load_astronomical.csv": Fault(InstanceError, "demand pallets", 3),
    "load_blank_in_every_dimension.csv": Fault(FormatError, "demand kg", 4),
    "load_named_and_plain.csv": Fault(FormatError, "demand", 1),
    "load_named_twice.csv": Fault(FormatError, "demand kg", 1),
    "load_of_depot.csv": Fault(InstanceError, "demand pallets", 2),
    "load_plain_with_named_capacities.csv": Fault(FormatError, "demand", 1),
    "load_with_plain_capacity.csv": Fault(FormatError, "capacity", 1),
    "load_with_two_capacities.csv": Fault(FormatError, "capacity pallets", 3),
    "load_without_capacity.csv": Fault(UnsupportedError, "demand litres", 1),
    "load_without_demand.csv": Fault(FormatError, "capacity litres", 1),
    "longitude_out_of_range.csv": Fault(InstanceError, "lon", 4),
    "matrix_format_function.vrp": Fault(UnsupportedError, "EDGE_WEIGHT_FORMAT", 6),
    "matrix_format_missing.vrp": Fault(FormatError, "EDGE_WEIGHT_FORMAT"),
    "matrix_format_unknown.vrp": Fault(UnsupportedError, "EDGE_WEIGHT_FORMAT", 6),
    "matrix_long.vrp": Fault(FormatError, "EDGE_WEIGHT_SECTION", 7),
    "matrix_lower_row_short.vrp": Fault(FormatError, "EDGE_WEIGHT_SECTION", 7),
    "matrix_missing.vrp": Fault(FormatError, "EDGE_WEIGHT_SECTION"),
    "matrix_nan.vrp": Fault(FormatError, "EDGE_WEIGHT_SECTION", 9),
    "matrix_negative.vrp": Fault(InstanceError, "EDGE_WEIGHT_SECTION", 9),
    "matrix_short.vrp": Fault(FormatError, "EDGE_WEIGHT_SECTION", 7),
    "matrix_textual.vrp": Fault(FormatError, "EDGE_WEIGHT_SECTION", 9),
    "matrix_truncated.vrp": Fault(FormatError, "DEMAND_SECTION"),
    "matrix_with_euc_2d.vrp": Fault(FormatError, "EDGE_WEIGHT_SECTION", 19),
    "name_number.json": Fault(FormatError, "name"),
    "nested_deeply.json": Fault(FormatError),
    "no_instances.json": Fault(FormatError),
    "node_coord_type_three.vrp": Fault(UnsupportedError, "NODE_COORD_TYPE", 7),
    "nodes_from_zero.vrp": Fault(FormatError, "DEMAND_SECTION", 14),
    "not_a_solution.sol": Fault(FormatError, "Route", 8),
    "not_an_object.json": Fault(FormatError, "document"),
    "numbers_astray.sol": Fault(FormatError, "Route", 5),
    "quote_open.csv": Fault(FormatError, None, 5),
    "rounding_unknown.csv": Fault(FormatError, "rounding", 1),
    "rounding_unknown.json": Fault(FormatError, "rounding"),
    "routes_missing.sol": Fault(FormatError, "Route"),
    "row_long.csv": Fault(FormatError, None, 5),
    "row_short.csv": Fault(FormatError, None, 5),
    "rows_missing.csv": Fault(FormatError, None, 2),
    "second_instance_faulty.json": Fault(InstanceError, "[1].customers[1].demand", customer=2),
    "solution_for_an_instance.json": Fault(FormatError, "routes"),
    "section_twice.vrp": Fault(FormatError, "DEMAND_SECTION", 19),
    "section_unknown.vrp": Fault(UnsupportedError, "WEIGHT_SECTION", 19),
    "text_astray.vrp": Fault(FormatError, None, 4),
    "time_window.json": Fault(UnsupportedError, "customers[1].timeWindow"),
    "truncated.json": Fault(FormatError, None, 1),
    "truncated_in_coordinates.vrp": Fault(FormatError, "DIMENSION", 4),
    "truncated_in_demands.vrp": Fault(FormatError, "DEMAND_SECTION", 17),
    "truncated_in_depots.vrp": Fault(FormatError, "DEPOT_SECTION", 19),
    "truncated_in_header.vrp": Fault(FormatError, "CAPACITY"),
    "truncated_in_last_demand.vrp": Fault(FormatError, "DEPOT_SECTION"),
    "type_periodic.vrp": Fault(UnsupportedError, "TYPE", 3),
    "type_tsp.vrp": Fault(UnsupportedError, "TYPE", 3),
    "values_without_section.vrp": Fault(FormatError, None, 7),
    "vehicles.json": Fault(FormatError, "vehicles"),
}

FAULTY_JSON_SOLUTIONS = {
    "cost_nan.json": "cost",
    "cost_overflowing.json": "cost",
    "cost_text.json": "cost",
    "customer_decimal.json": "routes[0][1]",
    "customer_text.json": "routes[0][1]",
    "customer_true.json": "routes[0][1]",
    "list_of_lists.json": "document",
    "route_number.json": "routes[0]",
    "routes_missing.json": "routes",
    "truncated.json": None,
    "two_solutions.json": "document",
}


def tiny(**changes: Any) -> Instance:
    """The problem that most of the odd files hold."""
    return make_instance(**{"coordinates": COORDINATES, "demands": [0, 4, 5, 6, 3], "capacity": 10, **changes})


def tiny_matrix(**changes: Any) -> Instance:
    """The problem that the odd files with a matrix hold."""
    return make_instance(
        **{"coordinates": None, "demands": [0, 4, 5, 6], "capacity": 10, "distances": MATRIX, **changes}
    )


DECIMALS = {"demands": [0, 425, 500, 600, 300], "capacity": 1250, "demand_scale": 100}
GLOBE = make_instance([[52.5, 13.4], [48.1, 11.6]], [0, 4], 10, metric="great_circle")
WITH_PLACES = tiny_matrix(coordinates=[[0, 0], [1, 0], [2, 0], [3, 0]])

# what an odd instance file holds, where it is not what all others of its suffix do
ODD_INSTANCES: dict[str, Instance] = {
    "all_in_one_place.vrp": tiny(coordinates=[[0, 0]] * 5, rounding="nearest"),
    "ceil_2d.vrp": tiny(rounding="up"),
    "decimal_commas.csv": tiny(**DECIMALS),
    "decimal_demands.vrp": tiny(**DECIMALS, rounding="nearest"),
    "decimals.csv": tiny(**DECIMALS),
    "decimals.json": tiny(**DECIMALS),
    "demand_zero_and_full.vrp": tiny(demands=[0, 0, 10, 6, 3], rounding="nearest"),
    "distances_alone.json": make_instance(None, [0, 4, 5], 10, distances=[[0, 5, 10], [5, 0, 6], [10, 6, 0]]),
    "distances_diagonal.json": make_instance(None, [0, 4, 5], 10, distances=[[0, 5, 10], [5, 0, 6], [10, 6, 0]]),
    "exact_2d.vrp": tiny(),
    "globe.csv": GLOBE,
    "globe.json": GLOBE,
    "ids_of_some.json": tiny(customer_names=("a", "2", "3", "4")),
    "integer_ids.json": tiny(customer_names=("7", "8", "9", "ten")),
    "matrix_with_coordinates.vrp": WITH_PLACES,
    "matrix_with_display_data.vrp": WITH_PLACES,
    "names.csv": tiny(customer_names=("Müller", "Smith, J.", "#3", "4")),
    "rounding_up.csv": tiny(rounding="up"),
    "signs_and_negative_coordinates.vrp": tiny(
        coordinates=[[0, 0], [-3, 4], [6, 8], [0, 5], [5, 0]], rounding="nearest"
    ),
}

ODD_SOLUTIONS = {
    "cost_missing.sol": Solution(((1, 2), (3,), (4,))),
    "cost_wrong.sol": Solution(((1, 2), (3,), (4,)), 31),
    "customer_missing.sol": Solution(((1, 2), (4,)), 30),
    "customer_negative.sol": Solution(((1, 2), (-3,), (4,)), 30),
    "customer_repeated.sol": Solution(((1, 2), (3, 1), (4,)), 30),
    "customer_unknown.sol": Solution(((1, 2), (3, 99), (4,)), 30),
    "customer_zero.sol": Solution(((1, 2), (0, 3, 0), (4,)), 30),
}

WARNED = {
    "address_on_two_lines.csv": "address",
    "decimal_commas.csv": "decimal commas",
    "extra_columns.csv": "colour",
    "field_best_known.vrp": "BEST_KNOWN",
    "matrix_diagonal.vrp": "diagonal",
    "matrix_lower_row_with_upper_lines.vrp": "LOWER_ROW",
    "other_lines.sol": "Time 3.2",
    "row_commented_out.csv": "lines 5",
    "unknown_key.json": "author",
}

ODD_NAMES = {
    "plain.vrp": "tiny",
    "name_eof.vrp": "EOF",
    "name_geofence.vrp": "GEOFENCE",
    "name_with_colons.vrp": "a:b : c",
    "name_with_tab.vrp": "a b",
    "name_missing.vrp": "name_missing",
    "name_empty.vrp": "",
    "plain.csv": "plain",
    "rounding_up.csv": "small",
    "plain.json": "tiny",
    "globe.json": "globe",
    "list_of_one.json": "tiny",
}


def names_in(folder: str) -> list[str]:
    return sorted(path.name for path in (DATA / folder).iterdir())


def read_any(path: Path) -> Instance | Solution:
    return read_solution(path) if path.suffix == ".sol" else read(path)


def expected_content(name: str) -> Instance | Solution:
    if name.endswith(".sol"):
        return ODD_SOLUTIONS.get(name, Solution(((1, 2), (3,), (4,)), 30))
    if name in ODD_INSTANCES:
        return ODD_INSTANCES[name]
    if name.startswith("matrix"):
        return tiny_matrix()
    return tiny(rounding="nearest" if name.endswith(".vrp") else "none")


def test_each_faulty_file_has_its_fault_in_the_table() -> None:
    assert names_in("faulty") == sorted(FAULTS)
    assert names_in("faulty_solutions") == sorted(FAULTY_JSON_SOLUTIONS)


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_file_is_refused_with_its_place_and_a_remedy(name: str) -> None:
    path, fault = DATA / "faulty" / name, FAULTS[name]

    with pytest.raises(DynarouteError) as caught:
        read_any(path)

    where = caught.value.where
    assert type(caught.value) is fault.kind
    assert (where.file, where.line, where.field, where.customer) == (str(path), fault.line, fault.field, fault.customer)
    assert caught.value.message.endswith(".")
    assert caught.value.remedy.endswith((".", "?"))


@pytest.mark.parametrize("name", FAULTY_JSON_SOLUTIONS)
def test_a_faulty_json_solution_is_refused_with_its_place_and_a_remedy(name: str) -> None:
    path = DATA / "faulty_solutions" / name

    with pytest.raises(FormatError) as caught:
        read_solution(path)

    assert (caught.value.where.file, caught.value.where.field) == (str(path), FAULTY_JSON_SOLUTIONS[name])
    assert caught.value.remedy


@pytest.mark.parametrize("name", [name for name in names_in("odd") if name not in WARNED])
def test_an_odd_file_is_read_without_a_word(name: str) -> None:
    assert read_any(DATA / "odd" / name) == expected_content(name)


@pytest.mark.parametrize("name", WARNED)
def test_a_file_with_something_to_look_at_is_read_with_a_warning_that_names_it(name: str) -> None:
    path = DATA / "odd" / name

    with pytest.warns(InputWarning, match=WARNED[name]) as warned:
        content = read_any(path)

    assert content == expected_content(name)
    assert len(warned) == 1
    assert str(warned[0].message).startswith(str(path))


@pytest.mark.parametrize("name", ODD_NAMES)
def test_an_instance_is_named_by_its_file_or_after_it(name: str) -> None:
    assert read(DATA / "odd" / name).name == ODD_NAMES[name]


def test_a_missing_file_is_refused_by_its_path(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file") as caught:
        read(tmp_path / "absent.vrp")

    assert caught.value.where.file == str(tmp_path / "absent.vrp")


@pytest.mark.parametrize("reader", [read, read_set, read_solution])
def test_a_folder_is_refused_as_such(reader: Any, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="folder"):
        reader(tmp_path)


def test_an_unknown_suffix_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    path = tmp_path / "instance.abc"
    path.write_text("anything")

    with pytest.raises(FormatError, match=r"\.abc") as caught:
        read(path)

    assert all(suffix in caught.value.remedy for suffix in INSTANCE_SUFFIXES)


def test_a_solution_is_not_an_instance() -> None:
    with pytest.raises(UnsupportedError, match=r"\.sol"):
        read(DATA / "odd" / "plain.sol")


def test_an_instance_is_not_a_solution() -> None:
    with pytest.raises(UnsupportedError, match=r"\.vrp"):
        read_solution(DATA / "odd" / "plain.vrp")


def test_a_suffix_in_capitals_is_the_same_suffix(tmp_path: Path) -> None:
    path = tmp_path / "TINY.VRP"
    path.write_bytes((DATA / "odd" / "plain.vrp").read_bytes())

    assert read(path) == tiny(rounding="nearest")


def test_several_instances_where_one_is_expected_are_refused(tmp_path: Path) -> None:
    write([tiny(), tiny()], tmp_path / "two.json")

    with pytest.raises(FormatError, match="2 instances") as caught:
        read(tmp_path / "two.json")

    assert "read_set" in caught.value.remedy
    assert caught.value.where.file == str(tmp_path / "two.json")


def test_instances_of_a_set_are_numbered_after_the_file(tmp_path: Path) -> None:
    write([tiny(), tiny()], tmp_path / "two.npz")

    assert [instance.name for instance in read_set(tmp_path / "two.npz")] == ["two-1", "two-2"]


def test_the_option_gives_a_csv_its_capacity() -> None:
    assert read(DATA / "faulty" / "capacity_missing.csv", capacity=10) == tiny()


def test_the_option_goes_before_the_capacity_of_a_csv() -> None:
    assert read(DATA / "odd" / "plain.csv", capacity=12.5).capacity == 125


@pytest.mark.parametrize("capacity", [float("nan"), float("inf")])
def test_an_option_that_is_no_number_is_refused(capacity: float) -> None:
    with pytest.raises(OptionError) as caught:
        read(DATA / "odd" / "plain.csv", capacity=capacity)

    assert caught.value.where.field == "capacity"


def test_a_capacity_below_a_demand_is_the_demands_fault() -> None:
    with pytest.raises(InstanceError) as caught:
        read(DATA / "odd" / "plain.csv", capacity=5)

    assert (caught.value.where.line, caught.value.where.customer) == (6, 3)


def test_an_impossible_option_is_blamed_on_the_option() -> None:
    with pytest.raises(InstanceError) as caught:
        read(DATA / "odd" / "plain.csv", capacity=-1)

    assert caught.value.where.field == "capacity"


def test_the_option_is_for_csv_alone() -> None:
    with pytest.raises(OptionError, match=r"\.vrp"):
        read(DATA / "odd" / "plain.vrp", capacity=10)


def test_every_prefix_of_a_vrp_file_is_refused_or_reads_the_same() -> None:
    text = (DATA / "odd" / "plain.vrp").read_text()
    whole = tiny(rounding="nearest")
    outcomes: set[bool | None] = set()
    for end in range(len(text)):
        try:
            outcomes.add(parse_vrplib(text[:end]) == whole)
        except DynarouteError:
            outcomes.add(None)
    assert outcomes == {True, None}


PIECES = [
    "",
    "\n",
    " ",
    ":",
    "-",
    "nan",
    "1e999",
    "-1",
    "0",
    "9" * 500,
    "null",
    "[",
    "{",
    '"',
    "#",
    "EOF",
    "_SECTION",
    ",",
]
PARSERS: dict[str, Callable[[str], object]] = {
    "plain.vrp": parse_vrplib,
    "matrix_lower_row.vrp": parse_vrplib,
    "plain.sol": parse_sol,
    "names.csv": parse_csv,
    "globe.csv": parse_csv,
    "decimals.json": parse_json,
    "distances_alone.json": parse_json,
}


@pytest.mark.filterwarnings("ignore::dynaroute.base.errors.InputWarning")
@pytest.mark.parametrize("name", PARSERS)
@given(data=st.data())
def test_any_edit_of_a_sound_text_is_read_or_refused(name: str, data: st.DataObject) -> None:
    text = (DATA / "odd" / name).read_text()
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 8)))
        piece = data.draw(st.sampled_from(PIECES) | st.text(max_size=3))
        text = text[:start] + piece + text[end:]
    try:
        PARSERS[name](text)
    except DynarouteError as error:
        assert error.message
        assert error.remedy


@pytest.mark.parametrize("suffix", [".npz", ".pkl"])
def test_every_truncation_of_a_binary_set_is_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"set{suffix}"
    if suffix == ".npz":
        np.savez(path, depot=np.zeros((1, 2)), locs=np.ones((1, 2, 2)), demand=np.ones((1, 2)), capacity=np.full(1, 3))
    else:
        path.write_bytes(pickle.dumps([([0.0, 0.0], [[1.0, 1.0]], [1], 3.0)]))
    content = path.read_bytes()
    for end in range(0, len(content), max(1, len(content) // 97)):
        path.write_bytes(content[:end])
        with pytest.raises(FormatError):
            read_set(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.vrp")

    with pytest.raises(FileError, match="pipe"):
        read(tmp_path / "pipe.vrp")
