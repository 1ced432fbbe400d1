"""Additional tables for an instance, given as FILE, or FILE#SHEET for a sheet of a workbook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dynaroute.base.errors import FormatError, OptionError, Where, in_file
from dynaroute.base.files import read_bytes, refuse_unreadable
from dynaroute.formats.registry import FORMATS, TABLE_SUFFIXES, require_suffix
from dynaroute.formats.tables.cells.cells import Grid
from dynaroute.formats.tables.cells.text_cells import choose_matrix_delimiter, cut_text
from dynaroute.formats.tables.cells.workbook import cut_workbook
from dynaroute.formats.tables.stops import has_header
from dynaroute.formats.text import decode_text
from dynaroute.roads.documents import parse_matrix
from dynaroute.roads.matrix import RoadMatrix

SideTable = tuple[Grid, str]  # its cells, and the file's path


def split_sheet(spec: str) -> tuple[str, str | None]:
    """Split FILE#SHEET into path and sheet, unless a file of that whole name exists."""
    path, sign, sheet = spec.rpartition("#")
    return (spec, None) if not sign or Path(spec).exists() else (path, sheet)


def cut_side_table(spec: str, what: str, cut: Callable[[str], Grid], has_header: Callable[[Grid], bool]) -> SideTable:
    """Read a table and cut it into cells.

    `what` names the table in messages, `cut` cuts a text, and `has_header` recognises the sheet if none is named.
    """
    path, sheet = split_sheet(spec)
    with in_file(path):
        refuse_unreadable(Path(path))
        suffix = require_suffix(Path(path), TABLE_SUFFIXES, what)
        content = read_bytes(Path(path))
        if FORMATS[suffix].has_sheets:
            return cut_workbook(content, sheet, has_header, path), path
        if sheet is not None:
            raise OptionError(
                f"a {suffix} file has no sheets.", where=Where(field=what), remedy="Give only the file's name."
            )
        return cut(decode_text(content)), path


def cut_legs(spec: str) -> SideTable | RoadMatrix:
    """Read a table of distances or durations and cut it into cells; .json is the answer of a routing service."""
    if spec.lower().endswith(".json"):
        with in_file(spec):
            refuse_unreadable(Path(spec))
            return parse_matrix(read_bytes(Path(spec)))

    def cut(text: str) -> Grid:
        return cut_text(text, lambda _: 0, choose_matrix_delimiter(text))

    # the stops may be in the same workbook, and they are not a matrix
    grid, source = cut_side_table(spec, "matrix", cut, lambda grid: len(grid.rows) > 1 and not has_header(grid, ()))
    if grid.sheet and has_header(grid, ()) and split_sheet(spec)[1] is None:
        raise FormatError(
            "no visible sheet contains a matrix.",
            where=Where(file=source, field="matrix"),
            remedy="Name the sheet: FILE#SHEET.",
        )
    return grid, source
