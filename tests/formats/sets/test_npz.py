from __future__ import annotations

import io
import os
import tracemalloc
import zipfile
from typing import Any

import numpy as np
import pytest
from problems import make_instance

from dynaroute.base.errors import DynarouteError, FormatError, InputWarning, InstanceError, UnsupportedError
from dynaroute.formats.sets.npz import format_npz, parse_npz
from dynaroute.problem.instance import Instance


def arrays(count: int = 2, size: int = 3, **changes: Any) -> dict[str, Any]:
    return {
        "depot": np.zeros((count, 2)),
        "locs": np.ones((count, size, 2)),
        "demand": np.full((count, size), 4),
        "capacity": np.full(count, 10.0),
        **changes,
    }


def archive(**parts: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **parts)
    return buffer.getvalue()


class Explosive:
    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (1,)


def test_a_set_is_read() -> None:
    instances = parse_npz(archive(**arrays()), source="folder/set.npz")

    assert instances == [make_instance([[0, 0], [1, 1], [1, 1], [1, 1]], [0, 4, 4, 4], 10)] * 2
    assert [instance.name for instance in instances] == ["set-1", "set-2"]


@pytest.mark.parametrize("capacity", [np.array(10), np.array([10, 10]), np.float32(10)])
def test_one_capacity_may_stand_for_all(capacity: Any) -> None:
    assert [instance.capacity for instance in parse_npz(archive(**arrays(capacity=capacity)))] == [10, 10]


@pytest.mark.parametrize("kind", ["f4", "f8", ">f8", "i4", "u1", "u8"])
def test_whole_demands_may_be_stored_in_any_kind_of_number(kind: str) -> None:
    demand = np.full((2, 3), 4, dtype=kind)

    assert parse_npz(archive(**arrays(demand=demand)))[0].demands.tolist() == [0, 4, 4, 4]


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_decimals_are_those_the_floats_are_written_with(kind: str) -> None:
    instance = parse_npz(archive(**arrays(demand=np.full((2, 3), 0.1, dtype=kind))))[0]

    assert (instance.demands.tolist(), instance.capacity, instance.demand_scale) == ([0, 1, 1, 1], 100, 10)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_demands_divided_by_the_capacity_become_whole_again(kind: type[np.floating[Any]]) -> None:
    demand = np.array([[1, 14, 15], [29, 1, 30]]) / 30

    with pytest.warns(InputWarning, match="multiples of 1/30") as warned:
        instances = parse_npz(archive(**arrays(demand=demand.astype(kind), capacity=np.ones(2, dtype=kind))))

    assert [instance.demands.tolist() for instance in instances] == [[0, 1, 14, 15], [0, 29, 1, 30]]
    assert {(instance.capacity, instance.demand_scale) for instance in instances} == {(30, 1)}
    assert len(warned) == 1


def test_demands_divided_by_something_else_are_refused_with_the_remedy() -> None:
    with pytest.raises(InstanceError, match="decimals") as caught:
        parse_npz(archive(**arrays(demand=np.full((2, 3), np.pi / 10) ** [1, 2, 3], capacity=np.ones(2))))

    assert "original demands" in caught.value.remedy


def test_short_decimals_of_a_capacity_of_one_stay_what_they_are() -> None:
    instances = parse_npz(archive(**arrays(demand=np.full((2, 3), 0.25), capacity=np.ones(2))))

    assert (instances[0].capacity, instances[0].demand_scale) == (100, 100)


@pytest.mark.parametrize("key", ["depot", "locs", "demand", "capacity"])
def test_a_missing_array_is_named(key: str) -> None:
    parts = arrays()
    del parts[key]

    with pytest.raises(FormatError) as caught:
        parse_npz(archive(**parts))

    assert caught.value.where.field == key


@pytest.mark.parametrize(
    "key, value",
    [
        ("depot", np.zeros((2, 3))),
        ("depot", np.zeros(2)),
        ("depot", np.zeros(())),
        ("locs", np.ones((3, 3, 2))),
        ("locs", np.ones((2, 6))),
        ("locs", np.ones((2, 3, 3))),
        ("demand", np.ones((2, 4))),
        ("demand", np.ones(6)),
        ("capacity", np.ones(3)),
        ("capacity", np.ones((2, 2))),
        ("demand", np.full((2, 3), "4")),
        ("demand", np.full((2, 3), True)),
        ("locs", np.ones((2, 3, 2)) * 1j),
    ],
)
def test_an_array_of_another_shape_or_kind_is_named(key: str, value: Any) -> None:
    with pytest.raises(FormatError) as caught:
        parse_npz(archive(**arrays(**{key: value})))

    assert caught.value.where.field == key
    assert caught.value.remedy


