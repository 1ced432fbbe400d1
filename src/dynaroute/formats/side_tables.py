"""Tables that are given beside an instance's own file: FILE, or FILE#SHEET for a sheet of a workbook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dynaroute.errors import FormatError, OptionError, Where, in_file
from dynaroute.files import read_bytes, refuse_unreadable
from dynaroute.formats.table import FORMATS, TABLE_SUFFIXES, require_suffix
from dynaroute.formats.tables.cells import Grid
from dynaroute.formats.tables.stops import has_header
from dynaroute.formats.tables.text_cells import choose_matrix_delimiter, cut_text
from dynaroute.formats.tables.workbook import cut_workbook
from dynaroute.formats.text import decode_text

__all__ = ["SideTable", "cut_legs", "cut_side_table", "split_sheet"]

SideTable = tuple[Grid, str]  # its cells, and the file's path


def split_sheet(spec: str) -> tuple[str, str | None]:
    """A file's path, and the name of a sheet after a number sign; a file may have such a sign in its own name."""
    path, sign, sheet = spec.rpartition("#")
    return (spec, None) if not sign or Path(spec).exists() else (path, sheet)


def cut_side_table(spec: str, what: str, cut: Callable[[str], Grid], has_header: Callable[[Grid], bool]) -> SideTable:
    """Cut a table into cells.

    Parameters
    ----------
    spec
        The file, and its sheet where there are some.
    what
        What is expected there.
    cut
        How a text is cut.
    has_header
        Whether a sheet is the one that is meant, if none is named.
    """
    path, sheet = split_sheet(spec)
    with in_file(path):
        refuse_unreadable(Path(path))
        suffix = require_suffix(Path(path), TABLE_SUFFIXES, what)
        content = read_bytes(Path(path))
        if FORMATS[suffix].has_sheets:
            return cut_workbook(content, sheet, has_header, path), path
        if sheet is not None:
            raise OptionError(f"a {suffix} file has no sheets.", where=Where(field=what), remedy="Name the file alone.")
        return cut(decode_text(content)), path


def cut_legs(spec: str) -> SideTable:
    """Cut a table of distances or durations into cells.

    Parameters
    ----------
    spec
        The file, and its sheet where there are some.
    """

    def cut(text: str) -> Grid:
        return cut_text(text, lambda _: 0, choose_matrix_delimiter(text))

    # the stops may stand in the same workbook, and they are no matrix
    grid, source = cut_side_table(spec, "matrix", cut, lambda grid: len(grid.rows) > 1 and not has_header(grid, ()))
    if grid.sheet and has_header(grid, ()) and split_sheet(spec)[1] is None:
        raise FormatError(
            "no visible sheet holds a matrix.",
            where=Where(file=source, field="matrix"),
            remedy="Name the sheet: FILE#SHEET.",
        )
    return grid, source
