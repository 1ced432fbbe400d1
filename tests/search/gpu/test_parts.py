from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_devices import assert_right, device_of, draw_instance, gather, needs_compiler
from strategies import instances, solutions_of

from dynaroute.base.stopping import Stopping
from dynaroute.problem.instance import Instance
from dynaroute.search.gpu.batched_search import BatchProgress
from dynaroute.search.gpu.parts import PartSettings, cut_into_parts, search_in_parts

PLACED = instances(placements=st.sampled_from(("plane", "globe", "matrix and plane", "matrix and globe")))
QUICK = PartSettings(shortest=0.02, rounds=3)


@given(st.data())
def test_parts_hold_every_route_once_and_are_not_too_large(data: st.DataObject) -> None:
    problems = data.draw(st.lists(PLACED, min_size=1, max_size=3))
    batch, routes = gather(problems, [data.draw(solutions_of(problem)) for problem in problems])
    most = data.draw(st.integers(1, 12))

    parts = list(cut_into_parts(batch, routes, np.random.default_rng(1), most))

    for row, problem in enumerate(problems):
        own = [part for part in parts if part.row == row]
        assert sorted(np.concatenate([part.customers for part in own])) == list(range(1, problem.size + 1))
        assert sum(int(part.route.max()) + 1 for part in own) == int(routes.route[row].max()) + 1
        assert all(len(part.customers) <= most or part.route.max() == 0 for part in own)


@needs_compiler
@given(st.data())
@settings(max_examples=5)
def test_any_problem_is_searched_rightly_in_parts(data: st.DataObject) -> None:
    problems = data.draw(st.lists(PLACED, min_size=1, max_size=3))
    batch, first = gather(problems, [data.draw(solutions_of(problem)) for problem in problems])

    found = search_in_parts(device_of(), batch, first, Stopping.after(0.1), settings=QUICK)

    assert_right(problems, batch, found.routes)
    assert (found.routes.lengths(batch) <= first.lengths(batch) * (1 + 1e-12)).all()


@needs_compiler
@pytest.mark.parametrize("problems", [[draw_instance(300)], [draw_instance(260, 1), draw_instance(400, 2)]])
def test_large_instances_become_better_in_parts_than_as_a_whole(problems: list[Instance]) -> None:
    batch, first = gather(problems)
    costs: list[float] = []

    def note(progress: BatchProgress) -> None:
        if len(progress.rows) == len(problems):
            costs.append(float(progress.read_costs().sum()))

    found = search_in_parts(device_of(), batch, first, Stopping.after(1.5), on_launch=note)

    assert_right(problems, batch, found.routes)
    assert found.routes.lengths(batch).sum() < first.lengths(batch).sum()
    assert costs[-1] == pytest.approx(float(found.routes.lengths(batch).sum()))
    assert not found.is_interrupted