def test_objects_are_refused_without_being_built() -> None:
    demand = np.full((2, 3), None)
    demand[0, 0] = Explosive()

    with pytest.raises(FormatError, match="objects"):
        parse_npz(archive(**arrays(demand=demand)))


@pytest.mark.parametrize(
    "key, value, field",
    [
        ("demand", -1, "demand[1]"),
        ("demand", 11, "demand[1]"),
        ("demand", np.nan, "demand[1]"),
        ("demand", np.inf, "demand[1]"),
        ("capacity", 0, "capacity[1]"),
        ("capacity", np.nan, "capacity[1]"),
        ("capacity", 1e10, "capacity[1]"),
        ("depot", np.nan, "depot[1]"),
        ("depot", 1e200, "depot[1]"),
        ("locs", np.inf, "locs[1]"),
    ],
)
def test_the_instance_at_fault_is_named(key: str, value: float, field: str) -> None:
    parts = {name: array.astype(np.float64) for name, array in arrays().items()}
    parts[key][(1,) + (-1,) * (parts[key].ndim - 1)] = value

    with pytest.raises(InstanceError) as caught:
        parse_npz(archive(**parts))

    assert caught.value.where.field == field
    assert caught.value.where.customer == (3 if key in ("demand", "locs") else None)


def test_no_instances_and_no_customers() -> None:
    assert parse_npz(archive(**arrays(count=0))) == []
    with pytest.raises(InstanceError, match="no customer"):
        parse_npz(archive(**arrays(size=0)))


def test_extra_arrays_are_ignored_with_a_warning() -> None:
    with pytest.warns(InputWarning, match="note"):
        assert len(parse_npz(archive(**arrays(note=np.full(1, None))))) == 2


@pytest.mark.parametrize(
    "key, value",
    [
        ("time_windows", np.full((2, 4, 2), [0.0, 9.0])),
        ("durations", np.full((2, 4), 0.5)),
        ("distance_limit", np.full((2, 1), 3.0)),
        ("open_route", np.array([[True], [False]])),
        ("open_route", np.full((2, 1), None)),
        ("service_time", np.full((2, 3), "10 min")),
        ("travel_cost_matrix", np.ones((2, 4, 4))),
        ("w", np.full((2, 3), 2.0)),
    ],
)
def test_an_array_that_routes_may_depend_on_is_refused_by_name(key: str, value: Any) -> None:
    with pytest.raises(UnsupportedError, match=f"the array {key} "):
        parse_npz(archive(**arrays(**{key: value})))


def test_arrays_that_say_nothing_are_ignored_with_a_warning() -> None:
    silent: dict[str, Any] = {
        "time_windows": np.full((2, 4, 2), [0.0, np.inf], dtype=np.float32),
        "distance_limit": np.full((2, 1), np.inf),
        "open_route": np.zeros((2, 1), dtype=bool),
    }
    with pytest.warns(InputWarning, match="ignored the arrays time_windows, distance_limit"):
        assert parse_npz(archive(**arrays(**silent))) == parse_npz(archive(**arrays()))


def test_a_constraint_that_comes_twice_may_not_hide_behind_the_last() -> None:
    member = io.BytesIO()
    np.save(member, np.zeros((2, 3)))
    buffer = io.BytesIO(archive(**arrays(service=np.ones((2, 3)))))
    with zipfile.ZipFile(buffer, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr("service.npy", member.getvalue())

    with pytest.raises(UnsupportedError, match="service"):
        parse_npz(buffer.getvalue())


def test_a_constraint_that_unpacks_to_far_too_much_is_refused_unread() -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays(limits=np.zeros(30_000_000, dtype=np.uint8)))
    tracemalloc.start()
    with pytest.raises(UnsupportedError, match="limits"):
        parse_npz(buffer.getvalue())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize("content", [b"PK", b"no archive at all", b"\x93NUMPY\x01\x00"])
