"""Hypothesis strategies for whole problems and for solutions of them."""

from __future__ import annotations

from typing import Literal

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from dynaroute.problem.instance import LARGEST_INTEGER, Instance
from dynaroute.problem.lengths import Metric, Rounding
from dynaroute.problem.solution import Solution

Placement = Literal["plane", "globe", "matrix", "matrix and plane", "matrix and globe"]


def _floats(largest: float) -> st.SearchStrategy[float]:
    """Numbers none of which is so small that its square is nothing: such positions are refused."""
    return st.floats(-largest, largest).map(lambda number: number if abs(number) > 1e-100 else 0.0)


_ANY_PLACEMENT: SearchStrategy[Placement] = st.sampled_from(
    ("plane", "globe", "matrix", "matrix and plane", "matrix and globe")
)
_ANY_ROUNDING: SearchStrategy[Rounding] = st.sampled_from(("none", "nearest", "up"))
_LABELS = st.text(
    st.characters(codec="utf-8", categories=("L", "M", "N", "P", "S"), include_characters=" \u200c"),
    min_size=1,
    max_size=8,
).map(str.strip)
_NUMBERS = st.one_of(st.integers(-20, 20).map(float), _floats(1000), _floats(1e6), st.decimals(-99, 99, places=2)).map(
    float
)


_SIZES = st.integers(1, 12)
_SCALES = st.sampled_from((1, 10, 1000))
_YES_OR_NO = st.booleans()


@st.composite
def instances(
    draw: DrawFn,
    *,
    sizes: SearchStrategy[int] = _SIZES,
    placements: SearchStrategy[Placement] = _ANY_PLACEMENT,
    roundings: SearchStrategy[Rounding] = _ANY_ROUNDING,
    scales: SearchStrategy[int] = _SCALES,
    named: SearchStrategy[bool] = _YES_OR_NO,
) -> Instance:
    """Any problem: shared places, demands of 0 and of a whole vehicle, tiny and huge capacities, all metrics.

    A test that wants less narrows a part: ``instances(placements=st.just("plane"), named=st.just(False))``.
    """
    size, placement, is_named = draw(sizes), draw(placements), draw(named)
    capacity = draw(st.one_of(st.integers(1, 60), st.integers(1, LARGEST_INTEGER)))
    demand = st.one_of(st.integers(0, capacity), st.integers(0, min(capacity, 9)), st.sampled_from((0, capacity)))
    metric: Metric = "great_circle" if "globe" in placement else "euclidean"
    return Instance(
        coordinates=None if placement == "matrix" else draw(_places(size + 1, metric)),
        demands=np.array([0, *draw(st.lists(demand, min_size=size, max_size=size))]),
        capacity=capacity,
        name=draw(st.one_of(st.just(""), _LABELS)),
        distances=draw(_matrices(size + 1)) if "matrix" in placement else None,
        rounding=draw(roundings),
        metric=metric,
        customer_names=tuple(draw(_distinct_names(size))) if is_named else None,
        demand_scale=draw(scales),
    )


solutions = st.builds(
    Solution,
    st.lists(st.lists(st.integers(1, 10**6), min_size=1, max_size=5).map(tuple), min_size=1, max_size=5).map(tuple),
    st.one_of(st.none(), st.integers(0, 10**9).map(float), st.floats(0, 1e9)),
)


@st.composite
def solutions_of(draw: DrawFn, instance: Instance) -> Solution:
    """Any feasible solution: the customers in some order, cut where a vehicle is full and in some other places."""
    routes: list[list[int]] = [[]]
    load = 0
    for customer in draw(st.permutations(range(1, instance.size + 1))):
        demand = int(instance.demands[customer])
        if load + demand > instance.capacity or draw(st.booleans()):
            routes.append([])
            load = 0
        routes[-1].append(customer)
        load += demand
    return Solution(tuple(map(tuple, routes)))


@st.composite
def _places(draw: DrawFn, count: int, metric: Metric) -> np.ndarray:
    on_globe = st.tuples(st.floats(-90, 90), st.floats(-180, 180))
    place = on_globe if metric == "great_circle" else st.tuples(_NUMBERS, _NUMBERS)
    distinct = draw(st.lists(place, min_size=1, max_size=count))
    chosen = draw(st.lists(st.integers(0, len(distinct) - 1), min_size=count, max_size=count))
    return np.array(distinct, dtype=np.float64)[chosen]


@st.composite
def _matrices(draw: DrawFn, count: int) -> np.ndarray:
    rows, columns = np.triu_indices(count, k=1)
    matrix = np.zeros((count, count))
    matrix[rows, columns] = np.abs(draw(st.lists(_NUMBERS, min_size=len(rows), max_size=len(rows))))
    return matrix + matrix.T


def _distinct_names(count: int) -> SearchStrategy[list[str]]:
    return st.lists(_LABELS.filter(bool), min_size=count, max_size=count, unique=True)
