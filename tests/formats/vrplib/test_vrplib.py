from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from problems import make_instance

from dynaroute.base.errors import FormatError, InputWarning, UnsupportedError
from dynaroute.formats import format_vrplib, parse_vrplib
from dynaroute.formats.read import read
from dynaroute.problem.solution import Solution, check

vrplib = pytest.importorskip("vrplib")

CUSTOMER = make_instance([[0, 0], [3, 4]], [0, 4], 10)


@pytest.fixture(scope="module")
def benchmark_files(shared_data: Path) -> list[Path]:
    files = sorted((shared_data / "X").glob("*.vrp"))
    assert len(files) == 50
    return files


def test_the_benchmark_files_hold_what_another_reader_finds(benchmark_files: list[Path]) -> None:
    for file in benchmark_files:
        instance, other = read(file), vrplib.read_instance(str(file), compute_edge_weights=False)
        assert instance.name == other["name"] == file.stem
        assert instance.capacity == other["capacity"]
        assert instance.size + 1 == other["dimension"]
        assert instance.rounding == "nearest"
        assert instance.coordinates is not None
        assert np.array_equal(instance.coordinates, other["node_coord"])
        assert np.array_equal(instance.demands, other["demand"])


def test_every_benchmark_file_reads_back_equal(benchmark_files: list[Path]) -> None:
    for file in benchmark_files:
        instance = read(file)
        again = parse_vrplib(format_vrplib(instance))
        assert again == instance
        assert again.name == instance.name


def test_one_customer_a_route_costs_what_plain_integers_give(benchmark_files: list[Path]) -> None:
    for file in benchmark_files:
        instance = read(file)
        solution = Solution(tuple((customer,) for customer in range(1, instance.size + 1)))
        assert instance.coordinates is not None
        (x, y), *places = (tuple(map(int, place)) for place in instance.coordinates.tolist())
        # the nearest integer to a root, in integers alone: half of the root of 4 d, rounded
        squares = [(x - px) ** 2 + (y - py) ** 2 for px, py in places]
        cost = sum(2 * ((math.isqrt(4 * square) + 1) // 2) for square in squares)
        assert solution.cost(instance) == cost
        assert check(instance, Solution(solution.routes, float(cost))) == []


def test_another_reader_understands_what_is_written(tmp_path: Path) -> None:
    instance = make_instance([[0, 0.5], [3, 4]], [0, 25], 100, "two", demand_scale=10)
    (tmp_path / "two.vrp").write_text(format_vrplib(instance))

    other = vrplib.read_instance(str(tmp_path / "two.vrp"))

    assert (other["name"], other["dimension"], other["capacity"]) == ("two", 2, 10)
    assert other["node_coord"].tolist() == [[0, 0.5], [3, 4]]
    assert other["demand"].tolist() == [0, 2.5]
    assert other["depot"].tolist() == [0]


def test_another_reader_understands_a_written_matrix(tmp_path: Path) -> None:
    (tmp_path / "matrix.vrp").write_text(format_vrplib(make_instance(None, [0, 4], 10, distances=[[0, 7.5], [7.5, 0]])))

    assert vrplib.read_instance(str(tmp_path / "matrix.vrp"))["edge_weight"].tolist() == [[0, 7.5], [7.5, 0]]


@pytest.mark.parametrize("rounding, kind", [("none", "EXACT_2D"), ("nearest", "EUC_2D"), ("up", "CEIL_2D")])
def test_rounding_is_written_as_the_type_of_distances(rounding: str, kind: str) -> None:
    instance = make_instance([[0, 0], [3, 4]], [0, 4], 10, rounding=rounding)

    assert f"EDGE_WEIGHT_TYPE : {kind}\n" in format_vrplib(instance)


def test_names_of_customers_are_refused_with_formats_that_hold_them() -> None:
    with pytest.raises(UnsupportedError, match="names") as caught:
        format_vrplib(make_instance([[0, 0], [3, 4]], [0, 4], 10, customer_names=("Smith",)))

    assert ".csv" in caught.value.remedy
    assert ".json" in caught.value.remedy


def test_latitudes_are_refused_with_formats_that_hold_them() -> None:
    with pytest.raises(UnsupportedError, match="latitudes") as caught:
        format_vrplib(make_instance([[0, 0], [3, 4]], [0, 4], 10, metric="great_circle"))

    assert ".json" in caught.value.remedy


def test_unknown_fields_are_each_warned_of() -> None:
    text = format_vrplib(CUSTOMER).replace("TYPE : CVRP", "TYPE : CVRP\nAUTHOR : me\nYEAR : 2019")

    with pytest.warns(InputWarning) as warned:
        parse_vrplib(text)

    assert {str(warning.message).split()[2] for warning in warned} == {"AUTHOR", "YEAR"}


def test_15_9_a_line_of_blanks_is_refused_at_once() -> None:
    with pytest.raises(FormatError):  # the time grew with the square of the blanks: an hour for these
        parse_vrplib(f"NAME{' ' * 2_000_000}x\n")


@pytest.mark.parametrize("colon", [":", "  :", "\t:", " \t : "])
def test_blanks_before_a_colon_do_not_matter(colon: str) -> None:
    instance = make_instance([[0, 0], [3, 4]], [0, 2], 5)
    text = format_vrplib(instance)

    assert parse_vrplib(text.replace(" :", colon)) == instance
