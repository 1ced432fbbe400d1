from __future__ import annotations

import subprocess
import sys

import pytest

from dynaroute.base import limits
from dynaroute.base.errors import FormatError, InstanceError, OptionError, UnsupportedError
from dynaroute.base.limits import (
    LARGEST_CONTENT,
    LIMITS_VARIABLE,
    Need,
    find_free_memory,
    memory_for_search,
    raise_limits,
    raised,
    refuse_large_content,
    refuse_large_fleet,
    require_memory,
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


def test_free_memory_is_found() -> None:
    free = find_free_memory()
    assert free is None or 10_000_000 < free < 10**15


def test_a_limit_of_the_process_counts() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (10**9, 10**9)); from dynaroute.base.limits import *; "
    )
    done = subprocess.run([sys.executable, "-c", f"{code}print(find_free_memory())"], capture_output=True, check=True)
    assert 0 < int(done.stdout) < 10**9


def test_what_is_possible_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "find_free_memory", lambda: 4_000_000_000)
    require_memory(Need(3_000_000_000, 1000))
    with pytest.raises(UnsupportedError, match=r"1,000 customers need about 16 GB .* legs between them") as caught:
        require_memory(Need(16_000_000_000, 1000))
    assert "About 500 customers" in caught.value.remedy


def test_without_a_matrix_what_is_possible_grows_with_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    need = memory_for_search(50_000_000)
    monkeypatch.setattr(limits, "find_free_memory", lambda: need.bytes // 4)
    with pytest.raises(
        UnsupportedError, match=r"50,000,000 customers need .* for their neighbours and routes"
    ) as caught:
        require_memory(need)
    assert "About 12,500,000 customers" in caught.value.remedy


def test_where_nothing_is_known_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "find_free_memory", lambda: None)
    require_memory(Need(10**18, 10**6))
