"""Tables that come as the file of a form."""

from __future__ import annotations

import io
import zipfile

import pytest
from openpyxl import Workbook
from test_reading import LIMITS, make_form

from dynaroute.base.errors import DynarouteError, InstanceError, Where
from dynaroute.service.messages.reading import Problem, read_problem
from dynaroute.service.messages.refusals import RequestError, describe_error
from dynaroute.service.messages.request_schemas import QueryOptions

ROWS = [("Kunde", "Breitengrad", "Längengrad", "Menge"), ("Depot", 53.5, 10.0, 0), ("A", 53.6, 10.1, 5)]
SOLOMON = """small

VEHICLE
NUMBER     CAPACITY
  2         10

CUSTOMER
CUST NO.  XCOORD.   YCOORD.    DEMAND   READY TIME  DUE DATE   SERVICE   TIME

    0      0         0          0          0       100          0
    1      3         4          5          0        50         10
"""


def make_workbook(count: int = 1) -> bytes:
    workbook = Workbook()
    for row in [*ROWS, *((f"B{number}", 53.7, 10.2, 1) for number in range(1, count))]:
        workbook.active.append(row)
    buffer = io.BytesIO()
    workbook.save(buffer)
    return buffer.getvalue()


def upload(name: str, content: bytes, capacity: bytes | None = b"10") -> Problem:
    parts = [(f'name="file"; filename="{name}"', content)]
    parts += [] if capacity is None else [('name="capacity"', capacity)]
    return read_problem(*make_form(*parts), QueryOptions(), LIMITS)


def test_a_workbook_is_read_with_its_notes() -> None:
    problem = upload("orders.xlsx", make_workbook())

    assert problem.instance.customer_names == ("A",)
    assert any("Menge as demand" in note for note in problem.notes)


@pytest.mark.parametrize("name", ["orders.tsv", "orders.txt"])
def test_a_text_with_tabs_is_read(name: str) -> None:
    text = "id\tx\ty\tdemand\nDepot\t0\t0\t0\nA\t1,5\t2\t2,5\n"

    assert upload(name, text.encode("utf-16")).instance.customer_names == ("A",)


def test_a_text_in_solomons_format_is_read() -> None:
    assert upload("small.txt", SOLOMON.encode(), None).instance.windows is not None


def test_a_workbook_without_a_capacity_says_that_it_lacks_one() -> None:
    with pytest.raises(DynarouteError) as caught:
        upload("orders.xlsx", make_workbook(), None)

    assert (caught.value.where.field, caught.value.where.line) == ("capacity", None)


def test_a_workbook_with_too_many_stops_is_refused() -> None:
    with pytest.raises(RequestError) as caught:
        upload("orders.xlsx", make_workbook(LIMITS.customers + 1))

    assert caught.value.status == 413


@pytest.mark.parametrize("count", [1, 1_200])
def test_a_workbook_that_becomes_large_is_refused_before_it_is_unpacked(count: int) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(count):
            archive.writestr(f"part{number}.xml", b" " * (5_000_000 if count == 1 else 10))
    with pytest.raises(RequestError) as caught:
        upload("orders.xlsx", buffer.getvalue())

    assert caught.value.status == 413


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x03\x04 and no more", b"id;x;y;demand\n", b"\xd0\xcf\x11\xe0"])
def test_what_is_no_workbook_is_refused(content: bytes) -> None:
    with pytest.raises(DynarouteError) as caught:
        upload("orders.xlsx", content)

    assert caught.value.remedy


def test_errors_have_the_shape_of_the_command_line() -> None:
    error = InstanceError("wrong.", where=Where("a.csv", 3, "demand", 2), remedy="Mend it.")

    assert describe_error(error).model_dump() == error.to_json()
