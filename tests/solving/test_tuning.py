from __future__ import annotations

from typing import Any

import pytest
from policies import SMALL_AMD, draw_instances, make_policy

from dynaroute.base.errors import OptionError, UnsupportedError
from dynaroute.model import PolicyConfig
from dynaroute.problem.solution import check
from dynaroute.solving.options import SolveOptions
from dynaroute.solving.solve import solve


def test_active_search_improves_until_its_iterations_are_done() -> None:
    instances = draw_instances(10, 7)
    for result in solve(instances, model=make_policy(SMALL_AMD), improve="active", iterations=4):
        assert check(result.instance, result.solution) == []
        assert result.iterations == 4
        assert result.cost <= result.first_cost
        assert "active" in result.method


def test_active_search_ends_in_time() -> None:
    (instance,) = draw_instances(10)
    result = solve(instance, model=make_policy(PolicyConfig()), improve="active", time_limit=0.05)
    assert check(instance, result.solution) == []


def test_without_a_policy_there_is_nothing_to_tune() -> None:
    (instance,) = draw_instances(6)
    with pytest.raises((OptionError, UnsupportedError)):
        solve(instance, model="savings", improve="active")


@pytest.mark.parametrize(
    ("given", "field"),
    [({"decode": "sample"}, "decode"), ({"augment": True}, "augment"), ({"total_time": 3.0}, "total_time")],
)
def test_options_without_effect_are_refused(given: dict[str, Any], field: str) -> None:
    with pytest.raises(OptionError) as caught:
        SolveOptions(improve="active", **given)
    assert caught.value.where.field == field
