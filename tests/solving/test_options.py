from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from policies import make_policy

from dynaroute.base.errors import OptionError
from dynaroute.problem.solution import Solution
from dynaroute.solving.options import (
    DECLARATIONS,
    USUAL_TIME_LIMIT,
    Decode,
    Decoding,
    Limit,
    Observers,
    SolveOptions,
    choose_search_seconds,
    list_types,
)
from dynaroute.solving.solve import SolveSettings

ROUTES = Solution(((1, 2), (3,)))


@pytest.mark.parametrize(
    ("field", "settings"),
    [
        ("improve", {"improve": "magic"}),
        ("improve", {"improve": ["2opt"]}),
        ("time_limit", {"time_limit": -1}),
        ("time_limit", {"time_limit": 0}),
        ("time_limit", {"time_limit": math.nan}),
        ("time_limit", {"time_limit": math.inf}),
        ("time_limit", {"time_limit": "2"}),
        ("time_limit", {"time_limit": True}),
        ("total_time", {"total_time": 0}),
        ("total_time", {"total_time": math.nan}),
        ("total_time", {"total_time": "2"}),
        ("iterations", {"iterations": 0}),
        ("iterations", {"iterations": 2.5}),
        ("target", {"target": math.nan}),
        ("target", {"target": math.inf}),
        ("target", {"target": "low"}),
        ("target", {"target": 10**400}),
        ("threads", {"threads": 0}),
        ("threads", {"threads": 1.5}),
        ("decode", {"decode": "widest"}),
        ("seed", {"seed": -1}),
        ("seed", {"seed": 2**63}),
        ("seed", {"seed": True}),
        ("samples", {"decode": "sample", "samples": 0}),
        ("samples", {"decode": "multistart", "samples": 2.5}),
        ("temperature", {"decode": "sample", "temperature": 0}),
        ("temperature", {"decode": "sample", "temperature": 1e-42}),
        ("temperature", {"decode": "sample", "temperature": "hot"}),
    ],
)
def test_value_that_makes_no_sense_is_refused_by_name(field: str, settings: Any) -> None:
    with pytest.raises(OptionError) as caught:
        SolveOptions(**settings)

    assert caught.value.where.field == field
    assert caught.value.remedy


@pytest.mark.parametrize("improve", ["none", "2opt", "local"])
@pytest.mark.parametrize(
    ("field", "value"), [("time_limit", 2.0), ("total_time", 2.0), ("iterations", 5), ("target", 10.0)]
)
def test_what_only_a_search_obeys_is_refused_without_one(improve: Any, field: str, value: Any) -> None:
    with pytest.raises(OptionError, match="only a search") as caught:
        SolveOptions(improve=improve, **{field: value})

    assert caught.value.where.field == field


@pytest.mark.parametrize(
    ("field", "settings"),
    [
        ("samples", {"samples": 4}),
        ("samples", {"decode": "greedy", "samples": 4}),
        ("temperature", {"temperature": 2.0}),
        ("temperature", {"decode": "multistart", "temperature": 2.0}),
        ("decode", {"model": "savings", "decode": "greedy"}),
        ("samples", {"model": "savings", "samples": 4}),
        ("temperature", {"model": "savings", "temperature": 1.0}),
        ("augment", {"model": "savings", "augment": True}),
    ],
)
def test_options_that_cannot_be_obeyed_together_are_refused(field: str, settings: Any) -> None:
    with pytest.raises(OptionError) as caught:
        SolveOptions(**settings)

    assert caught.value.where.field == field
    assert caught.value.remedy


@pytest.mark.parametrize("settings", [{}, {"improve": "none"}])
def test_known_routes_that_nothing_improves_are_refused(settings: Any) -> None:
    with pytest.raises(OptionError, match="nothing improves them"):
        SolveOptions(start=ROUTES, **settings)


def test_known_routes_and_a_model_to_build_others_are_refused() -> None:
    for model in ("savings", "amd-100", make_policy()):
        with pytest.raises(OptionError, match="no model is needed"):
            SolveOptions(start=ROUTES, improve="local", model=model)


