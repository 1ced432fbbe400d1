from __future__ import annotations

import pytest

from dynaroute.base.errors import FormatError, InstanceError, OptionError
from dynaroute.base.limits import (
    LARGEST_CONTENT,
    LIMITS_VARIABLE,
    raise_limits,
    raised,
    refuse_large_content,
    refuse_large_fleet,
)


def test_a_limit_is_raised_while_it_is_asked_for() -> None:
    with raise_limits(2.5):
        assert raised(10) == 25
        refuse_large_content(2 * LARGEST_CONTENT)
    assert raised(10) == 10
    with pytest.raises(FormatError, match=r"4.0 GB of memory, more than the limit of 2.0 GB"):
        refuse_large_content(2 * LARGEST_CONTENT)


def test_the_option_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, "3")
    assert raised(10) == 30
    with raise_limits(2):
        assert raised(10) == 20


@pytest.mark.parametrize("factor", ["", "1"])
def test_an_empty_variable_changes_nothing(monkeypatch: pytest.MonkeyPatch, factor: str) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, factor)
    assert raised(10) == 10


@pytest.mark.parametrize("factor", ["0", "0.5", "-1", "nan", "inf", "ten"])
def test_limits_are_not_lowered_and_not_lifted(monkeypatch: pytest.MonkeyPatch, factor: str) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, factor)
    with pytest.raises(OptionError, match=LIMITS_VARIABLE):
        raised(10)


def test_a_fleet_has_only_so_many_types_with_names_that_can_be_read() -> None:
    refuse_large_fleet(["v" * 1_000] * 1_000)
    for names, words in ((["v"] * 1_001, "1,001 vehicle types"), (["v", "v" * 1_001], "1,001 characters")):
        with pytest.raises(InstanceError, match=words):
            refuse_large_fleet(names)
        with raise_limits(2):
            refuse_large_fleet(names)
