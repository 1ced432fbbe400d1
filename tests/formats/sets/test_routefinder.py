from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from problems import make_instance

from dynaroute.base.errors import DynarouteError, FormatError, InputWarning, UnsupportedError
from dynaroute.draw.variants import VARIANTS, draw_variant_set
from dynaroute.formats import read, write
from dynaroute.formats.sets.npz import format_npz, parse_npz
from dynaroute.formats.sets.torch_set import parse_torch_set
from dynaroute.problem.fleet import VehicleType
from dynaroute.problem.instance import Instance
from dynaroute.problem.places import Place

ARRAYS = draw_variant_set(VARIANTS["ovrpltw"], 20, 3).arrays


def archive(**changes: Any) -> bytes:
    buffer = io.BytesIO()
    parts = {key: value for key, value in {**ARRAYS, **changes}.items() if value is not None}
    np.savez(buffer, **parts)
    return buffer.getvalue()


@pytest.fixture
def instances() -> list[Instance]:
    return draw_variant_set(VARIANTS["ovrpltw"], 20, 3).instances()


@pytest.mark.filterwarnings("ignore::dynaroute.base.errors.InputWarning")
def test_columns_and_depots_may_have_other_usual_shapes(instances: list[Instance]) -> None:
    flat = {key: ARRAYS[key][:, 0] for key in ("vehicle_capacity", "speed", "distance_limit", "open_route")}
    assert parse_npz(archive(**flat, service_time=ARRAYS["service_time"][:, 1:])) == instances


@pytest.mark.filterwarnings("ignore::dynaroute.base.errors.InputWarning")
def test_rules_that_say_nothing_leave_a_plain_instance() -> None:
    read = parse_npz(
        archive(
            distance_limit=np.full((3, 1), np.inf),
            open_route=np.zeros((3, 1), dtype=bool),
            time_windows=np.full((3, 21, 2), [0, np.inf]),
            service_time=None,
            demand_backhaul=np.zeros((3, 20)),
            backhaul_class=np.ones((3, 1)),
        )
    )
    assert all(instance.is_plain and not instance.parts_of_fleet for instance in read)


def test_whole_demands_are_read_as_they_are(instances: list[Instance]) -> None:
    whole = np.rint(ARRAYS["demand_linehaul"] * 30)
    assert parse_npz(archive(demand_linehaul=whole, vehicle_capacity=np.full((3, 1), 30))) == instances


def test_demands_that_are_no_fractions_of_a_capacity_are_refused() -> None:
    irrational = np.full((3, 20), np.pi / 10, dtype=np.float32) ** np.arange(1, 21)
    with pytest.raises(FormatError, match="not whole fractions") as caught:
        parse_npz(archive(demand_linehaul=irrational))
    assert caught.value.where.field == "demand_linehaul[0]"


@pytest.mark.filterwarnings("ignore::dynaroute.base.errors.InputWarning")
def test_tensors_are_read_as_arrays_are(instances: list[Instance]) -> None:
    buffer = io.BytesIO()
    torch.save({key: torch.from_numpy(value) for key, value in ARRAYS.items()}, buffer)
    assert parse_torch_set(buffer.getvalue()) == instances


