"""Workbooks that hold far more than a table."""

from __future__ import annotations

import io

import pytest
from workbooks import make_archive, make_workbook, replace_in_archive

from dynaroute.base.errors import DynarouteError, FormatError
from dynaroute.base.limits import raise_limits
from dynaroute.formats.tables.cells.sheet_marks import read_marks
from dynaroute.formats.tables.cells.workbook import cut_workbook, find_excess
from dynaroute.formats.tables.stops import ReadingOptions
from dynaroute.formats.tables.xlsx import parse_xlsx

ROWS = [("# capacity: 10",), ("id", "x", "y", "demand"), ("depot", 0, 0, 0), ("a", 3, 4, 5)]
SHEET = "xl/worksheets/sheet1.xml"


def add_rows(rows: bytes) -> bytes:
    """A workbook with further rows, as XML, behind those of the table."""
    return replace_in_archive(
        make_workbook(ROWS), SHEET, lambda xml: xml.replace(b"</sheetData>", rows + b"</sheetData>")
    )


def refusal_of(content: bytes) -> DynarouteError:
    with pytest.raises(FormatError) as caught:
        parse_xlsx(content, ReadingOptions(), "")
    return caught.value


@pytest.mark.parametrize("row", [b"<row/>", b"<row></row>", b'<row ht="15"/>'])
def test_a_workbook_of_empty_rows_is_refused_by_its_size_when_unpacked(row: bytes) -> None:
    fault = refusal_of(add_rows(row * 1_000_000))

    assert "bytes when unpacked, more than the limit of" in fault.message
    assert "dynaroute --limits 10" in fault.remedy


def test_a_workbook_of_a_thousand_parts_is_refused() -> None:
    content = make_archive(**{f"part{number}_xml": "" for number in range(1_001)})

    assert refusal_of(content).message == "the workbook has more than 1000 parts."


def test_limits_on_workbooks_can_be_raised() -> None:
    content = add_rows(b"<row/>" * 300_000)
    assert find_excess(content) is not None

    with raise_limits(100):
        assert parse_xlsx(content, ReadingOptions(), "").size == 1


@pytest.mark.parametrize("row", ["<row/>", '<x:row spans="1:4"/>'])
def test_more_rows_than_a_sheet_can_have_are_refused_before_they_are_read(row: str) -> None:
    with raise_limits(10_000):
        fault = refusal_of(add_rows(row.encode() * 1_100_000))

    assert fault.message == "a sheet has more than 1048576 rows."


def test_empty_rows_behind_the_table_are_not_read() -> None:
    empty = b"".join(b'<row r="%d" ht="15"/>' % line for line in range(5, 20_000))
    content = add_rows(empty)

    assert read_marks(io.BytesIO(b"<sheetData><row r='4'><c r='A4'/></row>%s</sheetData>" % empty)).last_row == 4
    assert [row.line for row in cut_workbook(content, None, lambda grid: True, "").rows] == [2, 3, 4]


def test_a_row_far_below_the_table_is_read() -> None:
    row = b'<row r="90000"><c r="A90000" t="inlineStr"><is><t>b</t></is></c>%s</row>'
    cells = b"".join(b'<c r="%s90000"><v>%d</v></c>' % (column, 1) for column in (b"B", b"C", b"D"))

    assert parse_xlsx(add_rows(row % cells), ReadingOptions(), "").size == 2