def test_what_is_no_archive_is_refused(content: bytes) -> None:
    with pytest.raises(FormatError, match="archive"):
        parse_npz(content)


def packed(demand: bytes, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive whose demands are the given bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for key, array in arrays().items():
            member = io.BytesIO()
            np.save(member, array)
            file.writestr(f"{key}.npy", demand if key == "demand" else member.getvalue())
    return buffer.getvalue()


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_15_9_compression_that_is_unpacked_in_one_go_is_refused(compression: int) -> None:
    bomb = packed(bytes(30_000_000), compression)  # of which Python would unpack everything to see its header

    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="compression that numpy does not"):
            parse_npz(bomb)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_an_array_that_announces_more_than_it_has_is_refused_before_room_is_made() -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)})

    with pytest.raises(FormatError, match="declares"):
        parse_npz(packed(header.getvalue()))


def described(header: bytes, values: bytes = b"") -> bytes:
    """An array in numpy's file format, with any text for its description."""
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + values


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': oh no}",
        b"{'descr': '<f8', 'shape': (2",  # a bracket that stays open
        b"{'descr': '''<f8', }",  # a quotation that does
        b"{'descr': '<,8', 'fortran_order': False, 'shape': (2, 3), }",  # a kind that is none
    ],
)
def test_a_damaged_array_is_refused(header: bytes) -> None:
    with pytest.raises(FormatError, match="not a valid"):
        parse_npz(packed(described(header)))


def test_an_array_of_python_2_is_read_without_a_word() -> None:
    demand = arrays()["demand"].astype("<i8")
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({demand.shape[0]}L, {demand.shape[1]}L), }}\n"

    assert parse_npz(packed(described(header.encode(), demand.tobytes()))) == parse_npz(archive(**arrays()))


def test_the_complaint_about_a_damaged_archive_is_short() -> None:
    content = archive(**arrays()).replace(b"depot.npy", b"depot" + b"y" * 4, 1)

    with pytest.raises(FormatError, match="not a valid") as caught:
        parse_npz(content)

    assert len(str(caught.value)) < 200


def test_an_archive_that_lies_about_the_size_of_an_array_is_refused_unread() -> None:
    content = archive(**arrays())
    # the size of each member stands in the directory at the end, 24 bytes after its signature
    start = content.index(b"PK\x01\x02")
    inflated = content[: start + 24] + (2 * 10**9).to_bytes(4, "little") + content[start + 28 :]

    with pytest.raises(FormatError, match="declares 4 values, but has 1999999872 bytes"):
        parse_npz(inflated)


def test_an_array_that_comes_twice_is_refused() -> None:
    buffer = io.BytesIO(archive(**arrays()))
    with zipfile.ZipFile(buffer, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr("demand.npy", b"")

    with pytest.raises(FormatError, match="twice"):
        parse_npz(buffer.getvalue())


def test_every_flipped_byte_is_refused_or_harmless() -> None:
    content = archive(**arrays())
    for position in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[position] ^= 0x55
        try:
            parse_npz(bytes(damaged))
        except DynarouteError as error:
            assert error.remedy


PLAIN = make_instance([[0, 0], [3, 4]], [0, 4], 10)


@pytest.mark.parametrize(
    "instances, thing",
    [
        ([make_instance(None, [0, 4], 10, distances=[[0, 1], [1, 0]])], "matrix"),
        ([make_instance([[0, 0], [3, 4]], [0, 4], 10, customer_names=("a",))], "names"),
        ([make_instance([[0, 0], [3, 4]], [0, 4], 10, metric="great_circle")], "latitudes"),
        ([make_instance([[0, 0], [3, 4]], [0, 4], 10, rounding="up")], "rounded"),
        ([PLAIN, make_instance([[0, 0]] * 3, [0, 4, 4], 10)], "different sizes"),
    ],
)
def test_what_the_arrays_cannot_hold_is_refused_by_name(instances: list[Instance], thing: str) -> None:
    with pytest.raises(UnsupportedError, match=thing) as caught:
        format_npz(instances)

    assert ".json" in caught.value.remedy


def test_instances_of_different_scales_share_a_file() -> None:
    decimal = make_instance([[0, 0], [3, 4]], [0, 41], 100, demand_scale=10)

    assert parse_npz(format_npz([PLAIN, decimal])) == [PLAIN, decimal]
