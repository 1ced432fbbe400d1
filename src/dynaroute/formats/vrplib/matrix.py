"""The EDGE_WEIGHT_SECTION of a CVRPLIB file: a matrix in one of several orders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynaroute.base.errors import FormatError, InstanceError, UnsupportedError, Where, warn_of_input
from dynaroute.formats.numbers import is_number, parse_float, refuse_unmeasurable
from dynaroute.formats.vrplib.outline import Field, Section

# A triangle read by columns gives the same numbers as the other triangle read by rows.
_RISING = frozenset({"LOWER_ROW", "UPPER_COL", "LOWER_DIAG_ROW", "UPPER_DIAG_COL"})
_FALLING = frozenset({"UPPER_ROW", "LOWER_COL", "UPPER_DIAG_ROW", "LOWER_DIAG_COL"})
EDGE_WEIGHT_FORMATS = frozenset({"FULL_MATRIX"}) | _RISING | _FALLING

_SECTION = "EDGE_WEIGHT_SECTION"


@dataclass(frozen=True)
class _Weights:
    """The section's numbers in the file's order, and how many are on each line."""

    values: NDArray[np.float64]
    counts: list[int]


def read_matrix(section: Section, layout: Field, size: int, source: str) -> NDArray[np.float64]:
    """Read a full matrix of `size` nodes; `layout` is the EDGE_WEIGHT_FORMAT, `source` the file for warnings."""
    name = layout.value.upper()
    if name not in EDGE_WEIGHT_FORMATS:
        raise UnsupportedError(
            f"the matrix format {layout.value!r} is unknown.",
            where=Where(line=layout.line, field="EDGE_WEIGHT_FORMAT"),
            remedy=f"Known formats are {', '.join(sorted(EDGE_WEIGHT_FORMATS))}.",
        )
    has_diagonal = name == "FULL_MATRIX" or "DIAG" in name
    expected = size * size if name == "FULL_MATRIX" else size * (size + (1 if has_diagonal else -1)) // 2
    weights = _read_weights(section, expected)
    rows, columns = _positions(name, has_diagonal, size, weights.counts, source)

    matrix = np.zeros((size, size))
    matrix[rows, columns] = weights.values
    if name != "FULL_MATRIX":
        matrix[columns, rows] = weights.values
    if np.diagonal(matrix).any():
        warn_of_input(source, "the diagonal of the matrix is not 0; it was ignored, since it is never driven.")
    return matrix


def _read_weights(section: Section, expected: int) -> _Weights:
    counts = [len(row.tokens) for row in section.rows]
    if sum(counts) != expected:
        raise FormatError(
            f"the matrix has {sum(counts)} numbers instead of {expected}.",
            where=Where(line=section.line, field=_SECTION),
            remedy="Check DIMENSION and EDGE_WEIGHT_FORMAT, and whether the file was cut off.",
        )
    values = np.array([_weight(token, row.line) for row in section.rows for token in row.tokens], dtype=np.float64)
    return _Weights(values, counts)


def _weight(token: str, line: int) -> float:
    value = float(token) if is_number(token) else parse_float(token, Where(line=line, field=_SECTION))
    if 0 <= value < 1e9:
        return value
    where = Where(line=line, field=_SECTION)  # created only here, because a matrix may have millions of numbers
    if value < 0:
        raise InstanceError(f"the distance {token} is negative.", where=where, remedy="Distances are 0 or more.")
    return refuse_unmeasurable(value, where)


def _positions(
    name: str, has_diagonal: bool, size: int, counts: list[int], source: str
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return row and column of each number, in the file's order."""
    if name == "FULL_MATRIX":
        rows, columns = np.divmod(np.arange(size * size), size)
        return rows, columns
    rising = list(range(1, size + 1 if has_diagonal else size))
    follows_rising = name in _RISING
    shape, other_shape = (rising, rising[::-1]) if follows_rising else (rising[::-1], rising)
    # CVRPLIB's E-n13-k4 and E-n31-k7 call their upper triangle LOWER_ROW; the line lengths tell the truth
    if counts == other_shape and counts != shape:
        warn_of_input(
            source, f"{name} is stated, but the lines of {_SECTION} have the shape of the other triangle; read as such."
        )
        follows_rising = not follows_rising
    offset = 0 if has_diagonal else 1
    return np.tril_indices(size, -offset) if follows_rising else np.triu_indices(size, offset)
