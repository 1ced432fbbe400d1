"""Parts of instances as instances of their own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import instances, solutions_of

from dynaroute.batch import InstanceBatch, RouteBatch
from dynaroute.batch.subproblems import RoutePart, gather_parts, merge_parts

PLACED = instances(placements=st.sampled_from(("plane", "globe", "matrix and plane", "matrix and globe")))


def part_by_route(batch: InstanceBatch, routes: RouteBatch) -> list[RoutePart]:
    """Every route is a part."""
    parts = []
    for row in range(len(batch)):
        for number in range(int(routes.route[row].max()) + 1):
            customers = np.flatnonzero(routes.route[row].numpy() == number)
            own = np.zeros(len(customers), dtype=np.int32)
            parts.append(RoutePart(row, customers, own, routes.position[row].numpy()[customers]))
    return parts


@given(st.data())
def test_parts_are_as_long_together_as_the_whole(data: st.DataObject) -> None:
    problems = data.draw(st.lists(PLACED, min_size=1, max_size=3))
    batch = InstanceBatch.from_instances(problems)
    routes = RouteBatch.from_solutions([data.draw(solutions_of(problem)) for problem in problems], batch)
    parts = part_by_route(batch, routes)

    problems_of_parts, known = gather_parts(batch, parts)

    lengths = known.lengths(problems_of_parts).numpy()
    of_rows = np.bincount([part.row for part in parts], weights=lengths, minlength=len(batch))
    assert of_rows == pytest.approx(routes.lengths(batch).numpy(), rel=1e-9, abs=1e-9)


@given(st.data())
def test_merging_parts_gives_the_routes_they_were_cut_from(data: st.DataObject) -> None:
    problems = data.draw(st.lists(PLACED, min_size=1, max_size=3))
    batch = InstanceBatch.from_instances(problems)
    routes = RouteBatch.from_solutions([data.draw(solutions_of(problem)) for problem in problems], batch)
    parts = part_by_route(batch, routes)

    merged = merge_parts(batch, parts, gather_parts(batch, parts)[1])

    assert torch.equal(merged.route, routes.route)
    assert torch.equal(merged.position, routes.position)
