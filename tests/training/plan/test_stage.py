from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dynaroute.base.errors import OptionError
from dynaroute.draw.distribution import BUILT_IN
from dynaroute.training.plan.own_instances import InstanceFiles
from dynaroute.training.plan.plan import Stage

STAGE = Stage(size=20, capacities=(30,), instances=8, samples=4, rate=1e-3)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"size": 0}, "size"),
        ({"capacities": ()}, "capacities"),
        ({"capacities": (8,)}, "capacities"),
        ({"rate": float("nan")}, "rate"),
        ({"share": 0.0}, "share"),
        ({"entropy": -0.1}, "entropy"),
        ({"entropy": float("nan")}, "entropy"),
        ({"entropy": 0.1, "samples": 1}, "samples"),
        ({"size_weight": -0.1}, "size_weight"),
        ({"size_weight": "much"}, "size_weight"),
        ({"replayed": 0}, "replayed"),
        ({"replayed": 5}, "replayed"),
        ({"replayed": 1, "entropy": 0.1}, "replayed"),
    ],
)
def test_a_stage_that_cannot_be_is_refused_by_field(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(OptionError) as caught:
        replace(STAGE, **changes)
    assert caught.value.where.field == field


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"distribution": BUILT_IN["x"]}, "capacities"),
        ({"distribution": BUILT_IN["x"], "capacities": ()}, "size"),
        ({"distribution": BUILT_IN["x"], "data": InstanceFiles("a", "b"), "size": 500, "capacities": ()}, "data"),
    ],
)
def test_a_stage_with_two_sources_is_refused_by_field(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(OptionError) as caught:
        replace(STAGE, **changes)
    assert caught.value.where.field == field


def test_a_policy_learns_from_all_samples_unless_a_number_is_given() -> None:
    assert STAGE.replayed_samples == 4
    assert replace(STAGE, replayed=2).replayed_samples == 2


def test_settings_name_a_size_weight_only_if_there_is_one() -> None:
    assert "size weight" not in STAGE.settings
    assert replace(STAGE, size_weight=0.5).settings.endswith("size weight 0.5")
