from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaroute.base.errors import InputWarning
from dynaroute.formats.vrplib.matrix import EDGE_WEIGHT_FORMATS, read_matrix
from dynaroute.formats.vrplib.outline import Field, Section, SectionLine


def section_of(rows: list[list[str]]) -> Section:
    return Section(1, [SectionLine(tokens, line) for line, tokens in enumerate(rows, start=2)])


def written(matrix: np.ndarray, layout: str) -> list[list[str]]:
    """The numbers of a matrix, laid out as TSPLIB defines each layout, independently of how it is read."""
    size = len(matrix)
    first, second = range(size), range(size)
    is_by_column = layout.endswith("COL")
    rows = []
    for outer in first:
        row = []
        for inner in second:
            i, j = (inner, outer) if is_by_column else (outer, inner)
            is_wanted = (
                layout == "FULL_MATRIX"
                or (layout.startswith("LOWER") and j < i)
                or (layout.startswith("UPPER") and j > i)
                or ("DIAG" in layout and i == j)
            )
            if is_wanted:
                row.append(str(int(matrix[i, j])))
        rows.append(row)
    return [row for row in rows if row]


@given(st.sampled_from(sorted(EDGE_WEIGHT_FORMATS)), st.integers(2, 7), st.data())
def test_every_layout_gives_the_matrix_back(layout: str, size: int, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, 99), min_size=size**2, max_size=size**2))
    matrix = np.triu(np.array(numbers).reshape(size, size), 1)
    matrix = matrix + matrix.T

    read = read_matrix(section_of(written(matrix, layout)), Field(layout, 1), size, "")

    assert np.array_equal(read, matrix)


@pytest.mark.parametrize("layout, other", [("LOWER_ROW", "UPPER_ROW"), ("UPPER_DIAG_ROW", "LOWER_DIAG_ROW")])
def test_lines_in_the_shape_of_the_other_triangle_are_believed(layout: str, other: str) -> None:
    matrix = np.array([[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]])

    with pytest.warns(InputWarning, match=f"file.vrp.*{layout}"):
        read = read_matrix(section_of(written(matrix, other)), Field(layout, 1), 4, "file.vrp")

    assert np.array_equal(read, matrix)


def test_lines_of_no_shape_follow_the_label() -> None:
    read = read_matrix(section_of([["1", "2", "4", "3"], ["5", "6"]]), Field("LOWER_ROW", 1), 4, "")

    assert read.tolist() == [[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]]
