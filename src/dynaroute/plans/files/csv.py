"""Plans as CSV: one row per stop."""

from __future__ import annotations

import csv
from io import StringIO

from dynaroute.base.errors import FormatError
from dynaroute.formats.text import decode_text
from dynaroute.plans.files.table import (
    NamedStop,
    guard,
    list_columns,
    list_named_stops,
    list_rows,
    number_stops,
    unguard,
)
from dynaroute.plans.plan import Plan
from dynaroute.problem.instance import Instance
from dynaroute.problem.solution import Solution


def format_csv_plan(plan: Plan) -> str:
    """Write a plan as CSV.

    All texts are quoted, so that other separators, such as semicolons, cannot split them, and no part of them can
    become a formula.
    """
    text = StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_MINIMAL, lineterminator="\n")
    writer.writerow(map(guard, list_columns(plan)))
    careful = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    for row in list_rows(plan):
        careful.writerow([guard(cell) if isinstance(cell, str) else cell for cell in row])
    return text.getvalue()


def list_csv_stops(content: bytes) -> list[NamedStop]:
    """List the stops of a plan; cells may be separated by commas, semicolons or tabs.

    Raises
    ------
    DynarouteError
        If it is not such a table.
    """
    text = decode_text(content)
    header = text.partition("\n")[0]
    separator = max(",;\t", key=header.count)
    try:
        rows = [list(map(unguard, row)) for row in csv.reader(StringIO(text), delimiter=separator, strict=True)]
    except csv.Error as error:
        raise FormatError(f"this is not CSV: {error}.", remedy="Was the file cut off or edited by hand?") from error
    return list_named_stops(rows)


def parse_csv_plan(content: bytes, instance: Instance) -> Solution:
    """Read the routes of a plan, by the ids of the instance's customers.

    Raises
    ------
    DynarouteError
        If it is not such a table, or a stop has an unknown id.
    """
    return number_stops(list_csv_stops(content), instance)
