from __future__ import annotations

from typing import Any

import pytest
from policies import draw_instances

from dynaroute.savings import build_by_savings
from dynaroute.solving.result import Result


def make_result(**values: Any) -> Result:
    (instance,) = draw_instances(3)
    return Result(
        **{
            "instance": instance,
            "solution": build_by_savings(instance),
            "cost": 150.0,
            "seconds": 1.0,
            "method": "greedy + 2opt",
            **values,
        }
    )


def test_model_is_told_before_its_method() -> None:
    assert make_result(model="amd-20").how == "amd-20 (greedy + 2opt)"
    assert make_result().how == "greedy + 2opt"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, ""),
        ({"trace": ((0.1, 200.0), (0.2, 150.0))}, "2opt: 200 -> 150 (-25.00 %)."),
        ({"trace": ((0.1, 150.0), (0.2, 150.0))}, "2opt: no improvement of 150."),
        ({"trace": ((0.1, 0.0),), "cost": 0.0}, "2opt: no improvement of 0."),
        (
            {"trace": ((0.1, 1.25), (0.2, 1.0)), "cost": 1.0, "iterations": 12345, "method": "savings + search 2 s"},
            "search 2 s: 1.2500 -> 1 (-20.00 %) in 12,345 iterations.",
        ),
        (
            {"trace": ((0.1, 150.0),), "iterations": 5, "method": "start + search 5 iterations"},
            "search 5 iterations: no improvement of 150.",
        ),
    ],
)
def test_improvement_is_told_in_a_sentence(values: dict[str, Any], words: str) -> None:
    assert make_result(**values).improvement == words


def test_first_cost_is_that_before_improving() -> None:
    assert make_result(trace=((0.1, 200.0), (0.2, 150.0))).first_cost == 200.0
    assert make_result().first_cost == 150.0
