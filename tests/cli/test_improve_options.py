from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dynaroute.cli.improve_options import ImproveOptions
from dynaroute.cli.policy_options import PolicyOptions
from dynaroute.errors import OptionError
from dynaroute.solving.options import SolveOptions

pytestmark = pytest.mark.usefixtures("shelf")


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"time_limit": -1.0}, "--time-limit"),
        ({"time_limit": float("nan")}, "--time-limit"),
        ({"iterations": 0}, "--iterations"),
        ({"threads": 0}, "--threads"),
        ({"target": float("inf")}, "--target"),
        ({"improve": "2opt", "time_limit": 2.0}, "--time-limit"),
        ({"improve": "none", "target": 2.0}, "--target"),
    ],
)
def test_wrong_option_is_refused_by_the_name_that_the_user_knows(given: dict[str, Any], option: str) -> None:
    with pytest.raises(OptionError) as caught:
        ImproveOptions(**given)

    assert caught.value.where.field == option


@pytest.mark.parametrize(
    ("policy", "improving", "option"),
    [
        ({"seed": 1}, {}, "--seed"),
        ({"decode": "multistart", "seed": 1}, {"improve": "local"}, "--seed"),
        ({"model": "savings", "device": "cpu"}, {}, "--device"),
        ({"device": "cpu"}, {"time_limit": 1.0}, "--device"),
        ({"augment": True}, {"time_limit": 1.0}, "--augment"),
        ({"decode": "greedy"}, {"improve": "local", "start": Path("a.sol")}, "--decode"),
        ({}, {"threads": 2}, "--threads"),
    ],
)
def test_options_that_change_nothing_are_named(
    policy: dict[str, Any], improving: dict[str, Any], option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ImproveOptions(**improving).print_void(PolicyOptions(**{"model": "auto", **policy}))

    assert capsys.readouterr().err.startswith(f"note: {option} changes nothing")


@pytest.mark.parametrize(
    ("policy", "improving"),
    [
        ({"decode": "sample", "samples": 4, "temperature": 2.0, "augment": True, "seed": 1, "device": "cpu"}, {}),
        ({"seed": 1}, {"time_limit": 1.0, "threads": 2}),
        ({"augment": True, "device": "cpu"}, {"improve": "2opt", "threads": 2}),
    ],
)
def test_options_that_count_are_not_named(
    policy: dict[str, Any], improving: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    ImproveOptions(**improving).print_void(PolicyOptions(**{"model": "auto", **policy}))

    assert capsys.readouterr().err == ""


def test_decoding_counts_where_a_model_is_named(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ImproveOptions(time_limit=1.0).print_void(PolicyOptions(str(model), augment=True, device="cpu"))

    assert capsys.readouterr().err == ""


def test_given_options_become_settings() -> None:
    options = ImproveOptions("search", 2.0, 5, 10.0, 3, Path("a.sol"))

    assert options.settings() == {
        "improve": "search",
        "time_limit": 2.0,
        "iterations": 5,
        "target": 10.0,
        "threads": 3,
    }


@pytest.mark.parametrize(
    "given", [{}, {"improve": "local"}, {"improve": "search"}, {"time_limit": 1.0}, {"iterations": 1}, {"target": 1.0}]
)
def test_command_and_solver_agree_on_what_asks_for_a_search(given: dict[str, Any]) -> None:
    assert ImproveOptions(**given).searches == SolveOptions(**given).searches
