from __future__ import annotations

from typing import Any

import pytest
from policies import draw_instances

from dynaroute.search.savings import build_by_savings
from dynaroute.solving.options import Decoding, Limit
from dynaroute.solving.result import GIVEN, SAVINGS, Result, Start

SEARCH = {"improver": "search"}


def make_result(**values: Any) -> Result:
    (instance,) = draw_instances(3)
    return Result(
        **{
            "instance": instance,
            "solution": build_by_savings(instance),
            "cost": 150.0,
            "seconds": 1.0,
            "start": Start.by_policy("amd-20", Decoding()),
            "improver": "2opt",
            **values,
        }
    )


def test_model_is_told_before_its_method() -> None:
    assert make_result().model_and_method == "amd-20 (greedy + 2opt)"
    assert make_result(start=SAVINGS).model_and_method == "savings + 2opt"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, ""),
        ({"trace": ((0.1, 200.0), (0.2, 150.0))}, "2opt: 200 -> 150 (-25.00 %)."),
        ({"trace": ((0.1, 150.0), (0.2, 150.0))}, "2opt: no improvement of 150."),
        ({"trace": ((0.1, 0.0),), "cost": 0.0}, "2opt: no improvement of 0."),
        (
            {"trace": ((0.1, 1.25), (0.2, 1.0)), "cost": 1.0, "iterations": 12345, **SEARCH, "limit": Limit(2.0)},
            "search 2 s: 1.2500 -> 1 (-20.00 %) in 12,345 iterations.",
        ),
        (
            {"trace": ((0.1, 150.0),), "iterations": 5, **SEARCH, "limit": Limit(None, 5)},
            "search 5 iterations: no improvement of 150.",
        ),
    ],
)
def test_improvement_is_told_in_a_sentence(values: dict[str, Any], words: str) -> None:
    assert make_result(**values).improvement == words


@pytest.mark.parametrize(
    ("start", "improver", "limit", "method"),
    [
        (SAVINGS, None, None, "savings"),
        (GIVEN, "local", None, "start + local search"),
        (SAVINGS, "search", Limit(0.5, 500), "savings + search 0.5 s"),
        (GIVEN, "search", Limit(None, 500), "start + search 500 iterations"),
        (Start.by_policy("a", Decoding("sample", 4, augment=True)), "2opt", None, "sample 4 x8 + 2opt"),
    ],
)
def test_method_is_told_in_words(start: Start, improver: Any, limit: Limit | None, method: str) -> None:
    result = make_result(start=start, improver=improver, limit=limit)

    assert result.method == method
    assert result.model == start.model


def test_json_has_the_promised_keys() -> None:
    document = make_result().to_json()

    promised = ["instance", "cost", "routes", "loads", "seconds", "method", "model", "ids", "unit"]
    assert list(document) == [*promised, "length", "hours", "money", "left_out", "breaks", "trips"]
    assert (document["cost"], document["method"], document["model"]) == (150, "greedy + 2opt", "amd-20")
    assert type(document["cost"]) is int
    assert (document["hours"], document["money"], document["left_out"]) == (None, None, [])


def test_first_cost_is_that_before_improving() -> None:
    assert make_result(trace=((0.1, 200.0), (0.2, 150.0))).first_cost == 200.0
    assert make_result().first_cost == 150.0
