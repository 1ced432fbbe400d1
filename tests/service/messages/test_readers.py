"""Bodies in another process: what takes too long or too much memory ends there, and nobody else notices."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dynaroute.base.errors import FormatError, Where
from dynaroute.service.messages.readers import Reader
from dynaroute.service.messages.refusals import RequestError, make_busy_error


def sleep_for_ever(body: bytes) -> None:
    time.sleep(3_600)


def fill_memory(body: bytes) -> bytes:
    return b"x" * 1_000_000_000


def find_fault(body: bytes) -> None:
    raise FormatError("this is wrong.", where=Where(line=int(body)), remedy="Mend it.")


def refuse(body: bytes) -> None:
    raise make_busy_error(3.0, "tests")


def fail(body: bytes) -> None:
    raise ZeroDivisionError(body)


def play(scenario: Callable[[Reader], Coroutine[Any, Any, None]], seconds: float = 60.0) -> None:
    reader = Reader(seconds, 200_000_000)
    try:
        asyncio.run(scenario(reader))
    finally:
        reader.stop()


def test_values_and_errors_come_back() -> None:
    async def scenario(reader: Reader) -> None:
        assert await reader.read(len, b"12345") == 5
        with pytest.raises(FormatError) as caught:
            await reader.read(find_fault, b"7")
        assert (caught.value.where.line, caught.value.remedy) == (7, "Mend it.")
        with pytest.raises(RequestError) as refused:
            await reader.read(refuse, b"")
        assert (refused.value.status, refused.value.kind, refused.value.headers) == (429, "busy", {"Retry-After": "3"})
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            await reader.read(fail, b"")

    play(scenario)


def test_what_takes_too_much_memory_is_413_and_the_next_is_read() -> None:
    async def scenario(reader: Reader) -> None:
        with pytest.raises(RequestError) as caught:
            await reader.read(fill_memory, b"")
        assert caught.value.status == 413
        assert await reader.read(len, b"12345") == 5

    play(scenario)


def test_what_takes_too_long_is_413() -> None:
    async def scenario(reader: Reader) -> None:
        with pytest.raises(RequestError) as caught:
            await reader.read(sleep_for_ever, b"")
        assert caught.value.status == 413

    play(scenario, seconds=0.1)
