"""Nearest neighbours by a tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaroute.search.core.neighbours import grow_tree, list_nearest_points


@given(st.integers(1, 200), st.integers(2, 3), st.integers(0, 10**6), st.sampled_from((3, 1000)), st.data())
def test_the_nearest_are_those_of_a_look_at_all(
    count: int, axes: int, seed: int, grid: int, data: st.DataObject
) -> None:
    points = np.random.default_rng(seed).integers(0, grid, (count + 1, axes)).astype(float)
    wanted = data.draw(st.integers(0, count - 1))
    nearest = np.empty((count + 1, wanted), dtype=np.int32)
    list_nearest_points(grow_tree(points, 1), 0, nearest)
    away = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    np.fill_diagonal(away, np.inf)
    away[:, 0] = np.inf  # the depot is nobody's neighbour
    expected = np.sort(away, axis=1)[:, :wanted]
    assert (np.take_along_axis(away, nearest.astype(np.int64), axis=1) == expected).all()
    assert all(len(set(row)) == wanted for row in nearest.tolist())


def test_any_rows_can_be_listed_alone() -> None:
    points = np.random.default_rng(1).random((50, 2))
    tree = grow_tree(points, 1)
    every, some = np.empty((50, 7), dtype=np.int32), np.empty((5, 7), dtype=np.int32)
    list_nearest_points(tree, 0, every)
    list_nearest_points(tree, 20, some)
    assert some.tolist() == every[20:25].tolist()


def test_points_in_one_place_are_all_listed() -> None:
    nearest = np.empty((101, 99), dtype=np.int32)
    list_nearest_points(grow_tree(np.zeros((101, 2)), 1), 0, nearest)
    assert sorted(nearest[1].tolist()) == pytest.approx(list(range(2, 101)))