@pytest.mark.filterwarnings("ignore::dynaroute.base.errors.InputWarning")
def test_pomos_tensors_are_read() -> None:
    drawn = draw_variant_set(VARIANTS["cvrp"], 50, 3)
    locs, buffer = torch.from_numpy(drawn.arrays["locs"]), io.BytesIO()
    demand = torch.from_numpy(drawn.arrays["demand_linehaul"])
    torch.save({"depot_xy": locs[:, :1], "node_xy": locs[:, 1:], "node_demand": demand}, buffer)
    assert parse_torch_set(buffer.getvalue()) == drawn.instances()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"locs": None}, "locs"),
        ({"vehicle_capacity": None}, "vehicle_capacity"),
        ({"vehicle_capacity": np.ones((3, 2))}, "vehicle_capacity"),
        ({"locs": np.zeros((3, 20, 2))}, "locs"),
        ({"locs": np.zeros(3)}, "locs"),
        ({"demand_linehaul": np.zeros(3)}, "demand_linehaul"),
        ({"time_windows": np.zeros((3, 20, 2))}, "time_windows"),
        ({"service_time": np.zeros((2, 21))}, "service_time"),
        ({"distance_limit": np.full((3, 1), -1.0)}, "distance_limit[0]"),
        ({"distance_limit": np.full((3, 1), np.nan)}, "distance_limit[0]"),
        ({"time_windows": np.full((3, 21, 2), np.nan)}, "time_windows[0]"),
        ({"vehicle_capacity": np.zeros((3, 1))}, "vehicle_capacity[0]"),
        ({"speed": np.zeros((3, 1))}, "speed[0]"),
        ({"open_route": np.full((3, 1), 0.5)}, "open_route[0]"),
        ({"demand_backhaul": np.ones((3, 20))}, "backhaul_class[0]"),
        ({"demand_backhaul": np.ones((3, 20)), "backhaul_class": np.full((3, 1), 3)}, "backhaul_class[0]"),
        ({"num_depots": np.full((3, 1), 3)}, "num_depots[0]"),
        ({"service_time": np.ones((3, 21))}, "service_time[0]"),
    ],
)
@pytest.mark.filterwarnings("ignore::dynaroute.base.errors.InputWarning")
def test_a_faulty_array_is_refused_by_name(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(DynarouteError) as caught:
        parse_npz(archive(**changes))
    assert caught.value.where.field == field
    assert caught.value.remedy


def test_another_array_that_looks_like_a_constraint_is_still_refused() -> None:
    with pytest.raises(UnsupportedError, match="max_stops"):
        parse_npz(archive(max_stops=np.full((3, 1), 4)))


@pytest.mark.parametrize("name", sorted(set(VARIANTS) - {"cvrp"}))
@pytest.mark.parametrize("size", [20, 50])
@pytest.mark.filterwarnings("ignore::dynaroute.base.errors.InputWarning")
def test_a_set_is_written_back_as_it_was(name: str, size: int) -> None:
    drawn = draw_variant_set(VARIANTS[name], size, 5)
    arrays = drawn.arrays
    with np.load(io.BytesIO(format_npz(parse_npz(drawn.to_npz())))) as written:
        assert set(written) == set(arrays)
        for key, values in arrays.items():
            assert written[key].dtype == values.dtype
            assert np.array_equal(written[key], values), key


def limited(capacity: int, x: float) -> Instance:
    return make_instance([[0, 0], [x, 4]], [0, 4], capacity, vehicles=(VehicleType(capacity, max_distance=99.5),))


@pytest.mark.parametrize("x", [3.0, 0.1])
@pytest.mark.parametrize("capacities", [(10, 10), (10, 30), (1_000_003, 1_000_003)])
@pytest.mark.filterwarnings("ignore::dynaroute.base.errors.InputWarning")
def test_what_32_bits_cannot_hold_is_written_in_full(capacities: tuple[int, int], x: float) -> None:
    mixed = [
        limited(capacities[0], x),
        make_instance([[0, 0], [x, 4]], [0, 3], capacities[1], windows=[[0, 9], [1, np.inf]], speed=2.0),
    ]
    assert parse_npz(format_npz(mixed)) == mixed


TWO_DEPOTS = (VehicleType(9), VehicleType(9, "late", start="yard"))
ONE_WAY = (VehicleType(9), VehicleType(9, start="yard", end="depot"))


@pytest.mark.parametrize(
    ("changes", "thing"),
    [
        ({"vehicles": (VehicleType(9, count=2),)}, "at each depot"),
        ({"vehicles": (VehicleType(9), VehicleType(5, max_distance=3.0))}, "at each depot"),
        ({"windows": [[0, 9], [1, 5]]}, "times without a speed"),
        ({"windows": [[0, 9], [1, 5]], "durations": [[0, 1], [1, 0]]}, "travel times"),
        ({"windows": [[0, 9], [1, 5]], "speed": 1.0, "demand_scale": 10, "capacity": 11}, "decimal demands"),
        ({"prizes": [np.inf, 3.0]}, "customers with a prize"),
        ({"pickups": [0, 2], "backhauls": "strict"}, "strict backhauls"),
        ({"places": (Place("yard", 1, 1),)}, "at each depot"),
        ({"places": (Place("yard", 1, 1, loading=5),), "vehicles": TWO_DEPOTS}, "loading times"),
        ({"places": (Place("yard", 1, 1),), "vehicles": ONE_WAY}, "at each depot"),
    ],
)
def test_what_the_arrays_cannot_hold_is_refused_by_name(changes: dict[str, Any], thing: str) -> None:
    with pytest.raises(UnsupportedError, match=thing) as caught:
        format_npz([replace(make_instance([[0, 0], [3, 4]], [0, 3], 9), **changes)])
    assert ".json" in caught.value.remedy


def test_the_note_of_fractions_comes_once() -> None:
    with pytest.warns(InputWarning, match="1/30") as warned:
        parse_npz(archive())
    assert len(warned) == 1


def test_sets_of_different_numbers_of_depots_are_refused() -> None:
    one = make_instance([[0, 0], [3, 4]], [0, 3], 9, windows=[[0, 9], [1, 5]], speed=1.0)
    two = replace(one, places=(Place("yard", 1, 1),), vehicles=TWO_DEPOTS)
    with pytest.raises(UnsupportedError, match="different sizes"):
        format_npz([one, two])


@pytest.mark.parametrize("suffix", [".json", ".csv", ".vrp", ".txt", ".parquet"])
def test_other_formats_hold_backhauls_or_refuse_them_by_name(tmp_path: Path, suffix: str) -> None:
    instance = draw_variant_set(VARIANTS["vrpb"], 20, 1).instances()[0]
    try:
        write(instance, tmp_path / f"set{suffix}")
    except UnsupportedError as error:
        assert "backhauls" in str(error)
    else:
        assert read(tmp_path / f"set{suffix}") == instance
