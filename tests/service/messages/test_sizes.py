from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from policies import draw_instances

from dynaroute.formats import format_csv, format_vrplib
from dynaroute.problem.fleet import VehicleType
from dynaroute.service.messages.refusals import RequestError
from dynaroute.service.messages.sizes import ReadingLimits

LIMITS = ReadingLimits(customers=10, stops=20, vehicle_types=3, name_length=5)


@pytest.mark.parametrize("body", [b"{" * 2_000, b'"a":' * 2_000, b"," * 2_000, b"[" * 300_000])
def test_signs_of_too_much_json_are_413(body: bytes) -> None:
    with pytest.raises(RequestError) as caught:
        LIMITS.refuse_large_json(body)

    assert caught.value.status == 413


@pytest.mark.parametrize("text", ["1\n" * 1_000, "1\r" * 1_000, "\n" * 1_000, ";" * 1_000, "a" * 200_000])
def test_signs_of_too_large_a_table_are_413(text: str) -> None:
    with pytest.raises(RequestError) as caught:
        LIMITS.refuse_large_table(text)

    assert caught.value.status == 413


@pytest.mark.parametrize(
    "text", ["DIMENSION : 12\n", "1 1 1\n" * 1_000, "EDGE_WEIGHT_SECTION\n" + "1 " * 2_000, "A" + " " * 2_000]
)
def test_signs_of_too_large_a_vrp_file_are_413(text: str) -> None:
    with pytest.raises(RequestError) as caught:
        LIMITS.refuse_large_vrp(text)

    assert caught.value.status == 413


@pytest.mark.parametrize(("size", "is_refused"), [(150_000, False), (300_000, True), (30_000_000, True)])
def test_workbook_that_becomes_much_larger_is_413(size: int, is_refused: bool) -> None:
    content = BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b" " * size)
    with pytest.raises(RequestError) if is_refused else nullcontext() as caught:
        LIMITS.refuse_large_workbook(content.getvalue())

    assert caught is None or caught.value.status == 413
    LIMITS.refuse_large_workbook(b"no archive: its reader says so")


def test_largest_instance_passes() -> None:
    (instance,) = draw_instances(10)

    LIMITS.refuse_large_table(format_csv(instance))
    LIMITS.refuse_large_vrp(format_vrplib(instance))
    LIMITS.refuse_large_json(str([[1.5] * 11] * 11).encode())


def test_too_many_different_keys_are_413() -> None:
    customers = [{f"key{number}": 1} for number in range(10)]
    LIMITS.refuse_large_document({"customers": customers})

    with pytest.raises(RequestError) as caught:
        LIMITS.refuse_large_document({"customers": customers, **{f"more{number}": 1 for number in range(300)}})

    assert caught.value.status == 413


def test_15_3_lines_that_are_just_not_too_long_are_counted_quickly() -> None:
    LIMITS.refuse_large_table(f"{' ' * 99_000}\n" * 80)  # minutes, when each letter began a new search for the end


@pytest.mark.parametrize(
    ("vehicles", "field"),
    [([{"capacity": 1}] * 4, "vehicles"), ([{"capacity": 1}, {"capacity": 1, "name": "Mercury"}], "vehicles[1].name")],
    ids=["too many types", "a long name"],
)
def test_fleets_that_are_too_large_are_413(vehicles: list[dict[str, object]], field: str) -> None:
    with pytest.raises(RequestError) as caught:
        LIMITS.refuse_large_document({"customers": [], "vehicles": vehicles})

    assert (caught.value.status, caught.value.where.field) == (413, field)


def test_vehicles_that_a_text_tells_of_are_limited_too() -> None:
    (plain,) = draw_instances(5)
    for vehicles in ([VehicleType(9, f"v{number}") for number in range(4)], [VehicleType(9, "Mercury")]):
        with pytest.raises(RequestError) as caught:
            LIMITS.refuse_large_instance(replace(plain, vehicles=tuple(vehicles)))
        assert caught.value.status == 413
