"""Verify finished parts: their checksums, and with `check` the routes and costs of all rows.

A checksum shows that a part was damaged or edited, but whoever forges a row can compute it too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dynaroute.base.display import count_of
from dynaroute.base.errors import SolutionError, Where, in_file
from dynaroute.scale.output.outcomes import RowOutcome, judge_outcome
from dynaroute.scale.output.parts import WrittenPart
from dynaroute.scale.rows import InputRow

_REMEDY = "Remove the part, and continue: --resume."


@dataclass(frozen=True)
class WrongRow:
    """A row that was written as correct, but fails `check`.

    Attributes
    ----------
    id, error
        The id, and what is wrong.
    file
        The output file that contains it.
    """

    id: str
    error: str
    file: str


def find_wrong_rows(part: WrittenPart, rows: Sequence[InputRow]) -> Iterator[WrongRow]:
    """Check every row of a part again.

    Parameters
    ----------
    part
        The part.
    rows
        Its rows of the input.

    Raises
    ------
    SolutionError
        If the part does not contain exactly these rows.
    """
    outcomes = {outcome.id: outcome for outcome in part.outcomes}
    with in_file(part.file):
        if missing := [row.id for row in rows if row.id not in outcomes]:
            raise SolutionError(f"the id {missing[0]!r} is missing.", remedy=_REMEDY)
        if len(part.outcomes) != len(rows):
            message = (
                f"expected {len(rows)} rows, found {len(part.outcomes)}: an id appears twice, or belongs elsewhere."
            )
            raise SolutionError(message, remedy=_REMEDY)
    for row in rows:
        if fault := _find_fault(row, outcomes[row.id]):
            yield WrongRow(row.id, fault, part.file)


def _find_fault(row: InputRow, outcome: RowOutcome) -> str:
    """Say what is wrong with an outcome, although it states no error; empty if nothing is."""
    if outcome.row != row.number:
        return f"it states the row {outcome.row}, but is row {row.number}."
    if outcome.error is not None:
        return ""
    if outcome.routes is None or outcome.cost is None or not outcome.checked:
        return "it states neither an error nor routes and a cost that were checked."
    try:
        judged = judge_outcome(row, outcome)
    except SolutionError as fault:
        return fault.message
    return "" if judged.checked else judged.error or row.error


def verify_part(part: WrittenPart, rows: Sequence[InputRow]) -> None:
    """Raise unless a part is as it was written, and its routes and costs are correct.

    Parameters
    ----------
    part
        The part.
    rows
        Its rows of the input.

    Raises
    ------
    SolutionError
        If rows are wrong, missing, or too many.
    FormatError
        If the checksum does not match.
    """
    if wrong := list(find_wrong_rows(part, rows)):
        more = f" In all, {count_of(len(wrong), 'row')} are wrong." if len(wrong) > 1 else ""
        message = f"id {wrong[0].id}: {wrong[0].error}{more}"
        raise SolutionError(message, where=Where(file=part.file), remedy=_REMEDY)
    part.verify()
