"""Tables in Excel workbooks."""

from __future__ import annotations

from dynaroute.formats.tables.cells.workbook import cut_workbook
from dynaroute.formats.tables.stops import ReadingOptions, has_header, has_places, parse_stops
from dynaroute.problem.instance import Instance


def parse_xlsx(content: bytes, reading: ReadingOptions, source: str) -> Instance:
    """Read an instance from a sheet of a workbook.

    Parameters
    ----------
    content
        The file. Formulas are read as their stored values; macros are never run.
    reading
        The user's options: which sheet, and what its columns mean.
    source
        The file's path.

    Raises
    ------
    DynarouteError
        If it is not a workbook, has no such sheet, or its table is not a valid problem.
    """
    grid = cut_workbook(
        content,
        reading.sheet,
        lambda sheet: has_header(sheet, reading.columns, reading.ignored),
        source,
        lambda sheet: has_places(sheet, reading.columns, reading.ignored),
    )
    return parse_stops(grid, reading, source)
