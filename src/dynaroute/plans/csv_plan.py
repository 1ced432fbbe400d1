"""Plans as CSV: one row per stop."""

from __future__ import annotations

import csv
from io import StringIO

from dynaroute.errors import FormatError
from dynaroute.formats.text import decode_text
from dynaroute.instance import Instance
from dynaroute.plans.plan import Plan
from dynaroute.plans.table import guard, list_columns, list_rows, solution_from_rows, unguard
from dynaroute.solution import Solution

__all__ = ["format_csv_plan", "parse_csv_plan"]


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


def parse_csv_plan(content: bytes, instance: Instance) -> Solution:
    """Read the routes of a plan; cells may be separated by commas, semicolons or tabs.

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
    return solution_from_rows(rows, instance)
