from __future__ import annotations

import numpy as np
import pytest

from dynaroute.draw import draw_published_set
from dynaroute.problem.solution import check
from dynaroute.study import demo
from dynaroute.study.demo import BEST_FOUND, Demonstration, demonstrate, watch_encoding


@pytest.fixture(scope="module")
def shown() -> Demonstration:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "COUNT", 2)
        patch.setitem(demo._STAGES, "AM-D and search", {"model": demo.MODEL, "iterations": 20_000})
        return demonstrate()


def test_the_instance_is_the_first_published_one(shown: Demonstration) -> None:
    published = draw_published_set(100)
    assert shown.instance.coordinates is not None
    assert (shown.instance.coordinates[0] == published.depot[0]).all()
    assert (shown.instance.demands[1:] == published.demands[0]).all()


def test_every_stage_is_right_and_none_beats_the_best_found(shown: Demonstration) -> None:
    for stage in shown.stages:
        assert check(shown.instance, stage.result.solution) == []
        assert stage.gap > -1e-6


def test_the_policy_beats_savings_and_the_search_beats_the_policy(shown: Demonstration) -> None:
    savings, greedy, two_opt, eight, searched = (stage.result.cost for stage in shown.stages)
    assert savings > greedy >= two_opt > searched
    assert greedy >= eight >= searched >= BEST_FOUND - 1e-6


def test_rows_of_the_set_stand_beside_the_papers(shown: Demonstration) -> None:
    assert [(row.name, row.paper) for row in shown.rows] == [
        ("AM-D, greedy", 16.4),
        ("AM-D, 2OPT", 16.27),
        ("AM-D, best of 8", None),
    ]
    assert shown.rows[0].all_of_them == pytest.approx(15.979, abs=1e-3)
    assert all(row.length < 17 for row in shown.rows)


def test_each_encoding_sees_only_what_is_left(shown: Demonstration) -> None:
    solution = shown.stage("AM-D, greedy").result.solution
    views = watch_encoding(shown.instance)

    assert [view.driven for view in views] == list(range(len(solution.routes)))
    assert [len(view.left) for view in views] == [
        sum(map(len, solution.routes[driven:])) for driven in range(len(solution.routes))
    ]
    assert np.abs(views[0].change).max() < 1e-5
    assert all(view.change.max() > 0.1 for view in views[1:])
    assert np.isnan(views[1].spread(100)).sum() == len(solution.routes[0])