@pytest.mark.parametrize(
    ("settings", "improver"),
    [
        ({}, "none"),
        ({"improve": "local"}, "local"),
        ({"time_limit": 2}, "search"),
        ({"iterations": 5}, "search"),
        ({"target": 10.0}, "search"),
        ({"improve": "search"}, "search"),
    ],
)
def test_a_limit_asks_for_a_search(settings: Any, improver: str) -> None:
    assert SolveOptions(**settings).improver == improver


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        ({"improve": "search"}, USUAL_TIME_LIMIT),
        ({"target": 10.0}, USUAL_TIME_LIMIT),
        ({"iterations": 5}, None),
        ({"time_limit": 2}, 2),
        ({"time_limit": 2, "iterations": 5}, 2),
    ],
)
def test_a_search_has_an_end(settings: Any, seconds: float | None) -> None:
    assert SolveOptions(**settings).search_seconds == seconds


def test_limit_is_that_of_a_search_alone() -> None:
    assert SolveOptions(improve="local").limit is None
    assert SolveOptions(time_limit=2, iterations=5).limit == Limit(2, 5)
    assert (str(Limit(0.5, 500)), str(Limit(None, 500))) == ("0.5 s", "500 iterations")


@pytest.mark.parametrize(
    ("settings", "decoding", "words", "attempts"),
    [
        ({}, Decoding("greedy", 16, 1.0, False), "greedy", 1),
        ({"augment": True}, Decoding(augment=True), "greedy x8", 8),
        ({"decode": "sample"}, Decoding("sample"), "sample 16", 16),
        ({"decode": "sample", "samples": 5, "temperature": 2.0, "augment": True}, None, "sample 5 x8", 40),
        ({"decode": "multistart", "samples": 3}, Decoding("multistart", 3), "multistart 3", 3),
    ],
)
def test_decoding_has_the_usual_values_for_what_is_not_given(
    settings: Any, decoding: Decoding | None, words: str, attempts: int
) -> None:
    decoded = SolveOptions(**settings).decoding

    assert decoded == (decoding or Decoding(**settings))
    assert (str(decoded), decoded.attempts) == (words, attempts)


@pytest.mark.parametrize(
    ("settings", "uses_policy"),
    [
        ({}, True),
        ({"model": "savings"}, False),
        ({"time_limit": 1}, False),
        ({"model": "amd-20", "time_limit": 1}, True),
        ({"start": ROUTES, "improve": "local"}, False),
    ],
)
def test_a_policy_builds_unless_something_else_does(settings: Any, uses_policy: bool) -> None:
    assert SolveOptions(**settings).uses_policy == uses_policy


def test_every_option_is_declared_with_its_help() -> None:
    assert list(DECLARATIONS) == [entry.name for entry in fields(SolveOptions)]
    assert all(declared.help for declared in DECLARATIONS.values())


def test_types_outside_python_are_those_of_words_numbers_and_files() -> None:
    types = list_types()

    assert types.keys() == DECLARATIONS.keys()
    assert (types["model"], types["samples"], types["decode"]) == (str, int | None, Decode | None)
    assert types["start"] == Path | Sequence[Path] | None


def test_keywords_of_solve_are_the_fields_of_options_and_observers() -> None:
    keywords = {name: hint.__forward_arg__ for name, hint in SolveSettings.__annotations__.items()}

    assert keywords == {entry.name: entry.type for entry in (*fields(SolveOptions), *fields(Observers))}


def test_options_travel_to_another_process() -> None:
    options = SolveOptions(start=[ROUTES], time_limit=2.0, seed=3, threads=1)

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(replace, options, iterations=5).result() == replace(options, iterations=5)


def test_import_loads_no_heavy_library() -> None:
    code = (
        "import sys, dynaroute.solving.options\n"
        "print([name for name in ('numpy', 'torch', 'numba', 'pydantic', 'typer') if name in sys.modules])"
    )

    result = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True)

    assert result.stdout == "[]\n"


def test_a_time_for_each_and_a_time_for_all_are_refused_together() -> None:
    with pytest.raises(OptionError, match="per instance") as caught:
        SolveOptions(time_limit=1, total_time=1)

    assert caught.value.where.field == "total_time"


def test_a_total_time_is_the_limit_of_a_search() -> None:
    options = SolveOptions(total_time=2.5)

    assert options.searches
    assert options.search_seconds == 2.5
    assert str(options.limit) == "2.5 s in all"


@pytest.mark.parametrize(("size", "seconds"), [(1, 0.1), (20, 0.2), (100, 1), (1000, 10), (3000, 30), (100_000, 30)])
def test_a_search_that_nobody_asked_for_takes_longer_the_larger_the_problem(size: int, seconds: float) -> None:
    assert choose_search_seconds(size) == pytest.approx(seconds)
