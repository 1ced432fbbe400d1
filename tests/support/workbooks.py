"""Small workbooks and other files for the tests of tables."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

from openpyxl import Workbook

__all__ = ["make_archive", "make_workbook", "replace_in_archive"]

Rows = Sequence[Sequence[object]]


def make_workbook(*sheets: Rows | tuple[str, Rows], change: Callable[[Any], None] | None = None) -> bytes:
    """A workbook with these rows in its sheets.

    Parameters
    ----------
    sheets
        Rows, or a name and rows; "Sheet1" and so on where there is no name.
    change
        What is done to it before it is saved.
    """
    workbook = Workbook()
    workbook.remove(workbook.active)
    for number, given in enumerate(sheets, start=1):
        name, rows = given if len(given) == 2 and isinstance(given[0], str) else (f"Sheet{number}", given)
        sheet = workbook.create_sheet(str(name))
        for row in rows:
            sheet.append(list(row))  # type: ignore[call-overload]
    if change is not None:
        change(workbook)
    buffer = io.BytesIO()
    workbook.save(buffer)
    return buffer.getvalue()


def make_archive(**members: str | bytes) -> bytes:
    """A ZIP archive; two underscores in a member's name stand for a slash, one before the suffix for a point."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/").replace("_xml", ".xml").replace("_bin", ".bin"), content)
    return buffer.getvalue()


def replace_in_archive(content: bytes, member: str, change: Callable[[bytes], bytes]) -> bytes:
    """An archive with one member changed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name == member else old.read(name))
    return buffer.getvalue()
