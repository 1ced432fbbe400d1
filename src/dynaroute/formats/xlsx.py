"""Tables in workbooks."""

from __future__ import annotations

from dynaroute.formats.tables.stops import Reading, has_header, parse_stops
from dynaroute.formats.tables.workbook import cut_workbook
from dynaroute.instance import Instance

__all__ = ["parse_xlsx"]


def parse_xlsx(content: bytes, reading: Reading, source: str) -> Instance:
    """Read an instance from a sheet of a workbook.

    Parameters
    ----------
    content
        The file. Formulas are read by the values that the file holds; no macro is run.
    reading
        Which sheet, and what the user said about its columns.
    source
        The file's path.

    Raises
    ------
    DynarouteError
        If it is no workbook, has no such sheet, or its table is no problem.
    """
    grid = cut_workbook(content, reading.sheet, lambda sheet: has_header(sheet, reading.columns), source)
    return parse_stops(grid, reading, source)
