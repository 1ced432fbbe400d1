from __future__ import annotations

import math
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fleet_strategies import fleet_instances
from hypothesis import given
from hypothesis import strategies as st
from problems import make_instance
from strategies import instances

from dynaroute.base.errors import DynarouteError, FormatError, InputWarning, OptionError, UnsupportedError
from dynaroute.formats import read_set, write
from dynaroute.formats.sets.parquet import format_parquet, parse_parquet
from dynaroute.formats.sets.parquet_columns import COLUMNS
from dynaroute.problem.instance import Instance

PLAIN = {"coordinates": [[[0, 0], [3, 4], [6, 0]]], "demands": [[0, 4, 2]], "capacity": [10]}


def table(**columns: Any) -> bytes:
    buffer = pa.BufferOutputStream()
    pq.write_table(pa.table({name: cells for name, cells in {**PLAIN, **columns}.items() if cells is not None}), buffer)
    return bytes(buffer.getvalue())


def read_one(**columns: Any) -> Instance:
    (instance,) = parse_parquet(table(**columns), source="set.parquet")
    return instance


@given(st.lists(st.one_of(instances(), fleet_instances()), min_size=1, max_size=3))
def test_reading_gives_back_what_was_written(problems: list[Instance]) -> None:
    read = parse_parquet(format_parquet(problems))
    assert read == problems
    assert [each.name for each in read] == [each.name or str(number) for number, each in enumerate(problems, start=1)]


def test_a_file_is_read_and_written_by_its_suffix(tmp_path: Path) -> None:
    problem = make_instance([[0, 0], [3, 4]], [0, 4], 10)
    write([problem, problem], tmp_path / "set.parquet")
    assert read_set(tmp_path / "set.parquet") == [problem, problem]


def test_rows_without_an_id_are_called_after_the_file() -> None:
    assert read_one().name == "set-1"


@pytest.mark.parametrize("demands", [[4, 2], [0, 4, 2], [4.0, 2.0], [Decimal("4"), Decimal("2")]])
def test_the_depot_s_demand_may_be_left_out(demands: list[Any]) -> None:
    assert read_one(demands=[demands]).demands.tolist() == [0, 4, 2]


def test_decimal_demands_are_exact() -> None:
    instance = read_one(demands=[[0.1, 2.5]], capacity=[2.5])
    assert (instance.demands.tolist(), instance.capacity, instance.demand_scale) == ([0, 1, 25], 25, 10)


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.list_(pa.float32())),
        pa.large_list(pa.large_list(pa.float64())),
        pa.list_(pa.list_(pa.float64(), 2)),
        pa.list_(pa.list_(pa.int64())),
    ],
)
def test_lists_of_any_kind_hold_coordinates(kind: pa.DataType) -> None:
    coordinates = read_one(coordinates=pa.array(PLAIN["coordinates"], kind)).coordinates
    assert coordinates is not None
    assert coordinates.tolist() == [[0, 0], [3, 4], [6, 0]]


def test_distances_will_do_without_coordinates() -> None:
    instance = read_one(coordinates=None, distances=[[[0, 1, 2], [1, 0, 3], [2, 3, 0]]])
    assert instance.coordinates is None
    assert instance.distance_matrix[1, 2] == 3


def test_an_open_end_of_a_window_is_an_empty_cell() -> None:
    instance = read_one(windows=[[None, [5.0, None], [None, 9.0]]], speed=[1.0])
    assert instance.windows is not None
    assert instance.windows.tolist() == [[0, float("inf")], [5, float("inf")], [0, 9]]


def test_vehicles_are_structures() -> None:
    instance = read_one(capacity=None, vehicles=[[{"name": "van", "capacity": 6, "count": 2}, {"capacity": 4.5}]])
    assert [(kind.name, kind.capacity, kind.count) for kind in instance.fleet] == [("van", 60, 2), ("", 45, None)]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"capacity": None}, "there is no column capacity or vehicles"),
        ({"demands": ["4"]}, "field demands: this column has the type string. Use a list of numbers"),
        ({"demands": [[4, 99]]}, r"field demands\[0\], customer 2: "),
        ({"demands": [[4, 2, 2, 2]]}, r"field demands\[0\]: there are 4 demands, but 2 customers"),
        ({"demands": [None]}, r"field demands\[0\]: this column is empty"),
        ({"capacity": pa.array([None], pa.int64())}, r"field capacity\[0\]: this column is empty"),
        ({"rounding": ["sideways"]}, r"field rounding\[0\]"),
        ({"coordinates": [[[0, 0], [3], [6, 0]]]}, r"field coordinates\[0\]: its rows have different lengths"),
        ({"windows": [[[0, 1], [1, 2, 3], [0, 1]]], "speed": [1.0]}, r"field windows\[0\]: a window does not have two"),
        ({"windows": [[[0, 1], [1, 2], [0, 1]]]}, r"field speed\[0\]: there are time windows"),
        ({"vehicles": [[{"capacity": 10, "cost": 5}]]}, "a cost of vehicles, which is not supported"),
    ],
)
def test_a_fault_is_told_with_its_column_and_row(columns: dict[str, Any], words: str) -> None:
    with pytest.raises(DynarouteError, match=words):
        parse_parquet(table(**columns))


@pytest.mark.parametrize("change", [lambda content: content[:-10], lambda content: b"PAR1", lambda content: b"text"])
def test_what_is_no_parquet_file_is_refused(change: Callable[[bytes], bytes]) -> None:
    with pytest.raises(FormatError, match="not a valid Parquet file"):
        parse_parquet(change(table()))


def test_other_columns_are_told_of() -> None:
    with pytest.warns(InputWarning, match="ignored the columns colour"):
        read_one(colour=["red"])


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("time_windows", [[[0, 9], [0, 9], [0, 9]]]),
        ("distance_limit", [30.0]),
        ("open_route", [True]),
        ("demand_backhaul", [[0, 3]]),
        ("service_time", ["10 min"]),
        ("prizes", [[{"stop": 1, "prize": 5}]]),
    ],
)
def test_a_column_that_looks_like_a_constraint_is_refused_by_name(column: str, cells: list[Any]) -> None:
    with pytest.raises(UnsupportedError, match=f"field {column}: the column {column} looks like a constraint"):
        read_one(**{column: cells})


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("time_windows", [[[0.0, math.inf], [None, math.inf], None]]),
        ("distance_limit", [math.inf]),
        ("open_route", [False]),
        ("demand_backhaul", [[0, 0]]),
        ("service_time", [None]),
    ],
)
def test_a_column_that_says_nothing_is_told_of(column: str, cells: list[Any]) -> None:
    with pytest.warns(InputWarning, match=f"ignored the columns {column}"):
        read_one(**{column: cells})


def test_too_many_instances_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynaroute.base.limits.MOST_INSTANCES", 0)
    with pytest.raises(FormatError, match="more than the limit"):
        read_one()


def test_without_pyarrow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(OptionError, match=r"\[batch\]"):
        parse_parquet(b"")


@pytest.mark.parametrize("column", COLUMNS)
def test_every_column_is_on_the_page_about_scale(column: str) -> None:
    page = Path(__file__).parents[3] / "docs" / "scale.md"
    assert f"`{column}`" in page.read_text(encoding="utf-8")
