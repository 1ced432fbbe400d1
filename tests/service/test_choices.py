from __future__ import annotations

from typing import Any

import pytest

from dynaroute.errors import OptionError
from dynaroute.service.choices import Choices


def test_time_limit_makes_it_a_search() -> None:
    choices = Choices.from_options({"time_limit": 2.0}, "none", 5.0)

    assert choices.improve == "search"
    assert choices.time_limit == 2.0


def test_search_without_a_time_limit_gets_the_usual_one() -> None:
    assert Choices.from_options({}, "search", 30.0).time_limit == 10.0


def test_usual_time_limit_is_at_most_the_longest() -> None:
    assert Choices.from_options({}, "search", 0.5).time_limit == 0.5


def test_nothing_given_builds_one_solution() -> None:
    choices = Choices.from_options({}, "none", 5.0)

    assert not choices.searches
    assert choices.attempts == 1


def test_attempts_are_samples_in_all_orientations() -> None:
    assert Choices(decode="sample", samples=5, augment=True).attempts == 40


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"time_limit": 1.0, "improve": "2opt"}, "time_limit"),
        ({"time_limit": 5.1}, "time_limit"),
        ({"samples": 4}, "samples"),
    ],
)
def test_options_that_cannot_be_obeyed_are_refused(given: dict[str, Any], field: str) -> None:
    with pytest.raises(OptionError) as caught:
        Choices.from_options(given, "none", 5.0)

    assert caught.value.where.field == field


@pytest.mark.parametrize(
    ("choices", "field"),
    [
        (Choices(decode="sample", samples=11), "samples"),
        (Choices(decode="multistart", samples=2, augment=True), "samples"),
        (Choices(augment=True), "augment"),
    ],
)
def test_too_much_work_is_refused(choices: Choices, field: str) -> None:
    with pytest.raises(OptionError) as caught:
        choices.refuse_excess(999 if field == "augment" else 100, 1_000)

    assert caught.value.where.field == field


def test_work_at_the_limit_is_allowed() -> None:
    Choices(decode="sample", samples=10).refuse_excess(100, 1_000)
