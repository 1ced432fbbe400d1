from __future__ import annotations

import subprocess
import sys

import pytest

from dynaroute.base import memory
from dynaroute.base.errors import UnsupportedError
from dynaroute.base.memory import Need, find_free_memory, memory_for_search, require_memory


def test_free_memory_is_found() -> None:
    free = find_free_memory()
    assert free is None or 10_000_000 < free < 10**15


def test_a_limit_of_the_process_counts() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (10**9, 10**9)); from dynaroute.base.memory import *; "
    )
    done = subprocess.run([sys.executable, "-c", f"{code}print(find_free_memory())"], capture_output=True, check=True)
    assert 0 < int(done.stdout) < 10**9


def test_what_is_possible_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "find_free_memory", lambda: 4_000_000_000)
    require_memory(Need(3_000_000_000, 1000))
    with pytest.raises(UnsupportedError, match=r"1,000 customers need about 16 GB .* legs between them") as caught:
        require_memory(Need(16_000_000_000, 1000))
    assert "About 500 customers" in caught.value.remedy


def test_without_a_matrix_what_is_possible_grows_with_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    need = memory_for_search(50_000_000)
    monkeypatch.setattr(memory, "find_free_memory", lambda: need.bytes // 4)
    with pytest.raises(
        UnsupportedError, match=r"50,000,000 customers need .* for their neighbours and routes"
    ) as caught:
        require_memory(need)
    assert "About 12,500,000 customers" in caught.value.remedy


def test_where_nothing_is_known_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "find_free_memory", lambda: None)
    require_memory(Need(10**18, 10**6))
